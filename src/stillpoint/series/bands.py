"""Intervals of a forecaster: which horizons have trackers, and what they say of the others."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from stillpoint.core._poly import REGRETS, WEIGHTS
from stillpoint.core.allocation import full, zeros
from stillpoint.core.array import Array
from stillpoint.core.validation import stored
from stillpoint.intervals import _experts, _turns
from stillpoint.intervals._experts import AIM, AT, EXPERTS, MEAN
from stillpoint.intervals._interval import Rule
from stillpoint.intervals._slow import SLOW
from stillpoint.intervals._turns import COUNT
from stillpoint.intervals.base import promise, shares
from stillpoint.series import _bands
from stillpoint.series.restored import MOST

_OWN = ("origins", "offsets", "clock", "sums")
_WAITING = 48  # origins of a horizon that may wait, or a few more: strides are whole numbers
_NOTHING = 1e-6  # coverage whose ends are the median
_LONG = 16  # horizon from which on not every round is an origin
_SEASONS = 2 * 3 * 7  # strides have no factor in common with it: no phase is left out for ever


class Bands:
    """Trackers of the intervals of a forecaster.

    Parameters
    ----------
    horizon : int
        How far ahead intervals are asked for.
    coverage : float or list of float
        The share of values to cover, or several.
    level : float, optional
        Of the quantile to forecast: intervals have two sides then, each with its own share.
    """

    def __init__(self, horizon: int, coverage: Any, *, level: float | None = None) -> None:
        rule, aims = self._aims(coverage, level)
        ladder = (3**i for i in range(24))  # as far as the horizon itself is well above
        points = sorted({1, *(h for h in ladder if 1.5 * h <= horizon), horizon})
        totals = sorted({h for h in (horizon // 4, horizon // 2, horizon) if h > 1})
        stride = _stride(max(horizon // _WAITING, 2 if horizon >= _LONG else 1))
        seldom = _stride(horizon // 4)
        strides = [1, *(stride for _ in points[1:]), *(seldom for _ in totals)]
        turns = [-(-h // s) for h, s in zip(points + totals, strides, strict=True)]
        B, c, m, n = len(strides), sum(turns), len(aims), rule.order.size
        self.state = _bands.Bands(
            rule=rule,
            aims=aims,
            horizons=np.array(points + totals, dtype=np.int64),
            strides=np.array(strides, dtype=np.int64),
            totals=len(points),
            starts=np.cumsum([0, *turns]).astype(np.int64),
            turns=_turns.State(
                experts=zeros((c, m, len(_experts.ROW), EXPERTS)),
                regrets=zeros((c, m, len(REGRETS), EXPERTS)),
                scalars=zeros((c, m, len(AT))),
                ends=zeros((c, 2, n)),
                missed=zeros((c, n)),
                forecasts=zeros(c),
                said=full((c, m), np.nan),
                units=zeros((c, m, 2)),
                slow=zeros((B, m, len(SLOW))),
                counts=zeros((B, len(COUNT)), dtype=np.int64),
            ),
            origins=zeros((c, 2)),
            offsets=np.repeat(full((B, 2, n), np.inf) * [[-1.0], [1.0]], 1, axis=0),
            clock=zeros(2, dtype=np.int64),
            sums=zeros(3),
            weights=zeros((m, len(WEIGHTS), EXPERTS)),
        )
        self._points = len(points)

    def _aims(self, coverage: Any, level: float | None) -> tuple[Rule, Array]:
        """What is tracked: the coverages from the innermost outward, and the levels of each."""
        self.coverage = shares("coverage", coverage)
        self.several, self._level = np.ndim(coverage) > 0, level
        inside = np.array(self.coverage)
        if level is not None:  # a quantile is an end of the interval that leaves as much outside
            inside = np.append(inside, max(abs(2.0 * level - 1.0), _NOTHING))
        upper, order = ndtri(0.5 + 0.5 * inside) / MEAN, np.argsort(inside, kind="stable")
        aims = np.stack([inside, np.log(upper)], axis=1)
        if level is not None:
            aims = np.repeat(np.stack([0.5 + 0.5 * inside, upper], axis=1), 2, axis=0)
        return Rule(level is not None, False, order), aims

    @property
    def level(self) -> float | None:
        """Of the quantile that is forecast; None: it is the mean."""
        return self._level

    @property
    def shifts(self) -> bool:
        """Whether forecasts are of a quantile, not of the mean."""
        return self._level is not None

    def start(self, first: float) -> None:
        """Begin with the first value."""
        self.state.sums[_bands.FIRST] = first

    def forget(self, values: Array) -> None:
        """Forget all but hits and misses, where values were learnt that are not believed any more.

        Parameters
        ----------
        values : Array
            Those that are believed, NaN where one is missing. Forecasts that wait may have been
            made from others: they count as the last of these.
        """
        s, good = self.state, values[~np.isnan(values)]
        t = s.turns
        t.experts[...], t.regrets[...], t.slow[...], t.said[...] = 0.0, 0.0, 0.0, np.nan
        t.scalars[..., [i for i in AT if i not in (AT.seen, AT.misses)]] = 0.0
        t.forecasts[...] = good[-1]
        s.sums[:] = 0.0, s.sums[_bands.SUM.missing] + 1.0, good[0]  # totals that wait are none

    def total_ends(
        self, horizon: int, near: int | None = None, offsets: Array | None = None
    ) -> tuple[Array, Array]:
        """Ends (coverages,) of the interval of the total of the next values, less its forecast.

        offsets (1, …): those of a round, the open one unless they are given.
        """
        offsets = self.state.offsets[None] if offsets is None else offsets
        which = [0, *range(self._points, self.state.horizons.size)]
        h = self._beyond(np.array([horizon]), which, near)
        low, high = self._lines(offsets[:, which], which, h)
        return low[0, 0], high[0, 0]

    def between(self, offsets: Array, horizon: int, near: int | None = None) -> tuple[Array, Array]:
        """Ends of intervals, less their forecasts, from those of tracked horizons.

        near: of how many values features are known, where those that were tracked knew them of the
        next alone. Its interval says nothing of values whose features are not known: these have
        that of the next horizon that is tracked. None: what was known is known.

        Returns two arrays (rounds, horizon, coverages).
        """
        which = list(range(self._points))
        h = self._beyond(np.arange(1, horizon + 1), which, near)
        return self._lines(offsets[:, which], which, h)

    def shift(self, offsets: Array, horizon: int, near: int | None = None) -> Array | float:
        """What the forecasts (rounds, horizon) of a quantile are above the central ones."""
        if self._level is None:
            return 0.0
        which, upper = list(range(self._points)), int(self._level >= 0.5)
        own = offsets[:, which, upper, -1]
        own = np.where(np.isfinite(own), own, 0.0)
        return self._linear(own, which, self._beyond(np.arange(1, horizon + 1), which, near))

    def _beyond(self, h: NDArray[Any], which: list[int], near: int | None) -> NDArray[Any]:
        """Horizons whose intervals those of horizons h are; near: see `between`."""
        if near is None or len(which) == 1:
            return h
        return np.where(h > near, np.maximum(h, self.state.horizons[which[1]]), h)

    def _lines(self, offsets: Array, which: list[int], h: NDArray[Any]) -> tuple[Array, Array]:
        """Ends of horizons between those that are tracked, on lines in log h.

        The logarithms of radii are, and with two sides the ends themselves. What lies beside an
        infinite one is infinite.
        """
        s, count = self.state, len(self.coverage)
        with np.errstate(divide="ignore", invalid="ignore"):
            if s.rule.two_sided:
                both = [self._linear(offsets[:, :, end, :count], which, h) for end in (0, 1)]
            else:
                radius = np.exp(self._linear(np.log(offsets[:, :, 1, :count]), which, h))
                both = [-radius, radius]
        low, high = (np.where(np.isnan(end), np.inf, end) for end in both)
        low = np.where(np.isnan(both[0]), -np.inf, low)
        order = np.argsort(self.coverage, kind="stable")  # an outer one takes in those inside
        back = np.argsort(order)
        low = np.minimum.accumulate(low[..., order], axis=-1)[..., back]
        return low, np.maximum.accumulate(high[..., order], axis=-1)[..., back]

    def _linear(self, values: Array, which: list[int], h: NDArray[Any]) -> Array:
        """Values (rounds, tracked, …) at horizons h, on lines in the logarithm of the horizon."""
        at, x = np.log(self.state.horizons[which]), np.log(h)
        lower = np.clip(np.searchsorted(at, x, side="right") - 1, 0, max(at.size - 2, 0))
        upper = np.minimum(lower + 1, at.size - 1)
        gap = at[upper] - at[lower]
        part = np.divide(x - at[lower], gap, out=np.zeros(x.size), where=gap > 0.0)
        part = part.reshape(-1, *(1 for _ in values.shape[2:]))
        mixed = (1.0 - part) * values[:, lower] + part * values[:, upper]
        # at a tracked horizon exactly what is tracked, infinite as it may be
        mixed = np.where(part == 0.0, values[:, lower], mixed)
        return np.asarray(np.where(part == 1.0, values[:, upper], mixed))

    def account(self, horizon: int) -> dict[str, Array]:
        """Intervals of a tracked horizon: how many were judged, missed, and may be by theorem."""
        s = self.state
        k = int(np.searchsorted(s.horizons[: s.totals], horizon))
        part = slice(s.starts[k], s.starts[k + 1])
        T = s.turns.scalars[part, :, AT.seen]
        least, most = promise(s.aims[:, AIM.level], T)
        return {
            "seen": T.sum(axis=0),
            "missed": s.turns.missed[part].sum(axis=0),
            "least": np.maximum(least, 0.0).sum(axis=0),
            "most": np.minimum(most, T).sum(axis=0),
        }

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {name: array.copy() for name, array in self._parts().items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        for name, array in self._parts().items():
            array[...] = stored(state, name, *array.shape, dtype=array.dtype)
        s = self.state
        now, issued = (int(count) for count in s.clock)
        counts = [
            [-(-issued // stride), max(0, (now - h) // stride + 1)]
            for h, stride in zip(s.horizons.tolist(), s.strides.tolist(), strict=True)
        ]
        if not (0 <= issued - now <= 1 and 0 <= now <= MOST and s.turns.counts.tolist() == counts):
            raise ValueError(
                f"state 'clock' must fit the rounds of the intervals: got {s.clock} with"
                f" {s.turns.counts.tolist()}; save the forecaster again"
            )

    def _parts(self) -> dict[str, Any]:
        own = {name: getattr(self.state, name) for name in _OWN}
        return own | self.state.turns._asdict()


def _stride(least: int) -> int:
    """Rounds between origins, at least so many."""
    stride = max(1, least)
    while stride > 1 and math.gcd(stride, _SEASONS) > 1:
        stride += 1
    return stride

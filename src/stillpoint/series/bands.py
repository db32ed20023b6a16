"""Intervals of a forecaster: which horizons have trackers, and what they say of the others."""

import math
from typing import Any

import numpy as np
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

_OWN = ("origins", "radii", "clock", "sums")
_WAITING = 48  # origins of a horizon that may wait
_SEASONS = 2 * 3 * 5 * 7  # strides have no factor in common with it: no phase is left out for ever


class Bands:
    """Trackers of the intervals of a forecaster.

    Parameters
    ----------
    horizon : int
        How far ahead intervals are asked for.
    coverage : float or list of float
        The share of values to cover, or several.
    """

    def __init__(self, horizon: int, coverage: Any) -> None:
        self.coverage = shares("coverage", coverage)
        self.several = np.ndim(coverage) > 0
        inside = np.array(self.coverage)
        aims = np.stack([inside, np.log(ndtri(0.5 + 0.5 * inside) / MEAN)], axis=1)
        order = np.argsort(inside, kind="stable")
        points = [1, *(h for h in (2**i for i in range(1, 40)) if h < horizon)]
        points += [horizon] if horizon > 1 else []
        totals = sorted({h for h in (horizon // 4, horizon // 2, horizon) if h > 1})
        stride, seldom = _stride(horizon // _WAITING), _stride(horizon // 4)
        strides = [1, *(stride for _ in points[1:]), *(seldom for _ in totals)]
        turns = [-(-h // s) for h, s in zip(points + totals, strides, strict=True)]
        B, c, m, n = len(strides), sum(turns), len(aims), order.size
        self.state = _bands.Bands(
            rule=Rule(False, False, order),
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
            radii=full((B, n), np.inf),
            clock=zeros(2, dtype=np.int64),
            sums=zeros(3),
            weights=zeros((m, len(WEIGHTS), EXPERTS)),
        )

    def start(self, first: float) -> None:
        """Begin with the first value."""
        self.state.sums[_bands.FIRST] = first

    def radii(self, horizon: int) -> Array:
        """Radii (horizon, coverages) of the next values."""
        return np.asarray(self.between(self.state.radii[None], horizon)[0])

    def total_radius(self, horizon: int) -> Array:
        """Radii (coverages,) of the total of the next values."""
        which = [0, *range(self.state.totals, self.state.horizons.size)]
        at = np.log(self.state.horizons[which])
        return np.asarray(self._lines(self.state.radii[None, which], at, np.log([horizon]))[0, 0])

    def between(self, radii: Array, horizon: int) -> Array:
        """Radii (rounds, horizon, coverages) of the next values, from those that are tracked."""
        part = slice(0, self.state.totals)
        at = np.log(self.state.horizons[part])
        return self._lines(radii[:, part], at, np.log(np.arange(1, horizon + 1)))

    def _lines(self, radii: Array, at: Array, h: Array) -> Array:
        """Radii whose logarithms lie on lines, in the logarithm of the horizon."""
        lower = np.clip(np.searchsorted(at, h, side="right") - 1, 0, max(at.size - 2, 0))
        upper = np.minimum(lower + 1, at.size - 1)
        gap = at[upper] - at[lower]
        part = np.divide(h - at[lower], gap, out=np.zeros(h.size), where=gap > 0.0)[:, None]
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(radii, 0.0))
        # at the ends exactly what is tracked, infinite or 0 as it may be
        with np.errstate(invalid="ignore"):
            mixed = np.exp((1.0 - part) * logs[:, lower] + part * logs[:, upper])
        mixed = np.where(np.isnan(mixed), np.inf, mixed)
        mixed = np.where(part == 0.0, radii[:, lower], mixed)
        mixed = np.where(part == 1.0, radii[:, upper], mixed)
        order = self.state.rule.order
        return np.maximum.accumulate(mixed[..., order], axis=-1)[..., np.argsort(order)]

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

    def _parts(self) -> dict[str, Any]:
        own = {name: getattr(self.state, name) for name in _OWN}
        return own | self.state.turns._asdict()


def _stride(least: int) -> int:
    """Rounds between origins, at least so many."""
    stride = max(1, least)
    while stride > 1 and math.gcd(stride, _SEASONS) > 1:
        stride += 1
    return stride

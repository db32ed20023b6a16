"""Intervals of small pools: what a forecaster asks of its few estimates."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.allocation import full, zeros
from stillpoint.core.array import Array
from stillpoint.core.validation import stored
from stillpoint.intervals._experts import AIM
from stillpoint.intervals._slow import SLOW
from stillpoint.intervals.base import promise
from stillpoint.series.bands import Bands
from stillpoint.series.light import _bands
from stillpoint.series.light._bands import AT, IS, SUM
from stillpoint.series.restored import MOST

OWN = ("slow", "scalars", "said", "forecasts", "total", "clock", "offsets")
STEEPEST, ALONE = 0.5, 0.25  # of log radius in log h, beyond the last horizon; where it is alone


class LightBands(Bands):
    """Two estimates a series, for the next value and for a knot.

    Parameters
    ----------
    horizon : int
        How far ahead intervals are asked for.
    coverage : float or list of float
        The share of values to cover, or several.
    knots : tuple of int
        The horizons with an estimate: 1, and one more or none.
    stride : int
        Rounds between origins of the second.
    level : float, optional
        Of the quantile to forecast: intervals have two sides then.
    """

    state: Any

    def __init__(
        self,
        horizon: int,
        coverage: Any,
        *,
        knots: tuple[int, ...],
        stride: int,
        level: float | None = None,
    ) -> None:
        rule, aims = self._aims(coverage, level)
        slots = -(-knots[1] // stride) + 1 if len(knots) > 1 else 0
        m, n = len(aims), rule.order.size
        horizons = [*knots, *([horizon] if horizon > 1 else [])]
        self.state = _bands.Bands(
            rule=rule,
            aims=aims,
            horizons=np.array(horizons, dtype=np.int64),
            totals=len(knots),
            stride=stride,
            slots=slots,
            slow=zeros((2, m, len(SLOW))),
            scalars=zeros((2, m, len(AT))),
            said=zeros((slots + 1, m, 2)),
            forecasts=zeros(slots + 1),
            total=zeros(len(SUM)),
            clock=zeros(2, dtype=np.int64),
            offsets=full((len(horizons), 2, n), np.inf) * [[-1.0], [1.0]],
        )
        self._points = len(knots)

    def start(self, first: float) -> None:
        """Begin with the first value."""
        self.state.total[SUM.first] = first

    def forget(self, values: Array) -> None:
        """See `Bands.forget`."""
        s, good = self.state, values[~np.isnan(values)]
        s.slow[...], s.said[..., IS.plain] = 0.0, np.nan
        s.forecasts[...] = good[-1]
        s.total[[SUM.sum, SUM.scale, SUM.number]], s.total[SUM.first] = 0.0, good[0]
        s.total[SUM.missing] += 1.0

    def account(self, horizon: int) -> dict[str, Array]:
        """Intervals of a tracked horizon: how many were judged, missed, and may be by theorem."""
        s = self.state
        own = s.scalars[int(np.searchsorted(s.horizons[: self._points], horizon))]
        T, misses = own[:, AT.seen], own[:, AT.misses]
        least, most = promise(s.aims[:, AIM.level], T)
        found = {"seen": T, "missed": misses, "least": np.maximum(least, 0.0)}
        found["most"] = np.minimum(most, T) if horizon == 1 else T
        if horizon > 1:  # targets that come late: nothing is promised
            found["least"] = np.zeros_like(T)
        if s.rule.two_sided:
            found = {name: values.reshape(-1, 2).sum(axis=1) for name, values in found.items()}
            found["seen"] = T[::2]
        return found

    def _linear(self, values: Array, which: list[int], h: NDArray[Any]) -> Array:
        inside = super()._linear(values, which, np.minimum(h, self.state.horizons[which[-1]]))
        at = np.log(self.state.horizons[which].astype(np.float64))
        beyond = np.maximum(np.log(h) - at[-1], 0.0).reshape(-1, *(1 for _ in values.shape[2:]))
        if not beyond.any():
            return inside
        if len(which) > 1:
            slope = (values[:, -1] - values[:, -2]) / (at[-1] - at[-2])
        else:
            slope = np.full_like(values[:, -1], 0.0 if self.state.rule.two_sided else ALONE)
        if not self.state.rule.two_sided:  # of logarithms
            slope = np.clip(slope, 0.0, STEEPEST)
        slope = np.where(np.isfinite(slope), slope, 0.0)
        return np.asarray(inside + slope[:, None] * beyond)

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        for name, array in self._parts().items():
            array[...] = stored(state, name, *array.shape, dtype=array.dtype)
        now, issued = (int(count) for count in self.state.clock)
        if not (0 <= issued - now <= 1 and 0 <= now <= MOST):
            raise ValueError(
                f"state 'clock' must fit the rounds of the intervals: got {self.state.clock}; save"
                " the forecaster again"
            )

    def _parts(self) -> dict[str, Any]:
        return {name: getattr(self.state, name) for name in OWN}

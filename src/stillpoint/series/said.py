"""What is said of rounds: forecasts and intervals, with those of steps that lack features."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.array import Array
from stillpoint.series.bands import Bands

if TYPE_CHECKING:
    from stillpoint.series.engine import Engine


class Said:
    """Forecasts of rounds and what lies around them.

    Parameters
    ----------
    bands : Bands
        Of the forecaster.
    out, offsets : arrays
        As of `Engine.track`: forecasts of the mean, maybe what is said `beside` them; ends of
        intervals.
    steps : int
        How many values each round has forecasts of.

    Attributes
    ----------
    near : array of int, or None
        Of each round, see `Bands.between`.
    """

    def __init__(self, bands: Bands, out: Array, offsets: Array, steps: int) -> None:
        self._bands, self._offsets, self._steps = bands, offsets, steps
        self.central, self._others = out[:, :steps], np.empty((0, 0, 0))
        self.near = out[:, -1].astype(np.int64) if out.shape[1] > steps else None
        if out.shape[1] > steps + 1:
            others = out[:, steps:-1].reshape(out.shape[0], -1, steps)
            self._lacks = ~np.isnan(others[:, 0])
            if self._lacks.any():
                self._others = others
                own = self._lacks & (np.arange(steps) > 0)  # the next has been forecast already
                self.central = np.where(own, others[:, 0], self.central)

    @property
    def lacks(self) -> bool:
        """Whether some steps lack features."""
        return self._others.size > 0

    @property
    def shift(self) -> Array | float:
        """What forecasts of a quantile are above the central ones."""
        if not self._bands.shifts:
            return 0.0
        own = self._by_near(lambda *of: np.asarray(self._bands.shift(*of)))
        return np.where(self._lacks, self._others[:, 1], own) if self.lacks else own

    @property
    def forecasts(self) -> Array:
        """What is forecast: (rounds, steps)."""
        return np.asarray(self.central + self.shift)

    @property
    def ends(self) -> tuple[Array, Array]:
        """Ends of intervals: (rounds, steps), or (rounds, steps, coverages) of several."""
        both = self._by_near(lambda *of: np.stack(self._bands.between(*of), axis=1))
        parts = both[:, 0], both[:, 1]
        if self.lacks:
            count, mask = parts[0].shape[2], self._lacks[..., None]
            others = self._others[:, 2:].swapaxes(1, 2)
            theirs = others[..., :count], others[..., count:]
            low, high = (np.where(mask, *pair) for pair in zip(theirs, parts, strict=True))
            return around(self._bands, self.central, low, high)
        return around(self._bands, self.central, *parts)

    def _by_near(self, what: Callable[[Array, int, Any], Array]) -> Array:
        """What there is for these offsets and steps, of rounds that are alike at a time."""
        if self.near is None or not self.near.size:
            return what(self._offsets, self._steps, None)
        alike = [self.near == near for near in np.unique(self.near)]
        parts = [what(self._offsets[at], self._steps, int(self.near[at][0])) for at in alike]
        found = np.empty((self.near.size, *parts[0].shape[1:]))
        for at, part in zip(alike, parts, strict=True):
            found[at] = part
        return found


def beside(engine: Engine, y: Array, X: Array, known: NDArray[np.int64], horizon: int) -> Array:
    """What is said beside the forecasts of coming rounds: (rounds, …).

    That is `Unknown.said` of steps that lack features, where these are asked about, and last
    `History.near`. y, X and known are those of `Engine.track`.
    """
    near = engine.history.near(X, known, engine.horizon, engine.apart)[:, None].astype(np.float64)
    if engine.unknown is None:
        return near
    return np.concatenate([engine.unknown.said(engine, y, X, known, horizon), near], axis=1)


def around(bands: Bands, forecast: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Ends of intervals from those less the forecasts; coverages are the last axis of these."""
    if not bands.several:
        return forecast + low[..., 0], forecast + high[..., 0]
    return forecast[..., None] + low, forecast[..., None] + high

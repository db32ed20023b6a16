"""What is said of rounds: forecasts and intervals, with those of steps that lack features."""

import numpy as np

from stillpoint.core.array import Array
from stillpoint.series.bands import Bands


class Said:
    """Forecasts of rounds and what lies around them.

    Parameters
    ----------
    bands : Bands
        Of the forecaster.
    out, offsets : arrays
        As of `Engine.track`: forecasts of the mean, beside them maybe what `Unknown.said` says of
        steps that lack features; ends of intervals.
    steps : int
        How many values each round has forecasts of.
    near : int, optional
        See `Bands.between`.
    """

    def __init__(
        self, bands: Bands, out: Array, offsets: Array, steps: int, near: int | None
    ) -> None:
        self._bands, self._offsets, self._steps, self._near = bands, offsets, steps, near
        self.central, self._others = out[:, :steps], np.empty((0, 0, 0))
        if out.shape[1] > steps:
            others = out[:, steps:].reshape(out.shape[0], -1, steps)
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
        own = self._bands.shift(self._offsets, self._steps, self._near)
        return np.where(self._lacks, self._others[:, 1], own) if self.lacks else own

    @property
    def forecasts(self) -> Array:
        """What is forecast: (rounds, steps)."""
        return np.asarray(self.central + self.shift)

    @property
    def ends(self) -> tuple[Array, Array]:
        """Ends of intervals: (rounds, steps), or (rounds, steps, coverages) of several."""
        parts = self._bands.between(self._offsets, self._steps, self._near)
        if self.lacks:
            count, mask = parts[0].shape[2], self._lacks[..., None]
            others = self._others[:, 2:].swapaxes(1, 2)
            theirs = others[..., :count], others[..., count:]
            low, high = (np.where(mask, *pair) for pair in zip(theirs, parts, strict=True))
            return around(self._bands, self.central, low, high)
        return around(self._bands, self.central, *parts)


def around(bands: Bands, forecast: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Ends of intervals from those less the forecasts; coverages are the last axis of these."""
    if not bands.several:
        return forecast + low[..., 0], forecast + high[..., 0]
    return forecast[..., None] + low, forecast[..., None] + high

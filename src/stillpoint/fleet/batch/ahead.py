"""What batches of forecasters do besides: features, horizons, intervals, whole series at once."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array, shown
from stillpoint.fleet.batch.faults import Fault, table
from stillpoint.fleet.keys import Slots
from stillpoint.forecasters.aggregation import LARGEST


class Ahead:
    """Forecasts of many series; of learners that are no forecasters all of it is refused."""

    horizon = 0  # how many steps ahead the learner forecasts; 0: it is no forecaster
    coverages = 0  # how many intervals it has around a forecast
    several = False  # whether coverages are an axis of the ends: a list of them was told
    largest = LARGEST  # size of values

    def features(
        self, slots: Slots, when: Any, x: ArrayLike | None, needed: bool = True
    ) -> tuple[Any, list[Fault]]:
        """Features to open rounds with at these times, one row a key; empty where none are given.

        `needed`: a round cannot be opened without, if the learner has any.
        """
        return without("x", x), []

    def series(
        self, slots: Slots, Y: ArrayLike, X: ArrayLike | None
    ) -> tuple[Array, Any, list[Fault]]:
        """What `track` was given as arrays of its own, and what is wrong with it."""
        values, faults = table(Y, slots, self.largest)
        return values, without("X", X), faults

    def path(self, slots: Slots, horizon: int) -> Array:
        """Forecasts of the open rounds and those after them, (rows, horizon)."""
        raise self._no_forecaster()

    def ends(self, slots: Slots, horizon: int) -> tuple[Array, Array]:
        """Ends (lo, hi) of the intervals around them, each (rows, horizon, coverages)."""
        raise self._no_forecaster()

    def track(
        self, slots: Slots, Y: Array, X: Any, horizon: int, intervals: bool
    ) -> tuple[Array, ...]:
        """Play the rounds of Y (rows, T), NaN where a value is missing.

        An open round is the first. Forecasts (rows, T, horizon), and if intervals are asked for
        their ends lo and hi, (rows, T, horizon, coverages).
        """
        raise self._no_forecaster()

    def _no_forecaster(self) -> ValueError:
        return ValueError(
            f"learner must be a forecaster to look ahead: got {type(self).__name__}; call open and"
            " close"
        )


def without(name: str, features: ArrayLike | None) -> Array:
    """No features; ValueError where some are given."""
    if features is not None:
        raise ValueError(
            f"{name} must be left out for this learner: got {shown(features)}; it has no features"
        )
    return np.zeros(0)

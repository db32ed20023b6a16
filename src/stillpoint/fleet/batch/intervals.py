"""Interval and quantile trackers of many keys."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.arithmetic import LARGEST
from stillpoint.core.validation import Array
from stillpoint.fleet.batch import _intervals
from stillpoint.fleet.batch.base import Batch, Fault
from stillpoint.fleet.batch.faults import given_centres, none_open
from stillpoint.fleet.keys import Slots
from stillpoint.intervals import IntervalTracker, QuantileTracker
from stillpoint.intervals.base import QuantileEstimators, both_ends

_ESTIMATORS = "experts", "books", "scalars"


class EstimatorBatch(Batch):
    """What the two share. Weights are made anew in every round: no state."""

    largest = LARGEST

    def __init__(self, learner: QuantileEstimators, threads: int) -> None:
        super().__init__(threads)
        self._aims, self._endless = learner._estimators.aims, learner._not_finite
        state = {name: np.asarray(value) for name, value in learner.arrays().items()}
        self._lay(**{**state, "rounds": np.int64(0)})

    @property
    def _not_finite(self) -> frozenset[str]:
        return super()._not_finite | self._endless

    def skip(self, slots: Slots, when: Array) -> None:
        """Nothing is learnt, nothing counts."""
        self.data["open"][slots] = False
        self.data["rounds"][slots] += 1

    def state(self, slot: int) -> dict[str, Any]:
        """As the learner's `arrays`."""
        return {
            name: array[slot].copy() if array.ndim > 1 else array[slot].item()
            for name, array in self.data.items()
        }

    def adopt(self, slot: int, state: dict[str, Any]) -> None:
        """From the learner's `arrays`."""
        for name, array in self.data.items():
            array[slot] = state[name]


class IntervalBatch(EstimatorBatch):
    """States of `IntervalTracker`."""

    def __init__(self, learner: IntervalTracker, threads: int) -> None:
        super().__init__(learner, threads)
        self._several, self._rule = learner._several, learner._rule

    def centres(self, slots: Slots, forecasts: ArrayLike | None) -> tuple[Array, list[Fault]]:
        """Forecasts, one a key; those of open rounds again."""
        centres, faults = given_centres(forecasts, slots)
        before = self.data["forecast"][slots]
        other = self.data["open"][slots] & (centres != before)
        if other.any():

            def what(row: int) -> str:
                return (
                    f"forecasts must be those of open rounds: got {centres[row]}, open with"
                    f" {before[row]}; call update or skip first"
                )

            faults = [*faults, Fault(np.flatnonzero(other), what)]
        return centres, faults

    def feedback(self, slots: Slots, given: ArrayLike) -> tuple[tuple[Array, ...], list[Fault]]:
        """Targets of open rounds."""
        feedback, faults = super().feedback(slots, given)
        return feedback, [*none_open(feedback[0], ~self.data["open"][slots]), *faults]

    def open(self, slots: Slots, when: Array, centres: Array) -> tuple[Array, Array]:
        """Ends (lo, hi), each (rows,), or (rows, coverages) where several were asked for."""
        out = np.empty((slots.size, *self._blank["ends"].shape))
        self._run(
            _intervals.open_intervals,
            slots,
            centres,
            out,
            self._rule,
            self._aims,
            self._keys(),
        )
        return both_ends(out, self._several)

    def close(self, slots: Slots, when: Array, feedback: tuple[Array, ...]) -> None:
        """Learn from targets."""
        self._run(
            _intervals.close_intervals,
            slots,
            *feedback,
            self._rule.two_sided,
            self._aims,
            self._keys(),
        )

    def _keys(self) -> _intervals.Intervals:
        own = self._get(*_ESTIMATORS, "ends", "missed", "forecast", "open", "rounds")
        return _intervals.Intervals(*own)


class QuantileBatch(EstimatorBatch):
    """States of `QuantileTracker`."""

    def __init__(self, learner: QuantileTracker, threads: int) -> None:
        super().__init__(learner, threads)
        self._several, self._pivot = learner._several, learner._pivot

    def open(self, slots: Slots, when: Array, centres: Array) -> Array:
        """Quantiles, (rows,), or (rows, levels) where several were asked for."""
        out = np.empty((slots.size, len(self._aims)))
        self._run(
            _intervals.open_quantiles,
            slots,
            out,
            self._pivot,
            self._aims,
            self._keys(),
        )
        return out if self._several else out[:, 0]

    def close(self, slots: Slots, when: Array, feedback: tuple[Array, ...]) -> None:
        """Learn from targets."""
        if not self.data["open"][slots].all():
            self.open(slots, when, np.zeros(0))
        self._run(
            _intervals.close_quantiles,
            slots,
            *feedback,
            self._aims,
            self._keys(),
        )

    def _keys(self) -> _intervals.Quantiles:
        return _intervals.Quantiles(*self._get(*_ESTIMATORS, "values", "open", "rounds"))

"""Interval trackers of many keys whose targets come late."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.arithmetic import LARGEST
from stillpoint.core.validation import Array, counted
from stillpoint.fleet.batch import _late_intervals
from stillpoint.fleet.batch.base import Batch, Fault
from stillpoint.fleet.batch.faults import given_centres, none_open
from stillpoint.fleet.keys import Slots
from stillpoint.intervals import IntervalTracker
from stillpoint.intervals._turns import COUNT, State
from stillpoint.intervals.base import both_ends


class LateIntervalBatch(Batch):
    """States of `IntervalTracker` with a delay: every call of predict opens a round of its keys,
    and update closes the oldest.
    """

    largest = LARGEST

    def __init__(self, learner: IntervalTracker, threads: int) -> None:
        super().__init__(threads)
        self._several, self._rule = learner._several, learner._rule
        self._aims, self._turns = learner._estimators.aims, learner.delay + 1
        self._endless = learner._not_finite
        self._lay(**learner.arrays(), open=np.False_)

    @property
    def _not_finite(self) -> frozenset[str]:
        return super()._not_finite | self._endless

    def put(self, slots: Slots, state: dict[str, Any]) -> None:
        """See Batch; counts that no tracker has are refused."""
        super().put(slots, state)
        for opened, closed in self.data["counts"][slots].tolist():
            counted("counts", closed, 2.0**53)
            counted("counts", opened - closed, self._turns)

    def centres(self, slots: Slots, forecasts: ArrayLike | None) -> tuple[Array, list[Fault]]:
        """Forecasts, one a key."""
        centres, faults = given_centres(forecasts, slots)
        full = self._waiting(slots) == self._turns
        if full.any():

            def what(row: int) -> str:
                return (
                    f"forecasts must come after the oldest open round is closed: got"
                    f" {centres[row]} with {self._turns} open, the most with"
                    f" delay={self._turns - 1}; call update or skip first"
                )

            faults = [*faults, Fault(np.flatnonzero(full), what)]
        return centres, faults

    def feedback(self, slots: Slots, given: ArrayLike) -> tuple[tuple[Array, ...], list[Fault]]:
        """Targets of the oldest open rounds."""
        feedback, faults = super().feedback(slots, given)
        return feedback, [*none_open(feedback[0], self._waiting(slots) == 0), *faults]

    def _waiting(self, slots: Slots) -> Any:
        counts = self.data["counts"][slots]
        return counts[:, COUNT.opened] - counts[:, COUNT.closed]

    def open(self, slots: Slots, when: Array, centres: Array) -> tuple[Array, Array]:
        """Ends (lo, hi), each (rows,), or (rows, coverages) where several were asked for."""
        out = np.empty((slots.size, *self._blank["ends"].shape[1:]))
        state = self._group(State), self.data["open"]
        self._run(_late_intervals.open_late, slots, centres, out, self._rule, self._aims, *state)
        return both_ends(out, self._several)

    def close(self, slots: Slots, when: Array, feedback: tuple[Array, ...]) -> None:
        """Learn from targets."""
        state = self._group(State), self.data["open"]
        self._run(_late_intervals.close_late, slots, *feedback, self._rule, self._aims, *state)

    def state(self, slot: int) -> dict[str, Any]:
        """As the learner's `arrays`."""
        return {name: self.data[name][slot].copy() for name in State._fields}

    def adopt(self, slot: int, state: dict[str, Any]) -> None:
        """From the learner's `arrays`."""
        for name in State._fields:
            self.data[name][slot] = state[name]
        opened, closed = state["counts"].tolist()
        self.data["open"][slot] = opened > closed

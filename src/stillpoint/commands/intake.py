"""Rows of a series on their way in: features in fixed columns, whole and negative targets."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.commands.encode import Rows
from stillpoint.commands.plans import Plan, Table
from stillpoint.core.validation import Array, counted, stored

_WHOLE = 10  # targets that must all be whole for ends to be


class Intake:
    """What was read of a series so far, by its plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        # targets, those not whole, those below 0, those before the first that was not whole
        self._counts = np.zeros(4, dtype=np.int64)
        self.repeated = 0  # targets that gave way to a later one of their slot
        self._filled = False  # whether the slot of the last row has a target

    @property
    def whole(self) -> bool:
        """Whether all targets were whole numbers, and there were some."""
        return bool(self._counts[0] >= _WHOLE and self._counts[1] == 0)

    @property
    def was_whole(self) -> bool:
        """Whether ends were whole numbers at some time."""
        return bool(self._counts[3] >= _WHOLE)

    @property
    def negative(self) -> bool:
        """Whether a target was below 0."""
        return bool(self._counts[2])

    def read(self, rows: Rows) -> Table:
        """Take in new rows."""
        y = rows.y
        known = ~np.isnan(y)
        odd, below = known & (y % 1.0 != 0.0), known & (y < 0.0)
        seen, not_whole = (
            start + np.cumsum(marks) - marks
            for start, marks in zip(self._counts[:2], (known, odd), strict=True)
        )
        whole = (seen >= _WHOLE) & (not_whole == 0)
        before = (known & ~odd & (not_whole == 0)).sum()
        self._counts += np.array([known.sum(), odd.sum(), below.sum(), before])
        return Table(y, self._features(rows.X), rows.times, whole.astype(np.float64))

    def count(self, y: Array, steps: NDArray[np.int64]) -> None:
        """Count targets that give way to a later one of their slot. steps: slots between rows."""
        slots, known = np.cumsum(steps != 0), ~np.isnan(y)
        targets = np.bincount(slots[known], minlength=int(steps.size and slots[-1]) + 1)
        targets[0] += self._filled
        self.repeated += int(np.maximum(targets - 1, 0).sum())
        self._filled = bool(targets[-1])

    def _features(self, X: Array) -> Array:
        """Return features in the columns there are; the words that have none are not told apart."""
        numbers, room = self._plan.numbers, self._plan.words
        words = X[:, max(numbers, 1) :][:, :room]
        found = np.zeros((X.shape[0], numbers + room))
        found[:, :numbers] = X[:, :numbers]
        found[:, numbers : numbers + words.shape[1]] = words
        return found

    def arrays(self) -> dict[str, Any]:
        """Return the state, for saving."""
        return {
            "counts": self._counts.copy(),
            "repeated": self.repeated,
            "filled": self._filled,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `arrays` returned."""
        self._counts[:] = stored(state, "counts", 4, dtype=np.int64)
        counted("repeated", state["repeated"], 2**62)
        self.repeated = int(state["repeated"])
        self._filled = bool(state["filled"])

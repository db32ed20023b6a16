"""Rows of a series on their way in: slots in time, features in fixed columns, whole targets."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.commands.encode import Rows
from stillpoint.commands.plans import Plan, Table
from stillpoint.core.validation import Array, counted, stored
from stillpoint.series.slots import Slots

_WHOLE = 10  # targets that must all be whole for ends to be


class Intake:
    """What was read of a series so far.

    Parameters
    ----------
    plan
        Of the series.
    timed
        Whether it has times.
    """

    def __init__(self, plan: Plan, timed: bool) -> None:
        self._plan = plan
        self._slots = Slots() if timed else None
        self._slot = -1  # of the last row
        # rows, targets, those not whole, those below 0
        self._counts = np.zeros(4, dtype=np.int64)

    @property
    def rows(self) -> int:
        """How many rows there were."""
        return int(self._counts[0])

    @property
    def timed(self) -> bool:
        """Whether rows have times."""
        return self._slots is not None

    @property
    def whole(self) -> bool:
        """Whether all targets were whole numbers, and there were some."""
        return bool(self._counts[1] >= _WHOLE and self._counts[2] == 0)

    @property
    def negative(self) -> bool:
        """Whether a target was below 0."""
        return bool(self._counts[3])

    @property
    def gap(self) -> float | None:
        """How far rows are apart in time; None where that is not known."""
        if self._slots is None:
            return None
        first = self._slots.arrays()["first"]
        return self._slots.gap or (float(np.median(np.diff(first))) if first.size > 1 else None)

    def read(self, rows: Rows) -> Table:
        """Take in new rows."""
        y, T = rows.y, rows.y.size
        known = ~np.isnan(y)
        odd, below = known & (y % 1.0 != 0.0), known & (y < 0.0)
        seen, not_whole = (
            start + np.cumsum(marks) - marks
            for start, marks in zip(self._counts[1:3], (known, odd), strict=True)
        )
        whole = (seen >= _WHOLE) & (not_whole == 0)
        self._counts += np.array([T, known.sum(), odd.sum(), below.sum()])
        slots = self._slot + np.cumsum(self._steps(rows.times, T))
        self._slot = int(slots[-1])
        return Table(y, self._features(rows.X), rows.times, slots, whole.astype(np.float64))

    def _features(self, X: Array) -> Array:
        """Return features in the columns there are; the words that have none are not told apart."""
        numbers, room = self._plan.numbers, self._plan.words
        words = X[:, max(numbers, 1) :][:, :room]
        found = np.zeros((X.shape[0], numbers + room))
        found[:, :numbers] = X[:, :numbers]
        found[:, numbers : numbers + words.shape[1]] = words
        return found

    def _steps(self, times: Array, T: int) -> NDArray[np.int64]:
        """Return how many slots each row is after the one before, as the forecaster has them."""
        if self._slots is None:
            return np.ones(T, dtype=np.int64)
        early = min(self._slots.missing, T)
        steps = self._slots.take(times[:early]) if early else np.zeros(0, dtype=np.int64)
        if early and self._slots.missing == 0 and (self._slots.settle() != 1).any():
            # the first rows were not one slot apart: what they said is of no slot that comes
            steps[-1] = 4 * (self._plan.period + self._plan.horizon)
        return np.append(steps, self._slots.take(times[early:]) if early < T else steps[:0])

    @property
    def _not_finite(self) -> frozenset[str]:
        return frozenset({"gap"})

    def arrays(self) -> dict[str, Any]:
        """Return the state, for saving."""
        slots = {} if self._slots is None else self._slots.arrays()
        return {**slots, "counts": self._counts.copy(), "slot": self._slot}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `arrays` returned."""
        if self._slots is not None:
            self._slots.restore(state)
        self._counts[:] = stored(state, "counts", 4, dtype=np.int64)
        counted("slot", state["slot"] + 1, 2**62)
        self._slot = int(state["slot"])

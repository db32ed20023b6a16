"""Times to slots: rounds of a series whose rows are not all the same time apart.

The gap between rows is the median of the first ones. A row k gaps after the slot before it fills
the k-th slot after that, and the slots between are rounds without a value. Where the slots are in
time is tracked with a tenth of each row's deviation, so that rows that wander (months of 28 to 31
days, clocks that drift) stay in their slots.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.array import Array
from stillpoint.core.validation import stored
from stillpoint.series._slots import walk

FIRST = 16  # times from which the gap is told


class Slots:
    """The slots of a series.

    Parameters
    ----------
    gap : float, optional
        Between slots; None: that of the first times.
    """

    def __init__(self, gap: float | None = None) -> None:
        self.gap, self._anchor = gap, 0.0
        self._first = np.empty(0)  # times before the gap is known

    def take(self, times: Array) -> NDArray[np.int64]:
        """How many slots each of these times is after the one before; 0: the same slot.

        The first time of all is one slot after nothing. Before the gap is known rows are 1 apart.
        """
        if self.gap is None:
            self._first = np.append(self._first, times)
            return np.ones(times.size, dtype=np.int64)
        steps = np.empty(times.size)
        self._anchor = walk(times, self.gap, self._anchor, steps)
        return steps.astype(np.int64)

    @property
    def waiting(self) -> int:
        """How many times the gap will be told from, so far."""
        return self._first.size

    @property
    def missing(self) -> int:
        """How many more times the gap waits for."""
        return FIRST - self._first.size if self.gap is None else 0

    def settle(self) -> NDArray[np.int64]:
        """Tell the gap from the first times; returns their steps."""
        times, self._first = self._first, np.empty(0)
        self.gap, self._anchor = float(np.median(np.diff(times))), times[0]
        return np.append(1, self.take(times[1:]))

    def start(self, time: float) -> None:
        """Begin at this time, where the gap was given."""
        self._anchor = time

    def coming(self) -> float:
        """When the coming slot is."""
        return self._anchor + (self.gap or 1.0)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        gap = math.nan if self.gap is None else self.gap
        return {"gap": gap, "anchor": self._anchor, "first": self._first.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        gap, self._anchor = float(state["gap"]), float(state["anchor"])
        self.gap, self._first = None if math.isnan(gap) else gap, stored(state, "first", None)
        waits = self.gap is None and self._first.size < FIRST
        if not (waits or (gap > 0.0 and not self._first.size)):
            raise ValueError(
                f"state 'gap' must be above 0, or told by fewer than {FIRST} times: got {gap} and"
                f" {self._first.size}; save the forecaster again"
            )

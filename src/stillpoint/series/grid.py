"""The slots of a series and the rows that tell them: looked at anew as rows come.

The gap is told by the first 16 times. After 23, 33, 47, … rows, √2 apart, and when rows and slots
do not agree (most slots are empty, or most rows share one), it is told again from the times kept;
if it is another, all rows kept are played anew in the new slots.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.array import Array
from stillpoint.series import restored, seasons
from stillpoint.series.rows import Rows
from stillpoint.series.slots import FIRST, MOST, Slots

# rows after a look that brought new slots until one out of turn: so many, or this part of all
_REST, _PART = 64, 4


class Grid:
    """Slots, and when they are looked at.

    Parameters
    ----------
    features : int
        How many numbers may be known of a row before its value.
    """

    def __init__(self, features: int) -> None:
        self.slots, self.rows = Slots(), Rows(features)
        self._look, self._rest = FIRST, 0  # rows: at which to look, and before which only then

    @property
    def looks(self) -> bool:
        """Whether slots are looked at when the coming row's time is given."""
        total = self.rows.total
        return total + 1 >= self._look or (self.slots.strain > MOST and total >= self._rest)

    def step(self, when: float) -> int:
        """How many slots this time, which is taken, is after the last row's."""
        return int(self.slots.take(np.array([when]))[0])

    def steps(self, when: Array, given: bool) -> NDArray[np.int64]:
        """Steps of the first of these times, which are taken: up to where slots are looked at."""
        if not given:
            return self.slots.take(when, when.size)
        total = self.rows.total
        return self.slots.take(when[: self._look - total - 1], max(self._rest - total - 1, 0))

    def again(
        self, when: float, dates: bool, told: tuple[float, ...] | None
    ) -> NDArray[np.int64] | None:
        """Tell the slots anew, from the rows and this time; None: they stay, and it is not taken.

        Returns the steps of all rows kept, and of this time, in the new slots.
        """
        total = self.rows.total
        while self._look <= total + 1:
            self._look = math.ceil(self._look * math.sqrt(2.0))
        times = np.append(self.rows.times, when)
        slots = self.slots.again(times, dates, told)
        if slots is None:
            self.slots.strain = 0
            return None
        if self.slots.gap is not None:
            self._rest = total + max(_REST, total // _PART)
        self.slots = slots
        return slots.spread(times)

    def suggested(self, dated: bool) -> tuple[float, ...]:
        """Seasons that go with the spacing of dates."""
        if not dated or self.slots.gap is None:
            return ()
        periods, week = seasons.calendar(self.slots.gap), self.slots.week
        if week is not None:
            periods = week.periods()
            if len(periods) == 1:
                periods = (*periods, 365.25 / 7.0 * periods[0])
            periods = tuple(sorted({m for m in periods if m >= 2.0}))
        return tuple(float(round(m)) if abs(m - round(m)) < 1e-4 * m else m for m in periods)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        own = {"look": self._look, "rest": self._rest}
        return own | self.slots.arrays() | self.rows.arrays()

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        self.slots.restore(state)
        self.rows.restore(state)
        self._look = restored.number(state, "look", FIRST)
        self._rest = restored.number(state, "rest")

"""Times to slots: rounds of a series whose rows are not all the same time apart.

The gap between rows is their median. A row k gaps after the slot before it fills the k-th slot
after that, and the slots between are rounds without a value. Where the slots are in time is tracked
with a tenth of each row's deviation, so that rows that wander (months of 28 to 31 days, clocks that
drift) stay in their slots. Phases of the week that never have a row are no slots.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.array import Array
from stillpoint.series import restored, weeks
from stillpoint.series._slots import FAR, walk
from stillpoint.series.history import KEEP
from stillpoint.series.weeks import Week

FIRST = 16  # times from which the gap is told
_RECENT = 64  # gaps that tell how rows come now
_MILD, _STRONG = 1.2, 4.0  # how much all gaps, and recent ones, may differ from the one in use
# strain: so much of a slot that is empty, of a row beside all slots, of one that shares its slot,
# less what a row may bring; slots are looked at anew when it exceeds MOST
_LONG, _BESIDE, _SHARED, _ROW, MOST = 64, 64, 16, 8, 512
# what it can come to at most, before it is looked at
_HIGHEST = 1 << 40
LEAST, _SEASONS = 64, 4  # empty slots in a row that are played: so many, or so many seasons


class Slots:
    """The slots of a series.

    Parameters
    ----------
    gap : float, optional
        Between slots; None: it is not known yet, and rows are 1 apart.
    week : Week, optional
        The phases of the week that are slots, if not all are.
    """

    def __init__(self, gap: float | None = None, week: Week | None = None) -> None:
        self.gap, self.week = gap, week
        self._anchor, self._place = 0.0, 0  # when the last slot was; how many there were
        self.strain = 0  # how ill slots and rows agree

    def start(self, time: float) -> None:
        """Begin with a slot at this time."""
        self._anchor = time
        if self.week is not None:
            self._place = int(self.week.count(np.array([time]))[0][0])

    def take(self, times: Array, rest: int = 0) -> NDArray[np.int64]:
        """How many slots each of these times is after the one before; 0: the same slot.

        Those up to the first at which the strain is too high, the first `rest` not counted.
        """
        if self.gap is None:
            return np.ones(times.size, dtype=np.int64)
        steps, beside = self._steps(times)
        strain = np.minimum(np.maximum(steps - 1, 0), _LONG) + _BESIDE * beside - _ROW
        strain += _SHARED * ((steps == 0) & ~beside)
        level = self.strain + np.cumsum(strain)
        level -= np.minimum(np.minimum.accumulate(level), 0)
        over = np.flatnonzero(level[rest:] > MOST)
        taken = rest + int(over[0]) + 1 if over.size else times.size
        self._move(times[:taken])
        if taken:
            self.strain = min(int(level[taken - 1]), _HIGHEST)
        return steps[:taken]

    def steps(self, times: Array) -> NDArray[np.int64]:
        """What `take` would say of these times, which are not taken."""
        return self._steps(times)[0]

    def _steps(self, times: Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Steps, and which times lie beside all slots."""
        if self.week is not None:
            places, inside = self.week.count(times)
            # a row in a slot that is over fills none, and the next one counts from the last slot
            places = np.maximum.accumulate(np.append(self._place, places))
            return np.diff(places), ~inside
        assert self.gap is not None
        steps = np.empty(times.size)
        walk(times, self.gap, self._anchor, steps)
        return steps.astype(np.int64), np.zeros(times.size, dtype=bool)

    def _move(self, times: Array) -> None:
        if self.week is not None:
            self._place = max(self._place, int(self.week.count(times[-1:])[0].max(initial=0)))
        assert self.gap is not None
        self._anchor = walk(times, self.gap, self._anchor, np.empty(times.size))

    def spread(self, times: Array) -> NDArray[np.int64]:
        """Begin with these times; returns their steps."""
        self.start(float(times[0]))
        steps = np.append(1, self._steps(times[1:])[0])
        self._move(times[1:])
        return steps

    def push(self) -> None:
        """Move one slot on: the last row's was over, so it counts as the next."""
        assert self.gap is not None
        self._anchor, self._place = self._anchor + self.gap, self._place + 1

    def coming(self, last: float) -> float:
        """When the slot after that of the last row is, which was at this time."""
        if self.week is not None:
            pushed = self._place - int(self.week.count(np.array([last]))[0][0])
            for _ in range(min(pushed, self.week.active.size)):
                last = self.week.after(last)
            return self.week.after(last)
        if self.gap is None:
            return last + 1.0
        pushed = int(min(max((self._anchor - last) / self.gap + 0.5, 0.0), FAR))
        return last + (1 + pushed) * self.gap

    def again(self, times: Array, dates: bool, told: tuple[float, ...] | None) -> "Slots | None":
        """Slots told from these times; None: they are those in use.

        `told`: seasons in rounds, None where they are to be found.
        """
        gap = usual(times, self.gap)
        week = weeks.learn(times, gap, told) if dates else None
        same = week.same(self.week) if week is not None else self.week is None
        return None if gap == self.gap and same else Slots(gap, week)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {
            "gap": math.nan if self.gap is None else self.gap,
            "anchor": self._anchor,
            "place": self._place,
            "strain": self.strain,
        } | weeks.arrays(self.week)

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        gap, self._anchor = float(state["gap"]), float(state["anchor"])
        self.gap, self.week = None if math.isnan(gap) else gap, weeks.restored(state)
        self._place = int(state["place"])
        self.strain = restored.number(state, "strain")
        if not (math.isnan(gap) or gap > 0.0) or (math.isnan(gap) and self.week is not None):
            raise ValueError(
                f"state 'gap' must be above 0, or not known: got {gap}; save the forecaster again"
            )


def usual(times: Array, gap: float | None) -> float:
    """The gap between such times: the one in use, unless they differ clearly from it."""
    gaps = np.diff(times)
    told, recent = float(np.median(gaps)), float(np.median(gaps[-_RECENT:]))
    if not told / _STRONG <= recent <= told * _STRONG:
        told = recent
    return gap if gap is not None and gap / _MILD <= told <= gap * _MILD else told


def shortened(steps: NDArray[np.int64], periods: tuple[float, ...]) -> NDArray[np.int64]:
    """Steps, and where they are very long others that lead to the same phase of these seasons.

    Of all, if they are whole and repeat together within KEEP rounds; else of the longest, rounded.
    """
    season = round(max(periods, default=1.0))
    least = max(LEAST, _SEASONS * season) - season  # that are left
    together = math.lcm(*(int(m) for m in periods)) if all(m == int(m) for m in periods) else KEEP
    turn = together if together < KEEP else season
    return np.asarray(steps - np.maximum(0, steps - least - 1) // turn * turn)

"""A detector of changes whose reference gets a season and a trend where the stream has them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stillpoint.alerts import _changes, change
from stillpoint.alerts._state import AT, BY, MOST
from stillpoint.alerts.change import LARGEST, NO_SLOW, SLOW, Change
from stillpoint.alerts.sizes import (
    REFRESH,
    longer_season,
    measure,
    nearest,
    seen_twice,
    settled,
    shape,
    taken,
)
from stillpoint.core.array import Array
from stillpoint.core.validation import counted, stored

RESTLESS = 3  # changes
SOON, LATE = REFRESH + 10, 5000  # rows until it is looked again, after a change and at most


class Detector:
    """The state of `Changes`, by itself or as a part of a forecaster.

    Parameters
    ----------
    every : float
        Rows from one false alarm to the next, at least, on average.
    period : float, default 0
        Rows of the season that the stream has; 0 for none.
    row : int, default 0
        The number of the first row.
    find : callable, optional
        The period of rows (row, value, seasonal) since the last change, and that of a longer
        season; 0 where there is none.
    longer : float, default 0
        Rows of a longer season beside the first, such as the week of hours; 0 for none. It is
        learnt, and taken off the values, once it has come twice since the last change; until then
        it is as it was before.
    slow : array of shape (waves, 3), optional
        How it is at first, see `sizes.longer_season`.
    """

    def __init__(
        self,
        every: float,
        period: float = 0.0,
        row: int = 0,
        find: Callable[[Array], tuple[float, float]] | None = None,
        longer: float = 0.0,
        slow: Array = NO_SLOW,
    ) -> None:
        self.every, self.period, self.longer, self._find = every, period, longer, find
        self._told = period > 0.0
        self._learnt = 0  # values that the longer season has been learnt from
        self.state = change.build(every, period, row=row, slow=slow)
        self._look, self._measured = row + SOON, -1  # rows to look, and up to which to measure
        self._stop = self._look

    @property
    def row(self) -> int:
        """The number of the coming row."""
        return int(self.state.clock[BY.row])

    @property
    def records(self) -> list[Change]:
        """The last 100 changes, oldest first; the latest's size is measured further for 50 rows."""
        if self.row <= self._measured:
            measure(self.state, False)
        return change.records(self.state)

    def update(self, y: float) -> Change | None:
        """Take in the value of a row, NaN if it is missing."""
        found = _changes.update(y, *self.state)
        if found or self.state.clock[BY.row] == self._stop:
            self._run_due_checks(found)
        return self._latest if found else None

    def take(self, y: Array, seasonal: Array | None = None) -> list[Change]:
        """Take in the values of rows, and how much of each is seasonal; returns the changes."""
        given = np.full(y.size, np.nan) if seasonal is None else seasonal
        changes: list[Change] = []
        first = 0
        while first < y.size:
            stop = min(y.size, first + self._stop - self.row)
            before = int(self.state.clock[BY.found])
            first = _changes.track(self.state, y, given, first, stop)
            found = self.state.clock[BY.found] > before
            if found or self.row == self._stop:
                self._run_due_checks(found)
            if found:
                changes.append(self._latest)
            elif changes:
                changes[-1] = self._latest
        if changes:
            changes[-1] = self.records[-1]
        return changes

    @property
    def _latest(self) -> Change:
        return change.record(self.state, int(self.state.clock[BY.found]) - 1)

    def _run_due_checks(self, found: bool) -> None:
        """Measure the last change, and look for season and trend when it is time."""
        row = self.row
        if found:
            self._look, self._measured, self._learnt = row + SOON, row + REFRESH, 0
        if row <= self._measured:
            measure(self.state, row == self._measured)
        if row == self._look:
            since = int(self.state.clock[BY.since])
            self._look = row + min(max(SOON // 2, int(0.4 * since)), LATE)
            self._reshape(since)
        self._stop = self._next()

    def _next(self) -> int:
        """The row before which there is something to see to."""
        return min(self._look, self._measured) if self.row < self._measured else self._look

    def _reshape(self, since: int) -> None:
        """Have the season that is found, and a trend if there is one."""
        period, now, before = self.period, change.has_trend(self.state), since
        if self.row == self._measured + SOON - REFRESH:  # the first look after a change
            since = settled(self.state)
            self.state.clock[BY.since] = since
        if self._find is not None:
            count = None if self._restless(period) else since
            found, beside = self._find(taken(self.state, count, whole=True))
            period = nearest(self.state, found or period, period, count)
            if found > 1.5 * period > 0.0:  # of two seasons the longer was found alone
                beside = found
            self.longer = beside or self.longer
        season, trend = shape(self.state, change.waves(period), now)
        if self._find is not None and not season and not self._told:
            period = 0.0
        slow = self._slow(period, since)
        if (period, trend) != (self.period, now) or slow is not self.state.slow or since < before:
            self._rebuild(period, trend, slow)

    def _restless(self, period: float) -> bool:
        """Whether changes keep coming and no season is known: they may be its ups and downs, which
        are told from values on both sides of them.
        """
        return period == 0.0 and int(self.state.clock[BY.found]) >= RESTLESS

    def _slow(self, period: float, since: int) -> Array:
        """The longer season: learnt anew when there are twice as many values since the last change
        as there were when it was learnt.
        """
        count = min(since, MOST)
        if not self.longer or count < max(seen_twice(self.longer), 2 * self._learnt):
            return self.state.slow
        self._learnt = count
        slow = longer_season(taken(self.state, count, whole=True), period, self.longer)
        return slow if slow.size or self.state.slow.size else self.state.slow

    def _rebuild(self, period: float, trend: bool, slow: Array) -> None:
        old, new = self.state, change.build(self.every, period, trend, slow=slow)
        scalars = old.scalars.copy()
        scalars[AT.memory] = new.scalars[AT.memory]
        kept = {name: getattr(old, name) for name in ("clock", "history", "errors", "records")}
        self.state, self.period = new._replace(scalars=scalars, **kept), period
        _changes.replay(self.state)

    # saving

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        trend = change.has_trend(self.state)
        shape = np.array([self.period, trend, self._look, self.longer, self._learnt])
        return {"shape": shape, **change.arrays(self.state)}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`; ValueError, and nothing is written, where it cannot be."""
        period, trend, look, longer, learnt = stored(state, "shape", 5).tolist()
        counted("shape", trend, 1)
        counted("shape", look, LARGEST)
        counted("shape", learnt, MOST)
        for each in (period, longer):
            if not 0.0 <= each <= LARGEST:
                raise ValueError(f"state 'shape' must have a period: got {each}; save it again")
        slow = stored(state, "slow", None, 3)
        counted("slow", slow.shape[0], SLOW)
        new = change.build(self.every, period, bool(trend), slow=slow)
        change.restore(new, state)
        if look <= new.clock[BY.row]:
            raise ValueError(f"state 'shape' must look ahead: got {look}; save it again")
        self.state, self.period, self._look = new, period, int(look)
        self.longer, self._learnt = longer, int(learnt)
        notes = change.records(new)
        self._measured = notes[-1].row + 1 + REFRESH if notes else -1
        self._stop = self._next()

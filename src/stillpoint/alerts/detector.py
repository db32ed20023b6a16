"""A detector of changes whose reference gets a season and a trend where the stream has them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stillpoint.alerts import _changes, change
from stillpoint.alerts._state import AT, BY
from stillpoint.alerts.change import LARGEST, Change
from stillpoint.alerts.sizes import REFRESH, measure, nearest, settled, shape, taken
from stillpoint.core.array import Array
from stillpoint.core.validation import counted, stored

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
        The period of rows (row, value, seasonal) since the last change, 0 if there is none.
    """

    def __init__(
        self,
        every: float,
        period: float = 0.0,
        row: int = 0,
        find: Callable[[Array], float] | None = None,
    ) -> None:
        self.every, self.period, self._find = every, period, find
        self.state = change.build(every, period, row=row)
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
            self._look, self._measured = row + SOON, row + REFRESH
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
            found = self._find(taken(self.state, since)) or period
            period = nearest(self.state, found, period)
        season, trend = shape(self.state, change.waves(period), now)
        if self._find is not None and not season:
            period = 0.0
        if (period, trend) != (self.period, now) or since < before:
            self._rebuild(period, trend)

    def _rebuild(self, period: float, trend: bool) -> None:
        old, new = self.state, change.build(self.every, period, trend)
        scalars = old.scalars.copy()
        scalars[AT.memory] = new.scalars[AT.memory]
        kept = {name: getattr(old, name) for name in ("clock", "history", "errors", "records")}
        self.state, self.period = new._replace(scalars=scalars, **kept), period
        _changes.replay(self.state)

    # saving

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        shape = np.array([self.period, change.has_trend(self.state), self._look])
        return {"shape": shape, **change.arrays(self.state)}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`; ValueError, and nothing is written, where it cannot be."""
        period, trend, look = stored(state, "shape", 3).tolist()
        counted("shape", trend, 1)
        counted("shape", look, LARGEST)
        if not 0.0 <= period <= LARGEST:
            raise ValueError(f"state 'shape' must have a period: got {period}; save it again")
        new = change.build(self.every, period, bool(trend))
        change.restore(new, state)
        if look <= new.clock[BY.row]:
            raise ValueError(f"state 'shape' must look ahead: got {look}; save it again")
        self.state, self.period, self._look = new, period, int(look)
        notes = change.records(new)
        self._measured = notes[-1].row + 1 + REFRESH if notes else -1
        self._stop = self._next()

"""The small memory of Anomalies: one row of numbers, whatever the length of the stream."""

import math
from typing import Any

import numpy as np

from stillpoint.alerts import _small
from stillpoint.alerts._anomalies import AT, IN
from stillpoint.alerts._largest import LARGEST, SAMPLE
from stillpoint.alerts._small import (
    CLOCK,
    ENTRIES,
    ERRORS,
    PHASES,
    RECENT,
    RECORD,
    STRETCHES,
    State,
    most,
    size,
)
from stillpoint.alerts.anomaly import LARGEST as LATEST
from stillpoint.alerts.anomaly import Anomaly, noted
from stillpoint.core.allocation import zeros
from stillpoint.core.array import Array
from stillpoint.core.validation import stored

_AGAIN = "save it again"


def build(rate: float, period: int) -> Array:
    """Return the row of a new detector, for `_small.close_round`."""
    row: Array = zeros(size(period))
    state = view(row)
    state.scalars[:], state.records[:] = math.nan, math.nan
    state.scalars[AT.rate], state.scalars[AT.level] = rate, 0.0
    return row


def view(row: Array) -> State:
    """Return the parts of a row, as they are in it."""
    return State._make(_small.state_in.py_func(row))  # type: ignore[attr-defined]


def check(rows: Array) -> None:
    """Refuse rows (streams, numbers) that no detectors have."""
    clock = rows[:, CLOCK:RECENT]
    if not (np.isfinite(clock).all() and (clock == np.floor(clock)).all()):
        raise ValueError(f"state 'row' must have whole counts: got others; {_AGAIN}")
    given, values, learnt, exceedances, alarms, _, errors, _, stretches, _ = clock.T
    nothing = np.zeros(len(rows))
    limits = [nothing + LATEST, given, values, values, exceedances]
    limits += [given, values, nothing, values, nothing]
    if (clock < 0.0).any() or (clock > np.stack(limits, axis=1)).any() or (learnt != values).any():
        raise ValueError(f"state 'row' must have counts of one stream: got others; {_AGAIN}")
    for count, first in ((errors, ERRORS), (stretches, STRETCHES)):
        for start, room in ((first, SAMPLE), (first + SAMPLE, LARGEST)):
            kept = rows[:, start : start + room]
            used = np.arange(room) < count[:, None]
            if not (kept[used] >= 0.0).all():
                raise ValueError(f"state 'row' must have sizes, 0 or above: got others; {_AGAIN}")
        if (kept[:, 1:] < kept[:, :-1])[used[:, 1:]].any():
            raise ValueError(f"state 'row' must have ranks in order: got others; {_AGAIN}")
    parts = rows[:, AT.level], rows[:, RECENT:RECORD], rows[:, PHASES:]
    if not all(np.isfinite(part).all() for part in parts):
        raise ValueError(f"state 'row' must have finite levels: got others; {_AGAIN}")
    alarm = rows[alarms > 0, RECORD + IN.row]
    if not ((alarm >= 0.0) & (alarm < given[alarms > 0])).all():
        raise ValueError(f"state 'row' must have an alarm's record: got none; {_AGAIN}")


class Small:
    """Ranks from a few of all rows.

    Parameters
    ----------
    rate : float
        Of exceedances.
    period : int, optional
        Rows of the season of the long-run level; None: it has none.
    """

    def __init__(self, rate: float, period: int | None) -> None:
        self._rate, self._period = rate, period or 1
        self.row = build(rate, self._period)

    @property
    def state(self) -> State:
        """The parts of the row."""
        return view(self.row)

    def judge(self, y: float, expected: float) -> float:
        """Return the p-value of a value, if it came now."""
        return float(_small.judge(_small.state_in(self.row), y, expected)[0])

    def close(self, y: float, expected: float) -> None:
        """Take in a row; NaN stands for no value, or no forecast."""
        self.track(np.array([y]), np.array([expected]))

    def track(self, y: Array, expected: Array) -> tuple[Array, list[Anomaly]]:
        """Take in rows; return their p-values, and the alarms."""
        p, notes = np.empty(y.size), np.empty((most(y.size, self._rate), ENTRIES))
        found = _small.track(self.row, y, expected, p, notes)
        return p, [noted(note) for note in notes[:found]]

    @property
    def _not_finite(self) -> frozenset[str]:
        """As `Configured._not_finite`; `check` looks at it."""
        return frozenset({"row"})

    def arrays(self) -> dict[str, Any]:
        """Return the state, for saving."""
        return {"row": self.row.copy()}

    def restored(self, state: dict[str, Any]) -> "Small":
        """Return what was saved; ValueError where no detector has it."""
        new = Small(self._rate, self._period)
        row = stored(state, "row", new.row.size)
        check(row[None])
        new.row[:], new.row[AT.rate] = row, self._rate
        return new

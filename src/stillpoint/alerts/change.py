"""What Changes tells and keeps: its records, and the state for compiled code."""

from typing import Any, NamedTuple

import numpy as np

from stillpoint.alerts import _ranks
from stillpoint.alerts._bets import BETS
from stillpoint.alerts._reference import LAGS
from stillpoint.alerts._state import (
    AT,
    BY,
    CLOCKS,
    IN,
    KEPT,
    MOST,
    OF,
    PERIODS,
    SCALARS,
    State,
    window,
)
from stillpoint.core.allocation import zeros
from stillpoint.core.array import Array
from stillpoint.core.state import put_back, saved
from stillpoint.core.validation import counted, stored

KINDS = "level up", "level down", "wider", "narrower", "slope up", "slope down", "season"
LARGEST = 2.0**53  # number of a row
HARMONICS, SLOW = 4, 6  # of the season in the reference, and at most of a longer one
NO_SLOW = np.zeros((0, 3))


class Change(NamedTuple):
    """A change of a stream. Rows count from 0, missing ones among them.

    Attributes
    ----------
    row : int
        The row in which it was declared.
    start : int
        The first row of the stream as it is after the change.
    kind : str
        "level up", "level down", "wider", "narrower", "slope up", "slope down" or "season".
    before, after : float
        The mean of the values since the last change, and of those from `start` on, where there is a
        trend less its line through `start`; for "wider" and "narrower" their standard deviation,
        for slopes how much they rise a row, for "season" half of what the season goes up and down.
        All but the last without the season. In a stream that wanders they may say the opposite of
        `kind`, which goes by what was expected of each row.
    evidence : float
        M in the row that declared it: a stream without change gets this far once in M rows or less
        often.
    """

    row: int
    start: int
    kind: str
    before: float
    after: float
    evidence: float


def waves(period: float) -> Array:
    """Frequencies of a season: cycles a row, and whether there is a sine (none at 1/2)."""
    count = min(int(period / 2.0 + 1e-9), HARMONICS) if period else 0
    frequencies = np.arange(1.0, count + 1.0) / (period or 1.0)
    return np.column_stack([frequencies, np.abs(frequencies - 0.5) > 1e-9]).astype(np.float64)


def slow_waves(period: float, longer: float) -> Array:
    """Frequencies of a longer season, such as the week of hours: those below the first's."""
    frequencies = np.arange(1.0, SLOW + 1.0) / (longer or 1.0)
    frequencies = frequencies[(frequencies * period < 1.0 - 1e-9) & (longer > period > 0.0)]
    return np.column_stack([frequencies, np.ones(frequencies.size)])


def build(
    every: float, period: float = 0.0, trend: bool = False, row: int = 0, slow: Array = NO_SLOW
) -> State:
    """Return the state of a new detector, for `_changes.close_round`.

    Parameters
    ----------
    every : float
        Rows from one false alarm to the next, at least, on average.
    period : float, default 0
        Rows of the season that the reference has; 0 for none.
    trend : bool, default False
        Whether it has a trend.
    row : int, default 0
        The number of the first row.
    slow : array of shape (waves, 3), optional
        A longer season: cycles a row, and how much of their cosines and sines it has.
    """
    cycles = waves(period)
    columns = cycles.shape[0] + int(cycles[:, 1].sum())
    d = 1 + LAGS + columns + trend
    state = State(
        scalars=zeros(SCALARS),
        clock=zeros(CLOCKS, np.int64),
        history=zeros((MOST, len(OF))),
        waves=zeros(cycles.shape),
        season=zeros(columns),
        slow=slow.copy(),
        regression=zeros((d + 3, d)),
        errors=zeros(_ranks.size(MOST)),
        bets=zeros((4, BETS)),
        records=zeros((KEPT, len(IN))),
    )
    state.waves[:] = cycles
    state.scalars[AT.every], state.scalars[AT.memory] = every, PERIODS * period
    state.clock[BY.row] = row
    return state


def has_trend(s: State) -> bool:
    """Whether the reference has a trend."""
    return bool(s.regression.shape[1] > 1 + LAGS + s.season.size)


def record(s: State, i: int) -> Change:
    """The change of that number; it must be among the last 100."""
    note = s.records[i % KEPT].tolist()
    return Change(int(note[0]), int(note[1]), KINDS[int(note[2])], *note[3:])


def records(s: State) -> list[Change]:
    """Return the last changes that a detector has found, oldest first."""
    found = int(s.clock[BY.found])
    return [record(s, i) for i in range(max(found - KEPT, 0), found)]


# saving

_FIXED = "scalars", "clock", "season", "slow", "regression", "bets"


def arrays(s: State) -> dict[str, Any]:
    """Return a detector's state, for saving."""
    clock = s.clock
    kept = {
        "history": s.history[: min(int(clock[BY.values]), MOST)],
        "errors": s.errors[: clock[BY.ranked]],
        "records": s.records[: min(int(clock[BY.found]), KEPT)],
    }
    return {**saved({name: getattr(s, name) for name in _FIXED}), **saved(kept)}


def restore(s: State, state: dict[str, Any]) -> None:
    """Inverse of `arrays`; ValueError, and nothing is written, where it cannot be."""
    clock = stored(state, "clock", CLOCKS, dtype=np.int64)
    row = clock[BY.row]
    counted("clock", row, LARGEST)
    values = clock[BY.values]
    limits = [row, values, 1, row, LARGEST, row, MOST, MOST - 1]
    for each, limit in zip(clock[1:], limits, strict=True):
        counted("clock", each, limit)
    history = stored(state, "history", min(int(values), MOST), len(OF))
    rows, counts = history[:, OF.row], np.arange(history.shape[0])
    oldest = int(values) % MOST if values > MOST else 0
    for each in rows:
        counted("history", each, max(row - 1, 0))
    if (np.diff(rows[(counts + oldest) % max(rows.size, 1)]) <= 0.0).any():
        raise ValueError("state 'history' must have rows in order: got others; save it again")
    errors = stored(state, "errors", int(clock[BY.ranked]))
    if np.isnan(errors).any() or np.isnan(history[:, OF.value]).any():
        raise ValueError("state 'errors' must be numbers: got NaN; save the detector again")
    notes = stored(state, "records", min(int(clock[BY.found]), KEPT), len(IN))
    for each in notes[:, : IN.kind].flat:
        counted("records", each, row)
    for kind in notes[:, IN.kind]:
        counted("records", kind, len(KINDS) - 1)
    bets = stored(state, "bets", *s.bets.shape)
    for each in bets[2]:
        counted("bets", each, row)
    for each in bets[3]:
        counted("bets", each, values)
    scalars = stored(state, "scalars", SCALARS)
    if clock[BY.begun] and not scalars[AT.units + 1] > 0.0:
        raise ValueError(
            f"state 'scalars' must have a scale above 0: got {scalars[AT.units + 1]}; save the"
            " detector again"
        )
    own = s.scalars[[AT.every, AT.memory]].copy()
    put_back({name: getattr(s, name) for name in _FIXED}, state)
    s.scalars[[AT.every, AT.memory]] = own
    s.history[: history.shape[0]], s.records[: notes.shape[0]] = history, notes
    s.errors[: errors.size] = errors
    _ranks.refill(window(s))

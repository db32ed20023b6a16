"""Rounds of Anomalies with a small memory: ranks from few numbers, and one row of them a stream.

As `_anomalies`, but for what is kept: of |e| and b each the 64 largest and a sample (`_largest`)
instead of the last 5000, no values, and of alarms the last. All of it is one row of numbers, so
that those of many streams are one array. The season is the one that is told.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.alerts import _anomalies
from stillpoint.alerts._anomalies import AT, BEFORE, BY, CLOCKS, IN, SCALARS, pause
from stillpoint.alerts._largest import ROOM, insert, quantile, share, tail
from stillpoint.alerts._pvalues import joined
from stillpoint.core.jit import bare, njit

ENTRIES = len(IN)
# where the parts of a row begin
CLOCK = SCALARS
RECENT = CLOCK + CLOCKS
RECORD = RECENT + BEFORE
ERRORS = RECORD + ENTRIES
STRETCHES = ERRORS + ROOM
PHASES = STRETCHES + ROOM


class State(NamedTuple):
    """Parts of a row; names and places are those of `_anomalies`, numbers all floats."""

    scalars: np.ndarray  # (5,)
    clock: np.ndarray  # (10,)
    recent: np.ndarray  # (10,)
    records: np.ndarray  # (1, 9): the last alarm
    errors: np.ndarray  # (192,): |e|, see `_largest`
    stretches: np.ndarray  # (192,): b
    phases: np.ndarray  # (period, 2)


def size(period: int) -> int:
    """How many numbers a row has."""
    return PHASES + 2 * period


@njit(cache=True)
def state_in(row: np.ndarray) -> State:
    """The parts of a row."""
    return State(
        row[:CLOCK],
        row[CLOCK:RECENT],
        row[RECENT:RECORD],
        row[RECORD:ERRORS].reshape((1, ENTRIES)),
        row[ERRORS:STRETCHES],
        row[STRETCHES:PHASES],
        row[PHASES:].reshape(((row.size - PHASES) // 2, 2)),
    )


@njit(cache=True)
def judge(s: State, y: float, forecast: float) -> tuple[float, float, float]:
    """(p, p₁, p₂) of a value, if it came now; a forecast of NaN is none."""
    first = far = second = 1.0
    e, b = abs(y - forecast), _anomalies.stretch(s)
    if not math.isnan(e):
        n = int(s.clock[BY.errors])
        first = share(s.errors, n, e)
        far = tail(s.errors, n, e, first)
    if not math.isnan(b):
        second = share(s.stretches, int(s.clock[BY.stretches]), b)
    return joined(far, second), first, second


@njit(cache=True)
def close_round(s: State, y: float, forecast: float, note: np.ndarray) -> bool:
    """Take in the value of a row, NaN if it is missing; whether it may be an alarm.

    It may if p ≤ rate, as in none of the rows just before; the note is its record then. Whether it
    is one, as far as `admits` goes, is up to the caller, who counts alarms.
    """
    a, clock = s.scalars, s.clock
    row = int(clock[BY.row])
    clock[BY.row] += 1
    if math.isnan(y):
        a[AT.p] = a[AT.forecast] = a[AT.long_run] = math.nan
        return False
    p, first, second = judge(s, y, forecast)
    a[AT.p], a[AT.forecast], a[AT.long_run] = p, first, second
    clock[BY.values] += 1
    errors, stretches = int(clock[BY.errors]), int(clock[BY.stretches])
    told = p <= a[AT.rate] and _anomalies.quiet(s, row)
    if told:
        lo, hi, above = -math.inf, math.inf, y - forecast
        if math.isnan(forecast):
            above = _anomalies.off(s, y, row)
        else:
            reach = quantile(s.errors, errors, a[AT.rate])
            lo, hi = forecast - reach, forecast + reach
        _anomalies.write(note, row, y, forecast, lo, hi, p, first, second, above)
    if not math.isnan(forecast):
        insert(s.errors, errors, abs(y - forecast))
        clock[BY.errors] += 1
    b = _anomalies.stretch(s)
    if not math.isnan(b):
        insert(s.stretches, stretches, b)
        clock[BY.stretches] += 1
    _anomalies.move(s, y, row)
    return told


@njit(cache=True)
def raised(s: State, note: np.ndarray) -> None:
    """Count an alarm, and keep its record."""
    for i in range(ENTRIES):
        s.records[0, i] = note[i]
    s.clock[BY.alarms] += 1


@njit(cache=True)
def track(
    row: np.ndarray, y: np.ndarray, forecasts: np.ndarray, p: np.ndarray, notes: np.ndarray
) -> int:
    """Take in rows of a stream; returns how many alarms there are, whose records go into notes.

    Parameters
    ----------
    row : array
        Of the stream.
    y, forecasts : arrays of shape (T,)
        Values, and what was forecast of them.
    p : array of shape (T,)
        For the p-values.
    notes : array of shape (`most`, 9)
        For the records.
    """
    s, found = bare(state_in(row)), 0
    for t in range(y.size):
        note = notes[min(found, notes.shape[0] - 1)]
        if close_round(s, y[t], forecasts[t], note) and _anomalies.admits(
            s.scalars[AT.rate], s.clock[BY.values], s.clock[BY.alarms]
        ):
            raised(s, note)
            found += 1
        p[t] = s.scalars[AT.p]
    return found


def most(rows: int, rate: float) -> int:
    """How many alarms there can be in so many rows."""
    return rows // (pause(rate) + 1) + 1

"""What Anomalies keeps, tells and saves."""

import math
from typing import Any, NamedTuple

import numpy as np

from stillpoint.alerts import _anomalies, _ranks
from stillpoint.alerts._anomalies import AT, BEFORE, BY, CLOCKS, IN, KEPT, MOST, SCALARS, State
from stillpoint.core.allocation import zeros
from stillpoint.core.array import Array
from stillpoint.core.state import put_back, saved
from stillpoint.core.validation import counted, stored
from stillpoint.intervals.base import promise

LARGEST = 2.0**53
LONGEST = MOST // 3  # period, of those kept


class Anomaly(NamedTuple):
    """A row that does not fit. Rows count from 0, missing ones among them.

    Attributes
    ----------
    row : int
        Its number.
    value, expected : float
        What came, and what was forecast.
    lo, hi : float
        Ends of the interval around the forecast that holds all but a share `rate` of the rows.
    p : float
        How often a row is as unusual as this one: a share of rows.
    p_forecast, p_level : float
        The same of its error alone, and of how far the ten rows before it had left the long-run
        level alone: p is that of their product.
    sign : int
        1 if it is above the forecast, −1 if below.
    """

    row: int
    value: float
    expected: float
    lo: float
    hi: float
    p: float
    p_forecast: float
    p_level: float
    sign: int


def bound(rate: float, rows: float) -> float:
    """How many alarms there can be after so many values, on any stream."""
    return float(promise(1.0 - rate, rows)[1] + rate)


def build(rate: float, period: int) -> State:
    """Return the state of a new detector, for `_anomalies.close_round`."""
    state = State(
        scalars=zeros(SCALARS),
        clock=zeros(CLOCKS, np.int64),
        recent=zeros(BEFORE),
        phases=zeros((period, 2)),
        history=zeros(MOST),
        errors=zeros(_ranks.size(MOST)),
        stretches=zeros(_ranks.size(MOST)),
        records=zeros((KEPT, len(IN))),
    )
    state.scalars[:] = math.nan
    state.scalars[AT.rate], state.scalars[AT.level] = rate, 0.0
    return state


def noted(note: Array) -> Anomaly:
    """An alarm from its record."""
    numbers = dict(zip(Anomaly._fields, note.tolist(), strict=True))
    return Anomaly(**numbers)._replace(row=int(numbers["row"]), sign=int(numbers["sign"]))


_FIXED = ("scalars", "clock", "recent")


def arrays(s: State) -> dict[str, Any]:
    """Return a detector's state, for saving."""
    row, alarms = int(s.clock[BY.row]), int(s.clock[BY.alarms])
    kept = {
        "phases": s.phases,
        "history": s.history[: min(row, MOST)],
        "errors": s.errors[: s.clock[BY.errors]],
        "stretches": s.stretches[: s.clock[BY.stretches]],
        "records": s.records[: min(alarms, KEPT)],
    }
    return {**saved({name: getattr(s, name) for name in _FIXED}), **saved(kept)}


def restored(state: dict[str, Any], rate: float, period: int | None) -> State:
    """Return the state that was saved; ValueError where no detector has it."""
    phases = stored(state, "phases", None, 2)
    if not 1 <= phases.shape[0] <= LONGEST or period not in (None, phases.shape[0]):
        raise ValueError(
            f"state 'phases' must be those of the period: got {phases.shape[0]}; save it again"
        )
    s = build(rate, phases.shape[0])
    put_back({name: getattr(s, name) for name in _FIXED}, state)
    s.scalars[AT.rate] = rate
    row, clock = int(s.clock[BY.row]), s.clock
    counted("clock", row, LARGEST)
    values = int(clock[BY.values])
    limits = [row, row, values, min(values, clock[BY.exceedances]), row]
    limits += [MOST, MOST - 1, MOST, MOST - 1]
    for each, limit in zip(clock[1:], limits, strict=True):
        counted("clock", each, limit)
    sizes = {
        "history": min(row, MOST),
        "errors": int(clock[BY.errors]),
        "stretches": int(clock[BY.stretches]),
    }
    for name, size in sizes.items():
        found = stored(state, name, size)
        if name != "history" and np.isnan(found).any():
            raise ValueError(f"state {name!r} must be numbers: got NaN; save it again")
        getattr(s, name)[:size] = found
    notes = stored(state, "records", min(int(clock[BY.alarms]), KEPT), len(IN))
    for each in notes[:, IN.row]:
        counted("records", each, row)
    s.records[: notes.shape[0]], s.phases[:] = notes, phases
    _ranks.refill(_anomalies.errors(s))
    _ranks.refill(_anomalies.stretches(s))
    return s

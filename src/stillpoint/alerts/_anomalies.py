"""Rounds of Anomalies: how unusual a row is beside its forecast, and beside the long run.

Row t brings y_t, for which f_t was forecast. With m_t the long-run mean, by phase where there is a
season, e_t = y_t − f_t and d_t = y_t − m_t,

    b_t = |mean(d_{t−10}, …, d_{t−1})|            how far the rows before t have left the long run
    p₁ = (1 + #{past |e| ≥ |e_t|})/(n + 1),  p₂ = (1 + #{past b ≥ b_t})/(n + 1)    of the last 5000

and p is that of their product, where among the largest errors p₁ goes by how far out the error is
(`_pvalues`). b_t leaves row t out: with it p₁ and p₂ would share y_t, and p be too small. An
exceedance is a row with p ≤ rate; an alarm is one if the last exceedance was more than min(100,
1/(10·rate)) rows ago, so that chance silences a tenth of the rows at most, and no more than rate·t
+ 3√(rate(1 − rate)(t + 100)) alarms were before it.
"""

import math
from typing import NamedTuple, Protocol

import numpy as np

from stillpoint.alerts import _ranks
from stillpoint.alerts._pvalues import beyond, joined, share
from stillpoint.core.jit import bare, njit
from stillpoint.intervals._guard import behind

BEFORE = 10  # rows whose mean deviation is looked at
MOST = 5000  # ranks and values kept
QUIET, SILENT = 100, 0.1  # rows after an exceedance, at most, and the share that chance may silence
KEPT = 100  # alarms


class Scalar(NamedTuple):
    """Places in `scalars`."""

    rate: int = 0
    level: int = 1  # the long-run mean
    p: int = 2  # of the last row, NaN if it was missing
    forecast: int = 3  # p₁
    long_run: int = 4  # p₂


class Clock(NamedTuple):
    """Places in `clock`."""

    row: int = 0  # of the coming value
    values: int = 1  # that were not missing
    learnt: int = 2  # by the long-run mean: fewer after a replay
    exceedances: int = 3
    alarms: int = 4
    last: int = 5  # the row after the last exceedance, 0 before there is one
    errors: int = 6  # the clock of their window, two numbers
    stretches: int = 8  # and that of the b


class Entry(NamedTuple):
    """Columns of `records`."""

    row: int = 0
    value: int = 1
    expected: int = 2
    lo: int = 3
    hi: int = 4
    p: int = 5
    forecast: int = 6
    long_run: int = 7
    sign: int = 8


class State(NamedTuple):
    """All that a detector of anomalies keeps."""

    scalars: np.ndarray  # (5,), see Scalar
    clock: np.ndarray  # (10,) ints, see Clock
    recent: np.ndarray  # (10,): the last d, a ring
    phases: np.ndarray  # (period, 2): the season, and values of each phase; one phase if none
    history: np.ndarray  # (5000,): values, NaN where missing, a ring
    errors: np.ndarray  # a window of |e|
    stretches: np.ndarray  # a window of b
    records: np.ndarray  # (100, 9), a ring, see Entry


class Shared(Protocol):
    """What a state has whatever ranks are among; counts may be floats."""

    @property
    def scalars(self) -> np.ndarray: ...
    @property
    def clock(self) -> np.ndarray: ...
    @property
    def recent(self) -> np.ndarray: ...
    @property
    def phases(self) -> np.ndarray: ...


AT, BY, IN = Scalar(), Clock(), Entry()
SCALARS, CLOCKS = len(AT), 10


@njit(cache=True)
def errors(s: State) -> _ranks.Window:
    """The window of |e|."""
    return _ranks.window_in(s.errors, MOST, s.clock[BY.errors : BY.stretches])


@njit(cache=True)
def stretches(s: State) -> _ranks.Window:
    """The window of b."""
    return _ranks.window_in(s.stretches, MOST, s.clock[BY.stretches :])


@njit(cache=True)
def admits(rate: float, rows: float, alarms: float) -> bool:
    """Whether there may be one more alarm after so many in so many rows."""
    return behind(1.0 - rate, rows, alarms) <= 1.0


@njit(cache=True)
def off(s: Shared, y: float, row: int) -> float:
    """How far a value is from the long run, d; 0 for the first."""
    if s.clock[BY.learnt] == 0:
        return 0.0
    return float(y - s.scalars[AT.level] - s.phases[row % s.phases.shape[0], 0])


@njit(cache=True)
def stretch(s: Shared) -> float:
    """How far the rows before have left the long run, b; NaN before there are ten."""
    if s.clock[BY.learnt] < BEFORE:
        return math.nan
    total = 0.0
    for i in range(BEFORE):
        total += s.recent[i] / BEFORE
    return abs(total)


@njit(cache=True)
def learn_level(s: State, y: float, row: int) -> None:
    """Rank b, and take a value into the long-run mean."""
    b = stretch(s)
    if not math.isnan(b):
        _ranks.insert(stretches(s), b)
    move(s, y, row)


@njit(cache=True)
def move(s: Shared, y: float, row: int) -> None:
    """Take a value into the long-run mean."""
    d, n = off(s, y, row), int(s.clock[BY.learnt])
    s.recent[n % BEFORE] = d
    s.clock[BY.learnt] += 1
    if n == 0:
        s.scalars[AT.level] = y
        return
    s.scalars[AT.level] += d / (n + 1)
    if s.phases.shape[0] > 1:
        phase = s.phases[row % s.phases.shape[0]]
        phase[1] += 1.0
        phase[0] += d / (phase[1] + 0.5)


@njit(cache=True)
def replay(s: State) -> None:
    """Learn the long-run mean anew, from the values that are kept, as the phases are now."""
    row, kept = s.clock[BY.row], s.history.size
    s.clock[BY.learnt] = s.clock[BY.stretches] = s.clock[BY.stretches + 1] = 0
    s.phases[:] = 0.0
    for i in range(max(row - kept, 0), row):
        y = s.history[i % kept]
        if not math.isnan(y):
            learn_level(s, y, i)


@njit(cache=True)
def judge(s: State, y: float, forecast: float) -> tuple[float, float, float]:
    """(p, p₁, p₂) of a value, if it came now; a forecast of NaN is none."""
    first = far = second = 1.0
    b = stretch(s)
    if not math.isnan(forecast):
        first = share(errors(s), abs(y - forecast))
        far = beyond(errors(s), abs(y - forecast), first)
    if not math.isnan(b):
        second = share(stretches(s), b)
    return joined(far, second), first, second


@njit(cache=True)
def pause(rate: float) -> int:
    """For how many rows after an exceedance no alarm is raised."""
    return int(min(float(QUIET), SILENT / rate))


@njit(cache=True)
def quiet(s: Shared, row: int) -> bool:
    """Count an exceedance in a row; whether there was none in the rows just before."""
    last = int(s.clock[BY.last])
    s.clock[BY.exceedances] += 1
    s.clock[BY.last] = row + 1
    return last == 0 or row - (last - 1) > pause(s.scalars[AT.rate])


@njit(cache=True)
def write(
    note: np.ndarray,
    row: int,
    y: float,
    forecast: float,
    lo: float,
    hi: float,
    p: float,
    first: float,
    second: float,
    above: float,
) -> None:
    """Write the record of an alarm."""
    note[IN.row], note[IN.value], note[IN.expected] = row, y, forecast
    note[IN.lo], note[IN.hi] = lo, hi
    note[IN.p], note[IN.forecast], note[IN.long_run] = p, first, second
    note[IN.sign] = 1.0 if above >= 0.0 else -1.0


@njit(cache=True)
def close_round(s: State, y: float, forecast: float, lo: float, hi: float) -> bool:
    """Take in the value of a row, NaN if it is missing; whether it is an alarm.

    Parameters
    ----------
    s : State
        What `stillpoint.alerts.anomaly.build` has built.
    y, forecast : float
        The value, and what was forecast; NaN if nothing was.
    lo, hi : float
        Ends of the interval around it, for the record.
    """
    a, clock, row = s.scalars, s.clock, s.clock[BY.row]
    s.history[row % MOST] = y
    clock[BY.row] += 1
    if math.isnan(y):
        a[AT.p] = a[AT.forecast] = a[AT.long_run] = math.nan
        return False
    p, first, second = judge(s, y, forecast)
    above = off(s, y, row) if math.isnan(forecast) else y - forecast
    a[AT.p], a[AT.forecast], a[AT.long_run] = p, first, second
    if not math.isnan(forecast):
        _ranks.insert(errors(s), abs(y - forecast))
    learn_level(s, y, row)
    clock[BY.values] += 1
    if p > a[AT.rate]:
        return False
    if not quiet(s, row) or not admits(a[AT.rate], clock[BY.values], clock[BY.alarms]):
        return False
    note = s.records[clock[BY.alarms] % KEPT]
    write(note, row, y, forecast, lo, hi, p, first, second, above)
    clock[BY.alarms] += 1
    return True


@njit(cache=True)
def track(
    s: State,
    y: np.ndarray,
    forecasts: np.ndarray,
    ends: np.ndarray,
    first: int,
    stop: int,
    p: np.ndarray,
) -> int:
    """Take in rows from `first` on, as far as `stop` or an alarm; returns how far that is.

    `ends` (2, T) are those of intervals; p-values go into p.
    """
    s = bare(s)
    for t in range(first, stop):
        alarm = close_round(s, y[t], forecasts[t], ends[0, t], ends[1, t])
        p[t] = s.scalars[AT.p]
        if alarm:
            return t + 1
    return stop


@njit(cache=True)
def update(
    y: float,
    forecast: float,
    lo: float,
    hi: float,
    scalars: np.ndarray,
    clock: np.ndarray,
    recent: np.ndarray,
    phases: np.ndarray,
    history: np.ndarray,
    errors: np.ndarray,
    stretches: np.ndarray,
    records: np.ndarray,
) -> bool:
    """`close_round` from Python, where a NamedTuple takes longer to hand over than its arrays."""
    s = State(scalars, clock, recent, phases, history, errors, stretches, records)
    return close_round(bare(s), y, forecast, lo, hi)

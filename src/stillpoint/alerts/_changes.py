"""Rounds of Changes: a reference that does not follow, ranks of its errors, bets on the ranks.

All is begun anew at each change, with the rows after it. The first 30 rows set centre and scale of
the reference, and 20 errors more are ranked before bets count. Values first move by U(−½, ½) times
the smallest step between two of them so far: coefficients near 0 would put the errors of discrete
data in an order of their own. Ties of ranks are broken at random. The reference learns from errors
within the inner 96% of those before, and no further: single outliers would spoil it.
"""

import math

import numpy as np

from stillpoint.alerts import _bets, _ranks, _reference
from stillpoint.alerts._bets import deviation, measure
from stillpoint.alerts._random import random
from stillpoint.alerts._reference import LAGS, comparable, error_of, standardise
from stillpoint.alerts._state import AT, BY, FIRST, IN, KEPT, OF, State, bets, reference, window
from stillpoint.core.jit import bare, njit

RANKED = 20  # errors before bets count
TAIL = 50  # one error in so many, on each side, is learnt from only as far as the others reach
REFRESH = 50  # rows after a change in which its size is measured further
ROUNDING = 1e-12  # steps this far below the values are none
SMALL = 1e-300  # least scale


@njit(cache=True)
def uniform(s: State) -> float:
    """The next random number in (0, 1)."""
    s.clock[BY.draws] += 1
    return random(s.clock[BY.draws])


@njit(cache=True)
def jitter(s: State) -> float:
    """By how much the next value moves."""
    return (uniform(s) - 0.5) * float(s.scalars[AT.step])


@njit(cache=True)
def begin(s: State) -> None:
    """Fit the reference to the first rows, those of a full ring; no errors are ranked yet."""
    f, oldest, moments = reference(s), s.clock[BY.place], np.zeros(3)
    for i in range(FIRST):
        measure(moments, s.recent[i, OF.value])
    centre, draws = moments[1], s.clock[BY.draws]
    for i in range(3):
        moments[i] = 0.0
    for i in range(FIRST):
        y = s.recent[(oldest + i) % FIRST, OF.value]
        measure(moments, (y - centre) + jitter(s))
    _reference.reset(f, centre, max(deviation(moments), SMALL))
    s.clock[BY.draws] = draws  # the same random numbers again
    for i in range(FIRST):
        row = s.recent[(oldest + i) % FIRST]
        v = standardise(f, row[OF.value], jitter(s))
        if i < LAGS:
            _reference.remember(f, v)
        else:
            error, S = error_of(f, v, row[OF.harmonics :])
            _reference.learn(f, v, error, S)
    _ranks.spread_evenly(window(s), 0, 0.0)
    s.clock[BY.begun] = 1


@njit(cache=True)
def begin_late(s: State) -> None:
    """Begin with the first step, after rows that all had the same value.

    As if they had been moved by that step, their errors were spread evenly, and the coefficients
    have learnt from all of them.
    """
    begin(s)
    _bets.rest(bets(s), s.clock[BY.row] - 1, s.moments[-1])
    f, idle = reference(s), s.clock[BY.idle]
    _ranks.spread_evenly(window(s), idle, 0.5 * s.scalars[AT.step] / f.units[1])
    for i in range(f.theta.size):
        for j in range(f.theta.size):
            f.C[i, j] *= FIRST / (FIRST + idle)


@njit(cache=True)
def judge(s: State, y: float, value: float, harmonics: np.ndarray) -> bool:
    """Rank a value's error, bet on the rank, and learn; whether the stream has changed."""
    f, w, b, total = reference(s), window(s), bets(s), s.moments[-1]
    v = standardise(f, y, jitter(s))
    error, S = error_of(f, v, harmonics)
    r, n = comparable(error, S), w.clock[_ranks.BY.filled]
    less = _ranks.below(w, r)
    row, evidence = s.clock[BY.row], 0.0
    if n >= RANKED:
        ties, u = _ranks.up_to(w, r) - less, uniform(s)
        down = (less + u * (ties + 1)) / (n + 1)
        up = (n - less - ties + (1.0 - u) * (ties + 1)) / (n + 1)
        evidence = _bets.bet(b, down, up, row, value, total)
        k = n // TAIL
        low, high = _ranks.smallest(w, k), _ranks.smallest(w, n - 1 - k)
        error = min(max(r, low), high) * math.sqrt(S)
    else:
        _bets.rest(b, row, total)
    s.scalars[AT.evidence] = evidence
    _ranks.insert(w, r)
    _reference.learn(f, v, error, S)
    return bool(evidence >= s.scalars[AT.every])


@njit(cache=True)
def declare(s: State, value: float) -> None:
    """Note the change, and begin anew with the rows after it, the last 30 at most."""
    b, total, row = bets(s), s.moments[-1], s.clock[BY.row]
    k = _bets.best(b)
    if b.after[k, 0] == 0.0:  # the cusum says nothing: this row is all that there is
        measure(b.after[k], value)
    start, kind = min(int(b.begins[k]), row), k // _bets.EXPONENTS.size
    for i in range(3):
        total[i] = b.after[k, i]
    note = s.records[s.clock[BY.found] % KEPT]
    note[IN.row], note[IN.start], note[IN.kind] = row, start, kind
    note[IN.before] = b.before[k, 1] if kind < 2 else deviation(b.before[k])
    note[IN.evidence] = s.scalars[AT.evidence]
    s.clock[BY.found] += 1
    s.clock[BY.begun] = s.clock[BY.idle] = s.clock[BY.held] = 0
    for i in range(FIRST):
        s.clock[BY.held] += s.recent[i, OF.row] >= start
    _bets.rest(b, row, total)


@njit(cache=True)
def close_round(s: State, y: float, seasonal: float, harmonics: np.ndarray) -> bool:
    """Take in the value of a row, NaN if it is missing; whether a change is declared in it.

    Parameters
    ----------
    s : State
        What `stillpoint.alerts.changes.build` has built.
    y : float
        The value.
    seasonal : float
        How much of it is seasonal: sizes of changes are without; 0 if that is not known.
    harmonics : array of shape (harmonics,)
        Further regressors of the reference in this row.
    """
    a, clock = s.scalars, s.clock
    row, changed = clock[BY.row], False
    if math.isnan(y):
        clock[BY.row] += 1
        return False
    total = s.moments[-1]
    if total[0] > 0.0:
        step = abs(y - a[AT.last])
        if step > ROUNDING * (abs(y) + abs(a[AT.last])):
            if a[AT.step] == 0.0:
                a[AT.step] = step
                if clock[BY.held] == FIRST:
                    begin_late(s)
            a[AT.step] = min(a[AT.step], step)
    a[AT.last], value = y, y - seasonal
    measure(total, value)
    if clock[BY.begun]:
        changed = judge(s, y, value, harmonics)
    else:
        a[AT.evidence] = 0.0
    keep = s.recent[clock[BY.place]]
    keep[OF.row], keep[OF.value] = row, y
    for i in range(keep.size - OF.harmonics):
        keep[OF.harmonics + i] = harmonics[i]
    clock[BY.place] = (clock[BY.place] + 1) % FIRST
    if clock[BY.held] < FIRST:
        clock[BY.held] += 1
    elif clock[BY.begun] == 0:
        clock[BY.idle] += 1
    if changed:
        declare(s, value)
    if clock[BY.begun] == 0 and clock[BY.held] == FIRST and a[AT.step] > 0.0:
        begin(s)
    refresh(s)
    clock[BY.row] += 1
    return changed


@njit(cache=True)
def refresh(s: State) -> None:
    """Measure the size of the last change further, while it is young."""
    if s.clock[BY.found] > 0:
        note = s.records[(s.clock[BY.found] - 1) % KEPT]
        if s.clock[BY.row] <= note[IN.row] + REFRESH:
            total = s.moments[-1]
            note[IN.after] = total[1] if note[IN.kind] < 2.0 else deviation(total)


@njit(cache=True)
def track(s: State, y: np.ndarray, first: int, harmonics: np.ndarray) -> int:
    """Take in values from `first` on, as far as the first change; returns how far that is."""
    s = bare(s)
    for t in range(first, y.size):
        if close_round(s, y[t], 0.0, harmonics):
            return t + 1
    return int(y.size)


@njit(cache=True)
def update(
    y: float,
    none: np.ndarray,
    scalars: np.ndarray,
    clock: np.ndarray,
    recent: np.ndarray,
    regression: np.ndarray,
    errors: np.ndarray,
    bets: np.ndarray,
    moments: np.ndarray,
    records: np.ndarray,
) -> bool:
    """`close_round` from Python, where a NamedTuple takes longer to hand over than its arrays."""
    s = State(scalars, clock, recent, regression, errors, bets, moments, records)
    return close_round(bare(s), y, 0.0, none)

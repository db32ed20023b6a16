"""Rounds of Changes: a reference that does not follow, ranks of its errors, bets on the ranks.

All is begun anew at each change, with the values after it. The first 30 set centre and scale of the
reference, by medians, and fit it, cut at three scales; then 30 errors are ranked before bets count,
the first of them where a whole season has been met. Values first move a little (`_jitter`). Ties of
ranks are broken at random. The reference learns from errors within the inner 87% of those before,
and no further: of a skewed law the mean would take long to be known, and single outliers would
spoil it.
"""

import math

import numpy as np

from stillpoint.alerts import _bets, _ranks, _reference
from stillpoint.alerts._bets import ROOT
from stillpoint.alerts._jitter import jitter, uniform
from stillpoint.alerts._reference import LAGS, comparable, error_of, regressors, settle, standardise
from stillpoint.alerts._state import (
    AT,
    BY,
    FIRST,
    IN,
    KEPT,
    OF,
    PERIODS,
    State,
    bets,
    reference,
    window,
)
from stillpoint.core.jit import bare, njit

RANKED = 30  # errors before bets count
MARGIN = 1.5  # of evidence, for errors that are not quite exchangeable
TAIL = 15  # one error in so many, on each side, is learnt from only as far as the others reach
CUT = 3.0  # scales to which the first values are cut
DOUBT = 2.0  # times the range of those learnt from: errors this far beyond it may be typos
NORMAL = 1.4826  # deviation of a normal law over the median of its sizes
ROUNDING = 1e-12  # steps this far below the values are none
SMALL = 1e-300  # least scale


# beginnings


@njit(cache=True)
def begin(s: State, first: int) -> None:
    """Fit the reference to thirty values, from the one of that number on; no errors are ranked."""
    f, kept, room = reference(s), s.history.shape[0], np.empty((2, FIRST))
    for i in range(FIRST):
        room[0, i] = without_longer(s, (first + i) % kept)
    centre = _median(room[0], room[1])
    total = 0.0
    for i in range(FIRST):
        room[0, i] = abs(room[0, i] - centre)
        total += room[0, i] * (room[0, i] / (FIRST - 1))
    scale = NORMAL * _median(room[0], room[1])
    if scale == 0.0:
        scale = math.sqrt(total)  # more than half are equal
    step = s.scalars[AT.step] / math.sqrt(12.0)
    _reference.reset(f, centre, max(math.hypot(scale, step), SMALL))
    last = int(s.history[(first + FIRST - 1) % kept, OF.row])
    s.clock[BY.origin], s.clock[BY.begun] = last + 1, 1
    for i in range(FIRST):
        row = int(s.history[(first + i) % kept, OF.row])
        y = without_longer(s, (first + i) % kept)
        v = standardise(f, y, jitter(s, first + i, f.units[1]))
        v = min(max(v, -CUT), CUT)
        if i >= LAGS:
            regressors(f, s.waves, row, timed(s, row))
            error, S = error_of(f, v)
            _reference.learn(f, error, S, 0)
        _reference.remember(f, v, v)
    _ranks.spread_evenly(window(s), 0, 0.0)
    for i in range(s.season.size):
        s.season[i] = 0.0
    _bets.rest(bets(s), last)


@njit(cache=True)
def without_longer(s: State, place: int) -> float:
    """The value at a place of the history, less what a longer season adds to it."""
    row, y = s.history[place, OF.row], float(s.history[place, OF.value])
    for i in range(s.slow.shape[0]):
        turns = s.slow[i, 0] * row
        angle = 2.0 * math.pi * (turns - math.floor(turns))
        y -= s.slow[i, 1] * math.cos(angle) + s.slow[i, 2] * math.sin(angle)
    return y


@njit(cache=True)
def _median(values: np.ndarray, ordered: np.ndarray) -> float:
    for i in range(values.size):
        j = i
        while j > 0 and ordered[j - 1] > values[i]:
            ordered[j] = ordered[j - 1]
            j -= 1
        ordered[j] = values[i]
    n = values.size
    return float(0.5 * ordered[(n - 1) // 2] + 0.5 * ordered[n // 2])


@njit(cache=True)
def timed(s: State, row: int) -> float:
    """The column of time: in stretches as long as the first values."""
    return float((row - s.clock[BY.origin]) / FIRST)


@njit(cache=True)
def begin_late(s: State) -> None:
    """Begin with the first step, after values that were all the same.

    As if they had been moved by that step, their errors were spread evenly, and the coefficients
    have learnt from all of them.
    """
    begin(s, s.clock[BY.values] - FIRST)
    f, idle = reference(s), s.clock[BY.since] - FIRST
    _ranks.spread_evenly(window(s), idle, 0.5 * s.scalars[AT.step] / f.units[1])
    for i in range(f.theta.size):
        for j in range(f.theta.size):
            f.C[i, j] *= FIRST / (FIRST + idle)


@njit(cache=True)
def replay(s: State) -> None:
    """Have the columns of this state learnt from the values since the last change; no bets."""
    values, kept = s.clock[BY.values], s.history.shape[0]
    first = values - min(s.clock[BY.since], kept)
    s.scalars[AT.evidence], s.clock[BY.begun] = 0.0, 0
    if values - first < FIRST or s.scalars[AT.step] == 0.0:
        return
    begin(s, first)
    for i in range(first + FIRST, values):
        judge(s, i, False)
    _bets.rest(bets(s), s.clock[BY.row] - 1)


# rounds


@njit(cache=True)
def judge(s: State, number: int, betting: bool) -> bool:
    """Rank the error of the value of that number, bet on the rank, and learn.

    Returns whether the stream has changed.
    """
    f, w, evidence, place = reference(s), window(s), 0.0, number % s.history.shape[0]
    row, y = int(s.history[place, OF.row]), without_longer(s, place)
    v = standardise(f, y, jitter(s, number, f.units[1]))
    regressors(f, s.waves, row, timed(s, row))
    error, S = settle(f, v)
    r, n, instead = comparable(error, S), w.clock[_ranks.BY.filled], v
    if n >= RANKED:
        less, u = _ranks.below(w, r), uniform(s)
        ties = _ranks.up_to(w, r) - less
        down = (less + u * (ties + 1)) / (n + 1)
        up = (n - less - ties + (1.0 - u) * (ties + 1)) / (n + 1)
        if betting:
            evidence = _bets.bet(bets(s), down, up, row, season(s, f.z, down - up))
        k = n // TAIL
        least, most = _ranks.smallest(w, k), _ranks.smallest(w, n - 1 - k)
        if r < least - DOUBT * (most - least) or r > most + DOUBT * (most - least):
            instead = v - error
        if r < least or r > most:
            error = (least if r < least else most) * math.sqrt(S)
    elif betting:
        _bets.rest(bets(s), row)
    s.scalars[AT.evidence] = evidence
    if known(s, row):
        _ranks.insert(w, r)
    _reference.learn(f, error, S, n + FIRST if n >= RANKED else 0)
    _reference.remember(f, v, instead)
    return bool(evidence >= MARGIN * s.scalars[AT.every])


@njit(cache=True)
def known(s: State, row: int) -> bool:
    """Whether the reference has met a whole season before that row."""
    return bool(PERIODS * (row - s.clock[BY.origin] + FIRST) >= s.scalars[AT.memory])


@njit(cache=True)
def season(s: State, z: np.ndarray, score: float) -> float:
    """κ_t of the bet on the season, which then learns the score 2u − 1; NaN without a season."""
    if s.season.size == 0:
        return math.nan
    foretold = 0.0
    for i in range(s.season.size):
        foretold += s.season[i] * z[1 + LAGS + i]
    share = (2.0 / s.scalars[AT.memory]) * (ROOT * score - foretold)
    for i in range(s.season.size):
        s.season[i] += share * z[1 + LAGS + i]
    return ROOT * foretold


@njit(cache=True)
def declare(s: State) -> None:
    """Note the change, and begin anew with the values after it."""
    b, row, note = bets(s), s.clock[BY.row], s.records[s.clock[BY.found] % KEPT]
    k = _bets.best(b)
    start, since = min(int(b.begins[k]), row), max(int(b.lengths[k]), 1)
    note[IN.row], note[IN.start], note[IN.kind] = row, start, _bets.KINDS[k]
    note[IN.before] = note[IN.after] = 0.0
    note[IN.evidence] = s.scalars[AT.evidence]
    s.clock[BY.found] += 1
    s.clock[BY.begun], s.clock[BY.since] = 0, since
    _bets.rest(b, row)


@njit(cache=True)
def close_round(s: State, y: float, seasonal: float) -> bool:
    """Take in the value of a row, NaN if it is missing; whether a change is declared in it.

    Parameters
    ----------
    s : State
        What `stillpoint.alerts.change.build` has built.
    y : float
        The value.
    seasonal : float
        How much of it is seasonal, kept for sizes of changes; NaN if that is not known.
    """
    a, clock, changed = s.scalars, s.clock, False
    row = clock[BY.row]
    if math.isnan(y):
        clock[BY.row] += 1
        return False
    if clock[BY.values] > 0:
        step = abs(y - a[AT.last])
        if step > ROUNDING * (abs(y) + abs(a[AT.last])):
            if a[AT.step] == 0.0:
                a[AT.step] = step
                if clock[BY.since] >= FIRST:
                    begin_late(s)
            a[AT.step] = min(a[AT.step], step)
    a[AT.last] = y
    keep = s.history[clock[BY.values] % s.history.shape[0]]
    keep[OF.row], keep[OF.value], keep[OF.seasonal] = row, y, seasonal
    clock[BY.values] += 1
    clock[BY.since] += 1
    if clock[BY.begun]:
        changed = judge(s, clock[BY.values] - 1, True)
    else:
        a[AT.evidence] = 0.0
    if changed:
        declare(s)
    if clock[BY.begun] == 0 and clock[BY.since] >= FIRST and a[AT.step] > 0.0:
        begin(s, clock[BY.values] - FIRST)
    clock[BY.row] += 1
    return changed


@njit(cache=True)
def track(s: State, y: np.ndarray, seasonal: np.ndarray, first: int, stop: int) -> int:
    """Take in values from `first` on, as far as `stop` or a change; returns how far that is."""
    s = bare(s)
    for t in range(first, stop):
        if close_round(s, y[t], seasonal[t]):
            return t + 1
    return stop


@njit(cache=True)
def update(
    y: float,
    scalars: np.ndarray,
    clock: np.ndarray,
    history: np.ndarray,
    waves: np.ndarray,
    season: np.ndarray,
    slow: np.ndarray,
    regression: np.ndarray,
    errors: np.ndarray,
    bets: np.ndarray,
    records: np.ndarray,
) -> bool:
    """`close_round` from Python, where a NamedTuple takes longer to hand over than its arrays."""
    s = State(scalars, clock, history, waves, season, slow, regression, errors, bets, records)
    return close_round(bare(s), y, math.nan)

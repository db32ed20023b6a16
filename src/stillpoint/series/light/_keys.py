"""Many series with a small pool: one compiled loop over keys, each of which is a row.

A key is read into a state to work in, its rounds are those of a single forecaster, and it is
written back. Young keys, up to the rounds after which units are told for good, have their values
kept beside (the nursery), from which they are built anew as single forecasters are.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.arithmetic import assign
from stillpoint.core.jit import bare, njit
from stillpoint.series import _phases
from stillpoint.series._knots import ISSUE
from stillpoint.series._rounds import take
from stillpoint.series._scale import AT, BY, deviation
from stillpoint.series._state import State
from stillpoint.series._structural import IS
from stillpoint.series.light import _bands, _packing
from stillpoint.series.light._rounds import open_round, say
from stillpoint.series.light._start import end_logarithms

START, AGAIN = 3, 10  # values before there are experts; rounds after which units are told again


class Counts(NamedTuple):
    """Columns of `counts`."""

    rounds: int = 0  # since the first value
    now: int = 1  # of the experts' clock; −1: there are no experts yet
    logs: int = 2  # whether logarithms are taken
    bands: int = 3  # of the intervals' clock
    issued: int = 4
    open: int = 5  # whether a round is open
    nest: int = 6  # the key's place in the nursery; −1: it has grown up
    before: int = 7  # rounds before the first value


class Keys(NamedTuple):
    """The series of many keys, along the first axis."""

    rows: np.ndarray  # (keys, numbers), of float64 or float32
    exact: np.ndarray  # (keys, scalars + totals + 1): units and ranges, always of float64
    counts: np.ndarray  # (keys, 8) ints, see Counts
    nests: np.ndarray  # (places, gathered): values of young keys


class Kit(NamedTuple):
    """What all keys share, and room to work in."""

    log: State  # with logarithms, and
    plain: State  # without: all but which filters take them is the same
    template: np.ndarray  # (numbers,): the experts' part of a row before the first round
    past: int  # lags that a row has
    shifted: bool  # whether rows count from the first value


OF = Counts()
LAST = -1  # of `exact`: the last value that was not missing


@njit(cache=True)
def load(k: int, keys: Keys, kit: Kit) -> State:
    """The state of a key, in the room of the kit."""
    c = keys.counts[k]
    m = kit.log if c[OF.logs] > 0 else kit.plain
    n, b, row, exact = m.scalars.size, m.bands, keys.rows[k], keys.exact[k]
    assign(m.scalars, exact[:n])
    assign(b.total, exact[n : n + b.total.size])
    m.clock[BY.now], m.clock[BY.place], m.clock[BY.logs] = c[OF.now], kit.past, c[OF.logs]
    b.clock[_bands.BY.now], b.clock[_bands.BY.issued] = c[OF.bands], c[OF.issued]
    i = _packing.load_experts(row, kit.past, kit.past, m)
    _packing.load_bands(row, i, b)
    if kit.shifted:
        _packing.levels(m, 1.0)
    return m


@njit(cache=True)
def store(k: int, keys: Keys, kit: Kit, m: State) -> None:
    """The inverse of `load`."""
    c, n, b, row = keys.counts[k], m.scalars.size, m.bands, keys.rows[k]
    assign(keys.exact[k, :n], m.scalars)
    assign(keys.exact[k, n : n + b.total.size], b.total)
    c[OF.logs] = m.clock[BY.logs]
    if c[OF.now] >= 0:
        c[OF.now] = m.clock[BY.now]
    c[OF.bands], c[OF.issued] = b.clock[_bands.BY.now], b.clock[_bands.BY.issued]
    if kit.shifted:
        _packing.levels(m, -1.0)
    i = _packing.store_experts(row, kit.past, m.clock[BY.place], m)
    _packing.store_bands(row, i, b)


@njit(cache=True)
def begin(values: np.ndarray, kit: Kit, c: np.ndarray) -> State:
    """Build the experts of a key from the values so far, NaN where one is missing."""
    good = values[~np.isnan(values)]
    logs = True
    for value in good:
        logs = logs and value > 0.0
    m = kit.log if logs else kit.plain
    s, place = m.scalars, kit.past
    _packing.load_experts(kit.template, place, place, m)
    s[:] = 0.0
    s[AT.centre], s[AT.unit], s[AT.log_unit] = good[0], deviation(good), 1.0
    if logs:
        for i in range(good.size):
            good[i] = math.log(good[i])
        s[AT.log_centre], s[AT.log_unit] = good[0], deviation(good)
    s[AT.low] = s[AT.high] = s[AT.centre]
    s[AT.held], s[AT.reach] = np.nan, 1.0
    m.clock[BY.now], m.clock[BY.place], m.clock[BY.logs] = 0, place, 1 if logs else 0
    for i in range(m.filters.means.shape[0]):
        log = m.filters.kinds[i, IS.log] > 0
        m.filters.means[i, 0] = s[AT.log_centre] if log else s[AT.centre]
    for i in range(m.phases.specs.shape[0]):
        log = m.phases.specs[i, _phases.OF.log] > 0.0
        m.phases.levels[i, _phases.AT.level] = s[AT.log_centre] if log else s[AT.centre]
    for value in values:
        open_round(m, False)
        take(m, value)
    c[OF.now] = m.clock[BY.now]
    return m


@njit(cache=True)
def open_key(m: State, c: np.ndarray, last: float) -> float:
    """Open the coming round of a key, and forecast its value."""
    if c[OF.open] > 0:
        return float(m.knots.issued[m.clock[BY.slots], 0, ISSUE.forecast] if c[OF.now] >= 0 else last)
    c[OF.open] = 1
    if c[OF.now] >= 0:
        return open_round(m, True)
    if c[OF.rounds] > 0:
        opens, nothing = True, 0.0
        _bands.play_last(m.bands, last, opens, nothing)
    return last


@njit(cache=True)
def close_key(m: State, k: int, y: float, keys: Keys, kit: Kit) -> State:
    """Take in the value of the open round, NaN if it is missing."""
    c, exact = keys.counts[k], keys.exact[k]
    c[OF.open] = 0
    gathered, seen = keys.nests.shape[1], not math.isnan(y)
    if c[OF.rounds] == 0 and not seen:
        c[OF.before] += 1
        return m
    if c[OF.now] >= 0 and y <= 0.0 and c[OF.logs] > 0:
        if c[OF.nest] < 0:
            end_logarithms(m)
            m = kit.plain
        else:
            c[OF.now] = -1
        c[OF.logs] = 0
    if c[OF.rounds] > 0:
        _bands.settle(m.bands, y)
    else:
        m.bands.total[_bands.SUM.first] = y
    if c[OF.now] >= 0:
        take(m, y)
    if seen:
        exact[LAST] = y
    c[OF.rounds] += 1
    if c[OF.nest] >= 0:
        m = raise_key(m, y, c, keys.nests[c[OF.nest]], kit)
        if c[OF.now] >= 0 and c[OF.rounds] >= gathered:
            c[OF.nest] = -2 - c[OF.nest]  # its place is free
    return m


@njit(cache=True)
def raise_key(m: State, y: float, c: np.ndarray, nest: np.ndarray, kit: Kit) -> State:
    """Add a value to those of a young key, and build its experts anew where that is due."""
    size = min(c[OF.rounds] - 1, nest.size)
    if size == nest.size:
        for i in range(size - 1):
            nest[i] = nest[i + 1]
        size -= 1
    nest[size] = y
    values, count, low, high = nest[: size + 1], 0, math.inf, -math.inf
    for value in values:
        if not math.isnan(value):
            count, low, high = count + 1, min(low, value), max(high, value)
    due = c[OF.now] < 0 or c[OF.rounds] == AGAIN or c[OF.rounds] == nest.size
    if not due or count < START or low == high:
        return m
    first = 0
    while math.isnan(values[first]):
        first += 1
    m = begin(values[first:], kit, c)
    c[OF.logs] = m.clock[BY.logs]
    return m


@njit(cache=True, nogil=True)
def open_rounds(slots: np.ndarray, keys: Keys, kit: Kit, out: np.ndarray) -> None:
    """Open rounds: row i of out has the forecasts of key slots[i], as many as it has room for."""
    keys, kit = bare(keys), bare(kit)
    for i in range(slots.size):
        k = slots[i]
        m, last = load(k, keys, kit), keys.exact[k, LAST]
        out[i] = last
        out[i, 0] = open_key(m, keys.counts[k], last)
        if out.shape[1] > 1 and keys.counts[k, OF.now] >= 0:
            say(m, out[i])
        store(k, keys, kit, m)


@njit(cache=True, nogil=True)
def close_rounds(slots: np.ndarray, y: np.ndarray, keys: Keys, kit: Kit) -> None:
    """Close rounds, opened first where they are not."""
    keys, kit = bare(keys), bare(kit)
    for i in range(slots.size):
        k = slots[i]
        m = load(k, keys, kit)
        open_key(m, keys.counts[k], keys.exact[k, LAST])
        store(k, keys, kit, close_key(m, k, y[i], keys, kit))


@njit(cache=True, nogil=True)
def track(
    slots: np.ndarray,
    y: np.ndarray,
    keys: Keys,
    kit: Kit,
    out: np.ndarray,
    offsets: np.ndarray,
    naive: np.ndarray,
) -> None:
    """Open and close a round of each key for each column of y (keys, T).

    out (keys, T, horizon) takes the forecasts, offsets (keys, T, horizons, 2, coverages) the ends
    of intervals less these, naive (keys, T, 2) the last value and that of a season ago; the latter
    where they have room.
    """
    keys, kit = bare(keys), bare(kit)
    for i in range(slots.size):
        k = slots[i]
        m, c = load(k, keys, kit), keys.counts[k]
        for t in range(y.shape[1]):
            last = keys.exact[k, LAST]
            out[i, t] = last
            out[i, t, 0] = open_key(m, c, last)
            if out.shape[2] > 1 and c[OF.now] >= 0:
                say(m, out[i, t])
            if offsets.shape[1] > 0:
                offsets[i, t] = m.bands.offsets
            if naive.shape[1] > 0:
                repeated(m, c, last, naive[i, t])
            m = close_key(m, k, y[i, t], keys, kit)
        store(k, keys, kit, m)


@njit(cache=True)
def repeated(m: State, c: np.ndarray, last: float, out: np.ndarray) -> None:
    """The last value and that of a season ago, NaN where there is none."""
    out[0], out[1] = np.nan, np.nan
    if c[OF.rounds] > 0:
        out[0] = last
    if m.periods.size > 0 and c[OF.now] >= round(m.periods[0]):
        out[1] = m.knots.waiting[m.clock[BY.slots], 0, 1]


@njit(cache=True, nogil=True)
def naive_of(slots: np.ndarray, keys: Keys, kit: Kit, out: np.ndarray) -> None:
    """`repeated` of open rounds."""
    keys, kit = bare(keys), bare(kit)
    for i in range(slots.size):
        k = slots[i]
        repeated(load(k, keys, kit), keys.counts[k], keys.exact[k, LAST], out[i])


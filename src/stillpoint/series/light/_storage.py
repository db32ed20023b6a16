"""Rows of keys, read into room to work in and written back.

In rows of float32, numbers near the values themselves, or near their logarithms, count from the
first one: a deviation is kept to seven digits whatever the level.
"""

from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import njit
from stillpoint.core.lane_tiles import gather, prefetch, scatter
from stillpoint.core.lanes import LANES, block, get, put, spread, where
from stillpoint.core.reference import refer
from stillpoint.series._knots import ROW
from stillpoint.series._scale import AT
from stillpoint.series.light._knot import FIRST
from stillpoint.series.light._plan import ES, EXACT, OF, SUM, N, Plan
from stillpoint.series.light._row import waits


class Keys(NamedTuple):
    """The series of many keys, along the first axis."""

    rows: np.ndarray  # (keys, numbers), of float64 or float32
    exact: np.ndarray  # (keys, EXACT): units, ranges and totals, always of float64
    counts: np.ndarray  # (keys, 8) ints, see `_plan.Counts`
    nests: np.ndarray  # (places, gathered): values of young keys


class Kit(NamedTuple):
    """What all keys share, and room for some of them."""

    plan: Plan
    row: np.ndarray  # (numbers, LANES): room for rows, then for flags and values
    shifted: bool  # whether rows count from the first value


@njit(cache=True)
def shift(w: np.ndarray, p: Plan, sign: float) -> None:
    """Count levels and forecasts from the first value, or its logarithm; sign 1.0: no longer."""
    n, raw, log = p.n, sign * get(w, SUM.first), sign * get(w, AT.log_centre)
    log = where(get(w, n[N.flags]) > 0.0, log, raw)
    for i in range(n[N.filters]):
        at = n[N.means] + i * n[N.places]
        put(w, at, get(w, at) + (log if p.kinds[i] > 0 else raw))
    for e in range(p.smoothers.shape[0]):
        at = p.smoothers[e, ES.place]
        put(w, at, get(w, at) + (log if p.smoothers[e, ES.log] > 0 else raw))
    for at in range(waits(0, p), waits(n[N.slots] + 1, p)):
        put(w, at, get(w, at) + raw)
    for slot in range(n[N.slots] + 1):
        at = n[N.said] + slot * (2 * n[N.estimates] + 1)
        put(w, at, get(w, at) + raw)


@njit(cache=True)
def balance(w: np.ndarray, p: Plan) -> None:
    """Have weights sum to 1 again: times a level far from 0, what float32 lost would be much."""
    n, K = p.n, p.n[N.experts]
    for k in range(n[N.knots]):
        block = n[N.weights] + k * n[N.block]
        for row in (ROW.poly, ROW.blend):
            even(w, block + row * K, K)
            even(w, block + FIRST * K + 2 * row, 2 * n[N.one])


@njit(cache=True)
def even(w: np.ndarray, first: int, count: int) -> None:
    """Make weights sum to 1, if they are any."""
    total = spread(0.0)
    for i in range(first, first + count):
        total += get(w, i)
    part = where(total > 0.0, 1.0 / total, 1.0)
    for i in range(first, first + count):
        put(w, i, get(w, i) * part)


@njit(cache=True)
def load(
    slots: np.ndarray,
    after: np.ndarray,
    alone: bool,
    tiles: np.ndarray,
    keys: Keys,
    kit: Kit,
    p: Plan,
) -> None:
    """Read these tiles of LANES keys, or of one alone, into room to work in; p is their plan.

    Those of the keys that come after them are called for already.
    """
    room, w, flags, first = kit.row, block(kit.row), p.n[N.flags], slots[0]
    if alone:
        for i in range(EXACT):
            put(w, i, keys.exact[first, i])
        row = keys.rows[first]
        for at in tiles:
            for i in range(at, at + LANES):
                put(w, EXACT + i, float(row[i]))
    else:
        for i in range(0, EXACT, LANES):
            at = min(i, EXACT - LANES)
            gather(keys.exact, slots, at, room, at)
        for at in tiles:
            gather(keys.rows, slots, at, room, EXACT + at)
            prefetch(keys.rows, after, at)
    for lane in range(LANES):
        room[flags, lane] = keys.counts[slots[lane], OF.logs]
    if kit.shifted:
        shift(w, p, 1.0)
        balance(w, p)


@njit(cache=True)
def store(slots: np.ndarray, alone: bool, tiles: np.ndarray, keys: Keys, kit: Kit, p: Plan) -> None:
    """The inverse of `load`."""
    room, flags, first = kit.row, p.n[N.flags], slots[0]
    if kit.shifted:
        shift(block(room), p, -1.0)
    if alone:
        for i in range(EXACT):
            keys.exact[first, i] = room[i, 0]
        row = keys.rows[first]
        for at in tiles:
            for i in range(at, at + LANES):
                row[i] = room[EXACT + i, 0]
    else:
        for i in range(0, EXACT, LANES):
            at = min(i, EXACT - LANES)
            scatter(keys.exact, slots, at, room, at)
        for at in tiles:
            scatter(keys.rows, slots, at, room, EXACT + at)
    for lane in range(LANES):
        keys.counts[slots[lane], OF.logs] = int(room[flags, lane])


@njit(cache=True)
def read(slots: np.ndarray, keys: Keys, kit: Kit) -> None:
    """`load` from Python, of whole rows."""
    p = refer(kit.plan)
    load(slots, slots, p.n[N.one] > 0, p.tiles, keys, kit, p)


@njit(cache=True)
def write(slots: np.ndarray, keys: Keys, kit: Kit) -> None:
    """`store` from Python, of whole rows."""
    p = refer(kit.plan)
    store(slots, p.n[N.one] > 0, p.tiles, keys, kit, p)

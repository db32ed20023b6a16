"""Rows of many keys to rounds: sorted by key and time, each in the slot of its own key's clock."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillpoint.commands.forecasts._slots import walk_keys
from stillpoint.commands.forecasts.plan import Plan
from stillpoint.commands.forecasts.spill import Rows
from stillpoint.core.validation import Array

LONG = 1000  # rounds without a value: more are left out, whole seasons at a time


class Clocks(NamedTuple):
    """How far each key is, one row a key."""

    anchors: Array  # when the last slot was; NaN before the first row
    latest: Array  # (keys, n): times of the last rows learnt, the last at the end; NaN for none
    rows: Array  # counted where there are no times, which are these numbers then


class Rounds(NamedTuple):
    """Values in rounds of their keys: row i is in round places[i] of key codes[i].

    late, repeated: rows of each key that were not taken, because their time was not after what was
    learnt before, or because a later row of the same slot took their place. empty: rows without a
    target.
    """

    codes: NDArray[np.int64]
    places: NDArray[np.int64]
    times: Array
    values: Array
    lengths: NDArray[np.int64]  # rounds of each key, up to its last value
    late: NDArray[np.int64]
    repeated: NDArray[np.int64]
    empty: NDArray[np.int64]


def clocks(keys: int, recent: int) -> Clocks:
    """Return clocks of keys that have no row yet, which remember so many times."""
    return Clocks(np.full(keys, np.nan), np.full((keys, recent), np.nan), np.zeros(keys))


def spread(rows: Rows, plan: Plan, own: Clocks) -> Rounds:
    """Return rows as rounds that go on from the clocks of their keys, which are moved."""
    keys = len(rows.keys)
    codes = np.repeat(np.arange(keys), rows.counts)
    times, values = rows.times, rows.values
    if not plan.timed:
        starts = np.repeat(np.cumsum(rows.counts) - rows.counts, rows.counts)
        times = own.rows[codes] + (np.arange(codes.size) - starts) + 1.0
        own.rows[:] += rows.counts
    kept = ~np.isnan(values)
    empty = _per_key(codes[~kept], keys)
    after = kept & ~(times <= own.latest[codes, -1])
    codes, times, values = codes[after], times[after], values[after]
    late = rows.counts - empty - _per_key(codes, keys)
    order = np.lexsort((times, codes))
    codes, times, values = codes[order], times[order], values[order]
    seen = ~np.isnan(own.anchors)
    steps = np.empty(codes.size)
    stops = np.cumsum(_per_key(codes, keys))
    walk_keys(plan.clock(times), stops, plan.unit, own.anchors, steps)
    # the slot of what was learnt before is taken; of rows that share one, the last counts
    taken = (_cumulative(steps, stops) < 1.0) & seen[codes]
    late += _per_key(codes[taken], keys)
    codes, times, values, steps = (a[~taken] for a in (codes, times, values, steps))
    last = np.ones(codes.size, bool)
    last[:-1] = (codes[1:] != codes[:-1]) | (steps[1:] > 0.0)
    repeated = _per_key(codes[~last], keys)
    stops = np.cumsum(_per_key(codes, keys))
    places = _cumulative(_short(steps, plan), stops).astype(np.int64)[last] - 1
    codes, times, values = codes[last], times[last], values[last]
    _remember(own.latest, codes, times)
    counts = _per_key(codes, keys)
    ends, lengths = np.cumsum(counts), np.zeros(keys, np.int64)
    lengths[counts > 0] = places[ends[counts > 0] - 1] + 1
    return Rounds(codes, places, times, values, lengths, late, repeated, empty)


def _per_key(codes: NDArray[np.int64], keys: int) -> NDArray[np.int64]:
    return np.bincount(codes, minlength=keys).astype(np.int64)


def _cumulative(steps: Array, stops: NDArray[np.int64]) -> Array:
    """Return sums of the steps of each key up to each row."""
    whole = np.append(0.0, np.cumsum(steps))
    counts = np.diff(stops, prepend=0)
    return np.asarray(whole[1:] - np.repeat(whole[stops - counts], counts), dtype=np.float64)


def _short(steps: Array, plan: Plan) -> Array:
    """Return steps of which very long ones are cut by whole seasons."""
    turn = plan.turn
    far = steps > LONG + 2 * turn
    return np.where(far, LONG + turn + (steps - LONG) % turn, steps)


def _remember(latest: Array, codes: NDArray[np.int64], times: Array) -> None:
    """Move the last times of each key on by its rows, which are sorted by key and time."""
    counts = np.bincount(codes, minlength=latest.shape[0])
    stops, recent = np.cumsum(counts), latest.shape[1]
    before = latest.copy()
    for back in range(recent):
        column = recent - 1 - back
        new = counts > back
        latest[new, column] = times[stops[new] - 1 - back]
        latest[~new, column] = before[~new, column + counts[~new]]

"""Many series with a small pool: one compiled loop over keys, each of which is a row.

Rows are read into room to work in, up to LANES of them at once, played, and written back. Rows go
together that are at the same round; lanes that are left are copies of the first. Young keys, up to
the rounds after which units are told for good, are played alone: their values are kept beside (the
nursery), from which their experts are built anew.
"""

import math

import numpy as np

from stillpoint.core.jit import bare, njit
from stillpoint.core.lanes import LANES, block, get, put, some, where
from stillpoint.core.reference import refer
from stillpoint.series._knots import ISSUE
from stillpoint.series._typos import believed, upset
from stillpoint.series.light import _estimates, _experts
from stillpoint.series.light._knot import between
from stillpoint.series.light._plan import OF, SUM, N, Plan
from stillpoint.series.light._row import (
    AGAIN,
    START,
    begin,
    end_logarithms,
    open_round,
    take,
    waits,
)
from stillpoint.series.light._storage import Keys, Kit, load, store


@njit(cache=True)
def open_keys(w: np.ndarray, p: Plan) -> None:
    """Open the coming round of keys, unless it is, and put forecasts of its values into room."""
    n, c, said = p.n, p.c, get(w, SUM.last)
    opened, c[OF.open] = c[OF.open] > 0, 1
    if c[OF.now] >= 0:
        if not opened:
            open_round(w, p, n[N.one] > 0)  # live
        said = get(w, waits(n[N.slots], p) + n[N.experts] + ISSUE.forecast)
    elif c[OF.rounds] > 0 and not opened:
        total = said * float(n[N.horizon])
        _estimates.issue(said, said, total, _estimates.due(p), w, p)
    put(w, n[N.flags] + 2, said)


@njit(cache=True)
def close_keys(w: np.ndarray, first: float, nests: np.ndarray, p: Plan) -> None:
    """Take in the values of the open round, NaN where they are missing, which are in room.

    The value of the first lane is that of a young key.
    """
    n, c, y = p.n, p.c, get(w, p.n[N.flags] + 1)
    c[OF.open] = 0
    young = c[OF.nest] >= 0
    if c[OF.rounds] == 0 and math.isnan(first):
        c[OF.before] += 1
        return
    ends = (y <= 0.0) & (get(w, n[N.flags]) > 0.0)
    if c[OF.now] >= 0 and some(ends):
        if young:
            c[OF.now] = -1
            put(w, n[N.flags], 0.0)
        else:
            end_logarithms(w, ends, p)
    if c[OF.rounds] > 0:
        _estimates.settle(y, w, p)
    else:
        put(w, SUM.first, y)
    if c[OF.now] >= 0:
        take(w, y, p)
    put(w, SUM.last, where(y == y, y, get(w, SUM.last)))
    c[OF.rounds] += 1
    if young:
        bring_up(w, first, nests[c[OF.nest]], p)
        if c[OF.now] >= 0 and c[OF.rounds] >= nests.shape[1]:
            c[OF.nest] = -2 - c[OF.nest]  # its place is free


@njit(cache=True)
def bring_up(w: np.ndarray, y: float, nest: np.ndarray, p: Plan) -> None:
    """Add a value to those of a young key, and build its experts anew where that is due."""
    c = p.c
    count = min(c[OF.rounds] - 1, nest.size)
    if count == nest.size:
        for i in range(count - 1):
            nest[i] = nest[i + 1]
        count -= 1
    nest[count] = y
    due = c[OF.now] < 0 or c[OF.rounds] == AGAIN or c[OF.rounds] == nest.size
    doubts = upset(nest[: count + 1], count) > 0
    if not (due or doubts):
        return
    values, good, low, high, last = believed(nest[: count + 1]), 0, math.inf, -math.inf, y
    for value in values:
        if not math.isnan(value):
            good, low, high, last = good + 1, min(low, value), max(high, value), value
    if good >= START and low < high:
        first = 0
        while math.isnan(values[first]):
            first += 1
        if doubts:
            put(w, SUM.first, values[first])
            _estimates.forget(last, w, p)
        begin(values[first:], w, p)


@njit(cache=True)
def path(w: np.ndarray, p: Plan, steps: int) -> None:
    """Put forecasts of the open round, so many, into room; the first is there."""
    n, logs = p.n, get(w, p.n[N.flags]) > 0.0
    _experts.say_path(w, p, logs, n[N.one], steps)
    for h in range(1, steps):
        put(w, n[N.flags] + 2 + h, between(h, w, p))


@njit(cache=True)
def together(slots: np.ndarray, starts: np.ndarray, i: int, counts: np.ndarray) -> int:
    """How many keys from slot i on are played together: they are at the same round, and grown."""
    own, j = counts[slots[i]], i + 1
    while j < min(slots.size, i + LANES) and own[OF.nest] < 0 and starts[j] == starts[i]:
        other = counts[slots[j]]
        for place in (OF.now, OF.bands, OF.issued, OF.open):
            if own[place] != other[place]:
                return j - i
        if other[OF.nest] >= 0:
            return j - i
        j += 1
    return j - i


@njit(cache=True, nogil=True)
def play(
    slots: np.ndarray,
    y: np.ndarray,
    keys: Keys,
    kit: Kit,
    opens: bool,
    closes: bool,
    out: np.ndarray,
    offsets: np.ndarray,
    seasonal: np.ndarray,
) -> None:
    """Open rounds of keys, close them, or both, a round for each column of y (keys, T).

    y is NaN where a value is missing; a round that is to be closed is opened first unless it is
    open. Where there is room, out (keys, T, horizon) takes the forecasts, offsets (keys, T,
    horizons, 2, coverages) the ends of intervals less these, seasonal (keys, T) the seasonal part
    of the first filter. All that Python calls is this, so that it is compiled once.
    """
    keys, kit, slots = bare(keys), bare(kit), bare(slots)
    room, p, T = kit.row, refer(kit.plan), y.shape[1]
    w, n, c = block(room), p.n, p.c
    shown, starts = n[N.flags] + 2, np.zeros(slots.size, dtype=np.int64)
    group, after = np.empty(LANES, dtype=np.int64), np.empty(LANES, dtype=np.int64)
    # first the young ones, until they are grown; then the others
    for young in range(1 if closes and T > 1 else 0, -1, -1):
        i = 0
        while i < slots.size:
            count, k = 1, slots[i]
            if young < 1:
                count = together(slots, starts, i, keys.counts)
            elif keys.counts[k, OF.nest] < 0:
                i += 1
                continue
            t = starts[i]
            if t >= T:
                i += count
                continue
            for j in range(len(OF)):
                c[j] = keys.counts[k, j]
            for lane in range(LANES):
                group[lane] = slots[i + (lane if lane < count else 0)]
                after[lane] = slots[min(i + count + lane, slots.size - 1)]
            load(group, after, count == 1, p.tiles if closes else p.read, keys, kit, p)
            while t < T and (young < 1 or c[OF.nest] >= 0):
                open_keys(w, p)
                if opens:
                    for h in range(1, out.shape[2]):
                        put(w, shown + h, get(w, SUM.last))
                    if out.shape[2] > 1 and c[OF.now] >= 0:
                        path(w, p, out.shape[2])
                    for lane in range(count):
                        for h in range(out.shape[2]):
                            out[i + lane, t, h] = room[shown + h, lane]
                if offsets.shape[1] > 0:
                    for lane in range(count):
                        at = n[N.offsets]
                        for j in range(offsets.shape[2]):
                            for end in range(2):
                                for one in range(offsets.shape[4]):
                                    offsets[i + lane, t, j, end, one] = room[at, lane]
                                    at += 1
                if closes:
                    for lane in range(LANES):
                        room[n[N.flags] + 1, lane] = y[i + (lane if lane < count else 0), t]
                    close_keys(w, y[i, t], keys.nests, p)
                    if seasonal.shape[1] > 0:
                        for lane in range(count):
                            part = room[n[N.seasonal] + 2, lane]
                            seasonal[i + lane, t] = part if c[OF.now] > 0 else 0.0
                t += 1
            store(group, count == 1, p.tiles if closes else p.written, keys, kit, p)
            more = c[OF.rounds] - keys.counts[k, OF.rounds]
            for lane in range(count):
                own = keys.counts[slots[i + lane]]
                own[OF.rounds] += more
                for j in (OF.now, OF.bands, OF.issued, OF.open):
                    own[j] = c[j]
            if count == 1:
                keys.counts[k, OF.nest], keys.counts[k, OF.before] = c[OF.nest], c[OF.before]
            for lane in range(count):
                starts[i + lane] = t
            i += count

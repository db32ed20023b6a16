"""Intervals of series in rows of lanes: the formulas of `light._bands`."""

import math

import numpy as np

from stillpoint.core._lanes import exponential
from stillpoint.core.jit import njit
from stillpoint.core.lanes import Lanes, get, least, most, put, root, size, spread, where
from stillpoint.intervals._experts import AIM
from stillpoint.intervals._guard import HEAD, MOST, PUSH, WIDTH
from stillpoint.intervals._slow import SLOW
from stillpoint.series.light._bands import MEMORY
from stillpoint.series.light._plan import OF, SAID, SCORES, SUM, N, Plan
from stillpoint.series.light._slow import learn_slow, say


@njit(cache=True)
def due(p: Plan) -> int:
    """How far ahead intervals are to be issued in the coming round: 1, the knot, or the horizon."""
    c, n = p.c, p.n
    if c[OF.issued] <= c[OF.bands]:
        if n[N.totals] > 0 and c[OF.bands] % n[N.horizon] == 0:
            return int(n[N.horizon])
        if n[N.slots] > 0 and c[OF.bands] % n[N.stride] == 0:
            return int(n[N.knot])
    return 1


@njit(cache=True)
def fill(k: int, slot: int, f: Lanes, w: np.ndarray, p: Plan) -> None:
    """Note what is said around a forecast, and its ends less it."""
    n = p.n
    m, C, two_sided = n[N.estimates], n[N.coverages], n[N.two_sided] > 0
    said, ends = n[N.said] + slot * (2 * m + 1), n[N.offsets] + 2 * C * k
    put(w, said, f)
    for j in range(m):
        at, q = n[N.slow] + (k * m + j) * SCORES, p.aims[j, AIM.level]
        seen, misses = get(w, at + SAID), get(w, at + SAID + 1)
        # as `_guard.behind` and `_guard.push`
        x = (misses - (1.0 - q) * seen) / (WIDTH * root(q * (1.0 - q) * (seen + HEAD)))
        push = least(most(PUSH * x / (1.0 - x * x), -MOST), MOST)
        plain, pushes = say(p, j, w, at), x > -1.0
        if two_sided:
            end = where(pushes, plain + 2.0 * push * get(w, at + SLOW.scale), plain)
        else:
            end = where(pushes, plain * exponential(push), 0.0)
        put(w, said + 1 + 2 * j, plain)
        put(w, said + 2 + 2 * j, where((x < 1.0) & (plain == plain), end, math.inf))
    low, high = spread(math.inf), spread(-math.inf)
    for j in p.order:
        if two_sided:
            below, above = get(w, said + 2 + 4 * j), get(w, said + 4 + 4 * j)
            told = (size(below) < math.inf) & (size(above) < math.inf)
            crossed, half = told & (f - below > f + above), 0.5 * (above - below)
            below, above = where(crossed, -1.0 * half, below), where(crossed, half, above)
            low, high = least(low, -1.0 * below), most(high, above)
            put(w, said + 2 + 4 * j, -1.0 * low)
            put(w, said + 4 + 4 * j, high)
        else:
            above = get(w, said + 2 + 2 * j)
            low, high = least(low, -1.0 * above), most(high, above)
            put(w, said + 2 + 2 * j, high)
        put(w, ends + j, low)
        put(w, ends + C + j, high)


@njit(cache=True)
def issue(one: Lanes, two: Lanes, total: Lanes, reach: int, w: np.ndarray, p: Plan) -> None:
    """Issue intervals around forecasts of the next value, the knot and the total, where due."""
    n, c, now = p.n, p.c, p.c[OF.bands]
    slots = n[N.slots]
    if c[OF.issued] > now:
        return
    c[OF.issued] = now + 1
    for k in range(2 if slots > 0 and now % n[N.stride] == 0 else 1):
        slot, f = slots, one
        if k > 0:
            slot, f = (now // n[N.stride]) % slots, two
        fill(k, slot, f, w, p)
    if n[N.totals] > 0:
        if reach == n[N.horizon]:
            put(w, SUM.forecast, total)
            put(w, SUM.origin, get(w, SUM.sum))
            put(w, SUM.gaps, get(w, SUM.missing))
        around(w, p)


@njit(cache=True)
def around(w: np.ndarray, p: Plan) -> None:
    """Ends of totals: their mean error times the factor of the last of the other horizons."""
    n = p.n
    C, m, k = n[N.coverages], n[N.estimates], 1 if n[N.slots] > 0 else 0
    ends, scale = n[N.offsets] + 2 * C * k, get(w, SUM.scale)
    known = get(w, SUM.number) > 0.0
    for j in range(C):
        for side in range(2):
            own = get(w, ends + side * C + j)
            i = 2 * j + side if n[N.two_sided] > 0 else j
            mean = get(w, n[N.slow] + (k * m + i) * SCORES + SLOW.scale)
            told = known & (mean > 0.0) & (size(own) < math.inf)
            value = where(told, own / mean * scale, own * float(n[N.horizon]))
            put(w, ends + 2 * C + side * C + j, value)


@njit(cache=True)
def learn(k: int, slot: int, y: Lanes, seen: Lanes, turns: int, w: np.ndarray, p: Plan) -> None:
    """Learn the target of what was issued in this slot."""
    n = p.n
    m, two_sided = n[N.estimates], n[N.two_sided] > 0
    said = n[N.said] + slot * (2 * m + 1)
    e = y - get(w, said)
    for j in range(m):
        at, score = n[N.slow] + (k * m + j) * SCORES, size(e)
        if two_sided:
            score = -1.0 * e if j % 2 == 0 else e
        count, misses = get(w, at + SAID), get(w, at + SAID + 1)
        put(w, at + SAID, where(seen, count + 1.0, count))
        missed = seen & (score > get(w, said + 2 + 2 * j))
        put(w, at + SAID + 1, where(missed, misses + 1.0, misses))
        # the first is that of a forecaster that may have seen nothing
        learns = seen & (count > 0.0)
        learn_slow(e, score, get(w, said + 1 + 2 * j), p, j, turns, w, at, learns)


@njit(cache=True)
def settle(y: Lanes, w: np.ndarray, p: Plan) -> None:
    """Take in the value of the round, NaN if it is missing."""
    n, c, now, seen = p.n, p.c, p.c[OF.bands], y == y
    slots, H = n[N.slots], n[N.horizon]
    first, total, missing = get(w, SUM.first), get(w, SUM.sum), get(w, SUM.missing)
    total, missing = where(seen, total + (y - first), total), where(seen, missing, missing + 1.0)
    put(w, SUM.sum, total)
    put(w, SUM.missing, missing)
    c[OF.bands] += 1
    origin, count = now - n[N.knot] + 1, 1 if c[OF.issued] > now else 0
    if count > 0 and slots > 0 and origin >= 0 and origin % n[N.stride] == 0:
        count = 2
    for k in range(count):
        slot, turns = slots, n[N.one]
        if k > 0:
            slot, turns = (origin // n[N.stride]) % slots, slots - 1
        learn(k, slot, y, seen, turns, w, p)
    if n[N.totals] > 0 and (now + 1) % H == 0:
        whole = missing == get(w, SUM.gaps)
        e = size(total - get(w, SUM.origin) + float(H) * first - get(w, SUM.forecast))
        number, scale = get(w, SUM.number), get(w, SUM.scale)
        more = (1.0 - 1.0 / MEMORY) * number + 1.0
        put(w, SUM.number, where(whole, more, number))
        put(w, SUM.scale, where(whole, scale + (e - scale) / more, scale))


@njit(cache=True)
def forget(last: float, w: np.ndarray, p: Plan) -> None:
    """Forget all but hits and misses, where values were learnt that are not believed any longer.

    Forecasts that wait may have been made from these: they count as the last value believed.
    """
    n, m = p.n, p.n[N.estimates]
    for k in range(2):
        for j in range(m):
            at = n[N.slow] + (k * m + j) * SCORES
            for i in range(at, at + SAID):
                put(w, i, 0.0)
    for slot in range(n[N.slots] + 1):
        at = n[N.said] + slot * (2 * m + 1)
        put(w, at, last)
        for j in range(m):
            put(w, at + 1 + 2 * j, math.nan)
    for i in (SUM.sum, SUM.scale, SUM.number):
        put(w, i, 0.0)
    put(w, SUM.missing, get(w, SUM.missing) + 1.0)  # a total that waits is none

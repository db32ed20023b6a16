"""Intervals of a series in its row: the formulas of `light._bands`."""

import math

import numpy as np

from stillpoint.core.jit import njit
from stillpoint.intervals._experts import AIM
from stillpoint.intervals._guard import behind, push
from stillpoint.intervals._interval import uncross
from stillpoint.intervals._slow import SLOW, learn_slow, say
from stillpoint.series.light._bands import MEMORY
from stillpoint.series.light._plan import OF, SAID, SCORES, SUM, N


@njit(cache=True)
def due(c: np.ndarray, n: np.ndarray) -> int:
    """How far ahead intervals are to be issued in the coming round: 1, the knot, or the horizon."""
    if c[OF.issued] <= c[OF.bands]:
        if n[N.totals] > 0 and c[OF.bands] % n[N.horizon] == 0:
            return int(n[N.horizon])
        if n[N.slots] > 0 and c[OF.bands] % n[N.stride] == 0:
            return int(n[N.knot])
    return 1


@njit(cache=True)
def fill(
    k: int,
    slot: int,
    f: float,
    w: np.ndarray,
    n: np.ndarray,
    aims: np.ndarray,
    order: np.ndarray,
) -> None:
    """Note what is said around a forecast, and its ends less it."""
    m, C, two_sided = n[N.estimates], n[N.coverages], n[N.two_sided] > 0
    said = w[n[N.said] + slot * (2 * m + 1) : n[N.said] + (slot + 1) * (2 * m + 1)]
    ends = w[n[N.offsets] + 2 * C * k : n[N.offsets] + 2 * C * (k + 1)]
    said[0], low, high = f, math.inf, -math.inf
    for j in range(m):
        at = n[N.slow] + (k * m + j) * SCORES
        slow, seen, misses = w[at : at + SAID], w[at + SAID], w[at + SAID + 1]
        x, plain, end = (
            behind(aims[j, AIM.level], seen, misses),
            say(two_sided, aims[j], slow),
            math.inf,
        )
        if x < 1.0 and not math.isnan(plain):
            if two_sided:
                end = plain + 2.0 * push(x) * slow[SLOW.scale] if x > -1.0 else plain
            else:
                end = plain * math.exp(push(x)) if x > -1.0 else 0.0
        said[1 + 2 * j], said[2 + 2 * j] = plain, end
    for j in order:
        below = above = said[2 + 2 * j]
        if two_sided:
            below, above = uncross(f, said[2 + 4 * j], said[4 + 4 * j])
        low, high = min(low, -below), max(high, above)
        ends[j], ends[C + j] = low, high
        if two_sided:
            said[2 + 4 * j], said[4 + 4 * j] = -low, high
        else:
            said[2 + 2 * j] = high


@njit(cache=True)
def issue(
    one: float,
    two: float,
    total: float,
    reach: int,
    w: np.ndarray,
    c: np.ndarray,
    n: np.ndarray,
    aims: np.ndarray,
    order: np.ndarray,
) -> None:
    """Issue intervals around forecasts of the next value, the knot and the total, where due."""
    now, slots = c[OF.bands], n[N.slots]
    if c[OF.issued] > now:
        return
    c[OF.issued] = now + 1
    for k in range(2 if slots > 0 and now % n[N.stride] == 0 else 1):
        slot = slots if k == 0 else (now // n[N.stride]) % slots
        fill(k, slot, one if k == 0 else two, w, n, aims, order)
    if n[N.totals] > 0:
        if reach == n[N.horizon]:
            w[SUM.forecast], w[SUM.origin], w[SUM.gaps] = total, w[SUM.sum], w[SUM.missing]
        around(w, n)


@njit(cache=True)
def around(w: np.ndarray, n: np.ndarray) -> None:
    """Ends of totals: their mean error times the factor of the last of the other horizons."""
    C, m, k = n[N.coverages], n[N.estimates], 1 if n[N.slots] > 0 else 0
    ends = n[N.offsets] + 2 * C * k
    for j in range(C):
        for side in range(2):
            own = w[ends + side * C + j]
            i = 2 * j + side if n[N.two_sided] > 0 else j
            mean, value = w[n[N.slow] + (k * m + i) * SCORES + SLOW.scale], own * n[N.horizon]
            if w[SUM.number] > 0.0 and mean > 0.0 and math.isfinite(own):
                value = own / mean * w[SUM.scale]
            w[ends + 2 * C + side * C + j] = value


@njit(cache=True)
def learn(
    k: int, slot: int, y: float, turns: int, w: np.ndarray, n: np.ndarray, aims: np.ndarray
) -> None:
    """Learn the target of what was issued in this slot."""
    m, two_sided = n[N.estimates], n[N.two_sided] > 0
    said = w[n[N.said] + slot * (2 * m + 1) : n[N.said] + (slot + 1) * (2 * m + 1)]
    e = y - said[0]
    for j in range(m):
        at, score = n[N.slow] + (k * m + j) * SCORES, abs(e)
        if two_sided:
            score = -e if j % 2 == 0 else e
        begins = w[at + SAID] == 0.0
        w[at + SAID] += 1.0
        w[at + SAID + 1] += 1.0 if score > said[2 + 2 * j] else 0.0
        if not begins:  # the first is that of a forecaster that may have seen nothing
            learn_slow(e, score, said[1 + 2 * j], aims[j], two_sided, turns, w[at : at + SAID])


@njit(cache=True)
def settle(y: float, w: np.ndarray, c: np.ndarray, n: np.ndarray, aims: np.ndarray) -> None:
    """Take in the value of the round, NaN if it is missing."""
    now, seen, slots = c[OF.bands], not math.isnan(y), n[N.slots]
    w[SUM.sum] += y - w[SUM.first] if seen else 0.0
    w[SUM.missing] += 0.0 if seen else 1.0
    c[OF.bands] += 1
    origin, count = now - n[N.knot] + 1, 1 if seen and c[OF.issued] > now else 0
    if count > 0 and slots > 0 and origin >= 0 and origin % n[N.stride] == 0:
        count = 2
    for k in range(count):
        slot = slots if k == 0 else (origin // n[N.stride]) % slots
        learn(k, slot, y, 1 if k == 0 else slots - 1, w, n, aims)
    H = n[N.horizon]
    if n[N.totals] > 0 and (now + 1) % H == 0 and w[SUM.missing] == w[SUM.gaps]:
        e = abs(w[SUM.sum] - w[SUM.origin] + H * w[SUM.first] - w[SUM.forecast])
        w[SUM.number] = (1.0 - 1.0 / MEMORY) * w[SUM.number] + 1.0
        w[SUM.scale] += (e - w[SUM.scale]) / w[SUM.number]


@njit(cache=True)
def forget(last: float, w: np.ndarray, n: np.ndarray) -> None:
    """Forget all but hits and misses, where values were learnt that are not believed any longer.

    Forecasts that wait may have been made from these: they count as the last value believed.
    """
    m = n[N.estimates]
    for k in range(2):
        for j in range(m):
            at = n[N.slow] + (k * m + j) * SCORES
            w[at : at + SAID] = 0.0
    for slot in range(n[N.slots] + 1):
        at = n[N.said] + slot * (2 * m + 1)
        w[at] = last
        for j in range(m):
            w[at + 1 + 2 * j] = np.nan
    w[SUM.sum] = w[SUM.scale] = w[SUM.number] = 0.0
    w[SUM.missing] += 1.0  # a total that waits is none

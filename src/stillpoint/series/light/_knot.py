"""Aggregation at a knot, in rows of lanes: the formulas of `series._knots`."""

import numpy as np

from stillpoint.core._lanes import exponential, within
from stillpoint.core.jit import njit
from stillpoint.core.lanes import (
    Lanes,
    block,
    get,
    least,
    most,
    put,
    root,
    size,
    some,
    spread,
    where,
)
from stillpoint.series._knots import (
    AT,
    CAP,
    FADE,
    ISSUE,
    MEMORY,
    RATE,
    RECENT,
    ROW,
    STEEP,
    TINY,
    WANDER,
    WARM,
)
from stillpoint.series._knots import REACH as FURTHEST
from stillpoint.series._knots import SLACK as LAG
from stillpoint.series.light._plan import MOST, SLACK, N, Plan

FIRST = len(ROW)  # rows of a table


@njit(cache=True, forceinline=True)
def dot(w: np.ndarray, i: int, j: int, n: int) -> Lanes:
    """Σ_k w_(i+k) w_(j+k), k < n."""
    total = get(w, i) * get(w, j)
    for k in range(1, n):
        total += get(w, i + k) * get(w, j + k)
    return total


@njit(cache=True, forceinline=True)
def fitted(w: np.ndarray, theta: int, z: np.ndarray, n: int) -> Lanes:
    """What coefficients at this place make of regressors z."""
    total = get(w, theta) * get(z, 0)
    for k in range(1, n):
        total += get(w, theta + k) * get(z, k)
    return total


@njit(cache=True)
def weigh(
    w: np.ndarray,
    table: int,
    K: int,
    record: Lanes,
    seen: Lanes,
    mask: Lanes,
    room: np.ndarray,
) -> None:
    """Fill the rows of weights of a table (rows·K) at this place, in the lanes of the mask."""
    squares, losses = table + ROW.squares * K, table + ROW.loss * K
    poly, blend = table + ROW.poly * K, table + ROW.blend * K
    total, mass, lowest = spread(0.0), spread(0.0), get(w, losses)
    for i in range(1, K):
        lowest = least(lowest, get(w, losses + i))
    for i in range(K):
        regret = get(w, table + i)
        own = where(regret > 0.0, regret / (record + get(w, squares + i)), 0.0)
        u = exponential(RATE * (lowest - get(w, losses + i)))
        put(room, i, own)
        put(room, K + i, u)
        total += own
        mass += u
    early, credited = WARM / (seen + WARM), total > 0.0
    share, rest, part = early / mass, 1.0 - early, 1.0 / total
    for i in range(K):
        own = where(credited, get(room, i) * part, 1.0 / K)
        both = rest * own + share * get(room, K + i)
        put(w, poly + i, where(mask, own, get(w, poly + i)))
        put(w, blend + i, where(mask, both, get(w, blend + i)))


@njit(cache=True)
def combine(w: np.ndarray, table: int, K: int, p: int) -> None:
    """Make the forecasts of a knot from those of the experts at p, after which they are put."""
    pair, scalars, out = table + FIRST * K, table + FIRST * (K + 2), p + K
    theta, sd = scalars + len(AT), root(get(w, scalars + AT.variance))
    f = dot(w, table + ROW.blend * K, p, K)
    more, steep = get(w, theta + K) * sd, STEEP * sd
    for i in range(K):
        more += get(w, theta + i) * within(get(w, p + i) - f, -1.0 * steep, steep)
    g = f + within(more, -FURTHEST * sd, FURTHEST * sd)
    put(w, out + ISSUE.poly, dot(w, table + ROW.poly * K, p, K))
    put(w, out + ISSUE.first, f)
    put(w, out + ISSUE.stacked, g)
    at = pair + ROW.poly * 2
    put(w, out + ISSUE.pair, get(w, at) * f + get(w, at + 1) * g)
    at = pair + ROW.blend * 2
    put(w, out + ISSUE.forecast, get(w, at) * f + get(w, at + 1) * g)


@njit(cache=True)
def between(h: int, w: np.ndarray, plan: Plan) -> Lanes:
    """The forecast of horizon h + 1 from the experts' in paths, weights between the knots'."""
    n, part, paths = plan.n, plan.parts[h], block(plan.paths)
    K, rest, p = n[N.experts], 1.0 - part, h * n[N.experts]
    near = n[N.weights]
    far = near + (n[N.knots] - 1) * n[N.block]
    f, at = spread(0.0), ROW.blend * K
    for i in range(K):
        f += (rest * get(w, near + at + i) + part * get(w, far + at + i)) * get(paths, p + i)
    at = FIRST * K + ROW.blend * 2
    one = rest * get(w, near + at) + part * get(w, far + at)
    two = rest * get(w, near + at + 1) + part * get(w, far + at + 1)
    at = FIRST * (K + 2)
    sd = rest * root(get(w, near + at + AT.variance))
    sd += part * root(get(w, far + at + AT.variance))
    at += len(AT)
    more = (rest * get(w, near + at + K) + part * get(w, far + at + K)) * sd
    steep = STEEP * sd
    for i in range(K):
        theta = rest * get(w, near + at + i) + part * get(w, far + at + i)
        more += theta * within(get(paths, p + i) - f, -1.0 * steep, steep)
    return one * f + two * (f + within(more, -FURTHEST * sd, FURTHEST * sd))


@njit(cache=True)
def credit(
    w: np.ndarray,
    table: int,
    K: int,
    record: Lanes,
    poly: Lanes,
    p: np.ndarray,
    at: int,
    y: Lanes,
    scale: Lanes,
    plan: Plan,
    mask: Lanes,
) -> Lanes:
    """`_knots.credit`, of a table in a row, in the lanes of the mask; experts' are in p at `at`."""
    most_, slack = plan.rule[MOST], plan.rule[SLACK]
    steep, lowest, far = 2.0 * (poly - y) * scale, 1e-9 / root(scale), spread(0.0)
    for i in range(K):
        far = most(far, size(steep * (poly - get(p, at + i))))
    share = where(far > most_, most_ / far, 1.0)
    own = (poly - y) * (poly - y) * scale
    squares, losses = table + K, table + ROW.loss * K
    for i in range(K):
        said = get(p, at + i)
        d = poly - said
        d = where(size(d) < lowest, 0.0, d)  # experts that agree up to rounding
        r, loss = steep * d * share, (y - said) * (y - said) * scale
        less = most(r - most((loss - own) * share - slack, 0.0), 0.0)
        r = where(mask, where(r > 0.0, less, r), 0.0)
        put(w, table + i, get(w, table + i) + r)
        put(w, squares + i, get(w, squares + i) + r * r)
        record = most(record, r * r)
        before = get(w, losses + i)
        put(w, losses + i, where(mask, (1.0 - FADE) * before + loss, before))
    return record


@njit(cache=True)
def times(w: np.ndarray, C: int, room: np.ndarray, n: int) -> Lanes:
    """g = Cz, C by its upper triangle at this place; in room are z, then g; returns z'Cz."""
    total = spread(0.0)
    for i in range(n):
        own, place, row = spread(0.0), C + i, n - 1
        for j in range(i):  # down the column
            own += get(w, place) * get(room, j)
            place += row
            row -= 1
        for j in range(i, n):
            own += get(w, place) * get(room, j)
            place += 1
        put(room, n + i, own)
        total += own * get(room, i)
    return total


@njit(cache=True)
def absorb(
    w: np.ndarray,
    C: int,
    room: np.ndarray,
    n: int,
    inverse: Lanes,
    scale: Lanes,
    drift: Lanes,
) -> None:
    """C = (C − gg'·inverse)·scale + drift·I, by its upper triangle; g is in room after z."""
    at = C
    for i in range(n):
        own = get(room, n + i)
        put(w, at, (get(w, at) - own * inverse * own) * scale + drift)
        at += 1
        own = own * inverse
        for j in range(i + 1, n):
            put(w, at, (get(w, at) - own * get(room, n + j)) * scale)
            at += 1


@njit(cache=True)
def unit_of(square: Lanes, w: np.ndarray, s: int, seen: Lanes) -> Lanes:
    """Add a squared error to σ², and return what this round is to be counted in."""
    before, recent = get(w, s + AT.variance), get(w, s + AT.recent)
    memory, settling = get(w, s + AT.memory), get(w, s + AT.settling)
    longer = (1.0 - 1.0 / MEMORY) * memory + 1.0
    cut = (longer >= 11.0) & (before > 0.0)
    counted = where(cut, least(square, CAP * before), square)
    variance = before + (counted - before) / longer
    latest = recent + (counted - recent) / least(longer, RECENT)
    settles = settling > 0.0
    variance = where(settles, least(variance, LAG * latest), variance)
    put(w, s + AT.memory, where(seen, longer, memory))
    put(w, s + AT.recent, where(seen, latest, recent))
    put(w, s + AT.settling, where(seen & settles, settling - 1.0, settling))
    put(w, s + AT.variance, where(seen, variance, before))
    return most(variance, square / CAP)


@njit(cache=True)
def judge(
    w: np.ndarray,
    k: int,
    waits: int,
    y: Lanes,
    seen: Lanes,
    width: Lanes,
    plan: Plan,
) -> None:
    """Knot k learns from the value of what waits at this place; width is the range of values."""
    n, room = plan.n, block(plan.room)
    K, two = n[N.experts], 2 * n[N.one]
    table, out = n[N.weights] + k * n[N.block], waits + K
    pair, s = table + FIRST * K, table + FIRST * (K + 2)
    error = y - get(w, out + ISSUE.forecast)
    square = error * error
    unit = unit_of(square, w, s, seen)
    rounding = most(most((1e-13 * width) * (1e-13 * width), (1e-14 * y) * (1e-14 * y)), TINY)
    learns = seen & (unit > rounding)  # else there is nothing to learn from
    if not some(learns):
        return
    scale, f = 1.0 / unit, get(w, out + ISSUE.first)
    record = get(w, s + AT.record)
    record = credit(w, table, K, record, get(w, out + ISSUE.poly), w, waits, y, scale, plan, learns)
    put(w, s + AT.record, record)
    put(room, 0, f)
    put(room, 1, get(w, out + ISSUE.stacked))
    other = get(w, s + AT.pair_record)
    other = credit(w, pair, two, other, get(w, out + ISSUE.pair), room, 0, y, scale, plan, learns)
    put(w, s + AT.pair_record, other)
    M, theta = K + 1, s + len(AT)
    C = theta + M
    per_sd = where(learns, 1.0 / root(get(w, s + AT.variance)), 0.0)
    for i in range(K):
        put(room, i, least(most((get(w, waits + i) - f) * per_sd, -STEEP), STEEP))
    put(room, K, 1.0)
    target = least(most((y - f) * per_sd, -STEEP), STEEP)
    inverse = 1.0 / (times(w, C, room, M) + 1.0)
    step = where(learns, (target - fitted(w, theta, room, M)) * inverse, 0.0)
    for i in range(M):
        put(w, theta + i, get(w, theta + i) + get(room, M + i) * step)
    inverse, drift = where(learns, inverse, 0.0), where(learns, WANDER, 0.0)
    absorb(w, C, room, M, inverse, spread(1.0), drift)
    judged = get(w, s + AT.seen) + where(learns, 1.0, 0.0)
    put(w, s + AT.seen, judged)
    weigh(w, table, K, record, judged, learns, room)
    weigh(w, pair, two, other, judged, learns, room)

"""Aggregation at a knot, in the row of a series: the formulas of `series._knots`."""

import math

import numpy as np

from stillpoint.core.arithmetic import dot
from stillpoint.core.jit import njit
from stillpoint.series._knots import (
    AT,
    FADE,
    ISSUE,
    RATE,
    ROW,
    STEEP,
    TINY,
    WANDER,
    WARM,
    stacked,
    unit_of,
)
from stillpoint.series._knots import REACH as FURTHEST
from stillpoint.series.light._plan import MOST, SLACK, N

FIRST = len(ROW)  # rows of a table


@njit(cache=True)
def weigh(table: np.ndarray, K: int, record: float, seen: float) -> None:
    """Fill the rows of weights of a table (rows·K)."""
    total, least, mass = 0.0, np.inf, 0.0
    squares, losses = table[ROW.squares * K :], table[ROW.loss * K :]
    poly, blend = table[ROW.poly * K :], table[ROW.blend * K :]
    for i in range(K):
        w = 0.0
        if table[i] > 0.0:
            w = table[i] / (record + squares[i])
        poly[i] = w
        total += w
        least = min(least, losses[i])
    for i in range(K):
        u = math.exp(-RATE * (losses[i] - least))
        blend[i] = u
        mass += u
    early = WARM / (WARM + seen)
    share, rest = early / mass, 1.0 - early
    for i in range(K):
        w = poly[i] / total if total > 0.0 else 1.0 / K
        poly[i] = w
        blend[i] = rest * w + share * blend[i]


@njit(cache=True)
def combine(block: np.ndarray, K: int, p: np.ndarray, out: np.ndarray) -> None:
    """Make the forecasts of a knot from those of the experts."""
    pair, scalars = block[FIRST * K : FIRST * (K + 2)], block[FIRST * (K + 2) :]
    theta = scalars[len(AT) : len(AT) + K + 1]
    f = dot(block[ROW.blend * K : ROW.blend * K + K], p)
    g = stacked(f, p, theta, math.sqrt(scalars[AT.variance]))
    out[ISSUE.poly] = dot(block[ROW.poly * K : ROW.poly * K + K], p)
    out[ISSUE.first], out[ISSUE.stacked] = f, g
    out[ISSUE.pair] = pair[ROW.poly * 2] * f + pair[ROW.poly * 2 + 1] * g
    out[ISSUE.forecast] = pair[ROW.blend * 2] * f + pair[ROW.blend * 2 + 1] * g


@njit(cache=True)
def between(part: float, w: np.ndarray, n: np.ndarray, p: np.ndarray) -> float:
    """The forecast of a horizon, part of the way from knot to knot, from the experts' p."""
    K, last = p.size, n[N.knots] - 1
    near = w[n[N.weights] : n[N.weights] + n[N.block]]
    far = w[n[N.weights] + last * n[N.block] : n[N.weights] + (last + 1) * n[N.block]]
    f, at = 0.0, ROW.blend * K
    for i in range(K):
        f += ((1.0 - part) * near[at + i] + part * far[at + i]) * p[i]
    at = FIRST * K + ROW.blend * 2
    one = (1.0 - part) * near[at] + part * far[at]
    two = (1.0 - part) * near[at + 1] + part * far[at + 1]
    at = FIRST * (K + 2)
    sd = (1.0 - part) * math.sqrt(near[at + AT.variance])
    sd += part * math.sqrt(far[at + AT.variance])
    at += len(AT)
    more = ((1.0 - part) * near[at + K] + part * far[at + K]) * sd
    for i in range(K):
        theta = (1.0 - part) * near[at + i] + part * far[at + i]
        more += theta * min(max(p[i] - f, -STEEP * sd), STEEP * sd)
    return float(one * f + two * (f + min(max(more, -FURTHEST * sd), FURTHEST * sd)))


@njit(cache=True)
def credit(
    table: np.ndarray,
    record: float,
    poly: float,
    p: np.ndarray,
    y: float,
    scale: float,
    rule: np.ndarray,
) -> float:
    """`_knots.credit`, of a table in a row."""
    K = p.size
    steep, least, far = 2.0 * (poly - y) * scale, 1e-9 / math.sqrt(scale), 0.0
    for i in range(K):
        far = max(far, abs(steep * (poly - p[i])))
    share = rule[MOST] / far if far > rule[MOST] else 1.0
    own, squares, losses = (poly - y) ** 2 * scale, table[K:], table[ROW.loss * K :]
    for i in range(K):
        d = poly - p[i]
        if abs(d) < least:  # experts that agree up to rounding
            d = 0.0
        r, loss = steep * d * share, (y - p[i]) ** 2 * scale
        if r > 0.0:
            r = max(r - max((loss - own) * share - rule[SLACK], 0.0), 0.0)
        table[i] += r
        squares[i] += r * r
        record = max(record, r * r)
        losses[i] = (1.0 - FADE) * losses[i] + loss
    return record


@njit(cache=True, fastmath={"reassoc"})
def times(C: np.ndarray, z: np.ndarray, g: np.ndarray) -> float:
    """g = Cz, C by its upper triangle; returns z'Cz."""
    n, at, total = z.size, 0, 0.0
    for i in range(n):
        g[i] = 0.0
    for i in range(n):
        # parts of arrays: Numba lets places below 0 count from the end, and would look at each
        row, ahead, out = C[at : at + n - i], z[i:], g[i:]
        zi, own = z[i], 0.0
        for j in range(n - i):
            own += row[j] * ahead[j]
            out[j] += row[j] * zi
        g[i] += own - row[0] * zi
        at += n - i
    for i in range(n):
        total += g[i] * z[i]
    return total


@njit(cache=True)
def absorb(C: np.ndarray, g: np.ndarray, S: float, scale: float, drift: float) -> None:
    """C = (C − gg'/S)·scale + drift·I, by its upper triangle."""
    n, at, inverse = g.size, 0, 1.0 / S
    for i in range(n):
        row, ahead, own = C[at : at + n - i], g[i:], g[i] * inverse
        for j in range(n - i):
            row[j] = (row[j] - own * ahead[j]) * scale
        row[0] += drift
        at += n - i


@njit(cache=True)
def judge(
    w: np.ndarray,
    k: int,
    waits: int,
    y: float,
    width: float,
    n: np.ndarray,
    rule: np.ndarray,
    room: np.ndarray,
) -> None:
    """Knot k learns from the value of what waits at this place; width is the range of values."""
    K = n[N.experts]
    block = w[n[N.weights] + k * n[N.block] : n[N.weights] + (k + 1) * n[N.block]]
    said, out = w[waits : waits + K], w[waits + K : waits + K + len(ISSUE)]
    pair, s = block[FIRST * K : FIRST * (K + 2)], block[FIRST * (K + 2) :]
    square = (y - out[ISSUE.forecast]) ** 2
    unit = unit_of(square, s)
    if unit <= max((1e-13 * width) ** 2, (1e-14 * y) ** 2, TINY):
        return  # rounding: nothing to learn from
    scale, f = 1.0 / unit, out[ISSUE.first]
    s[AT.record] = credit(block, s[AT.record], out[ISSUE.poly], said, y, scale, rule)
    two = room[:2]
    two[0], two[1] = f, out[ISSUE.stacked]
    s[AT.pair_record] = credit(pair, s[AT.pair_record], out[ISSUE.pair], two, y, scale, rule)
    z, g, sd = room[: K + 1], room[K + 1 : 2 * K + 2], math.sqrt(s[AT.variance])
    theta, C = s[len(AT) : len(AT) + K + 1], s[len(AT) + K + 1 :]
    per_sd = 1.0 / sd
    for i in range(K):
        z[i] = min(max((said[i] - f) * per_sd, -STEEP), STEEP)
    z[K] = 1.0
    target = min(max((y - f) * per_sd, -STEEP), STEEP)
    S = times(C, z, g) + 1.0
    error = (target - dot(theta, z)) / S
    for i in range(K + 1):
        theta[i] += g[i] * error
    absorb(C, g, S, 1.0, WANDER)
    s[AT.seen] += 1.0
    weigh(block, K, s[AT.record], s[AT.seen])
    weigh(pair, 2, s[AT.pair_record], s[AT.seen])

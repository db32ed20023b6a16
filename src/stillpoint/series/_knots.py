"""Aggregation of the experts' forecasts, for some horizons each by itself: the knots.

At an origin and knot, experts i say p_i. Three forecasts are made of them:

    pm = Σ w_i p_i       w_i ∝ (R_i)₊/(B + V_i)                  (ML-Poly)
    f  = Σ W_i p_i       W = (1 − a)w + a u, u_i ∝ exp(−L_i/4), a = 100/(100 + rounds judged)
    g  = f + Σ θ_i (p_i − f) + θ₀σ, in bounds               (a ridge regression of what is left)

and a second aggregation, of the two experts f and g, gives the forecast F. When the value arrives,
maybe many rounds later, R, V, L, B, σ² and θ learn from what was said then. Regrets are
r_i = 2(pm − y)(pm − p_i)/σ²: Σ w_i r_i = 0 for the weights at issue, so that at horizon 1
Σ_t (loss of pm − loss of expert i)/σ_t² ≤ R_i ≤ √(A(B + max V)), A = Σ_t Σ_i r_i²/(B + V_i), B and
V as before the round (Gaillard, Stoltz & van Erven, 2014). Between knots weights are interpolated.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.arithmetic import dot
from stillpoint.core.jit import njit
from stillpoint.series._gains import absorb, times

WARM, RATE, FADE = 100.0, 0.25, 0.01
MEMORY, CAP = 100.0, 100.0  # of the error variance: rounds, and how much larger a square may count
# for SETTLING rounds after a jump σ² is at most SLACK times the mean of about RECENT squares
RECENT, SLACK, SETTLING = 5.0, 9.0, 300.0
RIDGE, WANDER = 30.0, 1e-6  # of the regression: prior precision, drift of coefficients a round
TINY = 1e-280  # of the error variance: its inverse is still a number
STEEP, REACH = 5.0, 3.0  # in error deviations: of its regressors, of what it may add


class Row(NamedTuple):
    """Rows of `experts` and of `pair`."""

    regret: int = 0  # R
    squares: int = 1  # V
    loss: int = 2  # L
    poly: int = 3  # w
    blend: int = 4  # W


class Scalar(NamedTuple):
    """Columns of `scalars`."""

    record: int = 0  # B, the largest r² so far
    pair_record: int = 1
    variance: int = 2  # σ², of the forecast's errors
    memory: int = 3  # how many of them that is a mean of
    seen: int = 4  # rounds judged
    recent: int = 5  # mean of the last few squares, cut as those of σ² are
    settling: int = 6  # rounds judged in which σ² may not lag behind it, after a jump


class Issue(NamedTuple):
    """Columns of `issued`."""

    poly: int = 0  # pm
    first: int = 1  # f
    stacked: int = 2  # g
    pair: int = 3  # ML-Poly's forecast of the second aggregation
    forecast: int = 4  # F


class Rule(NamedTuple):
    """What keeps single rounds from counting for too much."""

    most: float  # the most that a round adds to a regret
    slack: float  # how much worse than the aggregate an expert may be and be credited whole
    # losses that experts begin with, where the naive forecast, of the season if there is one, has 0
    last: float = 0.0  # the last value, beside a season
    others: float = 0.0


class Knots(NamedTuple):
    """Aggregations of one series."""

    rule: Rule
    horizons: np.ndarray  # (knots,) ints, increasing from 1
    lower: np.ndarray  # (H,) ints: the knot at or below each horizon
    fraction: np.ndarray  # (H,): how far it lies on the way to the next one
    experts: np.ndarray  # (knots, 5, K), see Row
    pair: np.ndarray  # (knots, 5, 2)
    scalars: np.ndarray  # (knots, 7), see Scalar
    stack: np.ndarray  # (knots, K + 1): θ, of the constant last
    spread: np.ndarray  # (knots, K + 1, K + 1): its covariance
    waiting: np.ndarray  # (slots + 1, knots, K): p as issued; the last slot is of the coming round
    issued: np.ndarray  # (slots + 1, knots, 5), see Issue


ROW, AT, ISSUE = Row(), Scalar(), Issue()


@njit(cache=True)
def weigh(table: np.ndarray, record: float, seen: float) -> None:
    """Fill the rows of weights."""
    K, total, least, mass = table.shape[1], 0.0, np.inf, 0.0
    for i in range(K):
        w = 0.0
        if table[ROW.regret, i] > 0.0:
            w = table[ROW.regret, i] / (record + table[ROW.squares, i])
        table[ROW.poly, i] = w
        total += w
        least = min(least, table[ROW.loss, i])
    for i in range(K):
        table[ROW.blend, i] = math.exp(-RATE * (table[ROW.loss, i] - least))
        mass += table[ROW.blend, i]
    early = WARM / (WARM + seen)
    for i in range(K):
        w = table[ROW.poly, i] / total if total > 0.0 else 1.0 / K
        table[ROW.poly, i] = w
        table[ROW.blend, i] = (1.0 - early) * w + early * table[ROW.blend, i] / mass


@njit(cache=True)
def stacked(first: float, p: np.ndarray, theta: np.ndarray, sd: float) -> float:
    """g, from f, the experts and θ."""
    K = p.size
    more = theta[K] * sd
    for i in range(K):
        more += theta[i] * min(max(p[i] - first, -STEEP * sd), STEEP * sd)
    return float(first + min(max(more, -REACH * sd), REACH * sd))


@njit(cache=True)
def combine(k: int, slot: int, a: Knots) -> None:
    """Make the forecasts of knot k from those of the experts that stand in this slot."""
    p, out = a.waiting[slot, k], a.issued[slot, k]
    f = dot(a.experts[k, ROW.blend], p)
    g = stacked(f, p, a.stack[k], math.sqrt(a.scalars[k, AT.variance]))
    pair = a.pair[k]
    out[ISSUE.poly], out[ISSUE.first], out[ISSUE.stacked] = dot(a.experts[k, ROW.poly], p), f, g
    out[ISSUE.pair] = pair[ROW.poly, 0] * f + pair[ROW.poly, 1] * g
    out[ISSUE.forecast] = pair[ROW.blend, 0] * f + pair[ROW.blend, 1] * g


@njit(cache=True)
def between(h: int, p: np.ndarray, a: Knots, w: np.ndarray, theta: np.ndarray) -> float:
    """The forecast of horizon h from the experts' p, weights interpolated between its knots.

    At a knot it is that of `combine`, bit for bit. w and theta are room to work in.
    """
    k, part = a.lower[h - 1], a.fraction[h - 1]
    after, K = min(k + 1, a.horizons.size - 1), p.size
    if part == 0.0:
        after = k
    for i in range(K):
        w[i] = (1.0 - part) * a.experts[k, ROW.blend, i] + part * a.experts[after, ROW.blend, i]
    for i in range(K + 1):
        theta[i] = (1.0 - part) * a.stack[k, i] + part * a.stack[after, i]
    sd = (1.0 - part) * math.sqrt(a.scalars[k, AT.variance]) + part * math.sqrt(
        a.scalars[after, AT.variance]
    )
    one = (1.0 - part) * a.pair[k, ROW.blend, 0] + part * a.pair[after, ROW.blend, 0]
    two = (1.0 - part) * a.pair[k, ROW.blend, 1] + part * a.pair[after, ROW.blend, 1]
    f = dot(w[:K], p)
    return float(one * f + two * stacked(f, p, theta[: K + 1], sd))


@njit(cache=True)
def credit(
    table: np.ndarray, record: float, poly: float, p: np.ndarray, y: float, scale: float, rule: Rule
) -> float:
    """Add regrets against pm, and losses, in units of the error variance 1/scale; returns B.

    A round counts for `rule.most` at most, and an expert that did worse than the aggregate by more
    than `rule.slack` is credited with less, down to nothing: what is added lies between the true
    regret and the linear one, so the guarantee stands.
    """
    steep, least, far = 2.0 * (poly - y) * scale, 1e-9 / math.sqrt(scale), 0.0
    for i in range(p.size):
        far = max(far, abs(steep * (poly - p[i])))
    share = rule.most / far if far > rule.most else 1.0
    own = (poly - y) ** 2 * scale
    for i in range(p.size):
        d = poly - p[i]
        if abs(d) < least:  # experts that agree up to rounding
            d = 0.0
        r, loss = steep * d * share, (y - p[i]) ** 2 * scale
        if r > 0.0:
            r = max(r - max((loss - own) * share - rule.slack, 0.0), 0.0)
        table[ROW.regret, i] += r
        table[ROW.squares, i] += r * r
        record = max(record, r * r)
        table[ROW.loss, i] = (1.0 - FADE) * table[ROW.loss, i] + loss
    return record


@njit(cache=True)
def unit_of(square: float, s: np.ndarray) -> float:
    """Add a squared error to σ², and return what this round is to be counted in."""
    s[AT.memory] = (1.0 - 1.0 / MEMORY) * s[AT.memory] + 1.0
    counted = square
    if s[AT.memory] >= 11.0 and s[AT.variance] > 0.0:
        counted = min(square, CAP * s[AT.variance])
    s[AT.variance] += (counted - s[AT.variance]) / s[AT.memory]
    s[AT.recent] += (counted - s[AT.recent]) / min(s[AT.memory], RECENT)
    if s[AT.settling] > 0.0:
        s[AT.settling] -= 1.0
        s[AT.variance] = min(s[AT.variance], SLACK * s[AT.recent])
    return float(max(s[AT.variance], square / CAP))


@njit(cache=True)
def judge(
    k: int, slot: int, y: float, width: float, a: Knots, z: np.ndarray, g: np.ndarray
) -> None:
    """Knot k learns from the value of what stands in this slot; width is the range of values."""
    s, out, p = a.scalars[k], a.issued[slot, k], a.waiting[slot, k]
    square = (y - out[ISSUE.forecast]) ** 2
    unit = unit_of(square, s)
    if unit <= max((1e-13 * width) ** 2, (1e-14 * y) ** 2, TINY):
        return  # rounding: nothing to learn from
    scale = 1.0 / unit
    s[AT.record] = credit(a.experts[k], s[AT.record], out[ISSUE.poly], p, y, scale, a.rule)
    f, K = out[ISSUE.first], p.size
    z[0], z[1] = f, out[ISSUE.stacked]
    s[AT.pair_record] = credit(
        a.pair[k], s[AT.pair_record], out[ISSUE.pair], z[:2], y, scale, a.rule
    )
    regress(y, f, p, math.sqrt(s[AT.variance]), a.stack[k], a.spread[k], z[: K + 1], g[: K + 1])
    s[AT.seen] += 1.0
    weigh(a.experts[k], s[AT.record], s[AT.seen])
    weigh(a.pair[k], s[AT.pair_record], s[AT.seen])


@njit(cache=True)
def regress(
    y: float,
    f: float,
    p: np.ndarray,
    sd: float,
    theta: np.ndarray,
    C: np.ndarray,
    z: np.ndarray,
    g: np.ndarray,
) -> None:
    """θ learns y − f from p − f, in error deviations."""
    K = p.size
    for i in range(K):
        z[i] = min(max((p[i] - f) / sd, -STEEP), STEEP)
    z[K] = 1.0
    target = min(max((y - f) / sd, -STEEP), STEEP)
    S = times(C, z, g) + 1.0
    error = (target - dot(theta, z)) / S
    for i in range(K + 1):
        theta[i] += g[i] * error
    absorb(C, g, S, 1.0)
    for i in range(K + 1):
        C[i, i] += WANDER

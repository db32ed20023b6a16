"""An ageing bank of filters that guess where the target is, compiled.

Near the target a gradient says where it is: E g = (w − u)√r/σ with r = E‖g‖², so that
z = w − σg/√r is an observation of u, with noise of size σ, whatever was played. A filter is linear
in σ: the averages a of g/√r and b of w serve all scales σ_i = σ_0·4^{−i} at once. It proposes
x = b − σ_i·a, and foretells the normalised gradient e = a + (w − b)/σ_i.

Filters of rates κ_k = 4^{−k}/2 follow a level, those with velocities also a trend. Each has a
weight for each scale, multiplied every round by the likelihood of the gradient that came; weights
pass on between filters in `_ageing.py`.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.array import Array
from stillpoint.core.jit import njit

LEVELS = 8  # filters of a level; trends at the rates of all but the two slowest
SCALES = 8
RATIO = 4.0  # of rates, and of scales
WIDEST = 2.0  # the largest scale is kept within a factor 4 of this times the radius
SLOW, BURST = 0.005, 100.0  # averaging of ‖g‖²; a gradient of ten times the usual size resets it
LEAST = 1e-250  # added to sums of weights that divide
_POWERS = RATIO ** np.arange(float(SCALES))
_FRACTIONS = 1.0 / _POWERS


def level_row(k: int) -> int:
    """The row of the level of rate κ_k; rows are in the order in which filters join."""
    return k if k < 2 else 2 * k - 2


def trend_row(k: int) -> int:
    """The row of the trend of rate κ_k, which joins with level k + 2."""
    return 2 * k + 3


def rows_of(levels: int) -> int:
    """How many filters there are once so many levels have joined."""
    return levels + trends_of(levels)


def trends_of(levels: int) -> int:
    """How many trends there are once so many levels have joined."""
    return max(levels - 2, 0)


MOST_ROWS = rows_of(LEVELS)
RATES = np.empty(MOST_ROWS)  # κ by row
for _k in range(LEVELS):
    RATES[level_row(_k)] = 0.5 * RATIO**-_k
for _k in range(trends_of(LEVELS)):
    RATES[trend_row(_k)] = 0.5 * RATIO**-_k


def level_due(levels: int) -> float:
    """The round before which one more level joins: level k after 1/κ_k rounds."""
    return 2.0 * RATIO**levels if levels < LEVELS else math.inf


class Places(NamedTuple):
    """Where the numbers of a bank stand in `Bank.numbers`."""

    rounds: int = 0  # n, with a gradient
    mean: int = 1  # r, the mean of ‖g‖²
    scale: int = 2  # σ_0, the largest
    jumps: int = 3  # so many seem to have been
    align: int = 4  # the mean of cos² of the angle between neighbouring gradients
    last: int = 5  # ‖g‖ of the round before
    law: int = 6  # from here on: weights by scale, at the last move


AT = Places()
NUMBERS = AT.law + SCALES


class Bank(NamedTuple):
    """What the bank has learnt, with n filters, m of them trends, in d dimensions."""

    numbers: Array  # (14,), at the places above
    filters: Array  # (n, 2, d): a and b of each
    velocities: Array  # (m, 2, d): of a and b of each trend
    beliefs: Array  # (n, 8): weights by scale


# ⟨g, a⟩, ⟨g, w − b⟩, ‖a‖², ⟨a, w − b⟩, ‖w − b‖²
Products = tuple[float, float, float, float, float]


@njit(cache=True, fastmath={"reassoc"})
def _pull_level(filter: Array, g: Array, w: Array, unit: float, rate: float) -> Products:
    """Move a and b towards unit·g and w; returns products as they were before."""
    a, b = filter[0], filter[1]
    ga = gd = aa = ad = dd = 0.0
    for j in range(g.size):
        p, q = a[j], w[j] - b[j]
        ga += g[j] * p
        gd += g[j] * q
        aa += p * p
        ad += p * q
        dd += q * q
        a[j] = p + rate * (unit * g[j] - p)
        b[j] += rate * q
    return ga, gd, aa, ad, dd


@njit(cache=True, fastmath={"reassoc"})
def _pull_trend(
    filter: Array, velocity: Array, g: Array, w: Array, unit: float, rate: float
) -> Products:
    """`_pull_level` of a filter whose a and b have velocities."""
    a, b, va, vb = filter[0], filter[1], velocity[0], velocity[1]
    ga = gd = aa = ad = dd = 0.0
    for j in range(g.size):
        p, q = a[j], w[j] - b[j]
        gd += g[j] * q
        ad += p * q
        dd += q * q
        vb[j] += 0.5 * rate * rate * q
        b[j] += rate * q + vb[j]
    for j in range(g.size):  # apart, or there are too many arrays to vectorise
        p, q = a[j], unit * g[j] - a[j]
        ga += g[j] * p
        aa += p * p
        va[j] += 0.5 * rate * rate * q
        a[j] = p + rate * q + va[j]
    return ga, gd, aa, ad, dd


@njit(cache=True, error_model="numpy", fastmath={"reassoc"})
def _weigh(
    row: Array, products: Products, over: float, unit: float, strength: float
) -> tuple[float, float]:
    """Multiply weights by about exp(s(⟨G, e⟩ − ‖e‖²/2)), e cut to the unit ball, G = g·unit.

    over: 1/σ_0. Returns the sum of the weights, and the same with each times its σ_i/σ_0.
    """
    ga, gd, aa, ad, dd = products
    mass = spread = 0.0
    for i in range(row.size):  # not SCALES: a loop of known length is unrolled, not vectorised
        inverse = over * _POWERS[i]
        square = aa + (2.0 * ad + dd * inverse) * inverse
        cut = 1.0 / math.sqrt(square if square > 1.0 else 1.0)
        v = strength * cut * (unit * (ga + gd * inverse) - 0.5 * cut * square)
        v = row[i] * _likelihood(v)
        row[i] = v
        mass += v
        spread += v * _FRACTIONS[i]
    return mass, spread


@njit(cache=True, error_model="numpy", fastmath={"reassoc"})
def _weigh_number(row: Array, a: float, away: float, over: float, g: float) -> tuple[float, float]:
    """`_weigh` in one dimension; away: w − b, g: the normalised gradient."""
    mass = spread = 0.0
    for i in range(row.size):
        e = a + away * (over * _POWERS[i])
        e = e if e > -1.0 else -1.0
        e = e if e < 1.0 else 1.0
        v = row[i] * _likelihood(e * (g - 0.5 * e))
        row[i] = v
        mass += v
        spread += v * _FRACTIONS[i]
    return mass, spread


@njit(cache=True, forceinline=True)
def _likelihood(v: float) -> float:
    """About exp(v), for v cut to [−6, 4]."""
    v = v if v > -6.0 else -6.0
    v = v if v < 4.0 else 4.0
    v = 1.0 + 0.125 * v
    v *= v
    v *= v
    return v * v


@njit(cache=True)
def _strength(bank: Bank, g: Array, size: float, last: Array) -> float:
    """The effective dimension of the gradients' noise, from the angle between neighbours."""
    numbers = bank.numbers
    if g.size == 1:
        return 1.0
    before = numbers[AT.last]
    numbers[AT.last] = size
    inner = 0.0
    for j in range(g.size):
        inner += g[j] * last[j]
        last[j] = g[j]
    if before == 0.0:
        return 1.0
    cosine = inner / before / size
    numbers[AT.align] += max(0.01, 1.0 / numbers[AT.rounds]) * (cosine * cosine - numbers[AT.align])
    return float(min(max(1.0 / max(numbers[AT.align], 1e-9), 1.0), g.size))


@njit(cache=True, error_model="numpy")
def follow(bank: Bank, w: Array, g: Array, size: float, last: Array, x: Array) -> None:
    """Learn from the gradient g ≠ 0, of norm `size`, met at the play w; x receives the proposal."""
    numbers = bank.numbers
    numbers[AT.rounds] += 1.0
    n, square = numbers[AT.rounds], size * size
    if n == 1.0:
        numbers[AT.mean] = square
    elif square > BURST * numbers[AT.mean]:
        numbers[AT.mean] = square / BURST
    unit = 1.0 / math.sqrt(numbers[AT.mean])
    if g.size == 1:
        x[0] = _follow_number(bank, w[0], unit * g[0])
    else:
        _follow_vector(bank, w, g, unit, _strength(bank, g, size, last), x)
    numbers[AT.mean] += max(SLOW, 1.0 / n) * (square - numbers[AT.mean])


@njit(cache=True, error_model="numpy")
def _follow_number(bank: Bank, w: float, g: float) -> float:
    """Weigh filters by the normalised gradient, move them, and return their mean proposal."""
    numbers, filters, velocities, beliefs = bank
    scale, x, total = numbers[AT.scale], 0.0, 0.0
    for f in range(beliefs.shape[0]):
        a, b, rate, row = filters[f, 0, 0], filters[f, 1, 0], RATES[f], beliefs[f]
        p, q = _weigh_number(row, a, w - b, 1.0 / scale, g)
        ra, rb = g - a, w - b
        a += rate * ra
        b += rate * rb
        if f >= 3 and f % 2 == 1:  # a trend
            v = velocities[f // 2 - 1]
            v[0, 0] += 0.5 * rate * rate * ra
            v[1, 0] += 0.5 * rate * rate * rb
            a += v[0, 0]
            b += v[1, 0]
        filters[f, 0, 0], filters[f, 1, 0] = a, b
        total += p
        x += p * b - scale * q * a
    return x / max(total, LEAST)


@njit(cache=True, error_model="numpy")
def _follow_vector(bank: Bank, w: Array, g: Array, unit: float, strength: float, x: Array) -> None:
    """As `_follow_number`, for vectors; x receives the mean proposal."""
    numbers, filters, velocities, beliefs = bank
    scale, total = numbers[AT.scale], 0.0
    for j in range(x.size):
        x[j] = 0.0
    for f in range(beliefs.shape[0]):
        a, b, rate, row = filters[f, 0], filters[f, 1], RATES[f], beliefs[f]
        if f >= 3 and f % 2 == 1:
            found = _pull_trend(filters[f], velocities[f // 2 - 1], g, w, unit, rate)
        else:
            found = _pull_level(filters[f], g, w, unit, rate)
        p, q = _weigh(row, found, 1.0 / scale, unit, strength)
        q *= scale
        total += p
        for j in range(x.size):
            x[j] += p * b[j] - q * a[j]
    over = 1.0 / max(total, LEAST)
    for j in range(x.size):
        x[j] *= over

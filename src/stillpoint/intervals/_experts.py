"""One quantile tracked (TRACKING sections 3 and 4): nine experts, their aggregate under the pinball
loss, and the guard.

A lane is experts (6, 9), books (3, 9), weights (2, 9) and scalars (12). Books, weights and the
first ten scalars are laid out as in filters/tracking, whose aggregation is used.
"""

import math

import numpy as np

from stillpoint.core.jit import njit
from stillpoint.forecasters._tracking import (
    BLEND,
    CAP,
    FORECAST,
    FORGET,
    HIGH,
    LEARNED,
    LOSS,
    LOW,
    MEMORY,
    NOISE,
    ORIGIN,
    POLY,
    POOLED,
    REGRET,
    SEEN,
    SQUARED,
    TOP,
    grown,
    weigh,
)
from stillpoint.losses._pointwise import PINBALL, value

# rows of `experts`; a radius has no centre
CENTRE, SCALE, MULTIPLE, COUNT, VALUE, CLIPPED = range(6)
# scalars beyond those of filters/tracking: misses; the first score above 0, or how far a quantile's
# start has come
MISSES, START = 10, 11
SCALARS = 12
# a quantile's start: nothing seen; one value, over and over; two values
UNSEEN, LEVEL, SPREAD = 0.0, 1.0, 2.0

MEMORIES = np.array([2.0, 5.0, 15.0, 50.0, 200.0, 1000.0])
# least step of each expert: those with a scale, those that see signs only
STEPS = np.array([0.02] * 6 + [0.02, 0.06, 0.2])
SIGNED = np.array([0.04] * 6 + [0.05, 0.15, 0.5])  # the same for quantiles
SCALED, EXPERTS, MIDDLE = 6, 9, 3  # the expert with memory 50 gives the unit of a quantile's steps
WINSOR = 30.0
PUSH, WIDTH, HEAD = 0.1, 3.0, 100.0  # the guard's KAP, CG and T0
# of the guard's exponent: past it TRACKING's grows without limit, to radii of 1e100 that are finite
# and of no use
MOST = 2.0
# how far from the aggregate experts are heard, in mean losses over the rarer side's share
REACH = 3.0
TINY = 1e-250  # scores between 0 and this count as this: products of smaller ones are not floats
DIGITS = 1e-40  # nor are scales this far below the largest score: from 0 they could not grow again
SPAN = 690.0  # of the logarithm of a sign expert's multiple
MARGIN = 3.0  # and of a scale expert's, beyond where a steady stream can put it
STRETCH = 30.0  # the same for quantiles, over the rarer side's share
# scores that a radius needs at least, and as far as it is widened for their being few
LEAST, FEW = 2.0, 20.0
MEAN = 0.7979  # E|z| of a standard normal z: a lane begins as if its scores were those of one


@njit(cache=True)
def pool(
    q: float, experts: np.ndarray, books: np.ndarray, scalars: np.ndarray, weights: np.ndarray
) -> None:
    """Aggregate the experts' values: ML-Poly, and its blend with exponential weights.

    Experts are heard within REACH of the aggregate. After a fall of the scale slow experts are off
    by any factor: their regrets would say nothing else for ever. The regrets stay those of the
    values that were aggregated, so Σ w r = 0 holds.
    """
    weigh(books, scalars, weights)
    if scalars[NOISE] > 0.0:
        middle, reach = 0.0, REACH / min(q, 1.0 - q) * scalars[NOISE]
        for i in range(EXPERTS):
            middle += weights[POLY, i] * experts[CLIPPED, i]
        for i in range(EXPERTS):
            experts[CLIPPED, i] = min(max(experts[CLIPPED, i], middle - reach), middle + reach)
    scalars[POOLED] = scalars[FORECAST] = 0.0
    for i in range(EXPERTS):
        scalars[POOLED] += weights[POLY, i] * experts[CLIPPED, i]
        scalars[FORECAST] += weights[BLEND, i] * experts[CLIPPED, i]


@njit(cache=True)
def credit(y: float, q: float, experts: np.ndarray, books: np.ndarray, scalars: np.ndarray) -> None:
    """Regrets and losses of a round in units of the running pinball loss: r_i = g(pm)(pm −
    p_i)/unit.
    """
    loss = value(PINBALL, q, scalars[FORECAST], y)
    scalars[MEMORY] = (1.0 - FORGET) * scalars[MEMORY] + 1.0
    scalars[NOISE] = grown(scalars[NOISE], loss, scalars[MEMORY])
    unit = max(scalars[NOISE], loss / CAP, DIGITS * (scalars[HIGH] - scalars[LOW]))
    slope = (1.0 - q) if scalars[POOLED] >= y else -q
    for i in range(EXPERTS):
        regret = slope * ((scalars[POOLED] - experts[CLIPPED, i]) / unit)
        books[REGRET, i] += regret
        books[SQUARED, i] += regret * regret
        books[LOSS, i] += value(PINBALL, q, experts[CLIPPED, i], y) / unit
        scalars[TOP] = max(scalars[TOP], regret * regret)


@njit(cache=True)
def debt(q: float, scalars: np.ndarray) -> float:
    """x = D/h: misses beyond their share so far, D = misses − (1 − q)t, over h(t) = 3√(q(1 − q)(t +
    100)).
    """
    t = scalars[SEEN]
    return float(
        (scalars[MISSES] - (1.0 - q) * t) / (WIDTH * math.sqrt(q * (1.0 - q) * (t + HEAD)))
    )


@njit(cache=True)
def push(x: float) -> float:
    """How hard the guard pushes outward, 0.1·x/(1 − x²) for |x| < 1."""
    return min(max(PUSH * x / (1.0 - x * x), -MOST), MOST)


@njit(cache=True)
def widening(z: float, scores: float) -> float:
    """How many times as wide an interval from few scores is: t_n/z, Student's quantile over the
    normal one, n = scores.

    By Wallace (1959), t_n ≈ √(n·(exp((bz)²/n) − 1)) with b = (8n + 3)/(8n + 1): from n = 2 on
    within 2% at a coverage of 90%.
    """
    b = (8.0 * scores + 3.0) / (8.0 * scores + 1.0)
    return math.sqrt(scores * math.expm1((b * z) ** 2 / scores)) / z


@njit(cache=True)
def radius(
    q: float,
    first: float,
    empty: bool,
    experts: np.ndarray,
    books: np.ndarray,
    scalars: np.ndarray,
    weights: np.ndarray,
) -> float:
    """Open a round of a lane of scores: the guarded radius; ∞ for everything, −∞ for the empty set.

    The first score does not count: it is that of a forecaster that may have seen nothing.
    """
    if scalars[START] > 0.0:
        for i in range(EXPERTS):
            scale = experts[SCALE, i] if i < SCALED else scalars[START]
            experts[VALUE, i] = math.exp(experts[MULTIPLE, i]) * scale
            experts[CLIPPED, i] = min(experts[VALUE, i], 2.0 * scalars[HIGH])
        pool(q, experts, books, scalars, weights)
    x, known = debt(q, scalars), scalars[SEEN] - 1.0
    if x >= 1.0 or known < LEAST:
        return math.inf
    if x <= -1.0:
        return -math.inf if empty else 0.0
    wider = widening(MEAN * math.exp(first), known) if known <= FEW else 1.0
    return float(scalars[FORECAST] * (math.exp(push(x)) * wider))


@njit(cache=True)
def learn_score(
    s: float, q: float, first: float, experts: np.ndarray, books: np.ndarray, scalars: np.ndarray
) -> None:
    """Close a round of a lane of scores; `first` is the logarithm of the multiple to begin with,
    m₀.
    """
    if 0.0 < s < TINY:
        s = TINY
    if scalars[START] == 0.0:
        if s > 0.0:
            scalars[START] = scalars[HIGH] = s
            for i in range(EXPERTS):
                experts[SCALE, i], experts[COUNT, i], experts[MULTIPLE, i] = s, 1.0, first
        return
    credit(s, q, experts, books, scalars)
    scalars[HIGH] = max(scalars[HIGH], s)
    rare = min(q, 1.0 - q)
    early = 1.0 / (3.0 * (1.0 + rare * scalars[LEARNED]))
    scalars[LEARNED] += 1.0
    # By Markov's inequality a quantile is at most mean/(1 − q); where it is far below the mean,
    # little is lost by playing a twentieth of m₀ means. Without limits a run of zeros would wind
    # the multiple down for as long as it lasts, and what counts as an outlier, WINSOR·p, with it.
    least, most = first - MARGIN, MARGIN - math.log(rare)
    for i in range(EXPERTS):
        p = experts[VALUE, i]
        multiple = experts[MULTIPLE, i] - max(early, STEPS[i]) * ((1.0 - q) if p >= s else -q)
        if i >= SCALED:
            experts[MULTIPLE, i] = min(max(multiple, -SPAN), SPAN)
            continue
        experts[MULTIPLE, i] = min(max(multiple, least), most)
        experts[COUNT, i] = (1.0 - 1.0 / MEMORIES[i]) * experts[COUNT, i] + 1.0
        counted = min(s, WINSOR * max(p, experts[SCALE, i]))
        scale = experts[SCALE, i] + (counted - experts[SCALE, i]) / experts[COUNT, i]
        experts[SCALE, i] = max(scale, DIGITS * scalars[HIGH])


@njit(cache=True)
def quantile(
    q: float, experts: np.ndarray, books: np.ndarray, scalars: np.ndarray, weights: np.ndarray
) -> float:
    """Open a round of a lane of values: the guarded quantile. Unguarded it is ORIGIN + FORECAST."""
    if scalars[START] == SPREAD:
        reach = scalars[HIGH] - scalars[LOW]
        for i in range(EXPERTS):
            experts[VALUE, i] = experts[CENTRE, i]
            if i < SCALED:
                experts[VALUE, i] += experts[MULTIPLE, i] * experts[SCALE, i]
            experts[CLIPPED, i] = min(
                max(experts[VALUE, i], scalars[LOW] - reach), scalars[HIGH] + reach
            )
        pool(q, experts, books, scalars, weights)
    x = debt(q, scalars)
    if x >= 1.0:
        return math.inf
    if x <= -1.0:
        return -math.inf
    return float(scalars[ORIGIN] + (scalars[FORECAST] + 2.0 * push(x) * experts[SCALE, MIDDLE]))


@njit(cache=True)
def learn_value(
    y: float, q: float, first: float, experts: np.ndarray, books: np.ndarray, scalars: np.ndarray
) -> None:
    """Close a round of a lane of values; `first` is the multiple to begin with. Values count from
    the first one.
    """
    if scalars[START] == UNSEEN:
        scalars[ORIGIN], scalars[START] = y, LEVEL
        return
    y -= scalars[ORIGIN]
    if scalars[START] == LEVEL:
        if y != 0.0:
            y = math.copysign(max(abs(y), TINY), y)
            scalars[START], scalars[LOW], scalars[HIGH] = SPREAD, min(y, 0.0), max(y, 0.0)
            for i in range(EXPERTS):  # two values: their mean, and how far they are from it
                experts[CENTRE, i], experts[SCALE, i], experts[COUNT, i], experts[MULTIPLE, i] = (
                    0.5 * y,
                    0.5 * abs(y),
                    2.0,
                    first,
                )
                if i >= SCALED:
                    experts[CENTRE, i] += first * experts[SCALE, i]
        return
    credit(y, q, experts, books, scalars)
    scalars[LOW], scalars[HIGH] = min(scalars[LOW], y), max(scalars[HIGH], y)
    rare = min(q, 1.0 - q)
    early = 2.0 / (3.0 * (1.0 + rare * scalars[LEARNED]))
    scalars[LEARNED] += 1.0
    unit = experts[SCALE, MIDDLE]
    for i in range(EXPERTS):
        move = max(early, SIGNED[i]) * ((1.0 - q) if experts[VALUE, i] >= y else -q)
        if i >= SCALED:
            experts[CENTRE, i] -= move * unit
            continue
        experts[MULTIPLE, i] = min(
            max(experts[MULTIPLE, i] - move, -STRETCH / rare), STRETCH / rare
        )
        experts[COUNT, i] = (1.0 - 1.0 / MEMORIES[i]) * experts[COUNT, i] + 1.0
        limit = WINSOR * experts[SCALE, i]
        gap = min(max(y - experts[CENTRE, i], -limit), limit)
        experts[CENTRE, i] += gap / experts[COUNT, i]
        scale = experts[SCALE, i] + (abs(gap) - experts[SCALE, i]) / experts[COUNT, i]
        experts[SCALE, i] = max(scale, DIGITS * (scalars[HIGH] - scalars[LOW]))

"""The rounds of VariationForecaster: a mixture of means and filters over their starts, and
specialists that insure it.

Rounds are counted where y was seen. Means stand by level: those of age a, the rounds learnt from,
at level ⌊log₂ a⌋, the KEPT heaviest of them. Filters stand by class, one each. The specialists
awake in round s are the binary prefixes of s: s with its low bits cleared one by one.
"""

import math

import numpy as np

from stillpoint.core.jit import njit
from stillpoint.forecasters._aggregation import VOVK, combine

LEVELS = 50  # 2^50 rounds
KEPT = 2  # means a level
# a newborn gets (HAZARD + PACE × changes so far)/(t + 1); what a mean leaves to a filter
HAZARD, PACE, SPLIT = 0.1, 0.35, 0.1
PULL = 0.5  # how many observations the mixture's forecast counts for in a newborn
# rounds that the local noise level is a mean over; where losses, in noise levels, turn linear
MEMORY, STEEP = 100.0, 3.0
LEAST = 1e-200  # weights do not fall below
INSURANCE = 0.01  # prior weight of all specialists together
TOTAL = 2.109743  # at least Σ_{r ≥ 1} 1/((r + 1) ln²(r + 1))

# fields of a mean; CHANGES: expected in its line up to its start
MEAN, SIZE, WEIGHT, CHANGES, BORN, SINCE = 0, 1, 2, 3, 4, 5
RIDGE = 4  # of a filter, in place of BORN
CREDIT = 2  # of a specialist: MEAN, SIZE, CREDIT
# places in the vector of scalars c
TIME, ROUNDS, SEEN, OPEN, FORECAST, MIXTURE, LAST, TOP = 0, 1, 2, 3, 4, 5, 6, 7
OVERALL, LOCAL, LOW, HIGH, OWN, RANGE_COST, FIRST_LOSS, ALIVE, MIDDLE, CHANGED = (
    8,
    9,
    10,
    11,
    12,
    13,
    14,
    15,
    16,
    17,
)
SCALARS = 18


@njit(cache=True)
def log_prior(r: float, level: int) -> float:
    """ln π of the specialist that starts at round r·2^level: π ∝ 1/((r + 1) ln²(r + 1)) · 1/((level
    + 1)(level + 2)).
    """
    part = math.log(r + 1.0)
    return (
        -math.log(TOTAL / INSURANCE)
        - part
        - 2.0 * math.log(part)
        - math.log((level + 1.0) * (level + 2.0))
    )


@njit(cache=True)
def mixture(means: np.ndarray, filters: np.ndarray, counts: np.ndarray, c: np.ndarray) -> float:
    """The mean of all forecasts under their weights, and of the changes behind them."""
    total, value, changes = 0.0, 0.0, 0.0
    for level in range(int(c[TOP]) + 1):
        for i in range(counts[level]):
            w = means[level, i, WEIGHT]
            total += w
            value += w * (means[level, i, MEAN] - c[LOW])
            changes += w * means[level, i, CHANGES]
        w = filters[level, WEIGHT]
        total += w
        value += w * (filters[level, MEAN] - c[LOW])
        changes += w * filters[level, CHANGES]
    c[CHANGED] = changes / total if total > 0.0 else -1.0
    return c[LOW] + value / total if total > 0.0 else 0.0


@njit(cache=True)
def begin(
    time: float,
    means: np.ndarray,
    filters: np.ndarray,
    counts: np.ndarray,
    specialists: np.ndarray,
    c: np.ndarray,
    p: np.ndarray,
    R: np.ndarray,
    V: np.ndarray,
    s: np.ndarray,
    w: np.ndarray,
) -> float:
    """Open a round at this time; p, R, V, s, w are what `combine` asks for, p[0] and w[0] the
    mixture's.
    """
    c[TIME], c[OPEN] = time, 1.0
    c[MIXTURE] = min(max(mixture(means, filters, counts, c), c[LOW]), c[HIGH])
    half = 0.5 * (c[HIGH] - c[LOW])
    middle = c[LOW] + half
    p[0], R[0], alive = c[MIXTURE] - middle, c[OWN] + half * half * math.log1p(-INSURANCE), 1
    coming = int(c[SEEN]) + 1
    level, prefix = 0, coming
    while prefix > 0:
        if prefix % 2 == 1:
            fresh = prefix << level == coming  # it starts now, at the mixture's forecast
            p[alive] = p[0] if fresh else specialists[level, MEAN] - middle
            R[alive] = half * half * log_prior(float(prefix), level) + (
                0.0 if fresh else specialists[level, CREDIT]
            )
            alive += 1
        prefix //= 2
        level += 1
    c[ALIVE], c[MIDDLE], s[0] = alive, middle, half
    c[FORECAST] = middle + combine(VOVK, p[:alive], R, V, s, w)
    return float(c[FORECAST])


@njit(cache=True)
def credit(y: float, specialists: np.ndarray, c: np.ndarray, p: np.ndarray) -> None:
    """Mixture and specialists are credited with what they would have saved; the specialists take in
    y; the range widens.
    """
    f, target = c[FORECAST] - c[MIDDLE], min(max(y, c[LOW]), c[HIGH]) - c[MIDDLE]
    coming = int(c[SEEN]) + 1
    c[OWN] += (f - p[0]) * (0.5 * (f + p[0]) - target)
    level, prefix, i = 0, coming, 0
    while prefix > 0:
        if prefix % 2 == 1:
            i += 1
            if prefix << level == coming:
                specialists[level, MEAN], specialists[level, CREDIT] = c[MIXTURE], 0.0
                specialists[level, SIZE] = 1.0 if coming > 1 else 0.0
            specialists[level, CREDIT] += (f - p[i]) * (0.5 * (f + p[i]) - target)
            specialists[level, SIZE] += 1.0
            specialists[level, MEAN] += (y - specialists[level, MEAN]) / specialists[level, SIZE]
        prefix //= 2
        level += 1
    if coming == 1:
        c[LOW], c[HIGH], c[FIRST_LOSS] = y, y, 0.5 * y * y
    elif y > c[HIGH]:
        c[RANGE_COST] += (c[HIGH] - c[LOW]) * (y - c[HIGH])
        c[HIGH] = y
    elif y < c[LOW]:
        c[RANGE_COST] += (c[HIGH] - c[LOW]) * (c[LOW] - y)
        c[LOW] = y


@njit(cache=True)
def cost(distance: float) -> float:
    """Huber's loss of a distance in noise levels: an outlier says little about who is right."""
    x = abs(distance)
    return x * x if x <= STEEP else STEEP * (2.0 * x - STEEP)


@njit(cache=True)
def judge(
    y: float,
    noise: float,
    means: np.ndarray,
    filters: np.ndarray,
    counts: np.ndarray,
    c: np.ndarray,
) -> None:
    """Weights times the likelihood of y."""
    levels, best = int(c[TOP]) + 1, math.inf
    for level in range(levels):
        for i in range(counts[level]):
            best = min(best, abs(y - means[level, i, MEAN]))
        if filters[level, WEIGHT] > 0.0:
            best = min(best, abs(y - filters[level, MEAN]))
    least = cost(best / noise)
    for level in range(levels):
        for i in range(counts[level]):
            likely = math.exp(0.5 * (least - cost((y - means[level, i, MEAN]) / noise)))
            means[level, i, WEIGHT] = max(means[level, i, WEIGHT] * likely, LEAST)
        if filters[level, WEIGHT] > 0.0:
            likely = math.exp(0.5 * (least - cost((y - filters[level, MEAN]) / noise)))
            filters[level, WEIGHT] = max(filters[level, WEIGHT] * likely, LEAST)


@njit(cache=True)
def hand(giver: np.ndarray, taker: np.ndarray, part: float) -> None:
    """Hand over part of a weight, and its changes with it."""
    given = part * giver[WEIGHT]
    giver[WEIGHT] -= given
    taker[WEIGHT] += given
    taker[CHANGES] += given / taker[WEIGHT] * (giver[CHANGES] - taker[CHANGES])


@njit(cache=True)
def copy(source: np.ndarray, target: np.ndarray) -> None:
    """One mean's fields; a loop compiles faster than an assignment of arrays."""
    for field in range(source.size):
        target[field] = source[field]


@njit(cache=True)
def promote(
    level: int, means: np.ndarray, filters: np.ndarray, counts: np.ndarray, c: np.ndarray
) -> None:
    """The oldest of a level moves up, leaving a filter whose window is its age; of too many means
    the lightest is dropped.
    """
    up, last = level + 1, counts[level + 1]
    copy(means[level, 0], means[up, last])
    counts[up] += 1
    counts[level] -= 1
    for i in range(counts[level]):
        copy(means[level, i + 1], means[level, i])
    c[TOP] = max(c[TOP], up)
    if SPLIT * means[up, last, WEIGHT] > filters[up, WEIGHT]:
        filters[up, MEAN], filters[up, SIZE] = means[up, last, MEAN], means[up, last, SIZE]
        filters[up, RIDGE] = (c[SEEN] - means[up, last, BORN]) * (c[TIME] - means[up, last, SINCE])
    hand(means[up, last], filters[up], SPLIT)
    if counts[up] > KEPT:
        worst = 0
        for i in range(1, counts[up]):
            if means[up, i, WEIGHT] < means[up, worst, WEIGHT]:
                worst = i
        # to its neighbour in time
        hand(means[up, worst], means[up, worst - 1 if worst > 0 else 1], 1.0)
        counts[up] -= 1
        for i in range(worst, counts[up]):
            copy(means[up, i + 1], means[up, i])


@njit(cache=True)
def absorb(
    y: float, means: np.ndarray, filters: np.ndarray, counts: np.ndarray, c: np.ndarray
) -> None:
    """The mixture takes in y."""
    levels, total = int(c[TOP]) + 1, 0.0
    for level in range(levels):
        for i in range(counts[level]):
            total += means[level, i, WEIGHT]
        total += filters[level, WEIGHT]
    part = (HAZARD + PACE * c[CHANGED]) / (c[SEEN] + 2.0) if c[SEEN] > 0.0 else 1.0
    if total > 0.0:
        for level in range(levels):
            for i in range(counts[level]):
                means[level, i, WEIGHT] *= (1.0 - part) / total
            filters[level, WEIGHT] *= (1.0 - part) / total
    young = counts[0]
    counts[0] += 1
    means[0, young, MEAN], means[0, young, SIZE] = c[MIXTURE], PULL if c[SEEN] > 0.0 else 0.0
    means[0, young, WEIGHT], means[0, young, CHANGES] = part, c[CHANGED] + 1.0
    means[0, young, BORN], means[0, young, SINCE] = c[SEEN], c[TIME]
    residuals = c[SEEN] - 1.0  # the first round's is the level, not noise
    if residuals >= 2.0 and c[OVERALL] > 0.0:
        noise = math.sqrt(max(c[OVERALL], c[LOCAL]) * residuals / (residuals - 1.0))
        judge(y, noise, means, filters, counts, c)
    if c[SEEN] > 0.0:
        error = (y - c[MIXTURE]) ** 2
        c[OVERALL] += (error - c[OVERALL]) / (residuals + 1.0)
        c[LOCAL] += (error - c[LOCAL]) / min(residuals + 1.0, MEMORY)
    gap = c[TIME] - c[LAST]
    for level in range(levels):
        for i in range(counts[level]):
            means[level, i, SIZE] += 1.0
            means[level, i, MEAN] += (y - means[level, i, MEAN]) / means[level, i, SIZE]
        if filters[level, WEIGHT] > 0.0:
            old, ridge = filters[level, SIZE], filters[level, RIDGE]
            filters[level, SIZE] = 1.0 + (old / (1.0 + old * gap / ridge) if ridge > 0.0 else 0.0)
            filters[level, MEAN] += (y - filters[level, MEAN]) / filters[level, SIZE]
    if c[SEEN] == 0.0:
        # class 0 is the last value
        filters[0, MEAN], filters[0, SIZE], filters[0, RIDGE] = y, 1.0, 0.0
    hand(means[0, young], filters[0], SPLIT)
    c[SEEN] += 1.0
    for level in range(levels - 1, -1, -1):
        if counts[level] > 0 and c[SEEN] - means[level, 0, BORN] >= 2.0 ** (level + 1):
            promote(level, means, filters, counts, c)
    c[LAST] = c[TIME]


@njit(cache=True)
def finish(
    y: float,
    means: np.ndarray,
    filters: np.ndarray,
    counts: np.ndarray,
    specialists: np.ndarray,
    c: np.ndarray,
    p: np.ndarray,
) -> None:
    """Close the open round; y is NaN where it is missing."""
    if not math.isnan(y):
        credit(y, specialists, c, p)
        absorb(y, means, filters, counts, c)
    c[ROUNDS] += 1.0
    c[OPEN] = 0.0


@njit(cache=True)
def stream(
    y: np.ndarray,
    times: np.ndarray,
    out: np.ndarray,
    means: np.ndarray,
    filters: np.ndarray,
    counts: np.ndarray,
    specialists: np.ndarray,
    c: np.ndarray,
    p: np.ndarray,
    R: np.ndarray,
    V: np.ndarray,
    s: np.ndarray,
    w: np.ndarray,
) -> None:
    """Round after round, forecasts into out."""
    for t in range(y.size):
        out[t] = begin(times[t], means, filters, counts, specialists, c, p, R, V, s, w)
        finish(y[t], means, filters, counts, specialists, c, p)

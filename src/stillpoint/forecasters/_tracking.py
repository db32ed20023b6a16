"""What the tracking models share (TRACKING section 1): features standardised and rebased, drift,
the clock, ML-Poly's weights.
"""

import math

import numpy as np

# for those who take all limits of tracking from here
from stillpoint.beliefs._kalman import LIMIT as LIMIT
from stillpoint.core.jit import njit

# rows of `features`, one column a feature
MEAN, SQUARES, CENTRE, SCALE, COUNT = range(5)
# rows of `books`, one column a filter; ML-Poly's regrets and their squares, losses
REGRET, SQUARED, LOSS = range(3)
# rows of the weights
POLY, BLEND = range(2)
# entries of `scalars`
SEEN, LEARNED, TOP, NOISE, MEMORY, ORIGIN, LOW, HIGH, POOLED, FORECAST, UNIT = range(11)
# entries of `clock`: times of the first and of the last timed round, rounds from the one to the
# other, and those since without
FIRST, LAST, STEPS, PENDING = range(4)
# rows of `look`: a context in the coordinates of now, in those of its own round, and whether it
# would reset a feature
OLD, NEW, FRESH = range(3)

CLIP, RESET = 10.0, 100.0
FORGET, CAP, WARM, RATE = 0.01, 100.0, 300.0, 0.25
# of a gap, in mean gaps: the filters that drift have forgotten all by then, and beyond it digits
# would go
LONGEST = 1e4


@njit(cache=True)
def sound(x: np.ndarray, missing: bool) -> bool:
    """Whether all entries are within the limit, or NaN where that is allowed; what is wrong with
    them is told elsewhere.
    """
    good = True
    for value in x:
        good &= abs(value) <= LIMIT or (missing and math.isnan(value))
    return good


@njit(cache=True)
def grown(mean: float, seen: float, memory: float) -> float:
    """The running mean with one more value. Its growth is capped: one jump must not blind the
    aggregation for long.
    """
    # from 0, after constant targets, a capped mean could not rise
    if memory >= 11.0 and mean > 0.0:
        seen = min(seen, CAP * mean)
    return mean + (seen - mean) / memory


@njit(cache=True)
def rebase(
    i: int,
    mean: float,
    spread: float,
    prior: float,
    features: np.ndarray,
    M: np.ndarray,
    C: np.ndarray,
) -> None:
    """Give feature i a new origin and unit: the same posterior of the raw coefficient, in new
    coordinates.
    """
    ratio, shift = spread / features[SCALE, i], (mean - features[CENTRE, i]) / features[SCALE, i]
    last = M.shape[1] - 1
    features[CENTRE, i], features[SCALE, i] = mean, spread
    for k in range(M.shape[0]):
        if ratio > RESET:
            # What varied so far was rounding noise. Its shift is not passed on to the intercept: of
            # order ratio² in the covariance, it would cost the filter all its digits.
            M[k, i] = 0.0
            for j in range(last + 1):
                C[k, i, j] = C[k, j, i] = 0.0
            C[k, i, i] = prior
            continue
        M[k, last] += shift * M[k, i]
        M[k, i] *= ratio
        for j in range(last + 1):
            C[k, last, j] += shift * C[k, i, j]
        for j in range(last + 1):
            C[k, j, last] += shift * C[k, j, i]
        for j in range(last + 1):
            C[k, i, j] *= ratio
        for j in range(last + 1):
            C[k, j, i] *= ratio


@njit(cache=True)
def observe(value: float, i: int, features: np.ndarray) -> tuple[int, float, float]:
    """Count, mean and sum of squares of feature i with one more value."""
    seen = features[COUNT, i]
    number = int(seen) + 1
    before = math.sqrt(features[SQUARES, i] / seen) if seen >= 10.0 else 0.0
    if before > 0.0:  # a feature that starts late has no spread to be clipped to
        reach = 2.0 * CLIP * before
        value = min(max(value, features[MEAN, i] - reach), features[MEAN, i] + reach)
    gap = value - features[MEAN, i]
    mean = features[MEAN, i] + gap / number
    return number, mean, features[SQUARES, i] + gap * (value - mean)


@njit(cache=True)
def due(number: int, spread: float, scale: float) -> bool:
    """Whether a feature with that base takes a new one."""
    return spread > 0.0 and (number & (number - 1) == 0 or spread > 2.0 * scale)


@njit(cache=True)
def standardise(
    x: np.ndarray, prior: float, features: np.ndarray, M: np.ndarray, C: np.ndarray, z: np.ndarray
) -> None:
    """z = (x − centre)/scale and 1 for the intercept; running statistics take x in first. NaN
    stands for the running mean.
    """
    for i in range(x.size):
        if math.isnan(x[i]):
            scale = features[SCALE, i]
            z[i] = (features[MEAN, i] - features[CENTRE, i]) / scale if scale > 0.0 else 0.0
            continue
        number, mean, squares = observe(x[i], i, features)
        features[COUNT, i], features[MEAN, i], features[SQUARES, i] = number, mean, squares
        spread, scale = math.sqrt(squares / number), features[SCALE, i]
        if spread > 0.0 and scale == 0.0:
            features[CENTRE, i], features[SCALE, i] = mean, spread
        elif due(number, spread, scale):
            rebase(i, mean, spread, prior, features, M, C)
        z[i] = 0.0
        if features[SCALE, i] > 0.0:
            value = min(max(x[i], mean - CLIP * spread), mean + CLIP * spread)
            z[i] = (value - features[CENTRE, i]) / features[SCALE, i]
    z[x.size] = 1.0


@njit(cache=True)
def glimpse(x: np.ndarray, features: np.ndarray, look: np.ndarray) -> None:
    """The z that `standardise` would make of x (row NEW) and the same in today's coordinates (row
    OLD); nothing moves.

    Rebasing is a change of coordinates, so OLD with the filters as they are gives what NEW would
    after it. A feature to be reset has 0 in OLD and 1 in FRESH.
    """
    for i in range(x.size):
        scale, centre = features[SCALE, i], features[CENTRE, i]
        look[OLD, i] = look[NEW, i] = look[FRESH, i] = 0.0
        if math.isnan(x[i]):
            if scale > 0.0:
                look[OLD, i] = look[NEW, i] = (features[MEAN, i] - centre) / scale
            continue
        number, mean, squares = observe(x[i], i, features)
        spread = math.sqrt(squares / number)
        value = min(max(x[i], mean - CLIP * spread), mean + CLIP * spread)
        if scale == 0.0:
            if spread > 0.0:
                look[OLD, i] = look[NEW, i] = (value - mean) / spread
            continue
        look[OLD, i] = look[NEW, i] = (value - centre) / scale
        if due(number, spread, scale):
            look[NEW, i] = (value - mean) / spread
            if spread / scale > RESET:
                look[OLD, i], look[FRESH, i] = 0.0, 1.0
    look[OLD, x.size] = look[NEW, x.size] = 1.0
    look[FRESH, x.size] = 0.0


@njit(cache=True)
def drift(C: np.ndarray, rates: np.ndarray, pace: float) -> None:
    """Coefficients move: C grows by each filter's rates, (slope, intercept), times the pace.
    Filters may come in several sets.
    """
    last, K = C.shape[1] - 1, rates.shape[0]
    for k in range(C.shape[0]):
        slope, level = pace * rates[k % K, 0], pace * rates[k % K, 1]
        for i in range(last):
            C[k, i, i] += slope
        C[k, last, last] += level


@njit(cache=True)
def foresee(
    k: int, z: np.ndarray, M: np.ndarray, C: np.ndarray, gains: np.ndarray
) -> tuple[float, float]:
    """Value z'θ of filter k and its variance z'Cz; leaves C z in its row of `gains`."""
    value, variance = 0.0, 0.0
    for j in range(z.size):
        gains[k, j] = 0.0
    # column by column, which is the order that vectorises without changing a bit
    for i in range(z.size):
        value += z[i] * M[k, i]
        for j in range(z.size):
            gains[k, j] += C[k, i, j] * z[i]
    for j in range(z.size):
        variance += gains[k, j] * z[j]
    return value, variance


@njit(cache=True)
def absorb(
    k: int, step: float, factor: float, M: np.ndarray, C: np.ndarray, gains: np.ndarray
) -> None:
    """Condition filter k on what was seen, with g = C z: θ += g·step and C −= gg'·factor."""
    for i in range(M.shape[1]):
        M[k, i] += gains[k, i] * step
        for j in range(M.shape[1]):
            C[k, i, j] -= (gains[k, i] * gains[k, j]) * factor  # symmetric to the bit in this order


@njit(cache=True)
def gap(time: float, clock: np.ndarray) -> float:
    """Time since the last round in mean gaps so far, less the rounds that have passed without a
    time; 1 where not known.
    """
    if math.isnan(time) or clock[STEPS] < 2.0:
        return 1.0
    mean = (clock[LAST] - clock[FIRST]) / (clock[STEPS] - 1.0)
    if mean == 0.0:  # denormal times
        return 1.0
    return float(min(max((time - clock[LAST]) / mean - clock[PENDING], 0.0), LONGEST))


@njit(cache=True)
def tick(time: float, clock: np.ndarray) -> float:
    """Return `gap` and set the clock to that time; NaN for a round without one."""
    pace = gap(time, clock)
    if math.isnan(time):
        if clock[STEPS] > 0.0:
            clock[PENDING] += 1.0
        return pace
    if clock[STEPS] == 0.0:
        clock[FIRST] = time
    clock[STEPS] += 1.0 + clock[PENDING]
    clock[LAST], clock[PENDING] = time, 0.0
    return pace


@njit(cache=True)
def weigh(books: np.ndarray, scalars: np.ndarray, weights: np.ndarray) -> None:
    """ML-Poly's weights, and those of its blend with exponential weights, which lead at the
    start.
    """
    K = books.shape[1]
    total, least = 0.0, np.inf
    for k in range(K):
        weights[POLY, k] = 0.0
        spread = scalars[TOP] + books[SQUARED, k]
        # the square of a regret may be less than a float can be
        if books[REGRET, k] > 0.0 and spread > 0.0:
            weights[POLY, k] = books[REGRET, k] / spread
        total += weights[POLY, k]
        least = min(least, books[LOSS, k])
    mass = 0.0
    for k in range(K):
        weights[POLY, k] = weights[POLY, k] / total if total > 0.0 else 1.0 / K
        weights[BLEND, k] = math.exp(-RATE * (books[LOSS, k] - least))
        mass += weights[BLEND, k]
    early = WARM / (WARM + scalars[LEARNED])
    for k in range(K):
        weights[BLEND, k] = (1.0 - early) * weights[POLY, k] + early * weights[BLEND, k] / mass

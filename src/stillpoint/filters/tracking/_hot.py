"""The round of TrackingForecaster (TRACKING section 1): standardise and rebase, advance fifteen filters, aggregate, learn.

Targets enter less the first one seen, so that a large common level costs no digits.
"""

import math

import numpy as np
from numba import njit

# rows of `features`, one column a feature
MEAN, SQUARES, CENTRE, SCALE = range(4)
# rows of `books` and of `own`, one column a filter; ML-Poly's regrets and their squares, losses; this round's values
REGRET, SQUARED, LOSS = range(3)
RAW, CLIPPED, VARIANCE = range(3)
# rows of the weights
POLY, BLEND = range(2)
# entries of `scalars`
SEEN, LEARNED, TOP, NOISE, MEMORY, ORIGIN, LOW, HIGH, POOLED, FORECAST = range(10)

SLOPE_PRIOR, INTERCEPT_PRIOR = 10.0, 100.0  # variances, in units of the noise's
CLIP, RESET = 10.0, 100.0
FORGET, CAP, WARM, RATE = 0.01, 100.0, 300.0, 0.25
STILL = 1e-290  # error variances below it are not told from 0, and their inverse would overflow
DIGITS = 1e-100  # so are those this far below the squared range of the targets


@njit(cache=True)
def rebase(i: int, mean: float, spread: float, features: np.ndarray, M: np.ndarray, C: np.ndarray) -> None:
    """Give feature i a new origin and unit: the same posterior of the raw coefficient, in new coordinates."""
    ratio, shift = spread / features[SCALE, i], (mean - features[CENTRE, i]) / features[SCALE, i]
    last = M.shape[1] - 1
    features[CENTRE, i], features[SCALE, i] = mean, spread
    for k in range(M.shape[0]):
        if ratio > RESET:
            # What varied so far was rounding noise. Its shift is not passed on to the intercept: of order ratio² in
            # the covariance, it would cost the filter all its digits.
            M[k, i] = 0.0
            for j in range(last + 1):
                C[k, i, j] = C[k, j, i] = 0.0
            C[k, i, i] = SLOPE_PRIOR
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
def standardise(x: np.ndarray, features: np.ndarray, M: np.ndarray, C: np.ndarray, seen: float, z: np.ndarray) -> None:
    """z = (x − centre)/scale and 1 for the intercept; running statistics take x in first."""
    number = int(seen) + 1
    power = number & (number - 1) == 0
    for i in range(x.size):
        value = x[i]
        before = math.sqrt(features[SQUARES, i] / seen) if seen >= 10.0 else 0.0
        if before > 0.0:  # a feature that starts late has no spread to be clipped to
            reach = 2.0 * CLIP * before
            value = min(max(value, features[MEAN, i] - reach), features[MEAN, i] + reach)
        gap = value - features[MEAN, i]
        features[MEAN, i] += gap / number
        features[SQUARES, i] += gap * (value - features[MEAN, i])
        mean, spread = features[MEAN, i], math.sqrt(features[SQUARES, i] / number)
        scale = features[SCALE, i]
        if spread > 0.0 and scale == 0.0:
            features[CENTRE, i], features[SCALE, i] = mean, spread
        elif spread > 0.0 and (power or spread > 2.0 * scale):
            rebase(i, mean, spread, features, M, C)
        z[i] = 0.0
        if features[SCALE, i] > 0.0:
            value = min(max(x[i], mean - CLIP * spread), mean + CLIP * spread)
            z[i] = (value - features[CENTRE, i]) / features[SCALE, i]
    z[x.size] = 1.0


@njit(cache=True)
def drift(C: np.ndarray, rates: np.ndarray) -> None:
    """Coefficients move: C grows by each filter's rates, (slope, intercept)."""
    last = C.shape[1] - 1
    for k in range(C.shape[0]):
        for i in range(last):
            C[k, i, i] += rates[k, 0]
        C[k, last, last] += rates[k, 1]


@njit(cache=True)
def weigh(books: np.ndarray, scalars: np.ndarray, weights: np.ndarray) -> None:
    """ML-Poly's weights, and those of its blend with exponential weights, which lead at the start."""
    K = books.shape[1]
    total, least = 0.0, np.inf
    for k in range(K):
        weights[POLY, k] = 0.0
        if books[REGRET, k] > 0.0:
            weights[POLY, k] = books[REGRET, k] / (scalars[TOP] + books[SQUARED, k])
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


@njit(cache=True)
def propose(
    x: np.ndarray,
    rates: np.ndarray,
    features: np.ndarray,
    M: np.ndarray,
    C: np.ndarray,
    books: np.ndarray,
    scalars: np.ndarray,
    z: np.ndarray,
    gains: np.ndarray,
    own: np.ndarray,
    weights: np.ndarray,
) -> None:
    """Open a round: leaves z, gains C z, each filter's value and variance, and the forecast less the origin."""
    standardise(x, features, M, C, scalars[SEEN], z)
    scalars[SEEN] += 1.0
    drift(C, rates)
    weigh(books, scalars, weights)
    reach = scalars[HIGH] - scalars[LOW]
    scalars[POOLED] = scalars[FORECAST] = 0.0
    for k in range(M.shape[0]):
        value = 0.0
        for j in range(z.size):
            gains[k, j] = 0.0
        for i in range(z.size):  # column by column, which is the order that vectorises without changing a bit
            value += z[i] * M[k, i]
            for j in range(z.size):
                gains[k, j] += C[k, i, j] * z[i]
        variance = 0.0
        for j in range(z.size):
            variance += gains[k, j] * z[j]
        own[RAW, k], own[VARIANCE, k] = value, variance
        own[CLIPPED, k] = min(max(value, scalars[LOW] - reach), scalars[HIGH] + reach)
        scalars[POOLED] += weights[POLY, k] * own[CLIPPED, k]
        scalars[FORECAST] += weights[BLEND, k] * own[CLIPPED, k]


@njit(cache=True)
def learn(
    y: float,
    M: np.ndarray,
    C: np.ndarray,
    books: np.ndarray,
    scalars: np.ndarray,
    gains: np.ndarray,
    own: np.ndarray,
) -> None:
    """Close a round with its target: error variance, regrets, losses and filters."""
    if scalars[LEARNED] == 0.0:
        scalars[ORIGIN] = y  # the first target only sets the level: every forecast counts as right in that round
    scalars[LEARNED] += 1.0
    y -= scalars[ORIGIN]
    scalars[LOW], scalars[HIGH] = min(scalars[LOW], y), max(scalars[HIGH], y)
    error = (y - scalars[FORECAST]) ** 2
    scalars[MEMORY] = (1.0 - FORGET) * scalars[MEMORY] + 1.0
    counted = error
    if scalars[MEMORY] >= 11.0 and scalars[NOISE] > 0.0:  # from 0, after constant targets, a capped variance could not rise
        counted = min(error, CAP * scalars[NOISE])
    scalars[NOISE] += (counted - scalars[NOISE]) / scalars[MEMORY]
    unit = max(scalars[NOISE], error / CAP, DIGITS * (scalars[HIGH] - scalars[LOW]) ** 2)
    scale = 1.0 / unit if unit > STILL else 0.0
    top = scalars[TOP]
    for k in range(M.shape[0]):
        regret = 2.0 * (scalars[POOLED] - y) * (scalars[POOLED] - own[CLIPPED, k]) * scale
        books[REGRET, k] += regret
        books[SQUARED, k] += regret * regret
        books[LOSS, k] += (y - own[CLIPPED, k]) ** 2 * scale
        top = max(top, regret * regret)
        inverse = 1.0 / (own[VARIANCE, k] + 1.0)
        step = (y - own[RAW, k]) * inverse
        for i in range(M.shape[1]):
            M[k, i] += gains[k, i] * step
            for j in range(M.shape[1]):
                C[k, i, j] -= (gains[k, i] * gains[k, j]) * inverse  # symmetric to the bit in this order
    scalars[TOP] = top


@njit(cache=True)
def stream(
    X: np.ndarray,
    y: np.ndarray,
    rates: np.ndarray,
    features: np.ndarray,
    M: np.ndarray,
    C: np.ndarray,
    books: np.ndarray,
    scalars: np.ndarray,
    z: np.ndarray,
    gains: np.ndarray,
    own: np.ndarray,
    weights: np.ndarray,
    forecasts: np.ndarray,
) -> None:
    """Rounds in bulk."""
    for t in range(y.size):
        propose(X[t], rates, features, M, C, books, scalars, z, gains, own, weights)
        forecasts[t] = scalars[ORIGIN] + scalars[FORECAST]
        learn(y[t], M, C, books, scalars, gains, own)

"""The round of TrackingForecaster (TRACKING section 1): standardise and rebase, advance fifteen
filters, aggregate, learn.

Targets enter less the first one seen, so that a large common level costs no digits.
"""

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
    OLD,
    ORIGIN,
    POLY,
    POOLED,
    REGRET,
    SEEN,
    SQUARED,
    TOP,
    UNIT,
    absorb,
    drift,
    foresee,
    glimpse,
    grown,
    standardise,
    tick,
    weigh,
)
from stillpoint.losses._pointwise import SQUARED as SQUARED_LOSS
from stillpoint.losses._pointwise import slope, value

# rows of `own`, one column a filter: this round's values
RAW, CLIPPED, VARIANCE = range(3)
# rows of `shifts`, one column a filter: what is added to its value is MULTIPLE·SPREAD
MULTIPLE, SPREAD = range(2)

SLOPE_PRIOR, INTERCEPT_PRIOR = 10.0, 100.0  # variances, in units of the noise's
STILL = 1e-290  # error variances below it are not told from 0, and their inverse would overflow
DIGITS = 1e-50  # nor are errors this far below the range of the targets
FLOOR = 0.04  # least step of a multiple
# memory of the mean size of residuals, and how many times it one of them may count
RECENT, WINSOR = 50.0, 30.0
# of a regret in one round: what a filter gains by being right where the aggregate is as wrong as
# may count
MOST = 2.0 * CAP
# by how many mean losses a filter may do worse than the aggregate and keep its credit for the
# direction
SLACK = 25.0
STRETCH = 30.0  # how far a multiple goes, over the rarer side's share


@njit(cache=True)
def clipped(raw: float, k: int, scalars: np.ndarray, shifts: np.ndarray) -> float:
    """A filter's value as the aggregation hears it: shifted, and within one range of the targets
    seen.
    """
    reach = scalars[HIGH] - scalars[LOW]
    return float(
        min(
            max(raw + shifts[MULTIPLE, k] * shifts[SPREAD, k], scalars[LOW] - reach),
            scalars[HIGH] + reach,
        )
    )


@njit(cache=True)
def propose(
    x: np.ndarray,
    pace: float,
    rates: np.ndarray,
    features: np.ndarray,
    M: np.ndarray,
    C: np.ndarray,
    books: np.ndarray,
    scalars: np.ndarray,
    shifts: np.ndarray,
    z: np.ndarray,
    gains: np.ndarray,
    own: np.ndarray,
    weights: np.ndarray,
) -> None:
    """Open a round: leaves z, gains C z, each filter's value and variance, and the forecast less
    the origin.
    """
    standardise(x, SLOPE_PRIOR, features, M, C, z)
    scalars[SEEN] += 1.0
    drift(C, rates, pace)
    weigh(books, scalars, weights)
    scalars[POOLED] = scalars[FORECAST] = 0.0
    for k in range(M.shape[0]):
        own[RAW, k], own[VARIANCE, k] = foresee(k, z, M, C, gains)
        own[CLIPPED, k] = clipped(own[RAW, k], k, scalars, shifts)
        scalars[POOLED] += weights[POLY, k] * own[CLIPPED, k]
        scalars[FORECAST] += weights[BLEND, k] * own[CLIPPED, k]


@njit(cache=True)
def learn(
    y: float,
    code: int,
    parameter: float,
    level: float,
    M: np.ndarray,
    C: np.ndarray,
    books: np.ndarray,
    scalars: np.ndarray,
    shifts: np.ndarray,
    gains: np.ndarray,
    own: np.ndarray,
) -> None:
    """Close a round with its target: error variance, regrets, losses and filters; where level > 0,
    the shifts.
    """
    if scalars[LEARNED] == 0.0:
        # the first target only sets the level: every forecast counts as right in that round
        scalars[ORIGIN] = y
    scalars[LEARNED] += 1.0
    y -= scalars[ORIGIN]
    scalars[LOW], scalars[HIGH] = min(scalars[LOW], y), max(scalars[HIGH], y)
    scalars[MEMORY] = (1.0 - FORGET) * scalars[MEMORY] + 1.0
    error = (y - scalars[FORECAST]) ** 2
    scalars[NOISE] = grown(scalars[NOISE], error, scalars[MEMORY])
    if code == SQUARED_LOSS:
        unit = max(scalars[NOISE], error / CAP, (DIGITS * (scalars[HIGH] - scalars[LOW])) ** 2)
        scale = 1.0 / unit if unit > STILL else 0.0
        steep = 2.0 * (scalars[POOLED] - y)
    else:
        loss = value(code, parameter, scalars[FORECAST], y)
        scalars[UNIT] = grown(scalars[UNIT], loss, scalars[MEMORY])
        unit = max(
            scalars[UNIT],
            loss / CAP,
            value(code, parameter, DIGITS * (scalars[HIGH] - scalars[LOW]), 0.0),
        )
        scale = 1.0 / unit if unit > STILL else 0.0
        steep = slope(code, parameter, scalars[POOLED], y)
    credit(y, code, parameter, steep, scale, books, scalars, own)
    for k in range(M.shape[0]):
        inverse = 1.0 / (own[VARIANCE, k] + 1.0)
        absorb(k, (y - own[RAW, k]) * inverse, inverse, M, C, gains)
    if level > 0.0 and scalars[LEARNED] > 1.0:
        shift(y, level, scalars, shifts, own)


@njit(cache=True)
def credit(
    y: float,
    code: int,
    parameter: float,
    steep: float,
    scale: float,
    books: np.ndarray,
    scalars: np.ndarray,
    own: np.ndarray,
) -> None:
    """Regrets ℓ'(p̂)(p̂ − p_i) and losses of a round, in units of the running loss.

    After an outlier, filters that follow quickly are far off for a round, and the linear regret of
    one that is far off is large
    and of either sign: by chance the worst would lead for a thousand rounds. So a round counts for
    MOST at most, and a filter that did worse than the aggregate by more than SLACK is credited with
    less, down to nothing. Both keep the guarantee: what is booked lies between the true regret and
    the linear one, whose mean under the weights is 0.
    """
    far = 0.0
    for k in range(own.shape[1]):
        far = max(far, abs(steep * (scalars[POOLED] - own[CLIPPED, k]) * scale))
    share = scale * (MOST / far) if far > MOST else scale
    whole = 2.0 if code == SQUARED_LOSS else 1.0  # (p − y)², not its half
    pooled = whole * value(code, parameter, scalars[POOLED], y)
    for k in range(own.shape[1]):
        loss = whole * value(code, parameter, own[CLIPPED, k], y)
        books[LOSS, k] += loss * scale
        regret = steep * (scalars[POOLED] - own[CLIPPED, k]) * share
        if regret > 0.0:
            regret = max(regret - max((loss - pooled) * share - SLACK, 0.0), 0.0)
        books[REGRET, k] += regret
        books[SQUARED, k] += regret * regret
        scalars[TOP] = max(scalars[TOP], regret * regret)


@njit(cache=True)
def shift(y: float, level: float, scalars: np.ndarray, shifts: np.ndarray, own: np.ndarray) -> None:
    """Each filter's multiple takes a step towards the level's quantile of its residuals, in units
    of their mean size.
    """
    rare = min(level, 1.0 - level)
    step = max(2.0 / (3.0 * (1.0 + rare * scalars[LEARNED])), FLOOR)
    for k in range(shifts.shape[1]):
        residual = y - own[RAW, k]
        over = residual <= shifts[MULTIPLE, k] * shifts[SPREAD, k]
        multiple = shifts[MULTIPLE, k] - step * ((1.0 - level) if over else -level)
        shifts[MULTIPLE, k] = min(max(multiple, -STRETCH / rare), STRETCH / rare)
        size, spread = abs(residual), shifts[SPREAD, k]
        if spread > 0.0:
            size = min(size, WINSOR * spread)
        shifts[SPREAD, k] += (size - spread) / min(scalars[LEARNED] - 1.0, RECENT)


@njit(cache=True)
def turn(
    x: np.ndarray,
    y: float,
    time: float,
    code: int,
    parameter: float,
    level: float,
    clock: np.ndarray,
    rates: np.ndarray,
    features: np.ndarray,
    M: np.ndarray,
    C: np.ndarray,
    books: np.ndarray,
    scalars: np.ndarray,
    shifts: np.ndarray,
    z: np.ndarray,
    gains: np.ndarray,
    own: np.ndarray,
    weights: np.ndarray,
) -> float:
    """A whole round; returns its forecast."""
    propose(
        x, tick(time, clock), rates, features, M, C, books, scalars, shifts, z, gains, own, weights
    )
    forecast = scalars[ORIGIN] + scalars[FORECAST]
    learn(y, code, parameter, level, M, C, books, scalars, shifts, gains, own)
    return float(forecast)


@njit(cache=True)
def stream(
    X: np.ndarray,
    y: np.ndarray,
    times: np.ndarray,
    code: int,
    parameter: float,
    level: float,
    clock: np.ndarray,
    rates: np.ndarray,
    features: np.ndarray,
    M: np.ndarray,
    C: np.ndarray,
    books: np.ndarray,
    scalars: np.ndarray,
    shifts: np.ndarray,
    z: np.ndarray,
    gains: np.ndarray,
    own: np.ndarray,
    weights: np.ndarray,
    forecasts: np.ndarray,
) -> None:
    """Rounds in bulk."""
    filters = (rates, features, M, C, books, scalars, shifts, z, gains, own, weights)
    for t in range(y.size):
        forecasts[t] = turn(X[t], y[t], times[t], code, parameter, level, clock, *filters)


@njit(cache=True)
def peek(
    X: np.ndarray,
    features: np.ndarray,
    M: np.ndarray,
    books: np.ndarray,
    scalars: np.ndarray,
    shifts: np.ndarray,
    look: np.ndarray,
    weights: np.ndarray,
    forecasts: np.ndarray,
) -> None:
    """The forecast for each row as that of the coming round; drift, which moves no mean, does not
    enter.
    """
    weigh(books, scalars, weights)
    for t in range(X.shape[0]):
        glimpse(X[t], features, look)
        forecast = 0.0
        for k in range(M.shape[0]):
            raw = 0.0
            for i in range(M.shape[1]):
                raw += look[OLD, i] * M[k, i]
            forecast += weights[BLEND, k] * clipped(raw, k, scalars, shifts)
        forecasts[t] = scalars[ORIGIN] + forecast


@njit(cache=True)
def peek_one(
    x: np.ndarray,
    features: np.ndarray,
    M: np.ndarray,
    books: np.ndarray,
    scalars: np.ndarray,
    shifts: np.ndarray,
) -> float:
    """The forecast for x."""
    look, weights, forecasts = np.empty((3, M.shape[1])), np.empty((2, M.shape[0])), np.empty(1)
    peek(x.reshape(1, -1), features, M, books, scalars, shifts, look, weights, forecasts)
    return float(forecasts[0])

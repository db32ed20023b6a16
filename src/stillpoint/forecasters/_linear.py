"""One round of TrackingForecaster: standardise and rebase, advance the filters, aggregate, learn.

Targets enter less the first one seen, so that a large common level costs no digits.
"""

from typing import NamedTuple

import numpy as np

from stillpoint.core import _poly
from stillpoint.core._poly import CAP, FORGET, running_mean
from stillpoint.core.jit import njit
from stillpoint.forecasters._features import standardise
from stillpoint.forecasters._filters import LOST, absorb, drift, foresee, renew
from stillpoint.losses._pointwise import SQUARED as SQUARED_LOSS
from stillpoint.losses._pointwise import slope, value

# Variance that (slopes, intercept) gain a round, in units of the noise's: none; the intercept
# alone; both; the intercept faster; the slopes alone. Without the last kind, slopes that jump over
# a still level cost 15% more (benchmarks/forecasters.py).
RATES = np.array(
    [(0.0, 0.0)]
    + [(0.0, q) for q in (1e-4, 1e-2, 1.0, 1e2)]
    + [(q, q) for q in (1e-6, 1e-4, 1e-2, 1.0)]
    + [(q, 100.0 * q) for q in (1e-6, 1e-4, 1e-2, 1.0)]
    + [(q, 0.0) for q in (1e-2, 1.0)]
)
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


class Places(NamedTuple):
    """Where each number stands in `State.scalars`; values are less the origin."""

    seen: int = 0  # rounds opened
    learnt: int = 1  # targets
    record: int = 2  # the largest squared regret
    noise: int = 3  # running mean square of the errors
    memory: int = 4  # rounds that running means are over
    origin: int = 5  # the first target
    low: int = 6  # the smallest target
    high: int = 7  # and the largest
    pooled: int = 8  # ML-Poly's aggregate in the open round
    forecast: int = 9  # that of its blend
    unit: int = 10  # running mean loss, where that is not the squared one


class Rows(NamedTuple):
    """Rows of `State.table`."""

    regret: int = 0  # the first three are _poly.Regrets
    squares: int = 1
    loss: int = 2
    multiple: int = 3  # multiple × spread is added to a filter's value
    spread: int = 4  # running mean size of its residuals
    raw: int = 5  # z'θ in the open round
    clipped: int = 6  # as the aggregation hears it
    variance: int = 7  # z'Cz
    poly: int = 8  # the last two are _poly.Weights
    blend: int = 9


class State(NamedTuple):
    """K filters of N coefficients, the intercept last."""

    clock: np.ndarray  # see _filters.Clock
    features: np.ndarray  # (5, N − 1), see _features.Features
    means: np.ndarray  # (K, N)
    covariances: np.ndarray  # (K, N, N)
    z: np.ndarray  # (N,): the open round's features, standardised
    gains: np.ndarray  # (K, N): C z
    table: np.ndarray  # (10, K), see Rows
    scalars: np.ndarray  # see Places


class Rule(NamedTuple):
    """What does not change from round to round."""

    code: int  # of the loss
    parameter: float  # and its parameter
    level: float  # whose quantile shifts follow; 0 for none


AT, ROW = Places(), Rows()


@njit(cache=True)
def weigh(table: np.ndarray, scalars: np.ndarray, weights: np.ndarray) -> None:
    """Fill `weights`, (2, K), with those of the coming round."""
    regrets = table[: ROW.loss + 1]
    _poly.weigh(regrets, scalars[AT.record], scalars[AT.learnt], weights)


@njit(cache=True)
def clipped(raw: float, k: int, table: np.ndarray, scalars: np.ndarray) -> float:
    """Filter k's value as the aggregation hears it: shifted, within one range of the targets."""
    reach = scalars[AT.high] - scalars[AT.low]
    shifted = raw + table[ROW.multiple, k] * table[ROW.spread, k]
    return float(min(max(shifted, scalars[AT.low] - reach), scalars[AT.high] + reach))


@njit(cache=True)
def propose(x: np.ndarray, pace: float, state: State) -> None:
    """Open a round: z, gains, each filter's value and variance, and the forecast."""
    M, C, table, s = state.means, state.covariances, state.table, state.scalars
    standardise(x, SLOPE_PRIOR, state.features, M, C, state.z)
    s[AT.seen] += 1.0
    drift(C, RATES, pace)
    weigh(table, s, table[ROW.poly :])
    s[AT.pooled] = s[AT.forecast] = 0.0
    for k in range(M.shape[0]):
        raw, variance = foresee(k, state.z, M, C, state.gains)
        if not variance >= LOST:
            renew(k, SLOPE_PRIOR, INTERCEPT_PRIOR, M, C, state.gains)
            variance = 0.0
        table[ROW.raw, k], table[ROW.variance, k] = raw, variance
        table[ROW.clipped, k] = clipped(table[ROW.raw, k], k, table, s)
        s[AT.pooled] += table[ROW.poly, k] * table[ROW.clipped, k]
        s[AT.forecast] += table[ROW.blend, k] * table[ROW.clipped, k]


@njit(cache=True)
def learn(y: float, weight: float, rule: Rule, state: State) -> None:
    """Close a round with its target: error variance, regrets, losses, filters and shifts.

    The loss of the round counts `weight` times: to the filters its noise has the variance 1/weight.
    """
    s, table = state.scalars, state.table
    if s[AT.learnt] == 0.0:
        # the first target only sets the level: every forecast counts as right in that round
        s[AT.origin] = y
    s[AT.learnt] += 1.0
    y -= s[AT.origin]
    s[AT.low], s[AT.high] = min(s[AT.low], y), max(s[AT.high], y)
    s[AT.memory] = (1.0 - FORGET) * s[AT.memory] + 1.0
    error = weight * (y - s[AT.forecast]) ** 2
    s[AT.noise] = running_mean(s[AT.noise], error, s[AT.memory])
    code, parameter, reach = rule.code, rule.parameter, DIGITS * (s[AT.high] - s[AT.low])
    if code == SQUARED_LOSS:
        unit = max(s[AT.noise], error / CAP, reach**2)
        scale = 1.0 / unit if unit > STILL else 0.0
        steep = weight * (2.0 * (s[AT.pooled] - y))
    else:
        loss = weight * value(code, parameter, s[AT.forecast], y)
        s[AT.unit] = running_mean(s[AT.unit], loss, s[AT.memory])
        unit = max(s[AT.unit], loss / CAP, value(code, parameter, reach, 0.0))
        scale = 1.0 / unit if unit > STILL else 0.0
        steep = weight * slope(code, parameter, s[AT.pooled], y)
    credit(y, weight, steep, scale, rule, state)
    for k in range(state.means.shape[0]):
        inverse = 1.0 / (table[ROW.variance, k] + 1.0 / weight)
        step = (y - table[ROW.raw, k]) * inverse
        absorb(k, step, inverse, state.means, state.covariances, state.gains)
    if rule.level > 0.0 and s[AT.learnt] > 1.0:
        shift(y, weight, rule.level, state)


@njit(cache=True)
def credit(y: float, weight: float, steep: float, scale: float, rule: Rule, state: State) -> None:
    """Add regrets ℓ'(p̂)(p̂ − p_i) and losses of a round, in units of the running loss.

    After an outlier, filters that follow quickly are far off for a round, and the linear regret of
    one that is far off is large and of either sign: by chance the worst would lead for a thousand
    rounds. So a round counts for MOST at most, and a filter that did worse than the aggregate by
    more than SLACK is credited with less, down to nothing. Both keep the guarantee: what is added
    lies between the true regret and the linear one, whose mean under the weights is 0.
    """
    s, table, far = state.scalars, state.table, 0.0
    regrets = table[: ROW.loss + 1]
    for k in range(table.shape[1]):
        far = max(far, abs(steep * (s[AT.pooled] - table[ROW.clipped, k]) * scale))
    share = scale * (MOST / far) if far > MOST else scale
    code, parameter = rule.code, rule.parameter
    whole = weight * (2.0 if code == SQUARED_LOSS else 1.0)  # (p − y)², not its half
    pooled = whole * value(code, parameter, s[AT.pooled], y)
    for k in range(table.shape[1]):
        loss = whole * value(code, parameter, table[ROW.clipped, k], y)
        regret = steep * (s[AT.pooled] - table[ROW.clipped, k]) * share
        if regret > 0.0:
            regret = max(regret - max((loss - pooled) * share - SLACK, 0.0), 0.0)
        s[AT.record] = _poly.credit(regrets, k, regret, loss * scale, s[AT.record])


@njit(cache=True)
def shift(y: float, weight: float, level: float, state: State) -> None:
    """Step each filter's multiple towards the level's quantile of its residuals."""
    learnt, table = state.scalars[AT.learnt], state.table
    rare = min(level, 1.0 - level)
    step = min(weight * max(2.0 / (3.0 * (1.0 + rare * learnt)), FLOOR), 1.0)
    for k in range(table.shape[1]):
        residual, spread = y - table[ROW.raw, k], table[ROW.spread, k]
        over = residual <= table[ROW.multiple, k] * spread
        multiple = table[ROW.multiple, k] - step * ((1.0 - level) if over else -level)
        table[ROW.multiple, k] = min(max(multiple, -STRETCH / rare), STRETCH / rare)
        size = abs(residual)
        if spread > 0.0:
            size = min(size, WINSOR * spread)
        table[ROW.spread, k] += (size - spread) / min(learnt - 1.0, RECENT)

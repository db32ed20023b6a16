"""The round of TrackingProbabilities (TRACKING section 2): logistic filters in sets of ten, two
read-outs each, fixed share.

Set s forecasts whether the label is s; with two classes there is one set, of class 1. Row s·K + k
of M, C, gains and columns of `own` belong to filter k of set s; so do columns k and K + k of row s
of `weights` and `reads`.
"""

import math

import numpy as np

from stillpoint.core.jit import njit
from stillpoint.forecasters._tracking import (
    FRESH,
    NEW,
    OLD,
    absorb,
    drift,
    foresee,
    glimpse,
    standardise,
    tick,
)

# rows of `own`, one column a filter: this round's log-odds and their variance
VALUE, VARIANCE = range(2)

SLOPE_PRIOR, INTERCEPT_PRIOR = 1.0, 4.0
SHARE = 1e-3
LEAST = 1e-4  # of a read-out's probability, and of its complement
FLATTEST = 1e-6  # least curvature of an observation, so that none is lost on a filter
STEPS = 100  # a bisection needs no more


@njit(cache=True)
def sigmoid(f: float) -> float:
    """1/(1 + e^−f) without overflow."""
    small = math.exp(-abs(f))
    return (1.0 if f >= 0.0 else small) / (1.0 + small)


@njit(cache=True)
def mode(f: float, v: float) -> float:
    """The x with x = f + v·σ(−x): the mode of N(f, v) once label 1 is seen.

    Newton's steps, from f; a bisection where one would leave the bracket or is not half as long as
    that before (it may cycle). The equation's second derivative is at most its first, so a Newton
    step of length s leaves an error of s²/2 or less.
    """
    low, high, x = f, f + v * sigmoid(-f), f
    length = 2.0 * (high - low)
    for _ in range(STEPS):
        rest = sigmoid(-x)
        value = x - v * rest - f
        if value > 0.0:
            high = x
        else:
            low = x
        step = value / (1.0 + v * rest * (1.0 - rest))
        close = 1e-8
        if not (low <= x - step <= high and abs(step) <= 0.5 * length):
            step, close = x - 0.5 * (low + high), 1e-15 * (1.0 + abs(x))
        x -= step
        length = abs(step)
        if length <= close:
            break
    return x


@njit(cache=True)
def readouts(f: float, v: float) -> tuple[float, float]:
    """σ(f) and σ(f/√(1 + πv/8)), the mean of σ under N(f, v) by MacKay's approximation; clipped."""
    plain, mean = sigmoid(f), sigmoid(f / math.sqrt(1.0 + math.pi * v / 8.0))
    return min(max(plain, LEAST), 1.0 - LEAST), min(max(mean, LEAST), 1.0 - LEAST)


@njit(cache=True)
def normalise(mixed: np.ndarray, rules: np.ndarray, probabilities: np.ndarray) -> None:
    """From each set's probability q to one a class: q/Σq and odds/Σodds, odds = q/(1 − q), mixed by
    the weights of the rules.
    """
    if mixed.size == 1:
        probabilities[0], probabilities[1] = 1.0 - mixed[0], mixed[0]
        return
    total, odds = totals(mixed)
    for s in range(mixed.size):
        probabilities[s] = rules[0] * (mixed[s] / total) + rules[1] * (
            mixed[s] / (1.0 - mixed[s]) / odds
        )


@njit(cache=True)
def totals(mixed: np.ndarray) -> tuple[float, float]:
    """Σq and Σq/(1 − q)."""
    total, odds = 0.0, 0.0
    for s in range(mixed.size):
        total += mixed[s]
        odds += mixed[s] / (1.0 - mixed[s])
    return total, odds


@njit(cache=True)
def propose(
    x: np.ndarray,
    pace: float,
    rates: np.ndarray,
    features: np.ndarray,
    M: np.ndarray,
    C: np.ndarray,
    weights: np.ndarray,
    z: np.ndarray,
    gains: np.ndarray,
    own: np.ndarray,
    reads: np.ndarray,
    mixed: np.ndarray,
) -> None:
    """Open a round: leaves z, gains C z, each filter's log-odds and variance, the read-outs and
    their mixture a set.
    """
    standardise(x, SLOPE_PRIOR, features, M, C, z)
    drift(C, rates, pace)
    K = rates.shape[0]
    for r in range(M.shape[0]):
        value, variance = foresee(r, z, M, C, gains)
        own[VALUE, r], own[VARIANCE, r] = value, max(variance, 0.0)
        reads[r // K, r % K], reads[r // K, K + r % K] = readouts(own[VALUE, r], own[VARIANCE, r])
    for s in range(mixed.size):
        mixed[s] = 0.0
        for i in range(2 * K):
            mixed[s] += weights[s, i] * reads[s, i]


@njit(cache=True)
def learn(
    label: int,
    M: np.ndarray,
    C: np.ndarray,
    weights: np.ndarray,
    gains: np.ndarray,
    own: np.ndarray,
    reads: np.ndarray,
    mixed: np.ndarray,
    rules: np.ndarray,
    learned: np.ndarray,
) -> None:
    """Close a round with its label: fixed share of the read-outs and rules, and the exact MAP step
    of each filter.
    """
    sets, columns = weights.shape
    if sets > 1:
        total, odds = totals(mixed)
        plain, steep = (
            rules[0] * (mixed[label] / total),
            rules[1] * (mixed[label] / (1.0 - mixed[label]) / odds),
        )
        rules[0] = (1.0 - SHARE) * (plain / (plain + steep)) + 0.5 * SHARE
        rules[1] = (1.0 - SHARE) * (steep / (plain + steep)) + 0.5 * SHARE
    for s in range(sets):
        hit = label == (1 if sets == 1 else s)
        learned[s] += 1.0
        total = 0.0
        for i in range(columns):
            weights[s, i] *= reads[s, i] if hit else 1.0 - reads[s, i]
            total += weights[s, i]
        for i in range(columns):
            weights[s, i] = (1.0 - SHARE) * (weights[s, i] / total) + SHARE / columns
    K = columns // 2
    for r in range(M.shape[0]):
        # label 0 is label 1 with the sign of f turned
        sign = 1.0 if label == (1 if sets == 1 else r // K) else -1.0
        rest = sigmoid(-mode(sign * own[VALUE, r], own[VARIANCE, r]))
        bend = max(rest * (1.0 - rest), FLATTEST)
        absorb(r, sign * rest, bend / (1.0 + bend * own[VARIANCE, r]), M, C, gains)


@njit(cache=True)
def turn(
    x: np.ndarray,
    label: int,
    time: float,
    clock: np.ndarray,
    learned: np.ndarray,
    rates: np.ndarray,
    features: np.ndarray,
    M: np.ndarray,
    C: np.ndarray,
    weights: np.ndarray,
    z: np.ndarray,
    gains: np.ndarray,
    own: np.ndarray,
    reads: np.ndarray,
    mixed: np.ndarray,
    rules: np.ndarray,
) -> None:
    """A whole round."""
    propose(x, tick(time, clock), rates, features, M, C, weights, z, gains, own, reads, mixed)
    learn(label, M, C, weights, gains, own, reads, mixed, rules, learned)


@njit(cache=True)
def stream(
    X: np.ndarray,
    y: np.ndarray,
    times: np.ndarray,
    clock: np.ndarray,
    learned: np.ndarray,
    rates: np.ndarray,
    features: np.ndarray,
    M: np.ndarray,
    C: np.ndarray,
    weights: np.ndarray,
    z: np.ndarray,
    gains: np.ndarray,
    own: np.ndarray,
    reads: np.ndarray,
    mixed: np.ndarray,
    rules: np.ndarray,
    probabilities: np.ndarray,
) -> None:
    """Rounds in bulk."""
    for t in range(y.size):
        propose(
            X[t], tick(times[t], clock), rates, features, M, C, weights, z, gains, own, reads, mixed
        )
        normalise(mixed, rules, probabilities[t])
        learn(y[t], M, C, weights, gains, own, reads, mixed, rules, learned)


@njit(cache=True)
def peek(
    X: np.ndarray,
    pace: float,
    rates: np.ndarray,
    features: np.ndarray,
    M: np.ndarray,
    C: np.ndarray,
    weights: np.ndarray,
    rules: np.ndarray,
    look: np.ndarray,
    mixed: np.ndarray,
    probabilities: np.ndarray,
) -> None:
    """The probabilities for each row as those of the coming round; `mixed` is room to work in.

    The variance is that of the filters as they are, in today's coordinates, plus this round's drift
    in its own ones; of a feature to be reset only the prior counts.
    """
    K, last = rates.shape[0], M.shape[1] - 1
    for t in range(X.shape[0]):
        glimpse(X[t], features, look)
        squares, fresh = 0.0, 0.0
        for i in range(last):
            squares += look[NEW, i] ** 2
            fresh += look[FRESH, i] * look[NEW, i] ** 2
        for s in range(mixed.size):
            mixed[s] = 0.0
        for r in range(M.shape[0]):
            s, k = r // K, r % K
            value, variance = (
                0.0,
                pace * (rates[k, 0] * squares + rates[k, 1]) + SLOPE_PRIOR * fresh,
            )
            for i in range(last + 1):
                value += look[OLD, i] * M[r, i]
                gain = 0.0
                for j in range(last + 1):
                    gain += C[r, i, j] * look[OLD, j]
                variance += look[OLD, i] * gain
            plain, mean = readouts(value, max(variance, 0.0))
            mixed[s] += weights[s, k] * plain + weights[s, K + k] * mean
        normalise(mixed, rules, probabilities[t])

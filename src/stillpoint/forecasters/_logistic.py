"""One round of TrackingProbabilities: logistic filters in sets, two read-outs each, fixed share.

Set s forecasts whether the label is s; with two classes there is one set, of class 1.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import njit
from stillpoint.forecasters._features import standardise
from stillpoint.forecasters._filters import LOST, absorb, drift, foresee, renew

# Variance that (slopes, intercept) gain a round: none; the intercept alone; both; the intercept
# faster.
RATES = np.array(
    [(0.0, 0.0)]
    + [(0.0, q) for q in (1e-4, 1e-2, 1.0)]
    + [(q, q) for q in (1e-6, 1e-4, 1e-2)]
    + [(q, 100.0 * q) for q in (1e-6, 1e-4, 1e-2)]
)
SLOPE_PRIOR, INTERCEPT_PRIOR = 1.0, 4.0
SHARE = 1e-3
LEAST = 1e-4  # of a read-out's probability, and of its complement
FLATTEST = 1e-6  # least curvature of an observation, so that none is lost on a filter
STEPS = 100  # a bisection needs no more


class Values(NamedTuple):
    """Rows of `State.values`: what the filters say in the open round."""

    value: int = 0  # log-odds
    variance: int = 1


class Outs(NamedTuple):
    """Rows of `State.outs`, the read-outs."""

    weight: int = 0
    read: int = 1  # its probability in the open round


class Sets(NamedTuple):
    """Rows of `State.sets`."""

    learnt: int = 0  # labels since the set began
    mixed: int = 1  # the mixture of its read-outs in the open round


class State(NamedTuple):
    """S sets of K filters of N coefficients, the intercept last.

    Filter k of set s is row s·K + k of means, covariances and gains, and column s·K + k of values;
    its read-outs are at (s, k) and (s, K + k) of outs.
    """

    clock: np.ndarray  # see _filters.Clock
    features: np.ndarray  # (5, N − 1), see _features.Features
    means: np.ndarray  # (S·K, N)
    covariances: np.ndarray  # (S·K, N, N)
    z: np.ndarray  # (N,): the open round's features, standardised
    gains: np.ndarray  # (S·K, N): C z
    values: np.ndarray  # (2, S·K), see Values
    outs: np.ndarray  # (2, S, 2K), see Outs
    sets: np.ndarray  # (2, S), see Sets
    rules: np.ndarray  # (2,): weights of q/Σq and odds/Σodds


ROW, OUT, SET = Values(), Outs(), Sets()


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
def propose(x: np.ndarray, pace: float, state: State) -> None:
    """Open a round: z, gains, each filter's log-odds and variance, the read-outs and mixtures."""
    M, C, values = state.means, state.covariances, state.values
    weights, reads, mixed = state.outs[OUT.weight], state.outs[OUT.read], state.sets[SET.mixed]
    standardise(x, SLOPE_PRIOR, state.features, M, C, state.z)
    drift(C, RATES, pace)
    K = RATES.shape[0]
    for r in range(M.shape[0]):
        value, variance = foresee(r, state.z, M, C, state.gains)
        if not variance >= LOST:
            renew(r, SLOPE_PRIOR, INTERCEPT_PRIOR, M, C, state.gains)
            variance = 0.0
        values[ROW.value, r], values[ROW.variance, r] = value, max(variance, 0.0)
        plain, mean = readouts(value, values[ROW.variance, r])
        reads[r // K, r % K], reads[r // K, K + r % K] = plain, mean
    for s in range(mixed.size):
        mixed[s] = 0.0
        for i in range(2 * K):
            mixed[s] += weights[s, i] * reads[s, i]


@njit(cache=True)
def likelihood(p: float, weight: float) -> float:
    """The probability of what came, to the power of its weight; never 0."""
    return p if weight == 1.0 else max(p**weight, 1e-100)


@njit(cache=True)
def learn(label: int, weight: float, state: State) -> None:
    """Close a round with its label: fixed share, and the exact MAP step of each filter.

    The log loss of the round counts `weight` times.
    """
    values, rules = state.values, state.rules
    weights, reads, mixed = state.outs[OUT.weight], state.outs[OUT.read], state.sets[SET.mixed]
    sets, columns = weights.shape
    if sets > 1:
        total, odds = totals(mixed)
        plain = rules[0] * likelihood(mixed[label] / total, weight)
        steep = rules[1] * likelihood(mixed[label] / (1.0 - mixed[label]) / odds, weight)
        rules[0] = (1.0 - SHARE) * (plain / (plain + steep)) + 0.5 * SHARE
        rules[1] = (1.0 - SHARE) * (steep / (plain + steep)) + 0.5 * SHARE
    for s in range(sets):
        hit = label == (1 if sets == 1 else s)
        state.sets[SET.learnt, s] += 1.0
        total = 0.0
        for i in range(columns):
            weights[s, i] *= likelihood(reads[s, i] if hit else 1.0 - reads[s, i], weight)
            total += weights[s, i]
        for i in range(columns):
            weights[s, i] = (1.0 - SHARE) * (weights[s, i] / total) + SHARE / columns
    K = columns // 2
    for r in range(state.means.shape[0]):
        # label 0 is label 1 with the sign of f turned
        sign = 1.0 if label == (1 if sets == 1 else r // K) else -1.0
        rest = sigmoid(-mode(sign * values[ROW.value, r], weight * values[ROW.variance, r]))
        bend = weight * max(rest * (1.0 - rest), FLATTEST)
        factor = bend / (1.0 + bend * values[ROW.variance, r])
        absorb(r, sign * (weight * rest), factor, state.means, state.covariances, state.gains)

"""Rounds of TrackingProbabilities in bulk and one by one, and looks at the coming one."""

import math

import numpy as np

from stillpoint.core.jit import bare, njit
from stillpoint.forecasters._features import LOOK, glimpse
from stillpoint.forecasters._filters import gap, tick
from stillpoint.forecasters._logistic import (
    OUT,
    RATES,
    SET,
    SLOPE_PRIOR,
    State,
    learn,
    normalise,
    propose,
    readouts,
)


@njit(cache=True)
def track(
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    times: np.ndarray,
    delay: int,
    first: int,
    state: State,
    out: np.ndarray,
    still: np.ndarray,
    shares: np.ndarray,
) -> None:
    """Rounds in bulk, rows from `first` on: row t is forecast, then row t − delay is learnt.

    y is NaN where it is missing; `weights` are those of the losses, none for 1 each. Where `shares`
    has rows, also what the first set's filter without
    drift says, and the weights of its filters.
    """
    state = bare(state)
    K, M, mixture = RATES.shape[0], state.means, state.outs[OUT.weight]
    look = np.empty((3, X.shape[1] + 1))
    for t in range(first, y.size):
        row, learnt = t - first, t - delay
        if shares.size:
            for k in range(K):
                shares[row, k] = mixture[0, k] + mixture[0, K + k]
        if delay > 0:
            pace = gap(times[t], state.clock)
            seen = state.features, M, state.covariances, mixture, state.rules
            peek(X[t : t + 1], pace, *seen, look, out[row : row + 1])
            if shares.size:
                value = 0.0
                for i in range(M.shape[1]):
                    value += look[LOOK.now, i] * M[0, i]
                still[row] = readouts(value, 0.0)[0]
        if learnt >= 0:
            propose(X[learnt], tick(times[learnt], state.clock), state)
            if delay == 0:
                normalise(state.sets[SET.mixed], state.rules, out[row])
                if shares.size:
                    still[row] = state.outs[OUT.read, 0, 0]
            if not math.isnan(y[learnt]):
                learn(int(y[learnt]), weights[learnt] if weights.size else 1.0, state)


@njit(cache=True)
def peek(
    X: np.ndarray,
    pace: float,
    features: np.ndarray,
    M: np.ndarray,
    C: np.ndarray,
    weights: np.ndarray,
    rules: np.ndarray,
    look: np.ndarray,
    out: np.ndarray,
) -> None:
    """The probabilities for each row as those of the coming round; `look`: room to work in.

    The variance is that of the filters as they are, in today's coordinates, plus this round's drift
    in its own ones; of a feature to be reset only the prior counts.
    """
    K, last = RATES.shape[0], M.shape[1] - 1
    mixed = np.empty(M.shape[0] // K)
    for t in range(X.shape[0]):
        glimpse(X[t], features, look)
        squares, fresh = 0.0, 0.0
        for i in range(last):
            squares += look[LOOK.then, i] ** 2
            fresh += look[LOOK.fresh, i] * look[LOOK.then, i] ** 2
        for s in range(mixed.size):
            mixed[s] = 0.0
        for r in range(M.shape[0]):
            s, k = r // K, r % K
            value = 0.0
            variance = pace * (RATES[k, 0] * squares + RATES[k, 1]) + SLOPE_PRIOR * fresh
            for i in range(last + 1):
                value += look[LOOK.now, i] * M[r, i]
                gain = 0.0
                for j in range(last + 1):
                    gain += C[r, i, j] * look[LOOK.now, j]
                variance += look[LOOK.now, i] * gain
            plain, mean = readouts(value, max(variance, 0.0))
            mixed[s] += weights[s, k] * plain + weights[s, K + k] * mean
        normalise(mixed, rules, out[t])


# Single rounds are called from Python, where unpacking a NamedTuple costs more than the round's
# arithmetic: arrays come one by one.


@njit(cache=True)
def round_one(
    opens: bool,
    closes: bool,
    x: np.ndarray,
    label: int,
    time: float,
    clock: np.ndarray,
    features: np.ndarray,
    means: np.ndarray,
    covariances: np.ndarray,
    z: np.ndarray,
    gains: np.ndarray,
    values: np.ndarray,
    outs: np.ndarray,
    sets: np.ndarray,
    rules: np.ndarray,
) -> None:
    """Open a round, close it, or both."""
    state = bare(State(clock, features, means, covariances, z, gains, values, outs, sets, rules))
    if opens:
        propose(x, tick(time, clock), state)
    if closes:
        learn(label, 1.0, state)

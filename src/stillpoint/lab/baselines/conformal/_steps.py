"""Rounds of the conformal baselines: each advances its state by one score; single rounds and bulk
share them bit for bit.
"""

import math

import numpy as np

from stillpoint.core.jit import njit
from stillpoint.losses._pointwise import PINBALL, value

ACI, SCALE_FREE, DECAYING, BETTING = range(4)
# state of the step rules
RADIUS, TIME, SQUARES, COINS, WEALTH = range(5)
# rows of SAOCP's experts
PRIOR, LIFE, AGE, PLAY, SQUARE, GAIN, BET = range(7)
OCTAVES = 64  # life·(1 + log₂ t) experts are alive at most: enough for any t a float counts
# state of α-ACI
ALPHA, FILLED, OLDEST = range(3)


@njit(cache=True)
def step(rule: int, q: float, size: float, power: float, s: float, state: np.ndarray) -> None:
    """Learn from a score by the radius' sign alone: g = 1 − q at a hit, −q at a miss."""
    g = (1.0 - q) if s <= state[RADIUS] else -q
    state[TIME] += 1.0
    if rule == ACI:
        state[RADIUS] -= size * g
    elif rule == DECAYING:
        state[RADIUS] -= size * state[TIME] ** -power * g
    elif rule == SCALE_FREE:
        state[SQUARES] += g * g
        state[RADIUS] = max(0.0, state[RADIUS] - size / math.sqrt(3.0 * state[SQUARES]) * g)
    else:
        state[WEALTH] = max(state[WEALTH] - g * state[RADIUS], 0.0)
        state[COINS] -= g
        state[RADIUS] = state[COINS] / (state[TIME] + 1.0) * state[WEALTH]


@njit(cache=True)
def step_rounds(
    rule: int,
    q: float,
    size: float,
    power: float,
    scores: np.ndarray,
    state: np.ndarray,
    radii: np.ndarray,
) -> None:
    """Rounds in bulk."""
    for t in range(scores.size):
        radii[t] = state[RADIUS]
        step(rule, q, size, power, scores[t], state)


@njit(cache=True)
def aggregate(experts: np.ndarray, alive: int, shares: np.ndarray) -> float:
    """Σ p_i·radius_i with p_i ∝ π_i(w_i)₊; π where no w is above 0."""
    heard, prior = 0.0, 0.0
    for i in range(alive):
        prior += experts[PRIOR, i]
        shares[i] = experts[PRIOR, i] * max(0.0, worth(experts, i))
        heard += shares[i]
    result = 0.0
    for i in range(alive):
        result += (shares[i] / heard if heard > 0.0 else experts[PRIOR, i] / prior) * experts[
            PLAY, i
        ]
    return float(result)


@njit(cache=True)
def worth(experts: np.ndarray, i: int) -> float:
    """Coin betting's weight of an expert: mean gain times wealth."""
    if experts[AGE, i] == 0.0:
        return 0.0
    return float(experts[GAIN, i] / experts[AGE, i] * (1.0 + experts[BET, i]))


@njit(cache=True)
def saocp_open(life: float, experts: np.ndarray, clock: np.ndarray, shares: np.ndarray) -> float:
    """Drop experts whose time is over, add one that starts where the aggregate stands; clock =
    (round, alive, radius).

    The expert born in round i has the prior π_i = 1/(i²(1 + ⌊log₂ i⌋)).
    """
    alive = int(clock[1])
    stand = aggregate(experts, alive, shares)
    kept = 0
    for i in range(alive):
        if experts[AGE, i] < experts[LIFE, i]:
            if kept < i:
                for row in range(experts.shape[0]):
                    experts[row, kept] = experts[row, i]
            kept += 1
    clock[0] += 1.0
    octave, rest = 1.0, int(clock[0])
    while rest % 2 == 0:
        rest //= 2
        octave *= 2.0
    experts[:, kept] = 0.0
    experts[PRIOR, kept] = 1.0 / (clock[0] * clock[0] * (1.0 + math.floor(math.log2(clock[0]))))
    experts[LIFE, kept], experts[PLAY, kept] = life * octave, stand
    clock[1] = kept + 1.0
    clock[2] = aggregate(experts, kept + 1, shares)
    return float(clock[2])


@njit(cache=True)
def saocp_close(q: float, size: float, s: float, experts: np.ndarray, clock: np.ndarray) -> None:
    """Each expert bets on beating the aggregate, then takes a step of scale-free gradient
    descent.
    """
    loss = value(PINBALL, q, clock[2], s)
    for i in range(int(clock[1])):
        weight = worth(experts, i)
        gain = (loss - value(PINBALL, q, experts[PLAY, i], s)) / (size * max(q, 1.0 - q))
        gain = min(max(gain, -1.0 if weight > 0.0 else 0.0), 1.0)
        experts[GAIN, i] += gain
        experts[BET, i] += gain * weight
        experts[AGE, i] += 1.0
        g = (1.0 - q) if s <= experts[PLAY, i] else -q
        experts[SQUARE, i] += g * g
        experts[PLAY, i] = max(
            0.0, experts[PLAY, i] - size / math.sqrt(3.0 * experts[SQUARE, i]) * g
        )


@njit(cache=True)
def saocp_rounds(
    q: float,
    size: float,
    life: float,
    scores: np.ndarray,
    experts: np.ndarray,
    clock: np.ndarray,
    shares: np.ndarray,
    radii: np.ndarray,
) -> None:
    """Rounds in bulk."""
    for t in range(scores.size):
        radii[t] = saocp_open(life, experts, clock, shares)
        saocp_close(q, size, scores[t], experts, clock)


@njit(cache=True)
def empirical(state: np.ndarray, ordered: np.ndarray) -> float:
    """The ⌈(1 − α_t)(n + 1)⌉-th smallest of the n scores in the window; ∞ beyond them, −∞ for the
    empty set.
    """
    n = int(state[FILLED])
    rank = math.ceil((1.0 - state[ALPHA]) * (n + 1.0))
    if rank <= 0:
        return -math.inf
    return math.inf if rank > n else float(ordered[rank - 1])


@njit(cache=True)
def empirical_learn(
    q: float, size: float, s: float, state: np.ndarray, window: np.ndarray, ordered: np.ndarray
) -> None:
    """α_{t+1} = α_t + γ(1 − q − miss), and the score enters the window for the oldest one."""
    state[ALPHA] += size * (1.0 - q - (1.0 if s > empirical(state, ordered) else 0.0))
    n, oldest = int(state[FILLED]), int(state[OLDEST])
    if n == window.size:
        i = np.searchsorted(ordered, window[oldest])
        for j in range(i, n - 1):
            ordered[j] = ordered[j + 1]
        n -= 1
    i = np.searchsorted(ordered[:n], s)
    for j in range(n, i, -1):
        ordered[j] = ordered[j - 1]
    ordered[i] = s
    window[oldest] = s
    state[FILLED], state[OLDEST] = n + 1.0, (oldest + 1.0) % window.size


@njit(cache=True)
def empirical_rounds(
    q: float,
    size: float,
    scores: np.ndarray,
    state: np.ndarray,
    window: np.ndarray,
    ordered: np.ndarray,
    radii: np.ndarray,
) -> None:
    """Rounds in bulk."""
    for t in range(scores.size):
        radii[t] = empirical(state, ordered)
        empirical_learn(q, size, scores[t], state, window, ordered)

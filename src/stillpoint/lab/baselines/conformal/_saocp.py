"""SAOCP's rounds, compiled."""

import math
from typing import NamedTuple

from stillpoint.core.array import Array
from stillpoint.core.jit import njit
from stillpoint.losses._pointwise import PINBALL, value

OCTAVES = 64  # life·(1 + log₂ t) experts are alive at most: enough for any t a float counts


class Rows(NamedTuple):
    """Rows of the experts' array, one column per expert."""

    prior: int = 0
    life: int = 1  # rounds it lives
    age: int = 2
    play: int = 3  # its radius
    square: int = 4  # Σg²
    gain: int = 5  # over the aggregate
    bet: int = 6  # what its bets have won


class Clock(NamedTuple):
    """Places of what the experts share."""

    round: int = 0
    alive: int = 1  # how many experts are
    radius: int = 2  # of the aggregate


ROW, AT = Rows(), Clock()


class State(NamedTuple):
    """What SAOCP has learnt; `shares` is scratch space of one weight per expert."""

    experts: Array
    clock: Array
    shares: Array


@njit(cache=True)
def aggregate(state: State, alive: int) -> float:
    """Σ p_i·radius_i with p_i ∝ π_i(w_i)₊; π where no w is above 0."""
    experts, shares = state.experts, state.shares
    heard, prior = 0.0, 0.0
    for i in range(alive):
        prior += experts[ROW.prior, i]
        shares[i] = experts[ROW.prior, i] * max(0.0, worth(experts, i))
        heard += shares[i]
    result = 0.0
    for i in range(alive):
        share = shares[i] / heard if heard > 0.0 else experts[ROW.prior, i] / prior
        result += share * experts[ROW.play, i]
    return float(result)


@njit(cache=True)
def worth(experts: Array, i: int) -> float:
    """Coin betting's weight of an expert: mean gain times wealth."""
    if experts[ROW.age, i] == 0.0:
        return 0.0
    return float(experts[ROW.gain, i] / experts[ROW.age, i] * (1.0 + experts[ROW.bet, i]))


@njit(cache=True)
def open_round(state: State, life: float) -> float:
    """Drop experts whose time is over, and add one that starts where the aggregate stands.

    The expert born in round i has the prior π_i = 1/(i²(1 + ⌊log₂ i⌋)). Returns the radius.
    """
    experts, clock = state.experts, state.clock
    alive = int(clock[AT.alive])
    stand = aggregate(state, alive)
    kept = 0
    for i in range(alive):
        if experts[ROW.age, i] < experts[ROW.life, i]:
            if kept < i:
                for row in range(experts.shape[0]):
                    experts[row, kept] = experts[row, i]
            kept += 1
    clock[AT.round] += 1.0
    born = clock[AT.round]
    octave, rest = 1.0, int(born)
    while rest % 2 == 0:
        rest //= 2
        octave *= 2.0
    experts[:, kept] = 0.0
    experts[ROW.prior, kept] = 1.0 / (born * born * (1.0 + math.floor(math.log2(born))))
    experts[ROW.life, kept], experts[ROW.play, kept] = life * octave, stand
    clock[AT.alive] = kept + 1.0
    clock[AT.radius] = aggregate(state, kept + 1)
    return float(clock[AT.radius])


@njit(cache=True)
def close_round(state: State, q: float, size: float, s: float) -> None:
    """Let each expert bet on beating the aggregate, then step by scale-free gradient descent."""
    experts, clock = state.experts, state.clock
    loss = value(PINBALL, q, clock[AT.radius], s)
    for i in range(int(clock[AT.alive])):
        weight = worth(experts, i)
        play = experts[ROW.play, i]
        gain = (loss - value(PINBALL, q, play, s)) / (size * max(q, 1.0 - q))
        gain = min(max(gain, -1.0 if weight > 0.0 else 0.0), 1.0)
        experts[ROW.gain, i] += gain
        experts[ROW.bet, i] += gain * weight
        experts[ROW.age, i] += 1.0
        g = (1.0 - q) if s <= play else -q
        experts[ROW.square, i] += g * g
        experts[ROW.play, i] = max(0.0, play - size / math.sqrt(3.0 * experts[ROW.square, i]) * g)


@njit(cache=True)
def play_rounds(
    state: State, q: float, size: float, life: float, scores: Array, radii: Array
) -> None:
    """Play rounds with these scores, and write the radius of each."""
    for t in range(scores.size):
        radii[t] = open_round(state, life)
        close_round(state, q, size, scores[t])

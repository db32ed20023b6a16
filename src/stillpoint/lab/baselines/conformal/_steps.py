"""Rounds of the radii that step on hits and misses alone, compiled."""

import math
from typing import NamedTuple

from stillpoint.core.array import Array
from stillpoint.core.jit import njit

ACI, SCALE_FREE, DECAYING, BETTING = range(4)


class Places(NamedTuple):
    """Where the scalars of a rule are in its state."""

    radius: int = 0
    time: int = 1
    squares: int = 2  # Σg²
    coins: int = 3  # −Σg
    wealth: int = 4


AT = Places()


@njit(cache=True)
def learn(rule: int, q: float, size: float, power: float, s: float, state: Array) -> None:
    """Step by the sign of the miss alone: g = 1 − q at a hit, −q at a miss."""
    g = (1.0 - q) if s <= state[AT.radius] else -q
    state[AT.time] += 1.0
    if rule == ACI:
        state[AT.radius] -= size * g
    elif rule == DECAYING:
        state[AT.radius] -= size * state[AT.time] ** -power * g
    elif rule == SCALE_FREE:
        state[AT.squares] += g * g
        step = size / math.sqrt(3.0 * state[AT.squares]) * g
        state[AT.radius] = max(0.0, state[AT.radius] - step)
    else:
        state[AT.wealth] = max(state[AT.wealth] - g * state[AT.radius], 0.0)
        state[AT.coins] -= g
        state[AT.radius] = state[AT.coins] / (state[AT.time] + 1.0) * state[AT.wealth]


@njit(cache=True)
def play_rounds(
    rule: int, q: float, size: float, power: float, scores: Array, state: Array, radii: Array
) -> None:
    """Play rounds with these scores, and write the radius of each."""
    for t in range(scores.size):
        radii[t] = state[AT.radius]
        learn(rule, q, size, power, scores[t], state)

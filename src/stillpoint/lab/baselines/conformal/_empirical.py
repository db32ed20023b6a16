"""α-ACI's rounds with an empirical quantile, compiled."""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.array import Array
from stillpoint.core.jit import njit


class Places(NamedTuple):
    """Where the scalars are in `State.scalars`."""

    alpha: int = 0
    filled: int = 1  # scores in the window
    oldest: int = 2  # the place of the oldest of them


AT = Places()


class State(NamedTuple):
    """What α-ACI has learnt: its scalars, the last scores as they came, and in order."""

    scalars: Array
    window: Array
    ordered: Array


@njit(cache=True)
def radius(scalars: Array, ordered: Array) -> float:
    """The ⌈(1 − α_t)(n + 1)⌉-th smallest of the n scores; ∞ beyond them, −∞ for the empty set."""
    n = int(scalars[AT.filled])
    rank = math.ceil((1.0 - scalars[AT.alpha]) * (n + 1.0))
    if rank <= 0:
        return -math.inf
    return math.inf if rank > n else float(ordered[rank - 1])


@njit(cache=True)
def learn(state: State, q: float, size: float, s: float) -> None:
    """α_{t+1} = α_t + γ(1 − q − miss), and the score replaces the oldest one in the window."""
    scalars, window, ordered = state.scalars, state.window, state.ordered
    miss = 1.0 if s > radius(scalars, ordered) else 0.0
    scalars[AT.alpha] += size * (1.0 - q - miss)
    n, oldest = int(scalars[AT.filled]), int(scalars[AT.oldest])
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
    scalars[AT.filled], scalars[AT.oldest] = n + 1.0, (oldest + 1.0) % window.size


@njit(cache=True)
def play_rounds(state: State, q: float, size: float, scores: Array, radii: Array) -> None:
    """Play rounds with these scores, and write the radius of each."""
    for t in range(scores.size):
        radii[t] = radius(state.scalars, state.ordered)
        learn(state, q, size, scores[t])

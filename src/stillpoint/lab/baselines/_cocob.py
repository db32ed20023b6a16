"""COCOB's rounds, compiled: interactive calls and the loop over rounds share them bit for bit."""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.arithmetic import assign, usable_norm
from stillpoint.core.array import Array
from stillpoint.core.jit import bare, njit
from stillpoint.losses._pointwise import Outputs, Rounds, evaluate_round
from stillpoint.potentials._magnitudes import CAP


class State(NamedTuple):
    """What COCOB has learnt of each coordinate."""

    theta: Array  # (d,), −Σg
    total: Array  # (d,), L + Σ|g|
    wealth: Array  # (d,), εL + Reward


@njit(cache=True)
def bet(theta: Array, total: Array, wealth: Array, lipschitz: float, w: Array) -> None:
    """Write the play into `w`."""
    for i in range(w.size):
        w[i] = math.tanh(theta[i] / (total[i] + lipschitz)) * (wealth[i] / lipschitz)


@njit(cache=True)
def toss(theta: Array, total: Array, wealth: Array, w: Array, g: Array) -> bool:
    """Learn from the gradient g at w; returns whether some wealth was capped."""
    capped = False
    for i in range(g.size):
        theta[i] -= g[i]
        total[i] += abs(g[i])
        wealth[i] = min(max(wealth[i] - g[i] * w[i], 0.0), CAP)
        capped = capped or wealth[i] == CAP
    return capped


@njit(cache=True)
def play_rounds(
    state: State, lipschitz: float, limit: float, rounds: Rounds, out: Outputs
) -> tuple[int, bool]:
    """Play a block of rounds; returns how many, and whether some wealth was capped.

    Stops early at a round whose gradient is not finite, or has an entry above the limit.
    """
    state, rounds, out = bare(state), bare(rounds), bare(out)
    w, g = np.empty(state.theta.size), np.empty(state.theta.size)
    capped = False
    for n in range(out.losses.size):
        bet(state.theta, state.total, state.wealth, lipschitz, w)
        assign(out.plays[n], w)
        out.losses[n] = evaluate_round(rounds, n, w, g)
        size, top = usable_norm(g), 0.0
        assign(out.gradients[n], g)
        for i in range(g.size):
            top = max(top, abs(g[i]))
        if not (math.isfinite(size) and top <= limit):
            return n, capped
        capped = toss(state.theta, state.total, state.wealth, w, g) or capped
    return out.losses.size, capped

"""KT's rounds, compiled: interactive calls and the loop over rounds share them bit for bit."""

import math

import numpy as np

from stillpoint.core.arithmetic import assign, dot, usable_norm
from stillpoint.core.array import Array
from stillpoint.core.jit import bare, njit
from stillpoint.losses._pointwise import Outputs, Rounds, evaluate_round
from stillpoint.potentials._magnitudes import CAP


@njit(cache=True)
def bet(coins: Array, wealth: float, t: int, w: Array) -> None:
    """Write the play after t coins, whose sum is `coins`, into `w`."""
    share = wealth / (t + 1)
    for i in range(w.size):
        w[i] = coins[i] * share


@njit(cache=True)
def toss(coins: Array, wealth: float, lipschitz: float, w: Array, g: Array) -> float:
    """Add the coin −g/G to the sum; returns the wealth after the bet w on it."""
    for i in range(g.size):
        coins[i] -= g[i] / lipschitz
    return min(max(wealth - dot(g, w) / lipschitz, 0.0), CAP)


@njit(cache=True)
def play_rounds(
    coins: Array,
    wealth: float,
    lipschitz: float,
    limit: float,
    t: int,
    rounds: Rounds,
    out: Outputs,
) -> tuple[int, float, bool]:
    """Play a block of rounds after t coins; returns how many, the wealth, and if it was capped.

    Stops early at a round whose gradient is not finite or above the limit.
    """
    rounds, out = bare(rounds), bare(out)
    w, g = np.empty(coins.size), np.empty(coins.size)
    capped = False
    for n in range(out.losses.size):
        bet(coins, wealth, t + n, w)
        assign(out.plays[n], w)
        out.losses[n] = evaluate_round(rounds, n, w, g)
        size = usable_norm(g)
        assign(out.gradients[n], g)
        if not (math.isfinite(size) and size <= limit):
            return n, wealth, capped
        wealth = toss(coins, wealth, lipschitz, w, g)
        capped = capped or wealth == CAP
    return out.losses.size, wealth, capped

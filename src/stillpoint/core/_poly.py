"""ML-Poly blended with exponential weights, as regression and intervals aggregate their experts.

ML-Poly (Gaillard, Stoltz & van Erven, A second-order bound with excess losses, 2014) gives expert i
a weight ∝ (R_i)₊/(B + V_i): R_i sums its regrets r_i, V_i their squares, and B is the largest
square so far. Exponential weights, ∝ exp(−RATE·L_i) with L_i the sum of its losses, find a good
expert sooner: they have the part WARM/(WARM + t) of the blend, t the rounds learnt.

Regrets and losses are in units of a running mean loss, so that units of the targets do not matter.
Arrays end in one column an expert: `regrets` has the rows of `Regrets`, `weights` those of
`Weights`.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import njit

FORGET = 0.01  # the running mean loss is over about 1/FORGET rounds
CAP = 100.0  # a loss counts as at most so many times the running mean of those before
WARM, RATE = 300.0, 0.25


class Regrets(NamedTuple):
    """Rows of `regrets`."""

    regret: int = 0  # R
    squares: int = 1  # V
    loss: int = 2  # L


class Weights(NamedTuple):
    """Rows of `weights`."""

    poly: int = 0  # ML-Poly's own
    blend: int = 1  # those of the forecast


REGRETS, WEIGHTS = Regrets(), Weights()


@njit(cache=True)
def weigh(regrets: np.ndarray, record: float, learnt: float, weights: np.ndarray) -> None:
    """Fill `weights` after so many rounds learnt; record is B."""
    K = regrets.shape[1]
    total, least = 0.0, np.inf
    for k in range(K):
        weights[WEIGHTS.poly, k] = 0.0
        spread = record + regrets[REGRETS.squares, k]
        # the square of a regret may be less than a float can be
        if regrets[REGRETS.regret, k] > 0.0 and spread > 0.0:
            weights[WEIGHTS.poly, k] = regrets[REGRETS.regret, k] / spread
        total += weights[WEIGHTS.poly, k]
        least = min(least, regrets[REGRETS.loss, k])
    mass = 0.0
    for k in range(K):
        own = weights[WEIGHTS.poly, k] / total if total > 0.0 else 1.0 / K
        weights[WEIGHTS.poly, k] = own
        weights[WEIGHTS.blend, k] = math.exp(-RATE * (regrets[REGRETS.loss, k] - least))
        mass += weights[WEIGHTS.blend, k]
    early = WARM / (WARM + learnt)
    for k in range(K):
        weights[WEIGHTS.blend, k] = (1.0 - early) * weights[WEIGHTS.poly, k] + early * weights[
            WEIGHTS.blend, k
        ] / mass


@njit(cache=True)
def credit(regrets: np.ndarray, k: int, regret: float, loss: float, record: float) -> float:
    """Add a round's regret and loss to those of expert k; returns the new record B."""
    regrets[REGRETS.regret, k] += regret
    regrets[REGRETS.squares, k] += regret * regret
    regrets[REGRETS.loss, k] += loss
    return max(record, regret * regret)


@njit(cache=True)
def running_mean(mean: float, value: float, memory: float) -> float:
    """The mean with one more value, which counts as at most CAP times the mean: one jump must not
    blind the aggregation for long.

    memory is how many values the mean is over, this one included: (1 − FORGET)·memory + 1 a round.
    """
    # from 0, after constant targets, a capped mean could not rise
    if memory >= 11.0 and mean > 0.0:
        value = min(value, CAP * mean)
    return mean + (value - mean) / memory

"""Bets against the ranks of a stream: what they have won is evidence that it has changed.

Where nothing changes, the rank u_t ∈ (0, 1) of row t among those before is uniform and independent
of theirs. Twelve bets pay f_k(x) = εx^(ε−1), ε ∈ {0.2, 0.5, 0.8}, at x = 1 − u (the level went up),
u (down), 1 − |2u − 1| (wider) and |2u − 1| (narrower): E f_k = 1 then. With

    M_k ← (1 + M_k)·f_k,   M = mean of the M_k                       (Shiryaev & Roberts)
    S_k ← max(0, S_k + ln f_k),   begun in the row after its last 0  (Page's cusum)

M_t − t is a martingale, so that the first row with M ≥ A is row A at the earliest on average.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import njit

DIRECTIONS, BETS = 4, 12
EXPONENTS = np.array([0.2, 0.5, 0.8])
LOGS = np.log(EXPONENTS)
LEAST = 1e-15  # of x: payoffs stay finite


class Bets(NamedTuple):
    """What each of the bets has won, three for each direction."""

    sums: np.ndarray  # (12,): M_k
    cusums: np.ndarray  # (12,): S_k
    begins: np.ndarray  # (12,): the row in which S_k has begun
    before: np.ndarray  # (12, 3): moments of the rows since the last change and before that
    after: np.ndarray  # (12, 3): and of those from it on


@njit(cache=True)
def measure(moments: np.ndarray, value: float) -> None:
    """Add a value to its count, mean and sum of squared deviations (Welford 1962)."""
    moments[0] += 1.0
    gap = value - moments[1]
    moments[1] += gap / moments[0]
    moments[2] += gap * (value - moments[1])


@njit(cache=True)
def deviation(moments: np.ndarray) -> float:
    """The standard deviation; 0 of a single value."""
    return math.sqrt(moments[2] / max(moments[0] - 1.0, 1.0))


@njit(cache=True)
def rest(b: Bets, row: int, total: np.ndarray) -> None:
    """Win nothing yet: all begin in the row after this one, before which there is `total`."""
    for k in range(BETS):
        b.sums[k] = b.cusums[k] = 0.0
        split(b, k, row, total)


@njit(cache=True)
def split(b: Bets, k: int, row: int, total: np.ndarray) -> None:
    """Bet k begins in the row after this one."""
    b.begins[k] = row + 1
    for i in range(3):
        b.before[k, i] = total[i]
        b.after[k, i] = 0.0


@njit(cache=True)
def bet(b: Bets, down: float, up: float, row: int, value: float, total: np.ndarray) -> float:
    """Place the bets on a row's rank, down = u and up = 1 − u; returns M.

    `value` is the row's own, `total` the moments of the values since the last change, this one
    among them.
    """
    M = 0.0
    for d in range(DIRECTIONS):
        x = up
        if d == 1:
            x = down
        elif d == 2:
            x = 2.0 * min(up, down)
        elif d == 3:
            x = abs(up - down)
        log = math.log(max(x, LEAST))
        for i in range(EXPONENTS.size):
            k = d * EXPONENTS.size + i
            gain = LOGS[i] + (EXPONENTS[i] - 1.0) * log
            b.sums[k] = (1.0 + b.sums[k]) * math.exp(gain)
            M += b.sums[k]
            b.cusums[k] = max(0.0, b.cusums[k] + gain)
            if b.cusums[k] > 0.0:
                measure(b.after[k], value)
            else:
                split(b, k, row, total)
    return M / BETS


@njit(cache=True)
def best(b: Bets) -> int:
    """The bet that has won most."""
    k = 0
    for i in range(1, BETS):
        if b.sums[i] > b.sums[k]:
            k = i
    return k

"""Bets against the ranks of a stream: what they have won is evidence that it has changed.

Where nothing changes, the rank u_t ∈ (0, 1) of row t among those before is uniform and independent
of theirs. Eight bets pay f(x) = εx^(ε−1), ε ∈ {0.2, 0.5}, at x = 1 − u (the level went up), u
(down), 1 − |2u − 1| (wider) and |2u − 1| (narrower): they win most on extreme rows. Four more pay

    f(u) = e^(κ(2u − 1))·κ/sinh κ,    κ = ±√3·0.2, ±√3·0.7

which for small moves of a normal level is 95% as good as knowing how far it moved (Wilcoxon 1945).
In a stream with a season one more pays the same with κ_t = √3·β'B(t), where B(t) are its harmonics
and β the regression on them of the scores √3(2u − 1) of the last four periods: errors that repeat.
All of them have E f = 1 where nothing changes, whatever was before. With

    M_k ← (1 + M_k)·f_k,   M = mean of the M_k                       (Shiryaev & Roberts)
    S_k ← max(0, S_k + ln f_k),   begun in the row after its last 0  (Page's cusum)

M_t − t is a martingale, so that the first row with M ≥ A is row A at the earliest on average.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import njit

DIRECTIONS = 4
EXPONENTS = np.array([0.2, 0.5])
LOGS = np.log(EXPONENTS)
ROOT = math.sqrt(3.0)
TILTS = ROOT * np.array([0.2, -0.2, 0.7, -0.7])
POWERS = DIRECTIONS * EXPONENTS.size
SEASON = POWERS + TILTS.size  # the last bet
BETS = SEASON + 1
LEAST = 1e-15  # of x: payoffs stay finite
LEVEL, REPEATED = (
    3.0,
    10.0,
)  # times as much as bets on the level, and the season, others must have won
STEEPEST = 2.0 * ROOT  # κ of the season: two deviations

UP, DOWN, WIDER, NARROWER, SLOPE_UP, SLOPE_DOWN, MOVED = range(7)
KINDS = np.array([UP, UP, DOWN, DOWN, WIDER, WIDER, NARROWER, NARROWER, UP, DOWN, UP, DOWN, MOVED])


class Bets(NamedTuple):
    """What each of the bets has won."""

    sums: np.ndarray  # (13,): M_k
    cusums: np.ndarray  # (13,): S_k
    begins: np.ndarray  # (13,): the row in which S_k has begun
    lengths: np.ndarray  # (13,): values since


@njit(cache=True)
def rest(b: Bets, row: int) -> None:
    """Win nothing yet: all begin in the row after this one."""
    for k in range(BETS):
        b.sums[k] = b.cusums[k] = b.lengths[k] = 0.0
        b.begins[k] = row + 1


@njit(cache=True)
def tilted(tilt: float, score: float) -> float:
    """The logarithm of what a tilt κ pays at 2u − 1."""
    if abs(tilt) < 1e-4:
        return tilt * (score - tilt / 6.0)
    return tilt * score - math.log(math.sinh(tilt) / tilt)


@njit(cache=True)
def bet(b: Bets, down: float, up: float, row: int, season: float) -> float:
    """Place the bets on a row's rank, down = u and up = 1 − u; returns M.

    `season` is κ_t, or NaN in a stream without.
    """
    M, count = 0.0, SEASON
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
            gain = LOGS[i] + (EXPONENTS[i] - 1.0) * log
            M += _place(b, d * EXPONENTS.size + i, gain, row)
    for i in range(TILTS.size):
        M += _place(b, POWERS + i, tilted(TILTS[i], down - up), row)
    if not math.isnan(season):
        count += 1
        steep = min(max(season, -STEEPEST), STEEPEST)
        M += _place(b, SEASON, tilted(steep, down - up), row)
    return M / count


@njit(cache=True)
def _place(b: Bets, k: int, gain: float, row: int) -> float:
    """Bet k wins e^gain; returns M_k."""
    b.sums[k] = (1.0 + b.sums[k]) * math.exp(gain)
    b.cusums[k] = max(0.0, b.cusums[k] + gain)
    if b.cusums[k] > 0.0:
        b.lengths[k] += 1.0
    else:
        b.begins[k], b.lengths[k] = row + 1, 0.0
    return float(b.sums[k])


@njit(cache=True)
def best(b: Bets) -> int:
    """The bet that has won most; one on the level, or the season, if it has won nearly as much.

    A level that moves is extreme, too: what was won on the spread since long before is no sign of
    it. That a spread has moved is clear some rows later (`sizes`).
    """
    level = spread = -1
    for i in range(SEASON):
        if KINDS[i] == UP or KINDS[i] == DOWN:
            level = i if level < 0 or b.sums[i] > b.sums[level] else level
        else:
            spread = i if spread < 0 or b.sums[i] > b.sums[spread] else spread
    k = level if LEVEL * b.sums[level] >= b.sums[spread] else spread
    return SEASON if b.sums[SEASON] > b.sums[k] / REPEATED else k

"""Kalman filters of drifting coefficients side by side, and the clock that their drift goes by.

Filter k has a mean θ, row k of M, and a covariance C[k]; the intercept is the last coordinate.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import njit

# of a gap, in mean gaps: the filters that drift have forgotten all by then, and beyond it digits
# would go
LONGEST = 1e4

# of z'Cz: rounding that leaves less has left no digits of C
LOST = -0.5


class Clock(NamedTuple):
    """Places in `clock`."""

    first: int = 0  # time of the first timed round
    last: int = 1  # and of the last one
    steps: int = 2  # rounds from the one to the other
    pending: int = 3  # rounds since, without a time


CLOCK = Clock()


@njit(cache=True)
def drift(C: np.ndarray, rates: np.ndarray, pace: float) -> None:
    """Let coefficients move: C grows by each filter's rates, (slope, intercept), times the pace.

    Filters may come in several sets, each with all rates.
    """
    last, K = C.shape[1] - 1, rates.shape[0]
    for k in range(C.shape[0]):
        slope, level = pace * rates[k % K, 0], pace * rates[k % K, 1]
        for i in range(last):
            C[k, i, i] += slope
        C[k, last, last] += level


@njit(cache=True)
def foresee(
    k: int, z: np.ndarray, M: np.ndarray, C: np.ndarray, gains: np.ndarray
) -> tuple[float, float]:
    """Value z'θ of filter k and its variance z'Cz; leaves C z in its row of `gains`."""
    value, variance = 0.0, 0.0
    for j in range(z.size):
        gains[k, j] = 0.0
    # column by column, which is the order that vectorises without changing a bit
    for i in range(z.size):
        value += z[i] * M[k, i]
        for j in range(z.size):
            gains[k, j] += C[k, i, j] * z[i]
    for j in range(z.size):
        variance += gains[k, j] * z[j]
    return value, variance


@njit(cache=True)
def renew(
    k: int, slope: float, intercept: float, M: np.ndarray, C: np.ndarray, gains: np.ndarray
) -> None:
    """Let filter k begin anew, at prior variances, and learn nothing in the open round.

    Features that grow without end and never tell two coefficients apart leave a direction whose
    variance grows with their square; next to it, all that is known is lost in rounding.
    """
    last = M.shape[1] - 1
    for i in range(last + 1):
        M[k, i] = gains[k, i] = 0.0
        for j in range(last + 1):
            C[k, i, j] = 0.0
        C[k, i, i] = slope if i < last else intercept


@njit(cache=True)
def absorb(
    k: int, step: float, factor: float, M: np.ndarray, C: np.ndarray, gains: np.ndarray
) -> None:
    """Condition filter k on what was seen, with g = C z: θ += g·step and C −= gg'·factor."""
    for i in range(M.shape[1]):
        M[k, i] += gains[k, i] * step
        for j in range(M.shape[1]):
            C[k, i, j] -= (gains[k, i] * gains[k, j]) * factor  # symmetric to the bit in this order


@njit(cache=True)
def gap(time: float, clock: np.ndarray) -> float:
    """Time since the last round in mean gaps so far, less the rounds since without a time.

    1 where it is not known.
    """
    if math.isnan(time) or clock[CLOCK.steps] < 2.0:
        return 1.0
    mean = (clock[CLOCK.last] - clock[CLOCK.first]) / (clock[CLOCK.steps] - 1.0)
    if mean == 0.0:  # denormal times
        return 1.0
    return float(min(max((time - clock[CLOCK.last]) / mean - clock[CLOCK.pending], 0.0), LONGEST))


@njit(cache=True)
def tick(time: float, clock: np.ndarray) -> float:
    """Return `gap` and set the clock to that time; NaN for a round without one."""
    pace = gap(time, clock)
    if math.isnan(time):
        if clock[CLOCK.steps] > 0.0:
            clock[CLOCK.pending] += 1.0
        return pace
    if clock[CLOCK.steps] == 0.0:
        clock[CLOCK.first] = time
    clock[CLOCK.steps] += 1.0 + clock[CLOCK.pending]
    clock[CLOCK.last], clock[CLOCK.pending] = time, 0.0
    return pace

"""Features standardised as they come, and rebased: changes of origin and unit go into the filters.

Feature i has a running mean and spread, and a base: the centre and scale that z_i = (x_i − centre)/
scale is made with. Bases change rarely, when the count of values is a power of two or the spread
has doubled; the filters' means and covariances are then moved to the new coordinates exactly.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.beliefs._kalman import LIMIT
from stillpoint.core.jit import njit

CLIP = 10.0  # standard deviations from the mean that a value counts as at most
RESET = 100.0  # growth of a scale from which on the coefficient starts anew
MOST = 1e100  # variance of a coefficient from which on it does: squares of larger ones overflow


class Features(NamedTuple):
    """Rows of `features`, one column a feature."""

    mean: int = 0
    squares: int = 1  # sum of squared distances from the mean
    centre: int = 2
    scale: int = 3  # 0 while all values are the same
    seen: int = 4  # how many values


class Look(NamedTuple):
    """Rows of `look`: a context of the coming round before any filter moves."""

    now: int = 0  # in the coordinates of now
    then: int = 1  # in those of its own round
    fresh: int = 2  # 1 where its coefficient would start anew


ROW, LOOK = Features(), Look()


@njit(cache=True)
def sound(x: np.ndarray, missing: bool) -> bool:
    """Whether all entries are within the limit, or NaN where that is allowed."""
    good = True
    for value in x:
        good &= abs(value) <= LIMIT or (missing and math.isnan(value))
    return good


@njit(cache=True)
def rebase(
    i: int,
    mean: float,
    spread: float,
    prior: float,
    features: np.ndarray,
    M: np.ndarray,
    C: np.ndarray,
) -> None:
    """Give feature i a new origin and unit: the same posterior, in new coordinates."""
    ratio = spread / features[ROW.scale, i]
    shift = (mean - features[ROW.centre, i]) / features[ROW.scale, i]
    last = M.shape[1] - 1
    features[ROW.centre, i], features[ROW.scale, i] = mean, spread
    for k in range(M.shape[0]):
        if ratio > RESET or ratio * ratio * C[k, i, i] > MOST:
            # What varied so far was rounding noise. Its shift is not passed on to the intercept: of
            # order ratio² in the covariance, it would cost the filter all its digits.
            M[k, i] = 0.0
            for j in range(last + 1):
                C[k, i, j] = C[k, j, i] = 0.0
            C[k, i, i] = prior
            continue
        M[k, last] += shift * M[k, i]
        M[k, i] *= ratio
        for j in range(last + 1):
            C[k, last, j] += shift * C[k, i, j]
        for j in range(last + 1):
            C[k, j, last] += shift * C[k, j, i]
        for j in range(last + 1):
            C[k, i, j] *= ratio
        for j in range(last + 1):
            C[k, j, i] *= ratio


@njit(cache=True)
def observe(value: float, i: int, features: np.ndarray) -> tuple[int, float, float]:
    """Count, mean and sum of squares of feature i with one more value."""
    seen = features[ROW.seen, i]
    number = int(seen) + 1
    before = math.sqrt(features[ROW.squares, i] / seen) if seen >= 10.0 else 0.0
    if before > 0.0:  # a feature that starts late has no spread to be clipped to
        reach = 2.0 * CLIP * before
        value = min(max(value, features[ROW.mean, i] - reach), features[ROW.mean, i] + reach)
    gap = value - features[ROW.mean, i]
    mean = features[ROW.mean, i] + gap / number
    return number, mean, features[ROW.squares, i] + gap * (value - mean)


@njit(cache=True)
def due(number: int, spread: float, scale: float) -> bool:
    """Whether a feature with that base takes a new one."""
    return spread > 0.0 and (number & (number - 1) == 0 or spread > 2.0 * scale)


@njit(cache=True)
def standardise(
    x: np.ndarray, prior: float, features: np.ndarray, M: np.ndarray, C: np.ndarray, z: np.ndarray
) -> None:
    """Fill z with (x − centre)/scale, and 1 for the intercept; running statistics take x in first.

    NaN in x stands for the running mean.
    """
    for i in range(x.size):
        if math.isnan(x[i]):
            scale = features[ROW.scale, i]
            z[i] = (features[ROW.mean, i] - features[ROW.centre, i]) / scale if scale > 0.0 else 0.0
            continue
        number, mean, squares = observe(x[i], i, features)
        features[ROW.seen, i] = number
        features[ROW.mean, i] = mean
        features[ROW.squares, i] = squares
        spread, scale = math.sqrt(squares / number), features[ROW.scale, i]
        if spread > 0.0 and scale == 0.0:
            features[ROW.centre, i], features[ROW.scale, i] = mean, spread
        elif due(number, spread, scale):
            rebase(i, mean, spread, prior, features, M, C)
        z[i] = 0.0
        if features[ROW.scale, i] > 0.0:
            value = min(max(x[i], mean - CLIP * spread), mean + CLIP * spread)
            z[i] = (value - features[ROW.centre, i]) / features[ROW.scale, i]
    z[x.size] = 1.0


@njit(cache=True)
def glimpse(x: np.ndarray, features: np.ndarray, look: np.ndarray) -> None:
    """Fill `look` with the z that `standardise` would make of x; nothing moves.

    Rebasing is a change of coordinates, so the row `now` with the filters as they are gives what
    `then` would after it. A feature to be reset has 0 in `now` and 1 in `fresh`.
    """
    for i in range(x.size):
        scale, centre = features[ROW.scale, i], features[ROW.centre, i]
        look[LOOK.now, i] = look[LOOK.then, i] = look[LOOK.fresh, i] = 0.0
        if math.isnan(x[i]):
            if scale > 0.0:
                look[LOOK.now, i] = look[LOOK.then, i] = (features[ROW.mean, i] - centre) / scale
            continue
        number, mean, squares = observe(x[i], i, features)
        spread = math.sqrt(squares / number)
        value = min(max(x[i], mean - CLIP * spread), mean + CLIP * spread)
        if scale == 0.0:
            if spread > 0.0:
                look[LOOK.now, i] = look[LOOK.then, i] = (value - mean) / spread
            continue
        look[LOOK.now, i] = look[LOOK.then, i] = (value - centre) / scale
        if due(number, spread, scale):
            look[LOOK.then, i] = (value - mean) / spread
            if spread / scale > RESET:
                look[LOOK.now, i], look[LOOK.fresh, i] = 0.0, 1.0
    look[LOOK.now, x.size] = look[LOOK.then, x.size] = 1.0
    look[LOOK.fresh, x.size] = 0.0

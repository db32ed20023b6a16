"""A regression of values on the last three, which does not forget: what a change stands out from.

With v = (y − centre)/scale and z = (1, v_{t−1}, v_{t−2}, v_{t−3}, harmonics, time), e = v − z'θ,

    S = 1 + z'Cz;  r = e/√S;  θ += Cz e/S;  C −= Cz(Cz)'/S          θ₀ = 0, C₀ = 100·I

is ridge regression; the r are exchangeable, nearly, if nothing changes. An adaptive forecaster
would follow a change; without lags any memory of the stream would look like one. Rows whose z is
far from all others count less, w = min(1, 2(d/n)/z'Cz) with S = 1/w + z'Cz in what is learnt: after
a jump a few of them would make the regression one that follows (Mallows 1975). The first sixty
count whole. A value far from its forecast may be a typo, whose lags would spoil the three forecasts
after it, or the stream may have jumped: the next value is forecast from it and from what it was
forecast to be, and the better forecast tells which of the two stays among the lags.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core._harmonics import fill
from stillpoint.core.jit import njit

LAGS = 3
PRIOR = 100.0  # variance of coefficients, in units of the values' own
FAR = 1e6  # standardised values beyond it would cost C its digits: their squares times 1e-16
USUAL = 2.0  # z'Cz of that many times the usual one count whole


class Reference(NamedTuple):
    """The regression."""

    units: np.ndarray  # (2,): centre and scale
    lags: np.ndarray  # (4,): the last values, the latest first; what that may be instead
    theta: np.ndarray  # (columns,)
    C: np.ndarray  # (columns, columns)
    z: np.ndarray  # (columns,): regressors
    g: np.ndarray  # (columns,): Cz


@njit(cache=True)
def reset(f: Reference, centre: float, scale: float) -> None:
    """Forget all, and have these units."""
    f.units[0], f.units[1] = centre, scale
    for i in range(f.theta.size):
        f.theta[i] = 0.0
        for j in range(f.theta.size):
            f.C[i, j] = PRIOR if i == j else 0.0


@njit(cache=True)
def standardise(f: Reference, y: float, move: float) -> float:
    """The value, moved a little, in units of the reference."""
    return float(min(max(((y - f.units[0]) + move) / f.units[1], -FAR), FAR))


@njit(cache=True)
def regressors(f: Reference, waves: np.ndarray, row: int, time: float) -> None:
    """Put together z of a row; `time` is used if there is a column for it."""
    f.z[f.z.size - 1] = time
    f.z[0] = 1.0
    for i in range(LAGS):
        f.z[1 + i] = f.lags[i]
    fill(waves, row, f.z[1 + LAGS :])


@njit(cache=True)
def error_of(f: Reference, v: float) -> tuple[float, float]:
    """e and S of a value; leaves Cz in `g`."""
    error, spread = v, 0.0
    for i in range(f.z.size):
        f.g[i] = 0.0
        for j in range(f.z.size):
            f.g[i] += f.C[i, j] * f.z[j]
        error -= f.z[i] * f.theta[i]
        spread += f.z[i] * f.g[i]
    return error, 1.0 + max(spread, 0.0)


@njit(cache=True)
def learn(f: Reference, error: float, S: float, count: int) -> None:
    """Learn from a value's error, after `error_of`, and forget z.

    `count` are the values before, or 0: then the row counts whole.
    """
    d = f.z.size
    S = max(S, (S - 1.0) * (1.0 + count / (USUAL * d)))
    for i in range(d):
        f.z[i] = f.g[i] / S
        f.theta[i] += f.z[i] * error
    for i in range(d):
        for j in range(d):
            f.C[i, j] -= f.g[i] * f.z[j]


@njit(cache=True)
def settle(f: Reference, v: float) -> tuple[float, float]:
    """As `error_of`, after `regressors`; settles what the value before was."""
    error, S = error_of(f, v)
    if f.lags[LAGS] != f.lags[0]:
        f.z[1] = f.lags[LAGS]
        instead, spread = error_of(f, v)
        if abs(instead) < abs(error):
            f.lags[0] = f.lags[LAGS]
            return instead, spread
        f.z[1] = f.lags[0]
        error, S = error_of(f, v)
    return error, S


@njit(cache=True)
def remember(f: Reference, v: float, instead: float) -> None:
    """Put a value before the lags, which may be another `instead`; itself where that is certain."""
    for i in range(LAGS - 1, 0, -1):
        f.lags[i] = f.lags[i - 1]
    f.lags[0], f.lags[LAGS] = v, instead


@njit(cache=True)
def comparable(error: float, S: float) -> float:
    """The error as if all had been foretold equally well, r = e/√S."""
    return error / math.sqrt(S)

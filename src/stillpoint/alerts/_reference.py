"""A regression of values on the last three, which does not forget: what a change stands out from.

With v = (y − centre)/scale and z = (1, v_{t−1}, v_{t−2}, v_{t−3}, harmonics), e = v − z'θ,

    S = 1 + z'Cz;  r = e/√S;  θ += Cz e/S;  C −= Cz(Cz)'/S          θ₀ = 0, C₀ = 100·I

is ridge regression; the r are exchangeable, nearly, if nothing changes. An adaptive forecaster
would follow a change; without lags any memory of the stream would look like one.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import njit

LAGS = 3
PRIOR = 100.0  # variance of coefficients, in units of the values' own
FAR = 1e6  # standardised values beyond it would cost C its digits: their squares times 1e-16


class Reference(NamedTuple):
    """The regression."""

    units: np.ndarray  # (2,): centre and scale
    lags: np.ndarray  # (3,): the last values, the latest first
    theta: np.ndarray  # (4 + harmonics,)
    C: np.ndarray  # (4 + harmonics, 4 + harmonics)
    work: np.ndarray  # (2, 4 + harmonics): room for z and Cz


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
def error_of(f: Reference, v: float, harmonics: np.ndarray) -> tuple[float, float]:
    """e and S of a value; leaves z and Cz in `work`."""
    z, g, d = f.work[0], f.work[1], f.theta.size
    z[0] = 1.0
    for i in range(LAGS):
        z[1 + i] = f.lags[i]
    for i in range(d - 1 - LAGS):
        z[1 + LAGS + i] = harmonics[i]
    error, spread = v, 0.0
    for i in range(d):
        g[i] = 0.0
        for j in range(d):
            g[i] += f.C[i, j] * z[j]
        error -= z[i] * f.theta[i]
        spread += z[i] * g[i]
    return error, 1.0 + max(spread, 0.0)


@njit(cache=True)
def learn(f: Reference, v: float, error: float, S: float) -> None:
    """Learn from a value, after `error_of`, and put it before the lags."""
    g = f.work[1]
    for i in range(g.size):
        f.theta[i] += g[i] * (error / S)
        for j in range(g.size):
            f.C[i, j] -= g[i] * (g[j] / S)
    remember(f, v)


@njit(cache=True)
def remember(f: Reference, v: float) -> None:
    """Put a value before the lags."""
    for i in range(LAGS - 1, 0, -1):
        f.lags[i] = f.lags[i - 1]
    f.lags[0] = v


@njit(cache=True)
def comparable(error: float, S: float) -> float:
    """The error as if all had been foretold equally well, r = e/√S."""
    return error / math.sqrt(S)

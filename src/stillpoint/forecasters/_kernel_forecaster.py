"""The grid of spline filters (KALMAN section 1, P = 1), advanced together, and the rounds of the
forecaster over it.
"""

import math

import numpy as np

from stillpoint.core.jit import njit
from stillpoint.forecasters._aggregation import combine, learn

# places in the vector of scalars c
TIME, FIRST, ROUNDS, SEEN, RESIDUAL, OPEN, FORECAST, EXPERTS = 0, 1, 2, 3, 4, 5, 6, 7


@njit(cache=True)
def awake(rounds: float, elapsed: float, most: int, grows: bool) -> int:
    """How many ridges take part: 1 + ⌈log₂ t⌉ of them, the widest window being about all
    there was.
    """
    if not grows:
        return most
    return min(most, 1 + math.ceil(math.log2(max(rounds, elapsed))))


@njit(cache=True)
def begin(
    time: float,
    rule: int,
    grows: bool,
    lam: np.ndarray,
    m: np.ndarray,
    C: np.ndarray,
    v: np.ndarray,
    p: np.ndarray,
    R: np.ndarray,
    V: np.ndarray,
    s: np.ndarray,
    w: np.ndarray,
    c: np.ndarray,
) -> float:
    """Open a round at this time; returns the forecast."""
    if c[ROUNDS] == 0.0:
        c[FIRST] = time
        gap = time  # the prior is that of time 0, where the spline has variance λ
    else:
        gap = time - c[TIME]
    for i in range(lam.size):
        v[i] = C[i] + gap
        p[i] = lam[i] / (v[i] + lam[i]) * m[i]
    c[TIME], c[OPEN] = time, 1.0
    experts = awake(c[ROUNDS] + 1.0, time - c[FIRST] + 1.0, lam.size, grows)
    c[EXPERTS] = experts
    c[FORECAST] = combine(rule, p[:experts], R, V, s, w)
    return float(c[FORECAST])


@njit(cache=True)
def finish(
    y: float,
    rule: int,
    share: float,
    lam: np.ndarray,
    m: np.ndarray,
    C: np.ndarray,
    v: np.ndarray,
    p: np.ndarray,
    R: np.ndarray,
    V: np.ndarray,
    s: np.ndarray,
    c: np.ndarray,
) -> None:
    """Close the open round; y is NaN where it is missing."""
    if math.isnan(y):
        for i in range(lam.size):
            C[i] = v[i]
    else:
        learn(rule, c[FORECAST], y, share, p[: int(c[EXPERTS])], R, V, s)
        for i in range(lam.size):
            part = v[i] / (v[i] + lam[i])
            m[i] += part * (y - m[i])
            C[i] = part * lam[i]  # v − v²/S without the cancellation
        c[SEEN] += 1.0
        c[RESIDUAL] += ((y - c[FORECAST]) ** 2 - c[RESIDUAL]) / c[SEEN]
    c[ROUNDS] += 1.0
    c[OPEN] = 0.0


@njit(cache=True)
def stream(
    y: np.ndarray,
    times: np.ndarray,
    out: np.ndarray,
    rule: int,
    share: float,
    grows: bool,
    lam: np.ndarray,
    m: np.ndarray,
    C: np.ndarray,
    v: np.ndarray,
    p: np.ndarray,
    R: np.ndarray,
    V: np.ndarray,
    s: np.ndarray,
    w: np.ndarray,
    c: np.ndarray,
) -> None:
    """Round after round, forecasts into out."""
    for t in range(y.size):
        out[t] = begin(times[t], rule, grows, lam, m, C, v, p, R, V, s, w, c)
        finish(y[t], rule, share, lam, m, C, v, p, R, V, s, c)

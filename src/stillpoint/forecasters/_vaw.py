"""Rounds of KernelVAW and TrackingVAW in bulk, one loop a form of the state space.

A forecast is λm/S, S = v + λ, with m and v the posterior's mean and variance.
"""

from typing import NamedTuple

import numpy as np

from stillpoint.beliefs._kalman import (
    Moves,
    State,
    add_round,
    correct,
    correct_value,
    gain,
    propagate,
    propagate_diagonal,
    spread,
    spread_value,
)
from stillpoint.core.arithmetic import dot
from stillpoint.core.jit import bare, njit


class Work(NamedTuple):
    """Room for one round of independent components, one entry each."""

    g: np.ndarray  # C H
    u: np.ndarray  # D H
    root_gain: np.ndarray  # what the correction and the move need of them
    a: np.ndarray
    b: np.ndarray
    z: np.ndarray


@njit(cache=True)
def scalar_rounds(
    state: State,
    h: np.ndarray,
    ridge: float,
    moves: Moves,
    Y: np.ndarray,
    totals: np.ndarray,
    forecasts: np.ndarray,
) -> None:
    """A state of one component."""
    C, M, D = bare(state)
    moves = bare(moves)
    which, nuggets = moves.which, moves.nuggets
    c, s, h1 = C[0, 0], D[0, 0], h[0]
    for t in range(forecasts.shape[0]):
        f = 1.0
        if which[t] >= 0:
            f, q = moves.transitions[which[t], 0, 0], moves.noises[which[t], 0, 0]
            c, s = f * f * c + q, f * f * s + q
        v, error = h1 * h1 * c + nuggets[t], h1 * h1 * s + nuggets[t]
        S = v + ridge
        K = h1 * c / S
        square, size = 0.0, 0.0
        for k in range(M.shape[1]):
            m = h1 * f * M[0, k]
            forecasts[t, k] = ridge / S * m
            square += Y[t, k] * Y[t, k]
            size += m * m
            M[0, k] = f * M[0, k] + K * (Y[t, k] - m)
        add_round(totals, v, S, ridge, square, size, error)
        kappa = (ridge + nuggets[t]) / S
        s = kappa * kappa * s + nuggets[t] * K * K
        c *= kappa
    C[0, 0], D[0, 0] = c, s


@njit(cache=True, fastmath={"reassoc"})
def _sweep(
    C: np.ndarray, D: np.ndarray, H: np.ndarray, f: np.ndarray, q: np.ndarray, work: Work
) -> None:
    """Correct C and D and move them to the next round in one pass; g and u are theirs then."""
    g, u, root_gain, a, b, z = work
    for i in range(H.size):
        x, y = 0.0, 0.0
        for j in range(H.size):
            both = f[i] * f[j]
            C[i, j] = both * C[i, j] - root_gain[i] * root_gain[j]
            D[i, j] = both * D[i, j] + (a[i] * b[j] - b[i] * z[j])
            x += C[i, j] * H[j]
            y += D[i, j] * H[j]
        C[i, i] += q[i]
        D[i, i] += q[i]
        g[i], u[i] = x + q[i] * H[i], y + q[i] * H[i]


@njit(cache=True)
def diagonal_rounds(
    state: State,
    H: np.ndarray,
    ridge: float,
    moves: Moves,
    Y: np.ndarray,
    totals: np.ndarray,
    forecasts: np.ndarray,
) -> None:
    """Independent components, F diagonal: one pass over both covariances a round.

    H has one row a round (contexts), or one for all; moves hold the diagonals of F and Q.
    """
    C, M, D = bare(state)
    falls, kicks, which, nuggets = bare(moves)
    N, d = M.shape
    g, u, root_gain = np.empty(N), np.empty(N), np.empty(N)
    a, b, z = np.empty(N), np.empty(N), np.empty(N)
    work = Work(g, u, root_gain, a, b, z)
    mean, none, nothing = np.empty(d), np.empty((N, 0)), np.empty(0)
    S, w, h, rounds = 1.0, 0.0, H[0], forecasts.shape[0]
    for t in range(rounds):
        h = H[min(t, H.shape[0] - 1)]
        if t == 0:
            if which[0] >= 0:
                propagate_diagonal(C, M, falls[which[0]], kicks[which[0]])
                propagate_diagonal(D, none, falls[which[0]], kicks[which[0]])
            gain(C, h, g)
            gain(D, h, u)
        else:
            f, inverse, root = falls[which[t]], 1.0 / S, 1.0 / np.sqrt(S)
            for i in range(N):
                K = g[i] * inverse
                root_gain[i], b[i], z[i] = f[i] * (g[i] * root), f[i] * K, f[i] * u[i]
                a[i] = f[i] * (w * K - u[i])
                for k in range(d):
                    M[i, k] *= f[i]
            _sweep(C, D, h, f, kicks[which[t]], work)
        v, w = dot(g, h), max(dot(u, h), 0.0) + nuggets[t]
        if v <= 0.0:  # rounding, along what is known to the last digit: H'CH = 0 means that CH = 0
            g[:], v = 0.0, 0.0
        v += nuggets[t]
        mean[:] = 0.0
        for i in range(N):
            for k in range(d):
                mean[k] += M[i, k] * h[i]
        S = v + ridge
        square, size = _play(ridge / S, mean, Y[t], forecasts[t])
        add_round(totals, v, S, ridge, square, size, w)
        for k in range(d):
            mean[k] /= S
        for i in range(N):
            for k in range(d):
                M[i, k] += g[i] * mean[k]
    if rounds:
        spread(D, g, S, h, nuggets[rounds - 1], u)
        correct(C, none, g, S, nothing)


@njit(cache=True)
def _play(
    kappa: float, mean: np.ndarray, y: np.ndarray, forecast: np.ndarray
) -> tuple[float, float]:
    """Forecast κm; returns ‖y‖² and ‖m‖², and leaves the innovation y − m in mean."""
    square, size = 0.0, 0.0
    for k in range(mean.size):
        forecast[k] = kappa * mean[k]
        square += y[k] * y[k]
        size += mean[k] * mean[k]
        mean[k] = y[k] - mean[k]
    return square, size


@njit(cache=True, fastmath={"reassoc"})
def grid_rounds(
    gains: np.ndarray,
    scalars: np.ndarray,
    M: np.ndarray,
    h: np.ndarray,
    f: np.ndarray,
    ridge: float,
    Y: np.ndarray,
    totals: np.ndarray,
    forecasts: np.ndarray,
) -> None:
    """Equal gaps of a stationary mixture of exponentials, O(P) a round, by Chandrasekhar's form.

    The covariance falls by LL'/S a round, so g = C h needs no C. gains holds g, L and the same two
    for targets without noise, which the effective dimension is read from: x − R·∂x/∂R of each,
    whose recursion has no difference of nearly equal numbers. scalars holds (v, the variance on
    noise-free targets).
    """
    P, d = M.shape
    g, L, g0, L0 = gains[0], gains[1], gains[2], gains[3]
    v, error = scalars[0], scalars[1]
    # one row an output, which goes through SIMD lanes
    mean, rows = np.empty(d), np.ascontiguousarray(M.T)
    for t in range(forecasts.shape[0]):
        S = v + ridge
        for k in range(d):
            row, total = rows[k], 0.0
            for i in range(P):
                row[i] *= f[i]
                total += row[i] * h[i]
            mean[k] = total
        square, size = _play(ridge / S, mean, Y[t], forecasts[t])
        add_round(totals, v, S, ridge, square, size, error)
        for k in range(d):
            row, step = rows[k], mean[k] / S
            for i in range(P):
                row[i] += g[i] * step
        x, x0 = 0.0, 0.0
        for i in range(P):
            x += L[i] * h[i]
            x0 += L0[i] * h[i]
        rho = x / S
        tau = (x0 - rho * error) / S
        for i in range(P):
            old, low = g[i], g0[i]
            g[i] -= rho * L[i]
            g0[i] -= tau * L[i] + rho * L0[i]
            down, down0 = f[i] * (L[i] - rho * old), f[i] * (L0[i] - tau * old - rho * low)
            L[i] = down if abs(down) > 1e-200 else 0.0  # subnormal numbers are slow
            L0[i] = down0 if abs(down0) > 1e-200 else 0.0
        error = error * (1.0 - rho * rho) - 2.0 * x * tau
        v -= x * rho
    M[:] = rows.T
    scalars[0], scalars[1] = v, error


@njit(cache=True)
def general_rounds(
    state: State,
    h: np.ndarray,
    ridge: float,
    moves: Moves,
    scratch: np.ndarray,
    value_first: bool,
    Y: np.ndarray,
    totals: np.ndarray,
    forecasts: np.ndarray,
) -> None:
    """Any state space, step by step as `SharedBelief` does it."""
    C, M, D = bare(state)
    moves = bare(moves)
    which, nuggets = moves.which, moves.nuggets
    P, d = M.shape
    g, u, mean, none = np.empty(P), np.empty(P), np.empty(d), np.empty((P, 0))
    for t in range(forecasts.shape[0]):
        if which[t] >= 0:
            propagate(C, M, moves.transitions[which[t]], moves.noises[which[t]], scratch)
            propagate(D, none, moves.transitions[which[t]], moves.noises[which[t]], scratch)
        v = gain(C, h, g) + nuggets[t]
        S = v + ridge
        for k in range(d):
            mean[k] = 0.0
            for i in range(P):
                mean[k] += M[i, k] * h[i]
        square, size = _play(ridge / S, mean, Y[t], forecasts[t])
        if value_first:
            noise = ridge + nuggets[t]
            error = spread_value(D, g, S, h, nuggets[t], u, noise) * S
            correct_value(C, M, g, S, mean, noise)
        else:
            error = spread(D, g, S, h, nuggets[t], u) * S
            correct(C, M, g, S, mean)
        add_round(totals, v, S, ridge, square, size, error)

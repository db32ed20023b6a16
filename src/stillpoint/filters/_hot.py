"""The Kalman recursions of KALMAN sections 1 to 4, on a state of `blocks` copies of the kernel's P components."""

import numpy as np
from numba import njit

from stillpoint._hot import dot


@njit(cache=True)
def propagate(C: np.ndarray, M: np.ndarray, F: np.ndarray, Q: np.ndarray, scratch: np.ndarray) -> None:
    """C ← (I⊗F) C (I⊗F)' + I⊗Q and M ← (I⊗F) M; F is (1, P) where it is diagonal, then only the diagonal of Q is read."""
    N, P = C.shape[0], Q.shape[0]
    if F.shape[0] == 1:
        for i in range(N):
            f = F[0, i % P]
            for first in range(0, N, P):
                for j in range(P):
                    C[i, first + j] *= f * F[0, j]
            C[i, i] += Q[i % P, i % P]
            for k in range(M.shape[1]):
                M[i, k] *= f
        return
    for first in range(0, N, P):
        for i in range(P):
            for j in range(N):
                total = 0.0
                for k in range(P):
                    total += F[i, k] * C[first + k, j]
                scratch[first + i, j] = total
    for i in range(N):
        for first in range(0, N, P):
            for j in range(P):
                total = 0.0
                for k in range(P):
                    total += scratch[i, first + k] * F[j, k]
                C[i, first + j] = total + (Q[i % P, j] if i - i % P == first else 0.0)
    for i in range(N):  # F is applied to both sides in another order, so the two halves may differ in the last bit
        for j in range(i):
            C[i, j] = C[j, i] = 0.5 * (C[i, j] + C[j, i])
    for k in range(M.shape[1]):
        for first in range(0, N, P):
            for i in range(P):
                total = 0.0
                for j in range(P):
                    total += F[i, j] * M[first + j, k]
                scratch[first + i, 0] = total
        for i in range(N):
            M[i, k] = scratch[i, 0]


@njit(cache=True)
def gain(C: np.ndarray, H: np.ndarray, g: np.ndarray) -> float:
    """g = C H; returns v = H'C H."""
    for i in range(H.size):
        g[i] = dot(C[i], H)
    return dot(g, H)


@njit(cache=True)
def correct(C: np.ndarray, M: np.ndarray, g: np.ndarray, S: float, e: np.ndarray) -> None:
    """M ← M + g e'/S, C ← C − (g/√S)(g/√S)': symmetric to the bit as written (KALMAN section 7a), and no division inside."""
    root = 1.0 / np.sqrt(S)
    for i in range(g.size):
        for k in range(e.size):
            M[i, k] += g[i] * (e[k] / S)
        a = g[i] * root
        for j in range(g.size):
            C[i, j] -= a * (g[j] * root)


@njit(cache=True)
def spread(D: np.ndarray, g: np.ndarray, S: float, H: np.ndarray, nugget: float, u: np.ndarray) -> float:
    """D ← (I − KH') D (I − KH')' + nugget·K K' with K = g/S: the covariance of the filter's error on noise-free targets.

    Returns this round's addition to the effective dimension, (H'D H + nugget)/S (KALMAN section 5).
    """
    total = gain(D, H, u) + nugget
    inverse = 1.0 / S
    for i in range(H.size):
        b = g[i] * inverse
        a = total * b - u[i]
        for j in range(H.size):
            D[i, j] += a * (g[j] * inverse) - b * u[j]
    return total / S


@njit(cache=True)
def vaw_rounds(
    C: np.ndarray, M: np.ndarray, D: np.ndarray, h: np.ndarray, ridge: float,
    moves: np.ndarray, noises: np.ndarray, which: np.ndarray, nuggets: np.ndarray, scratch: np.ndarray,
    Y: np.ndarray, totals: np.ndarray, forecasts: np.ndarray,
) -> None:  # fmt: skip
    """KernelVAW over many rounds; totals holds (log det, effective dimension, excess, largest ‖y‖²)."""
    P, d = M.shape
    g, u, mean, none = np.empty(P), np.empty(P), np.empty(d), np.empty((P, 0))
    for t in range(forecasts.shape[0]):
        if which[t] >= 0:
            propagate(C, M, moves[which[t]], noises[which[t]], scratch)
            propagate(D, none, moves[which[t]], noises[which[t]], scratch)
        v = gain(C, h, g) + nuggets[t]
        S = v + ridge
        kappa = ridge / S
        square, size = 0.0, 0.0
        for k in range(d):
            total = 0.0
            for i in range(P):
                total += M[i, k] * h[i]
            mean[k] = total
            forecasts[t, k] = kappa * total
            square += Y[t, k] * Y[t, k]
            size += total * total
        totals[0] += np.log1p(v / ridge)
        totals[1] += spread(D, g, S, h, nuggets[t], u)
        totals[2] += v / S * (square - kappa * size)
        totals[3] = max(totals[3], square)
        for k in range(d):
            mean[k] = Y[t, k] - mean[k]
        correct(C, M, g, S, mean)

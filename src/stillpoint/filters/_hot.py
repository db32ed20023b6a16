"""The Kalman recursions of KALMAN sections 1 to 4, on a state of `blocks` copies of the kernel's P components."""

import numpy as np
from numba import njit


@njit(cache=True)
def propagate(C: np.ndarray, M: np.ndarray, F: np.ndarray, Q: np.ndarray, scratch: np.ndarray) -> None:
    """C ← (I⊗F) C (I⊗F)' + I⊗Q and M ← (I⊗F) M; F is (1, P) where it is diagonal, then only the diagonal of Q is read."""
    N, P = C.shape[0], Q.shape[0]
    if F.shape[0] == 1:
        for i in range(N):
            for j in range(N):
                C[i, j] *= F[0, i % P] * F[0, j % P]
            C[i, i] += Q[i % P, i % P]
            for k in range(M.shape[1]):
                M[i, k] *= F[0, i % P]
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
    v = 0.0
    for i in range(H.size):
        total = 0.0
        for j in range(H.size):
            total += C[i, j] * H[j]
        g[i] = total
        v += total * H[i]
    return v


@njit(cache=True)
def correct(C: np.ndarray, M: np.ndarray, g: np.ndarray, S: float, e: np.ndarray) -> None:
    """M ← M + g e'/S, C ← C − g g'/S: symmetric to rounding as written (KALMAN section 7a)."""
    for i in range(g.size):
        for k in range(e.size):
            M[i, k] += g[i] * (e[k] / S)
        for j in range(g.size):
            C[i, j] -= g[i] * g[j] / S


@njit(cache=True)
def spread(D: np.ndarray, K: np.ndarray, H: np.ndarray, nugget: float, u: np.ndarray) -> None:
    """D ← (I − KH') D (I − KH')' + nugget·K K', the covariance of the filter's error on noise-free targets."""
    total = 0.0
    for i in range(H.size):
        u[i] = 0.0
        for j in range(H.size):
            u[i] += D[i, j] * H[j]
        total += u[i] * H[i]
    for i in range(H.size):
        for j in range(H.size):
            D[i, j] += (total + nugget) * K[i] * K[j] - K[i] * u[j] - u[i] * K[j]

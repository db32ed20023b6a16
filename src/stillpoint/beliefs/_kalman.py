"""Kalman recursions on a state of `blocks` copies of a kernel's P components.

The state x moves by F(Δ) with noise Q(Δ); what is observed is H'x with noise R, besides a nugget of
the kernel's own. With v = H'CH + nugget and S = v + R, an innovation e moves the mean by CH·e/S and
the covariance by −CH(CH)'/S.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.arithmetic import dot
from stillpoint.core.jit import njit

# of features, targets and times: beyond it squares, and products of two of them, leave the range of
# floats
LIMIT = 1e100
# components of a state from which on F is taken to be mostly 0: one rotation a harmonic, kernels
# side by side
FEW = 12


class State(NamedTuple):
    """A Gaussian belief about N = blocks·P components."""

    covariance: np.ndarray  # C (N, N)
    mean: np.ndarray  # M (N, outputs)
    spread: np.ndarray  # D (N, N): covariance of the filter's error on noise-free targets


class Moves(NamedTuple):
    """What lies between rounds: each kind of gap once."""

    transitions: np.ndarray  # F of each kind, or its diagonal
    noises: np.ndarray  # Q of each kind, or its diagonal
    which: np.ndarray  # the kind before each round; −1 before the first of all
    nuggets: np.ndarray  # at each round


class Totals(NamedTuple):
    """Places of the sums over rounds that bounds are read from."""

    log_det: int = 0  # Σ log(1 + v/λ), less what is still in `growth`
    dimension: int = 1  # effective dimension
    excess: int = 2  # Σ(1 − κ)(y² − κm²), κ = λ/S
    largest: int = 3  # y²
    # Π(1 + v/λ) − 1 of the rounds whose logarithm is still to be taken: it is taken once in a
    # while, and small v lose nothing
    growth: int = 4
    variance: int = 5  # v of the last round


SUM = Totals()


@njit(cache=True)
def propagate(
    C: np.ndarray, M: np.ndarray, F: np.ndarray, Q: np.ndarray, scratch: np.ndarray
) -> None:
    """C ← (I⊗F) C (I⊗F)' + I⊗Q and M ← (I⊗F) M.

    F is (1, P), its diagonal, and then only the diagonal of Q is read; (1, 2P) in sum coordinates,
    for one block; or (P, P).
    """
    P = Q.shape[0]
    if F.shape[0] == 1 and F.shape[1] == P:
        propagate_diagonal(C, M, F[0], np.diag(Q))
        return
    if F.shape[0] == 1:
        _propagate_sums(C, M, F[0], Q, scratch[0])
        return
    if P < FEW:
        _propagate_full(C, F, Q, scratch)
    else:
        _propagate_sparse(C, F, Q, scratch)
    _move_mean(M, F, scratch)
    # F is applied to both sides in another order, so the two halves may differ in the last bit
    for i in range(C.shape[0]):
        for j in range(i):
            C[i, j] = C[j, i] = 0.5 * (C[i, j] + C[j, i])


@njit(cache=True)
def propagate_diagonal(C: np.ndarray, M: np.ndarray, f: np.ndarray, q: np.ndarray) -> None:
    """`propagate` for F = diag f and Q = diag q, which repeat themselves block by block."""
    N, P = C.shape[0], f.size
    for i in range(N):
        own = f[i % P]
        for first in range(0, N, P):
            for j in range(P):
                C[i, first + j] *= own * f[j]
        C[i, i] += q[i % P]
        for k in range(M.shape[1]):
            M[i, k] *= own


@njit(cache=True)
def _propagate_sums(
    C: np.ndarray, M: np.ndarray, f: np.ndarray, Q: np.ndarray, row: np.ndarray
) -> None:
    """One block in sum coordinates: f holds F's diagonal φ, then its first row (·, δ_2, …)."""
    P = Q.shape[0]
    for j in range(P):
        row[j] = f[0] * C[0, j]
    for i in range(1, P):
        for j in range(P):
            row[j] += f[P + i] * C[i, j]
            C[i, j] *= f[i] * f[j]
        C[i, i] += Q[i, i]
        for k in range(M.shape[1]):
            M[0, k] = (f[0] if i == 1 else 1.0) * M[0, k] + f[P + i] * M[i, k]
            M[i, k] *= f[i]
    total = f[0] * row[0]
    for j in range(1, P):
        total += f[P + j] * row[j]
        C[0, j] = C[j, 0] = f[j] * row[j] + Q[0, j]
    C[0, 0] = total + Q[0, 0]


@njit(cache=True)
def _propagate_full(C: np.ndarray, F: np.ndarray, Q: np.ndarray, scratch: np.ndarray) -> None:
    N, P = C.shape[0], Q.shape[0]
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


@njit(cache=True)
def _propagate_sparse(C: np.ndarray, F: np.ndarray, Q: np.ndarray, scratch: np.ndarray) -> None:
    """The same numbers at a cost that goes with the entries of F other than 0."""
    N, P = C.shape[0], Q.shape[0]
    _apply(F, C, scratch)
    for i in range(N):
        for j in range(N):
            C[j, i] = scratch[i, j]
    _apply(F, C, scratch)  # F(FC)'
    for i in range(N):
        for j in range(N):
            C[j, i] = scratch[i, j]
    for first in range(0, N, P):
        for i in range(P):
            for j in range(P):
                C[first + i, first + j] += Q[i, j]


@njit(cache=True)
def _apply(F: np.ndarray, C: np.ndarray, out: np.ndarray) -> None:
    """Fill out = (I⊗F) C."""
    N, P = C.shape[0], F.shape[0]
    for first in range(0, N, P):
        for i in range(P):
            for j in range(N):
                out[first + i, j] = 0.0
            for k in range(P):
                if F[i, k] != 0.0:
                    for j in range(N):
                        out[first + i, j] += F[i, k] * C[first + k, j]


@njit(cache=True)
def _move_mean(M: np.ndarray, F: np.ndarray, scratch: np.ndarray) -> None:
    N, P = M.shape[0], F.shape[0]
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
    """Fill g = C H; returns v = H'C H, at least 0.

    Where rounding leaves less, all is known along H, and C H is 0 as well.
    """
    for i in range(H.size):
        g[i] = dot(C[i], H)
    v = dot(g, H)
    if v <= 0.0:
        g[:], v = 0.0, 0.0
    return v


@njit(cache=True)
def correct(C: np.ndarray, M: np.ndarray, g: np.ndarray, S: float, e: np.ndarray) -> None:
    """M ← M + g e'/S, C ← C − (g/√S)(g/√S)': symmetric to the bit, and no division inside."""
    root = 1.0 / np.sqrt(S)
    for i in range(g.size):
        for k in range(e.size):
            M[i, k] += g[i] * (e[k] / S)
        a = g[i] * root
        for j in range(g.size):
            C[i, j] -= a * (g[j] * root)


@njit(cache=True)
def correct_value(
    C: np.ndarray, M: np.ndarray, g: np.ndarray, S: float, e: np.ndarray, noise: float
) -> None:
    """`correct` where the state's first component is what is observed, nugget and noise included.

    C_1j ← C_1j·noise/S instead of C_1j − g_1 g_j/S: nothing is lost where the noise is tiny.
    """
    correct(C, M, g, S, e)
    kappa = noise / S
    for j in range(g.size):
        C[0, j] = C[j, 0] = kappa * g[j]


@njit(cache=True)
def spread(
    D: np.ndarray, g: np.ndarray, S: float, H: np.ndarray, nugget: float, u: np.ndarray
) -> float:
    """D ← (I − KH') D (I − KH')' + nugget·K K' with K = g/S.

    D is the covariance of the filter's error on noise-free targets; returns this round's addition
    to the effective dimension Tr K(K + R)⁻¹, which is (H'D H + nugget)/S.
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
def spread_value(
    D: np.ndarray,
    g: np.ndarray,
    S: float,
    H: np.ndarray,
    nugget: float,
    u: np.ndarray,
    noise: float,
) -> float:
    """`spread` where the state's first component is what is observed.

    D_1j ← κ(D_1j − K_j D_11) + nugget K_1 K_j, κ = noise/S.
    """
    addition = spread(D, g, S, H, nugget, u)  # leaves u = D H of before, its first entry D_11
    kappa = noise / S
    for j in range(g.size):
        part = u[j] - g[j] / S * u[0] if j else kappa * u[0]
        D[0, j] = D[j, 0] = kappa * part + nugget * (g[0] / S) * (g[j] / S)
    return addition


@njit(cache=True)
def add_round(
    totals: np.ndarray, v: float, S: float, ridge: float, square: float, size: float, error: float
) -> None:
    """Add a round to the totals: square is ‖y‖², size ‖m‖², error the variance without noise."""
    totals[SUM.dimension] += error / S
    totals[SUM.excess] += v / S * (square - ridge / S * size)
    totals[SUM.largest] = max(totals[SUM.largest], square)
    totals[SUM.variance] = v
    part, old = v / ridge, totals[SUM.growth]
    totals[SUM.growth] = old + part + part * old
    if totals[SUM.growth] > 1e100:  # or even infinite, which its factors are not
        totals[SUM.log_det] += math.log1p(old) + math.log1p(part)
        totals[SUM.growth] = 0.0

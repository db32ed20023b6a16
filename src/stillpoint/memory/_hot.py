"""Streaming sums of the past: Z ← F Z, pull = Z h, Z ← Z + g·gain' (KALMAN section 5, last item). No allocation."""

import numpy as np
from numba import njit


@njit(cache=True)
def advance(Z: np.ndarray, F: np.ndarray, h: np.ndarray, scratch: np.ndarray, pull: np.ndarray) -> None:
    """Move the state (d, P) over a gap and read off pull = Σ_s k(s, t) g_s; F is (1, P) where it is diagonal."""
    d, P = Z.shape
    if F.shape[0] == 1:
        for i in range(d):
            total = 0.0
            for j in range(P):
                z = Z[i, j] * F[0, j]
                Z[i, j] = z
                total += h[j] * z
            pull[i] = total
    else:
        for i in range(d):
            total = 0.0
            for j in range(P):
                z = 0.0
                for k in range(P):
                    z += F[j, k] * Z[i, k]
                scratch[j] = z
                total += h[j] * z
            Z[i, :] = scratch
            pull[i] = total


@njit(cache=True)
def add(Z: np.ndarray, gain: np.ndarray, g: np.ndarray) -> None:
    """Store the gradient g at the present time; gain = P(t) h."""
    d, P = Z.shape
    for i in range(d):
        for j in range(P):
            Z[i, j] += g[i] * gain[j]


@njit(cache=True)
def growth(g: np.ndarray, pull: np.ndarray, diagonal: float) -> tuple[float, float]:
    """(increase of S² = ‖Σ G_s‖², ‖G_t‖²) on adding g: k(t,t)‖g‖² + 2⟨g, pull⟩ and k(t,t)‖g‖²."""
    dot, square = 0.0, 0.0
    for i in range(g.size):
        dot += g[i] * pull[i]
        square += g[i] * g[i]
    return diagonal * square + 2.0 * dot, diagonal * square

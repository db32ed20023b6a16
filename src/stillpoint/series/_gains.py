"""The exact covariance of a structural filter, whose gains are kept in tables."""

import numpy as np

from stillpoint.core.arithmetic import assign
from stillpoint.core.jit import njit
from stillpoint.series._structural import AT, BASE, OF


@njit(cache=True, fastmath={"reassoc", "contract"})
def times(C: np.ndarray, z: np.ndarray, g: np.ndarray) -> float:
    """g = Cz; returns z'Cz."""
    total = 0.0
    for i in range(z.size):
        row = 0.0
        for j in range(z.size):
            row += C[i, j] * z[j]
        g[i] = row
        total += row * z[i]
    return total


@njit(cache=True)
def absorb(C: np.ndarray, g: np.ndarray, S: float, scale: float) -> None:
    """C = (C − gg'/S)·scale; symmetric to the bit, the product comes before the division."""
    inverse = 1.0 / S
    for i in range(g.size):
        for j in range(g.size):
            C[i, j] = (C[i, j] - (g[i] * g[j]) * inverse) * scale


@njit(cache=True)
def prior(model: np.ndarray, smooth: np.ndarray, C: np.ndarray) -> None:
    """Fill C with the covariance before any value."""
    C[AT.level, AT.level] = 1e4
    C[AT.slope, AT.slope] = 1.0 if model[OF.slope] >= 0.0 else 0.0
    C[AT.deviation, AT.deviation] = model[OF.deviation]
    for j in range(smooth.size):
        C[BASE + j, BASE + j] = 10.0 * smooth[j]


@njit(cache=True)
def drift(model: np.ndarray, smooth: np.ndarray, C: np.ndarray) -> None:
    """Move C to the next time."""
    if model[OF.slope] >= 0.0:
        a, b, phi = AT.level, AT.slope, model[OF.damping]
        for j in range(C.shape[0]):
            C[a, j] += C[b, j]
        for j in range(C.shape[0]):
            C[j, a] += C[j, b]
        for j in range(C.shape[0]):
            C[b, j] *= phi
        for j in range(C.shape[0]):
            C[j, b] *= phi
        C[b, b] += model[OF.slope]
    if model[OF.deviation] > 0.0:
        d, rho = AT.deviation, model[OF.memory]
        for j in range(C.shape[0]):
            C[d, j] *= rho
        for j in range(C.shape[0]):
            C[j, d] *= rho
        C[d, d] += model[OF.deviation] * (1.0 - rho * rho)
    C[AT.level, AT.level] += model[OF.level]
    for j in range(smooth.size):
        C[BASE + j, BASE + j] += model[OF.seasons] * smooth[j]


@njit(cache=True)
def run(
    model: np.ndarray,
    frequencies: np.ndarray,
    smooth: np.ndarray,
    B: np.ndarray,
    first: int,
    keep: np.ndarray,
    C: np.ndarray,
    gains: np.ndarray,
    variances: np.ndarray,
) -> None:
    """Go on from age `first`, whose covariance is C, one row of B an age.

    Keeps the gains of the ages in `keep`, in the frame that turns with the harmonics.
    """
    z, g, k = np.zeros(C.shape[0]), np.zeros(C.shape[0]), 0
    z[AT.level], z[AT.deviation] = 1.0, 1.0
    for i in range(B.shape[0]):
        assign(z[BASE:], B[i])
        S = times(C, z, g) + 1.0
        if k < keep.size and keep[k] == first + i:
            row = gains[k]
            for j in range(BASE):
                row[j] = g[j] / S
            j = BASE
            for q in range(frequencies.shape[0]):
                c = z[j]
                if frequencies[q, 1] > 0.0:
                    s = z[j + 1]
                    row[j] = (g[j] * c + g[j + 1] * s) / S
                    row[j + 1] = (-g[j] * s + g[j + 1] * c) / S
                    j += 2
                else:
                    row[j] = g[j] * c / S
                    j += 1
            variances[k] = S
            k += 1
        absorb(C, g, S, 1.0)
        drift(model, smooth, C)

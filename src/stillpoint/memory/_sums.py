"""Streaming sums of the past: Z ← F Z, pull = Z h, Z ← Z + g·gain' (KALMAN section 5, last item).
No allocation.
"""

import numpy as np

from stillpoint.core.arithmetic import dot
from stillpoint.core.jit import njit


@njit(cache=True)
def advance(
    Z: np.ndarray, F: np.ndarray, h: np.ndarray, scratch: np.ndarray, pull: np.ndarray
) -> None:
    """Move the state (d, P) over a gap and read off pull = Σ_s k(s, t) g_s; F is (1, P) where it is
    diagonal.
    """
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
    square = diagonal * dot(g, g)
    return square + 2.0 * dot(g, pull), square


@njit(cache=True)
def replay(
    Z: np.ndarray,
    pull: np.ndarray,
    h: np.ndarray,
    scratch: np.ndarray,
    transitions: np.ndarray,
    which: np.ndarray,
    gains: np.ndarray,
    diagonals: np.ndarray,
    gradients: np.ndarray,
    squared_norm: float,
    out: np.ndarray,
) -> None:
    """Advance and add round by round; out receives ‖θ‖² after each."""
    for t in range(diagonals.size):
        if which[t] >= 0:
            advance(Z, transitions[which[t]], h, scratch, pull)
        squared_norm += growth(gradients[t], pull, diagonals[t])[0]
        add(Z, gains[t if gains.shape[0] > 1 else 0], gradients[t])
        out[t] = squared_norm


@njit(cache=True)
def decay(states: np.ndarray, factors: np.ndarray) -> None:
    """Row j ← factors[j]·row j."""
    for j in range(states.shape[0]):
        for i in range(states.shape[1]):
            states[j, i] *= factors[j]


@njit(cache=True)
def add_to_levels(
    states: np.ndarray, squares: np.ndarray, variances: np.ndarray, g: np.ndarray
) -> float:
    """Add g to every row; squares and variances follow. Returns Σ_j ‖θ_j‖² after it."""
    square, total = dot(g, g), 0.0
    for j in range(squares.size):
        row = states[j]
        squares[j] += square + 2.0 * dot(g, row)
        variances[j] += square
        total += squares[j]
        for i in range(g.size):
            row[i] += g[i]
    return total


@njit(cache=True)
def replay_levels(
    states: np.ndarray,
    squares: np.ndarray,
    variances: np.ndarray,
    decays: np.ndarray,
    which: np.ndarray,
    gradients: np.ndarray,
    out: np.ndarray,
) -> None:
    """Decay and add round by round; out receives Σ_j ‖θ_j‖² after each."""
    for t in range(out.size):
        decay(states, decays[which[t]])
        out[t] = add_to_levels(states, squares, variances, gradients[t])

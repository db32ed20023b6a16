"""Streaming sums of the past, compiled: Z ← F Z, pull = Z h, Z ← Z + g·gain'. No allocation."""

from typing import NamedTuple

from numpy.typing import NDArray

from stillpoint.core.arithmetic import assign, dot
from stillpoint.core.array import Array
from stillpoint.core.jit import bare, njit


class State(NamedTuple):
    """θ of d coordinates through a state space of size P."""

    sums: Array  # Z, (d, P)
    pull: Array  # (d,), θ at the present time
    scratch: Array  # (P,)


class Tables(NamedTuple):
    """What the kernel's state space says of a block of n rounds."""

    transitions: Array  # (gaps, P, P), or (gaps, 1, P) where they are diagonal
    which: NDArray  # type: ignore[type-arg]  # (n,), the transition before each round; −1: none
    gains: Array  # (n, P), P(t)h of each round, or (1, P) of all
    diagonals: Array  # (n,), k(t, t)
    readout: Array  # (P,), h


@njit(cache=True)
def advance(Z: Array, F: Array, h: Array, scratch: Array, pull: Array) -> None:
    """Move the state over a gap and read off pull = Σ_s k(s, t) g_s; F is (1, P) if diagonal."""
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
            assign(Z[i], scratch)
            pull[i] = total


@njit(cache=True, forceinline=True)
def advance_round(state: State, tables: Tables, t: int) -> None:
    """Move the state to round t of a block."""
    if tables.which[t] >= 0:
        F = tables.transitions[tables.which[t]]
        advance(state.sums, F, tables.readout, state.scratch, state.pull)


@njit(cache=True)
def add(Z: Array, gain: Array, g: Array) -> None:
    """Store the gradient g at the present time; gain = P(t) h."""
    d, P = Z.shape
    for i in range(d):
        for j in range(P):
            Z[i, j] += g[i] * gain[j]


@njit(cache=True, forceinline=True)
def add_round(state: State, tables: Tables, t: int, g: Array) -> None:
    """Store the gradient g of round t of a block."""
    add(state.sums, tables.gains[t if tables.gains.shape[0] > 1 else 0], g)


@njit(cache=True)
def growth(g: Array, pull: Array, diagonal: float) -> tuple[float, float]:
    """Return how much S² = ‖Σ G_s‖² grows on adding g, k(t,t)‖g‖² + 2⟨g, pull⟩, and k(t,t)‖g‖²."""
    square = diagonal * dot(g, g)
    return square + 2.0 * dot(g, pull), square


@njit(cache=True)
def replay(state: State, tables: Tables, gradients: Array, squared_norm: float, out: Array) -> None:
    """Advance and add round by round; out receives ‖θ‖² after each."""
    state, tables, gradients = bare(state), bare(tables), bare(gradients)
    for t in range(out.size):
        advance_round(state, tables, t)
        squared_norm += growth(gradients[t], state.pull, tables.diagonals[t])[0]
        add_round(state, tables, t, gradients[t])
        out[t] = squared_norm

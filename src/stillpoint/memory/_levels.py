"""Sums of the past on several time scales, compiled: one row a level."""

from typing import NamedTuple

from numpy.typing import NDArray

from stillpoint.core.arithmetic import dot
from stillpoint.core.array import Array
from stillpoint.core.jit import bare, njit


class State(NamedTuple):
    """θ_j of n levels in d dimensions."""

    states: Array  # (n, d), θ_j at the present time
    squares: Array  # (n,), ‖θ_j‖²
    variances: Array  # (n,), Σ‖g‖² since the level started


class Decays(NamedTuple):
    """How much the levels decay before each of a block of rounds."""

    factors: Array  # (gaps, n)
    which: NDArray  # type: ignore[type-arg]  # (rounds,), which row precedes each round


@njit(cache=True)
def decay(states: Array, factors: Array) -> None:
    """Row j ← factors[j]·row j."""
    for j in range(states.shape[0]):
        row, factor = states[j], factors[j]
        for i in range(row.size):
            row[i] *= factor


@njit(cache=True, forceinline=True)
def add(levels: State, g: Array) -> float:
    """Add g to every level; returns Σ_j ‖θ_j‖² after it."""
    square, total = dot(g, g), 0.0
    squares, variances = levels.squares, levels.variances
    for j in range(squares.size):
        row = levels.states[j]
        squares[j] += square + 2.0 * dot(g, row)
        variances[j] += square
        total += squares[j]
        for i in range(g.size):
            row[i] += g[i]
    return total


@njit(cache=True)
def add_round(states: Array, squares: Array, variances: Array, g: Array) -> float:
    """`add` to a state's fields: from Python, arrays are passed faster than a tuple of them."""
    return add(bare(State(states, squares, variances)), g)


@njit(cache=True)
def replay(levels: State, decays: Decays, gradients: Array, out: Array) -> None:
    """Decay and add round by round; out receives Σ_j ‖θ_j‖² after each."""
    levels, decays, gradients = bare(levels), bare(decays), bare(gradients)
    for t in range(out.size):
        decay(levels.states, decays.factors[decays.which[t]])
        out[t] = add(levels, gradients[t])

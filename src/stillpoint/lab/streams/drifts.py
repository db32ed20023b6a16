"""Laws of drift and of noise that several streams share, with memories counted in rounds."""

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.validation import Array, count


def rounds(T: int) -> int:
    """T, if there are enough rounds for the slower laws to show."""
    if count("T", T) < 100:
        raise ValueError(f"T must be 100 or more: got {T}; shorter streams show no drift")
    return T


def reverting(T: int, rng: np.random.Generator, memory: float, *, dim: int = 1) -> Array:
    """Ornstein–Uhlenbeck paths of variance 1, shape (T, dim).

    u ← φu + √(1 − φ²)·N with φ = e^(−1/memory), from a start drawn from the stationary law.
    """
    phi = np.exp(-1.0 / memory)
    u, value = np.sqrt(1.0 - phi * phi) * rng.standard_normal((T, dim)), rng.standard_normal(dim)
    for t in range(T):
        value = phi * value + u[t]
        u[t] = value
    return np.asarray(u)


def pieces(T: int, rng: np.random.Generator, stay: float) -> NDArray[np.int64]:
    """The number of each round's piece, 0, 1, …: a new one with probability 1/stay a round."""
    fresh = rng.random(T) < 1.0 / stay
    fresh[0] = False
    return np.cumsum(fresh)


def two_states(T: int, rng: np.random.Generator, first: float, second: float) -> NDArray[np.int64]:
    """A Markov chain of states 0 and 1, from 0, with mean stays of `first` and `second` rounds."""
    leave, draws, state = (1.0 / first, 1.0 / second), rng.random(T), 0
    states = np.empty(T, dtype=np.int64)
    for t in range(T):
        state = 1 - state if draws[t] < leave[state] else state
        states[t] = state
    return states


def polyline(T: int, rng: np.random.Generator, stay: float, *, dim: int = 1) -> Array:
    """Straight trends between heights in [-1, 1], shape (T, dim); kinks come at Poisson times."""
    gaps = rng.exponential(stay, size=(2 + int(4 * T / stay) + 20, dim))
    heights = rng.uniform(-1, 1, gaps.shape)
    knots = np.cumsum(gaps, axis=0) - gaps[0]
    t = np.arange(T, dtype=np.float64)
    return np.column_stack([np.interp(t, knots[:, i], heights[:, i]) for i in range(dim)])


def contaminated(
    shape: int | tuple[int, ...], rng: np.random.Generator, *, share: float = 0.05, times: float
) -> Array:
    """Standard normal noise, in a `share` of the draws so many `times` as large."""
    large = rng.random(shape) < share
    return np.asarray(rng.standard_normal(shape) * np.where(large, times, 1.0))


def centred_exponential(T: int, rng: np.random.Generator, *, level: float = 0.5) -> Array:
    """Exponential noise of scale 1, moved so that its `level` quantile is 0."""
    return np.asarray(rng.exponential(size=T) + np.log1p(-level))


def two_of(rng: np.random.Generator, dim: int) -> NDArray[np.int64]:
    """Two coordinates of `dim`, drawn without replacement."""
    return rng.choice(dim, size=2, replace=False)

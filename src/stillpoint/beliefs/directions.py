"""Beliefs about a vector-valued function of time that is observed along directions: ⟨a, f(t)⟩.

`ExpConcave`, `Directional` and `TrackingVAW` run on this one interface, streaming for kernels with
a state space and dense, O(t²) a round, for all others and for kernels on contexts.
"""

import math
from typing import Any, Protocol

import numpy as np

from stillpoint.beliefs.belief import Belief
from stillpoint.beliefs.dense import Gram, PointBelief, Product
from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array, stored
from stillpoint.kernels import Kernel


class Directions(Protocol):
    """Gaussian belief about f: time → R^dim; ⟨a, f(s)⟩ and ⟨b, f(t)⟩ covary by k(s, t)⟨a, b⟩."""

    kernel: Kernel
    time: float

    def advance(self, time: float) -> None:
        """Move to a later time t."""

    def values(self) -> Array:
        """Posterior mean of f(t), shape (dim,)."""

    def value_covariance(self) -> Array:
        """Posterior covariance of f(t), shape (dim, dim)."""

    def shift(self, c: Array) -> None:
        """Add Cov(f, f(t))·c to the mean, the cheapest move of f(t) by value_covariance()·c."""

    def prior(self, a: Array) -> float:
        """Variance of ⟨a, f(t)⟩ before any observation."""

    def look(self, a: Array) -> tuple[float, float]:
        """Mean and variance of ⟨a, f(t)⟩."""

    def observe(self, S: float, innovation: float) -> None:
        """Learn from an observation, of total variance S, of what was last looked at."""

    def effective_dimension(self) -> float:
        """Tr K(K + R)⁻¹ of the observations so far."""

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""


class StreamingDirections(Belief):
    """`Directions` as a Kalman filter on dim copies of the kernel's P states, O((dim·P)²) a round.

    Exact for Markov kernels. track: also keep the effective dimension, for one more covariance.
    """

    def __init__(self, kernel: Kernel, dim: int, track: bool) -> None:
        super().__init__(kernel, dim, 1)
        if track:
            self.track_dimension()
        self._a, self._gain = zeros(dim), zeros(self.M.shape[0])

    def values(self) -> Array:
        """Posterior mean of f(t), shape (dim,)."""
        return np.asarray(self.M[:, 0].reshape(self.blocks, self.space.size) @ self.space.h)

    def value_covariance(self) -> Array:
        """(I⊗h')C(I⊗h), and the nugget."""
        dim, P = self.blocks, self.space.size
        cross = self.C.reshape(dim * P, dim, P) @ self.space.h
        return np.asarray(
            np.tensordot(cross.reshape(dim, P, dim), self.space.h, (1, 0))
            + self.nugget * np.eye(dim)
        )

    def shift(self, c: Array) -> None:
        """M ← M + C(c⊗h); of the nugget nothing is remembered."""
        self.M[:, 0] += self.gain(self.direction(c))[0]

    def prior(self, a: Array) -> float:
        """k(t, t)‖a‖²."""
        return self.prior_variance() * float(a @ a)

    def look(self, a: Array) -> tuple[float, float]:
        """Mean and variance of ⟨a, f(t)⟩."""
        H = self.direction(a)
        self._gain, variance = self.gain(H)
        self._a = a
        return float(self.M[:, 0] @ H), variance + self.nugget * float(a @ a)

    def observe(self, S: float, innovation: float) -> None:
        """Learn from an observation, of total variance S, of what was last looked at."""
        if self.spread is not None:
            nugget = self.nugget * float(self._a @ self._a)
            self.dimension += self.dimension_step(self.direction(self._a), self._gain, S, nugget)
        self.correct(self._gain, S, np.array([innovation]))

    def effective_dimension(self) -> float:
        """Tr K(K + R)⁻¹ of the observations so far, where tracked."""
        if self.spread is None:
            raise ValueError(
                "track_dimension must be True for the effective dimension: got False; build the"
                " learner with it"
            )
        return self.dimension

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {
            **super().arrays(),
            "direction": self._a,
            "gain": self._gain,
            "dimension": self.dimension,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        self._a = stored(state, "direction", self._a.size)
        self._gain = stored(state, "gain", self._gain.size)
        self.dimension = float(state["dimension"])


class DenseDirections(PointBelief):
    """`Directions` for any kernel, from all observations: O(t²) a round, exact.

    inner: a kernel on the directions in place of ⟨a, b⟩. There is then no vector f(t), and values
    and shifts have no meaning.
    """

    def __init__(self, kernel: Kernel, dim: int, noise: float, inner: Gram | None = None) -> None:
        super().__init__(Product(kernel, inner), dim, 1, noise)
        self.kernel, self.dim = kernel, dim

    def advance(self, time: float) -> None:
        """Move to a later time."""
        self.time = time

    def _units(self) -> Array:
        return np.column_stack([np.full(self.dim, self.time), np.eye(self.dim)])

    def values(self) -> Array:
        """Posterior mean of f(t), shape (dim,): at the points (t, e_i)."""
        return (self._gram(self._units(), self._knots) @ self._beta)[:, 0]

    def value_covariance(self) -> Array:
        """Posterior covariance of f(t), shape (dim, dim)."""
        return self._posterior(self._units())[1]

    def shift(self, c: Array) -> None:
        """Add Cov(f, f(t))·c to the mean: one more knot (t, c)."""
        point = np.append(self.time, c)[None, :]
        self._add(point, self._posterior(point)[2], np.ones(1))

    def prior(self, a: Array) -> float:
        """The Gram function at (t, a)."""
        point = np.append(self.time, a)[None, :]
        return float(self._gram(point, point)[0, 0])

    def look(self, a: Array) -> tuple[float, float]:
        """Mean and variance at (t, a)."""
        mean, variance = self._look(a)
        return float(mean[0]), max(variance, 0.0)

    def observe(self, S: float, innovation: float) -> None:
        """Learn from an observation, of total variance S, of what was last looked at."""
        self._learn(S, np.array([innovation]))


def drowned(prior: float, total: float) -> bool:
    """Whether rounding in a variance of this prior hides a hundredth of the total, or more.

    Covariances are the prior's less what is known, so their errors are relative to the prior;
    beyond this, gains are made up. A prior too large for floats hides everything.
    """
    return not math.isfinite(prior) or float(np.finfo(np.float64).eps) * prior > 0.01 * total


def directions(
    kernel: Kernel, dim: int, noise: float, *, inner: Gram | None = None, track: bool = False
) -> Directions:
    """Streaming where the kernel has a state space and directions are vectors, else dense."""
    if inner is None and kernel.state_space() is not None:
        return StreamingDirections(kernel, dim, track)
    return DenseDirections(kernel, dim, noise, inner)

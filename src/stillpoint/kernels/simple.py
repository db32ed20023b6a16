"""Kernels with a closed form."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array, finite, nonnegative, positive
from stillpoint.kernels.base import Kernel, StationaryKernel
from stillpoint.kernels.state_space import Brownian, Exponentials, MaternState, StateSpace


@dataclass(frozen=True)
class Constant(StationaryKernel):
    """k(s, t) = weight: only constant comparators have a finite norm, so this is static
    learning.
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        positive("weight", self.weight)

    def _lag(self, r: Array) -> Array:
        return np.full(r.shape, self.weight)

    def state_space(self) -> StateSpace:
        """One component of rate 0."""
        return Exponentials(np.zeros(1), np.array([self.weight]))


@dataclass(frozen=True)
class Dirac(StationaryKernel):
    """k(s, t) = weight·1[s = t]: the stacked space R^{dT} of Jacobsen & Orabona (2024); rounds
    share nothing.
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        positive("weight", self.weight)

    def _lag(self, r: Array) -> Array:
        return np.where(r == 0.0, self.weight, 0.0)

    def state_space(self) -> StateSpace:
        """No state at all, only a nugget."""
        return Exponentials(np.zeros(0), np.zeros(0), nugget=self.weight)


@dataclass(frozen=True)
class Spline(Kernel):
    """k(s, t) = offset + min(s, t) for times above −offset: the Sobolev space with norm
    u(0)²/offset + ∫|u'|².

    Its diagonal grows, so learners that need sup k(t, t) run with a running hint or are given
    `kernel_bound`.
    """

    offset: float = 0.0

    def __post_init__(self) -> None:
        nonnegative("offset", self.offset)

    def _value(self, s: Array, t: Array) -> Array:
        low = np.minimum(s, t)
        if low.size and low.min() < -self.offset:
            raise ValueError(
                f"time must be at least −offset = {-self.offset} for the spline kernel to be"
                f" positive definite: got {low.min()}; shift the times or raise offset"
            )
        return self.offset + low

    def state_space(self) -> StateSpace:
        """A random walk."""
        return Brownian(self.offset)


@dataclass(frozen=True)
class OU(StationaryKernel):
    """k(s, t) = weight·e^{−rate|s−t|} (Ornstein–Uhlenbeck, Matérn-½): comparators that change on
    the scale 1/rate.
    """

    rate: float
    weight: float = 1.0

    def __post_init__(self) -> None:
        nonnegative("rate", self.rate)
        positive("weight", self.weight)

    def _lag(self, r: Array) -> Array:
        return self.weight * np.exp(-self.rate * r)

    def state_space(self) -> StateSpace:
        """One exponential."""
        return Exponentials(np.array([self.rate]), np.array([self.weight]))


@dataclass(frozen=True, init=False)
class OUMixture(StationaryKernel):
    """k(s, t) = Σ_j weights_j e^{−rates_j|s−t|}, rates ≥ 0, weights > 0. Equal rates are merged."""

    rates: tuple[float, ...]
    weights: tuple[float, ...]

    def __init__(self, rates: ArrayLike, weights: ArrayLike) -> None:
        r, w = np.atleast_1d(finite("rates", rates)), np.atleast_1d(finite("weights", weights))
        if r.ndim != 1 or r.shape != w.shape or r.size == 0:
            raise ValueError(
                f"rates and weights must be two vectors of one length: got shapes {r.shape} and"
                f" {w.shape}; give one weight a rate"
            )
        if r.min() < 0.0:
            raise ValueError(
                f"rates must not be negative: got {r.min()}; a growing exponential is not a kernel"
            )
        if w.min() <= 0.0:
            raise ValueError(
                f"weights must be positive: got {w.min()}; a negative weight is not positive"
                " definite"
            )
        # merging is not cosmetic: collinear components are the one regime where the filters lose
        # digits
        unique, where = np.unique(r, return_inverse=True)
        merged = np.bincount(where, weights=w)
        object.__setattr__(self, "rates", tuple(unique.tolist()))
        object.__setattr__(self, "weights", tuple(merged.tolist()))

    def _lag(self, r: Array) -> Array:
        total = np.zeros(r.shape)
        for rate, weight in zip(self.rates, self.weights, strict=True):
            total += weight * np.exp(-rate * r)
        return total

    def state_space(self) -> StateSpace:
        """One exponential a rate."""
        return Exponentials(np.array(self.rates), np.array(self.weights))


@dataclass(frozen=True)
class Matern32(StationaryKernel):
    """k(s, t) = weight·(1 + x)e^{−x}, x = rate|s−t|."""

    rate: float
    weight: float = 1.0

    def __post_init__(self) -> None:
        positive("rate", self.rate)
        positive("weight", self.weight)

    def _lag(self, r: Array) -> Array:
        x = self.rate * r
        return self.weight * (1.0 + x) * np.exp(-x)

    def state_space(self) -> StateSpace:
        """Position and velocity."""
        return MaternState(self.rate, self.weight, 2)


@dataclass(frozen=True)
class Matern52(StationaryKernel):
    """k(s, t) = weight·(1 + x + x²/3)e^{−x}, x = rate|s−t|."""

    rate: float
    weight: float = 1.0

    def __post_init__(self) -> None:
        positive("rate", self.rate)
        positive("weight", self.weight)

    def _lag(self, r: Array) -> Array:
        x = self.rate * r
        return self.weight * (1.0 + x + x * x / 3.0) * np.exp(-x)

    def state_space(self) -> StateSpace:
        """Position, velocity and acceleration."""
        return MaternState(self.rate, self.weight, 3)


@dataclass(frozen=True)
class Gaussian(StationaryKernel):
    """k(s, t) = weight·exp(−(s−t)²/(2 width²)). No finite state: dense memory only."""

    width: float
    weight: float = 1.0

    def __post_init__(self) -> None:
        positive("width", self.width)
        positive("weight", self.weight)

    def _lag(self, r: Array) -> Array:
        return self.weight * np.exp(-0.5 * (r / self.width) ** 2)


@dataclass(frozen=True)
class InverseMultiquadric(StationaryKernel):
    """k(s, t) = weight/√(1 + (s−t)²/width²). No finite state: dense memory only."""

    width: float
    weight: float = 1.0

    def __post_init__(self) -> None:
        positive("width", self.width)
        positive("weight", self.weight)

    def _lag(self, r: Array) -> Array:
        return self.weight / np.hypot(1.0, r / self.width)

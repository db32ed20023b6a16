"""Kernels with a closed form."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array, finite, nonnegative, positive
from stillpoint.kernels.base import Kernel, StationaryKernel
from stillpoint.kernels.state_space import Brownian, Exponentials, MaternState, StateSpace


@dataclass(frozen=True)
class Constant(StationaryKernel):
    """Constant comparators only, which is static learning: k(s, t) = weight.

    Parameters
    ----------
    weight : float, default 1
        k(t, t).
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
    """Rounds that share nothing: k(s, t) = weight·1[s = t].

    The space R^{dT} of one vector a round (Jacobsen & Orabona 2024).

    Parameters
    ----------
    weight : float, default 1
        k(t, t).
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
    """Slow drift: k(s, t) = offset + min(s, t) for times from −offset on.

    The Sobolev space with norm u(0)²/offset + ∫|u'|². Its diagonal grows, so learners that
    need sup k(t, t) run with a running hint or are given `kernel_bound`.

    Parameters
    ----------
    offset : float, default 0
        Variance at time 0.
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
    """Comparators that change on the scale 1/rate: k(s, t) = weight·e^{−rate|s−t|}.

    Ornstein–Uhlenbeck's kernel, or Matérn-½.

    Parameters
    ----------
    rate : float
        0 or more.
    weight : float, default 1
        k(t, t).
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
    """Several scales at once: k(s, t) = Σ_j weights_j e^{−rates_j|s−t|}.

    Parameters
    ----------
    rates : array of floats
        0 or more; equal ones are merged.
    weights : array of floats
        Above 0, one for each rate.
    """

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
class _Matern(StationaryKernel):
    """A Matérn kernel: weight times a polynomial in x = rate|s−t| times e^{−x}."""

    rate: float
    weight: float = 1.0
    _size: ClassVar[int]  # of the state: position, velocity, …

    def _far(self, r: Array) -> Array:
        """x, where e^{−x} is 0 cut off: it would be ∞·0 further out."""
        return np.minimum(self.rate * r, 1e3)

    def __post_init__(self) -> None:
        positive("rate", self.rate)
        positive("weight", self.weight)

    def state_space(self) -> StateSpace:
        """Position and as many derivatives as comparators have."""
        return MaternState(self.rate, self.weight, self._size)


@dataclass(frozen=True)
class Matern32(_Matern):
    """Comparators with a derivative: k(s, t) = weight·(1 + x)e^{−x}, x = rate|s−t|.

    Parameters
    ----------
    rate : float
        How fast comparators change; 1/rate is their scale.
    weight : float, default 1
        k(t, t).
    """

    _size: ClassVar[int] = 2

    def _lag(self, r: Array) -> Array:
        x = self._far(r)
        return self.weight * (1.0 + x) * np.exp(-x)


@dataclass(frozen=True)
class Matern52(_Matern):
    """Comparators with two derivatives: k(s, t) = weight·(1 + x + x²/3)e^{−x}, x = rate|s−t|.

    Parameters
    ----------
    rate : float
        How fast comparators change; 1/rate is their scale.
    weight : float, default 1
        k(t, t).
    """

    _size: ClassVar[int] = 3

    def _lag(self, r: Array) -> Array:
        x = self._far(r)
        return self.weight * (1.0 + x + x * x / 3.0) * np.exp(-x)


@dataclass(frozen=True)
class _Wide(StationaryKernel):
    """A kernel without a state space: weight times a function of (s−t)/width."""

    width: float
    weight: float = 1.0

    def __post_init__(self) -> None:
        positive("width", self.width)
        positive("weight", self.weight)


@dataclass(frozen=True)
class Gaussian(_Wide):
    """Smooth comparators: k(s, t) = weight·exp(−(s−t)²/(2 width²)); dense memory only.

    Parameters
    ----------
    width : float
        The scale on which comparators change.
    weight : float, default 1
        k(t, t).
    """

    def _lag(self, r: Array) -> Array:
        return self.weight * np.exp(-0.5 * (r / self.width) ** 2)


@dataclass(frozen=True)
class InverseMultiquadric(_Wide):
    """Long memory: k(s, t) = weight/√(1 + (s−t)²/width²); dense memory only.

    Parameters
    ----------
    width : float
        The scale on which comparators change.
    weight : float, default 1
        k(t, t).
    """

    def _lag(self, r: Array) -> Array:
        return self.weight / np.hypot(1.0, r / self.width)

"""Kernels on time: positive definite k(s, t), with a state-space form where one exists."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array, finite, positive
from stillpoint.kernels.state_algebra import Multiplied, Summed, Weighted
from stillpoint.kernels.state_space import StateSpace


class Kernel(ABC):
    """A kernel on real times.

    Subclasses define `_value(s, t)` on float arrays; the rest follows. `k(s, t)` broadcasts
    like NumPy; `k1 + k2`, `k1 * k2` and `2.0 * k` build new kernels.
    """

    @abstractmethod
    def _value(self, s: Array, t: Array) -> Array:
        """k(s, t), element by element."""

    def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
        """k(s, t), with NumPy broadcasting."""
        return np.asarray(self._value(finite("s", s), finite("t", t)), dtype=np.float64)

    def gram(self, times: ArrayLike) -> Array:
        """Matrix (k(τ_i, τ_j))_ij."""
        tau = finite("times", times)
        if tau.ndim != 1:
            raise ValueError(
                f"times must be one-dimensional: got shape {tau.shape}; pass a list of times"
            )
        return self(tau[:, None], tau[None, :])

    def diagonal(self, times: ArrayLike) -> Array:
        """k(t, t) at each time."""
        return self(times, times)

    @property
    def bound(self) -> float:
        """sup_t k(t, t) over all times; inf for kernels that grow."""
        return inf

    def state_space(self) -> StateSpace | None:
        """The state-space form; None where there is none, and memory is dense, O(t) a round."""
        return None

    @property
    def _may_fail(self) -> bool:
        """Whether code of one's own is called, which may raise at any time, where it runs dense."""
        parts = vars(self).values()
        return type(self).__module__.partition(".")[0] != "stillpoint" or any(
            part._may_fail if isinstance(part, Kernel) else callable(part) for part in parts
        )

    def markov(self) -> Kernel:
        """The kernel that `state_space` represents: this one, unless that is an approximation."""
        return self

    def __add__(self, other: Kernel) -> Sum:
        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum(self, other)

    def __mul__(self, other: Kernel | float) -> Kernel:
        if isinstance(other, Kernel):
            return Product(self, other)
        if isinstance(other, int | float | np.number):
            return Scaled(self, float(other))
        return NotImplemented

    def __rmul__(self, other: float) -> Kernel:
        return self * other


class StationaryKernel(Kernel):
    """A kernel of the gap between two times alone: k(s, t) = κ(|s − t|).

    Subclasses define `_lag(r)`, κ(r) for r ≥ 0; `bound` is then κ(0).
    """

    @abstractmethod
    def _lag(self, r: Array) -> Array:
        """κ(r), element by element, for r ≥ 0."""

    def _value(self, s: Array, t: Array) -> Array:
        return self._lag(np.abs(s - t))

    @property
    def bound(self) -> float:
        """κ(0): the diagonal is the same at every time."""
        return float(self._lag(np.zeros(1))[0])


def as_kernel(name: str, value: Kernel) -> Kernel:
    """Return the argument of that name, made sure to be a kernel."""
    if not isinstance(value, Kernel):
        raise ValueError(f"{name} must be a kernel: got {value!r}; use one of sp.kernels")
    return value


@dataclass(frozen=True)
class Sum(Kernel):
    """Sum of two kernels, which `left + right` builds: comparators with a part in either space.

    Parameters
    ----------
    left, right : Kernel
        The parts k1 and k2.

    Notes
    -----
    k(s, t) = k1(s, t) + k2(s, t). A comparator splits as is cheapest: ‖u‖² = min ‖u1‖² + ‖u2‖² over
    u1 + u2 = u. It streams where both parts do, with their states side by side.
    """

    left: Kernel
    right: Kernel

    def _value(self, s: Array, t: Array) -> Array:
        return self.left(s, t) + self.right(s, t)

    @property
    def bound(self) -> float:
        """Sum of the parts' bounds."""
        return self.left.bound + self.right.bound

    def state_space(self) -> StateSpace | None:
        """Both states side by side."""
        left, right = self.left.state_space(), self.right.state_space()
        return None if left is None or right is None else Summed((left, right))

    def markov(self) -> Kernel:
        """Sum of the Markov forms."""
        return Sum(self.left.markov(), self.right.markov())


@dataclass(frozen=True)
class Product(Kernel):
    """Product of two kernels, which `left * right` builds: rounds are alike where both say so.

    Parameters
    ----------
    left, right : Kernel
        The factors k1 and k2.

    Notes
    -----
    k(s, t) = k1(s, t)·k2(s, t), positive definite by Schur's product theorem. It streams where both
    factors do, with a state of as many numbers as the product of theirs.
    """

    left: Kernel
    right: Kernel

    def _value(self, s: Array, t: Array) -> Array:
        return self.left(s, t) * self.right(s, t)

    @property
    def bound(self) -> float:
        """Product of the parts' bounds."""
        return self.left.bound * self.right.bound

    def state_space(self) -> StateSpace | None:
        """Kronecker product of the states."""
        left, right = self.left.state_space(), self.right.state_space()
        return None if left is None or right is None else Multiplied(left, right)

    def markov(self) -> Kernel:
        """Product of the Markov forms."""
        return Product(self.left.markov(), self.right.markov())


@dataclass(frozen=True)
class Scaled(Kernel):
    """A kernel times a number, which `weight * kernel` builds.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    weight : float
        Above 0.

    Notes
    -----
    weight·k(s, t). Norms of comparators are divided by √weight.
    """

    kernel: Kernel
    weight: float

    def __post_init__(self) -> None:
        positive("weight", self.weight, "a kernel times 0 or less is not positive definite")

    def _value(self, s: Array, t: Array) -> Array:
        return self.weight * self.kernel(s, t)

    @property
    def bound(self) -> float:
        """weight times the kernel's bound."""
        return self.weight * self.kernel.bound

    def state_space(self) -> StateSpace | None:
        """The kernel's state with covariances times weight."""
        base = self.kernel.state_space()
        return None if base is None else Weighted(base, self.weight)

    def markov(self) -> Kernel:
        """The Markov form times weight."""
        return Scaled(self.kernel.markov(), self.weight)

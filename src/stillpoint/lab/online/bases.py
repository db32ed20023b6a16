"""Base learners: how one step is taken from a gradient.

Each says what it loses at most: `static(rounds, …)` to a fixed point, from its first round on, for
covers; `dynamic(…)` to a moving one, for pools of steps.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stillpoint.core.validation import Array, nonnegative, positive
from stillpoint.lab.online import _bases
from stillpoint.lab.online._bank import Bank, Rule


class Base:
    """A kind of base learner; one of your own overrides `move`.

    Attributes
    ----------
    code : int or None
        What compiled loops know it by; None runs in Python.
    queries : bool
        Whether it asks for a second gradient, at another point than its play.
    curved : bool
        Whether what it promises needs losses that curve, and gradients at its own plays.
    """

    code: ClassVar[int | None] = None
    queries: ClassVar[bool] = False
    curved: ClassVar[bool] = False
    step: float = 1.0
    offset: float = 0.0
    curvature: float = 1.0

    def move(self, bank: Bank, rule: Rule, i: int, g: Array) -> None:
        """Step along g: change `bank.x[i]`, and what else of place i it uses.

        Those without a `code` have `bank.y[i]`, a second vector, for themselves, and find in
        `bank.row("age")[i]` how many rounds they have seen before.
        """
        _bases.step(bank, rule, i, g, np.empty((2, g.size)))

    def static(self, rounds: float, G: float, D: float, dim: int) -> float:
        """Regret against any fixed point of a set of diameter D, after so many rounds from 1."""
        raise NotImplementedError(f"{type(self).__name__} promises nothing on intervals")

    def dynamic(self, path: float, square: float, start: float, reach: float) -> float:
        """Regret against a path of that length, where Σ‖g − guess‖² is `square`.

        No point of the domain has a norm above `reach`, and start = ‖x_1‖ + reach.
        """
        raise NotImplementedError(f"{type(self).__name__} promises nothing to moving comparators")


@dataclass(frozen=True)
class _Steady(Base):
    """A base learner with a constant step η."""

    step: float

    def __post_init__(self) -> None:
        positive("step", self.step)

    def dynamic(self, path: float, square: float, start: float, reach: float) -> float:
        """(start² + 2·reach·P)/(2η) + (η/2)Σ‖g − guess‖², P the length of the path.

        With y_t what steps start from, x_t itself where nothing is guessed: a round loses (‖u_t −
        y_t‖² − ‖u_t − y_{t+1}‖²)/(2η) + (η/2)‖g − guess‖², and Σ‖u_t − y_t‖² − ‖u_t − y_{t+1}‖² ≤
        ‖u_T‖² + ‖y_1‖² − 2⟨u_1, y_1⟩ − 2Σ⟨y_t, u_t − u_{t−1}⟩: for a path from end to end half of
        what papers have.
        """
        return (start * start + 2.0 * reach * path) / (2.0 * self.step) + 0.5 * self.step * square


@dataclass(frozen=True)
class Descent(_Steady):
    """x ← Π(x − ηg), with η = step (Zinkevich 2003)."""

    code: ClassVar[int | None] = _bases.DESCENT

    def static(self, rounds: float, G: float, D: float, dim: int) -> float:
        """D²/(2η) + ηG²n/2."""
        return D * D / (2.0 * self.step) + 0.5 * self.step * G * G * rounds


@dataclass(frozen=True)
class FadingDescent(Base):
    """x ← Π(x − ηg), with η = step/√n in its n-th round (Zinkevich 2003)."""

    step: float
    code: ClassVar[int | None] = _bases.SQRT

    def __post_init__(self) -> None:
        positive("step", self.step)

    def static(self, rounds: float, G: float, D: float, dim: int) -> float:
        """(D²/(2·step) + step·G²)√n."""
        return (D * D / (2.0 * self.step) + self.step * G * G) * math.sqrt(rounds)


@dataclass(frozen=True)
class ScaleFree(Base):
    """x ← Π(x − ηg), with η = step/√(offset + Σ‖g‖²) (Orabona & Pál 2018)."""

    step: float
    offset: float = 0.0
    code: ClassVar[int | None] = _bases.SCALE_FREE

    def __post_init__(self) -> None:
        positive("step", self.step)
        nonnegative("offset", self.offset)

    def static(self, rounds: float, G: float, D: float, dim: int) -> float:
        """(D²/(2·step) + step)√(offset + Σ‖g‖²), Σ‖g‖² ≤ nG²."""
        return (D * D / (2.0 * self.step) + self.step) * math.sqrt(self.offset + rounds * G * G)

    def dynamic(self, path: float, square: float, start: float, reach: float) -> float:
        """((D² + 2D·P)/(2·step) + step)√(offset + Σ‖g‖²), D = 2·reach."""
        D = 2.0 * reach
        far = (D * D + 2.0 * D * path) / (2.0 * self.step)
        return (far + self.step) * math.sqrt(self.offset + square)


@dataclass(frozen=True)
class StronglyConvexDescent(Base):
    """x ← Π(x − g/(Hn)), for losses that are H-strongly convex (Hazan et al. 2007)."""

    curvature: float
    code: ClassVar[int | None] = _bases.STRONG
    curved: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive("curvature", self.curvature)

    def static(self, rounds: float, G: float, D: float, dim: int) -> float:
        """G²(1 + ln n)/(2H)."""
        return G * G / (2.0 * self.curvature) * (1.0 + math.log(rounds))


@dataclass(frozen=True)
class NewtonStep(Base):
    """A ← A + gg', x ← Π_A(x − A⁻¹g/γ), for exp-concave losses (Hazan et al. 2007).

    γ = curvature = ½min{1/(4GD), α} for α-exp-concave losses, and A begins at εI, step = 1/ε.
    """

    curvature: float
    step: float
    code: ClassVar[int | None] = _bases.NEWTON
    curved: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive("curvature", self.curvature)
        positive("step", self.step)

    def static(self, rounds: float, G: float, D: float, dim: int) -> float:
        """(d/(2γ))ln(1 + nG²/(dε)) + γεD²/2."""
        log = math.log1p(rounds * G * G * self.step / dim)
        return dim * log / (2.0 * self.curvature) + 0.5 * self.curvature * D * D / self.step


@dataclass(frozen=True)
class OptimisticDescent(_Steady):
    """y ← Π(y − ηg), x ← Π(y − ηg): expects the last gradient again (Rakhlin & Sridharan 2013)."""

    code: ClassVar[int | None] = _bases.OPTIMISTIC


@dataclass(frozen=True)
class ExtraDescent(_Steady):
    """y ← Π(y − η∇f_t(x)), x ← Π(y − η∇f_t(y)): extra-gradient descent (Chiang et al. 2012)."""

    code: ClassVar[int | None] = _bases.EXTRA
    queries: ClassVar[bool] = True

"""The loss families: squared, absolute, pinball, Huber, logistic, hinge, linear, log."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array, finite, number, positive
from stillpoint.losses import _pointwise
from stillpoint.losses.base import Loss


@dataclass(frozen=True)
class Squared(Loss):
    """(p − y)²/2; its minimiser is the mean of y."""

    code: ClassVar[int] = _pointwise.SQUARED
    vector_plays: ClassVar[bool] = True

    @property
    def lipschitz(self) -> float:
        """Infinite."""
        return math.inf

    @property
    def strong_convexity(self) -> float:
        """1."""
        return 1.0

    def exp_concavity(self, bound: float) -> float:
        """Return 1/bound², where |p − y| ≤ bound."""
        bound = positive("bound", bound)
        return 1.0 / bound / bound


@dataclass(frozen=True)
class Absolute(Loss):
    """|p − y|; its minimiser is the median of y. The kink p = y has slope 0."""

    code: ClassVar[int] = _pointwise.ABSOLUTE
    vector_plays: ClassVar[bool] = True

    @property
    def lipschitz(self) -> float:
        """1."""
        return 1.0


@dataclass(frozen=True)
class Pinball(Loss):
    """level·(y − p)₊ + (1 − level)·(p − y)₊; its minimiser is the `level` quantile of y.

    The kink p = y has slope 0.
    """

    level: float
    code: ClassVar[int] = _pointwise.PINBALL

    def __post_init__(self) -> None:
        level = number("level", self.level, "give a number between 0 and 1")
        if not 0.0 < level < 1.0:
            raise ValueError(
                f"level must be between 0 and 1: got {self.level!r}; give 0.5 for the median"
            )
        object.__setattr__(self, "level", level)

    @property
    def parameter(self) -> float:
        """The level."""
        return self.level

    @property
    def lipschitz(self) -> float:
        """The larger of level and 1 − level."""
        return max(self.level, 1.0 - self.level)


@dataclass(frozen=True)
class Huber(Loss):
    """r²/2 for |r| ≤ width and width·(|r| − width/2) beyond, r = p − y."""

    width: float = 1.0
    code: ClassVar[int] = _pointwise.HUBER
    vector_plays: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", positive("width", self.width))

    @property
    def parameter(self) -> float:
        """The width."""
        return self.width

    @property
    def lipschitz(self) -> float:
        """The width."""
        return self.width


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(−y·p)), y in {−1, +1}."""

    code: ClassVar[int] = _pointwise.LOGISTIC
    labels: ClassVar[bool] = True

    @property
    def lipschitz(self) -> float:
        """1."""
        return 1.0

    def exp_concavity(self, bound: float) -> float:
        """Return exp(−bound), where |p| ≤ bound."""
        return math.exp(-positive("bound", bound))


@dataclass(frozen=True)
class Hinge(Loss):
    """max(0, 1 − y·p), y in {−1, +1}. The kink y·p = 1 has slope 0."""

    code: ClassVar[int] = _pointwise.HINGE
    labels: ClassVar[bool] = True

    @property
    def lipschitz(self) -> float:
        """1."""
        return 1.0


@dataclass(frozen=True)
class Linear(Loss):
    """y·p: y is the gradient, and with vector plays ⟨y, w⟩."""

    code: ClassVar[int] = _pointwise.LINEAR
    vector_plays: ClassVar[bool] = True

    @property
    def lipschitz(self) -> float:
        """1, for |y| ≤ 1."""
        return 1.0


@dataclass(frozen=True)
class Log(Loss):
    """−log p for p > 0, whatever y is.

    With features x, it is the log-wealth lost by a portfolio at price relatives x.
    """

    code: ClassVar[int] = _pointwise.LOG

    @property
    def lipschitz(self) -> float:
        """Infinite."""
        return math.inf

    def exp_concavity(self, bound: float) -> float:
        """Return 1, everywhere."""
        positive("bound", bound)
        return 1.0

    def _targets(self, y: ArrayLike | None, shape: tuple[int, ...] | None = None) -> Array:
        if y is None and shape is None:
            raise ValueError("x must be given for Log: got None; pass one row of features a round")
        return np.zeros(shape or ()) if y is None else super()._targets(y, shape)

    def _predictions(self, p: ArrayLike) -> Array:
        predictions = finite("p", p)
        if (predictions <= 0.0).any():
            raise ValueError(
                f"p must be positive for Log: got {predictions.min()}; keep plays where p > 0"
            )
        return predictions

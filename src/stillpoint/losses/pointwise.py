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
    """Squared loss, whose minimiser is the mean of y.

    Notes
    -----
    ℓ(p, y) = (p − y)²/2, and ‖w − y‖²/2 for plays in R^d; the gradient is p − y. Without a
    Lipschitz bound, strongly convex with constant 1.
    """

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
    """Absolute loss, whose minimiser is the median of y.

    Notes
    -----
    ℓ(p, y) = |p − y|, and ‖w − y‖ for plays in R^d; the gradient is sign(p − y), 0 at the kink
    p = y.
    """

    code: ClassVar[int] = _pointwise.ABSOLUTE
    vector_plays: ClassVar[bool] = True

    @property
    def lipschitz(self) -> float:
        """1."""
        return 1.0


@dataclass(frozen=True)
class Pinball(Loss):
    """Pinball loss, whose minimiser is a quantile of y.

    Parameters
    ----------
    level : float
        Which quantile, between 0 and 1; 0.5 is the median.

    Notes
    -----
    ℓ(p, y) = level·(y − p)₊ + (1 − level)·(p − y)₊; the gradient is −level below y, 1 − level above
    and 0 at the kink p = y.
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
    """Huber's loss: squared near the target, absolute far from it, so that outliers pull less.

    Parameters
    ----------
    width : float, default 1
        The error from which on the loss is linear, above 0; it bounds the gradient.

    Notes
    -----
    With r = p − y, or r = ‖w − y‖ for plays in R^d, ℓ = r²/2 for |r| ≤ width and
    width·(|r| − width/2) beyond; the gradient is r, cut off at ±width.
    """

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
    """Logistic loss for labels −1 and +1; the prediction is the log-odds of +1.

    Notes
    -----
    ℓ(p, y) = log(1 + e^{−yp}); the gradient is −y/(1 + e^{yp}).
    """

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
    """Hinge loss for labels −1 and +1, of support vector machines.

    Notes
    -----
    ℓ(p, y) = max(0, 1 − yp); the gradient is −y where yp < 1, else 0, at the kink yp = 1 as well.
    """

    code: ClassVar[int] = _pointwise.HINGE
    labels: ClassVar[bool] = True

    @property
    def lipschitz(self) -> float:
        """1."""
        return 1.0


@dataclass(frozen=True)
class Linear(Loss):
    """Linear loss: targets are gradients.

    Notes
    -----
    ℓ(p, y) = yp, and ⟨y, w⟩ for plays in R^d; the gradient is y.
    """

    code: ClassVar[int] = _pointwise.LINEAR
    vector_plays: ClassVar[bool] = True

    @property
    def lipschitz(self) -> float:
        """1, for |y| ≤ 1."""
        return 1.0


@dataclass(frozen=True)
class Log(Loss):
    """Log loss of a positive prediction; there are no targets.

    With features x, it is the log-wealth lost by a portfolio at price relatives x.

    Notes
    -----
    ℓ(p) = −log p for p > 0; the gradient is −1/p. Exp-concave with constant 1.
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

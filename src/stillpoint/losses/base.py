"""The interface of losses, and the curvature of erratum E11."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array, finite, increasing, nonnegative, number, positive
from stillpoint.losses import _pointwise
from stillpoint.losses.stream import LossStream


class Loss(ABC):
    """A convex loss ℓ(p, y) of a prediction p and a target y.

    Attributes
    ----------
    code : int
        The number of the family in compiled functions.
    vector_plays : bool
        Whether there is a form for plays and targets in R^d, of ‖w − y‖ or ⟨y, w⟩.
    labels : bool
        Whether targets are −1 and +1.

    Notes
    -----
    `value` and `gradient` take predictions; `on` makes a stream of rounds, whose losses are
    functions of the play w: p = w, or p = ⟨w, x⟩ with features x.
    """

    code: ClassVar[int]
    vector_plays: ClassVar[bool] = False
    labels: ClassVar[bool] = False

    @property
    def parameter(self) -> float:
        """The number that compiled losses take beside the code; 0 where the family has none."""
        return 0.0

    @property
    @abstractmethod
    def lipschitz(self) -> float:
        """The bound on |∂ℓ/∂p|, for |y| ≤ 1 where it depends on y; infinite where there is none."""

    @property
    def strong_convexity(self) -> float:
        """The lower bound on ∂²ℓ/∂p²."""
        return 0.0

    def exp_concavity(self, bound: float) -> float:
        """Return the largest α for which exp(−αℓ) is concave in p while `bound` holds, or 0."""
        positive("bound", bound)
        return 0.0

    def value(self, p: ArrayLike, y: ArrayLike | None = None) -> Array | np.float64:
        """Return ℓ(p, y), elementwise."""
        return self._map(_pointwise.values, p, y)

    def gradient(self, p: ArrayLike, y: ArrayLike | None = None) -> Array | np.float64:
        """Return ∂ℓ/∂p, elementwise; 0 at a kink."""
        return self._map(_pointwise.slopes, p, y)

    def on(
        self, y: ArrayLike | None = None, x: ArrayLike | None = None, times: ArrayLike | None = None
    ) -> LossStream:
        """Return the rounds of a stream.

        Parameters
        ----------
        y : array of shape (T,) or (T, d)
            The targets: (T,) for plays in R, and with x; (T, d) for plays in R^d, where the loss is
            one of ‖w − y‖, or ⟨y, w⟩ if linear.
        x : array of shape (T, d), optional
            The features: a play w in R^d predicts p = ⟨w, x_t⟩.
        times : array, optional
            The times of the rounds, increasing; None for rounds one apart.
        """
        if x is None:
            targets = self._targets(y)
            if targets.ndim not in (1, 2):
                raise ValueError(
                    f"y must have shape (T,) or (T, d): got shape {targets.shape}; pass one row a"
                    " round"
                )
            targets = targets.reshape(len(targets), -1) if targets.size else np.empty((0, 1))
            mode = _pointwise.SCALAR if targets.shape[1] == 1 else _pointwise.VECTOR
            features = np.empty((0, targets.shape[1]))
            if mode == _pointwise.VECTOR and not self.vector_plays:
                raise ValueError(
                    f"y must have shape (T,) for {type(self).__name__}: got shape {targets.shape}; "
                    "give features x, or one loss a coordinate"
                )
        else:
            mode = _pointwise.FEATURES
            features = finite("x", x)
            if features.ndim != 2 or features.shape[1] == 0:
                raise ValueError(
                    f"x must have shape (T, d): got shape {features.shape}; pass one row a round"
                )
            targets = self._targets(y, features.shape[:1])
            if targets.shape not in ((len(features),), (len(features), 1)):
                raise ValueError(
                    f"y must have shape ({len(features)},), one value a row of x: got shape "
                    f"{targets.shape}; drop the rounds that lack one of the two"
                )
            targets = targets.reshape(-1, 1)
        if len(targets) == 0:
            raise ValueError("y and x must have at least one round: got none; give a row a round")
        if times is not None:
            times = increasing("times", times).copy()
            if len(times) != len(targets):
                raise ValueError(
                    f"times must have {len(targets)} values: got {len(times)}; give one time a"
                    " round"
                )
        return LossStream(
            self, np.array(targets, order="C"), np.array(features, order="C"), mode, times
        )

    def _targets(self, y: ArrayLike | None, shape: tuple[int, ...] | None = None) -> Array:
        if y is None:
            raise ValueError(
                f"y must be given for {type(self).__name__}: got None; pass one target a round"
            )
        targets = finite("y", y)
        if self.labels and not (np.abs(targets) == 1.0).all():
            bad = targets[np.abs(targets) != 1.0].flat[0]
            raise ValueError(
                f"y must be -1 or +1 for {type(self).__name__}: got {bad}; map 0 and 1 by 2 * y - 1"
            )
        return targets

    def _predictions(self, p: ArrayLike) -> Array:
        return finite("p", p)

    def _map(
        self, compiled: Callable[..., None], p: ArrayLike, y: ArrayLike | None
    ) -> Array | np.float64:
        predictions = self._predictions(p)
        targets = self._targets(y, predictions.shape)
        try:
            shape = np.broadcast_shapes(predictions.shape, targets.shape)
        except ValueError:
            raise ValueError(
                f"p and y must have matching shapes: got {predictions.shape} and {targets.shape};"
                " pass one target a prediction"
            ) from None
        out = np.empty(shape)
        pairs = (
            np.array(np.broadcast_to(side, shape), order="C").reshape(-1)
            for side in (predictions, targets)
        )
        compiled(self.code, self.parameter, *pairs, out.reshape(-1))
        result: Array | np.float64 = out[()]
        return result


def newton_curvature(alpha: float, gap: float) -> float:
    """Return the curvature β of an exp-concave loss (erratum E11).

    Parameters
    ----------
    alpha : float
        The exp-concavity constant of ℓ.
    gap : float
        A bound on g = ⟨∇ℓ(x), x−y⟩ over the domain; β falls from alpha as it grows.

    Returns
    -------
    float
        β with ℓ(x) − ℓ(y) ≤ g − (β/2)g².
    """
    alpha, gap = positive("alpha", alpha), nonnegative("gap", gap)
    q = number("alpha * gap", alpha * gap, "bring the two to the same scale")
    if q < 0.1:
        # the closed form cancels here
        return alpha * math.fsum(2.0 * (-q) ** k / (k + 2) for k in range(18))
    return 2.0 * (1.0 - math.log1p(q) / q) / gap

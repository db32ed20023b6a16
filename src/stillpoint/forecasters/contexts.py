"""What TrackingVAW takes as `context`: a kernel on contexts, or a map to features."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.beliefs.dense import Gram
from stillpoint.core.validation import Array, finite, real


class Transformer(Protocol):
    """A fitted map from contexts to features, such as scikit-learn's Nystroem or RBFSampler."""

    def transform(self, X: Array) -> ArrayLike:
        """Features of each row of X."""


def read_context(
    context: Any, dim: int
) -> tuple[Callable[[Array], Array] | None, Gram | None, int]:
    """The map to features or the kernel that `context` stands for, and how many features it gives.

    What map and kernel answer is checked whenever they are asked.
    """
    if context is None:
        return None, None, dim
    if isinstance(context, type) or not (callable(context) or hasattr(context, "transform")):
        raise ValueError(
            f"context must be None, a kernel on contexts or a fitted transformer: got {context!r}; "
            "use an object such as sp.kernels.GaussianContext(1.0)"
        )
    if not hasattr(context, "transform"):
        return None, _Inner(context), dim
    try:
        shape = real(
            "context's features", context.transform(np.zeros((1, dim))), "let it give dense arrays"
        ).shape
    except (
        ValueError,
        AttributeError,
        TypeError,
    ) as error:  # scikit-learn's NotFittedError is both of the first two
        raise ValueError(
            f"context must be a transformer fitted on rows of dim = {dim} features: got {context!r}"
            f" ({error}); call its fit first"
        ) from error
    if len(shape) != 2 or shape[0] != 1 or shape[1] == 0:
        raise ValueError(
            f"context must give a row of features a row: got shape {shape} for one row; check the"
            " transformer"
        )
    return _Features(context, shape[1]), None, shape[1]


@dataclass(frozen=True)
class _Inner:
    """A kernel on contexts, whose answers are checked. (No closure: learners are pickled.)"""

    context: Any

    def __call__(self, a: Array, b: Array) -> Array:
        gram = finite("context's Gram matrix", self.context(a, b), "check the kernel on contexts")
        if gram.shape != (len(a), len(b)):
            raise ValueError(
                "context must map (n, dim) and (m, dim) to an (n, m) Gram matrix: got shape"
                f" {gram.shape} for {len(a)} and {len(b)} contexts; use a kernel such as"
                " sp.kernels.GaussianContext(1.0)"
            )
        return gram


@dataclass(frozen=True)
class _Features:
    """A map of contexts to features, whose answers are checked."""

    context: Any
    width: int

    def __call__(self, x: Array) -> Array:
        rows = finite(
            "context's features", self.context.transform(x[None, :].copy()), "check the transformer"
        )
        if rows.shape != (1, self.width):
            raise ValueError(
                f"context must give features of shape (1, {self.width}): got shape {rows.shape};"
                " check the transformer"
            )
        return np.array(rows[0])

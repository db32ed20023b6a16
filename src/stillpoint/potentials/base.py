"""The interface of potentials: from S = ‖θ‖ and V = Σ‖G‖² to the size of a play."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.potentials import _magnitudes

CAP = _magnitudes.CAP


class Potential(ABC):
    """A radially symmetric FTRL regulariser, by its dual: W_t = θ/‖θ‖ · magnitude(‖θ‖, V).

    Attributes
    ----------
    offset : float
        V starts at offset·h², where h ≥ ‖G_t‖ is the hint.
    running_hints : bool
        Whether `bound` still holds when the hint grows over time (scale-free use, growing kernels).
    code : int or None
        The compiled form, which takes `parameters`; None: learners call `magnitude` from Python.
    """

    offset: float = 0.0
    running_hints: bool = True
    code: int | None = None

    @property
    def parameters(self) -> Array:
        """Numbers that the compiled form needs."""
        return np.zeros(0)

    def magnitude(self, S: float, V: float, h: float, count: float = 0.0) -> float:
        """Size ‖W_t‖ of the play.

        Parameters
        ----------
        S : float
            ‖θ_t‖.
        V : float
            offset·h² + Σ_{s<t}‖G_s‖².
        h : float
            The hint.
        count : float, default 0
            A_t = 4 + Σ_{s<t}‖G_s‖²/h_s² where the hint runs, 0 where it is fixed.
        """
        if self.code is None:
            raise NotImplementedError(f"{type(self).__name__} must define magnitude")
        return float(
            _magnitudes.magnitude(
                self.code, self.parameters, float(S), float(V), float(h), float(count)
            )
        )

    @abstractmethod
    def bound(self, norm: float, V: float, h: float, count: float = 0.0) -> float:
        """Bound the regret against comparators of RKHS norm `norm`, after a run with V and h."""


def conjugate(
    slope: float, derivative: Callable[[float], float], value: Callable[[float], float]
) -> float:
    """sup over S ≥ 0 of slope·S − value(S) for a convex function, by bisection."""
    if slope <= derivative(0.0):
        return -value(0.0)
    high = 1.0
    while derivative(high) < slope:
        high *= 2.0
        if high > 1e300:
            raise ValueError(
                f"norm is beyond what the bound can represent: got {slope}; give a norm below"
                f" {CAP:g}"
            )
    low = 0.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if derivative(middle) < slope:
            low = middle
        else:
            high = middle
        if high - low <= 1e-15 * high:
            break
    return slope * high - value(high)

"""Quadratic potentials: gradient descent in the RKHS, and dual averaging with AdaGrad's norm."""

import math
from dataclasses import dataclass

import numpy as np

from stillpoint.core.validation import Array, positive
from stillpoint.potentials import _magnitudes
from stillpoint.potentials.base import Potential


@dataclass(frozen=True)
class Quadratic(Potential):
    """Gradient descent with a fixed step; it needs no hint.

    Parameters
    ----------
    step : float
        η.

    Notes
    -----
    m = η·S, the OGD form of Theorem olo-reduction: R ≤ ‖U‖²/(2η) + (η/2)Σ‖g_t‖²k(t,t).
    """

    step: float
    code = _magnitudes.QUADRATIC

    def __post_init__(self) -> None:
        positive("step", self.step)

    @property
    def parameters(self) -> Array:
        """The step."""
        return np.array([self.step])

    def potential(self, S: float, V: float, h: float) -> float:
        """Φ = step·(S² − V)/2; the one-step inequality is an equality."""
        return 0.5 * self.step * (S * S - V)

    def bound(self, norm: float, V: float, h: float, count: float = 0.0) -> float:
        """‖U‖²/(2 step) + step·V/2."""
        return norm * norm / (2.0 * self.step) + 0.5 * self.step * V


@dataclass(frozen=True)
class AdaptiveQuadratic(Potential):
    """Dual averaging with a step that falls as gradients come.

    Parameters
    ----------
    radius : float
        The norm of comparators to expect.

    Notes
    -----
    m = radius·S/√V with V = h² + Σ‖G‖²: FTRL with regulariser √V_t‖W‖²/(2 radius) (Orabona 2019,
    section 7.6). R ≤ (‖U‖²/(2 radius) + radius)·√V: within a factor of the best step for
    comparators of norm about √2·radius.
    """

    radius: float
    code = _magnitudes.ADAPTIVE
    offset = 1.0

    def __post_init__(self) -> None:
        positive("radius", self.radius)

    @property
    def parameters(self) -> Array:
        """The radius."""
        return np.array([self.radius])

    def bound(self, norm: float, V: float, h: float, count: float = 0.0) -> float:
        """(‖U‖²/(2 radius) + radius)·√V, from ‖G_t‖² ≤ h² and Σ‖G_t‖²/√V_{t+1} ≤ 2√V."""
        return (norm * norm / (2.0 * self.radius) + self.radius) * math.sqrt(V)

"""Potentials proved by a one-step inequality: FreeGrad (Mhammedi & Koolen 2020) and Erfi.

If Φ(V + r², √(S² + r² + 2Sc)) − Φ(V, S) ≤ c·m(S, V) for all |c| ≤ r ≤ h, then −Σ⟨g, w⟩ ≥ Φ(V_T,
S_T) − Φ(V_1, 0), hence R(U) ≤ sup_S [S‖U‖ − Φ(V_T, S)] + Φ(V_1, 0).
"""

import math
from dataclasses import dataclass

import numpy as np

from stillpoint.core.validation import Array, positive
from stillpoint.potentials import _magnitudes
from stillpoint.potentials.base import Potential, conjugate


@dataclass(frozen=True)
class FreeGrad(Potential):
    """FreeGrad of Mhammedi & Koolen (2020).

    Parameters
    ----------
    scale : float, default 1
        ε, the size of play before anything is known.

    Notes
    -----
    m = ε·S(2V + hS)h²/(2(V + hS)²√V)·exp(S²/(2V + 2hS)) with V = h² + Σ‖G‖². The hint must be
    fixed: Φ grows with h.
    """

    scale: float = 1.0
    code = _magnitudes.FREE_GRAD
    offset = 1.0
    running_hints = False

    def __post_init__(self) -> None:
        positive("scale", self.scale)

    @property
    def parameters(self) -> Array:
        """The scale ε."""
        return np.array([self.scale])

    def potential(self, S: float, V: float, h: float) -> float:
        """Φ = ε h²/√V · exp(S²/(2V + 2hS)), saturated."""
        log = (
            math.log(self.scale)
            + 2.0 * math.log(h)
            - 0.5 * math.log(V)
            + S * S / (2.0 * (V + h * S))
        )
        return float(_magnitudes.saturated_exp(log))

    def bound(self, norm: float, V: float, h: float, count: float = 0.0) -> float:
        """sup_S [S‖U‖ − Φ(V, S)] + εh."""
        if h <= 0.0:
            return 0.0
        v = V / h / h  # Φ(V, S; h) = h·Φ(V/h², S/h; 1), so no unit of gradients is too small
        return h * (
            conjugate(
                norm, lambda s: self.magnitude(s, v, 1.0), lambda s: self.potential(s, v, 1.0)
            )
            + self.scale
        )


@dataclass(frozen=True)
class Erfi(Potential):
    """The practical default, by the imaginary error function.

    Parameters
    ----------
    scale : float, default 1
        ε, what may be lost, times √V, before anything is known.
    alpha : float, default 0.75
        α, which sets the scale √(4αU) of S.
    z0 : float, default 4
        z₀, the part of U that is there from the start, over h².

    Notes
    -----
    m = ε(E(q) − h√(α/U)e^{q²}), E(q) = ∫_0^q e^{x²}dx, U = V + 2hS + z₀h², q = S/√(4αU). With l =
    log(2 + ‖U‖/ε) regret is O(ε(√V + h) + ‖U‖(√(Vl) + hl)): no logarithm on the ε√V term, and
    running hints cost nothing because ∂Φ/∂U < 0. The inequality was checked for (α, z₀) = (0.75,
    4), (0.6, 16), (1, 4); smaller α violates it.
    """

    scale: float = 1.0
    alpha: float = 0.75
    z0: float = 4.0
    code = _magnitudes.ERFI

    def __post_init__(self) -> None:
        positive("scale", self.scale)
        if positive("alpha", self.alpha) < 0.6:
            raise ValueError(
                f"alpha must be at least 0.6 for the guarantee to hold: got {self.alpha}; use 0.75"
            )
        if positive("z0", self.z0) < (16.0 if self.alpha < 0.75 else 4.0):
            raise ValueError(
                f"z0 is too small for alpha {self.alpha}: got {self.z0}; use 4 (alpha ≥ 0.75) or 16"
            )

    @property
    def parameters(self) -> Array:
        """ε, α, z₀."""
        return np.array([self.scale, self.alpha, self.z0])

    def potential(self, S: float, V: float, h: float) -> float:
        """Φ = ε√(αU)(2EE(q) − 1) = ε√(αU)·e^{q²}(2qD(q) − 1), saturated."""
        U = V + 2.0 * h * S + self.z0 * h * h
        q = S / math.sqrt(4.0 * self.alpha * U)
        bracket = 2.0 * q * float(_magnitudes.dawson(q)) - 1.0
        size = self.scale * math.sqrt(self.alpha * U)
        if bracket <= 0.0:
            return size * bracket * math.exp(q * q)
        return float(_magnitudes.saturated_exp(math.log(size) + q * q + math.log(bracket)))

    def bound(self, norm: float, V: float, h: float, count: float = 0.0) -> float:
        """sup_S [S‖U‖ − Φ(V, S)] − ε√(αz₀)h, without the last term, a gain, where hints run."""
        if h <= 0.0:
            return 0.0
        v = V / h / h  # as in FreeGrad
        gain = conjugate(
            norm, lambda s: self._derivative(s, v, 1.0), lambda s: self.potential(s, v, 1.0)
        )
        return h * (gain if count > 0.0 else gain - self.scale * math.sqrt(self.alpha * self.z0))

    def _derivative(self, S: float, V: float, h: float) -> float:
        # magnitude is 0 at S = 0 by convention (there is no direction to play); ∂Φ/∂S is not
        if S <= 0.0:
            return -self.scale * h * math.sqrt(self.alpha / (V + self.z0 * h * h))
        return self.magnitude(S, V, h)

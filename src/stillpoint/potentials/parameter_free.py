"""The paper's Algorithm 2 (Jacobsen & Cutkosky 2022, Algorithm 4): ψ of Eq. (Ψ), erratum E1."""

import math
from dataclasses import dataclass

import numpy as np

from stillpoint.core.validation import Array, positive
from stillpoint.potentials import _magnitudes
from stillpoint.potentials.base import Potential


@dataclass(frozen=True)
class ParameterFree(Potential):
    """The potential of the paper's Algorithm 2.

    Parameters
    ----------
    scale : float, default 1
        ε > 0, the size of play before anything is known.

    Notes
    -----
    m = α(exp(S²/36V) − 1) if S ≤ 6V/h, else α(exp(S/3h − V/h²) − 1), with V = 4h² + Σ‖G‖².
    α = εh/(√V log²(V/h²)) when the hint is fixed; with running hints α = ε/(A log²A), A = 4 +
    Σ‖G_s‖²/h_s², passed as `count`.
    """

    scale: float = 1.0
    code = _magnitudes.PARAMETER_FREE
    offset = 4.0

    def __post_init__(self) -> None:
        positive("scale", self.scale)

    @property
    def parameters(self) -> Array:
        """The scale ε."""
        return np.array([self.scale])

    def bound(self, norm: float, V: float, h: float, count: float = 0.0) -> float:
        """Proposition kernelized-pf: 4hε + 6‖U‖ max(√(V l), h l), l = log(1 + ‖U‖/α)."""
        if h <= 0.0:
            return 0.0
        # as in FreeGrad; a V that has underflowed is still what it starts with
        v = max(V / h / h, self.offset)
        # of α/ε
        inverse = count * math.log(count) ** 2 if count > 0.0 else math.sqrt(v) * math.log(v) ** 2
        log = math.log1p(norm / self.scale * inverse)
        return 4.0 * h * self.scale + 6.0 * norm * h * max(math.sqrt(v) * math.sqrt(log), log)

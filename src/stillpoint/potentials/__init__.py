"""Potentials: from the norm of the gradients' sum to the size of a play."""

from stillpoint.potentials.base import CAP, Potential
from stillpoint.potentials.exponential import Erfi, FreeGrad
from stillpoint.potentials.parameter_free import ParameterFree
from stillpoint.potentials.quadratic import AdaptiveQuadratic, Quadratic

__all__ = [
    "CAP",
    "AdaptiveQuadratic",
    "Erfi",
    "FreeGrad",
    "ParameterFree",
    "Potential",
    "Quadratic",
]

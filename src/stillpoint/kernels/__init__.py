"""Kernels on time: which moving targets are cheap to follow."""

from stillpoint.kernels.base import Kernel, Product, Scaled, StationaryKernel, Sum
from stillpoint.kernels.context import GaussianContext
from stillpoint.kernels.horizon_free import HorizonFree
from stillpoint.kernels.path_length import PathLengthConditions
from stillpoint.kernels.simple import (
    OU,
    Constant,
    Dirac,
    Gaussian,
    InverseMultiquadric,
    Matern32,
    Matern52,
    OUMixture,
    Spline,
)
from stillpoint.kernels.spectral import SpectralDensity
from stillpoint.kernels.state_space import StateSpace
from stillpoint.kernels.structural import IntegratedBrownian, Periodic

__all__ = [
    "OU",
    "Constant",
    "Dirac",
    "Gaussian",
    "GaussianContext",
    "HorizonFree",
    "IntegratedBrownian",
    "InverseMultiquadric",
    "Kernel",
    "Matern32",
    "Matern52",
    "OUMixture",
    "PathLengthConditions",
    "Periodic",
    "Product",
    "Scaled",
    "SpectralDensity",
    "Spline",
    "StateSpace",
    "StationaryKernel",
    "Sum",
]

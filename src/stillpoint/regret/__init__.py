"""Comparators and what they cost: path lengths, RKHS norms, and the best ones in hindsight."""

from stillpoint.regret.bounds import optimal_path_length, path_length_norm
from stillpoint.regret.comparators import magnitude, path_length, squared_path_length, switches
from stillpoint.regret.dimension import (
    effective_dimension,
    log_det,
    log_det_bound,
    spline_dimension_bound,
    spline_effective_dimension,
    spline_eigenvalues,
)
from stillpoint.regret.hindsight import hindsight_path_length, hindsight_piecewise, hindsight_static
from stillpoint.regret.norms import Interpolant, interpolate, rkhs_norm
from stillpoint.regret.sinc import PATH_CONSTANT, SincBump, bump, curvature_constant, sinc_product

__all__ = [
    "PATH_CONSTANT",
    "Interpolant",
    "SincBump",
    "bump",
    "curvature_constant",
    "effective_dimension",
    "hindsight_path_length",
    "hindsight_piecewise",
    "hindsight_static",
    "interpolate",
    "log_det",
    "log_det_bound",
    "magnitude",
    "optimal_path_length",
    "path_length",
    "path_length_norm",
    "rkhs_norm",
    "sinc_product",
    "spline_dimension_bound",
    "spline_effective_dimension",
    "spline_eigenvalues",
    "squared_path_length",
    "switches",
]

"""Curved losses: VAW and Newton learners as exact Kalman filters."""

from stillpoint.filters.forecaster import Forecaster
from stillpoint.filters.newton import ExpConcave, StronglyConvex
from stillpoint.filters.tracking import TrackingForecaster, TrackingProbabilities
from stillpoint.filters.tracking_vaw import TrackingVAW
from stillpoint.filters.variation import VariationForecaster
from stillpoint.filters.vaw import KernelVAW

__all__ = [
    "ExpConcave",
    "Forecaster",
    "KernelVAW",
    "StronglyConvex",
    "TrackingForecaster",
    "TrackingProbabilities",
    "TrackingVAW",
    "VariationForecaster",
]

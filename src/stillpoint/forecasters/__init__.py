"""Forecasters: learners that see the target of a round after they forecast it."""

from stillpoint.forecasters.classification import TrackingProbabilities
from stillpoint.forecasters.kernel_forecaster import KernelForecaster
from stillpoint.forecasters.regression import TrackingForecaster
from stillpoint.forecasters.tracking_vaw import TrackingVAW
from stillpoint.forecasters.variation import VariationForecaster
from stillpoint.forecasters.vaw import KernelVAW

__all__ = [
    "KernelForecaster",
    "KernelVAW",
    "TrackingForecaster",
    "TrackingProbabilities",
    "TrackingVAW",
    "VariationForecaster",
]

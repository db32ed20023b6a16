"""Untuned tracking of targets and labels: drift rates side by side, exact rebasing of features, aggregation on the fly."""

from stillpoint.filters.tracking.forecaster import TrackingForecaster
from stillpoint.filters.tracking.probabilities import TrackingProbabilities

__all__ = ["TrackingForecaster", "TrackingProbabilities"]

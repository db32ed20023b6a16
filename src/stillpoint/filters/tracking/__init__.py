"""Untuned time-varying regression: drift rates side by side, exact rebasing of features, aggregation on the fly."""

from stillpoint.filters.tracking.forecaster import TrackingForecaster

__all__ = ["TrackingForecaster"]

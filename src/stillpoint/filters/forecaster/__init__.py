"""Forecaster: squared loss on time with nothing to tune."""

from stillpoint.filters.forecaster.forecaster import Forecaster

__all__ = ["Forecaster"]

"""VariationForecaster: squared loss on time at the total-variation rate, nothing to tune."""

from stillpoint.filters.variation.forecaster import VariationForecaster

__all__ = ["VariationForecaster"]

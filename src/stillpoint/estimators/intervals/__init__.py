"""Online conformal prediction, untuned: moving quantiles, and intervals around any forecaster (TRACKING sections 3 and 4)."""

from stillpoint.estimators.intervals.interval import IntervalTracker
from stillpoint.estimators.intervals.quantile import QuantileTracker
from stillpoint.estimators.intervals.wrap import Wrapped

__all__ = ["IntervalTracker", "QuantileTracker", "Wrapped"]

"""Online conformal prediction, untuned: moving quantiles, and intervals around any forecaster."""

from stillpoint.intervals.interval import IntervalTracker
from stillpoint.intervals.quantile import QuantileTracker
from stillpoint.intervals.wrap import Wrapped

__all__ = ["IntervalTracker", "QuantileTracker", "Wrapped"]

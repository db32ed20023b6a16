"""Stacks of learners of one series: intervals, quantiles, forecasts."""

from stillpoint.fleet.stacks.series.forecaster import ForecasterStack
from stillpoint.fleet.stacks.series.lanes import IntervalStack, QuantileStack

__all__ = ["ForecasterStack", "IntervalStack", "QuantileStack"]

"""The forecaster of series: experts, their aggregation per horizon, seasons, intervals."""

from stillpoint.series.forecaster import Forecaster

__all__ = ["Forecaster"]

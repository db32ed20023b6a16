"""Wrappers for river: rows as dicts of features, in data frames, or values of a series."""

from stillpoint.core.extras import require

require("river", "stillpoint.estimators.river", "river")

from stillpoint.estimators.river.anomaly import Anomalies  # noqa: E402
from stillpoint.estimators.river.classification import TrackingClassifier  # noqa: E402
from stillpoint.estimators.river.conformal import (  # noqa: E402
    ConformalClassifier,
    ConformalQuantiles,
    ConformalRegressor,
)
from stillpoint.estimators.river.drift import Changes  # noqa: E402
from stillpoint.estimators.river.forecasting import Forecaster  # noqa: E402
from stillpoint.estimators.river.regression import TrackingRegressor  # noqa: E402

__all__ = [
    "Anomalies",
    "Changes",
    "ConformalClassifier",
    "ConformalQuantiles",
    "ConformalRegressor",
    "Forecaster",
    "TrackingClassifier",
    "TrackingRegressor",
]

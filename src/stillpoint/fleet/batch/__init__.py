"""States of many learners, one module a family of them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stillpoint.alerts import Anomalies, Changes
from stillpoint.fleet.batch.alert_objects import AlertObjects
from stillpoint.fleet.batch.alerts import AlertBatch
from stillpoint.fleet.batch.base import Batch, Fault
from stillpoint.fleet.batch.forecaster import ForecasterBatch
from stillpoint.fleet.batch.forecasters import RegressionObjects, SeriesObjects, VariationObjects
from stillpoint.fleet.batch.intervals import IntervalBatch, QuantileBatch
from stillpoint.fleet.batch.late_intervals import LateIntervalBatch
from stillpoint.fleet.batch.multiscale import MultiScaleBatch
from stillpoint.fleet.batch.series import SeriesBatch
from stillpoint.fleet.batch.tracker import TrackerBatch
from stillpoint.forecasters import KernelForecaster, TrackingForecaster, VariationForecaster
from stillpoint.intervals import IntervalTracker, QuantileTracker
from stillpoint.learners import MultiScale, Tracker
from stillpoint.series import Forecaster


def _intervals(learner: IntervalTracker, threads: int) -> Batch:
    return (LateIntervalBatch if learner.delay else IntervalBatch)(learner, threads)


def _anomalies(learner: Anomalies, threads: int) -> Batch:
    config = learner.config
    rows = config["memory"] == "small" and config["forecaster"] is None
    return (AlertBatch if rows else AlertObjects)(learner, threads)


# learners that a fleet can be made of, and the batch of each
BATCHES: dict[type[Any], Callable[[Any, int], Batch]] = {
    Anomalies: _anomalies,
    Changes: AlertObjects,
    Forecaster: SeriesObjects,
    IntervalTracker: _intervals,
    KernelForecaster: ForecasterBatch,
    MultiScale: MultiScaleBatch,
    QuantileTracker: QuantileBatch,
    Tracker: TrackerBatch,
    TrackingForecaster: RegressionObjects,
    VariationForecaster: VariationObjects,
}


def type_named(dtype: Any) -> str:
    """The name of a type of states, however it was given."""
    try:
        name = np.dtype(dtype).name if dtype is not None else ""
    except TypeError:
        name = ""
    if name not in ("float64", "float32"):
        raise ValueError(f'dtype must be "float64" or "float32": got {dtype!r}; choose one')
    return name


def batch_of(kind: type[Any], learner: Any, threads: int, dtype: str) -> Batch:
    """An empty batch of learners like this one, its states of this type."""
    if kind is Forecaster and SeriesBatch.takes(learner):
        return SeriesBatch(learner, threads, dtype)
    if dtype == "float32":
        raise ValueError(
            f'dtype must be "float64" for this fleet of {kind.__name__}: got {dtype!r}; float32 is'
            ' for a Forecaster with pool="small" or "middle", told seasons and no features'
        )
    return BATCHES[kind](learner, threads)


__all__ = ["BATCHES", "Batch", "Fault", "batch_of", "type_named"]

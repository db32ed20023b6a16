"""States of many learners, one module a family of them."""

from typing import Any

from stillpoint.fleet.batch.base import Batch, Fault
from stillpoint.fleet.batch.forecaster import ForecasterBatch
from stillpoint.fleet.batch.intervals import IntervalBatch, QuantileBatch
from stillpoint.fleet.batch.multiscale import MultiScaleBatch
from stillpoint.fleet.batch.tracker import TrackerBatch
from stillpoint.forecasters import KernelForecaster
from stillpoint.intervals import IntervalTracker, QuantileTracker
from stillpoint.learners import MultiScale, Tracker

# learners that a fleet can be made of, and the batch of each
BATCHES: dict[type[Any], type[Any]] = {
    KernelForecaster: ForecasterBatch,
    IntervalTracker: IntervalBatch,
    MultiScale: MultiScaleBatch,
    QuantileTracker: QuantileBatch,
    Tracker: TrackerBatch,
}

__all__ = ["BATCHES", "Batch", "Fault"]

"""States of many learners, one module a family of them."""

from typing import Any

from stillpoint.fleet.batch.base import Batch, Fault
from stillpoint.fleet.batch.forecaster import ForecasterStack
from stillpoint.fleet.batch.intervals import IntervalStack, QuantileStack
from stillpoint.fleet.batch.multiscale import MultiScaleBatch
from stillpoint.fleet.batch.tracker import TrackerBatch
from stillpoint.forecasters import KernelForecaster
from stillpoint.intervals import IntervalTracker, QuantileTracker
from stillpoint.learners import MultiScale, Tracker

# learners that a fleet can be made of, and the batch of each
BATCHES: dict[type[Any], type[Any]] = {
    KernelForecaster: ForecasterStack,
    IntervalTracker: IntervalStack,
    MultiScale: MultiScaleBatch,
    QuantileTracker: QuantileStack,
    Tracker: TrackerBatch,
}

__all__ = ["BATCHES", "Batch", "Fault"]

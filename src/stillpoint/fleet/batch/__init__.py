"""States of many learners, one module a family of them."""

from collections.abc import Callable
from typing import Any

from stillpoint.fleet.batch.base import Batch, Fault
from stillpoint.fleet.batch.forecaster import ForecasterBatch
from stillpoint.fleet.batch.intervals import IntervalBatch, QuantileBatch
from stillpoint.fleet.batch.late_intervals import LateIntervalBatch
from stillpoint.fleet.batch.multiscale import MultiScaleBatch
from stillpoint.fleet.batch.tracker import TrackerBatch
from stillpoint.forecasters import KernelForecaster
from stillpoint.intervals import IntervalTracker, QuantileTracker
from stillpoint.learners import MultiScale, Tracker


def _intervals(learner: IntervalTracker, threads: int) -> Batch:
    return (LateIntervalBatch if learner.delay else IntervalBatch)(learner, threads)


# learners that a fleet can be made of, and the batch of each
BATCHES: dict[type[Any], Callable[[Any, int], Batch]] = {
    KernelForecaster: ForecasterBatch,
    IntervalTracker: _intervals,
    MultiScale: MultiScaleBatch,
    QuantileTracker: QuantileBatch,
    Tracker: TrackerBatch,
}

__all__ = ["BATCHES", "Batch", "Fault"]

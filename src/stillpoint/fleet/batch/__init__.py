"""Stacked states, one module a family of learners."""

from typing import Any

from stillpoint.fleet.batch.base import Fault, Stack
from stillpoint.fleet.batch.forecaster import ForecasterStack
from stillpoint.fleet.batch.intervals import IntervalBatch, QuantileBatch
from stillpoint.fleet.batch.multiscale import MultiScaleStack
from stillpoint.fleet.batch.tracker import TrackerStack
from stillpoint.forecasters import KernelForecaster
from stillpoint.intervals import IntervalTracker, QuantileTracker
from stillpoint.learners import MultiScale, Tracker

# learners that a fleet can be made of, and the stack of each
STACKS: dict[type[Any], type[Any]] = {
    KernelForecaster: ForecasterStack,
    IntervalTracker: IntervalBatch,
    MultiScale: MultiScaleStack,
    QuantileTracker: QuantileBatch,
    Tracker: TrackerStack,
}

__all__ = ["STACKS", "Fault", "Stack"]

"""Stacked states, one module a family of learners."""

from typing import Any

from stillpoint.estimators.intervals import IntervalTracker, QuantileTracker
from stillpoint.filters import Forecaster
from stillpoint.fleet.stacks.base import Fault, Stack
from stillpoint.fleet.stacks.multiscale import MultiScaleStack
from stillpoint.fleet.stacks.series import ForecasterStack, IntervalStack, QuantileStack
from stillpoint.fleet.stacks.tracker import TrackerStack
from stillpoint.learners import MultiScale, Tracker

# learners that a fleet can be made of, and the stack of each
STACKS: dict[type[Any], type[Any]] = {
    Forecaster: ForecasterStack,
    IntervalTracker: IntervalStack,
    MultiScale: MultiScaleStack,
    QuantileTracker: QuantileStack,
    Tracker: TrackerStack,
}

__all__ = ["STACKS", "Fault", "Stack"]

"""Learners that run on devices: their states as columns, their rounds as operations on them."""

from typing import Any

from stillpoint.fleet.gpu.programs.base import Plan
from stillpoint.fleet.gpu.programs.intervals import IntervalPlan, QuantilePlan
from stillpoint.fleet.gpu.programs.multiscale import LevelsPlan
from stillpoint.fleet.gpu.programs.tracker import TrackerPlan
from stillpoint.intervals import IntervalTracker, QuantileTracker
from stillpoint.learners import MultiScale, Tracker

PLANS: dict[type[Any], type[Any]] = {
    IntervalTracker: IntervalPlan,
    MultiScale: LevelsPlan,
    QuantileTracker: QuantilePlan,
    Tracker: TrackerPlan,
}

__all__ = ["PLANS", "Plan"]

"""Learners that run on devices: their states as columns, their rounds as operations on them."""

from typing import Any

from stillpoint.estimators.intervals import IntervalTracker, QuantileTracker
from stillpoint.fleet.gpu.plans.base import Plan
from stillpoint.fleet.gpu.plans.lanes import IntervalPlan, QuantilePlan
from stillpoint.fleet.gpu.plans.levels import LevelsPlan
from stillpoint.fleet.gpu.plans.tracker import TrackerPlan
from stillpoint.learners import MultiScale, Tracker

PLANS: dict[type[Any], type[Any]] = {
    IntervalTracker: IntervalPlan,
    MultiScale: LevelsPlan,
    QuantileTracker: QuantilePlan,
    Tracker: TrackerPlan,
}

__all__ = ["PLANS", "Plan"]

"""Learners that run on devices: their states as columns, their rounds as operations on them."""

from typing import Any

from stillpoint.fleet.gpu.programs.base import Program
from stillpoint.fleet.gpu.programs.intervals import IntervalProgram, QuantileProgram
from stillpoint.fleet.gpu.programs.multiscale import MultiScaleProgram
from stillpoint.fleet.gpu.programs.tracker import TrackerProgram
from stillpoint.intervals import IntervalTracker, QuantileTracker
from stillpoint.learners import MultiScale, Tracker

PROGRAMS: dict[type[Any], type[Any]] = {
    IntervalTracker: IntervalProgram,
    MultiScale: MultiScaleProgram,
    QuantileTracker: QuantileProgram,
    Tracker: TrackerProgram,
}

__all__ = ["PROGRAMS", "Program"]

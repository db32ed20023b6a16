"""The default learner for gradient feedback."""

from stillpoint.learners.tracker.tracker import Tracker

__all__ = ["Tracker"]

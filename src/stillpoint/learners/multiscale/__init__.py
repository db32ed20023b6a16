"""The strict learner for gradient feedback."""

from stillpoint.learners.multiscale.multiscale import Level, MultiScale

__all__ = ["Level", "MultiScale"]

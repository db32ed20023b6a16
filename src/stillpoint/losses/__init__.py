"""Losses, and the rounds of a stream."""

from stillpoint.losses.base import Loss, newton_curvature
from stillpoint.losses.pointwise import (
    Absolute,
    Hinge,
    Huber,
    Linear,
    Log,
    Logistic,
    Pinball,
    Squared,
)
from stillpoint.losses.stream import LossStream, RoundLoss

__all__ = [
    "Absolute",
    "Hinge",
    "Huber",
    "Linear",
    "Log",
    "Logistic",
    "Loss",
    "LossStream",
    "Pinball",
    "RoundLoss",
    "Squared",
    "newton_curvature",
]

"""Losses, and the rounds of a stream."""

from stillpoint.losses.base import Loss, newton_curvature
from stillpoint.losses.function import FunctionLoss, FunctionStream, from_function
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
    "FunctionLoss",
    "FunctionStream",
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
    "from_function",
    "newton_curvature",
]

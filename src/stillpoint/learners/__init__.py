"""Learners for gradient feedback."""

from stillpoint.learners.directional import Directional
from stillpoint.learners.kernel_ftrl import KernelFTRL
from stillpoint.learners.multiscale import MultiScale
from stillpoint.learners.static import GradientDescent, LossLearner, ProximalDescent, StaticLearner, Sums
from stillpoint.learners.tracker import Tracker
from stillpoint.rounds import GradientLearner

__all__ = [
    "Directional",
    "GradientDescent",
    "GradientLearner",
    "KernelFTRL",
    "LossLearner",
    "MultiScale",
    "ProximalDescent",
    "StaticLearner",
    "Sums",
    "Tracker",
]

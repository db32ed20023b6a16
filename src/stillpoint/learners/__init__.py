"""Learners for gradient feedback."""

from stillpoint.learners.base import GradientLearner
from stillpoint.learners.directional import Directional
from stillpoint.learners.kernel_ftrl import KernelFTRL
from stillpoint.learners.multiscale import MultiScale
from stillpoint.learners.newton import ExpConcave, StronglyConvex
from stillpoint.learners.static import (
    GradientDescent,
    LossLearner,
    ProximalDescent,
    StaticLearner,
    Sums,
)
from stillpoint.learners.tracker import Tracker

__all__ = [
    "Directional",
    "ExpConcave",
    "GradientDescent",
    "GradientLearner",
    "KernelFTRL",
    "LossLearner",
    "MultiScale",
    "ProximalDescent",
    "StaticLearner",
    "StronglyConvex",
    "Sums",
    "Tracker",
]

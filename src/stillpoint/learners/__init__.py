"""Learners for gradient feedback."""

from stillpoint.learners.base import GradientLearner
from stillpoint.learners.kernel_ftrl import KernelFTRL
from stillpoint.learners.static import GradientDescent, StaticLearner, Sums

__all__ = ["GradientDescent", "GradientLearner", "KernelFTRL", "StaticLearner", "Sums"]

"""stillpoint: learners that follow a moving target, with a live certificate of how much they can have lost."""

from stillpoint import domains, kernels, losses, potentials, regret
from stillpoint.experiments import Run, play
from stillpoint.learners import KernelFTRL

__version__ = "0.1.0"

__all__ = ["KernelFTRL", "Run", "domains", "kernels", "losses", "play", "potentials", "regret"]

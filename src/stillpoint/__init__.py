"""stillpoint: learners that follow a moving target, with a live certificate of how much they can have lost."""

from stillpoint import baselines, domains, kernels, losses, potentials, regret, streams
from stillpoint.experiments import Run, play
from stillpoint.filters import ExpConcave, Forecaster, KernelVAW, StronglyConvex, TrackingForecaster, TrackingVAW
from stillpoint.learners import Directional, KernelFTRL, MultiScale, Tracker
from stillpoint.persist import load, save

__version__ = "0.1.0"

__all__ = [
    "Directional",
    "ExpConcave",
    "Forecaster",
    "KernelFTRL",
    "KernelVAW",
    "MultiScale",
    "Run",
    "StronglyConvex",
    "Tracker",
    "TrackingForecaster",
    "TrackingVAW",
    "baselines",
    "domains",
    "kernels",
    "load",
    "losses",
    "play",
    "potentials",
    "regret",
    "save",
    "streams",
]

"""stillpoint: learners that follow a moving target, with a live certificate of how much they can have lost."""

from importlib import import_module

TYPE_CHECKING = False  # typing's own would be imported before `_start` can see to Ctrl-C
if TYPE_CHECKING:
    from typing import Any

    from stillpoint import baselines, domains, kernels, losses, potentials, regret, streams
    from stillpoint.estimators.intervals import IntervalTracker, QuantileTracker
    from stillpoint.experiments.play import play
    from stillpoint.experiments.run import Run
    from stillpoint.filters import (
        ExpConcave,
        Forecaster,
        KernelVAW,
        StronglyConvex,
        TrackingForecaster,
        TrackingVAW,
        VariationForecaster,
    )
    from stillpoint.fleet import Fleet
    from stillpoint.learners import Directional, KernelFTRL, MultiScale, Tracker
    from stillpoint.persist import load, save

__version__ = "0.1.0"

__all__ = [
    "Directional",
    "ExpConcave",
    "Fleet",
    "Forecaster",
    "IntervalTracker",
    "KernelFTRL",
    "KernelVAW",
    "MultiScale",
    "QuantileTracker",
    "Run",
    "StronglyConvex",
    "Tracker",
    "TrackingForecaster",
    "TrackingVAW",
    "VariationForecaster",
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

# Where each name is found when it is first asked for: importing compiled code takes most of a second, and neither
# `stillpoint --help` nor a program that needs one part of this should wait for all of it.
_HOMES = {
    "estimators.intervals": ("IntervalTracker", "QuantileTracker"),
    "experiments": ("Run", "play"),
    "filters": (
        "ExpConcave",
        "Forecaster",
        "KernelVAW",
        "StronglyConvex",
        "TrackingForecaster",
        "TrackingVAW",
        "VariationForecaster",
    ),
    "fleet": ("Fleet",),
    "learners": ("Directional", "KernelFTRL", "MultiScale", "Tracker"),
    "persist": ("load", "save"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> "Any":
    if name in _HOME:
        value = getattr(import_module(f"stillpoint.{_HOME[name]}"), name)
    elif name in __all__:
        value = import_module(f"stillpoint.{name}")
    else:
        raise AttributeError(f"module 'stillpoint' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

"""What can be saved, by the names that files use; classes are looked up in this list alone, and imported when first needed."""

import sys
from functools import cache
from importlib import import_module
from typing import Any, Protocol

from stillpoint._container import Newer


class Savable(Protocol):
    """What can be saved: its constructor's arguments and its state."""

    def __init__(self, **config: Any) -> None: ...

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build it anew; learners among them are built anew too, and their state is part of `arrays`."""

    def arrays(self) -> dict[str, Any]:
        """Its state: arrays, numbers, text, and lists and tuples of these."""

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""


# prefix of the names -> module below stillpoint -> classes
_HOMES: dict[str, dict[str, tuple[str, ...]]] = {
    "": {
        "estimators.intervals": ("IntervalTracker", "QuantileTracker", "Wrapped"),
        "filters": (
            "ExpConcave",
            "Forecaster",
            "KernelVAW",
            "StronglyConvex",
            "TrackingForecaster",
            "TrackingProbabilities",
            "TrackingVAW",
            "VariationForecaster",
        ),
        "fleet": ("Fleet",),
        "learners": ("Directional", "KernelFTRL", "MultiScale", "Tracker"),
    },
    "baselines.": {
        "baselines": (
            "AdaNormalHedge",
            "Ader",
            "COCOB",
            "COCOBBackprop",
            "DiscountedFTRL",
            "FreeGrad",
            "Hedge",
            "KT",
            "OGD",
            "SparseHaar",
        ),
    },
    "conformal.": {"baselines.conformal": ("ACI", "Betting", "DecayingStep", "SAOCP", "SFOGD", "WindowACI")},
    "gpu.": {"fleet.gpu": ("DeviceFleet",)},
    "river.": {"estimators.river": ("TrackingClassifier", "TrackingRegressor")},
    "sklearn.": {"estimators.sklearn": ("TrackingClassifier", "TrackingRegressor")},
}
LEARNERS = {
    prefix + name: (f"stillpoint.{module}", name)
    for prefix, modules in _HOMES.items()
    for module, names in modules.items()
    for name in names
}

_NEEDS = {"gpu": "torch", "river": "river", "sklearn": "sklearn"}  # by the extra, which is the prefix: the package it is for


class Missing(ValueError):
    """A learner whose package is not installed; the message has the remedy."""


def learner_name(learner: Any) -> str:
    """The name under which a learner is saved; ValueError for what cannot be."""
    for name, (module, attribute) in LEARNERS.items():
        # a class whose module is not imported has no objects
        if attribute == type(learner).__name__ and getattr(sys.modules.get(module), attribute, None) is type(learner):
            return name
    given = type(learner).__name__
    raise ValueError(f"learner must be one of {sorted(LEARNERS)}: got {given}; save its configuration yourself")


def learner_class(name: Any) -> type[Savable]:
    """The class of that name."""
    if not isinstance(name, str) or name not in LEARNERS:
        kind = Newer if isinstance(name, str) else ValueError
        raise kind(f"it holds the learner {name!r}, which this version does not know")
    module, attribute = LEARNERS[name]
    extra = name.partition(".")[0]
    try:
        if extra in _NEEDS:  # some would miss it only when they are built
            import_module(_NEEDS[extra])
        return getattr(import_module(module), attribute)  # type: ignore[no-any-return]
    except ModuleNotFoundError as error:
        if extra not in _NEEDS:
            raise
        raise Missing(f"it holds {name}, which needs {error.name}; run: pip install 'stillpoint[{extra}]'") from None


@cache
def parts() -> dict[str, type]:
    """Kernels, potentials, domains, losses: what stands in configurations, as frozen dataclasses."""
    from stillpoint import domains, kernels, losses, potentials
    from stillpoint.learners import GradientDescent, ProximalDescent

    return {
        f"{module.__name__.rpartition('.')[2]}.{name}": getattr(module, name)
        for module in (kernels, potentials, domains, losses)
        for name in module.__all__
        if isinstance(getattr(module, name), type)
    } | {"learners.GradientDescent": GradientDescent, "learners.ProximalDescent": ProximalDescent}


@cache
def part_names() -> dict[type, str]:
    """Inverse of `parts`."""
    return {part: name for name, part in parts().items()}

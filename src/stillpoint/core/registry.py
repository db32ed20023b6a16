"""Names that files use for classes: what a package exports can be saved, and nothing else is looked
up.
"""

import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from typing import Any, Protocol

from stillpoint.core.container import Newer


class Savable(Protocol):
    """What can be saved: its constructor's arguments and its state."""

    def __init__(self, **config: Any) -> None: ...

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build it anew; the state of learners among them is part of
        `arrays`.
        """

    def arrays(self) -> dict[str, Any]:
        """Its state: arrays, numbers, text, and lists and tuples of these."""

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""


# prefix of the names in files -> packages that export the classes, imported when one is asked for
_HOMES: dict[str, tuple[str, ...]] = {
    "": ("stillpoint", "stillpoint.forecasters", "stillpoint.intervals"),
    "baselines.": ("stillpoint.lab.baselines",),
    "conformal.": ("stillpoint.lab.baselines.conformal",),
    "gpu.": ("stillpoint.fleet.gpu",),
    "river.": ("stillpoint.estimators.river",),
    "sklearn.": ("stillpoint.estimators.sklearn",),
}
# classes whose name in files is another: a name in a file never changes its meaning
_IN_FILES = {"KernelForecaster": "Forecaster", "Forecaster": "SeriesForecaster"}
_CLASSES = {name: attribute for attribute, name in _IN_FILES.items()}
# of packages that need not be installed: which one, and what there is then
_NEEDS = {"gpu.": "torch", "river.": "river", "sklearn.": "sklearn"}
_BOTH = ("TrackingClassifier", "TrackingRegressor")
_OF_RIVER = ("Anomalies", "Changes", "SeriesForecaster", *_BOTH)
_FACES = {"gpu.": ("DeviceFleet",), "river.": _OF_RIVER, "sklearn.": _BOTH}
_PARTS = ("kernels", "potentials", "domains", "losses", "learners")


class Foreign(ValueError):
    """A class that files have no name for, such as one of the caller's own."""


class Missing(ValueError):
    """A learner whose package is not installed; the message has the remedy."""


def saved_names() -> list[str]:
    """All names that files may use for learners."""
    return sorted(prefix + name for prefix in _HOMES for name in _exported(prefix))


def learner_name(learner: Any) -> str:
    """The name under which a learner is saved; ValueError for what cannot be."""
    kind = type(learner)
    name = _IN_FILES.get(kind.__name__, kind.__name__)
    for prefix, homes in _HOMES.items():
        for home in homes:
            module = sys.modules.get(home)  # a class whose package is not imported has no objects
            if (
                _savable(kind)
                and kind.__name__ in getattr(module, "__all__", ())
                and getattr(module, kind.__name__) is kind
            ):
                return prefix + name
    got = f"the class {learner.__name__}" if isinstance(learner, type) else kind.__name__
    raise Foreign(
        f"learner must have a name in files, as Forecaster and Fleet do: got {got}; give such a"
        " learner, or pickle this one"
    )


def learner_class(name: Any) -> type[Savable]:
    """The class of that name in files."""
    if not isinstance(name, str):
        raise ValueError(f"it holds the learner {name!r}, which this version does not know")
    head, dot, tail = name.rpartition(".")
    prefix, attribute = head + dot, _CLASSES.get(tail, tail)
    if (tail in _CLASSES or tail not in _IN_FILES) and prefix in _HOMES:
        try:
            if prefix in _NEEDS:  # some would miss it only when they are built
                import_module(_NEEDS[prefix])
            for home in _HOMES[prefix]:
                module = import_module(home)
                found = getattr(module, attribute) if attribute in module.__all__ else None
                if _savable(found):
                    return found  # type: ignore[return-value]
        except ModuleNotFoundError as error:
            if prefix not in _NEEDS:
                raise
            install = f"pip install 'stillpoint[{prefix[:-1]}]'"
            raise Missing(f"it holds {name}, which needs {error.name}; run: {install}") from None
    raise Newer(f"it holds the learner {name!r}, which this version does not know")


def in_files(kind: type, config: dict[str, Any]) -> dict[str, Any]:
    """A configuration with the classes it names (`kind._class_names`) called as in files."""
    return {name: _renamed(kind, name, value, _IN_FILES) for name, value in config.items()}


def from_files(kind: type, config: dict[str, Any]) -> dict[str, Any]:
    """Inverse of `in_files`."""
    return {name: _renamed(kind, name, value, _CLASSES) for name, value in config.items()}


def _renamed(kind: type, name: str, value: Any, names: dict[str, str]) -> Any:
    return names.get(value, value) if name in getattr(kind, "_class_names", ()) else value


def _exported(prefix: str) -> Iterator[str]:
    if prefix in _FACES:
        yield from _FACES[prefix]
        return
    seen: set[str] = set()
    for home in _HOMES[prefix]:
        module = import_module(home)
        for name in module.__all__:
            if name not in seen and _savable(getattr(module, name)):
                seen.add(name)
                yield _IN_FILES.get(name, name)


def _savable(found: Any) -> bool:
    if not isinstance(found, type) or getattr(found, "__abstractmethods__", None):
        return False
    return all(hasattr(found, part) for part in ("config", "arrays", "restore"))


@cache
def parts() -> dict[str, type]:
    """Kernels, potentials, domains, losses: what stands in configurations, as frozen
    dataclasses.
    """
    modules = [import_module(f"stillpoint.{name}") for name in _PARTS]
    found = {
        f"{short}.{name}": getattr(module, name)
        for short, module in zip(_PARTS, modules, strict=True)
        for name in module.__all__
    }
    return {
        name: part
        for name, part in found.items()
        if isinstance(part, type) and (is_dataclass(part) or "learners." not in name)
    }


@cache
def part_names() -> dict[type, str]:
    """Inverse of `parts`."""
    return {part: name for name, part in parts().items()}

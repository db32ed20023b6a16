"""Data sets that other packages ship: which are installed, where they lie, and reading them."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)


class Shipped(Protocol[T_co]):
    """A data set yet to be read."""

    @property
    def package(self) -> str:
        """The one that ships it."""

    @property
    def name(self) -> str:
        """What it is asked for by."""

    def load(self) -> T_co:
        """Read it."""


def installed(entries: Mapping[str, Shipped[object]]) -> list[str]:
    """The names of those whose package is installed."""
    return [name for name, each in entries.items() if find_spec(each.package) is not None]


def package_folder(package: str) -> Path:
    """The folder of a package, which is not imported: that would be slow."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    return Path(spec.submodule_search_locations[0])


def load_shipped(entry: Shipped[T_co], kind: str, extra: str) -> T_co:
    """Read a data set.

    Where its package is not installed the error says which that is, and which extra brings it.

    Parameters
    ----------
    kind
        What the error calls it: "stream" or "series".
    """
    try:
        return entry.load()
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{kind} {entry.name!r} must be read from the package {entry.package}: got {error}; pip"
            f" install 'stillpoint[{extra}]'"
        ) from error

"""Optional packages: imported where they are used, and named with their extra where missing."""

from importlib import import_module
from typing import Any


class MissingExtra(ImportError, ValueError):
    """A package that is not installed; commands report it as they report a wrong argument."""


def require(package: str, what: str, extra: str) -> Any:
    """Import an optional package.

    Parameters
    ----------
    package
        The module to import.
    what
        What needs it, as the message begins.
    extra
        The extra of stillpoint that installs it.

    Raises
    ------
    MissingExtra
        The package is not installed.
    """
    try:
        return import_module(package)
    except ImportError:
        raise MissingExtra(
            f"{what} needs {package}, which is not installed; run: pip install"
            f" 'stillpoint[{extra}]'",
            name=package,
        ) from None

"""Data sets that other packages ship."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def shipped_by(package: str, what: str, extra: str) -> Iterator[None]:
    """Say which package ships a data set, and which extra brings it, where it is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{what} must be read from the package {package}: got {error}; pip install"
            f" 'stillpoint[{extra}]'"
        ) from error

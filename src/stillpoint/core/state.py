"""For calls that find out late that they must refuse: the learner goes back to where it was."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, Protocol

from numpy.typing import NDArray

from stillpoint.core.validation import stored


class Restorable(Protocol):
    """What has a state."""

    def arrays(self) -> dict[str, Any]:
        """The state."""

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""


@contextmanager
def rollback_on_error(learner: Restorable) -> Iterator[None]:
    """Put the learner back, bit for bit, if what is done inside raises. It costs a copy of its
    state.
    """
    before = deepcopy(learner.arrays())
    try:
        yield
    except BaseException:
        learner.restore(before)
        raise


def copied(names: Iterable[str], arrays: Iterable[NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Copies of a state's arrays by the names they have in files."""
    return {name: own.copy() for name, own in zip(names, arrays, strict=True)}


def put(names: Iterable[str], arrays: Iterable[NDArray[Any]], saved: dict[str, Any]) -> None:
    """Inverse of `copied`, into the arrays that are there; ValueError for another type or shape."""
    for name, own in zip(names, arrays, strict=True):
        own[...] = stored(saved, name, *own.shape, dtype=own.dtype)

"""Named state: what learners declare once as a `NamedTuple` of arrays is saved and restored by it.

A compiled algorithm declares `class State(NamedTuple)`, a few arrays. Its scalars are one array,
whose places a second `NamedTuple` names. Names in files may differ from those of the fields: files
of older versions stay readable when a field gets a better name.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, NamedTuple, Protocol, TypeVar

from numpy.typing import NDArray

from stillpoint.core.validation import stored

S = TypeVar("S", bound=NamedTuple)
Shape = tuple[int | None, ...]
_AS_DECLARED: Mapping[str, str] = {}


def saved(state: NamedTuple, names: Mapping[str, str] = _AS_DECLARED) -> dict[str, Any]:
    """Copies of a state's arrays by name, for saving.

    Parameters
    ----------
    state : NamedTuple
        The state: every field an array.
    names : mapping
        What fields are called in files, where not as they are declared.
    """
    return {names.get(name, name): array.copy() for name, array in _items(state)}


def restored(
    kind: type[S],
    state: dict[str, Any],
    shapes: Mapping[str, Shape],
    names: Mapping[str, str] = _AS_DECLARED,
) -> S:
    """Inverse of `saved`: arrays of their own, each checked for its type and shape.

    Parameters
    ----------
    kind : type
        The class of the state.
    state : dict
        What `saved` returned, other things perhaps among it.
    shapes : mapping
        The shape of each field; None stands for any length.
    names : mapping
        As for `saved`.
    """
    fields = kind._fields
    return kind._make(stored(state, names.get(name, name), *shapes[name]) for name in fields)


def _items(state: NamedTuple) -> Iterator[tuple[str, Any]]:
    return zip(state._fields, state, strict=True)


class Restorable(Protocol):
    """What has a state."""

    def arrays(self) -> dict[str, Any]:
        """The state."""

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""


@contextmanager
def rollback_on_error(learner: Restorable) -> Iterator[None]:
    """Put the learner back, bit for bit, if what is done inside raises.

    For calls that find out late that they must refuse. It costs a copy of the learner's state.
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

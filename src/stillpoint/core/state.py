"""Named state: what learners declare once as a `NamedTuple` of arrays is saved and restored by it.

A compiled algorithm declares `class State(NamedTuple)`, a few arrays. Its scalars are one array,
whose places a second `NamedTuple` names. Names in files may differ from those of the fields: files
of older versions stay readable when a field gets a better name.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.validation import stored

Named: TypeAlias = "NamedTuple | Mapping[str, NDArray[Any]]"
_AS_DECLARED: Mapping[str, str] = {}
_PLAIN = bool, int, float, str


def saved(state: Named, names: Mapping[str, str] = _AS_DECLARED) -> dict[str, Any]:
    """Copies of a state's arrays by name, for saving.

    Parameters
    ----------
    state : NamedTuple or mapping
        The state: every field an array, or a view of a part of one.
    names : mapping
        What fields are called in files, where not as they are declared.
    """
    return {name: own.copy() for name, own in _in_files(state, names)}


def put_back(state: Named, arrays: dict[str, Any], names: Mapping[str, str] = _AS_DECLARED) -> None:
    """Inverse of `saved`, into the arrays that are there.

    An array of another type or shape is a ValueError, and then none is written.

    Parameters
    ----------
    state : NamedTuple or mapping
        The state that is written over.
    arrays : dict
        What `saved` returned, other things perhaps among it.
    names : mapping
        As for `saved`.
    """
    own = _in_files(state, names)
    found = [stored(arrays, name, *into.shape, dtype=into.dtype) for name, into in own]
    for (_, into), array in zip(own, found, strict=True):
        into[...] = array


def _in_files(state: Named, names: Mapping[str, str]) -> list[tuple[str, NDArray[Any]]]:
    """The arrays of a state with the names they have in files."""
    fields = state if isinstance(state, Mapping) else state._asdict()
    return [(names.get(name, name), array) for name, array in fields.items()]


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
    before = {name: _copied(value) for name, value in learner.arrays().items()}
    try:
        yield
    except BaseException:
        learner.restore(before)
        raise


def _copied(value: Any) -> Any:
    """A copy, made without `deepcopy` where that would take most of a round's time."""
    if type(value) in _PLAIN:
        return value
    return value.copy() if type(value) is np.ndarray and value.dtype != object else deepcopy(value)

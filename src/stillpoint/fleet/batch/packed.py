"""States of many single learners as a few arrays: what a fleet of objects is in a file.

A learner's state is numbers and arrays by name, and their shapes differ from key to key. Under each
name all entries are put one after the other; `NAME|shapes` has a row a key: what there is (see
below), then the lengths of its axes, 1 where it has fewer than others.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.validation import stored

_NOTHING, _NUMBER = -2, -1  # what a key has under a name; from 0 on: an array of so many axes
SHAPES = "|shapes"
_AGAIN = "save the fleet again"

State = dict[str, Any]


def pack(states: Sequence[State]) -> dict[str, NDArray[Any]]:
    """The states as arrays of as many rows, or of all their entries."""
    packed: dict[str, NDArray[Any]] = {}
    for name in dict.fromkeys(name for state in states for name in state):
        entries = [state.get(name) for state in states]
        arrays = [np.asarray(entry) for entry in entries if entry is not None]
        axes = max(array.ndim for array in arrays)
        shapes = np.ones((len(states), 1 + axes), np.int64)
        for row, entry in zip(shapes, entries, strict=True):
            if isinstance(entry, np.ndarray):
                row[: 1 + entry.ndim] = entry.ndim, *entry.shape
            else:
                row[0] = _NOTHING if entry is None else _NUMBER
        packed[name] = np.concatenate([array.reshape(-1) for array in arrays])
        packed[name + SHAPES] = shapes
    return packed


def unpack(packed: dict[str, Any], rows: int) -> list[State]:
    """Inverse of `pack`, for so many states; ValueError where arrays do not go together.

    Arrays are parts of those given: nothing is copied.
    """
    states: list[State] = [{} for _ in range(rows)]
    names = [name for name in packed if not name.endswith(SHAPES)]
    if len(packed) != 2 * len(names) or (rows and not names):
        raise ValueError(f"state must have shapes for each name: got {sorted(packed)}; {_AGAIN}")
    for name in names:
        shapes = stored(packed, name + SHAPES, rows, None, dtype=np.int64).tolist()
        entries, at = packed[name], 0
        if not isinstance(entries, np.ndarray) or entries.ndim != 1:
            raise ValueError(f"state {name!r} must be all entries in a row; {_AGAIN}")
        for state, (kind, *lengths) in zip(states, shapes, strict=True):
            if kind == _NOTHING:
                continue
            shape = lengths[: max(kind, 0)]
            size = math.prod(shape)
            if not _NUMBER <= kind <= len(lengths) or min(shape, default=0) < 0:
                raise ValueError(f"state {name!r} must have shapes: got {shape}; {_AGAIN}")
            if at + size > entries.size:
                raise ValueError(f"state {name!r} must have all its entries; {_AGAIN}")
            part = entries[at : at + size]
            state[name] = part[0].item() if kind == _NUMBER else part.reshape(shape)
            at += size
        if at != entries.size:
            raise ValueError(f"state {name!r} must have {at} entries: got {entries.size}; {_AGAIN}")
    return states

"""The arrays that learners are built with, and a limit on them: what a file asks for is refused
before it is made.

A learner's size follows from its configuration, and in a file that may be any number. While one is
read, under `within`, whatever is made here is counted, and refused beyond what goes with the length
of the file.
"""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

Shape = int | tuple[int, ...]
# bytes that any file may ask for: a new fleet has no streams in its file, and a learner to copy for
# each
_LEAST = 1 << 22
# its own length that it may ask for: states are built, then restored, with room to grow and to work
# in
_TIMES = 8
_EACH = 256  # bytes that an array takes besides its numbers


class Room:
    """How many bytes may be asked for, and how many have been, in how many arrays."""

    def __init__(self, limit: int) -> None:
        self.limit, self.taken, self.arrays = limit, 0, 0


_ROOM: ContextVar[Room | None] = ContextVar("_ROOM", default=None)


class NoRoom(MemoryError):
    """More is asked for than goes with the file that is read."""


@contextmanager
def within(length: int) -> Iterator[Room]:
    """Refuse arrays, in this thread, that go beyond what a file of so many bytes can be about."""
    room = Room(_LEAST + _TIMES * length)
    token = _ROOM.set(room)
    try:
        yield room
    finally:
        _ROOM.reset(token)


def claim(shape: Shape, itemsize: int = 8) -> None:
    """Count an array of this shape that is about to be made; `NoRoom` where it is too large for the
    file that is read.
    """
    room = _ROOM.get()
    if room is None:
        return
    sizes = shape if isinstance(shape, tuple) else (shape,)
    taken, arrays = room.taken + math.prod(map(int, sizes)) * itemsize, room.arrays + 1
    if taken + arrays * _EACH > room.limit:
        raise NoRoom(f"it asks for {'×'.join(map(str, sizes))} numbers, far more than it holds")
    room.taken, room.arrays = taken, arrays


def zeros(shape: Shape, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """`np.zeros`, counted."""
    claim(shape, np.dtype(dtype).itemsize)
    return np.zeros(shape, dtype)


def full(shape: Shape, value: ArrayLike) -> NDArray[Any]:
    """`np.full`, counted."""
    claim(shape)
    return np.full(shape, value)


def machine_memory() -> float:
    """Bytes of memory that this machine has; inf where that is not known."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):  # not a system that tells
        return math.inf

"""A window of the last numbers, kept in order, so that a new one's rank is found in O(√N).

Numbers are in blocks of about 64, ascending within and from block to block: one that comes or goes
moves those of its own block. Where a block is full, or empty, all are spread evenly anew, which
takes as long as reading them once; at least 60 rounds pass until the next time.
"""

from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import njit

USUAL, ROOM = 64, 128  # numbers in a block after they are spread, and at most


class Window(NamedTuple):
    """The last numbers, as many as there is room for."""

    arrived: np.ndarray  # (most,): as they came, a ring
    counts: np.ndarray  # (1 + blocks,): how many blocks are in use, and numbers in each
    cells: np.ndarray  # (blocks, ROOM): those of each block first, ascending
    clock: np.ndarray  # (2,) ints, see Clock


class Clock(NamedTuple):
    """Places in `clock`."""

    filled: int = 0  # numbers that are in it
    oldest: int = 1  # where the ring begins, once it is full


BY = Clock()


def size(most: int) -> int:
    """How many floats a window of so many numbers takes."""
    blocks = max(1, most // USUAL)
    return most + 1 + blocks + blocks * ROOM


@njit(cache=True)
def window_in(floats: np.ndarray, most: int, clock: np.ndarray) -> Window:
    """The window in an array of `size(most)` floats and one of two counts."""
    blocks = max(1, most // USUAL)
    first = most + 1 + blocks
    cells = floats[first : first + blocks * ROOM].reshape((blocks, ROOM))
    return Window(floats[:most], floats[most:first], cells, clock)


@njit(cache=True)
def _block(w: Window, value: float, above: bool) -> int:
    """The first block whose last number is not less than the value, or is above it.

    The last block if none is.
    """
    low, high = 0, int(w.counts[0]) - 1
    while low < high:
        middle = (low + high) // 2
        last = w.cells[middle, int(w.counts[1 + middle]) - 1]
        # no branches here and below: which way it goes cannot be foretold
        right = (last < value) | (above & (last == value))
        low, high = (middle + 1 if right else low), (high if right else middle)
    return low


@njit(cache=True)
def _place(w: Window, block: int, value: float, above: bool) -> int:
    """How many numbers of a block are less than the value, or not above it."""
    low, high = 0, int(w.counts[1 + block])
    while low < high:
        middle = (low + high) // 2
        each = w.cells[block, middle]
        right = (each < value) | (above & (each == value))
        low, high = (middle + 1 if right else low), (high if right else middle)
    return low


@njit(cache=True)
def _rank(w: Window, value: float, above: bool) -> int:
    if w.clock[BY.filled] == 0:
        return 0
    block, before = _block(w, value, above), 0
    for i in range(block):
        before += int(w.counts[1 + i])  # a sum of floats waits four times as long for each
    return before + _place(w, block, value, above)


@njit(cache=True)
def below(w: Window, value: float) -> int:
    """How many numbers are less than the value."""
    return _rank(w, value, False)


@njit(cache=True)
def up_to(w: Window, value: float) -> int:
    """How many numbers are the value or less."""
    return _rank(w, value, True)


@njit(cache=True)
def smallest(w: Window, k: int) -> float:
    """The number that k others come before in ascending order."""
    count = int(w.clock[BY.filled])
    if 2 * k < count:
        block, left = 0, k
        while left >= int(w.counts[1 + block]):
            left -= int(w.counts[1 + block])
            block += 1
        return float(w.cells[block, left])
    # nearer to the end: so many are in its block or after it, itself among them
    block, left = int(w.counts[0]) - 1, count - k
    while left > int(w.counts[1 + block]):
        left -= int(w.counts[1 + block])
        block -= 1
    return float(w.cells[block, int(w.counts[1 + block]) - left])


@njit(cache=True)
def insert(w: Window, value: float) -> None:
    """Add a number; the oldest leaves a full window."""
    count, most = w.clock[BY.filled], w.arrived.size
    if count == 0:
        w.counts[0] = 1.0
        w.counts[1] = 0.0
    place = count
    if count == most:
        place = w.clock[BY.oldest]
        _remove(w, w.arrived[place])
        w.clock[BY.oldest] = (place + 1) % most
        w.clock[BY.filled] -= 1
    w.arrived[place] = value
    block = _block(w, value, False)
    count, row = int(w.counts[1 + block]), w.cells[block]
    at = _place(w, block, value, False)
    for i in range(count, at, -1):
        row[i] = row[i - 1]
    row[at] = value
    w.counts[1 + block] += 1.0
    w.clock[BY.filled] += 1
    if count + 1 == ROOM:
        _spread(w)


@njit(cache=True)
def _remove(w: Window, value: float) -> None:
    """Take out a number that is there."""
    block = _block(w, value, False)
    count, row = int(w.counts[1 + block]), w.cells[block]
    for i in range(_place(w, block, value, False) + 1, count):
        row[i - 1] = row[i]
    w.counts[1 + block] -= 1.0
    if count == 1 and w.counts[0] > 1.0:
        _spread(w)


@njit(cache=True)
def _spread(w: Window) -> None:
    """Give all blocks equally many of the numbers."""
    total, blocks = 0, int(w.counts[0])
    for i in range(blocks):
        total += int(w.counts[1 + i])
    ordered, n = np.empty(total), 0
    for i in range(blocks):
        for j in range(int(w.counts[1 + i])):
            ordered[n] = w.cells[i, j]
            n += 1
    _fill(w, ordered)


@njit(cache=True)
def _fill(w: Window, ordered: np.ndarray) -> None:
    """Have these numbers, ascending, in blocks of equal size."""
    n = ordered.size
    blocks = min(max(n // USUAL, 1), w.cells.shape[0])
    w.counts[0] = blocks
    for i in range(blocks):
        first, end = n * i // blocks, n * (i + 1) // blocks
        w.counts[1 + i] = end - first
        for j in range(first, end):
            w.cells[i, j - first] = ordered[j]


@njit(cache=True)
def refill(w: Window) -> None:
    """Put the numbers of the ring in order, as after loading."""
    _fill(w, np.sort(w.arrived[: w.clock[BY.filled]]))


@njit(cache=True)
def spread_evenly(w: Window, count: int, reach: float) -> None:
    """Fill the window with numbers evenly spread over (−reach, reach)."""
    count = min(count, w.arrived.size)
    for i in range(count):
        w.arrived[i] = ((2 * i + 1) / count - 1.0) * reach
    w.clock[BY.filled], w.clock[BY.oldest] = count, 0
    _fill(w, w.arrived[:count])

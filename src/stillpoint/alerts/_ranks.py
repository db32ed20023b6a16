"""A window of the last numbers, kept in order, so that a new one's rank takes a binary search."""

from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import njit


class Window(NamedTuple):
    """The last numbers, as many as there is room for."""

    ordered: np.ndarray  # (most,): those there are come first, ascending
    arrived: np.ndarray  # (most,): the same as they came, a ring
    clock: np.ndarray  # (2,) ints, see Clock


class Clock(NamedTuple):
    """Places in `clock`."""

    filled: int = 0  # numbers that are in it
    oldest: int = 1  # where the ring begins, once it is full


BY = Clock()


@njit(cache=True)
def below(ordered: np.ndarray, count: int, value: float) -> int:
    """How many of the first `count` numbers are less than the value."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def tied(ordered: np.ndarray, count: int, value: float, less: int) -> int:
    """How many equal the value, `less` of them being less."""
    if less == count or ordered[less] > value:
        return 0
    low, high = less, count
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] > value:
            high = middle
        else:
            low = middle + 1
    return low - less


@njit(cache=True)
def insert(w: Window, value: float, less: int) -> None:
    """Add a number, which `less` of those there are less than; the oldest leaves a full window."""
    x, count, most = w.ordered, w.clock[BY.filled], w.ordered.size
    if count < most:
        for i in range(count, less, -1):
            x[i] = x[i - 1]
        x[less] = w.arrived[count] = value
        w.clock[BY.filled] += 1
        return
    place = w.clock[BY.oldest]
    gone = below(x, count, w.arrived[place])
    if gone < less:
        for i in range(gone, less - 1):
            x[i] = x[i + 1]
        x[less - 1] = value
    else:
        for i in range(gone, less, -1):
            x[i] = x[i - 1]
        x[less] = value
    w.arrived[place] = value
    w.clock[BY.oldest] = (place + 1) % most


@njit(cache=True)
def spread_evenly(w: Window, count: int, reach: float) -> None:
    """Fill the window with numbers evenly spread over (−reach, reach)."""
    count = min(count, w.ordered.size)
    for i in range(count):
        w.ordered[i] = w.arrived[i] = ((2 * i + 1) / count - 1.0) * reach
    w.clock[BY.filled], w.clock[BY.oldest] = count, 0

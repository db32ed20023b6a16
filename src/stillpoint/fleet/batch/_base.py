"""What batches of all learners compile: the order of rows, times, and norms of gradients.

Loops over the keys of a batch run over `order`, its rows in the order of their places, so that
states are met in memory's order; keys differ, so that a batch may be cut and run on several threads
(nogil) to the same numbers. The learners' own compiled rounds do all arithmetic, each on its key's
part of the arrays.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.arithmetic import usable_norm
from stillpoint.core.array import Array
from stillpoint.core.jit import bare, njit

SOUND, NOT_FINITE, NOT_OPEN_ROUND, NOT_LATER = range(4)  # verdicts on the times of a batch

Slots = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Clock(NamedTuple):
    """The rounds of n gradient learners."""

    open: Flags  # (n,), whether a round is open
    started: Flags  # (n,), whether there has been one
    time: Array  # (n,), of the open round, or of the last one
    rounds: Slots  # (n,), how many are over
    warned: Flags  # (n,), whether plays have stopped growing


@njit(cache=True, nogil=True)
def by_place(slots: Slots, capacity: int) -> Slots:
    """The rows in the order of their places, by one look at every place there is."""
    rows, order, count = np.full(capacity, -1), np.empty(slots.size, np.int64), 0
    for i in range(slots.size):
        rows[slots[i]] = i
    for row in rows:
        if row >= 0:
            order[count] = row
            count += 1
    return order


@njit(cache=True, nogil=True)
def moments(
    slots: Slots,
    given: Array,
    when: Array,
    verdicts: NDArray[np.uint8],
    opened: Flags,
    started: Flags,
    time: Array,
) -> int:
    """Find when each round is, and what is wrong with that; returns how many have a fault.

    given holds one time for all, one a row, or none: then rounds are 1 after the last.
    """
    faults = 0
    for i in range(slots.size):
        k = slots[i]
        verdict = SOUND
        if given.size == 0:
            when[i] = time[k] if opened[k] else time[k] + 1.0
        else:
            when[i] = given[i if given.size > 1 else 0]
        if not math.isfinite(when[i]):
            verdict = NOT_FINITE
        elif opened[k]:
            verdict = SOUND if when[i] == time[k] else NOT_OPEN_ROUND
        elif started[k] and when[i] <= time[k]:
            verdict = NOT_LATER
        verdicts[i] = verdict
        faults += verdict != SOUND
    return faults


@njit(cache=True, nogil=True)
def usable_norms(g: Array, sizes: Array) -> int:
    """Write the norms of rows, those too small for learners made 0; returns how many are inf."""
    bad = 0
    g = bare(g)
    for i in range(sizes.size):
        sizes[i] = usable_norm(g[i])
        bad += not math.isfinite(sizes[i])
    return bad

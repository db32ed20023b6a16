"""Compiled loops over the rows of many keys: the slot of each in time."""

import numpy as np

from stillpoint.core.jit import njit
from stillpoint.series._slots import walk


@njit(cache=True, nogil=True)
def walk_keys(
    times: np.ndarray,
    stops: np.ndarray,
    gap: float,
    anchors: np.ndarray,
    steps: np.ndarray,
) -> None:
    """Fill steps (rows,) with how many slots each row is after the one before it of its key.

    Rows of a key end at its stop. anchors (keys,): when the last slot of each key was, NaN for a
    new one, whose first row is one step after nothing; moved on to the last row.
    """
    start = 0
    for key in range(stops.size):
        stop = stops[key]
        if stop > start:
            new = np.isnan(anchors[key])
            anchor = times[start] if new else anchors[key]
            anchors[key] = walk(times[start:stop], gap, anchor, steps[start:stop])
            if new:
                steps[start] = 1.0
        start = stop

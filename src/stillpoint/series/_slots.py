"""Steps from slot to slot."""

import numpy as np

from stillpoint.core.jit import njit

FOLLOW = 0.1  # of each row's deviation, by which slots move in time
FAR = 2.0**40  # slots, of which there are no more between two rows


@njit(cache=True)
def walk(times: np.ndarray, gap: float, anchor: float, steps: np.ndarray) -> float:
    """Fill steps with how many slots each time is after the one before; returns the new anchor.

    The anchor is when the last slot was.
    """
    for i in range(times.size):
        k = np.floor((times[i] - anchor) / gap + 0.5)
        if k < FAR:
            k = max(k, 0.0)
            anchor += k * gap
            anchor += FOLLOW * (times[i] - anchor)
        else:
            k, anchor = FAR, times[i]
        steps[i] = k
    return anchor

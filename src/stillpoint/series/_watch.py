"""Changes in a series with seasons: the detector's rounds, with harmonics of these beside."""

import numpy as np

from stillpoint.alerts._changes import close_round
from stillpoint.alerts._state import OF, State
from stillpoint.core.jit import bare, njit
from stillpoint.series._harmonics import fill


@njit(cache=True)
def watch(s: State, y: np.ndarray, seasonal: np.ndarray, frequencies: np.ndarray, now: int) -> None:
    """Take in values, the first of them at time `now`, and how much of each was seasonal."""
    s, row = bare(s), np.empty(s.recent.shape[1] - OF.harmonics)
    for t in range(y.size):
        fill(frequencies, now + t, row)
        close_round(s, y[t], seasonal[t], row)

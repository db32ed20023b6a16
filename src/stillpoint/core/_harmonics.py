"""Rows of harmonics."""

import math

import numpy as np

from stillpoint.core.jit import njit


@njit(cache=True)
def fill(frequencies: np.ndarray, time: int, row: np.ndarray) -> None:
    """Cosines and sines at this time; the argument is reduced first, so that late times are as
    exact as early ones.
    """
    j = 0
    for i in range(frequencies.shape[0]):
        turns = frequencies[i, 0] * time
        angle = 2.0 * math.pi * (turns - math.floor(turns))
        row[j] = math.cos(angle)
        j += 1
        if frequencies[i, 1] > 0.0:
            row[j] = math.sin(angle)
            j += 1

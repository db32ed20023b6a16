"""Gross errors among the first values: they would tell units, range and weights for long.

Later values are doubted (`_rounds.doubted`); the first ones have only each other. The largest of
them is not believed if it lies more than 1000 times as far above all others as these, but for the
smallest, are apart; the smallest likewise. Where all others have one sign, a single 0 is not
believed if they are within a factor of 1.5 of each other, and a value of 30 times their size if
within one of 3. A second value like it ends the doubt: then the series is such.
"""

import math

import numpy as np

from stillpoint.core.jit import njit

YOUNG = 64  # rounds since the first value in which values are doubted together
FAR = 1000.0  # ranges of the others
NEAR, ALIKE, TIMES = 1.5, 3.0, 30.0
FEW, MORE = 4, 5  # values that it takes to doubt one of them


@njit(cache=True)
def believable(values: np.ndarray) -> tuple[float, float]:
    """The range of the values that are believed, open where all are; NaN: missing."""
    count, low, least, high, most = 0, math.inf, math.inf, -math.inf, -math.inf
    for value in values:
        if not math.isnan(value):
            count += 1
            if value < least:
                low, least = least, value
            elif value < low:
                low = value
            if value > most:
                high, most = most, value
            elif value > high:
                high = value
    width, below, above = high - low, -math.inf, math.inf
    if count < FEW or not width > 0.0:
        return below, above
    if low - least > FAR * width:
        below = low
    if most - high > FAR * width:
        above = high
    if count >= MORE:
        top, bottom = min(most, above), max(least, below)
        if strange(least, low, top):
            below = low
        if strange(most, bottom, high):
            above = high
    return below, above


@njit(cache=True)
def strange(value: float, low: float, high: float) -> bool:
    """Whether a value is 0, or far from it, where all others are within these and much alike."""
    if low <= 0.0 <= high:
        return False
    small, large = min(abs(low), abs(high)), max(abs(low), abs(high))
    if value == 0.0:
        return large < NEAR * small
    return large < ALIKE * small and abs(value) > TIMES * large


@njit(cache=True)
def upset(values: np.ndarray, size: int) -> int:
    """How many of the values it takes, more than `size`, to believe others than before.

    0: all of them do not.
    """
    below, above = believable(values[:size])
    for n in range(size + 1, values.size + 1):
        was_below, was_above = below, above
        below, above = believable(values[:n])
        same = math.isinf(below) == math.isinf(was_below)
        same = same and math.isinf(above) == math.isinf(was_above)
        if not same or values[n - 1] < below or values[n - 1] > above:
            return n
    return 0


@njit(cache=True)
def believed(values: np.ndarray) -> np.ndarray:
    """The values, NaN in place of those that are not believed; the same array if all are."""
    below, above = believable(values[:YOUNG])
    if math.isinf(below) and math.isinf(above):
        return values
    kept = values.copy()
    for i in range(min(kept.size, YOUNG)):
        if kept[i] < below or kept[i] > above:
            kept[i] = np.nan
    return kept

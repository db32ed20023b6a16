"""Units of the series, and the range that forecasts stay in.

Values enter as u = (y − centre)/unit, logarithms, as long as all values are positive, likewise.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import njit


class Scalars(NamedTuple):
    """Places of the numbers that a series has once."""

    centre: int = 0  # the first value
    unit: int = 1  # the standard deviation of the history when this was built
    log_centre: int = 2
    log_unit: int = 3
    low: int = 4  # range of the values so far, as far as they were believed
    high: int = 5
    held: int = 6  # a value far from its forecast, which the next may confirm; else NaN
    expected: int = 7  # what had been forecast instead
    stayed: int = 8  # how often the next value did not go back, the latest counting most
    returned: int = 9  # how often it did
    reach: int = 10  # ranges beyond the range that forecasts may lie
    recent: int = 11  # how wide the range was at the last marks, a third of the horizon apart
    earlier: int = 12
    first: int = 13
    ago: int = 14  # rounds since the last value that was not missing


class Clock(NamedTuple):
    """Places of the counters of a series."""

    now: int = 0  # rounds so far: the time of the coming one
    place: int = 1  # of the coming value among the lags
    stride: int = 2  # rounds between origins of forecasts that are judged
    slots: int = 3  # origins that may wait for their values
    logs: int = 4  # whether logarithms are taken


AT, BY = Scalars(), Clock()
LEAST = 4  # rounds between marks
FARTHEST = 30.0  # a logarithm, of ranges beyond the range
STEADY = 1.25  # times as wide from mark to mark: then a range grows, and is not just being told


@njit(cache=True)
def deviation(values: np.ndarray) -> float:
    """The standard deviation of some values, 1 if it is 0."""
    mean, square = 0.0, 0.0
    for value in values:
        mean += value / values.size
    for value in values:
        square += (value - mean) ** 2 / values.size
    return math.sqrt(square) if square > 0.0 else 1.0


@njit(cache=True)
def limits(s: np.ndarray) -> tuple[float, float]:
    """The range of forecasts: one range of the values seen beyond them on either side.

    More where the range itself has grown steadily: as far as it will, growing on.
    """
    width = s[AT.reach] * (s[AT.high] - s[AT.low])
    return s[AT.low] - width, s[AT.high] + width


@njit(cache=True)
def log_limits(s: np.ndarray) -> tuple[float, float]:
    """The range of logarithms, in units: a factor of e beyond those seen, or more as above."""
    beyond = 1.0 + math.log(s[AT.reach])
    small = (math.log(s[AT.low]) - beyond - s[AT.log_centre]) / s[AT.log_unit]
    return small, (math.log(s[AT.high]) + beyond - s[AT.log_centre]) / s[AT.log_unit]


@njit(cache=True)
def extend(s: np.ndarray, now: int, H: int) -> None:
    """Note how wide the range is at every mark, and tell from the last three how far it reaches.

    Of a jump the range has grown between two marks only, and it reaches no further than before.
    """
    apart = max(LEAST, (H + 2) // 3)
    if now % apart == 0:
        s[AT.first], s[AT.earlier] = s[AT.earlier], s[AT.recent]
        s[AT.recent] = s[AT.high] - s[AT.low]
        s[AT.reach] = 1.0
        if s[AT.first] > 0.0:
            growth = min(s[AT.recent] / s[AT.earlier], s[AT.earlier] / s[AT.first])
            if growth > STEADY:
                s[AT.reach] = math.exp(min((H / apart + 1.0) * math.log(growth), FARTHEST))


@njit(cache=True)
def within(value: float, low: float, high: float) -> float:
    """The value, or the nearest in the range."""
    return min(max(value, low), high)


@njit(cache=True)
def exponential(value: float) -> float:
    """exp, short of infinity."""
    return math.exp(min(value, 700.0))

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


class Clock(NamedTuple):
    """Places of the counters of a series."""

    now: int = 0  # rounds so far: the time of the coming one
    place: int = 1  # of the coming value among the lags
    stride: int = 2  # rounds between origins of forecasts that are judged
    slots: int = 3  # origins that may wait for their values
    logs: int = 4  # whether logarithms are taken


AT, BY = Scalars(), Clock()


@njit(cache=True)
def limits(s: np.ndarray) -> tuple[float, float]:
    """The range of forecasts: one range of the values seen beyond them on either side."""
    width = s[AT.high] - s[AT.low]
    return s[AT.low] - width, s[AT.high] + width


@njit(cache=True)
def log_limits(s: np.ndarray) -> tuple[float, float]:
    """The range of logarithms, in units: a factor of e beyond those seen."""
    small = (math.log(s[AT.low]) - 1.0 - s[AT.log_centre]) / s[AT.log_unit]
    return small, (math.log(s[AT.high]) + 1.0 - s[AT.log_centre]) / s[AT.log_unit]


@njit(cache=True)
def within(value: float, low: float, high: float) -> float:
    """The value, or the nearest in the range."""
    return min(max(value, low), high)


@njit(cache=True)
def exponential(value: float) -> float:
    """exp, short of infinity."""
    return math.exp(min(value, 700.0))

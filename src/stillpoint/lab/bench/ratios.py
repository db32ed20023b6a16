"""Ratios to another's loss or regret, and their geometric mean, also where one is 0."""

import math
from collections.abc import Iterable

# ratios below count as this in means: a regret may be 0 or negative, and one loss of 0 must not
# decide a mean
FLOOR = 0.01


def ratio(value: float, other: float) -> float:
    """value/other for numbers not negative: 1 where both are 0, infinite where only `other` is."""
    if other == 0.0:
        return 1.0 if value == 0.0 else math.inf
    return value / other


def geometric_mean(ratios: Iterable[float]) -> float:
    """exp of the mean logarithm, each ratio raised to FLOOR."""
    logs = [math.log(max(each, FLOOR)) for each in ratios]
    return math.exp(sum(logs) / len(logs))

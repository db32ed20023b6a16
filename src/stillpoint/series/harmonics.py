"""Harmonics of the seasons: cosines and sines of time that filters and autoregressions share.

Season m contributes the frequencies k/m. That a season is smooth is said by the variance of its
k-th harmonic, ∝ k^{-3/2}: a Sobolev kernel on the circle.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from stillpoint.core._harmonics import fill
from stillpoint.core.array import Array

# harmonics of the first season, and of those after it: 31 of a week reach the sidebands 7j ± 3 of
# a day's first four, so that a weekday may have hours of its own
MOST = (12, 31)
FEW = 3  # harmonics of the second season in an autoregression that has only few
SMOOTH = 1.5  # variance of harmonic k ∝ k^-SMOOTH
_LONGEST = 4096  # rows that are kept as a table, where seasons are whole numbers


class Harmonics(NamedTuple):
    """The columns of some seasons."""

    frequencies: Array  # (Q, 2): cycles a round, and whether there is a sine (none at 1/2)
    orders: Array  # (n,): k of each column
    smooth: Array  # (n,): k^-SMOOTH
    few: int  # columns of the first season and of FEW harmonics of the second
    table: Array  # (lcm of the seasons, n): rows of times 0, 1, …; no rows where there is no table

    @property
    def columns(self) -> int:
        """n, how many there are."""
        return self.orders.size

    def rows(self, horizon: int, now: int) -> Array:
        """Where compiled code finds the row of time t, at t modulo the length.

        The table, or a ring that holds the rows of now, …, now + horizon.
        """
        if self.table.shape[0]:
            return self.table
        ring = np.empty((horizon + 1, self.columns))
        for time in range(now, now + horizon + 1):
            fill(self.frequencies, time, ring[time % (horizon + 1)])
        return ring


@lru_cache(maxsize=256)
def harmonics(periods: tuple[float, ...]) -> Harmonics:
    """The harmonics of these seasons, the shortest first; a frequency of two counts once."""
    frequencies: list[tuple[float, float]] = []
    orders: list[int] = []
    few = 0
    for i, period in enumerate(periods):
        for k in range(1, min(int(period / 2.0 + 1e-9), MOST[min(i, 1)]) + 1):
            f = k / period
            if any(abs(f - other) < 1e-9 for other, _ in frequencies):
                continue
            both = abs(f - 0.5) > 1e-9
            frequencies.append((f, float(both)))
            orders += [k] * (1 + both)
        few = len(orders) if i == 0 else min(few + 2 * FEW, len(orders)) if i == 1 else few
    table = np.array(frequencies).reshape(-1, 2)
    length = _common(periods)
    numbers = np.array(orders, dtype=np.float64)
    rows = np.empty((length, numbers.size))
    for time in range(length):
        fill(table, time, rows[time])
    return Harmonics(table, numbers, numbers**-SMOOTH, few, rows)


def _common(periods: tuple[float, ...]) -> int:
    """After how many rounds all seasons begin anew; 0 if never, or too late for a table."""
    if not all(period.is_integer() for period in periods):
        return 0
    length = math.lcm(*(int(period) for period in periods)) if periods else 1
    return length if length <= _LONGEST else 0

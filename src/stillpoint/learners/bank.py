"""Tracker's bank of filters as it begins and grows; its rounds are in `_bank.py`."""

import numpy as np

from stillpoint.core.allocation import full, zeros
from stillpoint.learners._bank import (
    AT,
    NUMBERS,
    SCALES,
    WIDEST,
    Bank,
    level_row,
    trends_of,
)


def new_bank(dim: int, radius: float) -> Bank:
    """A bank with one filter, which starts at 0."""
    numbers = zeros(NUMBERS)
    numbers[AT.scale] = WIDEST * radius
    beliefs = full((1, SCALES), 1.0 / SCALES)
    return Bank(numbers, zeros((1, 2, dim)), zeros((0, 2, dim)), beliefs)


def levels_of(bank: Bank) -> int:
    """How many levels have joined."""
    return int(len(bank.filters) - len(bank.velocities))


def grown(bank: Bank) -> Bank:
    """The bank with one level more, a copy of the slowest, without weight; a trend joins with it.

    A trend begins as a copy of its level, at rest.
    """
    k = levels_of(bank)
    copies = [bank.filters[level_row(k - 1)]]
    velocities = bank.velocities
    if trends_of(k + 1):
        copies.append(bank.filters[level_row(trends_of(k))])
        velocities = np.concatenate([velocities, np.zeros((1, *velocities.shape[1:]))])
    return Bank(
        bank.numbers,
        np.concatenate([bank.filters, copies]),
        velocities,
        np.concatenate([bank.beliefs, np.zeros((len(copies), SCALES))]),
    )

"""Ranks among very many numbers from few of them: the largest 64, and a sample of all.

`cells` begins with the sample, a reservoir of 128 (Vitter 1985, Algorithm R), of which the places
depend on how many numbers there were and on nothing else; the largest follow, ascending. With n
numbers so far, u the smallest of the largest, a number x has

    p = (1 + #{largest ≥ x})/(n + 1)                           if x > u: the rank is exact
    p = (64 + (n − 63)·(1 + #{x ≤ s ≤ u})/(1 + #{s ≤ u}))/(n + 1)       else, s of the sample

If numbers are exchangeable, P(p ≤ α) ≤ α for every α: x ≤ u is as likely in any place among itself
and those of the sample that are ≤ u.
"""

import math

import numpy as np

from stillpoint.alerts._pvalues import FEW, SHARE, pareto
from stillpoint.alerts._random import random
from stillpoint.core.jit import njit

LARGEST, SAMPLE = 64, 128
ROOM = LARGEST + SAMPLE


@njit(cache=True)
def _below(cells: np.ndarray, n: int, value: float) -> int:
    """How many of the largest, of n numbers, are less than a value."""
    low, high = 0, min(n, LARGEST)
    while low < high:
        middle = (low + high) // 2
        if cells[SAMPLE + middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def insert(cells: np.ndarray, n: int, value: float) -> None:
    """Take in a number, n before it."""
    place = n if n < SAMPLE else int(random(n) * (n + 1))
    if place < SAMPLE:
        cells[place] = value
    if n >= LARGEST and not value > cells[SAMPLE]:
        return
    at = SAMPLE + _below(cells, n, value)
    if n < LARGEST:
        for i in range(SAMPLE + n, at, -1):
            cells[i] = cells[i - 1]
        cells[at] = value
    else:
        for i in range(SAMPLE, at - 1):
            cells[i] = cells[i + 1]
        cells[at - 1] = value


@njit(cache=True)
def share(cells: np.ndarray, n: int, value: float) -> float:
    """The p-value of a number by its rank. Ties count against its being unusual."""
    edge = cells[SAMPLE]
    if n < LARGEST or value > edge:
        return float((1 + min(n, LARGEST) - _below(cells, n, value)) / (1 + n))
    as_large = beyond = 0
    for i in range(min(n, SAMPLE)):
        as_large += cells[i] >= value
        beyond += cells[i] > edge
    if n <= SAMPLE:
        return float((1 + as_large) / (1 + n))
    others = (1 + as_large - beyond) / (1 + SAMPLE - beyond)
    return float((LARGEST + (n + 1 - LARGEST) * others) / (1 + n))


@njit(cache=True)
def tail(cells: np.ndarray, n: int, value: float, p: float) -> float:
    """The p-value of a number ≥ 0 that has p by its rank, in the tail by how far out it is.

    The tail is that of `_pvalues.beyond`, of at most 63.
    """
    k = min(max(FEW, n // SHARE), LARGEST - 1)
    if n <= k:
        return p
    stop = SAMPLE + min(n, LARGEST)
    edge = cells[stop - 1 - k]
    if not value > edge or edge == 0.0:
        return p
    total, unit = 0.0, math.log(edge)
    for i in range(stop - k, stop):
        total += math.log(cells[i]) - unit
    return pareto(value, edge, total, k, n) if total > 0.0 else p


@njit(cache=True)
def quantile(cells: np.ndarray, n: int, rate: float) -> float:
    """The largest number kept whose p-value by rank is above a rate; inf where all numbers' are."""
    above = int(rate * (n + 1))
    if above == 0:
        return math.inf
    if above <= min(n, LARGEST):
        return float(cells[SAMPLE + min(n, LARGEST) - above])
    found = 0.0
    for i in range(min(n, SAMPLE)):
        if cells[i] > found and share(cells, n, cells[i]) > rate:
            found = cells[i]
    return found

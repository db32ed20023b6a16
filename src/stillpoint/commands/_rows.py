"""Compiled loops over the rows of `track`: simple forecasts, and the buckets of the history."""

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from stillpoint.core.arithmetic import assign
from stillpoint.core.jit import njit


class Rule(IntEnum):
    """What the simple forecasters forecast."""

    NUMBERS = 0
    QUANTILE = 1
    LABELS = 2


class Simple(NamedTuple):
    """Places in the state of the simple forecasters.

    Targets learnt, the last one, their mean and sum of squares, and how often one was the same as
    the one before.
    """

    learnt: int = 0
    last: int = 1
    mean: int = 2
    squares: int = 3
    same: int = 4


class Bucket(NamedTuple):
    """Places in a bucket; losses, then weights, follow.

    `row` and `time` are of its first row, `least` and `most` of its targets; the others are sums.
    """

    row: int = 0
    rows: int = 1
    time: int = 2
    least: int = 3
    most: int = 4
    y: int = 5
    y_count: int = 6
    forecast: int = 7
    lo: int = 8
    lo_count: int = 9
    hi: int = 10
    hi_count: int = 11
    covered: int = 12
    scored: int = 13
    width: int = 14
    width_count: int = 15


class Forecasts(NamedTuple):
    """What came of T rows: arrays (T,), losses (names, T) and weights (T, experts).

    y is NaN where it is missing; lo and hi are NaN where there is no interval.
    """

    times: np.ndarray
    y: np.ndarray
    forecasts: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    losses: np.ndarray
    weights: np.ndarray


SIMPLE, BUCKET = Simple(), Bucket()


@njit(cache=True)
def simple_rows(
    y: np.ndarray,
    first: int,
    delay: int,
    rule: int,
    factor: float,
    state: np.ndarray,
    out: np.ndarray,
    known: np.ndarray,
) -> None:
    """Forecast as anybody could: from the last target (row 0 of out), from all of them (row 1).

    The rows whose targets are still out come first, then the new ones, from index `first` on; row
    t − delay is learnt after row t was forecast. known: how many targets are known. QUANTILE adds
    `factor` standard deviations to the mean. LABELS are forecast by smoothed frequencies: of the
    label, and of one that repeats the last.
    """
    for t in range(first, y.size):
        n, i = state[SIMPLE.learnt], t - first
        known[i] = n
        out[0, i], out[1, i] = state[SIMPLE.last], state[SIMPLE.mean]
        if rule == Rule.QUANTILE:
            out[1, i] += factor * math.sqrt(state[SIMPLE.squares] / max(n - 1.0, 1.0))
        elif rule == Rule.LABELS:
            repeats = (state[SIMPLE.same] + 0.5) / (max(n - 1.0, 0.0) + 1.0)
            out[0, i] = 0.5 if n == 0.0 else repeats if state[SIMPLE.last] == 1.0 else 1.0 - repeats
            out[1, i] = (state[SIMPLE.mean] * n + 0.5) / (n + 1.0)
        if t >= delay and not math.isnan(y[t - delay]):
            value = y[t - delay]
            state[SIMPLE.same] += 1.0 if n > 0.0 and value == state[SIMPLE.last] else 0.0
            state[SIMPLE.learnt], state[SIMPLE.last] = n + 1.0, value
            away = value - state[SIMPLE.mean]
            state[SIMPLE.mean] += away / (n + 1.0)
            state[SIMPLE.squares] += away * (value - state[SIMPLE.mean])


@njit(cache=True)
def merge(buckets: np.ndarray, used: int) -> int:
    """Make one of two neighbours, pairwise; return how many are left."""
    for b in range((used + 1) // 2):
        one = buckets[2 * b].copy()
        if 2 * b + 1 < used:
            other = buckets[2 * b + 1]
            for j in range(BUCKET.rows, one.size):
                if j == BUCKET.least:
                    one[j] = min(one[j], other[j])
                elif j == BUCKET.most:
                    one[j] = max(one[j], other[j])
                elif j != BUCKET.time:
                    one[j] += other[j]
        assign(buckets[b], one)
    return (used + 1) // 2


@njit(cache=True)
def fill(row: int, rows: Forecasts, banded: bool, buckets: np.ndarray, state: np.ndarray) -> None:
    """Add rows from number `row` on to buckets, one by one, whatever batches they were cut into.

    banded: whether lo and hi are an interval. state: buckets used, rows of each.
    """
    times, y, forecasts, lo, hi, losses, weights = rows
    for t in range(y.size):
        if state[0] == 0 or buckets[state[0] - 1, BUCKET.rows] >= state[1]:
            if state[0] == buckets.shape[0]:
                state[0], state[1] = merge(buckets, state[0]), 2 * state[1]
            if state[0] == 0 or buckets[state[0] - 1, BUCKET.rows] >= state[1]:
                fresh = buckets[state[0]]
                fresh[:] = 0.0
                fresh[BUCKET.row], fresh[BUCKET.time] = row + t, times[t]
                fresh[BUCKET.least], fresh[BUCKET.most] = math.inf, -math.inf
                state[0] += 1
        b = buckets[state[0] - 1]
        b[BUCKET.rows] += 1.0
        b[BUCKET.forecast] += forecasts[t]
        if math.isfinite(lo[t]):
            b[BUCKET.lo] += lo[t]
            b[BUCKET.lo_count] += 1.0
        if math.isfinite(hi[t]):
            b[BUCKET.hi] += hi[t]
            b[BUCKET.hi_count] += 1.0
        if math.isfinite(lo[t]) and math.isfinite(hi[t]):
            b[BUCKET.width] += max(hi[t] - lo[t], 0.0)
            b[BUCKET.width_count] += 1.0
        if not math.isnan(y[t]):
            b[BUCKET.least] = min(b[BUCKET.least], y[t])
            b[BUCKET.most] = max(b[BUCKET.most], y[t])
            b[BUCKET.y] += y[t]
            b[BUCKET.y_count] += 1.0
            if banded:
                b[BUCKET.scored] += 1.0
                b[BUCKET.covered] += 1.0 if lo[t] <= y[t] <= hi[t] else 0.0
            for j in range(losses.shape[0]):
                b[len(BUCKET) + j] += losses[j, t]
        for k in range(weights.shape[1]):
            b[len(BUCKET) + losses.shape[0] + k] += weights[t, k]

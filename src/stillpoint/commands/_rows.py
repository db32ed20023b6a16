"""Rows of a file in compiled loops: forecasts before targets, targets learnt `delay` rows later,
simple forecasts, and buckets.

Every loop gets the rows whose targets are still out, then the new ones, from index `first` on. Row
t is forecast from what rows up to t − delay − 1 taught; then row t − delay is learnt. Without a
delay that is a round of the core, to the last bit.
"""

import math

import numpy as np

from stillpoint.core.jit import njit

# of the simple forecasters: targets learnt, the last one, mean and sum of squares, how often a
# label repeated the one before
COUNT, LAST, MEAN, SQUARES, SAME = range(5)
# rules for them
NUMBERS, QUANTILE, LABELS = range(3)
# fields of a bucket; losses, then weights, follow
(
    ROW,
    ROWS,
    TIME,
    LEAST,
    MOST,
    Y,
    Y_COUNT,
    MIDDLE,
    LO,
    LO_COUNT,
    HI,
    HI_COUNT,
    COVERED,
    SCORED,
    WIDTH,
    WIDTH_COUNT,
    FIELDS,
) = range(17)


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
    """What anybody could say: from the last target (row 0 of out) and from all of them (row 1); and
    how many targets are known.

    QUANTILE adds `factor` standard deviations to the mean. LABELS are forecast by smoothed
    frequencies: of the label, and of one that repeats the last.
    """
    for t in range(first, y.size):
        n, i = state[COUNT], t - first
        known[i] = n
        out[0, i], out[1, i] = state[LAST], state[MEAN]
        if rule == QUANTILE:
            out[1, i] += factor * math.sqrt(state[SQUARES] / max(n - 1.0, 1.0))
        elif rule == LABELS:
            repeats = (state[SAME] + 0.5) / (max(n - 1.0, 0.0) + 1.0)
            out[0, i] = 0.5 if n == 0.0 else repeats if state[LAST] == 1.0 else 1.0 - repeats
            out[1, i] = (state[MEAN] * n + 0.5) / (n + 1.0)
        if t >= delay and not math.isnan(y[t - delay]):
            value = y[t - delay]
            state[SAME] += 1.0 if n > 0.0 and value == state[LAST] else 0.0
            state[COUNT], state[LAST] = n + 1.0, value
            away = value - state[MEAN]
            state[MEAN] += away / (n + 1.0)
            state[SQUARES] += away * (value - state[MEAN])


@njit(cache=True)
def merge(buckets: np.ndarray, used: int) -> int:
    """Neighbours become one, pairwise; returns how many are left."""
    for b in range((used + 1) // 2):
        one = buckets[2 * b].copy()
        if 2 * b + 1 < used:
            other = buckets[2 * b + 1]
            for j in range(ROWS, one.size):
                if j == LEAST:
                    one[j] = min(one[j], other[j])
                elif j == MOST:
                    one[j] = max(one[j], other[j])
                elif j != TIME:
                    one[j] += other[j]
        buckets[b] = one
    return (used + 1) // 2


@njit(cache=True)
def fill(
    row: int,
    times: np.ndarray,
    y: np.ndarray,
    forecasts: np.ndarray,
    lo: np.ndarray,
    hi: np.ndarray,
    banded: bool,
    losses: np.ndarray,
    shares: np.ndarray,
    buckets: np.ndarray,
    state: np.ndarray,
) -> None:
    """Rows into buckets, one by one, so that sums do not depend on where batches were cut. state:
    buckets used, rows of each.
    """
    for t in range(y.size):
        if state[0] == 0 or buckets[state[0] - 1, ROWS] >= state[1]:
            if state[0] == buckets.shape[0]:
                state[0], state[1] = merge(buckets, state[0]), 2 * state[1]
            if state[0] == 0 or buckets[state[0] - 1, ROWS] >= state[1]:
                fresh = buckets[state[0]]
                fresh[:] = 0.0
                fresh[ROW], fresh[TIME], fresh[LEAST], fresh[MOST] = (
                    row + t,
                    times[t],
                    math.inf,
                    -math.inf,
                )
                state[0] += 1
        b = buckets[state[0] - 1]
        b[ROWS] += 1.0
        b[MIDDLE] += forecasts[t]
        if math.isfinite(lo[t]):
            b[LO] += lo[t]
            b[LO_COUNT] += 1.0
        if math.isfinite(hi[t]):
            b[HI] += hi[t]
            b[HI_COUNT] += 1.0
        if math.isfinite(lo[t]) and math.isfinite(hi[t]):
            b[WIDTH] += max(hi[t] - lo[t], 0.0)
            b[WIDTH_COUNT] += 1.0
        if not math.isnan(y[t]):
            b[LEAST], b[MOST] = min(b[LEAST], y[t]), max(b[MOST], y[t])
            b[Y] += y[t]
            b[Y_COUNT] += 1.0
            if banded:
                b[SCORED] += 1.0
                b[COVERED] += 1.0 if lo[t] <= y[t] <= hi[t] else 0.0
            for j in range(losses.shape[0]):
                b[FIELDS + j] += losses[j, t]
        for k in range(shares.shape[1]):
            b[FIELDS + losses.shape[0] + k] += shares[t, k]

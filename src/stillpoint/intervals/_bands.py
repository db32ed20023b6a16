"""Rounds of bands and of quantile trackers: their lanes advanced together, kept from crossing,
misses counted as played.

Bands have one lane a coverage, or two (lower and upper side) next to each other; quantile trackers
have one a level.
"""

import math

import numpy as np

from stillpoint.core.jit import njit
from stillpoint.forecasters._tracking import FORECAST, ORIGIN, SEEN
from stillpoint.intervals._experts import (
    FEW,
    LEAST,
    MEAN,
    MISSES,
    START,
    UNSEEN,
    learn_score,
    learn_value,
    quantile,
    radius,
    widening,
)


@njit(cache=True)
def open_band(
    f: float,
    two_sided: bool,
    empty: bool,
    order: np.ndarray,
    levels: np.ndarray,
    firsts: np.ndarray,
    experts: np.ndarray,
    books: np.ndarray,
    scalars: np.ndarray,
    weights: np.ndarray,
    ends: np.ndarray,
) -> None:
    """Fill ends (2, coverages), innermost first as `order` says; an outer interval takes in those
    inside it.

    Two sides take one more residual than a radius, for the middle between them.
    """
    low, high = math.inf, -math.inf
    for j in order:
        if two_sided:
            m = 2 * j
            below = quantile(levels[m], experts[m], books[m], scalars[m], weights[m])
            if below == -math.inf and not empty:
                below = scalars[m, ORIGIN] + scalars[m, FORECAST]
            m += 1
            above = quantile(levels[m], experts[m], books[m], scalars[m], weights[m])
            if above == -math.inf and not empty:
                above = scalars[m, ORIGIN] + scalars[m, FORECAST]
            if math.isfinite(below) and math.isfinite(above) and f - below > f + above:
                above = 0.5 * (above - below)  # the sides cross: both give way, and meet
                below = -above
            known = scalars[m, SEEN] - 1.0
            if known - 1.0 < LEAST:
                below = above = math.inf
            elif known <= FEW and math.isfinite(below) and math.isfinite(above):
                wider = widening(MEAN * firsts[m], known - 1.0) * math.sqrt(1.0 + 1.0 / known)
                more = 0.5 * (below + above) * (wider - 1.0)
                below, above = below + more, above + more
        else:
            below = above = radius(
                levels[j], firsts[j], empty, experts[j], books[j], scalars[j], weights[j]
            )
        low, high = min(low, f - below), max(high, f + above)
        ends[0, j], ends[1, j] = low, high


@njit(cache=True)
def close_band(
    y: float,
    f: float,
    two_sided: bool,
    levels: np.ndarray,
    firsts: np.ndarray,
    experts: np.ndarray,
    books: np.ndarray,
    scalars: np.ndarray,
    ends: np.ndarray,
    missed: np.ndarray,
) -> None:
    """What the round turned out to be. Misses are those of the intervals as played, rounding
    included.

    From the first target nothing is learnt but that it came: its forecast may be that of a
    forecaster that had seen nothing.
    """
    begins = scalars[0, SEEN] == 0.0
    for j in range(ends.shape[1]):
        under, over = y < ends[0, j], y > ends[1, j]
        missed[j] += 1.0 if under or over else 0.0
        if two_sided:
            m = 2 * j
            scalars[m, SEEN] += 1.0
            scalars[m, MISSES] += 1.0 if under else 0.0
            scalars[m + 1, SEEN] += 1.0
            scalars[m + 1, MISSES] += 1.0 if over else 0.0
            if not begins:
                learn_value(f - y, levels[m], firsts[m], experts[m], books[m], scalars[m])
                m += 1
                learn_value(y - f, levels[m], firsts[m], experts[m], books[m], scalars[m])
        else:
            scalars[j, SEEN] += 1.0
            scalars[j, MISSES] = missed[j]
            if not begins:
                learn_score(abs(y - f), levels[j], firsts[j], experts[j], books[j], scalars[j])


@njit(cache=True)
def band_stream(
    forecasts: np.ndarray,
    y: np.ndarray,
    out: np.ndarray,
    two_sided: bool,
    empty: bool,
    order: np.ndarray,
    levels: np.ndarray,
    firsts: np.ndarray,
    experts: np.ndarray,
    books: np.ndarray,
    scalars: np.ndarray,
    weights: np.ndarray,
    ends: np.ndarray,
    missed: np.ndarray,
) -> None:
    """Rounds in bulk: intervals into out (T, 2, coverages); y is NaN where it is missing."""
    for t in range(y.size):
        open_band(
            forecasts[t],
            two_sided,
            empty,
            order,
            levels,
            firsts,
            experts,
            books,
            scalars,
            weights,
            ends,
        )
        for j in range(ends.shape[1]):
            out[t, 0, j], out[t, 1, j] = ends[0, j], ends[1, j]
        if not math.isnan(y[t]):
            close_band(
                y[t], forecasts[t], two_sided, levels, firsts, experts, books, scalars, ends, missed
            )


@njit(cache=True)
def open_quantiles(
    pivot: int,
    levels: np.ndarray,
    experts: np.ndarray,
    books: np.ndarray,
    scalars: np.ndarray,
    weights: np.ndarray,
    values: np.ndarray,
) -> None:
    """Fill values (levels,). From the pivot outward none crosses the one before: what would is
    moved out to it.
    """
    for m in range(levels.size):
        values[m] = quantile(levels[m], experts[m], books[m], scalars[m], weights[m])
    for m in range(pivot + 1, levels.size):
        values[m] = max(values[m], values[m - 1])
    for m in range(pivot - 1, -1, -1):
        values[m] = min(values[m], values[m + 1])


@njit(cache=True)
def close_quantiles(
    y: float,
    levels: np.ndarray,
    firsts: np.ndarray,
    experts: np.ndarray,
    books: np.ndarray,
    scalars: np.ndarray,
    values: np.ndarray,
) -> None:
    """What the round turned out to be; a miss is a value above the quantile played.

    The first value only sets the level. Counted, whether it lies above 0 would stay in the guard's
    account: shifts would matter.
    """
    for m in range(levels.size):
        if scalars[m, START] != UNSEEN:
            scalars[m, SEEN] += 1.0
            scalars[m, MISSES] += 1.0 if y > values[m] else 0.0
        learn_value(y, levels[m], firsts[m], experts[m], books[m], scalars[m])


@njit(cache=True)
def quantile_stream(
    y: np.ndarray,
    out: np.ndarray,
    pivot: int,
    levels: np.ndarray,
    firsts: np.ndarray,
    experts: np.ndarray,
    books: np.ndarray,
    scalars: np.ndarray,
    weights: np.ndarray,
    values: np.ndarray,
) -> None:
    """Rounds in bulk: quantiles into out (T, levels); y is NaN where it is missing."""
    for t in range(y.size):
        open_quantiles(pivot, levels, experts, books, scalars, weights, values)
        for m in range(values.size):
            out[t, m] = values[m]
        if not math.isnan(y[t]):
            close_quantiles(y[t], levels, firsts, experts, books, scalars, values)

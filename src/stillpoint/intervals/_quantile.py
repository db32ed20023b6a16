"""Rounds of QuantileTracker: one estimator per level, whose quantiles are kept from crossing."""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import bare, njit
from stillpoint.intervals import _experts
from stillpoint.intervals._experts import (
    AIM,
    AT,
    UNSEEN,
    apart,
    learn_value,
    quantile,
)


class State(NamedTuple):
    """What a QuantileTracker keeps."""

    estimators: _experts.State  # one per level
    values: np.ndarray  # (levels,), the quantiles of the open round or the last one


@njit(cache=True)
def open_round(pivot: int, e: _experts.State, weights: np.ndarray, values: np.ndarray) -> None:
    """Fill values (levels,), none of which crosses another.

    From the pivot outward, what would cross the one before is moved out to it. weights
    (levels, 2, 9) is room for those of the experts.
    """
    aims, experts, regrets, scalars = e.aims, e.experts, e.regrets, e.scalars
    for m in range(values.size):
        values[m] = quantile(aims[m, AIM.level], experts[m], regrets[m], scalars[m], weights[m])
    for m in range(pivot + 1, values.size):
        values[m] = max(values[m], values[m - 1])
    for m in range(pivot - 1, -1, -1):
        values[m] = min(values[m], values[m + 1])


@njit(cache=True)
def close_round(y: float, s: State) -> None:
    """Learn from the target; a miss is a target above the quantile played.

    The first target only sets the level. Counted, whether it lies above 0 would stay in the guard's
    debt: shifts would matter.
    """
    e, values = s.estimators, s.values
    aims, experts, regrets, scalars = e.aims, e.experts, e.regrets, e.scalars
    for m in range(values.size):
        if scalars[m, AT.start] != UNSEEN:
            scalars[m, AT.seen] += 1.0
            scalars[m, AT.misses] += 1.0 if y > values[m] else 0.0
        q, first = aims[m, AIM.level], aims[m, AIM.first]
        learn_value(y, q, first, experts[m], regrets[m], scalars[m])


@njit(cache=True)
def predict(
    pivot: int,
    aims: np.ndarray,
    experts: np.ndarray,
    regrets: np.ndarray,
    scalars: np.ndarray,
    weights: np.ndarray,
    values: np.ndarray,
) -> None:
    """`open_round` from Python, where a NamedTuple takes longer to hand over than its arrays."""
    open_round(pivot, _experts.State(aims, experts, regrets, scalars), weights, values)


@njit(cache=True)
def update(
    y: float,
    aims: np.ndarray,
    experts: np.ndarray,
    regrets: np.ndarray,
    scalars: np.ndarray,
    values: np.ndarray,
) -> None:
    """`close_round` from Python."""
    close_round(y, State(_experts.State(aims, experts, regrets, scalars), values))


@njit(cache=True)
def track(
    y: np.ndarray,
    delay: int,
    first: int,
    pivot: int,
    s: State,
    weights: np.ndarray,
    out: np.ndarray,
) -> None:
    """Rounds in bulk: quantiles of rows from `first` on into out (rows, levels).

    Row t gets its quantiles from what rows up to t − delay − 1 taught; then row t − delay is
    learnt. y is NaN where it is missing.
    """
    s, weights, shown = bare(s), bare(weights), np.empty_like(s.values)
    for t in range(first, y.size):
        k = t - delay
        if k < 0:
            open_round(pivot, apart(s.estimators), weights, shown)
            out[t - first] = shown
            continue
        open_round(pivot, s.estimators, weights, s.values)  # row t and row k are given the same
        for m in range(s.values.size):
            out[t - first, m] = s.values[m]
        if not math.isnan(y[k]):
            close_round(y[k], s)

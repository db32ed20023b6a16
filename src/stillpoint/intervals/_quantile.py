"""Rounds of QuantileTracker: one estimator per level, whose quantiles are kept from crossing."""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import njit
from stillpoint.intervals import _experts
from stillpoint.intervals._experts import (
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
def open_round(pivot: int, e: _experts.State, values: np.ndarray) -> None:
    """Fill values (levels,). From the pivot outward none crosses the one before: what would is
    moved out to it.
    """
    levels, experts, regrets, scalars, weights = (
        e.levels,
        e.experts,
        e.regrets,
        e.scalars,
        e.weights,
    )
    for m in range(values.size):
        values[m] = quantile(levels[m], experts[m], regrets[m], scalars[m], weights[m])
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
    levels, firsts, experts, regrets, scalars = (
        e.levels,
        e.firsts,
        e.experts,
        e.regrets,
        e.scalars,
    )
    for m in range(values.size):
        if scalars[m, AT.start] != UNSEEN:
            scalars[m, AT.seen] += 1.0
            scalars[m, AT.misses] += 1.0 if y > values[m] else 0.0
        learn_value(y, levels[m], firsts[m], experts[m], regrets[m], scalars[m])


@njit(cache=True)
def predict(
    pivot: int,
    levels: np.ndarray,
    firsts: np.ndarray,
    experts: np.ndarray,
    regrets: np.ndarray,
    scalars: np.ndarray,
    weights: np.ndarray,
    values: np.ndarray,
) -> None:
    """`open_round` from Python, where a NamedTuple takes longer to hand over than its arrays."""
    open_round(pivot, _experts.State(levels, firsts, experts, regrets, scalars, weights), values)


@njit(cache=True)
def update(
    y: float,
    levels: np.ndarray,
    firsts: np.ndarray,
    experts: np.ndarray,
    regrets: np.ndarray,
    scalars: np.ndarray,
    weights: np.ndarray,
    values: np.ndarray,
) -> None:
    """`close_round` from Python."""
    s = _experts.State(levels, firsts, experts, regrets, scalars, weights)
    close_round(y, State(s, values))


@njit(cache=True)
def track(y: np.ndarray, delay: int, first: int, pivot: int, s: State, out: np.ndarray) -> None:
    """Rounds in bulk: quantiles of rows from `first` on into out (rows, levels).

    Row t gets its quantiles from what rows up to t − delay − 1 taught; then row t − delay is
    learnt. y is NaN where it is missing.
    """
    shown = np.empty_like(s.values)
    for t in range(first, y.size):
        k = t - delay
        if k < 0:
            open_round(pivot, apart(s.estimators), shown)
            out[t - first] = shown
            continue
        open_round(pivot, s.estimators, s.values)  # that of row k is that of row t
        for m in range(s.values.size):
            out[t - first, m] = s.values[m]
        if not math.isnan(y[k]):
            close_round(y[k], s)

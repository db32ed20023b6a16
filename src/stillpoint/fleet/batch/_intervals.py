"""Rounds of many keys for interval and quantile trackers; loops are laid out as in _base.py."""

from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import bare, njit
from stillpoint.intervals import _experts, _interval, _quantile


class Intervals(NamedTuple):
    """Interval trackers of many keys, which are the first axis of every array."""

    experts: np.ndarray
    regrets: np.ndarray
    scalars: np.ndarray
    ends: np.ndarray
    missed: np.ndarray
    forecast: np.ndarray
    opened: np.ndarray
    rounds: np.ndarray


class Quantiles(NamedTuple):
    """Quantile trackers of many keys, which are the first axis of every array."""

    experts: np.ndarray
    regrets: np.ndarray
    scalars: np.ndarray
    values: np.ndarray
    opened: np.ndarray
    rounds: np.ndarray


@njit(cache=True, nogil=True)
def open_intervals(
    order: np.ndarray,
    slots: np.ndarray,
    centres: np.ndarray,
    out: np.ndarray,
    rule: _interval.Rule,
    aims: np.ndarray,
    keys: Intervals,
) -> None:
    """Intervals of a batch into out (rows, 2, coverages); an open round keeps its own."""
    keys, aims = bare(keys), bare(aims)
    experts, regrets, scalars = keys.experts, keys.regrets, keys.scalars
    # made anew by every round that has a use for them
    weights, ends = np.zeros((len(aims), 2, experts.shape[3])), keys.ends
    for i in order:
        k = slots[i]
        if not keys.opened[k]:
            own = _experts.State(aims, experts[k], regrets[k], scalars[k])
            _interval.open_round(centres[i], rule, own, weights, ends[k])
            keys.forecast[k], keys.opened[k] = centres[i], True
        for j in range(ends.shape[2]):
            out[i, 0, j], out[i, 1, j] = ends[k, 0, j], ends[k, 1, j]


@njit(cache=True, nogil=True)
def close_intervals(
    order: np.ndarray,
    slots: np.ndarray,
    y: np.ndarray,
    two_sided: bool,
    aims: np.ndarray,
    keys: Intervals,
) -> None:
    """Targets of open rounds."""
    keys, aims = bare(keys), bare(aims)
    experts, regrets, scalars = keys.experts, keys.regrets, keys.scalars
    ends, missed = keys.ends, keys.missed
    for i in order:
        k = slots[i]
        own = _experts.State(aims, experts[k], regrets[k], scalars[k])
        state = _interval.State(own, ends[k], missed[k])
        _interval.close_round(y[i], keys.forecast[k], two_sided, state)
        keys.opened[k] = False
        keys.rounds[k] += 1


@njit(cache=True, nogil=True)
def open_quantiles(
    order: np.ndarray,
    slots: np.ndarray,
    out: np.ndarray,
    pivot: int,
    aims: np.ndarray,
    keys: Quantiles,
) -> None:
    """Quantiles of a batch into out (rows, levels); an open round keeps its own."""
    keys, aims = bare(keys), bare(aims)
    experts, regrets, scalars = keys.experts, keys.regrets, keys.scalars
    weights, values = np.zeros((len(aims), 2, experts.shape[3])), keys.values
    for i in order:
        k = slots[i]
        if not keys.opened[k]:
            own = _experts.State(aims, experts[k], regrets[k], scalars[k])
            _quantile.open_round(pivot, own, weights, values[k])
            keys.opened[k] = True
        for j in range(values.shape[1]):
            out[i, j] = values[k, j]


@njit(cache=True, nogil=True)
def close_quantiles(
    order: np.ndarray,
    slots: np.ndarray,
    y: np.ndarray,
    aims: np.ndarray,
    keys: Quantiles,
) -> None:
    """Targets of open rounds."""
    keys, aims = bare(keys), bare(aims)
    experts, regrets, scalars = keys.experts, keys.regrets, keys.scalars
    values = keys.values
    for i in order:
        k = slots[i]
        own = _experts.State(aims, experts[k], regrets[k], scalars[k])
        _quantile.close_round(y[i], _quantile.State(own, values[k]))
        keys.opened[k] = False
        keys.rounds[k] += 1

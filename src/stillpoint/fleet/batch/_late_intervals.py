"""Rounds of many keys for interval trackers whose targets come late; loops as in _base.py.

A batch's state is that of `_turns.State` with one more axis, of keys, in front of each array.
"""

import math

import numpy as np

from stillpoint.core.jit import bare, njit
from stillpoint.intervals import _turns
from stillpoint.intervals._interval import Rule
from stillpoint.intervals._turns import COUNT, State


@njit(cache=True, nogil=True)
def key(batch: State, k: int) -> State:
    """The state at place k."""
    experts, regrets, scalars, ends, missed, forecasts, said, units, slow, counts = batch
    return State(
        experts[k],
        regrets[k],
        scalars[k],
        ends[k],
        missed[k],
        forecasts[k],
        said[k],
        units[k],
        slow[k],
        counts[k],
    )


@njit(cache=True, nogil=True)
def open_late(
    order: np.ndarray,
    slots: np.ndarray,
    centres: np.ndarray,
    out: np.ndarray,
    rule: Rule,
    aims: np.ndarray,
    batch: State,
    opened: np.ndarray,
) -> None:
    """Open a round of each key: intervals into out (rows, 2, coverages)."""
    states, aims = bare(batch), bare(aims)
    weights = np.zeros((len(aims), 2, states.experts.shape[4]))
    for i in order:
        k = slots[i]
        own = key(states, k)
        turn = _turns.open_turn(centres[i], rule, aims, own, weights)
        for j in range(out.shape[2]):
            out[i, 0, j], out[i, 1, j] = own.ends[turn, 0, j], own.ends[turn, 1, j]
        opened[k] = True


@njit(cache=True, nogil=True)
def close_late(
    order: np.ndarray,
    slots: np.ndarray,
    y: np.ndarray,
    rule: Rule,
    aims: np.ndarray,
    batch: State,
    opened: np.ndarray,
) -> None:
    """Targets of the oldest open rounds; NaN is a missing one, or a round that nobody opened."""
    states, aims = bare(batch), bare(aims)
    for i in order:
        k = slots[i]
        own = key(states, k)
        if own.counts[COUNT.opened] == own.counts[COUNT.closed] and math.isnan(y[i]):
            own.counts[COUNT.opened] += 1
        _turns.close_turn(y[i], rule, aims, own)
        opened[k] = own.counts[COUNT.opened] > own.counts[COUNT.closed]

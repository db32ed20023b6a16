"""KernelForecaster's rounds of many keys, compiled; loops as in _base.py.

A batch's State is that of the forecaster with one more axis, of places, in front of each array; the
experts' weights, which every round makes anew, are not kept.
"""

import numpy as np

from stillpoint.core.jit import bare, njit
from stillpoint.forecasters import _aggregation
from stillpoint.forecasters import _kernel_forecaster as single
from stillpoint.forecasters._kernel_forecaster import AT, CENTRE, Rule, State


@njit(cache=True, nogil=True)
def key(batch: State, k: int, weights: np.ndarray) -> State:
    """The state at place k, with room for weights."""
    m, C, v, p, c, centre, own = batch
    experts = _aggregation.State(own.regrets[k], own.squares[k], own.scalars[k], weights)
    return State(m[k], C[k], v[k], p[k], c[k], centre[k], experts)


@njit(cache=True, nogil=True)
def begin(
    order: np.ndarray,
    slots: np.ndarray,
    when: np.ndarray,
    out: np.ndarray,
    rule: Rule,
    batch: State,
    opened: np.ndarray,
    time: np.ndarray,
) -> None:
    """Forecasts of a batch; a round that is open already keeps its own."""
    states, weights = bare(batch), np.zeros(rule.ridges.size)
    for i in order:
        k = slots[i]
        if not opened[k]:
            single.begin(when[i], rule, key(states, k, weights))
            opened[k], time[k] = True, when[i]
        out[i] = states.centre[k, CENTRE.value] + states.scalars[k, AT.forecast]


@njit(cache=True, nogil=True)
def finish(
    order: np.ndarray,
    slots: np.ndarray,
    y: np.ndarray,
    rule: Rule,
    batch: State,
    opened: np.ndarray,
    started: np.ndarray,
) -> None:
    """Targets of open rounds, NaN for a missing one."""
    states, weights = bare(batch), np.zeros(rule.ridges.size)
    for i in order:
        k = slots[i]
        single.finish(y[i], rule, key(states, k, weights))
        opened[k], started[k] = False, True

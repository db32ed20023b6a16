"""Rounds of VariationForecaster: the mixture, and specialists that insure it.

The specialists awake in round s are the binary prefixes of s: s with its low bits cleared one by
one.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import bare, njit
from stillpoint.forecasters import _aggregation
from stillpoint.forecasters._aggregation import VOVK, combine
from stillpoint.forecasters._mixture import AT, Mixture, absorb
from stillpoint.forecasters._mixture import forecast as mixture

INSURANCE = 0.01  # prior weight of all specialists together
TOTAL = 2.109743  # at least Σ_{r ≥ 1} 1/((r + 1) ln²(r + 1))


class Specialist(NamedTuple):
    """Places of a specialist."""

    mean: int = 0
    size: int = 1
    credit: int = 2  # loss of the forecasts less its own, since its start


class State(NamedTuple):
    """The mixture, the specialists, and what Vovk's algorithm keeps of them all."""

    mixture: Mixture
    specialists: np.ndarray  # (LEVELS, 3), see Specialist
    forecasts: np.ndarray  # (LEVELS + 1,): of the mixture, then of the specialists awake
    experts: _aggregation.State  # of the same; `squares` is not used


BY = Specialist()


@njit(cache=True)
def log_prior(r: float, level: int) -> float:
    """ln π of the specialist that starts at round r·2^level: π ∝ 1/((r + 1) ln²(r + 1)) · 1/((level
    + 1)(level + 2)).
    """
    part = math.log(r + 1.0)
    return (
        -math.log(TOTAL / INSURANCE)
        - part
        - 2.0 * math.log(part)
        - math.log((level + 1.0) * (level + 2.0))
    )


@njit(cache=True)
def begin(time: float, state: State) -> float:
    """Open a round at this time; returns the forecast."""
    specialists, c, p = state.specialists, state.mixture.scalars, state.forecasts
    R = state.experts.regrets
    c[AT.time], c[AT.open] = time, 1.0
    c[AT.mixture] = min(max(mixture(state.mixture), c[AT.low]), c[AT.high])
    half = 0.5 * (c[AT.high] - c[AT.low])
    middle = c[AT.low] + half
    p[0], R[0], alive = c[AT.mixture] - middle, c[AT.own] + half * half * math.log1p(-INSURANCE), 1
    coming = int(c[AT.seen]) + 1
    level, prefix = 0, coming
    while prefix > 0:
        if prefix % 2 == 1:
            fresh = prefix << level == coming  # it starts now, at the mixture's forecast
            p[alive] = p[0] if fresh else specialists[level, BY.mean] - middle
            R[alive] = half * half * log_prior(float(prefix), level) + (
                0.0 if fresh else specialists[level, BY.credit]
            )
            alive += 1
        prefix //= 2
        level += 1
    c[AT.alive], c[AT.middle] = alive, middle
    state.experts.scalars[_aggregation.AT.range] = half
    c[AT.forecast] = middle + combine(VOVK, p[:alive], state.experts)
    return float(c[AT.forecast])


@njit(cache=True)
def credit(y: float, state: State) -> None:
    """Credit mixture and specialists with what they would have saved; specialists and range take in
    y.
    """
    specialists, c, p = state.specialists, state.mixture.scalars, state.forecasts
    f, target = c[AT.forecast] - c[AT.middle], min(max(y, c[AT.low]), c[AT.high]) - c[AT.middle]
    coming = int(c[AT.seen]) + 1
    c[AT.own] += (f - p[0]) * (0.5 * (f + p[0]) - target)
    level, prefix, i = 0, coming, 0
    while prefix > 0:
        if prefix % 2 == 1:
            i += 1
            if prefix << level == coming:
                specialists[level, BY.mean], specialists[level, BY.credit] = c[AT.mixture], 0.0
                specialists[level, BY.size] = 1.0 if coming > 1 else 0.0
            specialists[level, BY.credit] += (f - p[i]) * (0.5 * (f + p[i]) - target)
            specialists[level, BY.size] += 1.0
            specialists[level, BY.mean] += (y - specialists[level, BY.mean]) / specialists[
                level, BY.size
            ]
        prefix //= 2
        level += 1
    if coming == 1:
        c[AT.low], c[AT.high], c[AT.first_loss] = y, y, 0.5 * y * y
    elif y > c[AT.high]:
        c[AT.range_cost] += (c[AT.high] - c[AT.low]) * (y - c[AT.high])
        c[AT.high] = y
    elif y < c[AT.low]:
        c[AT.range_cost] += (c[AT.high] - c[AT.low]) * (c[AT.low] - y)
        c[AT.low] = y


@njit(cache=True)
def finish(y: float, state: State) -> None:
    """Close the open round; y is NaN where it is missing."""
    if not math.isnan(y):
        credit(y, state)
        absorb(y, state.mixture)
    state.mixture.scalars[AT.rounds] += 1.0
    state.mixture.scalars[AT.open] = 0.0


@njit(cache=True)
def foresee(time: float, state: State) -> float:
    """The forecast of `begin`, with no round opened; only the weights are filled."""
    own = state.mixture
    members = Mixture(own.means, own.filters, own.counts, own.scalars.copy())
    R, V, s, w = state.experts
    experts = _aggregation.State(R.copy(), V, s.copy(), w)
    return begin(time, State(members, state.specialists, state.forecasts.copy(), experts))


@njit(cache=True)
def track(
    y: np.ndarray,
    times: np.ndarray,
    delay: int,
    first: int,
    state: State,
    out: np.ndarray,
    weights: np.ndarray,
) -> None:
    """Rounds in bulk, rows from `first` on: row t is forecast, then row t − delay is learnt.

    Forecasts go into out, the mixture's weight in each into weights.
    """
    state = bare(state)
    for t in range(first, y.size):
        row, learnt = t - first, t - delay
        if delay > 0:
            out[row] = foresee(times[t], state)
            weights[row] = state.experts.weights[0]
        if learnt >= 0:
            forecast = begin(times[learnt], state)
            if delay == 0:
                out[row], weights[row] = forecast, state.experts.weights[0]
            finish(y[learnt], state)


@njit(cache=True)
def one(
    opens: bool,
    value: float,
    means: np.ndarray,
    filters: np.ndarray,
    counts: np.ndarray,
    scalars: np.ndarray,
    specialists: np.ndarray,
    forecasts: np.ndarray,
    regrets: np.ndarray,
    squares: np.ndarray,
    sums: np.ndarray,
    weights: np.ndarray,
) -> float:
    """`begin` at a time, whose forecast is returned, or `finish` with a target.

    Called from Python, where unpacking a NamedTuple costs more than a round's arithmetic: arrays
    come one by one.
    """
    experts = _aggregation.State(regrets, squares, sums, weights)
    mixture = Mixture(means, filters, counts, scalars)
    state = State(mixture, specialists, forecasts, experts)
    if opens:
        return begin(value, bare(state))
    finish(value, bare(state))
    return 0.0

"""Rounds of KernelForecaster on splines: a Kalman filter for each ridge, advanced together, and
their aggregate.

The spline with offset λ has variance λ at time 0 and gains 1 a unit of time; the filter of ridge λ
is, with a gap Δ since the last round, v = C + Δ, ŷ = λm/(v + λ), m ← m + v/(v + λ)·(y − m) and
C ← vλ/(v + λ). All of it, the aggregate too, is of y less the centre, the first value that came.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import bare, njit
from stillpoint.forecasters import _aggregation
from stillpoint.forecasters._aggregation import combine, learn


class Places(NamedTuple):
    """Where each number stands in `State.scalars`."""

    time: int = 0  # of the open round, or the last one
    first: int = 1  # time of the first round
    rounds: int = 2
    seen: int = 3  # observations, without the one that is the centre
    residual: int = 4  # mean of (y − ŷ)² over them
    open: int = 5
    forecast: int = 6  # less the centre
    experts: int = 7  # ridges that take part


class Centres(NamedTuple):
    """Where each number stands in `State.centre`."""

    value: int = 0  # what filters and experts count from
    known: int = 1  # 1 once there is one; in files of before it is 0.0, and known from the start


class State(NamedTuple):
    """One entry a ridge, but for scalars and centre."""

    means: np.ndarray
    covariances: np.ndarray  # C
    variances: np.ndarray  # v, of the open round or the last one
    forecasts: np.ndarray
    scalars: np.ndarray  # see Places
    centre: np.ndarray  # see Centres
    experts: _aggregation.State


class Rule(NamedTuple):
    """What does not change from round to round."""

    aggregation: int
    share: float
    grows: bool  # whether ridges join by and by
    ridges: np.ndarray


AT, CENTRE = Places(), Centres()


@njit(cache=True)
def awake(rounds: float, elapsed: float, most: int, grows: bool) -> int:
    """How many ridges take part: 1 + ⌈log₂ t⌉, the widest window being about all there was."""
    if not grows:
        return most
    return min(most, 1 + math.ceil(math.log2(max(rounds, elapsed))))


@njit(cache=True)
def begin(time: float, rule: Rule, state: State) -> float:
    """Open a round at this time; returns the forecast, 0 before the first value."""
    m, C, v, p, c, centre = state[:6]
    lam = rule.ridges
    if c[AT.rounds] == 0.0:
        c[AT.first] = time
        gap = time  # the prior is that of time 0, where the spline has variance λ
    else:
        gap = time - c[AT.time]
    for i in range(lam.size):
        v[i] = C[i] + gap
        p[i] = lam[i] / (v[i] + lam[i]) * m[i]
    c[AT.time], c[AT.open] = time, 1.0
    experts = awake(c[AT.rounds] + 1.0, time - c[AT.first] + 1.0, lam.size, rule.grows)
    c[AT.experts] = experts
    c[AT.forecast] = combine(rule.aggregation, p[:experts], state.experts)
    return float(centre[CENTRE.value] + c[AT.forecast])


@njit(cache=True)
def foresee(time: float, rule: Rule, state: State) -> float:
    """The forecast of `begin`, with no round opened."""
    m, C, v, p, c, centre, own = state
    experts = _aggregation.State(own.regrets, own.squares, own.scalars, own.weights.copy())
    return begin(time, rule, State(m, C, v.copy(), p.copy(), c.copy(), centre, experts))


@njit(cache=True)
def from_centre(y: float, centre: np.ndarray) -> float:
    """y less the centre, which the first y becomes."""
    if centre[CENTRE.known] == 0.0:
        centre[CENTRE.value], centre[CENTRE.known] = y, 1.0
    return float(y - centre[CENTRE.value])


@njit(cache=True)
def finish(y: float, rule: Rule, state: State) -> None:
    """Close the open round; y is NaN where it is missing."""
    m, C, v, p, c, centre = state[:6]
    lam = rule.ridges
    if math.isnan(y):
        for i in range(lam.size):
            C[i] = v[i]
    else:
        first = centre[CENTRE.known] == 0.0
        y = from_centre(y, centre)
        known = p[: int(c[AT.experts])]
        learn(rule.aggregation, rule.share, c[AT.forecast], y, known, state.experts)
        for i in range(lam.size):
            part = v[i] / (v[i] + lam[i])
            m[i] += part * (y - m[i])
            C[i] = part * lam[i]  # v − v²/S without the cancellation
        if not first:  # that one was forecast by nobody
            c[AT.seen] += 1.0
            c[AT.residual] += ((y - c[AT.forecast]) ** 2 - c[AT.residual]) / c[AT.seen]
    c[AT.rounds] += 1.0
    c[AT.open] = 0.0


@njit(cache=True)
def track(
    y: np.ndarray,
    times: np.ndarray,
    delay: int,
    first: int,
    rule: Rule,
    state: State,
    out: np.ndarray,
) -> None:
    """Rounds in bulk, rows from `first` on: row t is forecast, then row t − delay is learnt."""
    rule, state = bare(rule), bare(state)
    for t in range(first, y.size):
        learnt = t - delay
        if delay > 0:
            out[t - first] = foresee(times[t], rule, state)
        if learnt >= 0:
            forecast = begin(times[learnt], rule, state)
            if delay == 0:
                out[t - first] = forecast
            finish(y[learnt], rule, state)


@njit(cache=True)
def one(
    opens: bool,
    value: float,
    aggregation: int,
    share: float,
    grows: bool,
    ridges: np.ndarray,
    means: np.ndarray,
    covariances: np.ndarray,
    variances: np.ndarray,
    forecasts: np.ndarray,
    scalars: np.ndarray,
    centre: np.ndarray,
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
    state = bare(State(means, covariances, variances, forecasts, scalars, centre, experts))
    if opens:
        return begin(value, Rule(aggregation, share, grows, ridges), state)
    finish(value, Rule(aggregation, share, grows, ridges), state)
    return 0.0

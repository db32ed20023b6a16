"""Rounds of TrackingForecaster in bulk and one by one, and looks at the coming one."""

import math

import numpy as np

from stillpoint.core._poly import WEIGHTS
from stillpoint.core.arithmetic import assign
from stillpoint.core.jit import bare, njit
from stillpoint.forecasters._features import LOOK, glimpse
from stillpoint.forecasters._filters import tick
from stillpoint.forecasters._linear import AT, ROW, Rule, State, clipped, learn, propose, weigh


@njit(cache=True)
def track(
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    times: np.ndarray,
    delay: int,
    first: int,
    rule: Rule,
    state: State,
    forecasts: np.ndarray,
    still: np.ndarray,
    shares: np.ndarray,
) -> None:
    """Rounds in bulk, rows from `first` on: row t is forecast, then row t − delay is learnt.

    y is NaN where it is missing; `weights` are those of the losses, none for 1 each. Where `shares`
    has rows, also what the filter without drift says, which is recursive least squares, and the
    filters' weights.
    """
    state = bare(state)
    M, table, s = state.means, state.table, state.scalars
    look, room, one = np.empty((3, X.shape[1] + 1)), table[ROW.poly :], np.empty(1)
    for t in range(first, y.size):
        row, learnt = t - first, t - delay
        if delay > 0:
            peek(X[t : t + 1], state.features, M, table, s, look, room, one)
            forecasts[row] = one[0]
            if shares.size:
                raw = 0.0
                for i in range(M.shape[1]):
                    raw += look[LOOK.now, i] * M[0, i]
                still[row] = s[AT.origin] + clipped(raw, 0, table, s)
                assign(shares[row], table[ROW.blend])
        if learnt >= 0:
            propose(X[learnt], tick(times[learnt], state.clock), state)
            if delay == 0:
                forecasts[row] = s[AT.origin] + s[AT.forecast]
                if shares.size:
                    still[row] = s[AT.origin] + table[ROW.clipped, 0]
                    assign(shares[row], table[ROW.blend])
            if not math.isnan(y[learnt]):
                learn(y[learnt], weights[learnt] if weights.size else 1.0, rule, state)


@njit(cache=True)
def peek(
    X: np.ndarray,
    features: np.ndarray,
    M: np.ndarray,
    table: np.ndarray,
    scalars: np.ndarray,
    look: np.ndarray,
    weights: np.ndarray,
    forecasts: np.ndarray,
) -> None:
    """The forecast for each row as that of the coming round; drift, which moves no mean, does not
    enter. `look` and `weights` are room to work in.
    """
    weigh(table, scalars, weights)
    for t in range(X.shape[0]):
        glimpse(X[t], features, look)
        forecast = 0.0
        for k in range(M.shape[0]):
            raw = 0.0
            for i in range(M.shape[1]):
                raw += look[LOOK.now, i] * M[k, i]
            forecast += weights[WEIGHTS.blend, k] * clipped(raw, k, table, scalars)
        forecasts[t] = scalars[AT.origin] + forecast


# Single rounds are called from Python, where unpacking a NamedTuple costs more than the round's
# arithmetic: arrays come one by one.


@njit(cache=True)
def peek_one(
    x: np.ndarray, features: np.ndarray, M: np.ndarray, table: np.ndarray, scalars: np.ndarray
) -> float:
    """The forecast for x."""
    look, weights, forecasts = np.empty((3, M.shape[1])), np.empty((2, M.shape[0])), np.empty(1)
    peek(x.reshape(1, -1), features, M, table, scalars, look, weights, forecasts)
    return float(forecasts[0])


@njit(cache=True)
def round_one(
    opens: bool,
    closes: bool,
    x: np.ndarray,
    y: float,
    time: float,
    code: int,
    parameter: float,
    level: float,
    clock: np.ndarray,
    features: np.ndarray,
    means: np.ndarray,
    covariances: np.ndarray,
    z: np.ndarray,
    gains: np.ndarray,
    table: np.ndarray,
    scalars: np.ndarray,
) -> float:
    """Open a round, close it, or both; returns its forecast."""
    state = bare(State(clock, features, means, covariances, z, gains, table, scalars))
    if opens:
        propose(x, tick(time, clock), state)
    forecast = scalars[AT.origin] + scalars[AT.forecast]
    if closes:
        learn(y, 1.0, Rule(code, parameter, level), state)
    return float(forecast)

"""Forecasts of all experts."""

import numpy as np

from stillpoint.core.jit import njit
from stillpoint.series import _autoregression, _effects, _phases, _scale, _structural
from stillpoint.series._scale import AT, BY, exponential, within
from stillpoint.series._state import State


@njit(cache=True)
def experts(m: State, knots: np.ndarray, out: np.ndarray) -> None:
    """out[i, expert] = forecasts of all experts for time now + knots[i] − 1."""
    s, now, place = m.scalars, m.clock[BY.now], m.clock[BY.place]
    low, high = _scale.limits(s)
    x, column = m.lags[0], m.work[2]
    last = s[AT.centre] + s[AT.unit] * x[place - 1]
    for i in range(knots.size):
        out[i, 0] = last
    e = 1
    for q in range(m.periods.size):
        period = round(m.periods[q])
        for i in range(knots.size):
            back = (knots[i] + period - 1) // period * period
            # before the series began there is nothing to repeat
            known = knots[i] - 1 - back >= -now
            out[i, e] = (
                s[AT.centre] + s[AT.unit] * x[place + knots[i] - 1 - back] if known else last
            )
        e += 1
    f = m.filters
    for i in range(f.kinds.shape[0]):
        model = f.models[f.kinds[i, _structural.IS.model]]
        _structural.forecast(f.means[i], model, m.rows, now, knots, column)
        bring(column, f.kinds[i, _structural.IS.log] > 0, low, high, out[:, e])
        e += 1
    r, H = m.regressions, knots[-1]
    ahead(r.specs, f.seasonal, f.means[0], m.rows, now, s[AT.unit], m.seasonal[: H + 3])
    for a in range(r.specs.shape[0]):
        if now < r.specs[a, _autoregression.OF.start]:
            for k in range(knots.size):
                out[k, e] = last
        else:
            x = m.lags[r.specs[a, _autoregression.OF.log]]
            _autoregression.forecast(
                a, r, x, s, now, place, m.rows, m.seasonal, m.features, knots, m.work[0], out[:, e]
            )
        e += 1
    p = m.phases
    for i in range(p.specs.shape[0]):
        _phases.forecast(i, p, now, knots, column)
        bring(column, p.specs[i, _phases.OF.log] > 0.0, low, high, out[:, e])
        e += 1
    for i in range(m.effects.logs.size):
        _effects.forecast(m.effects.means[i], m.rows, m.features, now, knots, m.work[0], column)
        bring(column, m.effects.logs[i] > 0, low, high, out[:, e])
        e += 1


@njit(cache=True)
def bring(values: np.ndarray, log: bool, low: float, high: float, out: np.ndarray) -> None:
    """Forecasts, of logarithms perhaps, within the range."""
    for k in range(out.size):
        out[k] = within(exponential(values[k]) if log else values[k], low, high)


@njit(cache=True)
def ahead(
    specs: np.ndarray,
    past: np.ndarray,
    mean: np.ndarray,
    rows: np.ndarray,
    now: int,
    unit: float,
    out: np.ndarray,
) -> None:
    """Fill the seasonal parts of a filter, 3 past ones first, where a regression asks for them."""
    asked = 0
    for a in range(specs.shape[0]):
        asked += specs[a, _autoregression.OF.seasonal]
    if asked > 0:
        for i in range(3):
            out[i] = past[i] / unit
        for h in range(out.size - 3):
            out[3 + h] = _structural.season(mean, rows[(now + h) % rows.shape[0]]) / unit

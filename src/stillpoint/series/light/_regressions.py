"""Autoregressions in rows of lanes: the formulas of `series._autoregression`."""

import numpy as np

from stillpoint.core.jit import njit
from stillpoint.core.lanes import Lanes, block, floor, get, most, put, size, spread, where
from stillpoint.series._autoregression import WIND_UP
from stillpoint.series._scale import AT
from stillpoint.series._waves import WAVES
from stillpoint.series.light._knot import absorb, fitted, times
from stillpoint.series.light._plan import AR, N, Plan
from stillpoint.series.light._plan import OF as COUNT


@njit(cache=True)
def regressors(
    a: int, x: np.ndarray, s: int, seasonal: np.ndarray, last: int, per_unit: Lanes, p: Plan
) -> None:
    """Fill room for place s of x; the seasonal part there is at `last`, those before before."""
    spec, lags, z = p.specs[a], p.lags[a], block(p.room)
    d, n = spec[AR.difference], spec[AR.lags]
    if d > 0:
        for i in range(n):
            put(z, i, get(x, s - lags[i]) - get(x, s - lags[i] - d))
    else:
        for i in range(n):
            put(z, i, get(x, s - lags[i]))
    for i in range(spec[AR.seasonal]):
        put(z, n + i, get(seasonal, last - i) * per_unit)
    n += spec[AR.seasonal]
    if spec[AR.waves] > 0:  # as `_waves.fill`
        one, two = get(x, s - 1), get(x, s - 2)
        for j in range(WAVES.shape[0]):
            u = WAVES[j, 0] * one + WAVES[j, 1] * two + WAVES[j, 2]
            v = size(u - floor(u + 0.5))
            rest = 0.5 - v
            put(z, n + j, where(v < 0.25, 1.0 - 8.0 * v * v, 8.0 * rest * rest - 1.0))
        n += spec[AR.waves]
    put(z, n, 1.0)


@njit(cache=True)
def told(
    w: np.ndarray,
    a: int,
    x: np.ndarray,
    s: int,
    seasonal: np.ndarray,
    last: int,
    per_unit: Lanes,
    p: Plan,
) -> Lanes:
    """What an autoregression says of place s of x: see `regressors`.

    The latest lags come last in the sum: those before them need not wait for the step before.
    """
    spec, lags = p.specs[a], p.lags[a]
    d, n, theta = spec[AR.difference], spec[AR.lags], spec[AR.coefficients]
    if spec[AR.waves] > 0:
        regressors(a, x, s, seasonal, last, per_unit, p)
        v = fitted(w, theta, block(p.room), spec[AR.size])
    else:
        v = get(w, theta + spec[AR.size] - 1)
        for i in range(spec[AR.seasonal]):
            v += get(w, theta + n + i) * (get(seasonal, last - i) * per_unit)
        if d > 0:
            for i in range(n - 1, -1, -1):
                v += get(w, theta + i) * (get(x, s - lags[i]) - get(x, s - lags[i] - d))
        else:
            for i in range(n - 1, -1, -1):
                v += get(w, theta + i) * get(x, s - lags[i])
    if d > 0:
        v += get(x, s - d)
    return v


@njit(cache=True)
def regress(w: np.ndarray, new: Lanes, seen: Lanes, p: Plan) -> None:
    """Autoregressions learn from the value that comes after the lags, in units."""
    n, room = p.n, block(p.room)
    s, parts, per_unit = n[N.lags] + n[N.past], n[N.seasonal] + 3, 1.0 / get(w, AT.unit)
    for a in range(p.specs.shape[0]):
        spec = p.specs[a]
        if p.c[COUNT.now] < spec[AR.start]:
            continue
        count, theta, d = spec[AR.size], spec[AR.coefficients], spec[AR.difference]
        C, rate = spec[AR.covariance], p.rates[a]
        regressors(a, w, s, w, parts, per_unit, p)
        error = new - fitted(w, theta, room, count)
        if d > 0:
            error -= get(w, s - d)
        largest, place = spread(0.0), C
        for i in range(count):
            largest = most(largest, get(w, place))
            place += count - i
        wound = largest > WIND_UP
        S = times(w, C, room, count) + where(wound, 1.0, rate)
        inverse = 1.0 / S
        step, inverse = where(seen, error / S, 0.0), where(seen, inverse, 0.0)
        for i in range(count):
            put(w, theta + i, get(w, theta + i) + get(room, count + i) * step)
        scale = where(seen & ~wound, 1.0 / rate, 1.0)
        absorb(w, C, room, count, inverse, scale, spread(0.0))

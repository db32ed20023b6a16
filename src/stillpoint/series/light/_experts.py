"""The experts of a small pool, in the row of a series.

The formulas are those of `series._structural`, `_autoregression` and `_phases`; what they say of
the next value is worked out without the detour of a path, and what is seasonal in it once a round.
"""

import numpy as np

from stillpoint.core.arithmetic import dot
from stillpoint.core.jit import njit
from stillpoint.series import _waves
from stillpoint.series._autoregression import WIND_UP
from stillpoint.series._scale import AT, exponential, limits, within
from stillpoint.series._structural import GAP
from stillpoint.series._structural import OF as MODEL
from stillpoint.series.light._knot import absorb, times
from stillpoint.series.light._plan import AR, BASE, DEVIATION, ES, LEVEL, SLOPE, N, Plan
from stillpoint.series.light._plan import OF as COUNT
from stillpoint.series.light._smoothers import smoothed
from stillpoint.series.light._turning import row_of, turn_to


@njit(cache=True)
def bring(value: float, log: bool, low: float, high: float) -> float:
    """A forecast, of a logarithm perhaps, within the range."""
    return within(exponential(value) if log else value, low, high)


@njit(cache=True, fastmath={"reassoc"})
def season(mean: np.ndarray, row: np.ndarray) -> float:
    """The seasonal part of a mean, at the time whose harmonics are in row."""
    Q, total = row.size // 2, 0.0
    one, two, cosines, sines = mean[BASE:], mean[BASE + Q :], row[:Q], row[Q:]
    for q in range(Q):
        total += one[q] * cosines[q] + two[q] * sines[q]
    return total


@njit(cache=True, forceinline=True)
def regressors(
    spec: np.ndarray,
    lags: np.ndarray,
    x: np.ndarray,
    s: int,
    seasonal: np.ndarray,
    per_unit: float,
    z: np.ndarray,
) -> None:
    """Fill z for place s of x; the seasonal part there is seasonal[3], those before it before."""
    d, n = spec[AR.difference], spec[AR.lags]
    for i in range(n):
        z[i] = x[s - lags[i]]
        if d > 0:
            z[i] -= x[s - lags[i] - d]
    for i in range(spec[AR.seasonal]):
        z[n + i] = seasonal[3 - i] * per_unit
    n += spec[AR.seasonal]
    if spec[AR.waves] > 0:
        _waves.fill(x[s - 1], x[s - 2], z[n:])
        n += spec[AR.waves]
    z[n] = 1.0


@njit(cache=True, forceinline=True)
def say_next(w: np.ndarray, c: np.ndarray, p: Plan, out: np.ndarray) -> None:
    """out[expert] = forecasts of the next value; notes the filters' seasonal parts in it."""
    n, now, logs = p.n, c[COUNT.now], c[COUNT.logs] > 0
    W, P, lags = n[N.past], n[N.places], n[N.lags]
    x, centre, unit = w[lags : lags + W], w[AT.centre], w[AT.unit]
    low, high = limits(w)
    last = centre + unit * x[W - 1]
    out[0], e = last, 1
    for m in p.periods:
        out[e] = centre + unit * x[W - m] if now >= m else last
        e += 1
    turn_to(p, now, n[N.one])
    row = row_of(p, now, 0)
    parts = w[n[N.seasonal] + 3 : n[N.seasonal] + 3 + n[N.filters]]
    for i in range(n[N.filters]):
        mean = w[n[N.means] + i * P : n[N.means] + (i + 1) * P]
        parts[i] = season(mean, row)
        v = mean[LEVEL] + mean[DEVIATION] + parts[i]
        out[e] = bring(v, logs and p.kinds[i] > 0, low, high)
        e += 1
    seasonal = w[n[N.seasonal] : n[N.seasonal] + 4]
    small, large = (low - centre) / unit, (high - centre) / unit
    for a in range(p.specs.shape[0]):
        spec = p.specs[a]
        out[e] = last
        if now >= spec[AR.start]:
            size, at, d = spec[AR.size], spec[AR.coefficients], spec[AR.difference]
            z = p.room[:size]
            regressors(spec, p.lags[a], x, W, seasonal, 1.0 / unit, z)
            v = dot(w[at : at + size], z)
            if d > 0:
                v += x[W - d]
            out[e] = within(centre + unit * within(v, small, large), low, high)
        e += 1
    for i in range(p.smoothers.shape[0]):
        spec = p.smoothers[i]
        v = smoothed(w, spec, p.steps[i], now, 1)
        out[e] = bring(v, logs and spec[ES.log] > 0, low, high)
        e += 1


@njit(cache=True)
def say_path(
    w: np.ndarray, c: np.ndarray, p: Plan, first: int, steps: int, out: np.ndarray
) -> None:
    """out[h − 1, expert] = forecasts of the next values, from `first` up to `steps`."""
    n, now, logs = p.n, c[COUNT.now], c[COUNT.logs] > 0
    W, P, H, lags = n[N.past], n[N.places], n[N.horizon], n[N.lags]
    x, ahead = p.room[64 : 64 + W + H], p.room[64 + W + H : 67 + W + 2 * H]
    for i in range(W):
        x[i] = w[lags + i]
    centre, unit = w[AT.centre], w[AT.unit]
    low, high = limits(w)
    last = centre + unit * x[W - 1]
    turn_to(p, now, steps)
    for h in range(first, steps + 1):
        out[h - 1, 0] = last
        e = 1
        for m in p.periods:
            back = (h + m - 1) // m * m
            out[h - 1, e] = centre + unit * x[W + h - 1 - back] if h - 1 - back >= -now else last
            e += 1
    e = 1 + p.periods.size
    for i in range(n[N.filters]):
        mean, model = w[n[N.means] + i * P : n[N.means] + (i + 1) * P], p.models[i]
        slope, power, memory, log = 0.0, 1.0, 1.0, logs and p.kinds[i] > 0
        for h in range(1, steps + 1):
            if h > 1:
                slope += mean[SLOPE] * power
                power *= model[MODEL.damping]
                memory *= model[MODEL.memory]
            if h >= first:
                part = season(mean, row_of(p, now + h - 1, h - 1))
                v = mean[LEVEL] + slope + memory * mean[DEVIATION] + part
                out[h - 1, e] = bring(v, log, low, high)
        e += 1
    mean = w[n[N.means] : n[N.means] + P]
    for i in range(3):
        ahead[i] = w[n[N.seasonal] + i]
    for h in range(steps if n[N.waves] > 0 else 0):
        ahead[3 + h] = season(mean, row_of(p, now + h, h))
    small, large = (low - centre) / unit, (high - centre) / unit
    for a in range(p.specs.shape[0]):
        spec = p.specs[a]
        size, at, d = spec[AR.size], spec[AR.coefficients], spec[AR.difference]
        z, theta = p.room[:size], w[at : at + size]
        for h in range(1, steps + 1):
            v = x[W - 1]
            if now >= spec[AR.start]:
                regressors(spec, p.lags[a], x, W + h - 1, ahead[h - 1 :], 1.0 / unit, z)
                v = dot(theta, z)
                if d > 0:
                    v += x[W + h - 1 - d]
                v = within(v, small, large)
            x[W + h - 1] = v
            out[h - 1, e] = within(centre + unit * v, low, high)
            if now < spec[AR.start]:
                out[h - 1, e] = last
        e += 1
    for i in range(p.smoothers.shape[0]):
        spec = p.smoothers[i]
        for h in range(first, steps + 1):
            v = smoothed(w, spec, p.steps[i], now + h - 1, h)
            out[h - 1, e] = bring(v, logs and spec[ES.log] > 0, low, high)
        e += 1


@njit(cache=True, forceinline=True)
def regress(w: np.ndarray, c: np.ndarray, new: float, p: Plan) -> None:
    """Autoregressions learn from the value that comes after the lags, in units."""
    n = p.n
    W, lags = n[N.past], n[N.lags]
    x, seasonal = w[lags : lags + W], w[n[N.seasonal] : n[N.seasonal] + 4]
    for a in range(p.specs.shape[0]):
        spec = p.specs[a]
        if c[COUNT.now] < spec[AR.start]:
            continue
        size, at, d = spec[AR.size], spec[AR.coefficients], spec[AR.difference]
        z, g, theta = p.room[:size], p.room[size : 2 * size], w[at : at + size]
        C = w[spec[AR.covariance] : spec[AR.covariance] + size * (size + 1) // 2]
        regressors(spec, p.lags[a], x, W, seasonal, 1.0 / w[AT.unit], z)
        spread, error = times(C, z, g), new - dot(theta, z)
        if d > 0:
            error -= x[W - d]
        rate, largest, place = p.rates[a], 0.0, 0
        for i in range(size):
            largest = max(largest, C[place])
            place += size - i
        if largest > WIND_UP:
            rate = 1.0
        S = spread + rate
        step = error / S
        for i in range(size):
            theta[i] += g[i] * step
        absorb(C, g, S, 1.0 / rate, 0.0)


@njit(cache=True, forceinline=True)
def filter_all(w: np.ndarray, c: np.ndarray, y: float, log: float, seen: bool, p: Plan) -> None:
    """All filters take in a value and its logarithm, or only time passes, and move on."""
    n, age, logs = p.n, c[COUNT.now], c[COUNT.logs] > 0
    P, Q = n[N.places], n[N.waves]
    at = p.row_of_age[min(age, p.row_of_age.size - 1)]
    turn_to(p, age, n[N.one])
    row = row_of(p, age, 0)
    cosines, sines, total = row[:Q], row[Q:], 0.0
    past = w[n[N.seasonal] : n[N.seasonal] + 3 + n[N.filters]]
    for i in range(n[N.filters]):
        mean, model = w[n[N.means] + i * P : n[N.means] + (i + 1) * P], p.models[i]
        gaps = w[n[N.gaps] + 2 * i : n[N.gaps] + 2 * i + 2]
        if seen:
            target = log if logs and p.kinds[i] > 0 else y
            error = target - mean[LEVEL] - mean[DEVIATION] - past[3 + i]
            gain, part, level, seasons = p.gains[i, at], 1.0, 0.0, 0.0
            if gaps[0] + gaps[1] > GAP:
                S, total = p.variances[i, at], 0.0
                for q in range(Q):
                    total += p.smooth[q]
                wider = S + gaps[0] * model[MODEL.level] + gaps[1] * model[MODEL.seasons] * total
                part = S / wider
                level = gaps[0] * model[MODEL.level] / wider
                seasons = gaps[1] * model[MODEL.seasons] / wider
                gaps[0] *= (1.0 - part * gain[LEVEL] - level) * (1.0 - gain[LEVEL])
                if Q > 0:
                    gaps[1] *= 1.0 - part * gain[BASE] - seasons
            own, more = part * error, seasons * error
            mean[LEVEL] += gain[LEVEL] * own + level * error
            mean[SLOPE] += gain[SLOPE] * own
            mean[DEVIATION] += gain[DEVIATION] * own
            turn(mean[BASE:], gain[BASE:], own, more, p.smooth, cosines, sines)
        else:
            gaps[0] += 1.0
            gaps[1] += 1.0
        if model[MODEL.slope] >= 0.0:
            mean[LEVEL] += mean[SLOPE]
            mean[SLOPE] *= model[MODEL.damping]
        if model[MODEL.deviation] > 0.0:
            mean[DEVIATION] *= model[MODEL.memory]
    past[0], past[1], past[2] = past[1], past[2], past[3]


@njit(cache=True, forceinline=True)
def turn(
    mean: np.ndarray,
    gain: np.ndarray,
    own: float,
    more: float,
    smooth: np.ndarray,
    cosines: np.ndarray,
    sines: np.ndarray,
) -> None:
    """Add the gain, which is of the frame that turns with the harmonics, to their coefficients."""
    Q = smooth.size
    other, aside = mean[Q:], gain[Q:]
    for q in range(Q):
        along, across = gain[q] * own + smooth[q] * more, aside[q] * own
        mean[q] += along * cosines[q] - across * sines[q]
        other[q] += along * sines[q] + across * cosines[q]

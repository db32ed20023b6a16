"""The experts of a small pool, in rows of lanes.

The formulas are those of `series._structural`, `_autoregression` and `_phases`; what they say of
the next value is worked out without the detour of a path, and what is seasonal in it once a round.
"""

import numpy as np

from stillpoint.core._lanes import exponential, within
from stillpoint.core.jit import njit
from stillpoint.core.lanes import Lanes, block, get, put, some, spread, where
from stillpoint.series._scale import AT
from stillpoint.series._structural import GAP
from stillpoint.series._structural import OF as MODEL
from stillpoint.series.light._plan import AR, BASE, DEVIATION, ES, LEVEL, REGRESSORS, SLOPE, N, Plan
from stillpoint.series.light._plan import OF as COUNT
from stillpoint.series.light._regressions import told
from stillpoint.series.light._smoothers import smoothed
from stillpoint.series.light._turning import row_of, turn_to


@njit(cache=True, forceinline=True)
def limits(w: np.ndarray) -> tuple[Lanes, Lanes]:
    """The range of forecasts: see `_scale.limits`."""
    low, high = get(w, AT.low), get(w, AT.high)
    width = get(w, AT.reach) * (high - low)
    return low - width, high + width


@njit(cache=True)
def bring(v: Lanes, log: bool, logs: Lanes, low: Lanes, high: Lanes) -> Lanes:
    """Forecasts, of a logarithm perhaps, within the range."""
    if log and some(logs):
        v = where(logs, exponential(v), v)
    return within(v, low, high)


@njit(cache=True)
def season(w: np.ndarray, mean: int, time: int, h: int, p: Plan) -> Lanes:
    """The seasonal part of the mean at this place, at a time: see `_turning.row_of`."""
    row = row_of(p, time, h)
    Q, one, two = row.size // 2, spread(0.0), spread(0.0)
    cosines, sines, first = row[:Q], row[Q:], mean + BASE
    for q in range(Q):
        one += get(w, first + q) * cosines[q]
        two += get(w, first + Q + q) * sines[q]
    return one + two


@njit(cache=True)
def say_next(w: np.ndarray, p: Plan, logs: Lanes, out: int) -> None:
    """Put experts' forecasts of the next value at `out`; notes the filters' seasonal parts."""
    n, now, e = p.n, p.c[COUNT.now], out + 1
    W, P, lags = n[N.past], n[N.places], n[N.lags]
    centre, unit = get(w, AT.centre), get(w, AT.unit)
    low, high = limits(w)
    last = centre + unit * get(w, lags + W - 1)
    put(w, out, last)
    for m in p.periods:
        if now >= m:
            put(w, e, centre + unit * get(w, lags + W - m))
        else:
            put(w, e, last)
        e += 1
    turn_to(p, now, n[N.one])
    parts = n[N.seasonal] + 3
    for i in range(n[N.filters]):
        mean = n[N.means] + i * P
        part = season(w, mean, now, n[N.one] - 1, p)
        put(w, parts + i, part)
        v = get(w, mean + LEVEL) + get(w, mean + DEVIATION) + part
        put(w, e, bring(v, p.kinds[i] > 0, logs, low, high))
        e += 1
    per_unit = 1.0 / unit
    small, large = (low - centre) * per_unit, (high - centre) * per_unit
    for a in range(p.specs.shape[0]):
        spec = p.specs[a]
        if now >= spec[AR.start]:
            v = told(w, a, w, lags + W, w, parts, per_unit, p)
            put(w, e, within(centre + unit * within(v, small, large), low, high))
        else:
            put(w, e, last)
        e += 1
    for i in range(p.smoothers.shape[0]):
        v = smoothed(w, p, i, now, n[N.one])
        put(w, e, bring(v, p.smoothers[i, ES.log] > 0, logs, low, high))
        e += 1


@njit(cache=True)
def say_path(w: np.ndarray, p: Plan, logs: Lanes, first: int, steps: int) -> None:
    """Put forecasts of the next values, from `first` up to `steps`, at (h − 1)·experts of paths."""
    n, now, room, out = p.n, p.c[COUNT.now], block(p.room), block(p.paths)
    W, P, H, K, lags = n[N.past], n[N.places], n[N.horizon], n[N.experts], n[N.lags]
    x, ahead = REGRESSORS, REGRESSORS + W + H
    for i in range(W):
        put(room, x + i, get(w, lags + i))
    centre, unit = get(w, AT.centre), get(w, AT.unit)
    low, high = limits(w)
    last = centre + unit * get(w, lags + W - 1)
    turn_to(p, now, steps)
    for h in range(first, steps + 1):
        at = (h - 1) * K
        put(out, at, last)
        for m in p.periods:
            at += 1
            back = (h + m - 1) // m * m
            if h - 1 - back >= -now:
                put(out, at, centre + unit * get(room, x + W + h - 1 - back))
            else:
                put(out, at, last)
    e = 1 + p.periods.size
    for i in range(n[N.filters]):
        mean, model = n[N.means] + i * P, p.models[i]
        slope, power, memory = 0.0, 1.0, 1.0
        for h in range(1, steps + 1):
            if h > 1:
                slope += power
                power *= model[MODEL.damping]
                memory *= model[MODEL.memory]
            if h >= first:
                part = season(w, mean, now + h - 1, h - 1, p)
                v = get(w, mean + LEVEL) + slope * get(w, mean + SLOPE)
                v = v + memory * get(w, mean + DEVIATION) + part
                put(out, (h - 1) * K + e, bring(v, p.kinds[i] > 0, logs, low, high))
        e += 1
    for i in range(3):
        put(room, ahead + i, get(w, n[N.seasonal] + i))
    for h in range(steps if n[N.waves] > 0 else 0):
        put(room, ahead + 3 + h, season(w, n[N.means], now + h, h, p))
    per_unit = 1.0 / unit
    small, large = (low - centre) * per_unit, (high - centre) * per_unit
    for a in range(p.specs.shape[0]):
        spec = p.specs[a]
        begun = now >= spec[AR.start]
        for h in range(1, steps + 1):
            s = x + W + h - 1
            v = get(room, x + W - 1)
            if begun:
                v = told(w, a, room, s, room, ahead + 2 + h, per_unit, p)
                v = within(v, small, large)
            put(room, s, v)
            put(out, (h - 1) * K + e, within(centre + unit * v, low, high) if begun else last)
        e += 1
    for i in range(p.smoothers.shape[0]):
        for h in range(first, steps + 1):
            v = smoothed(w, p, i, now + h - 1, h)
            own = bring(v, p.smoothers[i, ES.log] > 0, logs, low, high)
            put(out, (h - 1) * K + e, own)
        e += 1


@njit(cache=True)
def filter_all(w: np.ndarray, y: Lanes, log: Lanes, seen: Lanes, logs: Lanes, p: Plan) -> None:
    """All filters take in a value and its logarithm, or only time passes, and move on."""
    n, age = p.n, p.c[COUNT.now]
    P, Q, past = n[N.places], n[N.waves], n[N.seasonal]
    age_row = p.row_of_age[min(age, p.row_of_age.size - 1)]
    turn_to(p, age, n[N.one])
    row = row_of(p, age, n[N.one] - 1)
    for i in range(n[N.filters]):
        mean, model, g = n[N.means] + i * P, p.models[i], n[N.gaps] + 2 * i
        level, slope, deviation = (
            get(w, mean + LEVEL),
            get(w, mean + SLOPE),
            get(w, mean + DEVIATION),
        )
        gap, gaps = get(w, g), get(w, g + 1)
        target = where(logs, log, y) if p.kinds[i] > 0 else y
        error = where(seen, target - level - deviation - get(w, past + 3 + i), 0.0)
        gain, own = p.gains[i, age_row], error
        late = seen & (gap + gaps > GAP)
        if some(late):
            S, total = p.variances[i, age_row], 0.0
            for q in range(Q):
                total += p.smooth[q]
            drift, turning = gap * model[MODEL.level], gaps * model[MODEL.seasons]
            wider = S + drift + turning * total
            part, extra = S / wider, drift / wider
            seasons = turning / wider
            less = (1.0 - part * gain[LEVEL] - extra) * (1.0 - gain[LEVEL])
            gap = where(late, gap * less, gap)
            if Q > 0:
                gaps = where(late, gaps * (1.0 - part * gain[BASE] - seasons), gaps)
            own = where(late, part * error, error)
            more = where(late, seasons * error, 0.0)
            level += where(late, extra * error, 0.0)
            for q in range(Q):
                at = mean + BASE + q
                put(w, at, get(w, at) + p.smooth[q] * row[q] * more)
                put(w, at + Q, get(w, at + Q) + p.smooth[q] * row[Q + q] * more)
        level += gain[LEVEL] * own
        slope += gain[SLOPE] * own
        deviation += gain[DEVIATION] * own
        turn(gain[BASE:], row[:Q], row[Q:], p.gain)
        for q in range(2 * Q):
            put(w, mean + BASE + q, get(w, mean + BASE + q) + p.gain[q] * own)
        gone = where(seen, 0.0, 1.0)
        put(w, g, gap + gone)
        put(w, g + 1, gaps + gone)
        if model[MODEL.slope] >= 0.0:
            level += slope
            slope *= model[MODEL.damping]
        if model[MODEL.deviation] > 0.0:
            deviation *= model[MODEL.memory]
        put(w, mean + LEVEL, level)
        put(w, mean + SLOPE, slope)
        put(w, mean + DEVIATION, deviation)
    for i in range(3):
        put(w, past + i, get(w, past + i + 1))


@njit(cache=True)
def turn(gain: np.ndarray, cosines: np.ndarray, sines: np.ndarray, out: np.ndarray) -> None:
    """A gain, which is of the frame that turns with the harmonics, for their coefficients."""
    Q = cosines.size
    aside, other = gain[Q:], out[Q:]
    for q in range(Q):
        out[q] = gain[q] * cosines[q] - aside[q] * sines[q]
        other[q] = gain[q] * sines[q] + aside[q] * cosines[q]

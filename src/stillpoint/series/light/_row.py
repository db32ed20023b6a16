"""Rounds of one series in its row: those of `series._rounds`, and its beginning."""

import math

import numpy as np

from stillpoint.core.arithmetic import assign
from stillpoint.core.jit import njit
from stillpoint.series._knots import AT as KNOT
from stillpoint.series._knots import ISSUE, SETTLING
from stillpoint.series._phases import AT as LEVELS
from stillpoint.series._rounds import FARTHEST, doubted, doubtful
from stillpoint.series._scale import AT, deviation, extend, within
from stillpoint.series.light import _estimates, _experts
from stillpoint.series.light._knot import FIRST, between, combine, judge
from stillpoint.series.light._plan import ES, EXACT, LEVEL, OF, SCALARS, N, Plan
from stillpoint.series.light._smoothers import smooth_all

START, AGAIN = 3, 10  # values before there are experts; rounds after which units are told again


@njit(cache=True)
def waits(slot: int, n: np.ndarray) -> int:
    """Where the forecasts of a slot are."""
    return int(n[N.waiting] + slot * (n[N.experts] + len(ISSUE)))


@njit(cache=True)
def said(w: np.ndarray, n: np.ndarray) -> float:
    """The forecast of the next value, as issued."""
    return float(w[waits(n[N.slots], n) + n[N.experts] + ISSUE.forecast])


@njit(cache=True)
def open_round(w: np.ndarray, c: np.ndarray, p: Plan, live: bool) -> None:
    """Forecast the next value, at origins the knot's, and issue intervals if it is live."""
    n = p.n
    K, now, reach, two, total = n[N.experts], c[OF.now], 1, 0.0, 0.0
    at = waits(n[N.slots], n)
    _experts.say_next(w, c, p, w[at : at + K])
    block = w[n[N.weights] : n[N.weights] + n[N.block]]
    combine(block, K, w[at : at + K], w[at + K : at + K + len(ISSUE)])
    origin = n[N.slots] > 0 and now % n[N.stride] == 0
    if live:
        reach = _estimates.due(c, n)
    if reach == n[N.horizon] and reach > 1:
        _experts.say_path(w, c, p, n[N.one], reach, p.paths)
        for h in range(reach):
            total += between(p.parts[h], w, n, p.paths[h])
    elif origin or reach > 1:
        _experts.say_path(w, c, p, n[N.knot], n[N.knot], p.paths)
    if origin:
        there = waits((now // n[N.stride]) % n[N.slots], n)
        assign(w[there : there + K], p.paths[n[N.knot] - 1])
        block = w[n[N.weights] + n[N.block] : n[N.weights] + 2 * n[N.block]]
        combine(block, K, w[there : there + K], w[there + K : there + K + len(ISSUE)])
    if live:
        if reach > 1 and n[N.slots] > 0:
            two = between(p.parts[n[N.knot] - 1], w, n, p.paths[n[N.knot] - 1])
        _estimates.issue(w[at + K + ISSUE.forecast], two, total, reach, w, c, n, p.aims, p.order)


@njit(cache=True)
def in_units(value: float, w: np.ndarray) -> float:
    """A value as it is kept among the lags."""
    return within((value - w[AT.centre]) / w[AT.unit], -FARTHEST, FARTHEST)


@njit(cache=True)
def take(w: np.ndarray, c: np.ndarray, y: float, p: Plan) -> None:
    """Knots and experts learn from the value of this round, and time moves on."""
    n, seen, kept, forecast = p.n, not math.isnan(y), y, said(w, p.n)
    now, logs = c[OF.now], c[OF.logs] > 0
    scalars = n[N.weights] + FIRST * (n[N.experts] + 2)
    if seen:
        width = w[AT.high] - w[AT.low]
        for k in range(n[N.knots]):
            origin, slot = now, n[N.slots]
            if k > 0:
                origin = now - n[N.knot] + 1
                slot = (origin // n[N.stride]) % n[N.slots]
            # not from the first round: experts were started from its value
            if origin >= 1 and (k == 0 or origin % n[N.stride] == 0):
                judge(w, k, waits(slot, n), y, width, n, p.rule, p.room)
        variance = w[scalars + KNOT.variance]
        if doubtful(y, forecast, w[scalars + KNOT.seen], variance, w):
            y, kept, jumped, before = doubted(y, forecast, variance, w)
            if not math.isnan(before):
                w[n[N.lags] + n[N.past] - 1] = in_units(before, w)
            if jumped:
                for k in range(n[N.knots]):
                    w[scalars + k * n[N.block] + KNOT.settling] = SETTLING
    value, log = y if seen else forecast, 0.0
    if logs:
        value = max(value, 0.1 * w[AT.low])
        log = math.log(value)
    new = in_units(value, w)
    if seen:
        _experts.regress(w, c, new, p)
    _experts.filter_all(w, c, y, log, seen, p)
    smooth_all(w, c, y, log, seen, p)
    if seen and kept != y:
        new = in_units(kept, w)
        value = max(kept, 0.1 * w[AT.low]) if logs else kept
    if seen:  # what stands for a missing value is no evidence: over a long gap it would run away
        w[AT.low], w[AT.high] = min(w[AT.low], value), max(w[AT.high], value)
    extend(w, now, n[N.horizon])
    x = w[n[N.lags] : n[N.lags] + n[N.past]]
    later = x[1:]
    for i in range(later.size):
        x[i] = later[i]
    x[later.size] = new
    c[OF.now] += 1


@njit(cache=True)
def end_logarithms(w: np.ndarray, c: np.ndarray, p: Plan) -> None:
    """What was about logarithms goes on with values: as `light._start.end_logarithms`."""
    n, plain = p.n, 0
    P, means, parts = n[N.places], n[N.means], n[N.seasonal] + 3
    for i in range(n[N.filters]):
        if p.kinds[i] == 0:
            plain = i
    for i in range(n[N.filters]):
        if p.kinds[i] > 0:
            at = means + plain * P
            assign(w[means + i * P : means + (i + 1) * P], w[at : at + P])
            w[parts + i] = w[parts + plain]  # of the open round
    for e in range(p.smoothers.shape[0]):
        at, spec = p.smoothers[e, ES.place], p.smoothers[e]
        if spec[ES.log] > 0:
            size = len(LEVELS) + 2 * (max(spec[ES.first], 1) + max(spec[ES.second], 1))
            w[at : at + size] = 0.0
            last = w[n[N.lags] + n[N.past] - 1]
            w[at + LEVELS.level] = w[AT.centre] + w[AT.unit] * last
    c[OF.logs] = 0


@njit(cache=True)
def begin(values: np.ndarray, w: np.ndarray, c: np.ndarray, p: Plan) -> None:
    """Build the experts from the values so far, NaN where one is missing, and play these."""
    n, logs = p.n, True
    good = values[~np.isnan(values)]
    for value in good:
        logs = logs and value > 0.0
    assign(w[EXACT : n[N.end]], p.template[EXACT:])
    w[:SCALARS] = 0.0
    w[AT.centre], w[AT.unit], w[AT.log_unit] = good[0], deviation(good), 1.0
    w[AT.low] = w[AT.high] = good[0]
    if logs:
        for i in range(good.size):
            good[i] = math.log(good[i])
        w[AT.log_centre], w[AT.log_unit] = good[0], deviation(good)
    w[AT.held], w[AT.reach] = np.nan, 1.0
    c[OF.now], c[OF.logs] = 0, 1 if logs else 0
    for i in range(n[N.filters]):
        log = logs and p.kinds[i] > 0
        w[n[N.means] + i * n[N.places] + LEVEL] = w[AT.log_centre] if log else w[AT.centre]
    for e in range(p.smoothers.shape[0]):
        log = logs and p.smoothers[e, ES.log] > 0
        w[p.smoothers[e, ES.place]] = w[AT.log_centre] if log else w[AT.centre]
    for value in values:
        open_round(w, c, p, n[N.one] < 1)  # not live
        take(w, c, value, p)

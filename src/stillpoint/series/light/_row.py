"""Rounds of series in rows of lanes: those of `series._rounds`, and their beginning."""

import math

import numpy as np

from stillpoint.core._lanes import exponential, logarithm, within
from stillpoint.core.jit import njit
from stillpoint.core.lanes import Lanes, get, least, most, put, root, size, some, spread, where
from stillpoint.series._knots import AT as KNOT
from stillpoint.series._knots import ISSUE, SETTLING
from stillpoint.series._phases import AT as LEVELS
from stillpoint.series._rounds import (
    BACK,
    BELIEVE,
    DOUBT,
    EARLY,
    FARTHEST,
    FORGET,
    JUMP,
    REACH,
    SPIKY,
)
from stillpoint.series._scale import AT, LEAST, STEADY, deviation
from stillpoint.series._scale import FARTHEST as MOST
from stillpoint.series.light import _estimates, _experts, _regressions
from stillpoint.series.light._experts import limits
from stillpoint.series.light._knot import FIRST, between, combine, judge
from stillpoint.series.light._plan import ES, EXACT, LEVEL, OF, SCALARS, N, Plan
from stillpoint.series.light._smoothers import smooth_all

START, AGAIN = 3, 10  # values before there are experts; rounds after which units are told again


@njit(cache=True)
def waits(slot: int, p: Plan) -> int:
    """Where the forecasts of a slot are."""
    n = p.n
    return int(n[N.waiting] + slot * (n[N.experts] + len(ISSUE)))


@njit(cache=True)
def open_round(w: np.ndarray, p: Plan, live: bool) -> None:
    """Forecast the next value, at origins the knot's, and issue intervals if it is live."""
    n, logs = p.n, get(w, p.n[N.flags]) > 0.0
    K, now, reach, two, total = n[N.experts], p.c[OF.now], 1, spread(0.0), spread(0.0)
    at = waits(n[N.slots], p)
    _experts.say_next(w, p, logs, at)
    combine(w, n[N.weights], K, at)
    origin = n[N.slots] > 0 and now % n[N.stride] == 0
    if live:
        reach = _estimates.due(p)
    if reach == n[N.horizon] and reach > 1:
        _experts.say_path(w, p, logs, n[N.one], reach)
        for h in range(reach):
            total += between(h, w, p)
    elif origin or reach > 1:
        _experts.say_path(w, p, logs, n[N.knot], n[N.knot])
    far = (n[N.knot] - 1) * K
    if origin:
        there = waits((now // n[N.stride]) % n[N.slots], p)
        for i in range(K):
            put(w, there + i, get(p.paths, far + i))
        combine(w, n[N.weights] + n[N.block], K, there)
    if live:
        if reach > 1 and n[N.slots] > 0:
            two = between(n[N.knot] - 1, w, p)
        one = get(w, at + K + ISSUE.forecast)
        _estimates.issue(one, two, total, reach, w, p)


@njit(cache=True)
def in_units(value: Lanes, w: np.ndarray) -> Lanes:
    """A value as it is kept among the lags."""
    own = (value - get(w, AT.centre)) / get(w, AT.unit)
    return least(most(own, -FARTHEST), FARTHEST)


@njit(cache=True)
def doubted(
    y: Lanes, forecast: Lanes, sd: Lanes, doubts: Lanes, w: np.ndarray
) -> tuple[Lanes, Lanes, Lanes, Lanes]:
    """What filters take for y, what is kept of it, where it jumped, and where it confirms another.

    As `_rounds.doubted`, in the lanes that doubt; elsewhere values are taken as they are.
    """
    held, expected = get(w, AT.held), get(w, AT.expected)
    stays, returned = get(w, AT.stayed), get(w, AT.returned)
    low, high = limits(w)
    waiting = doubts & (held == held)
    stayed, back = size(y - held), size(y - expected)
    confirmed, went = waiting & (stayed < back), back < BACK * stayed
    jumped = confirmed & (size(held - expected) > JUMP * sd)
    stays = where(waiting, FORGET * stays + where(went, 0.0, 1.0), stays)
    returned = where(waiting, FORGET * returned + where(went, 1.0, 0.0), returned)
    put(w, AT.stayed, stays)
    put(w, AT.returned, returned)
    put(w, AT.low, where(confirmed, least(get(w, AT.low), held), get(w, AT.low)))
    put(w, AT.high, where(confirmed, most(get(w, AT.high), held), get(w, AT.high)))
    less = within(y, forecast - DOUBT * sd, forecast + DOUBT * sd)
    own = where(confirmed | (less == y), math.nan, y)
    put(w, AT.held, where(doubts, own, held))
    put(w, AT.expected, where(doubts & ~confirmed, forecast, expected))
    spiky = returned >= SPIKY * (stays + 1.0)
    taken = where(spiky, less, within(y, forecast - REACH * sd, forecast + REACH * sd))
    kept = where(spiky, less, within(y, low, high))
    whole = confirmed | ~doubts
    return where(whole, y, taken), where(whole, y, kept), jumped, confirmed


@njit(cache=True)
def extend(w: np.ndarray, now: int, H: int) -> None:
    """`_scale.extend`."""
    apart = max(LEAST, (H + 2) // 3)
    if now % apart == 0:
        first, earlier, recent = get(w, AT.earlier), get(w, AT.recent), get(w, AT.high)
        recent = recent - get(w, AT.low)
        put(w, AT.first, first)
        put(w, AT.earlier, earlier)
        put(w, AT.recent, recent)
        growth = least(recent / earlier, earlier / first)
        grows, reach = (first > 0.0) & (growth > STEADY), spread(1.0)
        if some(grows):
            more = exponential(least((H / apart + 1.0) * logarithm(growth), MOST))
            reach = where(grows, more, reach)
        put(w, AT.reach, reach)


@njit(cache=True)
def take(w: np.ndarray, y: Lanes, p: Plan) -> None:
    """Knots and experts learn from the value of this round, and time moves on."""
    n, now, seen, logs = p.n, p.c[OF.now], y == y, get(w, p.n[N.flags]) > 0.0
    scalars = n[N.weights] + FIRST * (n[N.experts] + 2)
    forecast = get(w, waits(n[N.slots], p) + n[N.experts] + ISSUE.forecast)
    end, kept, log = n[N.lags] + n[N.past] - 1, y, spread(0.0)
    if some(seen):
        width = get(w, AT.high) - get(w, AT.low)
        for k in range(n[N.knots]):
            origin, slot = now, n[N.slots]
            if k > 0:
                origin = now - n[N.knot] + 1
                slot = (origin // n[N.stride]) % n[N.slots]
            # not from the first round: experts were started from its value
            if origin >= 1 and (k == 0 or origin % n[N.stride] == 0):
                judge(w, k, waits(slot, p), y, seen, width, p)
        held, sd = get(w, AT.held), root(get(w, scalars + KNOT.variance))
        judged = get(w, scalars + KNOT.seen)
        early = (judged > EARLY) & (size(y - forecast) > JUMP * sd)
        doubts = seen & ((judged > BELIEVE) | early | (held == held))  # as `_rounds.doubtful`
        if some(doubts):
            y, kept, jumped, confirmed = doubted(y, forecast, sd, doubts, w)
            if some(confirmed):
                before, ago = in_units(held, w), get(w, AT.ago)
                for i in range(n[N.past]):
                    there = confirmed & (size(ago - (i + 1)) < 0.5)
                    put(w, end - i, where(there, before, get(w, end - i)))
            if some(jumped):
                for k in range(n[N.knots]):
                    at = scalars + k * n[N.block] + KNOT.settling
                    put(w, at, where(jumped, SETTLING, get(w, at)))
    value, lowest = where(seen, y, forecast), 0.1 * get(w, AT.low)
    if some(logs):
        value = where(logs, most(value, lowest), value)
        log = logarithm(value)
    new = in_units(value, w)
    if some(seen):
        _regressions.regress(w, new, seen, p)
    _experts.filter_all(w, y, log, seen, logs, p)
    smooth_all(w, y, log, seen, logs, p)
    other = seen & (kept != y)
    if some(other):
        own = where(logs, most(kept, lowest), kept)
        new, value = where(other, in_units(kept, w), new), where(other, own, value)
    # what stands for a missing value is no evidence: over a long gap it would run away
    low, high = get(w, AT.low), get(w, AT.high)
    put(w, AT.low, where(seen, least(low, value), low))
    put(w, AT.high, where(seen, most(high, value), high))
    put(w, AT.ago, where(seen, 1.0, get(w, AT.ago) + 1.0))
    extend(w, now, n[N.horizon])
    for i in range(n[N.lags], end):
        put(w, i, get(w, i + 1))
    put(w, end, new)
    p.c[OF.now] += 1


@njit(cache=True)
def end_logarithms(w: np.ndarray, ends: Lanes, p: Plan) -> None:
    """What was about logarithms goes on with values, in the lanes where these end.

    Filters go on with the mean of the last plain one, smoothers anew from the last value.
    """
    n, plain = p.n, 0
    P, means, parts = n[N.places], n[N.means], n[N.seasonal] + 3
    for i in range(n[N.filters]):
        if p.kinds[i] == 0:
            plain = i
    for i in range(n[N.filters]):
        if p.kinds[i] > 0:
            for j in range(P):
                at = means + i * P + j
                put(w, at, where(ends, get(w, means + plain * P + j), get(w, at)))
            put(w, parts + i, where(ends, get(w, parts + plain), get(w, parts + i)))
    for e in range(p.smoothers.shape[0]):
        at, spec = p.smoothers[e, ES.place], p.smoothers[e]
        if spec[ES.log] > 0:
            count = len(LEVELS) + 2 * (max(spec[ES.first], 1) + max(spec[ES.second], 1))
            for j in range(at, at + count):
                put(w, j, where(ends, 0.0, get(w, j)))
            last = get(w, n[N.lags] + n[N.past] - 1)
            own = get(w, AT.centre) + get(w, AT.unit) * last
            put(w, at + LEVELS.level, where(ends, own, get(w, at + LEVELS.level)))
    put(w, n[N.flags], where(ends, 0.0, get(w, n[N.flags])))


@njit(cache=True)
def begin(values: np.ndarray, w: np.ndarray, p: Plan) -> None:
    """Build the experts from the values so far, NaN where one is missing, and play these.

    All lanes are of one series.
    """
    n, logs, count, good = p.n, True, 0, np.empty(values.size)
    for value in values:
        if not math.isnan(value):
            good[count] = value
            count, logs = count + 1, logs and value > 0.0
    good = good[:count]
    for i in range(EXACT, n[N.end]):
        put(w, i, p.template[i])
    for i in range(SCALARS):
        put(w, i, 0.0)
    centre, log_centre = good[0], 0.0
    put(w, AT.unit, deviation(good))
    put(w, AT.log_unit, 1.0)
    for i in (AT.centre, AT.low, AT.high):
        put(w, i, centre)
    if logs:
        for i in range(good.size):
            good[i] = math.log(good[i])
        log_centre = good[0]
        put(w, AT.log_centre, log_centre)
        put(w, AT.log_unit, deviation(good))
    put(w, AT.held, math.nan)
    put(w, AT.reach, 1.0)
    put(w, n[N.flags], 1.0 if logs else 0.0)
    p.c[OF.now] = 0
    for i in range(n[N.filters]):
        own = log_centre if logs and p.kinds[i] > 0 else centre
        put(w, n[N.means] + i * n[N.places] + LEVEL, own)
    for e in range(p.smoothers.shape[0]):
        own = log_centre if logs and p.smoothers[e, ES.log] > 0 else centre
        put(w, p.smoothers[e, ES.place], own)
    for value in values:
        open_round(w, p, n[N.one] < 1)  # not live
        take(w, spread(value), p)

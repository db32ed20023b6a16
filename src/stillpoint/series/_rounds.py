"""Rounds of Forecaster: experts forecast, the knots aggregate, values are judged and taken in.

Values that lie far from what was forecast are not believed at once. From the 51st round judged on
(from the 13th on those beyond 1000 deviations), filters learn from y clipped to the forecast ± 20
error deviations, lags and range see y clipped to one range beyond the range so far; the aggregation
sees y itself. A value beyond 5 deviations is held: if the next lies nearer to it than to what had
been forecast, it is confirmed, put among the lags, and the next is believed as it is. Where such
values have mostly gone back at once, the series has spikes, and filters and lags see them clipped
to 5 deviations: they are not carried forward.
"""

import math

import numpy as np

from stillpoint.core._harmonics import fill
from stillpoint.core.arithmetic import assign
from stillpoint.core.jit import bare, njit
from stillpoint.series import (
    _autoregression,
    _bands,
    _effects,
    _knots,
    _phases,
    _scale,
    _structural,
)
from stillpoint.series._bands import play_last as play_last
from stillpoint.series._knots import ISSUE, Knots
from stillpoint.series._pool import ahead, experts
from stillpoint.series._scale import AT, BY, within
from stillpoint.series._state import State

# rounds judged before values are doubted, and before those beyond JUMP are
BELIEVE, EARLY = 50.0, 12.0
# error deviations: beyond DOUBT values are to be confirmed, filters follow at most REACH
DOUBT, REACH, JUMP = 5.0, 20.0, 1000.0
# a series has spikes if values went BACK SPIKY times as often as not, one more having stayed
SPIKY, FORGET, BACK = 1.5, 0.95, 1.0 / 3.0
FARTHEST = 1e60  # units from the centre that a lag counts as at most: its square is a number
FAR = 10.0  # units from its centre that a feature counts as at most


@njit(cache=True)
def open_round(m: State, live: bool) -> float:
    """Forecast before the value of this round is seen: one step, and all knots at origins.

    Intervals are issued only where it is live, not where history is replayed.
    """
    a, b = m.knots, m.bands
    origin, stops, due = m.clock[BY.now] % m.clock[BY.stride] == 0, m.steps[:1], False
    if origin:
        stops = a.horizons
    if live and _bands.due(b.horizons, b.strides, b.clock, b.totals, b.horizons.size):
        stops, due = m.steps, True
    elif live and _bands.due(b.horizons, b.strides, b.clock, 0, b.totals):
        stops, due = m.stops, True
    forecast = aggregate(m, stops, origin)
    if due:
        around(b.horizons, b.totals, stops, m.room, a, m.work, m.forecasts)
    if live:
        m.forecasts[0] = forecast
        _bands.issue(b, m.forecasts)
    return forecast


@njit(cache=True)
def aggregate(m: State, stops: np.ndarray, origin: bool) -> float:
    """Have the experts forecast these horizons, and knots theirs; returns that of the next value.

    The next value has a slot of its own, others wait in that of their origin.
    """
    a, slots = m.knots, m.clock[BY.slots]
    experts(m, stops, m.room[: stops.size])
    slot, k = slots, 0
    for i in range(stops.size):
        if k < a.horizons.size and stops[i] == a.horizons[k] and (k == 0 or origin):
            assign(a.waiting[slot, k], m.room[i])
            _knots.combine(k, slot, a)
            slot = (m.clock[BY.now] // m.clock[BY.stride]) % slots
            k += 1
    return float(a.issued[slots, 0, ISSUE.forecast])


@njit(cache=True)
def around(
    horizons: np.ndarray,
    totals: int,
    stops: np.ndarray,
    room: np.ndarray,
    a: Knots,
    work: np.ndarray,
    out: np.ndarray,
) -> None:
    """Fill the forecasts that intervals are put around, as far as experts were asked."""
    total, point = 0.0, 0
    for i in range(stops.size):
        h = stops[i]
        f = _knots.between(h, room[i], a, work[2], work[3])
        total += f
        if point < totals and horizons[point] == h:
            out[point] = f
            point += 1
        for k in range(totals, horizons.size):
            if horizons[k] == h:
                out[k] = total


@njit(cache=True)
def judge(y: float, width: float, clock: np.ndarray, a: Knots, work: np.ndarray) -> None:
    """The knots learn from a value, each from what was said of it; width: the range of values."""
    now, stride, slots = clock[BY.now], clock[BY.stride], clock[BY.slots]
    for k in range(a.horizons.size):
        origin, slot = now - a.horizons[k] + 1, slots
        if k > 0:
            slot = (origin // stride) % slots
        # not from the first round: experts were started from its value
        if origin >= 1 and (k == 0 or origin % stride == 0):
            _knots.judge(k, slot, y, width, a, work[0], work[1])


@njit(cache=True)
def put(lags: np.ndarray, s: np.ndarray, place: int, value: float) -> None:
    """Put a value among the lags."""
    lags[0, place] = within((value - s[AT.centre]) / s[AT.unit], -FARTHEST, FARTHEST)
    if lags.shape[0] > 1:
        value = max(value, 0.1 * s[AT.low])
        lags[1, place] = (math.log(value) - s[AT.log_centre]) / s[AT.log_unit]


@njit(cache=True)
def doubtful(y: float, forecast: float, judged: float, variance: float, s: np.ndarray) -> bool:
    """Whether a value may be doubted after so many rounds judged, or may confirm the one before."""
    early = judged > EARLY and abs(y - forecast) > JUMP * math.sqrt(variance)
    return judged > BELIEVE or early or not math.isnan(s[AT.held])


@njit(cache=True)
def doubted(
    y: float, forecast: float, variance: float, s: np.ndarray
) -> tuple[float, float, bool, float]:
    """What the filters take for y, what is kept of it among the lags, and whether it has jumped.

    Last comes the value before, if this one confirms it: it belongs among the lags as it was.
    """
    sd, held, confirmed, jumped = math.sqrt(variance), s[AT.held], False, False
    if not math.isnan(held):
        stayed, back = abs(y - held), abs(y - s[AT.expected])
        confirmed = stayed < back
        s[AT.stayed] = FORGET * s[AT.stayed] + (0.0 if back < BACK * stayed else 1.0)
        s[AT.returned] = FORGET * s[AT.returned] + (1.0 if back < BACK * stayed else 0.0)
        jumped = confirmed and abs(held - s[AT.expected]) > JUMP * sd
    if confirmed:
        s[AT.low], s[AT.high] = min(s[AT.low], held), max(s[AT.high], held)
        s[AT.held] = np.nan
        return y, y, jumped, held
    less = within(y, forecast - DOUBT * sd, forecast + DOUBT * sd)
    s[AT.held], s[AT.expected] = y if less != y else np.nan, forecast
    if s[AT.returned] >= SPIKY * (s[AT.stayed] + 1.0):
        return less, less, False, np.nan
    low, high = _scale.limits(s)
    taken = within(y, forecast - REACH * sd, forecast + REACH * sd)
    return taken, within(y, low, high), False, np.nan


@njit(cache=True)
def close_round(m: State, y: float, live: bool) -> None:
    """Take in the value of this round, NaN if it is missing, and move on."""
    if live:
        _bands.settle(m.bands, y)
    take(m, y)


@njit(cache=True)
def take(m: State, y: float) -> None:
    """Knots and experts learn from the value of this round, and time moves on."""
    s, clock, seen = m.scalars, m.clock, not math.isnan(y)
    now, place, kept = clock[BY.now], clock[BY.place], y
    forecast = m.knots.issued[clock[BY.slots], 0, ISSUE.forecast]
    if seen:
        judge(y, s[AT.high] - s[AT.low], clock, m.knots, m.work)
        judged = m.knots.scalars[0, _knots.AT.seen]
        variance = m.knots.scalars[0, _knots.AT.variance]
        if doubtful(y, forecast, judged, variance, s):
            y, kept, jumped, before = doubted(y, forecast, variance, s)
            then = place - int(min(s[AT.ago], place + 1.0))
            if not math.isnan(before) and then >= 0:
                put(m.lags, s, then, before)
            if jumped:
                m.knots.scalars[:, _knots.AT.settling] = _knots.SETTLING
    value, log = y if seen else forecast, 0.0
    if clock[BY.logs] > 0:
        value = max(value, 0.1 * s[AT.low])
        log = math.log(value)
    row, r, f = m.rows[now % m.rows.shape[0]], m.regressions, m.filters
    put(m.lags, s, place, value)
    if seen:
        ahead(r.specs, f.seasonal, f.means[0], m.rows, now, s[AT.unit], m.seasonal[:4])
        for a in range(r.specs.shape[0]):
            if now >= r.specs[a, _autoregression.OF.start]:
                x = m.lags[r.specs[a, _autoregression.OF.log]]
                _autoregression.learn(
                    a, r, x, place, row, m.seasonal, m.features[0], m.work[0], m.work[1]
                )
    _structural.close_round(y, log, seen, now, row, f)
    _phases.close_round(y, log, seen, now, now, m.phases)
    if m.effects.logs.size > 0:
        features, e = m.features[0], m.effects
        _effects.close_round(y, log, seen, row, features, e, m.work[0], m.work[1])
    if seen and kept != y:
        put(m.lags, s, place, kept)
        value = max(kept, 0.1 * s[AT.low]) if clock[BY.logs] > 0 else kept
    if seen:  # what stands for a missing value is no evidence: over a long gap it would run away
        s[AT.low], s[AT.high] = min(s[AT.low], value), max(s[AT.high], value)
    s[AT.ago] = 1.0 if seen else s[AT.ago] + 1.0
    _scale.extend(s, now, m.steps.size)
    advance(clock, m.lags, m.steps.size)
    if m.rolls:
        time = clock[BY.now] + m.steps.size
        fill(f.frequencies, time, m.rows[time % m.rows.shape[0]])


@njit(cache=True)
def advance(clock: np.ndarray, lags: np.ndarray, H: int) -> None:
    """Move to the next time; where the lags have no room left, they are moved to the front."""
    clock[BY.now] += 1
    clock[BY.place] += 1
    width = lags.shape[1]
    if clock[BY.place] + H >= width:
        keep = (width - H) // 2
        for i in range(lags.shape[0]):
            for j in range(keep):
                lags[i, j] = lags[i, clock[BY.place] - keep + j]
        clock[BY.place] = keep


@njit(cache=True)
def know(
    X: np.ndarray, rows: int, ahead: np.ndarray, scale: np.ndarray, features: np.ndarray
) -> None:
    """Take in what is known of the coming rounds, one row each; NaN: not known.

    What is not known counts as usual: 0, in units. Beyond the first round that is all but `ahead`.
    """
    for h in range(features.shape[0]):
        for i in range(features.shape[1]):
            z = 0.0
            if h < rows and (h == 0 or ahead[i]) and not math.isnan(X[h, i]):
                z = (X[h, i] - scale[0, i]) / scale[1, i]
            features[h, i] = within(z, -FAR, FAR)


@njit(cache=True)
def play(
    m: State,
    y: np.ndarray,
    X: np.ndarray,
    rows: np.ndarray,
    ahead: np.ndarray,
    live: bool,
    opens: bool,
    closes: bool,
    out: np.ndarray,
    offsets: np.ndarray,
    seasonal: np.ndarray,
) -> None:
    """Open rounds, close them, or both: row t of out has the forecasts of y[t], y[t + 1], …

    Of round t, rows[t] rows of X were known, from X[t] on, those beyond the first in the columns
    that `ahead` marks. offsets (T, bands, 2, coverages), where it has rows, takes those of the
    intervals' ends, and seasonal (T,), where rounds are closed, the seasonal part of the first
    filter. All that Python calls is this, so that a state is taken over in one place.
    """
    m = bare(m)
    for t in range(y.size):
        if opens:
            if X.shape[1] > 0:
                know(X[t:], rows[t], ahead, m.feature_scale, m.features)
            open_round(m, live)
        if out.shape[1] > 1:
            experts(m, m.steps[: out.shape[1]], m.room[: out.shape[1]])
            for h in range(out.shape[1]):
                out[t, h] = _knots.between(h + 1, m.room[h], m.knots, m.work[2], m.work[3])
        out[t, 0] = m.knots.issued[m.clock[BY.slots], 0, ISSUE.forecast]
        if offsets.shape[0] > 0:
            for k in range(offsets.shape[1]):
                for end in range(2):
                    assign(offsets[t, k, end], m.bands.offsets[k, end])
        if closes:
            close_round(m, y[t], live)
            seasonal[t] = m.filters.seasonal[2]

"""Rounds of Forecaster: experts forecast, the knots aggregate, values are judged and taken in.

Values that lie far from what was forecast are not believed at once. From the 51st round judged on,
filters learn from y clipped to the forecast ± 20 error deviations (`taken`), lags and range see y
clipped to one range beyond the range so far (`kept`); the aggregation sees y itself. If the next
value lies nearer to y than to what was taken, y is confirmed: it is put among the lags, and values
are believed again.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.arithmetic import assign
from stillpoint.core.jit import bare, njit
from stillpoint.series import (
    _autoregression,
    _bands,
    _harmonics,
    _knots,
    _phases,
    _scale,
    _structural,
)
from stillpoint.series._autoregression import Regressions
from stillpoint.series._bands import Bands
from stillpoint.series._knots import ISSUE, Knots
from stillpoint.series._phases import Phases
from stillpoint.series._scale import AT, BY, exponential, within
from stillpoint.series._structural import Filters

BELIEVE, REACH = 50.0, 20.0  # rounds judged before values are doubted; error deviations
FAR = 10.0  # units from its centre that a feature counts as at most


class State(NamedTuple):
    """All of one series."""

    scalars: np.ndarray  # see _scale.Scalars
    clock: np.ndarray  # ints, see _scale.Clock
    lags: np.ndarray  # (1 or 2, width): values, and logarithms, in units; places ahead are free
    periods: np.ndarray  # the seasons
    rows: np.ndarray  # harmonics, by time modulo length
    rolls: bool  # whether rows are a ring, to be filled as time goes on
    seasonal: (
        np.ndarray
    )  # (H + 3,): seasonal parts of the first filter, in units: 3 past, then ahead
    features: np.ndarray  # (H, features): standardised, from the coming round on; 0: not known
    feature_scale: np.ndarray  # (2, features): centres and units
    filters: Filters
    regressions: Regressions
    phases: Phases
    knots: Knots
    bands: Bands
    steps: np.ndarray  # (H,) ints: 1, 2, …
    stops: np.ndarray  # ints: horizons of the knots and of the intervals
    forecasts: np.ndarray  # (bands,): of the coming round
    room: np.ndarray  # (H, K): forecasts of experts
    work: np.ndarray  # (4, most): room to work in


@njit(cache=True)
def experts(m: State, knots: np.ndarray, out: np.ndarray) -> None:
    """out[i, expert] = forecasts of all experts for time now + knots[i] − 1."""
    s, now, place = m.scalars, m.clock[BY.now], m.clock[BY.place]
    low, high = _scale.limits(s)
    x, e, H = m.lags[0], 0, knots[-1]
    last = s[AT.centre] + s[AT.unit] * x[place - 1]
    for i in range(knots.size):
        out[i, e] = last
    e += 1
    for q in range(m.periods.size):
        period = round(m.periods[q])
        for i in range(knots.size):
            back = (knots[i] + period - 1) // period * period
            at = place + knots[i] - 1 - back
            # before the series began there is nothing to repeat
            known = knots[i] - 1 - back >= -now
            out[i, e] = s[AT.centre] + s[AT.unit] * x[at] if known else last
        e += 1
    f, column = m.filters, m.work[2]
    for i in range(f.kinds.shape[0]):
        model = f.models[f.kinds[i, _structural.IS.model]]
        _structural.forecast(f.means[i], model, m.rows, now, knots, column)
        log = f.kinds[i, _structural.IS.log] > 0
        for k in range(knots.size):
            v = exponential(column[k]) if log else column[k]
            out[k, e] = within(v, low, high)
        e += 1
    r = m.regressions
    ahead(m, H)
    for a in range(r.specs.shape[0]):
        if now < r.specs[a, _autoregression.OF.start]:
            for k in range(knots.size):
                out[k, e] = last
        else:
            x = m.lags[r.specs[a, _autoregression.OF.log]]
            _autoregression.forecast(
                a, r, x, s, now, place, m.rows, m.seasonal, m.features, knots, m.work[0], column
            )
            for k in range(knots.size):
                out[k, e] = column[k]
        e += 1
    p = m.phases
    for i in range(p.specs.shape[0]):
        _phases.forecast(i, p, now, knots, column)
        log = p.specs[i, _phases.OF.log] > 0.0
        for k in range(knots.size):
            v = exponential(column[k]) if log else column[k]
            out[k, e] = within(v, low, high)
        e += 1


@njit(cache=True)
def ahead(m: State, H: int) -> None:
    """Fill the seasonal parts of the first filter for H rounds ahead, where a regression asks."""
    r, f, now, unit = m.regressions, m.filters, m.clock[BY.now], m.scalars[AT.unit]
    asked = 0
    for a in range(r.specs.shape[0]):
        asked += r.specs[a, _autoregression.OF.seasonal]
    if asked > 0:
        for i in range(3):
            m.seasonal[i] = f.seasonal[i] / unit
        for h in range(H):
            row = m.rows[(now + h) % m.rows.shape[0]]
            m.seasonal[3 + h] = _structural.season(f.means[0], row) / unit


@njit(cache=True)
def open_round(m: State, live: bool) -> float:
    """Forecast before the value of this round is seen: one step, and all knots at origins.

    Intervals are issued only where it is live, not where history is replayed.
    """
    now, slots, a, b = m.clock[BY.now], m.clock[BY.slots], m.knots, m.bands
    origin = now % m.clock[BY.stride] == 0
    whole = live and _bands.due(b, b.totals, b.horizons.size)
    if whole:
        stops = m.steps
    elif origin or (live and _bands.due(b, 0, b.totals)):
        stops = m.stops
    else:
        stops = m.steps[:1]
    experts(m, stops, m.room)
    slot, k = slots, 0
    if origin:
        slot = (now // m.clock[BY.stride]) % slots
        for i in range(stops.size):
            if k < a.horizons.size and stops[i] == a.horizons[k]:
                assign(a.waiting[slot, k], m.room[i])
                if k > 0:
                    _knots.combine(k, slot, a)
                k += 1
    assign(a.waiting[slots, 0], m.room[0])
    _knots.combine(0, slots, a)
    if live:
        around(m, stops)
        _bands.issue(b, m.forecasts)
    return float(a.issued[slots, 0, ISSUE.forecast])


@njit(cache=True)
def around(m: State, stops: np.ndarray) -> None:
    """Fill the forecasts that intervals are put around, as far as experts were asked."""
    b, total, point = m.bands, 0.0, 0
    for i in range(stops.size):
        h = stops[i]
        f = _knots.between(h, m.room[i], m.knots, m.work[2], m.work[3])
        total += f
        if point < b.totals and b.horizons[point] == h:
            m.forecasts[point] = f
            point += 1
        for k in range(b.totals, b.horizons.size):
            if b.horizons[k] == h:
                m.forecasts[k] = total


@njit(cache=True)
def judge(m: State, y: float) -> None:
    """The knots learn from a value, each from what was said of it.

    Not from the first: experts were started from it.
    """
    now, stride, slots = m.clock[BY.now], m.clock[BY.stride], m.clock[BY.slots]
    a, width = m.knots, m.scalars[AT.high] - m.scalars[AT.low]
    _knots.judge(0, slots, y, width, a, m.work[0], m.work[1])
    for k in range(1, a.horizons.size):
        origin = now - a.horizons[k] + 1
        if origin >= 1 and origin % stride == 0:
            _knots.judge(k, (origin // stride) % slots, y, width, a, m.work[0], m.work[1])


@njit(cache=True)
def put(m: State, place: int, value: float) -> None:
    """Put a value among the lags."""
    s = m.scalars
    m.lags[0, place] = (value - s[AT.centre]) / s[AT.unit]
    if m.clock[BY.logs] > 0:
        value = max(value, 0.1 * s[AT.low])
        m.lags[1, place] = (math.log(value) - s[AT.log_centre]) / s[AT.log_unit]


@njit(cache=True)
def doubted(m: State, y: float) -> tuple[float, float]:
    """What the filters take for y, and what is kept of it among the lags."""
    s, a = m.scalars, m.knots
    f = a.issued[m.clock[BY.slots], 0, ISSUE.forecast]
    reach = REACH * math.sqrt(a.scalars[0, _knots.AT.variance])
    low, high = _scale.limits(s)
    taken, kept, held = within(y, f - reach, f + reach), within(y, low, high), s[AT.held]
    if not math.isnan(held) and abs(y - held) < abs(y - s[AT.taken]):
        put(m, m.clock[BY.place] - 1, held)
        s[AT.low], s[AT.high] = min(s[AT.low], held), max(s[AT.high], held)
        taken, kept = y, y
    s[AT.held], s[AT.taken] = y if taken != y else np.nan, taken
    return taken, kept


@njit(cache=True)
def close_round(m: State, y: float, live: bool) -> None:
    """Take in the value of this round, NaN if it is missing, and move on."""
    if live:
        _bands.settle(m.bands, y)
    s, clock, seen = m.scalars, m.clock, not math.isnan(y)
    now, kept = clock[BY.now], y
    if seen and now > 0:
        judge(m, y)
    if seen and m.knots.scalars[0, _knots.AT.seen] > BELIEVE:
        y, kept = doubted(m, y)
    value = y if seen else m.knots.issued[clock[BY.slots], 0, ISSUE.forecast]
    log = 0.0
    if clock[BY.logs] > 0:
        value = max(value, 0.1 * s[AT.low])
        log = math.log(value)
    row, place = m.rows[now % m.rows.shape[0]], clock[BY.place]
    put(m, place, value)
    if seen:
        r = m.regressions
        ahead(m, 1)
        for a in range(r.specs.shape[0]):
            if now >= r.specs[a, _autoregression.OF.start]:
                x = m.lags[r.specs[a, _autoregression.OF.log]]
                _autoregression.learn(
                    a, r, x, place, row, m.seasonal, m.features[0], m.work[0], m.work[1]
                )
    _structural.close_round(y, log, seen, now, row, m.filters)
    _phases.close_round(y, log, seen, now, now, m.phases)
    if seen and kept != y:
        put(m, place, kept)
        value = max(kept, 0.1 * s[AT.low]) if clock[BY.logs] > 0 else kept
    s[AT.low], s[AT.high] = min(s[AT.low], value), max(s[AT.high], value)
    advance(m)


@njit(cache=True)
def advance(m: State) -> None:
    """Move to the next time; where the lags have no room left, they are moved to the front."""
    clock, H = m.clock, m.knots.lower.size
    clock[BY.now] += 1
    clock[BY.place] += 1
    if m.rolls:
        time, length = clock[BY.now] + H, m.rows.shape[0]
        _harmonics.fill(m.filters.frequencies, time, m.rows[time % length])
    width = m.lags.shape[1]
    if clock[BY.place] + H >= width:
        keep = (width - H) // 2
        for i in range(m.lags.shape[0]):
            x = m.lags[i]
            for j in range(keep):
                x[j] = x[clock[BY.place] - keep + j]
        clock[BY.place] = keep


@njit(cache=True)
def path(m: State, out: np.ndarray) -> None:
    """Fill out with forecasts of the next values, as many as it has places."""
    experts(m, m.steps[: out.size], m.room)
    for h in range(out.size):
        out[h] = _knots.between(h + 1, m.room[h], m.knots, m.work[2], m.work[3])


@njit(cache=True)
def know(m: State, X: np.ndarray, rows: int) -> None:
    """Take in what is known of the coming rounds, one row each; NaN: not known.

    What is not known counts as usual: 0, in units.
    """
    for h in range(m.features.shape[0]):
        for i in range(m.features.shape[1]):
            z = 0.0
            if h < rows and not math.isnan(X[h, i]):
                z = (X[h, i] - m.feature_scale[0, i]) / m.feature_scale[1, i]
            m.features[h, i] = within(z, -FAR, FAR)


@njit(cache=True)
def track(
    m: State,
    y: np.ndarray,
    X: np.ndarray,
    rows: np.ndarray,
    live: bool,
    out: np.ndarray,
    radii: np.ndarray,
) -> None:
    """Rounds in bulk: row t of out has the forecasts of y[t], y[t + 1], …

    Of round t, rows[t] rows of X were known, from X[t] on. radii (T, bands, coverages), where it
    has rows, takes those of the intervals.
    """
    m = bare(m)
    for t in range(y.size):
        if X.shape[1] > 0:
            know(m, X[t:], rows[t])
        forecast = open_round(m, live)
        if out.shape[1] > 1:
            path(m, out[t])
        out[t, 0] = forecast
        if radii.shape[0] > 0:
            for k in range(radii.shape[1]):
                assign(radii[t, k], m.bands.radii[k])
        close_round(m, y[t], live)


# single rounds, called from Python


@njit(cache=True)
def open_one(m: State) -> float:
    """`open_round`."""
    return open_round(bare(m), True)


@njit(cache=True)
def close_one(m: State, y: float) -> None:
    """`close_round`."""
    close_round(bare(m), y, True)

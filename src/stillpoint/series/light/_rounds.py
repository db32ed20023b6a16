"""Rounds of small pools: those of `series._rounds`, with intervals of few estimates."""

import numpy as np

from stillpoint.core.arithmetic import assign
from stillpoint.core.jit import bare, njit
from stillpoint.series import _knots
from stillpoint.series._pool import experts
from stillpoint.series._rounds import aggregate, know, take
from stillpoint.series._scale import BY
from stillpoint.series._state import State
from stillpoint.series.light import _bands
from stillpoint.series.light._bands import play_last as play_last
from stillpoint.series.light._bands import settle


@njit(cache=True)
def open_round(m: State, live: bool) -> float:
    """Forecast the next value, at origins the second knot, and issue intervals if it is live."""
    b, stops, rows = m.bands, m.steps[:1], 0
    origin = m.clock[BY.now] % m.clock[BY.stride] == 0
    if live:
        rows = _bands.due(b)
    if rows > 0 and rows == b.totals:
        stops = m.steps
    elif rows > 0:
        stops = m.stops
    elif origin:
        stops = m.knots.horizons
    forecast = aggregate(m, stops, origin)
    if live:
        m.forecasts[0] = forecast
        if rows > 0:
            around(m, stops, rows)
        _bands.issue(b, m.forecasts)
    return forecast


@njit(cache=True)
def around(m: State, stops: np.ndarray, rows: int) -> None:
    """Fill in the forecasts that intervals beyond the next value are around."""
    total, k, b = 0.0, 1, m.bands
    for i in range(stops.size):
        f = _knots.between(stops[i], m.room[i], m.knots, m.work[2], m.work[3])
        total += f
        if k < b.totals and stops[i] == b.horizons[k]:
            m.forecasts[k] = f
            k += 1
    if rows == b.totals:
        m.forecasts[rows] = total


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
    """As `series._rounds.play`."""
    m = bare(m)
    for t in range(y.size):
        if opens:
            if X.shape[1] > 0:
                know(X[t:], rows[t], ahead, m.feature_scale, m.features)
            open_round(m, live)
        say(m, out[t])
        if offsets.shape[0] > 0:
            for k in range(offsets.shape[1]):
                for end in range(2):
                    assign(offsets[t, k, end], m.bands.offsets[k, end])
        if closes:
            if live:
                settle(m.bands, y[t])
            take(m, y[t])
            seasonal[t] = m.filters.seasonal[2]


@njit(cache=True)
def say(m: State, out: np.ndarray) -> None:
    """Fill in the forecasts of the open round, as many as there is room for."""
    if out.size > 1:
        experts(m, m.steps[: out.size], m.room[: out.size])
        for h in range(out.size):
            out[h] = _knots.between(h + 1, m.room[h], m.knots, m.work[2], m.work[3])
    out[0] = m.knots.issued[m.clock[BY.slots], 0, _knots.ISSUE.forecast]

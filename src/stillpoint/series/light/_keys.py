"""Many series with a small pool: one compiled loop over keys, each of which is a row.

A row is read into room to work in, played, and written back. Young keys, up to the rounds after
which units are told for good, have their values kept beside (the nursery), from which their experts
are built anew. In rows of float32, numbers near the values themselves, or near their logarithms,
count from the first one: a deviation is kept to seven digits whatever the level.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.arithmetic import assign
from stillpoint.core.jit import bare, njit
from stillpoint.series._knots import ROW
from stillpoint.series._scale import AT
from stillpoint.series._typos import believed, upset
from stillpoint.series.light import _estimates, _experts
from stillpoint.series.light._knot import FIRST, between
from stillpoint.series.light._plan import ES, EXACT, OF, SUM, N, Plan
from stillpoint.series.light._row import (
    AGAIN,
    START,
    begin,
    end_logarithms,
    open_round,
    said,
    take,
    waits,
)


class Keys(NamedTuple):
    """The series of many keys, along the first axis."""

    rows: np.ndarray  # (keys, numbers), of float64 or float32
    exact: np.ndarray  # (keys, EXACT): units, ranges and totals, always of float64
    counts: np.ndarray  # (keys, 8) ints, see `_plan.Counts`
    nests: np.ndarray  # (places, gathered): values of young keys


class Kit(NamedTuple):
    """What all keys share, and room for one of them."""

    plan: Plan
    row: np.ndarray  # room for a row
    shifted: bool  # whether rows count from the first value


@njit(cache=True)
def shift(w: np.ndarray, c: np.ndarray, p: Plan, sign: float) -> None:
    """Count levels and forecasts from the first value, or its logarithm; sign 1.0: no longer."""
    n, raw, log, logs = p.n, sign * w[SUM.first], sign * w[AT.log_centre], c[OF.logs] > 0
    for i in range(n[N.filters]):
        w[n[N.means] + i * n[N.places]] += log if logs and p.kinds[i] > 0 else raw
    for e in range(p.smoothers.shape[0]):
        w[p.smoothers[e, ES.place]] += log if logs and p.smoothers[e, ES.log] > 0 else raw
    for i in range(waits(0, n), waits(n[N.slots] + 1, n)):
        w[i] += raw
    for slot in range(n[N.slots] + 1):
        w[n[N.said] + slot * (2 * n[N.estimates] + 1)] += raw


@njit(cache=True)
def balance(w: np.ndarray, n: np.ndarray) -> None:
    """Have weights sum to 1 again: times a level far from 0, what float32 lost would be much."""
    K = n[N.experts]
    for k in range(n[N.knots]):
        block = n[N.weights] + k * n[N.block]
        for row in (ROW.poly, ROW.blend):
            even(w[block + row * K : block + (row + 1) * K])
            even(w[block + FIRST * K + 2 * row : block + FIRST * K + 2 * row + 2])


@njit(cache=True)
def even(weights: np.ndarray) -> None:
    """Make weights sum to 1, if they are any."""
    total = 0.0
    for weight in weights:
        total += weight
    if total > 0.0:
        for i in range(weights.size):
            weights[i] /= total


@njit(cache=True, forceinline=True)
def load(w: np.ndarray, k: int, keys: Keys, kit: Kit) -> None:
    """Read a key into room to work in."""
    row = keys.rows[k]
    assign(w[:EXACT], keys.exact[k])
    for i in range(row.size):
        w[EXACT + i] = row[i]
    if kit.shifted:
        shift(w, keys.counts[k], kit.plan, 1.0)
        balance(w, kit.plan.n)


@njit(cache=True, forceinline=True)
def store(w: np.ndarray, k: int, keys: Keys, kit: Kit) -> None:
    """The inverse of `load`."""
    if kit.shifted:
        shift(w, keys.counts[k], kit.plan, -1.0)
    row = keys.rows[k]
    assign(keys.exact[k], w[:EXACT])
    for i in range(row.size):
        row[i] = w[EXACT + i]


@njit(cache=True, forceinline=True)
def open_key(w: np.ndarray, c: np.ndarray, p: Plan) -> float:
    """Open the coming round of a key, unless it is, and forecast its value."""
    n, last = p.n, w[SUM.last]
    opened, c[OF.open] = c[OF.open] > 0, 1
    if c[OF.now] >= 0:
        if not opened:
            open_round(w, c, p, n[N.one] > 0)  # live
        return said(w, n)
    if c[OF.rounds] > 0 and not opened:
        total = last * n[N.horizon]
        _estimates.issue(last, last, total, _estimates.due(c, n), w, c, n, p.aims, p.order)
    return float(last)


@njit(cache=True, forceinline=True)
def close_key(w: np.ndarray, c: np.ndarray, y: float, nests: np.ndarray, p: Plan) -> None:
    """Take in the value of the open round, NaN if it is missing."""
    c[OF.open] = 0
    seen = not math.isnan(y)
    if c[OF.rounds] == 0 and not seen:
        c[OF.before] += 1
        return
    if c[OF.now] >= 0 and y <= 0.0 and c[OF.logs] > 0:
        if c[OF.nest] < 0:
            end_logarithms(w, c, p)
        else:
            c[OF.now], c[OF.logs] = -1, 0
    if c[OF.rounds] > 0:
        _estimates.settle(y, w, c, p.n, p.aims)
    else:
        w[SUM.first] = y
    if c[OF.now] >= 0:
        take(w, c, y, p)
    if seen:
        w[SUM.last] = y
    c[OF.rounds] += 1
    if c[OF.nest] >= 0:
        bring_up(w, c, y, nests[c[OF.nest]], p)
        if c[OF.now] >= 0 and c[OF.rounds] >= nests.shape[1]:
            c[OF.nest] = -2 - c[OF.nest]  # its place is free


@njit(cache=True)
def bring_up(w: np.ndarray, c: np.ndarray, y: float, nest: np.ndarray, p: Plan) -> None:
    """Add a value to those of a young key, and build its experts anew where that is due."""
    size = min(c[OF.rounds] - 1, nest.size)
    if size == nest.size:
        for i in range(size - 1):
            nest[i] = nest[i + 1]
        size -= 1
    nest[size] = y
    due = c[OF.now] < 0 or c[OF.rounds] == AGAIN or c[OF.rounds] == nest.size
    doubts = upset(nest[: size + 1], size) > 0
    if not (due or doubts):
        return
    values, count, low, high = believed(nest[: size + 1]), 0, math.inf, -math.inf
    last = w[SUM.last]
    for value in values:
        if not math.isnan(value):
            count, low, high, last = count + 1, min(low, value), max(high, value), value
    if count >= START and low < high:
        first = 0
        while math.isnan(values[first]):
            first += 1
        if doubts:
            w[SUM.first] = values[first]
            _estimates.forget(last, w, p.n)
        begin(values[first:], w, c, p)


@njit(cache=True)
def repeated(w: np.ndarray, c: np.ndarray, p: Plan, out: np.ndarray) -> None:
    """The last value and that of a season ago, NaN where there is none."""
    out[0], out[1] = np.nan, np.nan
    if c[OF.rounds] > 0:
        out[0] = w[SUM.last]
    if p.periods.size > 0 and c[OF.now] >= p.periods[0]:
        out[1] = w[waits(p.n[N.slots], p.n) + 1]


@njit(cache=True)
def path(w: np.ndarray, c: np.ndarray, p: Plan, out: np.ndarray) -> None:
    """Forecasts of the open round, as many as there is room for."""
    _experts.say_path(w, c, p, p.n[N.one], out.size, p.paths)
    for h in range(1, out.size):
        out[h] = between(p.parts[h], w, p.n, p.paths[h])


@njit(cache=True, nogil=True)
def play(
    slots: np.ndarray,
    y: np.ndarray,
    keys: Keys,
    kit: Kit,
    opens: bool,
    closes: bool,
    out: np.ndarray,
    offsets: np.ndarray,
    naive: np.ndarray,
    seasonal: np.ndarray,
) -> None:
    """Open rounds of keys, close them, or both, a round for each column of y (keys, T).

    y is NaN where a value is missing; a round that is to be closed is opened first unless it is
    open. Where there is room, out (keys, T, horizon) takes the forecasts, offsets (keys, T,
    horizons, 2, coverages) the ends of intervals less these, naive (keys, T, 2) the last value and
    that of a season ago, seasonal (keys, T) the seasonal part of the first filter. All that Python
    calls is this, so that it is compiled once.
    """
    keys, kit = bare(keys), bare(kit)
    w, p = kit.row, kit.plan
    for i in range(slots.size):
        k = slots[i]
        load(w, k, keys, kit)
        c = keys.counts[k]
        for t in range(y.shape[1]):
            forecast = open_key(w, c, p)
            if opens:
                for h in range(out.shape[2]):
                    out[i, t, h] = w[SUM.last]
                if out.shape[2] > 1 and c[OF.now] >= 0:
                    path(w, c, p, out[i, t])
                out[i, t, 0] = forecast
            if offsets.shape[1] > 0:
                at = p.n[N.offsets]
                for j in range(offsets.shape[2]):
                    for end in range(2):
                        for one in range(offsets.shape[4]):
                            offsets[i, t, j, end, one] = w[at]
                            at += 1
            if naive.shape[1] > 0:
                repeated(w, c, p, naive[i, t])
            if closes:
                close_key(w, c, y[i, t], keys.nests, p)
                if seasonal.shape[1] > 0:
                    seasonal[i, t] = w[p.n[N.seasonal] + 2] if c[OF.now] > 0 else 0.0
        store(w, k, keys, kit)

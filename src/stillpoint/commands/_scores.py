"""Compiled loops over the rows of a series: how good forecasts of each horizon have been.

Rows are in slots, numbered by time: what was forecast h steps ahead is of the slot h − 1 later. All
is summed row by row, so that a run cut into batches comes to the same last bit.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import njit


class Sums(NamedTuple):
    """Places in the sums of a horizon."""

    rows: int = 0
    error: int = 1
    last: int = 2
    naive: int = 3
    mean: int = 4
    covered: int = 5
    width: int = 6
    widths: int = 7  # how many were finite


class Ring(NamedTuple):
    """Values by slot, the last ones: a value is at its slot modulo their number."""

    slots: np.ndarray  # (V,) ints; −1 for none
    values: np.ndarray  # (V,)
    last: np.ndarray  # (3,): the last value, the mean of all, NaN before the first; how many


class Scores(NamedTuple):
    """What was forecast lately at some horizons, and how good that was."""

    steps: np.ndarray  # (n,) ints: the horizons
    origins: np.ndarray  # (H,) ints: the slots in which forecasts were made; −1 for none
    paths: np.ndarray  # (H, n, 3): forecast, lo and hi of each
    lasts: np.ndarray  # (H, 2): the last value then, and the mean of all
    sums: np.ndarray  # (n, 8), see Sums: of the later rows, half of all to three quarters
    newer: np.ndarray  # (n, 8): of the latest of these, which will replace them
    seen: np.ndarray  # (n, 2) ints: all rows so far, and how many there are when they do


SUM = Sums()
FIRST = 8  # rows that are forgotten first


@njit(cache=True)
def put(slot: int, y: float, slots: np.ndarray, values: np.ndarray, last: np.ndarray) -> None:
    """Keep a value."""
    i = slot % slots.size
    slots[i], values[i], last[0] = slot, y, y
    last[2] += 1.0
    last[1] = y if last[2] == 1.0 else last[1] + (y / last[2] - last[1] / last[2])


@njit(cache=True)
def ago(slot: int, h: int, period: int, ring: Ring, last: float) -> float:
    """The seasonal naive forecast, h steps ahead, of a slot; the last value where there is none."""
    if period > 0:
        wanted = slot - period * ((h + period - 1) // period)
        i = wanted % ring.slots.size
        if wanted >= 0 and ring.slots[i] == wanted:
            return float(ring.values[i])
    return last


@njit(cache=True)
def naive(slots: np.ndarray, y: np.ndarray, period: int, ring: Ring, out: np.ndarray) -> None:
    """Forecast each row by the value of a season before, which is learnt after it."""
    for t in range(y.size):
        out[t] = ago(slots[t], 1, period, ring, ring.last[0])
        if not math.isnan(y[t]):
            put(slots[t], y[t], ring.slots, ring.values, ring.last)


@njit(cache=True)
def loss(forecast: float, y: float, level: float) -> float:
    """The squared error, or that of a quantile whose level is above 0."""
    away = y - forecast
    if level > 0.0:
        return max(level * away, (level - 1.0) * away)
    return away * away


@njit(cache=True)
def renew(s: Scores, k: int) -> None:
    """Count a row of horizon k; whenever there are twice as many, forget the older half.

    Before anything is known of a series, errors may be a hundred times those to come: in squares,
    a handful of rows would be all that anybody sees.
    """
    s.seen[k, 0] += 1
    if s.seen[k, 0] >= s.seen[k, 1]:
        s.seen[k, 1] *= 2
        for j in range(s.newer.shape[1]):
            s.sums[k, j], s.newer[k, j] = s.newer[k, j], 0.0


@njit(cache=True)
def score(
    slots: np.ndarray,
    y: np.ndarray,
    forecasts: np.ndarray,
    lo: np.ndarray,
    hi: np.ndarray,
    period: int,
    level: float,
    ring: Ring,
    s: Scores,
) -> None:
    """Score rows (T,) with the forecasts, lo and hi (T, H) that were made before each was seen."""
    H = s.origins.size
    for t in range(y.size):
        slot = slots[t]
        place = slot % H
        s.origins[place] = slot
        s.lasts[place, 0], s.lasts[place, 1] = ring.last[0], ring.last[1]
        for k in range(s.steps.size):
            h = s.steps[k] - 1
            s.paths[place, k, 0] = forecasts[t, h]
            s.paths[place, k, 1], s.paths[place, k, 2] = lo[t, h], hi[t, h]
        if math.isnan(y[t]):
            continue
        for k in range(s.steps.size):
            h = s.steps[k]
            made = slot - h + 1
            i = made % H
            if made < 0 or s.origins[i] != made or math.isnan(s.lasts[i, 0]):
                continue  # nothing was said, or before anything was known
            p, season = s.paths[i, k], ago(slot, h, period, ring, s.lasts[i, 0])
            for a in (s.sums[k], s.newer[k]):
                a[SUM.rows] += 1.0
                a[SUM.error] += loss(p[0], y[t], level)
                a[SUM.last] += loss(s.lasts[i, 0], y[t], level)
                a[SUM.mean] += loss(s.lasts[i, 1], y[t], level)
                a[SUM.naive] += loss(season, y[t], level)
                a[SUM.covered] += 1.0 if p[1] <= y[t] <= p[2] else 0.0
                if math.isfinite(p[1]) and math.isfinite(p[2]):
                    a[SUM.width] += p[2] - p[1]
                    a[SUM.widths] += 1.0
            renew(s, k)
        put(slot, y[t], ring.slots, ring.values, ring.last)


def shown_steps(horizon: int) -> np.ndarray:
    """Horizons to score: all of a few, else some, the last among them."""
    if horizon <= 32:
        return np.arange(1, horizon + 1, dtype=np.int64)
    spread = np.geomspace(1.0, horizon, 24).round().astype(np.int64)
    return np.unique(np.append(spread, horizon))


def ring(period: int, horizon: int) -> Ring:
    """Return room for the values that the seasonal naive forecasts of a horizon need."""
    room = period * -(-horizon // period) + horizon if period else 1
    return Ring(np.full(room, -1, dtype=np.int64), np.zeros(room), np.array([np.nan, np.nan, 0.0]))


def scores(horizon: int) -> Scores:
    """Return scores of nothing yet."""
    steps = shown_steps(horizon)
    n = steps.size
    return Scores(
        steps,
        np.full(horizon, -1, dtype=np.int64),
        np.zeros((horizon, n, 3)),
        np.zeros((horizon, 2)),
        np.zeros((n, len(SUM))),
        np.zeros((n, len(SUM))),
        np.tile(np.array([0, FIRST]), (n, 1)),
    )

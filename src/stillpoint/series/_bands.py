"""Intervals around forecasts of some horizons, and around totals over some.

For each such horizon h and origins `stride` rounds apart, c = ⌈h/stride⌉ interval trackers take
turns (`intervals._turns`): each has its target before its next turn, so that the theorem of one
tracker holds for each. Misses are those of intervals as they were issued: what is tracked here goes
on when experts are built anew.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import bare, njit
from stillpoint.intervals import _turns
from stillpoint.intervals._interval import Rule
from stillpoint.intervals._turns import COUNT, close_turn, open_turn


class Clock(NamedTuple):
    """Places in `clock`."""

    now: int = 0  # rounds since the first value
    issued: int = 1  # how many of them have been issued


class Sums(NamedTuple):
    """Places in `sums`, and columns of `origins`."""

    total: int = 0  # of the values so far, less the first each
    missing: int = 1  # how many were missing


class Bands(NamedTuple):
    """Trackers of some horizons, of values first and then of totals."""

    rule: Rule
    aims: np.ndarray  # (coverages, 2)
    horizons: np.ndarray  # (B,) ints
    strides: np.ndarray  # (B,) ints
    totals: int  # which is the first of a total
    starts: np.ndarray  # (B + 1,) ints: where the turns of each begin
    turns: _turns.State  # all turns one after another; `slow` and `counts` one a horizon
    origins: np.ndarray  # (turns, 2), see Sums: as they were at the origin
    offsets: np.ndarray  # (B, 2, coverages): ends less the forecast, as issued last
    clock: np.ndarray  # (2,) ints, see Clock
    sums: np.ndarray  # (3,), see Sums; then the first value
    weights: np.ndarray  # room to work in


AT, SUM = Clock(), Sums()
FIRST = 2  # place of the first value in `sums`


@njit(cache=True)
def of(b: Bands, k: int) -> _turns.State:
    """The trackers of one horizon."""
    i, j, t = b.starts[k], b.starts[k + 1], b.turns
    return _turns.State(
        t.experts[i:j],
        t.regrets[i:j],
        t.scalars[i:j],
        t.ends[i:j],
        t.missed[i:j],
        t.forecasts[i:j],
        t.said[i:j],
        t.units[i:j],
        t.slow[k],
        t.counts[k],
    )


@njit(cache=True)
def due(
    horizons: np.ndarray, strides: np.ndarray, clock: np.ndarray, first: int, last: int
) -> bool:
    """Whether a horizon of these, beyond the next value, is to be issued in this round."""
    found = False
    if clock[AT.issued] <= clock[AT.now]:
        for k in range(first, last):
            found |= horizons[k] > 1 and clock[AT.now] % strides[k] == 0
    return found


@njit(cache=True)
def issue(b: Bands, forecasts: np.ndarray) -> None:
    """Issue intervals around the forecasts (B,) of the coming round, where it is an origin.

    A round that was issued before is left as it was.
    """
    if b.clock[AT.issued] > b.clock[AT.now]:
        return
    b.clock[AT.issued] = b.clock[AT.now] + 1
    for k in range(b.horizons.size):
        if b.clock[AT.now] % b.strides[k] == 0:
            s, f = of(b, k), forecasts[k]
            turn = open_turn(f, b.rule, b.aims, s, b.weights)
            origin = b.origins[b.starts[k] + turn]
            origin[SUM.total], origin[SUM.missing] = b.sums[SUM.total], b.sums[SUM.missing]
            for j in range(b.offsets.shape[2]):
                b.offsets[k, 0, j] = s.ends[turn, 0, j] - f
                b.offsets[k, 1, j] = s.ends[turn, 1, j] - f


@njit(cache=True)
def settle(b: Bands, y: float) -> None:
    """Take in the value of the round, NaN if it is missing; trackers whose target it is learn."""
    now, seen = b.clock[AT.now], not math.isnan(y)
    b.sums[SUM.total] += y - b.sums[FIRST] if seen else 0.0
    b.sums[SUM.missing] += 0.0 if seen else 1.0
    for k in range(b.horizons.size):
        h = b.horizons[k]
        origin = now - h + 1
        if origin < 0 or origin % b.strides[k] != 0:
            continue
        s, target = of(b, k), y
        if k >= b.totals:
            turn = s.counts[COUNT.closed] % s.missed.shape[0]
            at, target = b.origins[b.starts[k] + turn], np.nan
            if at[SUM.missing] == b.sums[SUM.missing]:
                target = b.sums[SUM.total] - at[SUM.total] + h * b.sums[FIRST]
        close_turn(target, b.rule, b.aims, s)
    b.clock[AT.now] += 1


@njit(cache=True)
def play_last(b: Bands, last: float, opens: bool, y: float) -> None:
    """Open a round in which the last value is the forecast of all, or close it with y."""
    b = bare(b)
    if opens:
        forecasts = np.empty(b.horizons.size)
        for k in range(forecasts.size):
            forecasts[k] = last * b.horizons[k] if k >= b.totals else last
        issue(b, forecasts)
    else:
        settle(b, y)

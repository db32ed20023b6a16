"""Intervals of small pools: one estimate for the next value, one for the second knot.

Each is a mean score over 100 rounds times a factor that moves by hits and misses
(`intervals._slow`), pushed outward or inward by the guard of `intervals._experts`: for the next
value, whose target comes before the next round, that guard bounds the misses whatever the series.
Targets of the knot come late, the factor's steps are shortened by as much, and what was issued
waits with its origin: calibrated, not promised. Of totals over the horizon only the mean error is
kept, from origins H apart; its factor is the knot's.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import bare, njit
from stillpoint.intervals._experts import AIM
from stillpoint.intervals._guard import behind, push
from stillpoint.intervals._interval import Rule, uncross
from stillpoint.intervals._slow import SLOW, learn_slow, say

NEXT, KNOT = 0, 1  # rows of `slow` and `scalars`, and of `offsets`; a total's are the last


class Scalar(NamedTuple):
    """Columns of `scalars`."""

    seen: int = 0
    misses: int = 1


class Said(NamedTuple):
    """Columns of `said`."""

    plain: int = 0  # by the estimate; NaN for nothing yet
    end: int = 1  # as issued: the radius, or how far a side reaches


class Total(NamedTuple):
    """Places in `total`."""

    sum: int = 0  # of the values so far, less the first each
    missing: int = 1  # how many were missing
    first: int = 2  # the first value
    forecast: int = 3  # of the last origin
    origin: int = 4  # the sum at that origin,
    gaps: int = 5  # and how many were missing
    scale: int = 6  # mean |error|
    number: int = 7  # of errors in it


class Clock(NamedTuple):
    """Places in `clock`."""

    now: int = 0  # rounds since the first value
    issued: int = 1  # how many of them have been issued


class Bands(NamedTuple):
    """What tracks the intervals of one series; m estimates a horizon, one a coverage or two."""

    rule: Rule
    aims: np.ndarray  # (m, 2)
    horizons: np.ndarray  # ints: 1, the knot if there is one, and H if there are totals
    totals: int  # which of them is that of totals
    stride: int  # rounds between origins of the knot
    slots: int  # of its origins; 0: there is none
    slow: np.ndarray  # (2, m, 8), see `intervals._slow`
    scalars: np.ndarray  # (2, m, 2), see Scalar
    said: np.ndarray  # (slots + 1, m, 2), see Said; the last slot is the next value's
    forecasts: np.ndarray  # (slots + 1,), what those are around
    total: np.ndarray  # (8,), see Total
    clock: np.ndarray  # (2,) ints, see Clock
    offsets: np.ndarray  # (horizons, 2, coverages): ends less the forecast, as issued last


AT, IS, SUM, BY = Scalar(), Said(), Total(), Clock()
MEMORY = 20.0  # errors in the mean of those of totals, at most


@njit(cache=True)
def due(b: Bands) -> int:
    """Up to which row of `horizons` forecasts are needed in the coming round."""
    if b.clock[BY.issued] > b.clock[BY.now]:
        return NEXT
    if b.totals < b.horizons.size and b.clock[BY.now] % b.horizons[b.totals] == 0:
        return b.totals
    return KNOT if b.slots > 0 and b.clock[BY.now] % b.stride == 0 else NEXT


@njit(cache=True)
def fill(k: int, f: float, b: Bands, said: np.ndarray, ends: np.ndarray) -> None:
    """Fill in what is said around a forecast: said (m, 2), and ends (2, coverages) less it."""
    two_sided, low, high = b.rule.two_sided, math.inf, -math.inf
    for m in range(said.shape[0]):
        q, slow, s = b.aims[m, AIM.level], b.slow[k, m], b.scalars[k, m]
        plain, x = say(two_sided, b.aims[m], slow), behind(q, s[AT.seen], s[AT.misses])
        end = math.inf
        if x < 1.0 and not math.isnan(plain):
            if two_sided:
                end = plain + 2.0 * push(x) * slow[SLOW.scale] if x > -1.0 else plain
            else:
                end = plain * math.exp(push(x)) if x > -1.0 else 0.0
        said[m, IS.plain], said[m, IS.end] = plain, end
    for j in b.rule.order:
        below = above = said[j, IS.end]
        if two_sided:
            below, above = uncross(f, said[2 * j, IS.end], said[2 * j + 1, IS.end])
        low, high = min(low, -below), max(high, above)
        ends[0, j], ends[1, j] = low, high
        if two_sided:
            said[2 * j, IS.end], said[2 * j + 1, IS.end] = -low, high
        else:
            said[j, IS.end] = high


@njit(cache=True)
def issue(b: Bands, forecasts: np.ndarray) -> None:
    """Issue intervals around the forecasts of `horizons`, as far as the coming round has them.

    A round that was issued before is left as it was.
    """
    rows, now, slots = due(b), b.clock[BY.now], b.slots
    if b.clock[BY.issued] > now:
        return
    b.clock[BY.issued] = now + 1
    b.forecasts[slots] = forecasts[NEXT]
    fill(NEXT, forecasts[NEXT], b, b.said[slots], b.offsets[NEXT])
    if slots > 0 and now % b.stride == 0:
        slot = (now // b.stride) % slots
        b.forecasts[slot] = forecasts[KNOT]
        fill(KNOT, forecasts[KNOT], b, b.said[slot], b.offsets[KNOT])
    if b.totals < b.horizons.size:
        if rows == b.totals:
            b.total[SUM.forecast] = forecasts[b.totals]
            b.total[SUM.origin], b.total[SUM.gaps] = b.total[SUM.sum], b.total[SUM.missing]
        around(b)


@njit(cache=True)
def around(b: Bands) -> None:
    """Fill in the ends of totals: the mean error times the factor of the last of the others.

    Before there was an error, as if those of all rounds were the same.
    """
    row, scale = b.totals, b.total[SUM.scale]
    k, H = row - 1, float(b.horizons[row])
    for j in range(b.offsets.shape[2]):
        for end in range(2):
            m = 2 * j + end if b.rule.two_sided else j
            mean, own = b.slow[k, m, SLOW.scale], b.offsets[k, end, j]
            b.offsets[row, end, j] = own * H
            if b.total[SUM.number] > 0.0 and mean > 0.0 and math.isfinite(own):
                b.offsets[row, end, j] = own / mean * scale


@njit(cache=True)
def learn(k: int, slot: int, y: float, turns: int, b: Bands) -> None:
    """Learn the target of what was issued in this slot."""
    e = y - b.forecasts[slot]
    for m in range(b.aims.shape[0]):
        s, said, score = b.scalars[k, m], b.said[slot, m], abs(e)
        if b.rule.two_sided:
            score = -e if m % 2 == 0 else e
        begins = s[AT.seen] == 0.0
        s[AT.seen] += 1.0
        s[AT.misses] += 1.0 if score > said[IS.end] else 0.0
        if not begins:  # the first is that of a forecaster that may have seen nothing
            learn_slow(e, score, said[IS.plain], b.aims[m], b.rule.two_sided, turns, b.slow[k, m])


@njit(cache=True)
def settle(b: Bands, y: float) -> None:
    """Take in the value of the round, NaN if it is missing."""
    now, seen, slots, total = b.clock[BY.now], not math.isnan(y), b.slots, b.total
    total[SUM.sum] += y - total[SUM.first] if seen else 0.0
    total[SUM.missing] += 0.0 if seen else 1.0
    b.clock[BY.now] += 1
    if slots > 0:
        origin = now - b.horizons[KNOT] + 1
        if seen and origin >= 0 and origin % b.stride == 0:
            learn(KNOT, (origin // b.stride) % slots, y, slots - 1, b)
    if seen and b.clock[BY.issued] > now:
        one = 1
        learn(NEXT, slots, y, one, b)
    if b.totals == b.horizons.size or total[SUM.missing] != total[SUM.gaps]:
        return
    H = b.horizons[b.totals]
    if (now + 1) % H == 0:
        e = abs(total[SUM.sum] - total[SUM.origin] + H * total[SUM.first] - total[SUM.forecast])
        total[SUM.number] = (1.0 - 1.0 / MEMORY) * total[SUM.number] + 1.0
        total[SUM.scale] += (e - total[SUM.scale]) / total[SUM.number]


@njit(cache=True)
def play_last(b: Bands, last: float, opens: bool, y: float) -> None:
    """Open a round in which the last value is the forecast of all, or close it with y."""
    b = bare(b)
    if opens:
        forecasts = np.empty(b.horizons.size)
        for k in range(forecasts.size):
            forecasts[k] = last * b.horizons[k] if k == b.totals else last
        issue(b, forecasts)
    else:
        settle(b, y)

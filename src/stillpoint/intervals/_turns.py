"""Rounds of IntervalTracker whose targets come late: c trackers that take turns.

With targets `delay` rounds late there are c = delay + 1 of them: round t is that of tracker
t mod c, whose last target has come by then. Each is as one without a delay, its guard included, and
its theorem, which holds whatever is played between the guard's limits, holds for its rounds.

So many trackers have few scores each. One slow estimate of all scores (_slow.py) gives the scale:
turns track scores in units of it, and follow a change of scale as soon as any score tells of it.
And up to OWN scores of its own, what a turn plays is blended with what that estimate says.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import bare, njit
from stillpoint.intervals import _experts
from stillpoint.intervals._experts import (
    AIM,
    AT,
    LEAST,
    MIDDLE,
    ROW,
    apart,
    debt,
    hear_scores,
    hear_values,
    learn_score,
    learn_value,
)
from stillpoint.intervals._guard import push
from stillpoint.intervals._interval import Rule, uncross
from stillpoint.intervals._slow import SLOW, learn_slow, say


class State(NamedTuple):
    """c trackers that take turns, along the first axis of all but `slow` and `counts`."""

    experts: np.ndarray  # (c, m, 6, 9), of m estimators each: as in `_experts.State`
    regrets: np.ndarray  # (c, m, 3, 9)
    scalars: np.ndarray  # (c, m, 12)
    ends: np.ndarray  # (c, 2, coverages), the intervals of each turn's open round or last one
    missed: np.ndarray  # (c, coverages)
    forecasts: np.ndarray  # (c,), what those intervals are around
    said: np.ndarray  # (c, m), what the slow estimates said to those rounds; NaN for nothing yet
    units: np.ndarray  # (c, m, 2), their centres and scales then
    slow: np.ndarray  # (m, 8), the places of `_slow.Slow`
    counts: np.ndarray  # (2,), rounds that were opened, and closed


class Units(NamedTuple):
    """Places in `units`."""

    centre: int = 0  # 0 for radii
    scale: int = 1


class Counts(NamedTuple):
    """Places in `counts`."""

    opened: int = 0
    closed: int = 1


UNIT, COUNT = Units(), Counts()
FARTHEST = 1e140  # of scores in units of the scale
OWN = 100.0  # scores after which a turn does without the slow estimate


@njit(cache=True)
def share(known: float) -> float:
    """The slow estimate's part of a turn that has learnt so many scores."""
    return 1.0 if known < LEAST else max(1.0 - (known - LEAST) / (OWN - LEAST), 0.0)


@njit(cache=True)
def late_radius(
    empty: bool, e: _experts.State, m: int, weights: np.ndarray, said: float, unit: np.ndarray
) -> float:
    """The guarded radius of estimator m, blended with what the slow one says, in units of that."""
    q, s = e.aims[m, AIM.level], e.scalars[m]
    hear_scores(q, e.experts[m], e.regrets[m], s, weights[m])
    x, known = debt(q, s), s[AT.seen] - 1.0
    part = share(known)
    if x <= -1.0:
        return -math.inf if empty else 0.0
    if x >= 1.0 or (part > 0.0 and math.isnan(said)):
        return math.inf
    base = s[AT.forecast] * unit[UNIT.scale]
    if part > 0.0:
        base = part * said + (1.0 - part) * base
    return float(base * math.exp(push(x)))


@njit(cache=True)
def late_side(
    empty: bool, e: _experts.State, m: int, weights: np.ndarray, said: float, unit: np.ndarray
) -> float:
    """The guarded end of a side, alike."""
    q, s = e.aims[m, AIM.level], e.scalars[m]
    hear_values(q, e.experts[m], e.regrets[m], s, weights[m])
    x, part = debt(q, s), share(s[AT.seen] - 2.0)
    if x >= 1.0 or (part > 0.0 and math.isnan(said)):
        return math.inf
    base = unit[UNIT.centre] + (s[AT.origin] + s[AT.forecast]) * unit[UNIT.scale]
    step = e.experts[m, ROW.scale, MIDDLE]
    if part > 0.0:
        base = part * said + (1.0 - part) * base
        step = part + (1.0 - part) * step
    if x <= -1.0:
        return -math.inf if empty else float(base)
    return float(base + 2.0 * push(x) * step * unit[UNIT.scale])


@njit(cache=True)
def late_sides(
    f: float,
    empty: bool,
    e: _experts.State,
    m: int,
    weights: np.ndarray,
    said: np.ndarray,
    units: np.ndarray,
) -> tuple[float, float]:
    """How far the sides of estimators m and m + 1 reach."""
    below = late_side(empty, e, m, weights, said[m], units[m])
    above = late_side(empty, e, m + 1, weights, said[m + 1], units[m + 1])
    return uncross(f, below, above)


@njit(cache=True)
def estimators(aims: np.ndarray, turn: int, s: State) -> _experts.State:
    """Those of a turn."""
    return _experts.State(aims, s.experts[turn], s.regrets[turn], s.scalars[turn])


@njit(cache=True)
def fill(
    f: float,
    rule: Rule,
    e: _experts.State,
    slow: np.ndarray,
    weights: np.ndarray,
    said: np.ndarray,
    units: np.ndarray,
    ends: np.ndarray,
) -> None:
    """Fill ends (2, coverages) around the forecast, as `open_round` does, said and units."""
    aims, two_sided, low, high = e.aims, rule.two_sided, math.inf, -math.inf
    for m in range(said.size):
        said[m] = say(two_sided, aims[m], slow[m])
        units[m, UNIT.centre], units[m, UNIT.scale] = slow[m, SLOW.centre], slow[m, SLOW.scale]
    for j in rule.order:
        if two_sided:
            below, above = late_sides(f, rule.empty, e, 2 * j, weights, said, units)
        else:
            below = above = late_radius(rule.empty, e, j, weights, said[j], units[j])
        low, high = min(low, f - below), max(high, f + above)
        ends[0, j], ends[1, j] = low, high


@njit(cache=True)
def open_turn(f: float, rule: Rule, aims: np.ndarray, s: State, weights: np.ndarray) -> int:
    """Open the coming round; its interval is in the ends of the turn that is returned.

    The turn's round before must be closed. weights (m, 2, 9) is room for those of the experts.
    """
    turn = s.counts[COUNT.opened] % s.missed.shape[0]
    s.counts[COUNT.opened] += 1
    s.forecasts[turn] = f
    own, ends = estimators(aims, turn, s), s.ends[turn]
    fill(f, rule, own, s.slow, weights, s.said[turn], s.units[turn], ends)
    return int(turn)


@njit(cache=True)
def look(
    f: float, rule: Rule, aims: np.ndarray, s: State, weights: np.ndarray, ends: np.ndarray
) -> None:
    """The ends that `open_turn` would fill in, with nothing changed."""
    turn = s.counts[COUNT.opened] % s.missed.shape[0]
    own = apart(estimators(aims, turn, s))
    m = aims.shape[0]
    fill(f, rule, own, s.slow, weights, np.empty(m), np.empty((m, 2)), ends)


@njit(cache=True)
def close_turn(y: float, rule: Rule, aims: np.ndarray, s: State) -> None:
    """Learn the target of the oldest open round; y is NaN where it is missing.

    Misses are those of the intervals as played. From the first target of each turn nothing is
    learnt but that it came: until the first of all has come, a forecaster has seen nothing.
    """
    turns = s.missed.shape[0]
    turn = s.counts[COUNT.closed] % turns
    s.counts[COUNT.closed] += 1
    if math.isnan(y):
        return
    scalars, ends, e = s.scalars[turn], s.ends[turn], y - s.forecasts[turn]
    sides = 2 if rule.two_sided else 1
    for j in range(ends.shape[1]):
        under, over = y < ends[0, j], y > ends[1, j]
        s.missed[turn, j] += 1.0 if under or over else 0.0
        for m in range(sides * j, sides * (j + 1)):
            begins = scalars[m, AT.seen] == 0.0
            missed = under or over
            if rule.two_sided:
                missed = under if m % 2 == 0 else over
            scalars[m, AT.seen] += 1.0
            scalars[m, AT.misses] += 1.0 if missed else 0.0
            if not begins:
                learn_estimator(e, m, turn, turns, rule.two_sided, aims[m], s)


@njit(cache=True)
def learn_estimator(
    e: float, m: int, turn: int, turns: int, two_sided: bool, aim: np.ndarray, s: State
) -> None:
    """Learn a residual: the slow estimate, and the turn's estimator m in units of that."""
    score, slow, said = abs(e), s.slow[m], s.said[turn, m]
    if two_sided:
        score = -e if m % 2 == 0 else e
    learn_slow(e, score, said, aim, two_sided, turns, slow)
    # as they were when the round was opened; where there was nothing to tell, as they are now
    centre, scale = s.units[turn, m, UNIT.centre], s.units[turn, m, UNIT.scale]
    if math.isnan(said):
        centre, scale = slow[SLOW.centre], slow[SLOW.scale]
    if scale > 0.0:
        own = min(max((score - centre) / scale, -FARTHEST), FARTHEST)
        experts, regrets, scalars = s.experts[turn, m], s.regrets[turn, m], s.scalars[turn, m]
        if two_sided:
            learn_value(own, aim[AIM.level], aim[AIM.first], experts, regrets, scalars)
        else:
            learn_score(own, aim[AIM.level], aim[AIM.first], experts, regrets, scalars)


@njit(cache=True)
def track(
    forecasts: np.ndarray,
    y: np.ndarray,
    first: int,
    rule: Rule,
    aims: np.ndarray,
    s: State,
    weights: np.ndarray,
    out: np.ndarray,
) -> None:
    """Rounds in bulk: intervals of rows from `first` on into out (rows, 2, coverages).

    The first rows are those that are open. Row t is opened, then row t + 1 − c is closed.
    """
    rule, aims, s, weights = bare(rule), bare(aims), bare(s), bare(weights)
    late = s.missed.shape[0] - 1
    for t in range(first, y.size):
        turn = open_turn(forecasts[t], rule, aims, s, weights)
        for j in range(out.shape[2]):
            out[t - first, 0, j], out[t - first, 1, j] = s.ends[turn, 0, j], s.ends[turn, 1, j]
        if t >= late:
            close_turn(y[t - late], rule, aims, s)


@njit(cache=True)
def one(
    opens: bool,
    value: float,
    two_sided: bool,
    empty: bool,
    order: np.ndarray,
    aims: np.ndarray,
    experts: np.ndarray,
    regrets: np.ndarray,
    scalars: np.ndarray,
    ends: np.ndarray,
    missed: np.ndarray,
    forecasts: np.ndarray,
    said: np.ndarray,
    units: np.ndarray,
    slow: np.ndarray,
    counts: np.ndarray,
    weights: np.ndarray,
) -> int:
    """`open_turn` of a forecast, or `close_turn` of a target; returns the turn that is opened.

    Called from Python, where unpacking a NamedTuple costs more than a round's arithmetic: arrays
    come one by one.
    """
    s = State(experts, regrets, scalars, ends, missed, forecasts, said, units, slow, counts)
    rule = Rule(two_sided, empty, order)
    if opens:
        return open_turn(value, rule, aims, s, weights)
    close_turn(value, rule, aims, s)
    return -1

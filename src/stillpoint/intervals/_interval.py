"""Rounds of IntervalTracker: intervals, nested where there are several, and misses as played.

One estimator of scores |y − forecast| per coverage; with two sides two estimators of residuals, the
lower side's and the upper side's next to each other.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import bare, njit
from stillpoint.intervals import _experts
from stillpoint.intervals._experts import (
    AIM,
    AT,
    FEW,
    LEAST,
    MEAN,
    apart,
    learn_score,
    learn_value,
    quantile,
    radius,
    widening,
)


class Rule(NamedTuple):
    """What an IntervalTracker was built with."""

    two_sided: bool
    empty: bool  # whether the guard may play the empty set
    order: np.ndarray  # coverages from the innermost interval outward


class State(NamedTuple):
    """What an IntervalTracker keeps."""

    estimators: _experts.State  # one per coverage, or two
    ends: np.ndarray  # (2, coverages), the intervals of the open round or the last one
    missed: np.ndarray  # (coverages,), targets outside their interval


@njit(cache=True)
def uncross(f: float, below: float, above: float) -> tuple[float, float]:
    """Two sides that do not cross: where they would, both give way, and meet."""
    if math.isfinite(below) and math.isfinite(above) and f - below > f + above:
        above = 0.5 * (above - below)
        below = -above
    return below, above


@njit(cache=True)
def widen(below: float, above: float, wider: float) -> tuple[float, float]:
    """Two sides, so many times as far from each other."""
    if math.isfinite(below) and math.isfinite(above):
        more = 0.5 * (below + above) * (wider - 1.0)
        below, above = below + more, above + more
    return below, above


@njit(cache=True)
def side_widening(z: float, known: float) -> float:
    """`widening` of two sides after so many residuals: one is for the middle between them."""
    return widening(z, known - 1.0) * math.sqrt(1.0 + 1.0 / known)


@njit(cache=True)
def meet(f: float, below: float, above: float, z: float, known: float) -> tuple[float, float]:
    """How far two sides reach, given what their estimators say after so many residuals that count.

    They take one more residual than a radius.
    """
    below, above = uncross(f, below, above)
    if known - 1.0 < LEAST:
        return math.inf, math.inf
    if known <= FEW:
        below, above = widen(below, above, side_widening(z, known))
    return below, above


@njit(cache=True)
def open_round(
    f: float, rule: Rule, e: _experts.State, weights: np.ndarray, ends: np.ndarray
) -> None:
    """Fill ends (2, coverages) around the forecast; an outer interval takes in those inside it.

    weights (estimators, 2, 9) is room for those of the experts.
    """
    aims, experts, regrets, scalars = e.aims, e.experts, e.regrets, e.scalars
    two_sided, empty, low, high = rule.two_sided, rule.empty, math.inf, -math.inf
    for j in rule.order:
        if two_sided:
            m = 2 * j
            below = quantile(aims[m, AIM.level], experts[m], regrets[m], scalars[m], weights[m])
            if below == -math.inf and not empty:
                below = scalars[m, AT.origin] + scalars[m, AT.forecast]
            m += 1
            above = quantile(aims[m, AIM.level], experts[m], regrets[m], scalars[m], weights[m])
            if above == -math.inf and not empty:
                above = scalars[m, AT.origin] + scalars[m, AT.forecast]
            z, known = MEAN * aims[m, AIM.first], scalars[m, AT.seen] - 1.0
            below, above = meet(f, below, above, z, known)
        else:
            q, first = aims[j, AIM.level], aims[j, AIM.first]
            below = above = radius(q, first, empty, experts[j], regrets[j], scalars[j], weights[j])
        low, high = min(low, f - below), max(high, f + above)
        ends[0, j], ends[1, j] = low, high


@njit(cache=True)
def look(f: float, rule: Rule, e: _experts.State, weights: np.ndarray, ends: np.ndarray) -> None:
    """What `open_round` would fill in, with the estimators unchanged."""
    open_round(f, rule, apart(e), weights, ends)


@njit(cache=True)
def close_round(y: float, f: float, two_sided: bool, s: State) -> None:
    """Learn from the target. Misses are those of the intervals as played, rounding included.

    From the first target nothing is learnt but that it came: its forecast may be that of a
    forecaster that had seen nothing.
    """
    e, ends, missed = s.estimators, s.ends, s.missed
    aims, experts, regrets, scalars = e.aims, e.experts, e.regrets, e.scalars
    begins = scalars[0, AT.seen] == 0.0
    for j in range(ends.shape[1]):
        under, over = y < ends[0, j], y > ends[1, j]
        missed[j] += 1.0 if under or over else 0.0
        if two_sided:
            m = 2 * j
            q, first = aims[m, AIM.level], aims[m, AIM.first]  # those of both sides
            scalars[m, AT.seen] += 1.0
            scalars[m, AT.misses] += 1.0 if under else 0.0
            scalars[m + 1, AT.seen] += 1.0
            scalars[m + 1, AT.misses] += 1.0 if over else 0.0
            if not begins:
                learn_value(f - y, q, first, experts[m], regrets[m], scalars[m])
                m += 1
                learn_value(y - f, q, first, experts[m], regrets[m], scalars[m])
        else:
            scalars[j, AT.seen] += 1.0
            scalars[j, AT.misses] = missed[j]
            if not begins:
                q, first = aims[j, AIM.level], aims[j, AIM.first]
                learn_score(abs(y - f), q, first, experts[j], regrets[j], scalars[j])


@njit(cache=True)
def predict(
    f: float,
    two_sided: bool,
    empty: bool,
    order: np.ndarray,
    aims: np.ndarray,
    experts: np.ndarray,
    regrets: np.ndarray,
    scalars: np.ndarray,
    weights: np.ndarray,
    ends: np.ndarray,
) -> None:
    """`open_round` from Python, where a NamedTuple takes longer to hand over than its arrays."""
    e = _experts.State(aims, experts, regrets, scalars)
    open_round(f, Rule(two_sided, empty, order), e, weights, ends)


@njit(cache=True)
def update(
    y: float,
    f: float,
    two_sided: bool,
    aims: np.ndarray,
    experts: np.ndarray,
    regrets: np.ndarray,
    scalars: np.ndarray,
    ends: np.ndarray,
    missed: np.ndarray,
) -> None:
    """`close_round` from Python."""
    e = _experts.State(aims, experts, regrets, scalars)
    close_round(y, f, two_sided, State(e, ends, missed))


@njit(cache=True)
def track(
    forecasts: np.ndarray,
    y: np.ndarray,
    delay: int,
    first: int,
    rule: Rule,
    s: State,
    weights: np.ndarray,
    out: np.ndarray,
) -> None:
    """Rounds in bulk: intervals of rows from `first` on into out (rows, 2, coverages).

    Row t gets its interval from what rows up to t − delay − 1 taught; then row t − delay is learnt.
    y is NaN where it is missing.
    """
    rule, s, weights = bare(rule), bare(s), bare(weights)
    shown = s.ends if delay == 0 else np.empty_like(s.ends)
    for t in range(first, y.size):
        k = t - delay
        if k < 0:
            look(forecasts[t], rule, s.estimators, weights, shown)
        else:
            open_round(forecasts[t], rule, s.estimators, weights, shown)
        for j in range(shown.shape[1]):
            out[t - first, 0, j], out[t - first, 1, j] = shown[0, j], shown[1, j]
        if k >= 0:
            if delay > 0:
                open_round(forecasts[k], rule, s.estimators, weights, s.ends)
            if not math.isnan(y[k]):
                close_round(y[k], forecasts[k], rule.two_sided, s)

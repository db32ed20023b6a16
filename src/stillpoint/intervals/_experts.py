"""One quantile estimator: nine experts, their aggregate under the pinball loss, and a guard.

Six experts average over a memory and follow the quantile as a multiple of that; three see only hits
and misses. ML-Poly blended with exponential weights (core/_poly.py) aggregates their values p_i;
with pm its aggregate, g a slope of the pinball loss at pm and `unit` the running mean loss, the
regret of a round is r_i = g·(pm − p_i)/unit. The guard knows how far misses are off their share and
pushes the aggregate outward or inward, without limit where they have run away.

An estimator tracks either scores, 0 or more (`radius`, `learn_score`), or values of either sign
(`quantile`, `learn_value`).
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core._poly import CAP, FORGET, WEIGHTS, credit, running_mean, weigh
from stillpoint.core.jit import njit
from stillpoint.intervals._guard import behind, push
from stillpoint.losses._pointwise import PINBALL, value


class State(NamedTuple):
    """Quantile estimators, one per level, along the first axis of every array."""

    aims: np.ndarray  # (m, 2), the places of `Aims`
    experts: np.ndarray  # (m, 6, 9), the rows of `Rows`, a column an expert
    regrets: np.ndarray  # (m, 3, 9), the rows of core's `Regrets`
    scalars: np.ndarray  # (m, 12), the places of `Places`


class Aims(NamedTuple):
    """Places in `aims`, which never change."""

    level: int = 0  # q, the share to lie at or below the quantile
    first: int = 1  # the quantile in mean sizes to begin with; of scores its logarithm


class Rows(NamedTuple):
    """Rows of `experts`."""

    centre: int = 0  # of values; a radius has none
    scale: int = 1  # mean distance from the centre, or mean score
    multiple: int = 2  # of the scale; of scores its logarithm
    number: int = 3  # of values in the averages
    value: int = 4  # what the expert says in this round
    clipped: int = 5  # the same as far as it is heard


class Places(NamedTuple):
    """Places in `scalars`, below called s."""

    seen: int = 0  # targets that count for the guard
    learned: int = 1  # rounds that the aggregation has learnt from
    record: int = 2  # the largest square of a regret so far
    noise: int = 3  # running mean of the aggregate's pinball loss
    memory: int = 4  # how many losses that is over
    origin: int = 5  # the first value, from which values count
    low: int = 6  # the least and the largest value so far
    high: int = 7
    pooled: int = 8  # ML-Poly's aggregate
    forecast: int = 9  # the blend's, which is played
    misses: int = 10  # targets beyond what was played
    start: int = 11  # of scores the first above 0; of values one of the three below


AIM, ROW, AT = Aims(), Rows(), Places()
UNSEEN, LEVEL, SPREAD = 0.0, 1.0, 2.0  # no value yet; one, over and over; two that differ

MEMORIES = np.array([2.0, 5.0, 15.0, 50.0, 200.0, 1000.0])
# least step of each expert: those with a scale, those that see signs only
STEPS = np.array([0.02] * 6 + [0.02, 0.06, 0.2])
SIGNED = np.array([0.04] * 6 + [0.05, 0.15, 0.5])  # the same for values
SCALED, EXPERTS, MIDDLE = 6, 9, 3  # the expert with memory 50 gives the unit of a quantile's steps
WINSOR = 30.0
# how far from the aggregate experts are heard, in mean losses over the rarer side's share
REACH = 3.0
TINY = 1e-250  # scores between 0 and this count as this: products of smaller ones are not floats
DIGITS = 1e-40  # nor are scales this far below the largest score: from 0 they could not grow again
SPAN = 690.0  # of the logarithm of a sign expert's multiple
MARGIN = 3.0  # and of a scale expert's, beyond where a steady stream can put it
STRETCH = 30.0  # the same for values, over the rarer side's share
# scores that a radius needs at least, and as far as it is widened for their being few
LEAST, FEW = 2.0, 20.0
MEAN = 0.7979  # E|z| of a standard normal z: estimators begin as if their scores were those of one


@njit(cache=True)
def apart(e: State) -> State:
    """The estimators with copies of what opening a round changes."""
    return State(e.aims, e.experts.copy(), e.regrets, e.scalars.copy())


@njit(cache=True)
def pool(
    q: float, experts: np.ndarray, regrets: np.ndarray, s: np.ndarray, weights: np.ndarray
) -> None:
    """Aggregate the experts' values: ML-Poly, and its blend with exponential weights.

    Experts are heard within REACH of the aggregate: after a fall of the scale slow ones are off by
    any factor. The regrets stay those of the values that were aggregated, so Σ w r = 0 holds.
    """
    weigh(regrets, s[AT.record], s[AT.learned], weights)
    if s[AT.noise] > 0.0:
        middle, reach = 0.0, REACH / min(q, 1.0 - q) * s[AT.noise]
        for i in range(EXPERTS):
            middle += weights[WEIGHTS.poly, i] * experts[ROW.clipped, i]
        low, high = middle - reach, middle + reach
        for i in range(EXPERTS):
            experts[ROW.clipped, i] = min(max(experts[ROW.clipped, i], low), high)
    s[AT.pooled] = s[AT.forecast] = 0.0
    for i in range(EXPERTS):
        s[AT.pooled] += weights[WEIGHTS.poly, i] * experts[ROW.clipped, i]
        s[AT.forecast] += weights[WEIGHTS.blend, i] * experts[ROW.clipped, i]


@njit(cache=True)
def settle(y: float, q: float, experts: np.ndarray, regrets: np.ndarray, s: np.ndarray) -> None:
    """Add the round to the experts' regrets and losses, in units of the running pinball loss."""
    loss = value(PINBALL, q, s[AT.forecast], y)
    s[AT.memory] = (1.0 - FORGET) * s[AT.memory] + 1.0
    s[AT.noise] = running_mean(s[AT.noise], loss, s[AT.memory])
    unit = max(s[AT.noise], loss / CAP, DIGITS * (s[AT.high] - s[AT.low]))
    slope = (1.0 - q) if s[AT.pooled] >= y else -q
    for i in range(EXPERTS):
        heard = experts[ROW.clipped, i]
        regret = slope * ((s[AT.pooled] - heard) / unit)
        s[AT.record] = credit(regrets, i, regret, value(PINBALL, q, heard, y) / unit, s[AT.record])


@njit(cache=True)
def debt(q: float, s: np.ndarray) -> float:
    """How far an estimator is behind."""
    return float(behind(q, s[AT.seen], s[AT.misses]))


@njit(cache=True)
def widening(z: float, scores: float) -> float:
    """How many times as wide an interval from few scores is: t_n/z, n = scores.

    Student's quantile over the normal one. By Wallace (1959), t_n ≈ √(n·(exp((bz)²/n) − 1)) with
    b = (8n + 3)/(8n + 1): from n = 2 on within 2% at a coverage of 90%.
    """
    b = (8.0 * scores + 3.0) / (8.0 * scores + 1.0)
    return math.sqrt(scores * math.expm1((b * z) ** 2 / scores)) / z


@njit(cache=True)
def hear_scores(
    q: float, experts: np.ndarray, regrets: np.ndarray, s: np.ndarray, weights: np.ndarray
) -> None:
    """What the experts say to a round of scores, and their aggregate; 0 before a score above 0."""
    if s[AT.start] > 0.0:
        for i in range(EXPERTS):
            scale = experts[ROW.scale, i] if i < SCALED else s[AT.start]
            experts[ROW.value, i] = math.exp(experts[ROW.multiple, i]) * scale
            experts[ROW.clipped, i] = min(experts[ROW.value, i], 2.0 * s[AT.high])
        pool(q, experts, regrets, s, weights)


@njit(cache=True)
def hear_values(
    q: float, experts: np.ndarray, regrets: np.ndarray, s: np.ndarray, weights: np.ndarray
) -> None:
    """The same for a round of values, less their origin; 0 before two values that differ."""
    if s[AT.start] == SPREAD:
        reach = s[AT.high] - s[AT.low]
        for i in range(EXPERTS):
            p = experts[ROW.centre, i]
            if i < SCALED:
                p += experts[ROW.multiple, i] * experts[ROW.scale, i]
            experts[ROW.value, i] = p
            experts[ROW.clipped, i] = min(max(p, s[AT.low] - reach), s[AT.high] + reach)
        pool(q, experts, regrets, s, weights)


@njit(cache=True)
def radius(
    q: float,
    first: float,
    empty: bool,
    experts: np.ndarray,
    regrets: np.ndarray,
    s: np.ndarray,
    weights: np.ndarray,
) -> float:
    """Open a round of scores: the guarded radius; ∞ for everything, −∞ for the empty set.

    The first score does not count: it is that of a forecaster that may have seen nothing.
    """
    hear_scores(q, experts, regrets, s, weights)
    x, known = debt(q, s), s[AT.seen] - 1.0
    if x <= -1.0:  # also in the first rounds, of a coverage so small that one hit is too many
        return -math.inf if empty else 0.0
    if x >= 1.0 or known < LEAST:
        return math.inf
    wider = widening(MEAN * math.exp(first), known) if known <= FEW else 1.0
    return float(s[AT.forecast] * (math.exp(push(x)) * wider))


@njit(cache=True)
def learn_score(
    score: float, q: float, first: float, experts: np.ndarray, regrets: np.ndarray, s: np.ndarray
) -> None:
    """Close a round of scores."""
    if 0.0 < score < TINY:
        score = TINY
    if s[AT.start] == 0.0:
        if score > 0.0:
            s[AT.start] = s[AT.high] = score
            for i in range(EXPERTS):
                experts[ROW.scale, i], experts[ROW.number, i] = score, 1.0
                experts[ROW.multiple, i] = first
        return
    settle(score, q, experts, regrets, s)
    s[AT.high] = max(s[AT.high], score)
    rare = min(q, 1.0 - q)
    early = 1.0 / (3.0 * (1.0 + rare * s[AT.learned]))
    s[AT.learned] += 1.0
    # By Markov's inequality a quantile is at most mean/(1 − q); where it is far below the mean,
    # little is lost by playing a twentieth of the first multiple. Without limits a run of zeros
    # would wind the multiple down for as long as it lasts, and what counts as an outlier,
    # WINSOR·p, with it.
    least, most = first - MARGIN, MARGIN - math.log(rare)
    for i in range(EXPERTS):
        p = experts[ROW.value, i]
        step = max(early, STEPS[i]) * ((1.0 - q) if p >= score else -q)
        multiple = experts[ROW.multiple, i] - step
        if i >= SCALED:
            experts[ROW.multiple, i] = min(max(multiple, -SPAN), SPAN)
            continue
        experts[ROW.multiple, i] = min(max(multiple, least), most)
        experts[ROW.number, i] = (1.0 - 1.0 / MEMORIES[i]) * experts[ROW.number, i] + 1.0
        scale = experts[ROW.scale, i]
        scale += (min(score, WINSOR * max(p, scale)) - scale) / experts[ROW.number, i]
        experts[ROW.scale, i] = max(scale, DIGITS * s[AT.high])


@njit(cache=True)
def quantile(
    q: float, experts: np.ndarray, regrets: np.ndarray, s: np.ndarray, weights: np.ndarray
) -> float:
    """Open a round of values: the guarded quantile. Unguarded it is origin + forecast."""
    hear_values(q, experts, regrets, s, weights)
    x = debt(q, s)
    if x >= 1.0:
        return math.inf
    if x <= -1.0:
        return -math.inf
    return float(s[AT.origin] + (s[AT.forecast] + 2.0 * push(x) * experts[ROW.scale, MIDDLE]))


@njit(cache=True)
def learn_value(
    y: float, q: float, first: float, experts: np.ndarray, regrets: np.ndarray, s: np.ndarray
) -> None:
    """Close a round of values. They count from the first one."""
    if s[AT.start] == UNSEEN:
        s[AT.origin], s[AT.start] = y, LEVEL
        return
    y -= s[AT.origin]
    if s[AT.start] == LEVEL:
        if y != 0.0:
            y = math.copysign(max(abs(y), TINY), y)
            s[AT.start], s[AT.low], s[AT.high] = SPREAD, min(y, 0.0), max(y, 0.0)
            for i in range(EXPERTS):  # two values: their mean, and how far they are from it
                experts[ROW.centre, i], experts[ROW.scale, i] = 0.5 * y, 0.5 * abs(y)
                experts[ROW.number, i], experts[ROW.multiple, i] = 2.0, first
                if i >= SCALED:
                    experts[ROW.centre, i] += first * experts[ROW.scale, i]
        return
    settle(y, q, experts, regrets, s)
    s[AT.low], s[AT.high] = min(s[AT.low], y), max(s[AT.high], y)
    rare = min(q, 1.0 - q)
    early = 2.0 / (3.0 * (1.0 + rare * s[AT.learned]))
    s[AT.learned] += 1.0
    unit, most = experts[ROW.scale, MIDDLE], STRETCH / rare
    for i in range(EXPERTS):
        move = max(early, SIGNED[i]) * ((1.0 - q) if experts[ROW.value, i] >= y else -q)
        if i >= SCALED:
            experts[ROW.centre, i] -= move * unit
            continue
        experts[ROW.multiple, i] = min(max(experts[ROW.multiple, i] - move, -most), most)
        experts[ROW.number, i] = (1.0 - 1.0 / MEMORIES[i]) * experts[ROW.number, i] + 1.0
        scale, number = experts[ROW.scale, i], experts[ROW.number, i]
        gap = min(max(y - experts[ROW.centre, i], -WINSOR * scale), WINSOR * scale)
        experts[ROW.centre, i] += gap / number
        scale += (abs(gap) - scale) / number
        experts[ROW.scale, i] = max(scale, DIGITS * (s[AT.high] - s[AT.low]))

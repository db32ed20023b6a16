"""The mixture of VariationForecaster: means and filters over when the signal last changed.

Rounds are counted where y was seen. Means stand by level: those of age a, the rounds learnt from,
at level ⌊log₂ a⌋, the KEPT heaviest of them. Filters stand by class, one each.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import njit

LEVELS = 50  # 2^50 rounds
KEPT = 2  # means a level
# a newborn gets (HAZARD + PACE × changes so far)/(t + 1); what a mean leaves to a filter
HAZARD, PACE, SPLIT = 0.1, 0.35, 0.1
PULL = 0.5  # how many observations the mixture's forecast counts for in a newborn
# rounds that the local noise level is a mean over; where losses, in noise levels, turn linear
MEMORY, STEEP = 100.0, 3.0
LEAST = 1e-200  # weights do not fall below


class Member(NamedTuple):
    """Places of a mean, and of a filter, which has the first four and `ridge`."""

    mean: int = 0
    size: int = 1  # how many rounds it is worth
    weight: int = 2
    changes: int = 3  # expected in its line up to its start
    born: int = 4  # rounds seen at its start
    since: int = 5  # time of its start
    ridge: int = 4


class Places(NamedTuple):
    """Where each number stands in `Mixture.scalars`, those of the whole forecaster included."""

    time: int = 0  # of the open round, or the last one
    rounds: int = 1
    seen: int = 2  # rounds with an observation
    open: int = 3
    forecast: int = 4
    mixture: int = 5  # its forecast
    last: int = 6  # time of the last observation
    top: int = 7  # highest level in use
    overall: int = 8  # mean square of y less the mixture's forecast, over all rounds
    local: int = 9  # and over the last MEMORY or so
    low: int = 10  # the smallest y
    high: int = 11  # and the largest
    own: int = 12  # credit of the mixture
    range_cost: int = 13  # what changes of the range have cost, at most
    first_loss: int = 14  # of the first round
    alive: int = 15  # mixture and specialists in the round
    middle: int = 16  # of the range, which they are counted from
    changed: int = 17  # changes seen by the mixture, in expectation


class Mixture(NamedTuple):
    """Levels, or classes, first."""

    means: np.ndarray  # (LEVELS, KEPT + 1, 6), see Member
    filters: np.ndarray  # (LEVELS, 5), see Member
    counts: np.ndarray  # (LEVELS,): means in use
    scalars: np.ndarray  # see Places


OF, AT = Member(), Places()


@njit(cache=True)
def forecast(own: Mixture) -> float:
    """The mean of all forecasts under their weights, and of the changes behind them."""
    means, filters, counts, c = own
    total, value, changes = 0.0, 0.0, 0.0
    for level in range(int(c[AT.top]) + 1):
        for i in range(counts[level]):
            w = means[level, i, OF.weight]
            total += w
            value += w * (means[level, i, OF.mean] - c[AT.low])
            changes += w * means[level, i, OF.changes]
        w = filters[level, OF.weight]
        total += w
        value += w * (filters[level, OF.mean] - c[AT.low])
        changes += w * filters[level, OF.changes]
    c[AT.changed] = changes / total if total > 0.0 else -1.0
    return c[AT.low] + value / total if total > 0.0 else 0.0


@njit(cache=True)
def cost(distance: float) -> float:
    """Huber's loss of a distance in noise levels: an outlier says little about who is right."""
    x = abs(distance)
    return x * x if x <= STEEP else STEEP * (2.0 * x - STEEP)


@njit(cache=True)
def judge(y: float, noise: float, own: Mixture) -> None:
    """Weights times the likelihood of y."""
    means, filters, counts, c = own
    levels, best = int(c[AT.top]) + 1, math.inf
    for level in range(levels):
        for i in range(counts[level]):
            best = min(best, abs(y - means[level, i, OF.mean]))
        if filters[level, OF.weight] > 0.0:
            best = min(best, abs(y - filters[level, OF.mean]))
    least = cost(best / noise)
    for level in range(levels):
        for i in range(counts[level]):
            likely = math.exp(0.5 * (least - cost((y - means[level, i, OF.mean]) / noise)))
            means[level, i, OF.weight] = max(means[level, i, OF.weight] * likely, LEAST)
        if filters[level, OF.weight] > 0.0:
            likely = math.exp(0.5 * (least - cost((y - filters[level, OF.mean]) / noise)))
            filters[level, OF.weight] = max(filters[level, OF.weight] * likely, LEAST)


@njit(cache=True)
def hand(giver: np.ndarray, taker: np.ndarray, part: float) -> None:
    """Hand over part of a weight, and its changes with it."""
    given = part * giver[OF.weight]
    giver[OF.weight] -= given
    taker[OF.weight] += given
    taker[OF.changes] += given / taker[OF.weight] * (giver[OF.changes] - taker[OF.changes])


@njit(cache=True)
def copy(source: np.ndarray, target: np.ndarray) -> None:
    """One mean's fields; a loop compiles faster than an assignment of arrays."""
    for field in range(source.size):
        target[field] = source[field]


@njit(cache=True)
def promote(level: int, own: Mixture) -> None:
    """Move the oldest mean of a level up, leaving a filter whose window is its age.

    Of too many means the lightest is dropped.
    """
    means, filters, counts, c = own
    up, last = level + 1, counts[level + 1]
    copy(means[level, 0], means[up, last])
    counts[up] += 1
    counts[level] -= 1
    for i in range(counts[level]):
        copy(means[level, i + 1], means[level, i])
    c[AT.top] = max(c[AT.top], up)
    if SPLIT * means[up, last, OF.weight] > filters[up, OF.weight]:
        filters[up, OF.mean] = means[up, last, OF.mean]
        filters[up, OF.size] = means[up, last, OF.size]
        filters[up, OF.ridge] = (c[AT.seen] - means[up, last, OF.born]) * (
            c[AT.time] - means[up, last, OF.since]
        )
    hand(means[up, last], filters[up], SPLIT)
    if counts[up] > KEPT:
        worst = 0
        for i in range(1, counts[up]):
            if means[up, i, OF.weight] < means[up, worst, OF.weight]:
                worst = i
        # to its neighbour in time
        hand(means[up, worst], means[up, worst - 1 if worst > 0 else 1], 1.0)
        counts[up] -= 1
        for i in range(worst, counts[up]):
            copy(means[up, i + 1], means[up, i])


@njit(cache=True)
def absorb(y: float, own: Mixture) -> None:
    """The mixture takes in y."""
    means, filters, counts, c = own
    levels, total = int(c[AT.top]) + 1, 0.0
    for level in range(levels):
        for i in range(counts[level]):
            total += means[level, i, OF.weight]
        total += filters[level, OF.weight]
    part = (HAZARD + PACE * c[AT.changed]) / (c[AT.seen] + 2.0) if c[AT.seen] > 0.0 else 1.0
    if total > 0.0:
        for level in range(levels):
            for i in range(counts[level]):
                means[level, i, OF.weight] *= (1.0 - part) / total
            filters[level, OF.weight] *= (1.0 - part) / total
    young = counts[0]
    counts[0] += 1
    means[0, young, OF.mean] = c[AT.mixture]
    means[0, young, OF.size] = PULL if c[AT.seen] > 0.0 else 0.0
    means[0, young, OF.weight], means[0, young, OF.changes] = part, c[AT.changed] + 1.0
    means[0, young, OF.born], means[0, young, OF.since] = c[AT.seen], c[AT.time]
    residuals = c[AT.seen] - 1.0  # the first round's is the level, not noise
    if residuals >= 2.0 and c[AT.overall] > 0.0:
        noise = math.sqrt(max(c[AT.overall], c[AT.local]) * residuals / (residuals - 1.0))
        judge(y, noise, own)
    if c[AT.seen] > 0.0:
        error = (y - c[AT.mixture]) ** 2
        c[AT.overall] += (error - c[AT.overall]) / (residuals + 1.0)
        c[AT.local] += (error - c[AT.local]) / min(residuals + 1.0, MEMORY)
    gap = c[AT.time] - c[AT.last]
    for level in range(levels):
        for i in range(counts[level]):
            means[level, i, OF.size] += 1.0
            means[level, i, OF.mean] += (y - means[level, i, OF.mean]) / means[level, i, OF.size]
        if filters[level, OF.weight] > 0.0:
            old, ridge = filters[level, OF.size], filters[level, OF.ridge]
            filters[level, OF.size] = 1.0 + (
                old / (1.0 + old * gap / ridge) if ridge > 0.0 else 0.0
            )
            filters[level, OF.mean] += (y - filters[level, OF.mean]) / filters[level, OF.size]
    if c[AT.seen] == 0.0:
        # class 0 is the last value
        filters[0, OF.mean], filters[0, OF.size], filters[0, OF.ridge] = y, 1.0, 0.0
    hand(means[0, young], filters[0], SPLIT)
    c[AT.seen] += 1.0
    for level in range(levels - 1, -1, -1):
        if counts[level] > 0 and c[AT.seen] - means[level, 0, OF.born] >= 2.0 ** (level + 1):
            promote(level, own)
    c[AT.last] = c[AT.time]

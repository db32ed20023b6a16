"""One slow estimate of all scores, for trackers that take turns and have few of their own.

The mean score over 100 rounds or four a turn, whichever is more, times a factor that moves by hits
and misses of what the estimate said when the round was opened, with the c-th part of a tracker's
step: targets come c − 1 rounds late, and a longer step would swing. With two sides it is one
estimate a side, of residuals.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import njit
from stillpoint.intervals._experts import (
    AIM,
    FEW,
    LEAST,
    MARGIN,
    MEAN,
    STRETCH,
    WINSOR,
    widening,
)
from stillpoint.intervals._interval import side_widening


class Slow(NamedTuple):
    """Places in `slow`."""

    centre: int = 0  # of residuals; a radius has none
    scale: int = 1  # mean distance from the centre, or mean score
    multiple: int = 2  # of the scale; of scores its logarithm
    number: int = 3  # of scores in the averages
    learnt: int = 4  # scores so far
    square: int = 5  # of residuals in units of the scale, their mean,
    product: int = 6  # and that of their products with the one before,
    before: int = 7  # which this is


SLOW = Slow()
MEMORY, TURNS = 100.0, 4.0  # of the averages: so many rounds at least, and so many a turn
STEP, SIGNED = 0.02, 0.04  # least step of the factor, for scores and for residuals


@njit(cache=True)
def worth(slow: np.ndarray) -> float:
    """How many independent scores an estimate's own are worth, at least 2.

    n(1 − ρ²)/(1 + ρ²), for residuals whose correlation with the one before is ρ: targets that come
    late are often far ahead, and errors of forecasts that far ahead overlap.
    """
    if slow[SLOW.square] == 0.0:
        return float(slow[SLOW.learnt])
    squared = min(max(slow[SLOW.product] / slow[SLOW.square], 0.0), 1.0) ** 2
    return float(max(slow[SLOW.learnt] * (1.0 - squared) / (1.0 + squared), LEAST))


@njit(cache=True)
def say(two_sided: bool, aim: np.ndarray, slow: np.ndarray) -> float:
    """What a slow estimate says now; NaN before it has learnt enough."""
    if slow[SLOW.learnt] < (LEAST + 1.0 if two_sided else LEAST):
        return math.nan
    n, first, wider = worth(slow), aim[AIM.first], 1.0
    if two_sided:
        if n <= FEW:
            wider = side_widening(MEAN * first, max(n, LEAST + 1.0))
        return float(slow[SLOW.centre] + slow[SLOW.multiple] * slow[SLOW.scale] * wider)
    if n <= FEW:
        wider = widening(MEAN * math.exp(first), n)
    return float(math.exp(slow[SLOW.multiple]) * slow[SLOW.scale] * wider)


@njit(cache=True)
def learn_slow(
    e: float, y: float, said: float, aim: np.ndarray, two_sided: bool, turns: int, slow: np.ndarray
) -> None:
    """Learn a score or a side's residual y, to which it had said this; e: the residual y − f."""
    q, first = aim[AIM.level], aim[AIM.first]
    rare, n = min(q, 1.0 - q), slow[SLOW.learnt]
    slow[SLOW.learnt] += 1.0
    if n == 0.0 or (not two_sided and slow[SLOW.scale] == 0.0):
        slow[SLOW.multiple], slow[SLOW.number] = first, 1.0
        slow[SLOW.centre if two_sided else SLOW.scale] = y
        slow[SLOW.square] = slow[SLOW.product] = 1.0
        slow[SLOW.before] = e
        return
    if not math.isnan(said):
        least, early = (SIGNED, 2.0) if two_sided else (STEP, 1.0)
        step = max(early / (3.0 * (1.0 + rare * n / turns)), least) / turns
        slow[SLOW.multiple] -= step * ((1.0 - q) if said >= y else -q)
        low, high = first - MARGIN, MARGIN - math.log(rare)
        if two_sided:
            low, high = -STRETCH / rare, STRETCH / rare
        slow[SLOW.multiple] = min(max(slow[SLOW.multiple], low), high)
    number = (1.0 - 1.0 / max(MEMORY, TURNS * turns)) * slow[SLOW.number] + 1.0
    scale, slow[SLOW.number] = slow[SLOW.scale], number
    if scale > 0.0:
        now, then = e / scale, slow[SLOW.before] / scale
        now, then = min(max(now, -WINSOR), WINSOR), min(max(then, -WINSOR), WINSOR)
        slow[SLOW.square] += (now * now - slow[SLOW.square]) / number
        slow[SLOW.product] += (now * then - slow[SLOW.product]) / number
    slow[SLOW.before] = e
    if two_sided:
        gap = y - slow[SLOW.centre]
        if scale > 0.0:
            gap = min(max(gap, -WINSOR * scale), WINSOR * scale)
        slow[SLOW.centre] += gap / number
        slow[SLOW.scale] += (abs(gap) - scale) / number
    else:
        most = WINSOR * (scale if math.isnan(said) else max(said, scale))
        slow[SLOW.scale] += (min(y, most) - scale) / number

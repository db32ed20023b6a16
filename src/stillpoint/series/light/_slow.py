"""Slow estimates of scores, in rows of lanes: the formulas of `intervals._slow`."""

import math

import numpy as np

from stillpoint.core._lanes import exponential
from stillpoint.core.jit import njit
from stillpoint.core.lanes import Lanes, get, least, most, put, root, size, some, where
from stillpoint.intervals._experts import AIM, FEW, LEAST, MARGIN, MEAN, STRETCH, WINSOR
from stillpoint.intervals._slow import MEMORY, SIGNED, SLOW, STEP, TURNS
from stillpoint.series.light._plan import N, Plan

_SHORT = 1e-5  # exp(v) − 1 of less is its series


@njit(cache=True)
def worth(w: np.ndarray, at: int) -> Lanes:
    """How many independent scores an estimate's own are worth: see `_slow.worth`."""
    learnt, square = get(w, at + SLOW.learnt), get(w, at + SLOW.square)
    part = least(most(get(w, at + SLOW.product) / square, 0.0), 1.0)
    squared = part * part
    own = most(learnt * (1.0 - squared) / (1.0 + squared), LEAST)
    return where(square == 0.0, learnt, own)


@njit(cache=True)
def widening(z: float, scores: Lanes) -> Lanes:
    """`_experts.widening`."""
    b = (8.0 * scores + 3.0) / (8.0 * scores + 1.0)
    v = (b * z) * (b * z) / scores
    less_one = where(v < _SHORT, v + 0.5 * v * v, exponential(v) - 1.0)
    return root(scores * less_one) / z


@njit(cache=True)
def say(p: Plan, j: int, w: np.ndarray, at: int) -> Lanes:
    """What slow estimate j, at this place, says now; NaN before it has learnt enough."""
    two_sided, first = p.n[N.two_sided] > 0, p.aims[j, AIM.first]
    n, scale, multiple = worth(w, at), get(w, at + SLOW.scale), get(w, at + SLOW.multiple)
    few, fewest = n <= FEW, LEAST
    if two_sided:
        fewest = LEAST + 1.0
        said = multiple * scale
        if some(few):
            known = most(n, LEAST + 1.0)
            wider = widening(MEAN * first, known - 1.0) * root(1.0 + 1.0 / known)
            said = where(few, said * wider, said)
        said = get(w, at + SLOW.centre) + said
    else:
        said = exponential(multiple) * scale
        if some(few):
            wider = widening(MEAN * math.exp(first), n)
            said = where(few, said * wider, said)
    return where(get(w, at + SLOW.learnt) < fewest, math.nan, said)


@njit(cache=True)
def learn_slow(
    e: Lanes,
    y: Lanes,
    said: Lanes,
    p: Plan,
    j: int,
    turns: int,
    w: np.ndarray,
    at: int,
    learns: Lanes,
) -> None:
    """Learn a score or a side's residual y, to which it had said this; e: the residual y − f."""
    q, first, late = p.aims[j, AIM.level], p.aims[j, AIM.first], float(turns)
    two_sided = p.n[N.two_sided] > 0
    rare, n, scale = min(q, 1.0 - q), get(w, at + SLOW.learnt), get(w, at + SLOW.scale)
    put(w, at + SLOW.learnt, where(learns, n + 1.0, n))
    begins = learns & (n == 0.0)
    shortest, early, low, high = STEP, 1.0, first - MARGIN, MARGIN - math.log(rare)
    if two_sided:
        shortest, early, low, high = SIGNED, 2.0, -STRETCH / rare, STRETCH / rare
    else:
        begins = begins | (learns & (scale == 0.0))
    goes, told, multiple = learns & ~begins, said == said, get(w, at + SLOW.multiple)
    step = most(early / (3.0 * (1.0 + rare * n / late)), shortest) / late
    moved = least(most(multiple - step * where(said >= y, 1.0 - q, -q), low), high)
    multiple = where(goes & told, moved, multiple)
    put(w, at + SLOW.multiple, where(begins, first, multiple))
    before = get(w, at + SLOW.number)
    number = (1.0 - 1.0 / max(MEMORY, TURNS * late)) * before + 1.0
    put(w, at + SLOW.number, where(begins, 1.0, where(goes, number, before)))
    square, product = get(w, at + SLOW.square), get(w, at + SLOW.product)
    now, then = e / scale, get(w, at + SLOW.before) / scale
    now = least(most(now, -WINSOR), WINSOR)
    then = least(most(then, -WINSOR), WINSOR)
    known = goes & (scale > 0.0)
    more, other = square + (now * now - square) / number, product + (now * then - product) / number
    put(w, at + SLOW.square, where(begins, 1.0, where(known, more, square)))
    put(w, at + SLOW.product, where(begins, 1.0, where(known, other, product)))
    put(w, at + SLOW.before, where(learns, e, get(w, at + SLOW.before)))
    if two_sided:
        centre = get(w, at + SLOW.centre)
        gap, far = y - centre, WINSOR * scale
        gap = where(scale > 0.0, least(most(gap, -1.0 * far), far), gap)
        put(w, at + SLOW.centre, where(begins, y, where(goes, centre + gap / number, centre)))
        put(w, at + SLOW.scale, where(goes, scale + (size(gap) - scale) / number, scale))
    else:
        far = WINSOR * where(told, most(said, scale), scale)
        moved = scale + (least(y, far) - scale) / number
        put(w, at + SLOW.scale, where(begins, y, where(goes, moved, scale)))

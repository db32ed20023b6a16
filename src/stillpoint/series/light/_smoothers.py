"""Smoothing by phase, in rows of lanes: the formulas of `series._phases`."""

import numpy as np

from stillpoint.core.jit import njit
from stillpoint.core.lanes import Lanes, get, least, most, put, spread, where
from stillpoint.series._phases import AT as LEVELS
from stillpoint.series._phases import FORGET
from stillpoint.series.light._plan import BY, ES, Plan
from stillpoint.series.light._plan import OF as COUNT


@njit(cache=True)
def smoothed(w: np.ndarray, p: Plan, e: int, time: int, h: int) -> Lanes:
    """What smoother e says of a time, h steps ahead."""
    spec, steps = p.smoothers[e], p.steps[e]
    at = spec[ES.place]
    v = get(w, at + LEVELS.level)
    if spec[ES.first] > 0:
        v += get(w, at + len(LEVELS) + int(time % steps[BY.first]))
    if spec[ES.seasons] > 1 and spec[ES.second] > 0:
        v += get(w, at + len(LEVELS) + max(spec[ES.first], 1) + int(time % steps[BY.second]))
    if steps[BY.memory] > 0.0:
        factor, square, rest = spread(1.0), get(w, at + LEVELS.r), h
        while rest > 0:  # r^h
            if rest % 2 > 0:
                factor *= square
            square *= square
            rest //= 2
        v += factor * get(w, at + LEVELS.last)
    return v


@njit(cache=True)
def smooth_all(w: np.ndarray, y: Lanes, log: Lanes, seen: Lanes, logs: Lanes, p: Plan) -> None:
    """All smoothers take in a value and its logarithm, or only time passes."""
    now = p.c[COUNT.now]
    for e in range(p.smoothers.shape[0]):
        spec, steps = p.smoothers[e], p.steps[e]
        at, first, second = spec[ES.place], max(spec[ES.first], 1), max(spec[ES.second], 1)
        i = at + len(LEVELS) + int(now % steps[BY.first])
        j = at + len(LEVELS) + first + int(now % steps[BY.second])
        one, two = i + first + second, j + first + second  # values seen
        level, last = get(w, at + LEVELS.level), get(w, at + LEVELS.last)
        r = get(w, at + LEVELS.r)
        for place in (one, two):
            put(w, place, get(w, place) + where(seen, 1.0, 0.0))
        both = spec[ES.seasons] > 1 and spec[ES.second] > 0
        error = (where(logs, log, y) if spec[ES.log] > 0 else y) - level
        if spec[ES.first] > 0:
            error -= get(w, i)
        if both:
            error -= get(w, j)
        new = error
        if steps[BY.memory] > 0.0:
            products, squares = get(w, at + LEVELS.products), get(w, at + LEVELS.squares)
            more, larger = FORGET * products + error * last, FORGET * squares + last * last
            new = new - r * last
            again = where(larger > 0.0, least(most(more / larger, 0.0), 0.999), 0.0)
            put(w, at + LEVELS.products, where(seen, more, products))
            put(w, at + LEVELS.squares, where(seen, larger, squares))
            put(w, at + LEVELS.r, where(seen, again, r))
        new = where(seen, new, 0.0)
        a = max(steps[BY.level], 1.0 / (now + 2.0))
        put(w, at + LEVELS.level, level + a * new)
        rest = (1.0 - a) * new
        if spec[ES.first] > 0:
            put(w, i, get(w, i) + most(1.0 / (get(w, one) + 0.5), steps[BY.phase]) * rest)
        if both:
            put(w, j, get(w, j) + most(1.0 / (get(w, two) + 2.0), steps[BY.phase]) * rest)
        put(w, at + LEVELS.last, where(seen, error, last * r))

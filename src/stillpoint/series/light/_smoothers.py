"""Smoothing by phase, in the row of a series: the formulas of `series._phases`."""

import numpy as np

from stillpoint.core.jit import njit
from stillpoint.series._phases import AT as LEVELS
from stillpoint.series._phases import FORGET
from stillpoint.series.light._plan import BY, ES, Plan
from stillpoint.series.light._plan import OF as COUNT


@njit(cache=True)
def smoothed(w: np.ndarray, spec: np.ndarray, steps: np.ndarray, time: int, h: int) -> float:
    """What a smoother says of a time, h steps ahead."""
    at = spec[ES.place]
    v = w[at + LEVELS.level]
    if spec[ES.first] > 0:
        v += w[at + len(LEVELS) + int(time % steps[BY.first])]
    if spec[ES.seasons] > 1 and spec[ES.second] > 0:
        v += w[at + len(LEVELS) + max(spec[ES.first], 1) + int(time % steps[BY.second])]
    if steps[BY.memory] > 0.0:
        v += w[at + LEVELS.r] ** h * w[at + LEVELS.last]
    return float(v)


@njit(cache=True, forceinline=True)
def smooth_all(w: np.ndarray, c: np.ndarray, y: float, log: float, seen: bool, p: Plan) -> None:
    """All smoothers take in a value and its logarithm, or only time passes."""
    now, logs = c[COUNT.now], c[COUNT.logs] > 0
    for e in range(p.smoothers.shape[0]):
        spec, steps = p.smoothers[e], p.steps[e]
        at, first, second = spec[ES.place], max(spec[ES.first], 1), max(spec[ES.second], 1)
        i = at + len(LEVELS) + int(now % steps[BY.first])
        j = at + len(LEVELS) + first + int(now % steps[BY.second])
        level = w[at : at + len(LEVELS)]
        if not seen:
            level[LEVELS.last] *= level[LEVELS.r]
            continue
        w[i + first + second] += 1.0
        w[j + first + second] += 1.0
        two = spec[ES.seasons] > 1 and spec[ES.second] > 0
        error = (log if logs and spec[ES.log] > 0 else y) - level[LEVELS.level]
        if spec[ES.first] > 0:
            error -= w[i]
        if two:
            error -= w[j]
        new = error
        if steps[BY.memory] > 0.0:
            last = level[LEVELS.last]
            level[LEVELS.products] = FORGET * level[LEVELS.products] + error * last
            level[LEVELS.squares] = FORGET * level[LEVELS.squares] + last * last
            new -= level[LEVELS.r] * last
            level[LEVELS.r] = 0.0
            if level[LEVELS.squares] > 0.0:
                r = level[LEVELS.products] / level[LEVELS.squares]
                level[LEVELS.r] = min(max(r, 0.0), 0.999)
        a = max(steps[BY.level], 1.0 / (now + 2.0))
        level[LEVELS.level] += a * new
        rest = (1.0 - a) * new
        if spec[ES.first] > 0:
            w[i] += max(steps[BY.phase], 1.0 / (w[i + first + second] + 0.5)) * rest
        if two:
            w[j] += max(steps[BY.phase], 1.0 / (w[j + first + second] + 2.0)) * rest
        level[LEVELS.last] = error

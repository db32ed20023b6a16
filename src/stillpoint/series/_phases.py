"""Smoothing by phase: a level and a value for each phase of a season, with gains that stay.

The steady state of the filter for the kernel 1[s ≡ t mod m]·min(s, t) beside a level, O(1) a round
(Holt-Winters without trend; Winters, Forecasting sales by exponentially weighted moving averages,
1960). Where `memory` is asked for, what is left of the last round is expected again, times r, its
own regression.

    e = y − (l + s₁ + s₂);  r = Σ e e_prev/Σ e_prev² (forgetting 0.999);  e' = e − r e_prev
    a = max(α, 1/(t + 2));  l += a e'
    s₁ += max(γ, 1/(n + ½))(1 − a)e';  s₂ += max(γ, 1/(n + 2))(1 − a)e'
"""

from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import njit

FORGET = 0.999


class Spec(NamedTuple):
    """Columns of `specs`."""

    log: int = 0
    seasons: int = 1  # how many of them: 1, or all there are
    level: int = 2  # α
    phase: int = 3  # γ
    memory: int = 4  # whether residuals are expected again


class Level(NamedTuple):
    """Columns of `levels`."""

    level: int = 0
    r: int = 1
    last: int = 2  # e of the last round
    products: int = 3
    squares: int = 4


class Phases(NamedTuple):
    """Smoothers of one series."""

    specs: np.ndarray  # (E, 5), see Spec
    periods: np.ndarray  # the seasons
    levels: np.ndarray  # (E, 5), see Level
    first: np.ndarray  # (E, phases of the first season)
    second: np.ndarray  # (E, phases of the second)
    first_seen: np.ndarray  # values seen in each phase
    second_seen: np.ndarray


OF, AT = Spec(), Level()


@njit(cache=True)
def forecast(e: int, p: Phases, now: int, knots: np.ndarray, out: np.ndarray) -> None:
    """out[i] = what smoother e says of time now + knots[i] − 1."""
    level = p.levels[e]
    for k in range(knots.size):
        time = now + knots[k] - 1
        v = level[AT.level]
        if p.periods.size > 0:
            v += p.first[e, int(time % p.periods[0])]
        if p.specs[e, OF.seasons] > 1.5 and p.periods.size > 1:
            v += p.second[e, int(time % p.periods[1])]
        if p.specs[e, OF.memory] > 0.0:
            v += level[AT.r] ** knots[k] * level[AT.last]
        out[k] = v


@njit(cache=True)
def close_round(value: float, log: float, seen: bool, now: int, age: int, p: Phases) -> None:
    """All smoothers take in a value and its logarithm, or only time passes."""
    i = int(now % p.periods[0]) if p.periods.size > 0 else 0
    j = int(now % p.periods[1]) if p.periods.size > 1 else 0
    if seen:
        p.first_seen[i] += 1.0
        p.second_seen[j] += 1.0
    for e in range(p.specs.shape[0]):
        spec, level = p.specs[e], p.levels[e]
        if not seen:
            level[AT.last] *= level[AT.r]
            continue
        two = spec[OF.seasons] > 1.5 and p.periods.size > 1
        error = (log if spec[OF.log] > 0.0 else value) - level[AT.level]
        if p.periods.size > 0:
            error -= p.first[e, i]
        if two:
            error -= p.second[e, j]
        new = error
        if spec[OF.memory] > 0.0:
            last = level[AT.last]
            level[AT.products] = FORGET * level[AT.products] + error * last
            level[AT.squares] = FORGET * level[AT.squares] + last * last
            new -= level[AT.r] * last
            level[AT.r] = 0.0
            if level[AT.squares] > 0.0:
                level[AT.r] = min(max(level[AT.products] / level[AT.squares], 0.0), 0.999)
        a = max(spec[OF.level], 1.0 / (age + 2.0))
        level[AT.level] += a * new
        rest = (1.0 - a) * new
        if p.periods.size > 0:
            p.first[e, i] += max(spec[OF.phase], 1.0 / (p.first_seen[i] + 0.5)) * rest
        if two:
            p.second[e, j] += max(spec[OF.phase], 1.0 / (p.second_seen[j] + 2.0)) * rest
        level[AT.last] = error

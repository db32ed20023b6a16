"""Structural filters: level, slope, a damped deviation and drifting seasons, by tables of gains.

A filter is ridge regression on time in the RKHS of

    k(s, t) = q_l min(s, t) + (slope) + c_r ρ^|s−t|
              + Σ_j (10 + q_s min(s, t)) k_j^{-3/2} cos 2πf_j(s − t)

(see `gains`). Its mean is kept here, P numbers; what it adds to the mean when a value comes, the
gain, depends on the model and the age of the series alone once harmonics are seen in the frame that
turns with them, and is read from a table that all series share: O(P) a round.

Values that are missing make the true covariance larger than the table's, by about x rounds of
drift (x_l of the level, x_s of the seasons). For one random walk the rule below is exact: with p
and p' the variances with and without the gap, k and k' the gains,
p/(1+p) − p'/(1+p') = (p − p')(1 − k)(1 − k').
"""

from typing import NamedTuple

import numpy as np

from stillpoint.core.arithmetic import dot
from stillpoint.core.jit import njit

BASE = 3  # level, slope and deviation come before the harmonics


class Model(NamedTuple):
    """Places of a model, see `gains.Model`."""

    level: int = 0  # q_l, drift of the level; all in units of the noise's variance
    seasons: int = 1  # q_s, drift of the seasons, times k^{-3/2}
    damping: int = 2  # φ of the slope
    slope: int = 3  # q_b, drift of the slope; below 0: there is none
    memory: int = 4  # ρ of the deviation
    deviation: int = 5  # c_r, its variance; 0: there is none


class Place(NamedTuple):
    """Places of a mean."""

    level: int = 0
    slope: int = 1
    deviation: int = 2


class Kind(NamedTuple):
    """Columns of `kinds`."""

    log: int = 0  # whether it filters logarithms
    model: int = 1  # row of `models` and of the tables


class Filters(NamedTuple):
    """Structural filters of one series; tables and harmonics are shared."""

    kinds: np.ndarray  # (F, 2) ints, see Kind
    models: np.ndarray  # (M, 6), see Model
    frequencies: np.ndarray  # (Q, 2)
    smooth: np.ndarray  # (n,)
    gains: np.ndarray  # (M, rows, P): gains by age, in the turning frame
    variances: np.ndarray  # (M, rows): S, variance of what is forecast, the noise's included
    row_of_age: np.ndarray  # (ages,) ints; later ages have the last one's
    means: np.ndarray  # (F, P)
    gaps: np.ndarray  # (F, 2): x_l, x_s
    seasonal: np.ndarray  # (3,): the first filter's seasonal part, as forecast for the last rounds


OF, AT, IS = Model(), Place(), Kind()
GAP = 1e-3  # rounds of drift below which a gap is forgotten


@njit(cache=True)
def season(mean: np.ndarray, row: np.ndarray) -> float:
    """The seasonal part of a mean, at the time whose harmonics are in row."""
    return dot(mean[BASE:], row)


@njit(cache=True)
def forecast(
    mean: np.ndarray,
    model: np.ndarray,
    rows: np.ndarray,
    now: int,
    knots: np.ndarray,
    out: np.ndarray,
) -> None:
    """out[i] = the forecast of time now + knots[i] − 1, knots increasing from 1."""
    slope, power, memory, k = 0.0, 1.0, 1.0, 0
    for h in range(1, knots[-1] + 1):
        if h > 1:
            slope += mean[AT.slope] * power
            power *= model[OF.damping]
            memory *= model[OF.memory]
        if h == knots[k]:
            part = season(mean, rows[(now + h - 1) % rows.shape[0]])
            out[k] = mean[AT.level] + slope + memory * mean[AT.deviation] + part
            k += 1


@njit(cache=True)
def learn(
    error: float,
    mean: np.ndarray,
    model: np.ndarray,
    gain: np.ndarray,
    S: float,
    gaps: np.ndarray,
    frequencies: np.ndarray,
    smooth: np.ndarray,
    row: np.ndarray,
) -> None:
    """Add the gain times the error, which is y less the forecast of this round."""
    part, level, seasons = 1.0, 0.0, 0.0
    if gaps[0] + gaps[1] > GAP:
        total, j = 0.0, 0
        for q in range(frequencies.shape[0]):
            total += smooth[j]
            j += 2 if frequencies[q, 1] > 0.0 else 1
        wider = S + gaps[0] * model[OF.level] + gaps[1] * model[OF.seasons] * total
        part = S / wider
        level = gaps[0] * model[OF.level] / wider
        seasons = gaps[1] * model[OF.seasons] / wider
        gaps[0] *= (1.0 - part * gain[AT.level] - level) * (1.0 - gain[AT.level])
        if smooth.size > 0:
            gaps[1] *= 1.0 - part * gain[BASE] - seasons
    own = part * error
    mean[AT.level] += gain[AT.level] * own + level * error
    mean[AT.slope] += gain[AT.slope] * own
    mean[AT.deviation] += gain[AT.deviation] * own
    j = 0
    for q in range(frequencies.shape[0]):
        along, c = gain[BASE + j] * own + seasons * smooth[j] * error, row[j]
        if frequencies[q, 1] > 0.0:
            across, s = gain[BASE + j + 1] * own, row[j + 1]
            mean[BASE + j] += along * c - across * s
            mean[BASE + j + 1] += along * s + across * c
            j += 2
        else:
            mean[BASE + j] += along * c
            j += 1


@njit(cache=True)
def advance(mean: np.ndarray, model: np.ndarray) -> None:
    """Move a mean to the next time."""
    if model[OF.slope] >= 0.0:
        mean[AT.level] += mean[AT.slope]
        mean[AT.slope] *= model[OF.damping]
    if model[OF.deviation] > 0.0:
        mean[AT.deviation] *= model[OF.memory]


@njit(cache=True)
def close_round(
    value: float, log: float, seen: bool, age: int, row: np.ndarray, f: Filters
) -> None:
    """All filters take in a value and its logarithm, or only time passes, and move on."""
    at = f.row_of_age[min(age, f.row_of_age.size - 1)]
    for i in range(f.kinds.shape[0]):
        mean, m = f.means[i], f.kinds[i, IS.model]
        part = season(mean, row)
        if i == 0:
            f.seasonal[0], f.seasonal[1], f.seasonal[2] = f.seasonal[1], f.seasonal[2], part
        if seen:
            target = log if f.kinds[i, IS.log] > 0 else value
            error = target - mean[AT.level] - mean[AT.deviation] - part
            learn(
                error,
                mean,
                f.models[m],
                f.gains[m, at],
                f.variances[m, at],
                f.gaps[i],
                f.frequencies,
                f.smooth,
                row,
            )
        else:
            f.gaps[i, 0] += 1.0
            f.gaps[i, 1] += 1.0
        advance(mean, f.models[m])

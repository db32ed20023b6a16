"""Rolling origins, and the scores of what was forecast from them.

The first two fifths of a series are not scored. One step ahead every later round counts; further
ahead the forecasts of one whole horizon, made at `ORIGINS` evenly spread rounds.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.validation import Array
from stillpoint.lab.series.data import Series

ORIGINS = 40
COVERAGE = 0.9
QUANTILE = 1.6448536269514722  # of the standard normal, for intervals of that coverage
Rounds = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method forecast on a series of T rounds with n origins and horizon H.

    Parameters
    ----------
    one
        (T,): one[t] is the forecast of y[t] made before it was seen; NaN where there is none.
    paths
        (n, H): row i has the forecasts of y[o], …, y[o + H − 1] made before y[o], o the i-th
        origin; None if the method only looks one step ahead.
    near
        Lower and upper ends around `one`, or None.
    far
        Lower and upper ends around `paths`, or None.
    seconds
        What learning and forecasting one step ahead took, None if it was not done.
    played
        Over how many rounds.
    """

    one: Array | None
    paths: Array | None
    near: tuple[Array, Array] | None = None
    far: tuple[Array, Array] | None = None
    seconds: float | None = None
    played: int = 0


@dataclass(frozen=True)
class Entrant:
    """A method that plays on series.

    Parameters
    ----------
    play
        Its forecasts of a series from these origins.
    package
        What it needs installed; "" for nothing.
    family
        Methods of one family are also shown as their best in hindsight.
    """

    name: str
    play: Callable[[Series, Rounds], Outcome]
    package: str = ""
    family: str = ""


@dataclass(frozen=True)
class Score:
    """The scores of one method on one series; None where it has no such forecasts.

    mse1, mae1, mase1, winkler1, coverage1: one step ahead. mseh, …: over a horizon. mase: the
    absolute error over that of the seasonal naive in the part that is not scored. us: microseconds
    a round. note: why it did not play.
    """

    series: str
    method: str
    mse1: float | None = None
    mae1: float | None = None
    mase1: float | None = None
    winkler1: float | None = None
    coverage1: float | None = None
    mseh: float | None = None
    maeh: float | None = None
    maseh: float | None = None
    winklerh: float | None = None
    coverageh: float | None = None
    us: float | None = None
    note: str = ""


def first_scored(rounds: int) -> int:
    """The first round that counts."""
    return int(0.4 * rounds)


def origins(rounds: int, horizon: int, most: int = ORIGINS) -> Rounds:
    """Evenly spread rounds at which a whole horizon is forecast."""
    start, end = first_scored(rounds), rounds - horizon
    if end < start:
        raise ValueError(
            f"series must be longer: got {rounds} rounds for a horizon of {horizon}; give at least"
            f" {math.ceil(horizon / 0.6) + 1}"
        )
    return np.unique(np.linspace(start, end, most).astype(np.int64))


def ahead(y: Array, at: Rounds, horizon: int) -> Array:
    """The values of the next `horizon` rounds from each origin: (n, horizon)."""
    found: Array = y[at[:, None] + np.arange(horizon)]
    return found


def score(series: Series, method: str, at: Rounds, outcome: Outcome) -> Score:
    """Score what a method forecast."""
    y = series.y
    scale = _scale(y, series.period)
    start = first_scored(y.size)
    figures: dict[str, Any] = {}
    if outcome.one is not None:
        bounds = None if outcome.near is None else tuple(end[start:] for end in outcome.near)
        figures |= _scores(y, y[start:], outcome.one[start:], bounds, scale, "1")
    if outcome.paths is not None:
        target = ahead(y, at, outcome.paths.shape[1])
        figures |= _scores(y, target, outcome.paths, outcome.far, scale, "h")
    us = None if outcome.seconds is None else 1e6 * outcome.seconds / max(outcome.played, 1)
    return Score(series.name, method, **figures, us=us)


def normal_band(y: Array, one: Array) -> tuple[Array, Array]:
    """Ends 1.645 root mean squared past errors away: for methods without intervals of their own."""
    square = np.square(y - one)
    seen = ~np.isnan(square)
    total = np.cumsum(np.where(seen, square, 0.0))
    past = np.concatenate([[0.0], total[:-1]]) / np.maximum(
        np.concatenate([[0], np.cumsum(seen)[:-1]]), 1
    )
    radius = QUANTILE * np.sqrt(past)
    return one - radius, one + radius


def _scale(y: Array, period: int) -> float:
    """Mean absolute error of the seasonal naive before scoring starts; NaN if it has none."""
    early = y[: max(first_scored(y.size), period + 1)]
    errors = np.abs(early[period:] - early[:-period])
    errors = errors[~np.isnan(errors)]
    return float(errors.mean()) if errors.size and errors.any() else math.nan


def _scores(
    y: Array,
    target: Array,
    forecast: Array,
    bounds: tuple[Array, ...] | None,
    scale: float,
    ending: str,
) -> dict[str, float | None]:
    seen = ~np.isnan(target)
    error = target[seen] - forecast[seen]
    mae = float(np.abs(error).mean())
    found: dict[str, float | None] = {"mse": float(np.square(error).mean()), "mae": mae}
    found["mase"] = mae / scale
    if bounds is not None:
        found["winkler"], found["coverage"] = _interval(y, target[seen], *(b[seen] for b in bounds))
    return {
        name + ending: value if value is not None and math.isfinite(value) else None
        for name, value in found.items()
    }


def _interval(y: Array, target: Array, lo: Array, hi: Array) -> tuple[float, float]:
    """Winkler's score, and the share of targets inside.

    An end further away than the series' whole range is counted there, so that an infinite one
    leaves a finite score.
    """
    least, most = float(np.nanmin(y)), float(np.nanmax(y))
    reach = most - least
    inside = float(((lo <= target) & (target <= hi)).mean())
    lo, hi = np.clip(lo, least - reach, most), np.clip(hi, least, most + reach)
    missed = np.maximum(lo - target, 0.0) + np.maximum(target - hi, 0.0)
    return float((hi - lo + 2.0 / (1.0 - COVERAGE) * missed).mean()), inside

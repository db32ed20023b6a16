"""Last value, seasonal naive, and ours: what needs no other package."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np

from stillpoint.lab.series.data import Series
from stillpoint.lab.series.scoring import (
    COVERAGE,
    QUANTILE,
    Outcome,
    Rounds,
    ahead,
    normal_band,
)

POOLS = ("small", "middle", "full")
_WARM = 1000  # rounds, at most, of the run that compiles: seasons are found or taken in by then


def naive(series: Series, at: Rounds) -> Outcome:
    """The last value."""
    return _repeat(series, at, 1)


def seasonal_naive(series: Series, at: Rounds) -> Outcome:
    """The value of one season ago; the last value for a series without seasons."""
    return _repeat(series, at, series.period)


def _repeat(series: Series, at: Rounds, period: int) -> Outcome:
    """The last `period` values over and over.

    The radius at h is that of a normal with the mean square of all errors at h that were known.
    """
    y, horizon = series.filled, series.horizon
    start = perf_counter()
    one = np.concatenate([np.full(period, y[0]), y[:-period]])
    seconds = perf_counter() - start
    steps = np.arange(horizon)
    back = period * (steps // period + 1)  # from the round that is forecast to the one repeated
    paths = ahead(y, at - period, period)[:, steps % period]
    radius = np.zeros((at.size, horizon))
    for h in range(horizon):
        square = np.square(y[back[h] :] - y[: -back[h]])
        mean = np.cumsum(square) / np.arange(1, square.size + 1)
        known = at - 1 - back[h]  # errors up to the round before the origin
        radius[:, h] = QUANTILE * np.sqrt(np.where(known >= 0, mean[np.maximum(known, 0)], np.inf))
    return Outcome(
        one, paths, normal_band(series.y, one), (paths - radius, paths + radius), seconds, y.size
    )


@dataclass(frozen=True)
class Ours:
    """`sp.Forecaster`, told the seasons or nothing, through its public face alone.

    Parameters
    ----------
    told
        Whether it is given the seasons; else it finds them.
    pool
        "small", "middle" or "full".
    make
        The class, or anything called as it is; None for `sp.Forecaster`.
    """

    told: bool = False
    pool: str = "full"
    make: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        if self.pool not in POOLS:
            raise ValueError(
                f"pool must be one of {', '.join(POOLS)}: got {self.pool!r}; full is largest"
            )

    def model(self, horizon: int, seasons: tuple[int, ...], **more: Any) -> Any:
        """A fresh forecaster, with `more` arguments of its class."""
        make = self.make or import_module("stillpoint").Forecaster
        season = (list(seasons) or None) if self.told else "auto"
        return make(horizon, season=season, pool=self.pool, **more)

    def __call__(self, series: Series, at: Rounds) -> Outcome:
        """Track the whole series, and then from origin to origin, with a forecast at each."""
        y, horizon = series.y, series.horizon
        fresh = partial(self.model, horizon, series.seasons, coverage=COVERAGE)
        fresh().track(y[:_WARM], intervals=True)
        whole = fresh()
        start = perf_counter()
        one, below, above = whole.track(y, intervals=True)
        seconds = perf_counter() - start
        paths, lo, hi = (np.empty((at.size, horizon)) for _ in range(3))
        model = fresh()
        for i, end in enumerate(at):
            model.track(y[at[i - 1] if i else 0 : end])
            paths[i] = model.predict(horizon=horizon)
            lo[i], hi[i] = model.interval(horizon=horizon)
        return Outcome(one, paths, (below, above), (lo, hi), seconds, y.size)

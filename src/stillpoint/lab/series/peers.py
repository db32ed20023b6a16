"""Forecasters of river, statsforecast and LightGBM.

All are told the seasons. Where a value is missing they get the last one seen. What they forecast,
LightGBM apart, is kept within the range so far, widened by itself on both sides: some diverge.
"""

import warnings
from collections.abc import Callable
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.lab.series.data import Series
from stillpoint.lab.series.scoring import (
    COVERAGE,
    Entrant,
    Outcome,
    Rounds,
    first_scored,
    normal_band,
)

FITS = (0.3, 0.475, 0.65, 0.825)  # shares of the series at which batch methods are fitted
WINDOW = 2000  # values that they are fitted to, at most
SHORT_SEASON = 24  # the longest that AutoETS is given: beyond it takes minutes a fit
_LEVEL = round(100 * COVERAGE)


def river_winters(series: Series, at: Rounds) -> Outcome:
    """Holt and Winters' additive smoothing; river has no defaults for its constants."""
    models = import_module("river.time_series")
    season = series.period if series.seasons else 0
    model = models.HoltWinters(alpha=0.3, beta=0.01, gamma=0.3, seasonality=season)
    return _river(model, series, at)


def river_arima(series: Series, at: Rounds) -> Outcome:
    """SNARIMAX of order 3, 0, 1 with seasonal orders 2, 0, 1, or 3, 0, 0 without a season.

    With the default regression it diverges on series of large numbers: the target is scaled.
    """
    models, linear, scaling = (
        import_module(f"river.{part}") for part in ("time_series", "linear_model", "preprocessing")
    )
    regressor = scaling.TargetStandardScaler(
        regressor=scaling.StandardScaler() | linear.LinearRegression(intercept_lr=0.1)
    )
    orders = {"q": 1, "m": series.period, "sp": 2, "sq": 1} if series.seasons else {"q": 0}
    return _river(models.SNARIMAX(p=3, d=0, regressor=regressor, **orders), series, at)


def _river(model: Any, series: Series, at: Rounds) -> Outcome:
    y, horizon = series.filled, series.horizon
    low, high = _range(y)
    one, paths = np.empty(y.size), np.empty((at.size, horizon))
    start, aside, todo = perf_counter(), 0.0, 0
    with np.errstate(all="ignore"):
        for t in range(y.size):
            if todo < at.size and t == at[todo]:
                mark = perf_counter()
                paths[todo] = _ask(model, horizon, y[t - 1], low[t], high[t])
                todo, aside = todo + 1, aside + perf_counter() - mark
            one[t] = _ask(model, 1, y[t - 1] if t else y[0], low[t], high[t])[0]
            model.learn_one(float(y[t]))
    seconds = perf_counter() - start - aside
    return Outcome(one, paths, normal_band(series.y, one), None, seconds, y.size)


def _ask(model: Any, horizon: int, last: float, low: float, high: float) -> Array:
    """What the model says, or the last value while it collects its first season."""
    try:
        said = np.array(model.forecast(horizon=horizon), dtype=np.float64)
    except (IndexError, TypeError, AttributeError, ValueError, OverflowError):
        return np.full(horizon, last)
    return _kept(np.where(np.isfinite(said), said, last), low, high)


def ets(series: Series, at: Rounds) -> Outcome:
    """AutoETS: the best of all exponential smoothings by information criterion.

    Its states follow every value between fits.
    """
    season = series.period if series.period <= SHORT_SEASON else 1
    make = import_module("statsforecast.models").AutoETS
    return _fitted(lambda: make(season_length=season), series, at, season, causal=True)


def theta(series: Series, at: Rounds) -> Outcome:
    """AutoTheta; its seasonal indices are found anew at each forecast."""
    make = import_module("statsforecast.models").AutoTheta
    season = series.period
    return _fitted(lambda: make(season_length=season), series, at, season, causal=False)


def _fitted(
    make: Callable[[], Any], series: Series, at: Rounds, season: int, *, causal: bool
) -> Outcome:
    """Fit a few times, and take in values between fits with the constants of the last.

    causal: whether fitted values depend on earlier ones alone, so that one pass has them all.
    """
    y, horizon = series.filled, series.horizon
    low, high = _range(y)
    fits = [max(int(share * y.size), 2 * season + 1, 10) for share in FITS]
    one, paths = _before(y, at, horizon, fits[0])
    lo, hi = np.full_like(paths, -np.inf), np.full_like(paths, np.inf)
    seconds = 0.0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for first, end in _spans(fits, y.size):
            start, begin = perf_counter(), max(0, first - WINDOW)
            model = make().fit(y[begin:first])
            if causal:
                said = model.forward(y[begin:end], h=1, fitted=True)["fitted"]
                one[first:end] = said[first - begin :]
            else:
                for t in range(first, end):
                    one[t] = model.forward(y[max(0, t - WINDOW) : t], h=1)["mean"][0]
            seconds += perf_counter() - start
            for i in np.flatnonzero((at >= first) & (at < end)):
                past = y[max(0, at[i] - WINDOW) : at[i]]
                said = model.forward(past, h=horizon, level=[_LEVEL])
                paths[i], lo[i], hi[i] = _ends(said)
    last = np.concatenate([y[:1], y[:-1]])
    one[fits[0] :] = _kept(np.where(np.isfinite(one), one, last), low[:-1], high[:-1])[fits[0] :]
    far = _clipped_paths(paths, lo, hi, y, at)
    return Outcome(one, paths, normal_band(series.y, one), far, seconds, y.size - fits[0])


def mstl(series: Series, at: Rounds) -> Outcome:
    """MSTL, fitted at every origin: seasons by loess, the rest by AutoETS.

    It smooths both ways in time, so it has no forecasts of each next value between fits.
    """
    y, horizon = series.filled, series.horizon
    models = import_module("statsforecast.models")
    paths, lo, hi = (np.empty((at.size, horizon)) for _ in range(3))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for i, t in enumerate(at):
            past = y[max(0, t - WINDOW) : t]
            seasons = [m for m in series.seasons if 2 * m < past.size]
            if seasons:
                model = models.MSTL(seasons, trend_forecaster=models.AutoETS(model="ZZN"))
            else:
                model = models.AutoETS(model="ZZN")
            paths[i], lo[i], hi[i] = _ends(model.forecast(past, h=horizon, level=[_LEVEL]))
    return Outcome(None, paths, None, _clipped_paths(paths, lo, hi, y, at))


def _ends(said: dict[str, Array]) -> tuple[Array, Array, Array]:
    return said["mean"], said[f"lo-{_LEVEL}"], said[f"hi-{_LEVEL}"]


def _clipped_paths(paths: Array, lo: Array, hi: Array, y: Array, at: Rounds) -> tuple[Array, Array]:
    """Keep paths within bounds, in place; ends that are no numbers are infinite."""
    low, high = _range(y)
    last = y[at - 1][:, None]
    kept = np.where(np.isfinite(paths), paths, last)
    paths[:] = _kept(kept, low[at][:, None], high[at][:, None])
    return np.where(np.isnan(lo), -np.inf, lo), np.where(np.isnan(hi), np.inf, hi)


def boosting(series: Series, at: Rounds) -> Outcome:
    """LightGBM at its defaults, refitted a few times.

    From the last value, earlier ones less it, and the phase of each season it learns the change to
    the next: trees cannot leave the range of what they were fitted to.
    """
    make = import_module("lightgbm").LGBMRegressor
    y, horizon, seasons = series.filled, series.horizon, series.seasons
    lags = _lags(seasons)
    fits = [max(int(share * y.size), int(lags[-1]) + 10) for share in FITS]
    one, paths = _before(y, at, horizon, fits[0])
    seconds = 0.0
    for first, end in _spans(fits, y.size):
        start = perf_counter()
        past = np.arange(max(int(lags[-1]), first - WINDOW), first)
        model = make(n_jobs=1, verbose=-1, random_state=0, deterministic=True)
        model.fit(_table(y[past[:, None] - lags], past, seasons), y[past] - y[past - 1])
        rounds = np.arange(first, end)
        change = model.predict(_table(y[rounds[:, None] - lags], rounds, seasons))
        one[rounds] = y[rounds - 1] + change
        seconds += perf_counter() - start
        chosen = np.flatnonzero((at >= first) & (at < end))
        if chosen.size:
            # one row an origin: its past, then its own forecasts
            rows = np.stack([y[t - lags[-1] : t] for t in at[chosen]])
            for h in range(horizon):
                recent = rows[:, rows.shape[1] - lags]
                change = model.predict(_table(recent, at[chosen] + h, seasons))
                rows = np.column_stack([rows, rows[:, -1] + change])
            paths[chosen] = rows[:, -horizon:]
    return Outcome(one, paths, normal_band(series.y, one), None, seconds, y.size - fits[0])


def _spans(fits: list[int], rounds: int) -> list[tuple[int, int]]:
    """From each fit to the next."""
    ends = [*fits[1:], rounds]
    return [(first, end) for first, end in zip(fits, ends, strict=True) if first < end]


def _before(y: Array, at: Rounds, horizon: int, first: int) -> tuple[Array, Array]:
    """The last value, for rounds that are scored before there is a fit, and for their paths."""
    one = np.full(y.size, np.nan)
    scored = np.arange(first_scored(y.size), min(first, y.size))
    one[scored] = y[scored - 1]
    return one, np.repeat(y[at - 1][:, None], horizon, axis=1)


def _lags(seasons: tuple[int, ...]) -> Rounds:
    first = seasons[0] if seasons else 1
    lags = set(range(1, min(max(first + 1, 8), 25) + 1))
    for m in seasons:
        lags |= {m - 1, m, m + 1}
    return np.array(sorted(lags | ({2 * first} if seasons else set())), dtype=np.int64)


def _table(recent: Array, rounds: Rounds, seasons: tuple[int, ...]) -> Array:
    """Features: the last value, earlier ones less it, and phases; `recent` has a column a lag."""
    last = recent[:, :1]
    return np.column_stack([last, recent[:, 1:] - last, _phases(rounds, seasons)])


def _phases(rounds: Rounds, seasons: tuple[int, ...]) -> Array:
    found = [rounds % m for m in seasons]
    return np.array(found, dtype=np.float64).reshape(len(seasons), rounds.size).T


def _range(y: Array) -> tuple[Array, Array]:
    """Bounds for forecasts at round t, made of the values before it."""
    low, high = np.minimum.accumulate(y), np.maximum.accumulate(y)
    reach = high - low
    below, above = low - reach, high + reach
    return np.concatenate([below[:1], below]), np.concatenate([above[:1], above])


def _kept(said: Array, low: Any, high: Any) -> Array:
    kept: Array = np.clip(said, low, high)
    return kept


def peers() -> list[Entrant]:
    """All of them."""
    return [
        Entrant("river HoltWinters", river_winters, "river"),
        Entrant("river SNARIMAX", river_arima, "river"),
        Entrant("AutoETS", ets, "statsforecast"),
        Entrant("AutoTheta", theta, "statsforecast"),
        Entrant("MSTL", mstl, "statsforecast"),
        Entrant("LightGBM", boosting, "lightgbm"),
    ]

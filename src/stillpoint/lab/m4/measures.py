"""The competition's measures, and its benchmarks without a model.

Makridakis, Spiliotis and Assimakopoulos (2020), "The M4 Competition: 100,000 time series and 61
forecasting methods", International Journal of Forecasting 36.
"""

import math

import numpy as np

from stillpoint.core.validation import Array

_CRITICAL = 1.645


def smape(actual: Array, forecast: Array) -> float:
    r"""Symmetric percentage error, $\frac{200}{h} \sum |y - f| / (|y| + |f|)$."""
    size = np.abs(actual) + np.abs(forecast)
    parts = np.divide(np.abs(actual - forecast), size, out=np.zeros(size.shape), where=size > 0.0)
    return float(200.0 * parts.mean())


def mase(train: Array, actual: Array, forecast: Array, period: int) -> float:
    """Absolute error over that of the seasonal naive within the training values.

    NaN where those repeat without an error, or are too few.
    """
    scale = np.abs(train[period:] - train[:-period])
    error = float(np.abs(actual - forecast).mean())
    return error / float(scale.mean()) if scale.size and scale.any() else math.nan


def naive(train: Array, horizon: int) -> Array:
    """The last value."""
    return np.full(horizon, train[-1])


def seasonal_naive(train: Array, horizon: int, period: int) -> Array:
    """The last season over and over; the last value where there is no whole season."""
    if train.size < period:
        return naive(train, horizon)
    found: Array = train[train.size - period + np.arange(horizon) % period]
    return found


def naive2(train: Array, horizon: int, period: int) -> Array:
    """The last value with the season taken out and put back, where the series has one."""
    if not seasonal(train, period):
        return naive(train, horizon)
    figure = decompose(train, period)
    last = train.size - 1
    adjusted = train[-1] / figure[last % period]
    found: Array = adjusted * figure[(last + 1 + np.arange(horizon)) % period]
    return found


def seasonal(train: Array, period: int) -> bool:
    r"""The competition's test for a season, with 90% confidence.

    It has one if $|r_m| > 1.645 \sqrt{(1 + 2 \sum_{i<m} r_i^2) / n}$, where r are the
    autocorrelations and m the period, given three seasons of values.
    """
    n = train.size
    if period <= 1 or n < 3 * period:
        return False
    centred = train - train.mean()
    total = float(centred @ centred)
    if total == 0.0:
        return False
    r = np.array([centred[k:] @ centred[:-k] for k in range(1, period + 1)]) / total
    limit = _CRITICAL * math.sqrt((1.0 + 2.0 * float(np.square(r[:-1]).sum())) / n)
    return abs(float(r[-1])) > limit


def decompose(train: Array, period: int) -> Array:
    """Multiplicative indices by phase: means of value over centred moving average, of mean 1."""
    weights = np.full(period, 1.0 / period)
    if period % 2 == 0:
        weights = np.concatenate(
            [[0.5 / period], np.full(period - 1, 1.0 / period), [0.5 / period]]
        )
    trend = np.convolve(train, weights / period, mode="valid")
    first = (weights.size - 1) // 2
    share = np.full(train.size, np.nan)
    share[first : first + trend.size] = train[first : first + trend.size] / trend
    figure = np.array([np.nanmean(share[phase::period]) for phase in range(period)])
    found: Array = figure / figure.mean()
    return found

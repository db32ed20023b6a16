"""Streams that statsmodels ships.

Carbon dioxide, sunspots, sea temperatures, the Nile, and three economies.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.lab.streams.base import CHOSEN, REPORTED
from stillpoint.lab.streams.real.base import (
    BINARY,
    REGRESSION,
    Built,
    Columns,
    Entry,
    change,
    fourier,
    lags,
    log_past,
    steps,
)


def _table(name: str) -> Any:
    return import_module(f"statsmodels.datasets.{name}").load_pandas().data


def _column(table: Any, key: str) -> Array:
    return np.asarray(table[key], dtype=np.float64)


def _quarters(table: Any) -> Array:
    """The time of each quarter's beginning, in years."""
    return _column(table, "year") + (_column(table, "quarter") - 1.0) / 4.0


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
    columns = {
        str(key): _column(table, key) for key in table.columns if key not in ("year", "quarter")
    }
    return columns | {"time": _quarters(table)}


def _read_equipment() -> Columns:
    """Months since the first record, and the turnover."""
    y = np.asarray(_table("elec_equip.data").iloc[:, 0], dtype=np.float64)
    return {"time": np.arange(y.size, dtype=np.float64), "y": y}


def _read_germany() -> Columns:
    table = _table("interest_inflation")
    return {"time": _quarters(table), "y": _column(table, "Dp"), "rate": _column(table, "R")}


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


def _macro(
    target: str, own: tuple[int, ...], others: tuple[str, ...]
) -> Callable[[Columns], Built]:
    """A series from its own past and last quarter's others."""

    def build(columns: Columns) -> Built:
        features = lags(target, columns[target], *own)
        for key in others:
            features |= lags(key, columns[key], 1)
        return features, columns[target]

    return build


def _growth(columns: Columns) -> Built:
    grown = 100.0 * change(np.log(columns["realgdp"]))
    return (
        lags("growth", grown, 1, 2)
        | lags("unemp", change(columns["unemp"]), 1)
        | lags("bills", columns["tbilrate"], 1),
        grown,
    )


def _spending(columns: Columns) -> Built:
    spent, income = (100.0 * change(np.log(columns[key])) for key in ("realcons", "realdpi"))
    return {"income": income} | lags("income", income, 1) | lags("spending", spent, 1), spent


def _germany(columns: Columns) -> Built:
    """Last quarter's inflation and long rate, and a mark for three of the quarters."""
    quarter = np.round(4.0 * (columns["time"] % 1.0))
    marks = {f"quarter {k + 1}": (quarter == k).astype(np.float64) for k in (1, 2, 3)}
    return (
        lags("inflation", columns["y"], 1) | lags("rate", columns["rate"], 1) | marks,
        columns["y"],
    )


ENTRIES = [
    Entry(
        "co2",
        REGRESSION,
        "statsmodels",
        "carbon dioxide in the air, weekly, from time and season; the trend steepens",
        _read_co2,
        _clock(2),
        CHOSEN,
        period=52,
    ),
    Entry(
        "co2-past",
        REGRESSION,
        "statsmodels",
        "the same from the last four readings; season and trend",
        _read_co2,
        _past(1, 2, 3, 4),
        CHOSEN,
        period=52,
    ),
    Entry(
        "sunspots",
        REGRESSION,
        "statsmodels",
        "sunspots a year from the last nine years; cycles of uneven height",
        _read_sunspots,
        _past(1, 2, 3, 4, 5, 6, 7, 8, 9),
        CHOSEN,
        period=11,
    ),
    Entry(
        "elnino",
        REGRESSION,
        "statsmodels",
        "sea temperature, monthly, from three months and the season; warm episodes",
        _read_elnino,
        _elnino,
        CHOSEN,
        period=12,
    ),
    Entry(
        "nile",
        REGRESSION,
        "statsmodels",
        "the Nile's yearly flow from the last; it drops for good in 1899",
        _read_nile,
        _past(1),
        CHOSEN,
        period=1,
    ),
    Entry(
        "inflation",
        REGRESSION,
        "statsmodels",
        "US inflation, quarterly, from its past, unemployment and bills; the seventies",
        _read_macro,
        _macro("infl", (1,), ("unemp", "tbilrate")),
        CHOSEN,
        target="infl",
    ),
    Entry(
        "unemployment",
        REGRESSION,
        "statsmodels",
        "US unemployment, quarterly, from its past, inflation and bills; recessions",
        _read_macro,
        _macro("unemp", (1, 2), ("infl", "tbilrate")),
        REPORTED,
        target="unemp",
    ),
    Entry(
        "bills",
        REGRESSION,
        "statsmodels",
        "US treasury bill rate, quarterly, from its past, inflation and unemployment; policy"
        " changes",
        _read_macro,
        _macro("tbilrate", (1, 2), ("infl", "unemp")),
        REPORTED,
        target="tbilrate",
    ),
    Entry(
        "growth",
        REGRESSION,
        "statsmodels",
        "growth of US output, quarterly, from its past, unemployment and bills; calmer after 1984",
        _read_macro,
        _growth,
        REPORTED,
        target="realgdp",
    ),
    Entry(
        "spending",
        REGRESSION,
        "statsmodels",
        "growth of US consumption, quarterly, from that of income; the propensity drifts",
        _read_macro,
        _spending,
        REPORTED,
        target="realcons",
    ),
    Entry(
        "equipment",
        REGRESSION,
        "statsmodels",
        "turnover of European electrical industry, monthly, from time and season; the crisis of"
        " 2009",
        _read_equipment,
        _clock(3, 1.0 / 12.0),
        REPORTED,
        period=12,
    ),
    Entry(
        "equipment-past",
        REGRESSION,
        "statsmodels",
        "its logarithm from 1, 12 and 13 months ago; the crisis of 2009",
        _read_equipment,
        log_past,
        REPORTED,
        period=12,
    ),
    Entry(
        "germany",
        REGRESSION,
        "statsmodels",
        "German inflation, quarterly, from its past, the long rate and the season; reunification",
        _read_germany,
        _germany,
        REPORTED,
    ),
    Entry(
        "co2-up",
        BINARY,
        "statsmodels",
        "does carbon dioxide rise by the next reading, from season and past changes",
        _read_co2,
        _co2_up,
        REPORTED,
        classes=("no", "yes"),
    ),
]

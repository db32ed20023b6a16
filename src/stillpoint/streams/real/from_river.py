"""Streams that river ships: polls, water flow, airline passengers, stock returns, chicks, and four to classify."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from stillpoint._validate import Array
from stillpoint.streams.base import CHOSEN, REPORTED
from stillpoint.streams.real.base import BINARY, MULTICLASS, REGRESSION, Built, Columns, Entry, change, fourier, lags, steps

_SEGMENTS = ("brickface", "cement", "foliage", "grass", "path", "sky", "window")
_POLLS = ("gallup", "ipsos", "morning_consult", "rasmussen", "you_gov")


def _records(name: str) -> list[tuple[dict[str, Any], Any]]:
    return list(getattr(import_module("river.datasets"), name)())


def _read(name: str) -> Columns:
    """All features as columns, and the target as "y"."""
    records = _records(name)
    columns = {key: np.array([float(x[key]) for x, _ in records]) for key in records[0][0]}
    return columns | {"y": np.array([float(y) for _, y in records])}


def _read_polls() -> Columns:
    columns = _read("TrumpApproval")
    return columns | {"time": columns["ordinal_date"]}


def _read_water() -> Columns:
    """Hours since the first record, the hour of the day on the clock, and the flow."""
    records = _records("WaterFlow")
    stamps = [x["Time"] for x, _ in records]
    since = np.array([(stamp - stamps[0]).total_seconds() / 3600.0 for stamp in stamps])
    hour = np.array([stamp.hour + stamp.minute / 60.0 for stamp in stamps])
    return {"time": since, "hour": hour, "y": np.array([float(y) for _, y in records])}


def _read_airline() -> Columns:
    """Months since the first record, and passengers."""
    y = np.array([float(y) for _, y in _records("AirlinePassengers")])
    return {"time": np.arange(y.size, dtype=np.float64), "y": y}


def _read_segments() -> Columns:
    records = _records("ImageSegments")
    columns = {key: np.array([float(x[key]) for x, _ in records]) for key in records[0][0]}
    return columns | {"y": np.array([float(_SEGMENTS.index(y)) for _, y in records])}


def _as_given(columns: Columns) -> Built:
    """Every column but the target is a feature."""
    return {key: value for key, value in columns.items() if key not in ("y", "time")}, columns["y"]


def _polls(columns: Columns) -> Built:
    return {key: columns[key] for key in _POLLS}, columns["y"]


def _water_clock(columns: Columns) -> Built:
    return fourier(columns["hour"] / 24.0, 3) | {"time": columns["time"]}, columns["y"]


def _water_past(columns: Columns) -> Built:
    return lags("flow", columns["y"], 1, 2, 3), columns["y"]


def _water_up(columns: Columns) -> Built:
    moved = change(columns["y"])
    return lags("change", moved, 1, 2, 3) | fourier(columns["hour"] / 24.0, 2), steps(moved, 0.0)


def _airline_clock(columns: Columns) -> Built:
    return fourier(columns["time"] / 12.0, 3) | {"time": columns["time"]}, columns["y"]


def _airline_past(columns: Columns) -> Built:
    level = np.log(columns["y"])
    return lags("log", level, 1, 12, 13), level


def _sp500_swing(columns: Columns) -> Built:
    size = np.abs(columns["y"])
    return lags("size", size, 1, 2, 3, 4, 5), size


def _sp500_share(stock: str, columns: Columns) -> Built:
    return {key: value for key, value in columns.items() if key not in ("y", stock)}, columns[stock]


def _sp500_up(columns: Columns) -> Built:
    features, y = _as_given(columns)
    return features, steps(np.asarray(y), 0.0)


def _sp500_three(columns: Columns) -> Built:
    features, y = _as_given(columns)
    return features, steps(np.asarray(y), -0.4, 0.4)


def _chicks(columns: Columns) -> Built:
    """Age, a mark for three of the four diets, and what age adds under each."""
    age, diet = columns["age"], columns["diet"]
    marks: dict[str, Array] = {f"diet {k}": (diet == k).astype(np.float64) for k in (2, 3, 4)}
    return {"age": age} | marks | {f"age, {key}": age * mark for key, mark in marks.items()}, columns["y"]


def _chick_rows() -> Columns:
    """By age; several chicks share one, so there is no strictly increasing time."""
    columns = _read("ChickWeights")
    columns["age"] = columns.pop("time")
    order = np.argsort(columns["age"], kind="stable")
    return {key: value[order] for key, value in columns.items()}


def _entry(
    name: str,
    task: str,
    read: Callable[[], Columns],
    build: Callable[[Columns], Built],
    group: str,
    description: str,
    target: str = "y",
    classes: tuple[str, ...] = (),
    period: int = 0,
) -> Entry:
    return Entry(name, task, "river", description, read, target, build, group, classes, period)


_sp500 = partial(_read, "SP500Stocks")
ENTRIES = [
    _entry("polls", REGRESSION, _read_polls, _polls, CHOSEN,
           "approval of a president from five polls, daily; the pollsters' leanings drift"),
    _entry("polls-date", REGRESSION, _read_polls, lambda c: ({**_polls(c)[0], "date": c["time"]}, c["y"]), CHOSEN,
           "the same with the day as a feature"),
    _entry("water", REGRESSION, _read_water, _water_clock, CHOSEN,
           "litres a second through a pipe, hourly, from time and time of day; four faults, a drifting level", period=24),
    _entry("water-past", REGRESSION, _read_water, _water_past, CHOSEN,
           "the same from the last three records; faults break the pattern", period=24),
    _entry("airline", REGRESSION, _read_airline, _airline_clock, CHOSEN,
           "airline passengers, monthly, from time and season; the swing grows with the level", period=12),
    _entry("airline-past", REGRESSION, _read_airline, _airline_past, CHOSEN,
           "their logarithm from 1, 12 and 13 months ago; slow drift of growth", period=12),
    _entry("sp500", REGRESSION, _sp500, _as_given, CHOSEN,
           "next day's mean return of ten stocks from today's ten; next to nothing to learn"),
    _entry("sp500-swing", REGRESSION, _sp500, _sp500_swing, REPORTED,
           "size of the day's mean return from the last five; volatility comes in clusters", period=1),
    _entry("sp500-apple", REGRESSION, _sp500, partial(_sp500_share, "AAPL"), REPORTED,
           "a stock's daily return from nine others' of the same day; its exposure drifts", target="AAPL"),
    _entry("sp500-exxon", REGRESSION, _sp500, partial(_sp500_share, "XOM"), REPORTED,
           "the same for an oil company; its exposure drifts with the price of oil", target="XOM"),
    _entry("chicks", REGRESSION, _chick_rows, _chicks, REPORTED,
           "weight of chicks on four diets, by age; growth and its spread both rise with age"),
    _entry("phishing", BINARY, partial(_read, "Phishing"), _as_given, CHOSEN,
           "is a web page a trap, from nine marks; in no known order", classes=("fair", "trap")),
    _entry("bananas", BINARY, partial(_read, "Bananas"), _as_given, CHOSEN,
           "two classes shaped like bananas in the plane; nothing linear to learn, in no order", classes=("0", "1")),
    _entry("shuttle", BINARY, partial(_read, "Shuttle"), _as_given, REPORTED,
           "is a shuttle's radiator at fault, 7% are, from nine sensors; in no known order", classes=("normal", "fault")),
    _entry("water-up", BINARY, _read_water, _water_up, REPORTED,
           "does the water flow rise next hour, from its last three changes and the clock; faults", classes=("no", "yes")),
    _entry("sp500-up", BINARY, _sp500, _sp500_up, REPORTED,
           "does the mean of ten stocks rise next day, from today's returns; next to nothing to learn", classes=("no", "yes")),
    _entry("segments", MULTICLASS, _read_segments, _as_given, REPORTED,
           "what a patch of an outdoor image shows, from 18 measurements; in no order", classes=_SEGMENTS),
    _entry("sp500-three", MULTICLASS, _sp500, _sp500_three, REPORTED,
           "does the mean of ten stocks fall by 0.4% or more, stay, or rise; calm and rough years",
           classes=("falls", "stays", "rises")),
]  # fmt: skip

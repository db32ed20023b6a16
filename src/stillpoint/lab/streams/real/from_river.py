"""Streams that river ships.

Polls, water flow, airline passengers, stock returns, chicks, and four to classify.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.lab.streams.base import CHOSEN, REPORTED
from stillpoint.lab.streams.real.base import (
    BINARY,
    MULTICLASS,
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

_SEGMENTS = ("brickface", "cement", "foliage", "grass", "path", "sky", "window")
_POLLS = ("gallup", "ipsos", "morning_consult", "rasmussen", "you_gov")


def _records(name: str) -> list[tuple[dict[str, Any], Any]]:
    return list(getattr(import_module("river.datasets"), name)())


def _read(name: str, label: Callable[[Any], float] = float) -> Columns:
    """All features as columns, and the target, a number by `label`, as "y"."""
    records = _records(name)
    columns = {key: np.array([float(x[key]) for x, _ in records]) for key in records[0][0]}
    return columns | {"y": np.array([float(label(y)) for _, y in records])}


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


def _sp500_swing(columns: Columns) -> Built:
    size = np.abs(columns["y"])
    return lags("size", size, 1, 2, 3, 4, 5), size


def _sp500_share(stock: str, columns: Columns) -> Built:
    return {key: value for key, value in columns.items() if key not in ("y", stock)}, columns[stock]


def _sp500_steps(*edges: float) -> Callable[[Columns], Built]:
    return lambda columns: (_as_given(columns)[0], steps(columns["y"], *edges))


def _chicks(columns: Columns) -> Built:
    """Age, a mark for three of the four diets, and what age adds under each."""
    age, diet = columns["age"], columns["diet"]
    marks: dict[str, Array] = {f"diet {k}": (diet == k).astype(np.float64) for k in (2, 3, 4)}
    return {"age": age} | marks | {
        f"age, {key}": age * mark for key, mark in marks.items()
    }, columns["y"]


def _chick_rows() -> Columns:
    """By age; several chicks share one, so there is no strictly increasing time."""
    columns = _read("ChickWeights")
    columns["age"] = columns.pop("time")
    order = np.argsort(columns["age"], kind="stable")
    return {key: value[order] for key, value in columns.items()}


_sp500 = partial(_read, "SP500Stocks")
ENTRIES = [
    Entry(
        "polls",
        REGRESSION,
        "river",
        "approval of a president from five polls, daily; the pollsters' leanings drift",
        _read_polls,
        _polls,
        CHOSEN,
    ),
    Entry(
        "polls-date",
        REGRESSION,
        "river",
        "the same with the day as a feature",
        _read_polls,
        lambda c: ({**_polls(c)[0], "date": c["time"]}, c["y"]),
        CHOSEN,
    ),
    Entry(
        "water",
        REGRESSION,
        "river",
        "litres a second through a pipe, hourly, from time and time of day; four faults, a drifting"
        " level",
        _read_water,
        _water_clock,
        CHOSEN,
        period=24,
    ),
    Entry(
        "water-past",
        REGRESSION,
        "river",
        "the same from the last three records; faults break the pattern",
        _read_water,
        _water_past,
        CHOSEN,
        period=24,
    ),
    Entry(
        "airline",
        REGRESSION,
        "river",
        "airline passengers, monthly, from time and season; the swing grows with the level",
        _read_airline,
        _airline_clock,
        CHOSEN,
        period=12,
    ),
    Entry(
        "airline-past",
        REGRESSION,
        "river",
        "their logarithm from 1, 12 and 13 months ago; slow drift of growth",
        _read_airline,
        log_past,
        CHOSEN,
        period=12,
    ),
    Entry(
        "sp500",
        REGRESSION,
        "river",
        "next day's mean return of ten stocks from today's ten; next to nothing to learn",
        _sp500,
        _as_given,
        CHOSEN,
    ),
    Entry(
        "sp500-swing",
        REGRESSION,
        "river",
        "size of the day's mean return from the last five; volatility comes in clusters",
        _sp500,
        _sp500_swing,
        REPORTED,
        period=1,
    ),
    Entry(
        "sp500-apple",
        REGRESSION,
        "river",
        "a stock's daily return from nine others' of the same day; its exposure drifts",
        _sp500,
        partial(_sp500_share, "AAPL"),
        REPORTED,
        target="AAPL",
    ),
    Entry(
        "sp500-exxon",
        REGRESSION,
        "river",
        "the same for an oil company; its exposure drifts with the price of oil",
        _sp500,
        partial(_sp500_share, "XOM"),
        REPORTED,
        target="XOM",
    ),
    Entry(
        "chicks",
        REGRESSION,
        "river",
        "weight of chicks on four diets, by age; growth and its spread both rise with age",
        _chick_rows,
        _chicks,
        REPORTED,
    ),
    Entry(
        "phishing",
        BINARY,
        "river",
        "is a web page a trap, from nine marks; in no known order",
        partial(_read, "Phishing"),
        _as_given,
        CHOSEN,
        classes=("fair", "trap"),
    ),
    Entry(
        "bananas",
        BINARY,
        "river",
        "two classes shaped like bananas in the plane; nothing linear to learn, in no order",
        partial(_read, "Bananas"),
        _as_given,
        CHOSEN,
        classes=("0", "1"),
    ),
    Entry(
        "shuttle",
        BINARY,
        "river",
        "is a shuttle's radiator at fault, 7% are, from nine sensors; in no known order",
        partial(_read, "Shuttle"),
        _as_given,
        REPORTED,
        classes=("normal", "fault"),
    ),
    Entry(
        "water-up",
        BINARY,
        "river",
        "does the water flow rise next hour, from its last three changes and the clock; faults",
        _read_water,
        _water_up,
        REPORTED,
        classes=("no", "yes"),
    ),
    Entry(
        "sp500-up",
        BINARY,
        "river",
        "does the mean of ten stocks rise next day, from today's returns; next to nothing to learn",
        _sp500,
        _sp500_steps(0.0),
        REPORTED,
        classes=("no", "yes"),
    ),
    Entry(
        "segments",
        MULTICLASS,
        "river",
        "what a patch of an outdoor image shows, from 18 measurements; in no order",
        partial(_read, "ImageSegments", _SEGMENTS.index),
        _as_given,
        REPORTED,
        classes=_SEGMENTS,
    ),
    Entry(
        "sp500-three",
        MULTICLASS,
        "river",
        "does the mean of ten stocks fall by 0.4% or more, stay, or rise; calm and rough years",
        _sp500,
        _sp500_steps(-0.4, 0.4),
        REPORTED,
        classes=("falls", "stays", "rises"),
    ),
]

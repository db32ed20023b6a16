"""From rows with names to rows of numbers: features may appear, vanish and come in any order."""

import math
from collections.abc import Hashable, Mapping
from datetime import date, datetime
from numbers import Real
from typing import Any, Protocol

import numpy as np

from stillpoint._validate import Array

LIMIT = 1e100  # of the cores
_PLAIN = {float, int, bool}  # types of value that need no closer look


class Core(Protocol):
    """What the tracking cores have in common."""

    dim: int

    def peek(self, x: Array, time: float | None = None) -> Any:
        """The forecast for a row, which changes nothing."""

    def grow(self, dim: int) -> None:
        """Let more features join."""


class Columns:
    """The column of each feature name, in the order they were first learnt from; `time` names the one that holds the clock.

    absent: "mean" leaves a feature that is not there at its running mean (NaN for the cores), "zero" reads it as 0.
    """

    def __init__(self, absent: str, time: Hashable | None) -> None:
        if absent not in ("mean", "zero"):
            raise ValueError(f"absent must be 'mean' or 'zero': got {absent!r}; 'zero' is for sparse counts")
        self.fill = math.nan if absent == "mean" else 0.0
        self.time = time
        self.names: dict[Hashable, int] = {}

    def read(self, x: Mapping[Any, Any]) -> tuple[Array, float | None]:
        """The row of x and its time; names without a column are passed over."""
        return self._row(x, self.names)

    def learn(self, x: Mapping[Any, Any], core: Core) -> tuple[Array, float | None]:
        """`read`, with a column for every name not seen before; `core` grows with them once nothing can fail any more."""
        fresh = [name for name in x if name not in self.names and name != self.time]
        if not fresh:
            return self._row(x, self.names)
        places = {**self.names, **{name: len(self.names) + i for i, name in enumerate(fresh)}}
        row, clock = self._row(x, places)
        core.peek(row[: core.dim], time=clock)  # refuses times that go backwards
        if row.size > core.dim:
            core.grow(row.size)
        self.names = places
        return row, clock

    def _row(self, x: Mapping[Any, Any], places: dict[Hashable, int]) -> tuple[Array, float | None]:
        clock = None if self.time is None else self._clock(x)
        row = np.full(max(len(places), 1), self.fill)
        if not _PLAIN.issuperset(map(type, x.values())):
            x = {name: _number(name, value) for name, value in x.items() if name != self.time}
        for name, value in x.items():
            place = places.get(name)
            if place is not None:
                if not -LIMIT <= value <= LIMIT:
                    raise ValueError(
                        f"x[{name!r}] must be within ±{LIMIT:g}: got {value!r}; leave a missing feature out of the dict"
                    )
                row[place] = value
        return row, clock

    def _clock(self, x: Mapping[Any, Any]) -> float:
        if self.time not in x:
            raise ValueError(f"x must hold the time {self.time!r}: got {sorted(map(str, x))}; give every row its time")
        when = x[self.time]
        if isinstance(when, datetime):
            return when.timestamp()
        if isinstance(when, date):
            return float(when.toordinal())
        if isinstance(when, Real) and math.isfinite(when):
            return float(when)
        raise ValueError(f"x[{self.time!r}] must be a number or a date: got {when!r}; convert the times first")


def _number(name: Hashable, value: Any) -> float:
    if isinstance(value, Real | np.bool_):
        return float(value)
    raise ValueError(f"x[{name!r}] must be a number: got {value!r}; encode categories first, as with river's OneHotEncoder")

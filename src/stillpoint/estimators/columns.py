"""From rows with names to rows of numbers: features may appear, vanish and come in any order."""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

import numpy as np

from stillpoint.beliefs._kalman import LIMIT
from stillpoint.core.validation import Array, shown, stored, under
from stillpoint.estimators.cells import column, moment, number
from stillpoint.forecasters._features import sound

# types of value that need no closer look in an array
_WHOLE = {float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_}


class Core(Protocol):
    """What the tracking cores have in common."""

    dim: int

    def _coming(self, time: float | None) -> float:
        """The time of the coming round, NaN for none; refuses those that go back."""

    def _coming_times(self, rounds: int, times: Any) -> Array:
        """The same for many."""

    def grow(self, dim: int) -> None:
        """Let more features join."""

    def arrays(self) -> dict[str, Any]:
        """The state."""

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""


class Columns:
    """The column of each feature name, in the order they were first learnt from.

    Parameters
    ----------
    absent : str
        "mean" leaves a feature that is not there at its running mean (NaN for the cores), "zero"
        reads it as 0. None and NaN are not there.
    time : hashable or None
        The name that holds the clock.
    """

    def __init__(self, absent: str, time: Hashable | None) -> None:
        if absent not in ("mean", "zero"):
            raise ValueError(
                f"absent must be 'mean' or 'zero': got {absent!r}; 'zero' is for sparse counts"
            )
        self.fill = math.nan if absent == "mean" else 0.0
        self.time = time
        self.names: dict[Hashable, int] = {}
        self._keys: frozenset[Hashable] = frozenset()
        self._pick: Callable[[Any], tuple[Any, ...]] | None = None

    def read(self, x: Mapping[Any, Any], core: Core) -> tuple[Array, float]:
        """The row of x and its moment; names without a column are passed over."""
        row = self._whole(x)
        if row is None:
            row = self._row(self._cells(x), self.names)
        return row, core._coming(self._clock(x))

    def learn(self, x: Mapping[Any, Any], core: Core) -> tuple[Array, float]:
        """`read`, with a column for every name not seen before.

        The core grows with them once nothing can fail any more.
        """
        row = self._whole(x)
        if row is not None:
            return row, core._coming(self._clock(x))
        cells = self._cells(x)
        places = self._places([name for name in cells if name not in self.names])
        row, when = self._row(cells, places), core._coming(self._clock(x))
        if len(places) > len(self.names):
            self.join(places, core)
        return row, when

    def read_table(self, X: Any, core: Core) -> tuple[Array, Array]:
        """The rows of a data frame and their moments; each as if it came next."""
        cells, times = self._table(X)
        given = [None] * len(X) if times is None else times
        when = np.array([core._coming(time) for time in given])
        return self._rows(cells, self.names, len(X)), when

    def learn_table(self, X: Any, core: Core) -> "Batch":
        """The same, with a column for every name not seen before; `join` lets them in."""
        cells, times = self._table(X)
        first = {  # the row where a feature joins: the first that has a value
            name: int(np.argmin(np.isnan(values)))
            for name, values in cells.items()
            if name not in self.names and not np.isnan(values).all()
        }
        fresh = sorted(first, key=first.__getitem__)
        places = self._places(fresh)
        joins = {first[name]: self._places(fresh[: i + 1]) for i, name in enumerate(fresh)}
        when = core._coming_times(len(X), times)
        return Batch(self._rows(cells, places, len(X)), when, joins)

    def join(self, places: dict[Hashable, int], core: Core) -> None:
        """Take over more columns; the core grows with them."""
        if len(places) > core.dim:
            core.grow(len(places))
        self._name(places)

    def _places(self, fresh: list[Hashable]) -> dict[Hashable, int]:
        return {**self.names, **{name: len(self.names) + i for i, name in enumerate(fresh)}}

    def _name(self, places: dict[Hashable, int]) -> None:
        self.names = places
        self._keys = frozenset(places) if self.time is None else frozenset([*places, self.time])
        self._pick = itemgetter(*places) if len(places) > 1 else None

    def restore(self, names: Any, core: Core, state: dict[str, Any]) -> None:
        """Take over feature names, and the state of a new core, whose arrays are under `core.`."""
        own = under(state, "core.")
        width = max(len(names), 1)
        # before the core makes room for as many
        stored(own, "covariances", None, width + 1, width + 1)
        places = {name: place for place, name in enumerate(names)}
        if len(places) < len(names) or self.time in places:
            raise ValueError(
                f"state 'names' must be different features: got {names}; save the model again"
            )
        if width > core.dim:
            core.grow(width)
        core.restore(own)
        self._name(places)

    def _whole(self, x: Mapping[Any, Any]) -> Array | None:
        """The row of an x with exactly the known names and plain numbers; None for others."""
        if type(x) is not dict and not isinstance(x, Mapping):
            raise ValueError(
                f"x must be a dict of features by name: got {shown(x)}; give x.to_dict(), or"
                " dict(zip(names, x))"
            )
        if self._pick is None or x.keys() != self._keys:
            return None
        values = self._pick(x)
        if not _WHOLE.issuperset(map(type, values)):
            return None
        try:
            row = np.array(values, dtype=np.float64)
        except OverflowError:  # a whole number beyond floats
            return None
        return row if sound(row, False) else None

    def _cells(self, x: Mapping[Any, Any]) -> dict[Hashable, float]:
        """The features that are there, as numbers."""
        cells = {
            name: value if type(value) is float and abs(value) <= LIMIT else number(name, value)
            for name, value in x.items()
            if name != self.time
        }
        return {name: value for name, value in cells.items() if value == value}

    def _row(self, cells: dict[Hashable, float], places: dict[Hashable, int]) -> Array:
        row = np.full(max(len(places), 1), self.fill)
        for name, value in cells.items():
            if name in places:
                row[places[name]] = value
        return row

    def _table(self, X: Any) -> tuple[dict[Hashable, Array], list[float] | None]:
        """The columns of a data frame as numbers, and its times."""
        if not hasattr(X, "columns"):
            raise ValueError(
                f"X must be a data frame: got {type(X).__name__}; pass one row a round, its columns"
                " named"
            )
        cells = {name: column(name, X[name].to_numpy()) for name in X.columns if name != self.time}
        if self.time is None:
            return cells, None
        if self.time not in list(X.columns):
            raise ValueError(
                f"X must hold the time {self.time!r}: got the columns {list(X.columns)}; give every"
                " row its time"
            )
        return cells, [moment(self.time, when) for when in X[self.time]]

    def _rows(
        self, cells: dict[Hashable, Array], places: dict[Hashable, int], rounds: int
    ) -> Array:
        rows = np.full((rounds, max(len(places), 1)), self.fill)
        for name, values in cells.items():
            if name in places:
                rows[:, places[name]] = np.where(np.isnan(values), self.fill, values)
        return rows

    def _clock(self, x: Mapping[Any, Any]) -> float | None:
        if self.time is None:
            return None
        if self.time not in x:
            raise ValueError(
                f"x must hold the time {self.time!r}: got {sorted(map(str, x))}; give every row its"
                " time"
            )
        return moment(self.time, x[self.time])


class Batch(NamedTuple):
    """Rows to be learnt together, as if one by one."""

    rows: Array  # (T, features)
    when: Array  # (T,), NaN without times
    joins: dict[int, dict[Hashable, int]]  # row -> the columns from there on, where more join

    def parts(self, breaks: Iterable[int] = ()) -> Iterator[tuple[int, int]]:
        """Stretches (first, last) of rows in which nothing joins, neither features nor `breaks`."""
        ends = sorted({0, len(self.rows), *self.joins, *breaks})
        return pairwise(ends)

    def part(self, first: int, last: int, width: int) -> tuple[Array, Array]:
        """The rows of a stretch with so many features, and their moments."""
        return np.array(self.rows[first:last, :width], order="C"), self.when[first:last].copy()

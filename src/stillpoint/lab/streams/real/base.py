"""A real stream, and the functions that make features of a raw series."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.validation import Array
from stillpoint.lab.streams.base import REPORTED

REGRESSION, BINARY, MULTICLASS = TASKS = ("regression", "binary", "multiclass")

Columns = dict[str, Array]
"""Raw columns of equal length, in time order; "time" among them where the source has times."""
Built = tuple[Columns, NDArray[Any]]
"""Features by name, NaN in leading rows that have no past yet, and the targets."""


@dataclass(frozen=True, eq=False, repr=False)
class RealStream:
    """A data set in time order: at round t the features X[t] are seen, then the target y[t].

    Parameters
    ----------
    name
        What it is called in tables.
    task
        "regression", "binary" or "multiclass".
    X
        (T, d).
    y
        (T,), floats, or whole numbers that index `classes`.
    times
        (T,), increasing, in the unit the description names; None where the source has none.
    features
        A name a column of X.
    description
        What it is and what drifts.
    package
        The one that ships it.
    group
        "chosen" where constants of the library were chosen on it, else "reported".
    classes
        The labels, where targets are classes.
    period
        Rounds in a season where features come from the series' own past and the clock alone (1: no
        season), 0 where they do not.
    """

    name: str
    task: str
    X: Array
    y: NDArray[Any]
    times: Array | None
    features: tuple[str, ...]
    description: str
    package: str
    group: str = REPORTED
    classes: tuple[str, ...] = ()
    period: int = 0

    def __repr__(self) -> str:
        rows = f"rows {len(self):,}, features {self.dim}"
        return f"<RealStream {self.name}: {self.task}, {rows}; {self.description}>"

    def __len__(self) -> int:
        return int(self.y.size)

    @property
    def dim(self) -> int:
        """How many features."""
        return int(self.X.shape[1])


@dataclass(frozen=True)
class Entry:
    """A stream yet to be loaded.

    Parameters
    ----------
    read
        Returns its raw columns.
    build
        Makes features and targets of them: row t of the features from raw rows up to t, and from
        the target's column before t.
    target
        The column that y is made of.
    """

    name: str
    task: str
    package: str
    description: str
    read: Callable[[], Columns]
    build: Callable[[Columns], Built]
    group: str = REPORTED
    target: str = "y"
    classes: tuple[str, ...] = ()
    period: int = 0

    def load(self) -> RealStream:
        """Read it and build it."""
        return self.assemble(self.read())

    def assemble(self, columns: Columns) -> RealStream:
        """Build the stream from raw columns, from the round after the last with a value missing.

        Only the first rounds may miss any: their features have no past.
        """
        features, y = self.build(columns)
        X = np.column_stack(list(features.values())).astype(np.float64)
        missing = np.flatnonzero(~np.isfinite(X).all(axis=1) | ~np.isfinite(y))
        first = int(missing[-1]) + 1 if missing.size else 0
        times = columns["time"][first:].copy() if "time" in columns else None
        y = y[first:].astype(np.float64 if self.task == REGRESSION else np.int64)
        about = self.description, self.package, self.group, self.classes, self.period
        return RealStream(
            self.name, self.task, np.ascontiguousarray(X[first:]), y, times, tuple(features), *about
        )


def lags(name: str, series: Array, *by: int) -> Columns:
    """The series `by` rounds ago, NaN before it began."""
    past = {}
    for lag in by:
        past[f"{name} {lag} ago"] = np.concatenate([np.full(lag, np.nan), series[:-lag]])
    return past


def log_past(columns: Columns) -> Built:
    """The logarithm of a monthly series from last month, and from the two months of a year ago."""
    level = np.log(columns["y"])
    return lags("log", level, 1, 12, 13), level


def fourier(cycles: Array, harmonics: int) -> Columns:
    """Sine and cosine of 1 … `harmonics` times the phase, which counts seasons."""
    waves = {}
    for k in range(1, harmonics + 1):
        waves[f"sin {k}"] = np.sin(2 * np.pi * k * cycles)
        waves[f"cos {k}"] = np.cos(2 * np.pi * k * cycles)
    return waves


def change(series: Array) -> Array:
    """What the series moved by since the last round; NaN in the first."""
    return np.concatenate([[np.nan], np.diff(series)])


def steps(series: Array, *edges: float) -> Array:
    """How many of the edges the series is above; NaN where it is."""
    return np.where(np.isnan(series), np.nan, np.searchsorted(edges, series).astype(np.float64))

"""Features of rounds: names, shapes, and what is known ahead."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillpoint.core.array import Array
from stillpoint.core.validation import real

_LIMIT = 1e100


class Features:
    """What a forecaster was told of its features.

    Parameters
    ----------
    given : int or list of str
        How many there are, or their names.
    horizon : int
        For how many rounds they can be known.
    """

    def __init__(self, given: Any, horizon: int) -> None:
        names = _names(given)
        self.given, self._horizon = names, horizon
        self.count = names if isinstance(names, int) else len(names)
        self.none = np.empty((0, self.count))

    def rows(self, x: ArrayLike | None) -> Array | None:
        """The features of one round, or of it and those after it, checked: (rows, count).

        Rows at the end of which nothing is known are left out.
        """
        if x is None:
            return None
        X = self._checked("x", x)
        if X.ndim == 1:
            X = X.reshape(1, -1)
        self._width("x", X, x)
        if not 1 <= X.shape[0] <= self._horizon:
            raise ValueError(
                f"x must have a row for this round, and at most {self._horizon}, the horizon: got"
                f" {X.shape[0]}; pass one a round ahead"
            )
        return X if X.shape[0] == 1 else X[: max(1, told(X))]

    def table(self, X: ArrayLike | None, rounds: int) -> tuple[Array, NDArray[np.int64]]:
        """The features of many rounds, and how many rows each of them knows."""
        if X is None:
            none = np.full((rounds, self.count), np.nan)
            return none, np.zeros(rounds, dtype=np.int64)
        table = self._checked("X", X)
        self._width("X", table, X)
        if table.shape[0] < rounds:
            raise ValueError(
                f"X must have a row for each round: got {table.shape[0]} for {rounds}; pass them"
                " all, NaN where a number is missing"
            )
        rows = np.arange(table.shape[0], table.shape[0] - rounds, -1)
        return table, told_up_to(table, np.minimum(rows, self._horizon))

    def _checked(self, name: str, values: ArrayLike) -> Array:
        if not self.count and isinstance(values, int) and not isinstance(values, bool):
            raise ValueError(
                f"{name} must be left out of a forecaster without features: got {values}; if that"
                f" is how many steps ahead, pass horizon={values}"
            )
        if not self.count:
            raise ValueError(
                f"{name} must be left out of a forecaster without features: got shape"
                f" {np.shape(values)}; build it with features={(1, *np.shape(values))[-1]}, or pass"
                " a horizon or times by name"
            )
        self._named(name, values)
        table = np.array(real(name, values, "pass numbers, NaN where one is missing"))
        for value in table[np.abs(table) > _LIMIT][:1]:
            raise ValueError(f"{name} must be within ±{_LIMIT:g}: got {value:g}; rescale it")
        return table

    def _named(self, name: str, values: Any) -> None:
        """Refuse a pandas table, or row of one, whose names are others than those of the features.

        Columns count by their order: those of another order would be taken for one another.
        """
        if isinstance(self.given, int):
            return
        labels = getattr(values, "columns", getattr(values, "index", ()))
        labels = [] if callable(labels) else list(labels)
        if labels and all(isinstance(one, str) for one in labels) and labels != self.given:
            raise ValueError(
                f"{name} must have the features {self.given} in this order: got {labels}; pass"
                f" {name}[{self.given}]"
            )

    def _width(self, name: str, table: Array, given: Any) -> None:
        if table.ndim != 2 or table.shape[1] != self.count:
            raise ValueError(
                f"{name} must have {self.count} features: got shape {np.shape(given)}; pass one"
                " number a feature"
            )


def told(rows: Array) -> int:
    """Up to which of these rows there are numbers."""
    some = np.flatnonzero(~np.isnan(rows).all(axis=1))
    return int(some[-1]) + 1 if some.size else 0


def told_up_to(rows: Array, known: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many rows rounds know, one or more, less those at the end that have no numbers.

    Of round t, known[t] rows are given, from rows[t] on.
    """
    places = np.arange(rows.shape[0])
    last = np.maximum.accumulate(np.where(np.isnan(rows).all(axis=1), -1, places))
    first = places[: known.size]
    return np.asarray(np.maximum(last[first + known - 1] - first + 1, 1))


def _names(given: Any) -> int | list[str]:
    """How many features there are, or their names."""
    remedy = "give how many there are, or a list of their names"
    if isinstance(given, bool | str):
        raise ValueError(f"features must be a number or names: got {given!r}; {remedy}")
    if isinstance(given, int | np.integer):
        if given < 0:
            raise ValueError(f"features must be 0 or more: got {given}; {remedy}")
        return int(given)
    try:
        names = list(given)
    except TypeError:
        raise ValueError(f"features must be a number or names: got {given!r}; {remedy}") from None
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError(f"features must be names, each once: got {given!r}; {remedy}")
    return [str(name) for name in names]

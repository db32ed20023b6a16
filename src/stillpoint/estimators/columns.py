"""From rows with names to rows of numbers: features may appear, vanish and come in any order."""

import math
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, date, datetime
from numbers import Real
from operator import itemgetter
from typing import Any, Protocol

import numpy as np

from stillpoint.beliefs._kalman import LIMIT
from stillpoint.core.validation import Array, stored, under
from stillpoint.forecasters._features import sound

_PLAIN = {float, int, bool, np.float64}  # types of value that need no closer look
_WHOLE = _PLAIN | {np.float32, np.int64, np.int32, np.bool_}  # and those that need none in an array


class _Core(Protocol):
    """What the tracking cores have in common."""

    dim: int

    def _coming(self, time: float | None) -> float:
        """The time of the coming round, NaN for none; refuses those that go back."""

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
        reads it as 0.
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

    def read(self, x: Mapping[Any, Any], core: _Core) -> tuple[Array, float]:
        """The row of x and its moment; names without a column are passed over."""
        row = self._whole(x)
        if row is None:
            row = self._row(x, self.names)
        return row, core._coming(self._clock(x))

    def learn(self, x: Mapping[Any, Any], core: _Core) -> tuple[Array, float]:
        """`read`, with a column for every name not seen before.

        The core grows with them once nothing can fail any more.
        """
        row = self._whole(x)
        if row is not None:
            return row, core._coming(self._clock(x))
        fresh = [name for name in x if name not in self.names and name != self.time]
        places = (
            {**self.names, **{name: len(self.names) + i for i, name in enumerate(fresh)}}
            if fresh
            else self.names
        )
        row, moment = self._row(x, places), core._coming(self._clock(x))
        if fresh:
            if row.size > core.dim:
                core.grow(row.size)
            self._name(places)
        return row, moment

    def _name(self, places: dict[Hashable, int]) -> None:
        self.names = places
        self._keys = frozenset(places) if self.time is None else frozenset([*places, self.time])
        self._pick = itemgetter(*places) if len(places) > 1 else None

    def restore(self, names: Any, core: _Core, state: dict[str, Any]) -> None:
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
                f"x must be a dict of features by name: got {x!r}; convert the row first"
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

    def _row(self, x: Mapping[Any, Any], places: dict[Hashable, int]) -> Array:
        row = np.full(max(len(places), 1), self.fill)
        for name, value in x.items():
            if name == self.time:
                continue
            if type(value) not in _PLAIN:
                value = _number(name, value)
            place = places.get(name)
            if place is not None:
                if not -LIMIT <= value <= LIMIT:
                    remedy = (
                        "leave a missing feature out of the dict"
                        if value != value
                        else "rescale it or leave it out"
                    )
                    raise ValueError(
                        f"x[{name!r}] must be within ±{LIMIT:g}: got {value!r}; {remedy}"
                    )
                row[place] = value
        return row

    def _clock(self, x: Mapping[Any, Any]) -> float | None:
        if self.time is None:
            return None
        if self.time not in x:
            raise ValueError(
                f"x must hold the time {self.time!r}: got {sorted(map(str, x))}; give every row its"
                " time"
            )
        when = x[self.time]
        if isinstance(when, np.datetime64):
            when = when.astype("datetime64[us]").item()
        if isinstance(when, datetime) and when == when:  # NaT is not
            # without a zone it is read as UTC: local time would go back in autumn, and differ from
            # machine to machine
            return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
        if isinstance(when, date) and when == when:
            return datetime(when.year, when.month, when.day, tzinfo=UTC).timestamp()
        if isinstance(when, Real) and math.isfinite(when):
            return float(when)
        raise ValueError(
            f"x[{self.time!r}] must be a number or a date: got {x[self.time]!r}; convert the times"
            " first"
        )


def _number(name: Hashable, value: Any) -> float:
    if isinstance(value, Real | np.bool_):
        try:
            return float(value)
        except OverflowError:
            raise ValueError(
                f"x[{name!r}] must be within ±{LIMIT:g}: got {value!r}; rescale it or leave it out"
            ) from None
    remedy = "encode categories first, as with river's OneHotEncoder"
    if value is None:
        remedy = "leave a missing feature out of the dict"
    raise ValueError(f"x[{name!r}] must be a number: got {value!r}; {remedy}")

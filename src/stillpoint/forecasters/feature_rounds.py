"""Rounds that have features and perhaps a time, checked as they come."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.beliefs._kalman import LIMIT
from stillpoint.core.allocation import zeros
from stillpoint.core.learner import Learner
from stillpoint.core.validation import Array, count, finite, number, real
from stillpoint.forecasters._features import sound
from stillpoint.forecasters._filters import CLOCK
from stillpoint.forecasters.base import limited

_FLOAT = np.dtype(np.float64)


class FeatureRounds(Learner):
    """A model of rounds with features.

    Times are optional, and rounds may share one; `time` is NaN where the round has none.

    Parameters
    ----------
    dim : int
        Features of a round.
    missing : bool
        Whether NaN stands for a feature that is not seen.
    """

    _state: Any  # a State of arrays, declared beside the compiled code that works on it

    def __init__(self, dim: int, missing: bool) -> None:
        super().__init__()
        self.time = math.nan
        self.dim = count("dim", dim)
        if not isinstance(missing, bool | np.bool_):
            raise ValueError(
                f"missing must be True or False: got {missing!r}; True lets NaN stand for a feature"
                " not seen"
            )
        self.missing = bool(missing)
        self._x = zeros(self.dim)

    @property
    def _not_finite(self) -> frozenset[str]:
        return frozenset({"x"} if self.missing else ())

    def _row(self, x: ArrayLike) -> Array:
        """The features of one round, checked."""
        if type(x) is np.ndarray and x.dtype is _FLOAT and x.shape == (self.dim,):
            own = x.copy()  # as the compiled loops know it
            if sound(own, self.missing):
                return own
        row = self._contexts("x", x)
        if self.dim == 1 and row.ndim == 0:
            row = row.reshape(1)
        if row.shape != (self.dim,):
            raise ValueError(
                f"x must have shape ({self.dim},): got shape {row.shape}; pass one value a"
                " coordinate"
            )
        return compiled(row)

    def _rows(self, X: ArrayLike, rounds: int | None = None) -> Array:
        """The features of many rounds, checked."""
        rows = self._contexts("X", X)
        if rows.ndim == 1 and self.dim == 1:
            rows = rows[:, None]
        if rows.ndim != 2 or rows.shape[1] != self.dim or rounds not in (None, len(rows)):
            shape = f"({'T' if rounds is None else rounds}, {self.dim})"
            raise ValueError(f"X must have shape {shape}: got {rows.shape}; pass one row a round")
        return compiled(rows)

    def _contexts(self, name: str, value: ArrayLike) -> Array:
        remedy = "drop or repair such entries"
        if not self.missing:
            result = finite(
                name,
                value,
                f"{remedy}, or build the model with missing=True if NaN marks what is not seen",
            )
            return limited(name, result)
        result = real(name, value, remedy)
        limited(name, finite(name, np.where(np.isnan(result), 0.0, result), remedy))
        return result

    def _coming(self, time: float | None) -> float:
        """The time of the coming round; NaN for none."""
        if time is None:
            return math.nan
        moment = number("time", time, "leave it out for a round without a time")
        if abs(moment) > LIMIT:
            raise ValueError(f"time must be within ±{LIMIT:g}: got {moment:g}; rescale it")
        clock = self._state.clock
        if clock[CLOCK.steps] > 0.0 and moment < clock[CLOCK.last]:
            raise ValueError(
                f"time must not go back: got {time!r} after {clock[CLOCK.last]}; sort the stream"
            )
        return moment

    def _coming_times(self, rounds: int, times: ArrayLike | None) -> Array:
        """The times of that many coming rounds; NaN for none."""
        if times is None:
            return np.full(rounds, np.nan)
        moments = limited(
            "times", finite("times", times, "leave all times out where some are not known")
        )
        if moments.shape != (rounds,):
            raise ValueError(
                f"times must have shape ({rounds},): got {moments.shape}; give one time a round"
            )
        clock = self._state.clock
        last = clock[CLOCK.last] if clock[CLOCK.steps] > 0.0 else -np.inf
        before = np.append(last, moments[:-1])
        if (moments < before).any():
            i = int(np.argmax(moments < before))
            raise ValueError(
                f"times must not go back: got {moments[i]} after {before[i]}; sort the stream"
            )
        return compiled(moments)

    def _check_same(self, x: Array | None) -> None:
        if x is not None and not self._same(x):
            raise ValueError(
                f"x must be that of the open round: got {x}, open with {self._x}; call update or"
                " skip first"
            )

    def _same(self, row: Array) -> bool:
        # bytes first, which is what most calls come to and a tenth of the time; 0 and −0 are the
        # same row too
        return row.tobytes() == self._x.tobytes() or np.array_equal(row, self._x, equal_nan=True)


def compiled(value: Array) -> Array:
    """Return `value` contiguous and writeable: for others, loops would be compiled anew."""
    return np.require(value, requirements=["C", "W"])

"""What TrackingForecaster and TrackingProbabilities share: features as they come, the clock, growth
and saving.
"""

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.allocation import zeros
from stillpoint.core.learner import Configured
from stillpoint.core.validation import Array, count, finite, number, real, stored
from stillpoint.forecasters import _tracking
from stillpoint.forecasters.base import limited

_FLOAT = np.dtype(np.float64)


class TrackingModel(Configured):
    """Filters side by side on features that are standardised on the fly; the round that is open,
    and its time.

    `_rates` (K, 2) are the variances that (slopes, intercept) gain a round, `_prior` the variances
    they start with; filters come in `sets` of K.
    """

    _rates: ClassVar[Array]
    _prior: ClassVar[tuple[float, float]]
    _parts: ClassVar[tuple[str, ...]] = (
        "clock",
        "features",
        "means",
        "covariances",
        "scalars",
        "z",
        "gains",
        "own",
        "x",
    )
    _scalars: Array
    _own: Array

    def __init__(self, dim: int, missing: bool, sets: int) -> None:
        self.dim = count("dim", dim)
        if not isinstance(missing, bool | np.bool_):
            raise ValueError(
                f"missing must be True or False: got {missing!r}; True lets NaN stand for a feature"
                " not seen"
            )
        self.missing = bool(missing)
        filters, N = sets * len(self._rates), self.dim + 1
        slope, intercept = self._prior
        self._clock, self._features = zeros(4), zeros((5, self.dim))
        self._means, self._covariances = zeros((filters, N)), zeros((filters, N, N))
        self._covariances[:] = np.diag([slope] * self.dim + [intercept])
        self._z, self._gains, self._x = zeros(N), zeros((filters, N)), zeros(self.dim)
        self.rounds, self._open = 0, False

    @property
    def _not_finite(self) -> frozenset[str]:
        return frozenset({"x"} if self.missing else ())

    def grow(self, dim: int) -> None:
        """More features join at the end, at their prior; what is known of the others stays as it
        is.
        """
        wider = count("dim", dim)
        if wider < self.dim:
            raise ValueError(
                f"dim must be {self.dim} or more: got {dim}; features join, they never leave"
            )
        self._closed("dim")
        old, more = self.dim, wider - self.dim
        if more == 0:
            return
        at = np.r_[np.arange(old), wider]  # where the old coordinates go; the intercept stays last
        means, covariances = (
            zeros((len(self._means), wider + 1)),
            zeros((len(self._means), wider + 1, wider + 1)),
        )
        means[:, at] = self._means
        covariances[:] = np.diag([self._prior[0]] * (wider + 1))
        covariances[:, at[:, None], at] = self._covariances
        self._means, self._covariances = means, covariances
        self._features = np.hstack([self._features, np.zeros((5, more))])
        z, gains = np.zeros(wider + 1), np.zeros_like(means)
        z[at], gains[:, at] = self._z, self._gains
        self._z, self._gains, self._x = z, gains, np.append(self._x, np.zeros(more))
        self.dim = wider

    def _row(self, x: ArrayLike) -> Array:
        if type(x) is np.ndarray and x.dtype is _FLOAT and x.shape == (self.dim,):
            own = x.copy()  # as the compiled loops know it
            if _tracking.sound(own, self.missing):
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

    def moment(self, time: float | None) -> float:
        """The time of the round to open, or of the open one; NaN for none."""
        if time is None:
            return math.nan
        moment = number("time", time, "leave it out for a round without a time")
        limited("time", np.array([moment]))
        last, timed = self._clock[_tracking.LAST], self._clock[_tracking.STEPS] > 0.0
        if self._open:
            if not timed or self._clock[_tracking.PENDING] > 0.0 or moment != last:
                own = last if timed and self._clock[_tracking.PENDING] == 0.0 else None
                raise ValueError(
                    f"time must be that of the open round: got {time!r}, open with {own}; call"
                    " update or skip first"
                )
        elif timed and moment < last:
            raise ValueError(f"time must not go back: got {time!r} after {last}; sort the stream")
        return moment

    def _moments(self, times: ArrayLike | None, rounds: int) -> Array:
        """Times of a stream of that many rounds; NaN for none."""
        if times is None:
            return np.full(rounds, np.nan)
        moments = limited(
            "times", finite("times", times, "leave all times out where some are not known")
        )
        if moments.shape != (rounds,):
            raise ValueError(
                f"times must have shape ({rounds},): got {moments.shape}; give one time a round"
            )
        before = np.append(
            self._clock[_tracking.LAST] if self._clock[_tracking.STEPS] > 0.0 else -np.inf,
            moments[:-1],
        )
        if (moments < before).any():
            i = int(np.argmax(moments < before))
            raise ValueError(
                f"times must not go back: got {moments[i]} after {before[i]}; sort the stream"
            )
        return compiled(moments)

    def _begin(self, x: ArrayLike, time: float | None) -> None:
        """Open a round, or make sure that x and time are those of the open one."""
        row, moment = self._row(x), self.moment(time)
        if not self._open:
            self._x[:] = row
            self._propose(_tracking.tick(moment, self._clock))
            self._open = True
        elif not self._is_open(row):
            raise ValueError(
                f"x must be that of the open round: got {row}, open with {self._x}; call update or"
                " skip first"
            )

    def _is_open(self, row: Array) -> bool:
        """Whether a round is open, with this row."""
        # bytes first, which is what most calls come to and a tenth of the time; 0 and −0 are the
        # same row too
        return self._open and (
            row.tobytes() == self._x.tobytes() or np.array_equal(row, self._x, equal_nan=True)
        )

    def _propose(self, pace: float) -> None:
        raise NotImplementedError

    def skip(self, x: ArrayLike | None = None, time: float | None = None) -> None:
        """A round whose target is missing: coefficients drift on. The features still count where
        they are known.
        """
        if x is not None:
            self._begin(x, time)
        else:
            moment = self.moment(time)
            if not self._open:
                _tracking.drift(self._covariances, self._rates, _tracking.tick(moment, self._clock))
        self._close()

    def _close(self) -> None:
        self._open = False
        self.rounds += 1

    def _closed(self, name: str) -> None:
        if self._open:
            raise ValueError(
                f"{name} must start a new round: got it while {self._x} is open; call update or"
                " skip first"
            )

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {
            "rounds": self.rounds,
            "open": self._open,
            **{name: getattr(self, f"_{name}").copy() for name in self._parts},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        self.rounds, self._open = int(state["rounds"]), bool(state["open"])
        for name in self._parts:
            mine = getattr(self, f"_{name}")
            mine[:] = stored(state, name, *mine.shape)


def compiled(value: Array) -> Array:
    """Return `value` as the compiled loops know it: they would be compiled anew for arrays that are
    strided or read-only.
    """
    return np.require(value, requirements=["C", "W"])

"""What TrackingForecaster and TrackingProbabilities share: features as they come, times, growth."""

import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.beliefs._kalman import LIMIT
from stillpoint.core.allocation import zeros
from stillpoint.core.learner import Learner
from stillpoint.core.state import put_back, saved
from stillpoint.core.validation import Array, count, finite, number, real
from stillpoint.forecasters._features import ROW, sound
from stillpoint.forecasters._filters import CLOCK, drift, tick
from stillpoint.forecasters.base import limited

_FLOAT = np.dtype(np.float64)


class TrackingModel(Learner):
    """Kalman filters side by side on features that are standardised as they come.

    Times are optional, and rounds may share one; `time` is NaN where the round has none.
    """

    _rates: ClassVar[Array]  # (K, 2): the variances that (slopes, intercept) gain a round
    _prior: ClassVar[tuple[float, float]]  # the variances they start with
    _nothing: ClassVar[float]  # feedback of a type that compiled code takes
    _rule: tuple[Any, ...]  # what compiled code goes by
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

    def _new_filters(self, sets: int) -> dict[str, Array]:
        """The fields of a state that both models have, for `sets` times K filters."""
        filters, N = sets * len(self._rates), self.dim + 1
        slope, intercept = self._prior
        covariances = zeros((filters, N, N))
        covariances[:] = np.diag([slope] * self.dim + [intercept])
        return {
            "clock": zeros(len(CLOCK)),
            "features": zeros((len(ROW), self.dim)),
            "means": zeros((filters, N)),
            "covariances": covariances,
            "z": zeros(N),
            "gains": zeros((filters, N)),
        }

    def _set(self, state: Any) -> None:
        """Take over a state; compiled code for single rounds gets its arrays one by one."""
        self._state, self._flat = state, (*self._rule, *state)

    @property
    def _not_finite(self) -> frozenset[str]:
        return frozenset({"x"} if self.missing else ())

    def grow(self, dim: int) -> None:
        """Let more features join at the end, at their prior; what is known of the others stays."""
        wider = count("dim", dim)
        if wider < self.dim:
            raise ValueError(
                f"dim must be {self.dim} or more: got {dim}; features join, they never leave"
            )
        self._begin_bulk("dim")
        old, state = self.dim, self._state
        if wider == old:
            return
        at = np.r_[np.arange(old), wider]  # where the old coordinates go; the intercept stays last
        filters = len(state.means)
        means, covariances = zeros((filters, wider + 1)), zeros((filters, wider + 1, wider + 1))
        means[:, at] = state.means
        covariances[:] = np.diag([self._prior[0]] * (wider + 1))
        covariances[:, at[:, None], at] = state.covariances
        z, gains = np.zeros(wider + 1), np.zeros_like(means)
        z[at], gains[:, at] = state.z, state.gains
        features = np.hstack([state.features, np.zeros((len(ROW), wider - old))])
        self._x = np.append(self._x, np.zeros(wider - old))
        self._set(
            state._replace(
                features=features, means=means, covariances=covariances, z=z, gains=gains
            )
        )
        self.dim = wider

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

    @abstractmethod
    def _feedback(self, y: Any) -> Any:
        """Return y as what can be learnt from."""

    @abstractmethod
    def _round(self, opens: bool, closes: bool, x: Array, feedback: Any, when: float) -> Any:
        """Open a round, close it, or both, in compiled code; returns the answer of `predict`."""

    def _open(self, when: float, x: Array | None) -> Any:
        if x is None:  # features that nobody knows: the coefficients drift on
            drift(self._state.covariances, self._rates, tick(when, self._state.clock))
            return None
        self._x[:] = x
        return self._round(True, False, x, self._nothing, when)

    def _close(self, feedback: Any) -> None:
        if feedback is not None:
            self._round(False, True, self._x, feedback, self.time)

    def update(self, x: ArrayLike, y: Any, time: float | None = None) -> None:
        """Tell the model what the round with features x turned out to be.

        Parameters
        ----------
        x : array of shape (dim,)
            The features of the round.
        y : float, or int for a label
            The target.
        time : float, optional
            When the round is, not before the last one.
        """
        feedback, row = self._feedback(y), self._row(x)
        if not self._is_open:
            self._learn_one(row, feedback, self._coming(time))
            return
        self._begin(time, row)
        self._round(False, True, row, feedback, self.time)
        self._closed()

    def _learn_one(self, row: Array, feedback: Any, moment: float) -> None:
        """`update` of a new round without its checks, for wrappers that have made theirs."""
        self._x[:] = row
        self._round(True, True, row, feedback, moment)
        self.rounds, self.time, self._started = self.rounds + 1, moment, True

    def skip(self, x: ArrayLike | None = None, time: float | None = None) -> None:
        """Close the round, or pass the coming one, without a target: coefficients drift on.

        The features still count where they are known.
        """
        self._begin(time, None if x is None else self._row(x))
        self._end(None)

    def _played(self, rows: Array, rounds: int) -> None:
        """Note that compiled code has learnt the first so many rows."""
        self.rounds += rounds
        if rounds:
            self._x[:] = rows[rounds - 1]
            self._started, self.time = True, self._last_time()

    def _last_time(self) -> float:
        clock = self._state.clock
        timed = clock[CLOCK.steps] > 0.0 and clock[CLOCK.pending] == 0.0
        return float(clock[CLOCK.last]) if timed else math.nan

    def _parts(self) -> dict[str, Array]:
        """The arrays that are saved, or views of them, by their names in files."""
        names = "clock", "features", "means", "covariances", "z", "gains"
        return {**{name: getattr(self._state, name) for name in names}, "x": self._x}

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {"rounds": self.rounds, "open": self._is_open, **saved(self._parts())}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        self.rounds, self._is_open = int(state["rounds"]), bool(state["open"])
        put_back(self._parts(), state)
        self._started, self.time = self.rounds > 0 or self._is_open, self._last_time()


def compiled(value: Array) -> Array:
    """Return `value` contiguous and writeable: for others, loops would be compiled anew."""
    return np.require(value, requirements=["C", "W"])

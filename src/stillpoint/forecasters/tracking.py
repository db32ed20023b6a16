"""What TrackingForecaster and TrackingProbabilities share: filters, their growth, rounds."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.allocation import zeros
from stillpoint.core.state import put_back, saved
from stillpoint.core.validation import Array, count, waiting
from stillpoint.forecasters._features import ROW
from stillpoint.forecasters._filters import CLOCK, drift, tick
from stillpoint.forecasters.feature_rounds import FeatureRounds

NO_WEIGHTS = np.empty(0)  # losses that count alike
Rounds = tuple[Array, Array, Array, Array, int, int]  # X, y, weights, times, delay, first
Outputs = tuple[Array, Array, Array]  # answers, what the filter without drift says, weights


class TrackingModel(FeatureRounds):
    """Kalman filters side by side on features that are standardised as they come."""

    _rates: ClassVar[Array]  # (K, 2): the variances that (slopes, intercept) gain a round
    _prior: ClassVar[tuple[float, float]]  # the variances they start with
    _nothing: ClassVar[float]  # feedback of a type that compiled code takes
    _rule: tuple[Any, ...]  # what compiled code goes by

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

    @abstractmethod
    def _feedback(self, y: Any) -> Any:
        """Return y as what can be learnt from."""

    @abstractmethod
    def _targets(self, y: ArrayLike) -> Array:
        """Return the targets of many rounds as what can be learnt from."""

    @abstractmethod
    def _answers(self, rows: int) -> Array:
        """Return room for the answers of so many rounds."""

    @abstractmethod
    def _play(self, rounds: Rounds, out: Outputs) -> None:
        """Play rounds in compiled code; see `_track`."""

    def _track(
        self,
        X: Array,
        y: Array,
        times: Array,
        delay: int,
        first: int,
        more: bool,
        weights: Array = NO_WEIGHTS,
    ) -> Outputs:
        """`track` without its checks; NaN in y is a missing target; `weights` of losses.

        more: also what the filter without drift says, (T − first,), and the weights of the filters,
        (T − first, K); of class 0, or 1 where there are two.
        """
        rows = y.size - first
        still = np.empty(rows if more else 0)
        out = self._answers(rows), still, np.empty((still.size, len(self._rates)))
        self._play((X, y, weights, times, delay, first), out)
        self._played(X, max(y.size - delay, 0))
        return out

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
        """Learn the target of the round with features x.

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

    def track(
        self,
        X: ArrayLike,
        y: ArrayLike,
        times: ArrayLike | None = None,
        *,
        delay: int = 0,
        first: int = 0,
    ) -> Array:
        """Forecast and learn whole rounds in compiled code.

        Parameters
        ----------
        X : array of shape (T, dim)
            Features.
        y : array of shape (T,)
            Targets, or labels; nothing missing.
        times : array of shape (T,), optional
            When each round is, in order; rounds may share one.
        delay : int, default 0
            How many rows later a target is known. Row t is forecast, as by `peek`, from what rows
            up to t − delay − 1 taught; then row t − delay is learnt, as by `update`. The last
            `delay` targets are not learnt yet.
        first : int, default 0
            Rows in front that an earlier call has forecast: to go on after a delay, pass those
            whose targets were not learnt yet again.

        Returns
        -------
        array of shape (T − first,), or (T − first, classes) for labels
            Without a delay, what `predict` and `update` would say, bit for bit.
        """
        self._begin_bulk("X")
        targets = self._targets(y)
        rows, moments = self._rows(X, targets.size), self._coming_times(targets.size, times)
        return self._track(rows, targets, moments, *waiting(delay, first, targets.size), False)[0]

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
        put_back(self._parts(), state)
        self.rounds, self._is_open = int(state["rounds"]), bool(state["open"])
        self._started, self.time = self.rounds > 0 or self._is_open, self._last_time()

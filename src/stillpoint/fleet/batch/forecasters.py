"""Batches of Forecaster, VariationForecaster and TrackingForecaster, one object a key."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.beliefs._kalman import LIMIT
from stillpoint.core.validation import Array
from stillpoint.fleet.batch.ahead import without
from stillpoint.fleet.batch.objects import ObjectBatch, given_rows
from stillpoint.fleet.keys import Slots
from stillpoint.forecasters import TrackingForecaster, VariationForecaster
from stillpoint.series import Forecaster


class SeriesObjects(ObjectBatch):
    """`Forecaster` objects."""

    def __init__(self, learner: Forecaster, threads: int) -> None:
        super().__init__(learner, threads)
        self.horizon = learner.horizon
        self.several, self.coverages = bool(np.ndim(learner.coverage)), np.size(learner.coverage)

    def _rows(self, name: str, slots: Slots, x: ArrayLike | None) -> Array:
        features = self._new._features
        if x is not None:
            if not features.count:
                return without(name, x)
            features._named(name, x)
        return given_rows(name, x, slots.size, features.count, 3 if name == "X" else 0)

    def _admit(self, learner: Any, time: Any, x: Array | None, needed: bool) -> None:
        when = learner._timing.number(time, learner._started)
        learner._check(when, learner._features.rows(x))

    def _admit_series(self, learner: Any, rounds: int, X: Array | None) -> None:
        rows = learner._features.table(X, rounds)[0]
        learner._check_first(None if X is None else rows[:1])
        learner._when(rounds, None)

    def _open(self, learner: Any, time: Any, x: Array | None) -> float:
        return learner.predict(x, time=time)  # type: ignore[no-any-return]

    def _close(self, learner: Any, time: Any, y: float) -> None:
        if time is not None:
            learner.predict(time=time)
        learner.update(y)

    def _skip(self, learner: Any, time: Any) -> None:
        if time is not None:
            learner.predict(time=time)
        learner.skip()

    def path(self, slots: Slots, horizon: int) -> Array:
        """Forecasts of the open rounds and those after them, (rows, horizon)."""
        out = np.empty((slots.size, horizon))
        for row, slot in enumerate(slots.tolist()):
            out[row] = self._at(slot).predict(horizon=horizon)
        return out

    def ends(self, slots: Slots, horizon: int) -> tuple[Array, Array]:
        """Ends (lo, hi) of the intervals around them, each (rows, horizon, coverages)."""
        ends = np.empty((2, slots.size, horizon, self.coverages))
        for row, slot in enumerate(slots.tolist()):
            own = self._at(slot).interval(horizon=horizon)
            ends[:, row] = np.reshape(own, (2, horizon, self.coverages))
        return ends[0], ends[1]

    def _track(
        self, learner: Any, y: Array, X: Array | None, horizon: int, intervals: bool
    ) -> tuple[Array, ...]:
        parts = learner.track(y, X, horizon=horizon, intervals=intervals)
        return parts if intervals else (parts,)


class VariationObjects(ObjectBatch):
    """`VariationForecaster` objects."""

    horizon = 1

    def __init__(self, learner: VariationForecaster, threads: int) -> None:
        super().__init__(learner, threads)

    def _rows(self, name: str, slots: Slots, x: ArrayLike | None) -> Array:
        return without(name, x)

    def _admit(self, learner: Any, time: Any, x: Array | None, needed: bool) -> None:
        learner._check(time)

    def _admit_series(self, learner: Any, rounds: int, X: Array | None) -> None:
        learner._coming_times(max(rounds - learner._is_open, 0), None)

    def _open(self, learner: Any, time: Any, x: Array | None) -> float:
        return learner.predict(time)  # type: ignore[no-any-return]

    def _close(self, learner: Any, time: Any, y: float) -> None:
        learner.predict(time)
        learner.update(y)

    def _skip(self, learner: Any, time: Any) -> None:
        learner.predict(time)
        learner.skip()

    def _track(
        self, learner: Any, y: Array, X: Array | None, horizon: int, intervals: bool
    ) -> tuple[Array, ...]:
        first = self._play_open(learner, y)
        return (np.append(first, learner.track(y[first.size :])),)

    def _play_open(self, learner: Any, y: Array) -> Array:
        """Close a round that is open with the first value; returns its forecast, if there is."""
        if not (learner._is_open and y.size):
            return np.empty(0)
        forecast = learner._begin()
        if np.isnan(y[0]):
            self._skip(learner, None)
        else:
            self._close(learner, None, float(y[0]))
        return np.array([forecast])


class RegressionObjects(VariationObjects):
    """`TrackingForecaster` objects: rounds have features."""

    largest = LIMIT

    def __init__(self, learner: TrackingForecaster, threads: int) -> None:
        ObjectBatch.__init__(self, learner, threads)

    def _rows(self, name: str, slots: Slots, x: ArrayLike | None) -> Array:
        if x is None and name == "X":
            raise ValueError(f"X must be given for this learner: got {x}; pass one table a key")
        return given_rows(name, x, slots.size, self._new.dim, 3 if name == "X" else 2)

    def _admit(self, learner: Any, time: Any, x: Array | None, needed: bool) -> None:
        if x is None and needed and not learner._is_open:
            raise ValueError("x must be given to open a round: got None; pass one row a key")
        learner._check(time, None if x is None else learner._row(x))

    def _admit_series(self, learner: Any, rounds: int, X: Array | None) -> None:
        rows = learner._rows(X, rounds)
        if learner._is_open and rounds:
            learner._check_same(rows[0])

    def _open(self, learner: Any, time: Any, x: Array | None) -> float:
        row = None if x is None else learner._row(x)
        return learner._begin(time, row)  # type: ignore[no-any-return]

    def _close(self, learner: Any, time: Any, y: float) -> None:
        learner.update(learner._x, y, time)

    def _skip(self, learner: Any, time: Any) -> None:
        learner.skip(time=time)

    def _track(
        self, learner: Any, y: Array, X: Array | None, horizon: int, intervals: bool
    ) -> tuple[Array, ...]:
        assert X is not None
        first = self._play_open(learner, y)
        rest = slice(first.size, None)
        times = learner._coming_times(y.size - first.size, None)
        return (np.append(first, learner._track(X[rest], y[rest], times, 0, 0, False)[0]),)

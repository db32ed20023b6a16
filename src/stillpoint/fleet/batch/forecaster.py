"""Batches of KernelForecaster."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array
from stillpoint.fleet.batch import _forecaster
from stillpoint.fleet.batch.base import Batch, Fault
from stillpoint.fleet.batch.faults import uncounted
from stillpoint.fleet.keys import Slots
from stillpoint.forecasters import KernelForecaster, _aggregation
from stillpoint.forecasters import _kernel_forecaster as single
from stillpoint.forecasters._kernel_forecaster import AT
from stillpoint.forecasters.kernel_forecaster import CENTRE_BEFORE

# names of the state arrays, as `KernelForecaster.arrays` has them, in the order of State
_FILTERS = ("mean", "covariance", "variance", "forecasts", "clock", "centre")
_EXPERTS = ("aggregator.R", "aggregator.V", "aggregator.scalars")
_NAMES = (*_FILTERS, *_EXPERTS)


class ForecasterBatch(Batch):
    """States of `KernelForecaster`. Its clock is in an array; `open`, `started` and `time` repeat
    that where checks find it.
    """

    timed, horizon = True, 1

    def __init__(self, learner: KernelForecaster, threads: int) -> None:
        super().__init__(threads)
        if learner.kernels is not None:
            raise ValueError(
                f"kernels must be None in a fleet: got {learner.kernels!r}; splines are what runs"
                " compiled"
            )
        self._rule = learner._rule
        state = learner.arrays()
        self._lay(
            **{name: state[name] for name in _NAMES},
            time=np.float64(0.0),
            open=np.False_,
            started=np.False_,
        )

    def _outside(self, slots: Slots, when: Array) -> list[Fault]:
        least = float(self._rule.ridges.min())
        early = np.flatnonzero(when < -least)

        def what(row: int) -> str:
            return (
                f"time must be at least −{least:g} for the spline: got {when[row]}; shift the times"
                " to start near 0"
            )

        return [Fault(early, what)] if early.size else []

    def open(self, slots: Slots, when: Array, centres: Array) -> Array:
        """Forecasts, one a key."""
        out = np.empty(slots.size)
        rounds = self._get("open", "time")
        self._run(_forecaster.begin, slots, when, out, self._rule, self._batch(), *rounds)
        return out

    def close(self, slots: Slots, when: Array, feedback: tuple[Array, ...]) -> None:
        """Learn from targets; NaN is a missing one."""
        if not self.data["open"][slots].all():
            self.open(slots, when, np.zeros(0))
        rounds = self._get("open", "started")
        self._run(_forecaster.finish, slots, *feedback, self._rule, self._batch(), *rounds)

    def series(
        self, slots: Slots, Y: ArrayLike, X: ArrayLike | None
    ) -> tuple[Array, Any, list[Fault]]:
        """As all forecasters; times must leave room for as many rounds."""
        values, rows, faults = super().series(slots, Y, X)
        return values, rows, [*uncounted(self.data["time"][slots], values.shape[1]), *faults]

    def track(
        self, slots: Slots, Y: Array, X: Any, horizon: int, intervals: bool
    ) -> tuple[Array, ...]:
        """Round by round, all keys at once."""
        out = np.empty((*Y.shape, 1))
        for t in range(Y.shape[1]):
            when = self.moments(slots, None)[0]
            out[:, t, 0] = self.open(slots, when, X)
            self.close(slots, when, (Y[:, t].copy(),))
        return (out,)

    def _batch(self) -> single.State:
        experts = _aggregation.State._make((*self._get(*_EXPERTS), np.zeros(0)))
        return single.State._make((*self._get(*_FILTERS), experts))

    def state(self, slot: int) -> dict[str, Any]:
        """As `KernelForecaster.arrays`."""
        own = {name: self.data[name][slot].copy() for name in _NAMES}
        return {**own, "aggregator.experts": int(own["clock"][AT.experts])}

    def migrated(self, state: dict[str, Any]) -> dict[str, Any]:
        """As `KernelForecaster.migrated`."""
        return {"centre": np.tile(CENTRE_BEFORE, (len(state["clock"]), 1)), **state}

    def adopt(self, slot: int, state: dict[str, Any]) -> None:
        """From `KernelForecaster.arrays`."""
        for name in _NAMES:
            self.data[name][slot] = state[name]
        clock = state["clock"]
        self.data["time"][slot], self.data["open"][slot] = clock[AT.time], clock[AT.open] != 0.0
        self.data["started"][slot] = clock[AT.rounds] != 0.0

"""Series whose features are known ahead, for interfaces that tell them one round at a time."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from stillpoint.core.validation import Array, stored, under
from stillpoint.forecasters.aggregation import target_number
from stillpoint.series import Forecaster


class Ahead:
    """A Forecaster whose rounds wait until the features of the rounds after them are known.

    What many steps ahead can rely on is learnt from forecasts that knew the features of those
    steps. So a round is learnt once H − 1 later ones are there, H the horizon, and a forecast
    learns what waits in a copy, with the features of the rounds to come: the same numbers as
    `Forecaster.track(y, X)` of all rows at once.

    Parameters
    ----------
    core : Forecaster
        A new one.
    waits : bool
        Whether rounds wait; without features they never do.
    """

    def __init__(self, core: Forecaster, *, waits: bool = True) -> None:
        self.core = core
        self._waits = waits and core._features.count > 0 and core.horizon > 1
        self._values: list[float] = []
        self._rows = core._features.none
        self._times: list[Any] = []

    def learn(
        self, values: Sequence[float], rows: Array, times: Sequence[Any], intervals: bool = False
    ) -> Any:
        """Learn rounds in order; returns what `Forecaster.track` does of those that no longer wait.

        Parameters
        ----------
        values : sequence of float
            NaN is a missing one.
        rows : array of shape (rounds, features)
            What is known of each round.
        times : sequence
            Numbers or numpy's dates, or None for each.
        """
        self._check(values, rows, times)
        if not self._waits:
            return _track(self.core, values, rows, times, intervals)
        values, times = [*self._values, *values], [*self._times, *times]
        rows = np.concatenate([self._rows, rows])
        ready = max(len(values) - self.core.horizon + 1, 0)
        out = _track(self.core, values[:ready], rows, times, intervals)
        self._values, self._rows, self._times = values[ready:], rows[ready:], times[ready:]
        return out

    def _check(self, values: Sequence[float], rows: Array, times: Sequence[Any]) -> None:
        """Refuse before anything waits what the core would refuse later."""
        for value in np.asarray(values)[~np.isnan(values)].tolist():
            target_number(value)
        if self.core._features.count:
            self.core._features.table(rows, len(values))
        before = self._times[-1:]
        for when in times:
            for last in before:
                if type(when) is not type(last) or (when is not None and not when > last):
                    raise ValueError(
                        f"time must increase: got {when} after {last}; sort the stream"
                    )
            before = [when]

    def ready(self, ahead: Array, intervals: bool = False) -> tuple[Forecaster, Any]:
        """A copy of the forecaster that has learnt all, and what it said of rounds that waited.

        `ahead` are the features of rounds to come, none or a row each.
        """
        core = copy.copy(self.core)
        table = np.concatenate([self._rows, ahead])
        return core, _track(core, self._values, table, self._times, intervals)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        timed = bool(self._times) and self._times[0] is not None
        dated = timed and isinstance(self._times[0], np.datetime64)
        own = {
            "values": np.array(self._values, dtype=float),
            "rows": self._rows.copy(),
            "times": np.array(self._times if timed else [], dtype="M8[us]" if dated else float),
        }
        own["times"] = own["times"].astype(float)
        core = {f"core.{name}": value for name, value in self.core.arrays().items()}
        return {**own, "dated": dated, **core}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        values = stored(state, "values", None)
        rows = stored(state, "rows", values.size, self.core._features.count)
        timed = np.size(state["times"]) > 0
        times = stored(state, "times", values.size if timed else 0)
        self.core.restore(under(state, "core."))
        self._values, self._rows, self._times = values.tolist(), rows, [None] * values.size
        if timed:
            dates = times.astype(np.int64).astype("M8[us]")
            self._times = list(dates) if state["dated"] else times.tolist()


def _track(
    core: Forecaster, values: Sequence[float], table: Array, times: Sequence[Any], intervals: bool
) -> Any:
    when = None if not times or times[0] is None else np.array(times)
    return core.track(np.array(values), table if table.shape[1] else None, when, 1, intervals)

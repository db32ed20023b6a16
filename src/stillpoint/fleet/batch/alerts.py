"""Detectors of many keys: rows in, alarms out, with one bound on alarms over all keys.

`rate` is a share of the rows of all keys. A row of a key that may be an alarm (p ≤ rate, as in none
of its rows just before) is one if there were no more than rate·T + 3√(rate(1 − rate)(T + 100)) of
all keys before it, T counting values of all keys up to it, in the order of rows: that of the call,
and where a call has several rows a key those of one time before those of the next.
"""

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillpoint.alerts import Anomalies
from stillpoint.alerts._anomalies import BY, IN
from stillpoint.alerts._small import CLOCK, ENTRIES, most
from stillpoint.alerts.anomaly import bound, noted
from stillpoint.alerts.small import check
from stillpoint.core.arithmetic import LARGEST
from stillpoint.core.validation import Array, counted, stored
from stillpoint.fleet.batch import _alerts
from stillpoint.fleet.batch.base import Batch, Fault
from stillpoint.fleet.batch.faults import table
from stillpoint.fleet.keys import Slots

_COUNTED = 2.0**53
VALUES, ALARMS = 0, 1  # places in `totals`


class Found(NamedTuple):
    """Alarms of a call, in the order in which they were raised."""

    rows: NDArray[np.int64]  # of the call
    times: NDArray[np.int64]
    records: list[Any]


class Detectors(Batch):
    """Detectors; a round is a value, and what was forecast of it, if that is given."""

    detects = True
    rate: float | None = None  # a share of all rows, where alarms are bounded

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.totals = np.zeros(2, np.int64)  # values of all keys, and alarms

    def bound(self) -> float:
        """How many alarms there can be by now at most."""
        if self.rate is None:
            raise ValueError(
                "learner must be Anomalies to have a bound on alarms: got another; see `every`"
            )
        return bound(self.rate, float(self.totals[VALUES]))

    @abstractmethod
    def watch(self, slots: Slots, Y: Array, forecasts: Array | None) -> Found:
        """Take in rows (keys, T), NaN where a value or a forecast is missing."""

    def given(
        self, slots: Slots, Y: ArrayLike, forecasts: ArrayLike | None, one: bool
    ) -> tuple[Array, Array | None, list[Fault]]:
        """Rows and forecasts as arrays (keys, T), and what is wrong; one: they are (keys,)."""
        names = ("y", "forecasts") if one else ("Y", "forecasts")
        values, faults = _cells(names[0], Y, slots, self._largest(forecasts), one, True)
        if forecasts is None:
            return values, None, faults
        centres, more = _cells(names[1], forecasts, slots, LARGEST, one, False)
        if centres.shape != values.shape:
            raise ValueError(
                f"forecasts must be as many as values: got shape {centres.shape} for"
                f" {values.shape}; pass one a value, NaN for none"
            )
        return values, centres, [*faults, *more]

    def _largest(self, forecasts: ArrayLike | None) -> float:
        """The largest size of values that come with these forecasts, or with none."""
        return LARGEST

    def _raised(self, values: NDArray[np.int64], known: int) -> NDArray[np.bool_]:
        """Which of those that may be alarms are, told how many values there were with each.

        known: values of the whole call.
        """
        admitted = np.ones(values.size, bool)
        alarms = int(self.totals[ALARMS])
        if self.rate is None:
            alarms += values.size
        else:
            before = self.totals[VALUES]
            alarms += _alerts.admit(self.rate, before + values, alarms, admitted)
        self.totals += known, alarms - self.totals[ALARMS]
        return admitted

    # saving

    def take(self, slots: Slots) -> dict[str, NDArray[Any]]:
        """The states at these places, for saving, and what was counted over all keys."""
        return {**super().take(slots), "totals": self.totals.copy()}

    def put(self, slots: Slots, state: dict[str, Any]) -> None:
        """Inverse of `take`; ValueError where arrays do not go together."""
        totals = stored(state, "totals", 2, dtype=np.int64)
        counted("totals", totals[VALUES], _COUNTED)
        counted("totals", totals[ALARMS], totals[VALUES])
        super().put(slots, {name: each for name, each in state.items() if name != "totals"})
        self.totals = totals

    # rounds that open and close are those of others

    def centres(self, slots: Slots, forecasts: ArrayLike | None) -> tuple[Array, list[Fault]]:
        """There is nothing to predict."""
        raise ValueError(
            "learner must be one that predicts: got a detector, which does not; call update"
        )

    def feedback(self, slots: Slots, given: ArrayLike) -> tuple[tuple[Array, ...], list[Fault]]:
        """See `given`."""
        raise NotImplementedError

    def open(self, slots: Slots, when: Array, centres: Array) -> Any:
        """See `centres`."""
        raise NotImplementedError

    def close(self, slots: Slots, when: Array, feedback: tuple[Array, ...]) -> None:
        """See `watch`."""
        raise NotImplementedError


class AlertBatch(Detectors):
    """States of `Anomalies` with a small memory that is given forecasts: a row of numbers each."""

    def __init__(self, learner: Anomalies, threads: int) -> None:
        super().__init__(threads)
        self.rate = learner.rate
        self._lay(rows=learner.arrays()["row"])

    def given(
        self, slots: Slots, Y: ArrayLike, forecasts: ArrayLike | None, one: bool
    ) -> tuple[Array, Array | None, list[Fault]]:
        """As others; forecasts must be there."""
        if forecasts is None:
            raise ValueError(
                "forecasts must be given: got None; pass those of a fleet of forecasters, or build"
                " this one with forecaster=sp.VariationForecaster(), which gives each key its own"
            )
        return super().given(slots, Y, forecasts, one)

    def watch(self, slots: Slots, Y: Array, forecasts: Array | None) -> Found:
        """In one compiled loop over the keys; then alarms are admitted in the order of rows."""
        own, times, notes = self.look(slots, Y, forecasts)
        known = ~np.isnan(Y)
        told = self._raised(counted_to(known, own, times), int(known.sum()))
        own, times, notes = own[told], times[told], notes[told]
        _alerts.note(slots[own], self.data["rows"], notes)
        return Found(own, times, [noted(one) for one in notes])

    def look(
        self, slots: Slots, Y: Array, forecasts: Array | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
        """Take in rows; return those that may be alarms: keys, times and records, in order."""
        (n, T), rows = Y.shape, self.data["rows"]
        notes, counts = np.empty((n, most(T, self.rate or 0.5), ENTRIES)), np.zeros(n, np.int64)
        self._run(_alerts.play, slots, Y, forecasts, rows, notes, counts)
        own = np.repeat(np.arange(n), counts)
        notes = notes[own, np.arange(own.size) - np.repeat(np.cumsum(counts) - counts, counts)]
        first = rows[slots[own], CLOCK + BY.row] - T
        times = (notes[:, IN.row] - first).astype(np.int64)
        order = np.lexsort((own, times))
        return own[order], times[order], notes[order]

    def skip(self, slots: Slots, when: Array) -> None:
        """Rows whose values are missing."""
        nothing = np.full((slots.size, 1), np.nan)
        self.watch(slots, nothing, nothing)

    def put(self, slots: Slots, state: dict[str, Any]) -> None:
        """Inverse of `take`; ValueError where arrays do not go together."""
        rows = stored(state, "rows", slots.size, self._blank["rows"].size)
        check(rows)
        rows[:, 0] = self.rate
        super().put(slots, {**state, "rows": rows})

    def state(self, slot: int) -> dict[str, Any]:
        """As the learner's `arrays`."""
        row = self.data["rows"][slot].copy()
        seen = bool(row[CLOCK + BY.values] > 0.0)
        return {"row": row, "told": 1 if seen else -1, "seen": seen}

    def adopt(self, slot: int, state: dict[str, Any]) -> None:
        """From the learner's `arrays`."""
        if int(state["told"]) == 0:
            raise ValueError(
                "learner must have been given forecasts to join this fleet: got one with a"
                " forecaster of its own; build the fleet with forecaster= as well"
            )
        self.data["rows"][slot] = state["row"]


def counted_to(
    known: NDArray[np.bool_], rows: NDArray[np.int64], times: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How many cells (keys, T) are known up to each of some: those of a time, then the next."""
    each = known.sum(axis=0, dtype=np.int64)
    out: NDArray[np.int64] = (np.cumsum(each) - each)[times]
    for time in np.unique(times):
        at = times == time
        out[at] += np.cumsum(known[:, time])[rows[at]]
    return out


def _cells(
    name: str, given: ArrayLike, slots: Slots, limit: float, one: bool, feedback: bool
) -> tuple[Array, list[Fault]]:
    """Cells (keys, T), given as that or, of one time, as (keys,)."""
    if one:
        if np.shape(given) != slots.shape:
            raise ValueError(
                f"{name} must be as many as keys: got shape {np.shape(given)} for {slots.size};"
                " pass one number a key, NaN for a missing one"
            )
        given = np.asarray(given)[:, None]
    return table(given, slots, limit, name, feedback)

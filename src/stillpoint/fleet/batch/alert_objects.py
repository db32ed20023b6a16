"""Detectors that are objects, one a key: Changes, and Anomalies with forecasters of their own."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.alerts import Anomalies
from stillpoint.core.arithmetic import LARGEST
from stillpoint.core.validation import Array, shown
from stillpoint.fleet.batch.alerts import Detectors, Found, counted_to
from stillpoint.fleet.batch.base import Fault
from stillpoint.fleet.batch.objects import Objects
from stillpoint.fleet.keys import Slots


class AlertObjects(Detectors, Objects):
    """Detectors played one after the other; the alarms of each are within its own bound, too."""

    def __init__(self, learner: Any, threads: int) -> None:
        self._forecasts = isinstance(learner, Anomalies)
        given = learner._source.given if self._forecasts else None
        if given is not None and not hasattr(given, "arrays"):
            raise ValueError(
                f"forecaster must be one of this library in a fleet: got {given!r}; pass its"
                " forecasts to update and track"
            )
        super().__init__(learner, threads)
        self.rate = learner.rate if self._forecasts else None
        self._own = learner._source.largest if self._forecasts else LARGEST

    def given(
        self, slots: Slots, Y: ArrayLike, forecasts: ArrayLike | None, one: bool
    ) -> tuple[Array, Array | None, list[Fault]]:
        """As others; each key is given forecasts in all of its rows or in none."""
        if forecasts is not None and not self._forecasts:
            raise ValueError(
                f"forecasts must be left out for this learner: got {shown(forecasts)}; only"
                " Anomalies takes them"
            )
        values, centres, faults = super().given(slots, Y, forecasts, one)
        if self._forecasts:

            def admit(learner: Any, row: int) -> None:
                learner._source.check(forecasts is not None, "them")

            faults = [*self._faults(slots, admit), *faults]
        return values, centres, faults

    def _largest(self, forecasts: ArrayLike | None) -> float:
        return self._own if forecasts is None else LARGEST

    def watch(self, slots: Slots, Y: Array, forecasts: Array | None) -> Found:
        """Key by key; then alarms are admitted in the order of rows."""
        own, times, records = [], [], []
        for row, slot in enumerate(slots.tolist()):
            learner = self._at(slot)
            first, more = learner.rounds, () if forecasts is None else (forecasts[row],)
            said = learner.track(Y[row], *more)
            for record in said[1] if self._forecasts else said:
                own.append(row)
                times.append(record.row - first)
                records.append(record)
        order = np.lexsort((own, times))
        rows, when = np.array(own, np.int64)[order], np.array(times, np.int64)[order]
        known = ~np.isnan(Y)
        told = np.flatnonzero(self._raised(counted_to(known, rows, when), int(known.sum())))
        return Found(rows[told], when[told], [records[i] for i in order[told].tolist()])

    def skip(self, slots: Slots, when: Array) -> None:
        """Rows whose values are missing."""
        for slot in slots.tolist():
            self._at(slot).skip()

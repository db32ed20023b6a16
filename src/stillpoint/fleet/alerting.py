"""Fleets of detectors: rows in, alarms out, and one bound on them over all keys."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillpoint.core.validation import Array, shown
from stillpoint.fleet.batch.alerts import ALARMS, Detectors
from stillpoint.fleet.batch.faults import unlearnable
from stillpoint.fleet.forecasting import Forecasting
from stillpoint.fleet.keyed import GivenKeys
from stillpoint.fleet.keys import plain


class Alerting(Forecasting):
    """Alarms of the learners of a fleet; ValueError where they are no detectors."""

    found: list[tuple[Any, Any]]

    @property
    def alarms(self) -> int:
        """How many alarms there were, of all keys, retired ones included."""
        return int(self._detectors.totals[ALARMS])

    def alarm_bound(self) -> float:
        """How many alarms of all keys there can be by now at most, on any streams.

        rate·T + 3√(rate(1 − rate)(T + 100)) + 1 after T values of all keys.
        """
        return self._detectors.bound()

    def track(
        self,
        keys: GivenKeys,
        Y: ArrayLike | None = None,
        X: ArrayLike | None = None,
        *,
        forecasts: ArrayLike | None = None,
        horizon: int = 1,
        intervals: bool = False,
    ) -> Any:
        """Play a whole series of each key: the numbers of predict and update.

        Parameters
        ----------
        keys : array or list
            The keys, which must differ.
        Y : array of shape (n, T)
            A series a key; NaN is a missing value.
        X : array of shape (n, T, features), optional
            Features, where the learner has any; for Forecaster, more rows are of rounds to come.
        forecasts : array of shape (n, T), optional
            What was forecast of each value, where the learner is Anomalies; NaN for none.
        horizon : int, default 1
            How many values to forecast in each round.
        intervals : bool, default False
            Whether to return the ends of the intervals, too.

        Returns
        -------
        array of shape (n, T), or (n, T, horizon)
            What was forecast before each value was seen. Rows of rejected keys are NaN. For
            detectors: which values are alarms, with their records in `found`; values are taken time
            by time, those of one time in the order of keys.
        lo, hi : arrays of that shape, one axis more for several coverages
            If intervals are asked for.
        """
        if Y is None:
            raise ValueError(
                "Y must be given, a row of values a key: got keys alone; of a long table give the"
                " columns of table.pivot(index=time, columns=key, values=target) as keys, and its"
                " values, transposed, as Y"
            )
        if self._batch.detects:
            self._no_features(X)
            return self._watch(keys, Y, forecasts, one=False)
        self._no_centres("track", forecasts)
        return self._forecast(keys, Y, X, horizon, intervals)

    @property
    def _detectors(self) -> Detectors:
        if not isinstance(self._batch, Detectors):
            raise ValueError(
                f"learner must be Anomalies or Changes to have alarms: got {self._kind.__name__};"
                " build another fleet"
            )
        return self._batch

    def _watch(
        self, keys: GivenKeys, Y: ArrayLike, forecasts: ArrayLike | None, one: bool
    ) -> NDArray[np.bool_]:
        """Which values (n, T) are alarms; one: they are (n,)."""
        batch = self._detectors
        with self._entered(keys) as (names, slots):
            values, centres, faults = batch.given(slots, Y, forecasts, one)
            bad = self._judge(names, faults)
        alarms, rows = np.zeros(values.shape, bool), np.arange(slots.size)
        if bad is not None:
            values[unlearnable(values, batch.largest)] = np.nan
            rows = np.flatnonzero(~bad[1])
        told = None if centres is None else _some(centres, rows)
        found = batch.watch(slots[rows], _some(values, rows), told)
        own = rows[found.rows]
        alarms[own, found.times] = True
        pairs = zip(own.tolist(), found.records, strict=True)
        self.found = [(plain(names, row), record) for row, record in pairs]
        return alarms[:, 0] if one else alarms

    def _no_centres(self, where: str, forecasts: ArrayLike | None) -> None:
        if forecasts is not None:
            raise ValueError(
                f"forecasts must be left out of {where} for {self._kind.__name__}: got"
                f" {shown(forecasts)}; only Anomalies takes them there"
            )

    def _no_features(self, x: ArrayLike | None) -> None:
        if x is not None:
            raise ValueError(
                f"features must be left out for {self._kind.__name__}: got {shown(x)}; it takes"
                " values, and forecasts= of them"
            )


def _some(cells: Array, rows: NDArray[np.intp]) -> Array:
    """These rows; the array itself where they are all."""
    return cells if rows.size == len(cells) else cells[rows]

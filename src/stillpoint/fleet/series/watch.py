"""Detectors beside the forecasters of a part: which of its rows may be alarms.

Whether they are depends on the rows of all parts: `commands/forecasts/alerts.py`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.alerts._small import ENTRIES
from stillpoint.core.validation import Array, stored
from stillpoint.fleet.batch.alerts import AlertBatch
from stillpoint.fleet.fleet import Fleet

Places = NDArray[np.int64]


class Watch:
    """Detectors of the keys of a part, and what they have seen since `begin`.

    Parameters
    ----------
    rate : float
        Of exceedances of each key.
    """

    def __init__(self, rate: float) -> None:
        self.fleet = Fleet("Anomalies", rate=rate, memory="small")
        self.rows: list[Places] = []  # which rows may be alarms
        self.notes: list[Array] = []  # and their records

    def take(
        self,
        keys: list[str],
        Y: Array,
        forecasts: Array,
        seen: NDArray[np.bool_],
        rows: Places,
        cells: Places,
        places: Places,
    ) -> None:
        """Take in rounds Y (keys, T) with their forecasts.

        Parameters
        ----------
        keys, Y, forecasts
            The rounds.
        seen : array of shape (keys,)
            Whether a key has had a value before: forecasts from nothing are none.
        rows, cells, places : arrays of shape (rows,)
            Rows of the part that are in these rounds, sorted by their key in Y and their place.
        """
        batch, known = self.fleet._batch, ~np.isnan(Y)
        assert isinstance(batch, AlertBatch)
        made = seen[:, None] | (np.cumsum(known, axis=1) - known > 0)
        slots = self.fleet._enter(keys)[1]
        own, times, notes = batch.look(slots, Y, np.where(made, forecasts, np.nan))
        found = np.searchsorted(cells * Y.shape[1] + places, own * Y.shape[1] + times)
        self.rows.append(rows[found])
        self.notes.append(notes)

    def found(self) -> tuple[Places, Array]:
        """Return which rows may be alarms, and their records; a new run begins."""
        rows, notes = self.rows, self.notes
        self.rows, self.notes = [], []
        if not rows:
            return np.zeros(0, np.int64), np.zeros((0, ENTRIES))
        return np.concatenate(rows), np.concatenate(notes)

    def arrays(self, places: dict[str, int]) -> dict[str, NDArray[Any]]:
        """Return the state, for saving; places: of keys among those of the part."""
        state = self.fleet.arrays()
        order = np.array([places[name] for name in state.pop("keys")], np.int64)
        return {"order": order, **state}

    def restore(self, keys: list[str], state: dict[str, Any]) -> None:
        """Inverse of `arrays`, for the keys of the part."""
        order = stored(state, "order", None, dtype=np.int64).tolist()
        rest = {name: each for name, each in state.items() if name != "order"}
        self.fleet.restore({"keys": [keys[i] for i in order], **rest})

"""History: a stream of any length in at most 2000 buckets of consecutive rows, for the report."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillpoint.commands import _rows
from stillpoint.commands._rows import BUCKET, Forecasts
from stillpoint.core.validation import Array, count, counted, stored

_CAPACITY, _KEPT = 2000, 512
_RECENT = ("row", "time", "y", "forecast", "lo", "hi")


class History:
    """Sums over buckets of equally many consecutive rows.

    A bucket holds 1 row at first; when all are in use neighbours merge, and buckets hold twice as
    many. Memory is O(capacity·(losses + experts)), however long the stream.

    Parameters
    ----------
    task, loss_name
        What is forecast, and what is lost.
    losses
        Names of the losses kept.
    expert_labels
        Names of the experts whose weights are kept.
    capacity
        How many buckets there are at most.
    """

    def __init__(
        self,
        task: str,
        loss_name: str,
        losses: Sequence[str],
        expert_labels: Sequence[str],
        capacity: int = _CAPACITY,
    ) -> None:
        self.task, self.loss_name = task, loss_name
        self.losses, self.expert_labels = list(losses), list(expert_labels)
        width = len(BUCKET) + len(self.losses) + len(self.expert_labels)
        self._buckets = np.zeros((count("capacity", capacity), width))
        self._state = np.array([0, 1], dtype=np.int64)  # buckets in use, rows that one holds
        self._last: Array | None = np.zeros((0, len(_RECENT)))  # None: of an old checkpoint

    def add(self, row: int, rows: Forecasts, banded: bool) -> None:
        """Add rows from number `row` on.

        banded: whether lo and hi are an interval to be held to its coverage.
        """
        _rows.fill(row, rows, banded, self._buckets, self._state)
        told = [rows.times, rows.y, rows.forecasts, rows.lo, rows.hi]
        new = np.column_stack([part[-_KEPT:] for part in told])
        numbers = np.arange(row, row + rows.y.size, dtype=np.float64)[-_KEPT:]
        before = np.zeros((0, len(_RECENT))) if self._last is None else self._last
        self._last = np.concatenate([before, np.column_stack([numbers, new])])[-_KEPT:]

    def recent(self) -> dict[str, Array]:
        """Return the last rows one by one, at most 512: what the report draws before a forecast."""
        rows = np.zeros((0, len(_RECENT))) if self._last is None else self._last
        found = {name: rows[:, i].copy() for i, name in enumerate(_RECENT)}
        if self.task != "binary":
            found["forecast"][found["row"] == 1.0] = np.nan  # of nothing that had been seen
        return found

    def columns(self) -> dict[str, Array]:
        """Return a value for each bucket: what the report draws.

        Means are over rows, those of lo, hi and width over finite ones.
        """
        b = self._buckets[: self._state[0]]

        def mean(total: int, number: Array) -> Array:
            empty = number == 0.0
            return np.where(empty, np.nan, b[:, total] / np.where(empty, 1.0, number))

        told = b[:, BUCKET.rows].copy()
        if self.task != "binary":
            # the first forecast is 0, for nothing has been seen: it is not one to be drawn
            told[:1] -= 1.0
        unseen = b[:, BUCKET.y_count] == 0.0
        result = {
            "row": b[:, BUCKET.row].copy(),
            "rows": b[:, BUCKET.rows].copy(),
            "targets": b[:, BUCKET.y_count].copy(),
            "time": b[:, BUCKET.time].copy(),
            "y_min": np.where(unseen, np.nan, b[:, BUCKET.least]),
            "y_mean": mean(BUCKET.y, b[:, BUCKET.y_count]),
            "y_max": np.where(unseen, np.nan, b[:, BUCKET.most]),
            "forecast": mean(BUCKET.forecast, told),
            "lo": mean(BUCKET.lo, b[:, BUCKET.lo_count]),
            "hi": mean(BUCKET.hi, b[:, BUCKET.hi_count]),
            "covered": b[:, BUCKET.covered].copy(),
            "scored": b[:, BUCKET.scored].copy(),
            "width": mean(BUCKET.width, b[:, BUCKET.width_count]),
        }
        first = len(BUCKET) + len(self.losses)
        result |= {
            f"loss:{name}": b[:, len(BUCKET) + j].copy() for j, name in enumerate(self.losses)
        }
        result |= {
            f"weight:{k}": b[:, first + k] / np.maximum(b[:, BUCKET.rows], 1.0)
            for k in range(len(self.expert_labels))
        }
        return result

    def total(self, field: int) -> float:
        """Return the sum of a field over all buckets."""
        return float(self._buckets[: self._state[0], field].sum())

    @property
    def _not_finite(self) -> frozenset[str]:
        """As `Configured._not_finite`: a bucket without a target or a time has no least, largest or
        first one.
        """
        return frozenset({"buckets", "recent"})

    def arrays(self) -> dict[str, Any]:
        """Return the state, for saving."""
        own = {"buckets": self._buckets[: self._state[0]].copy(), "state": self._state.copy()}
        return own if self._last is None else {**own, "recent": self._last.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `arrays` returned."""
        used = stored(state, "state", 2, dtype=np.int64)
        counted("state", used[0], len(self._buckets))
        self._state[:] = used
        self._buckets[: self._state[0]] = state["buckets"]
        self._last = None  # checkpoints of old have none
        if "recent" in state:
            self._last = stored(state, "recent", None, len(_RECENT))
            counted("recent", self._last.shape[0], min(self.total(BUCKET.rows), _KEPT))
            counted("recent", -self._last.shape[0] + _KEPT, _KEPT - 1)

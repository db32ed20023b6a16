"""History: a stream of any length in at most 2000 buckets of consecutive rows, for the report."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillpoint.commands import _rows
from stillpoint.core.validation import Array, count, counted, stored

_CAPACITY = 2000


class History:
    """Sums over buckets of equally many rows, 1 at first; when all are in use neighbours merge, and
    buckets hold twice as many.

    losses: names of the losses kept. expert_labels: names of the experts whose weights are kept.
    Memory is O(capacity·(losses + experts)), however long the stream.
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
        self._buckets = np.zeros(
            (count("capacity", capacity), _rows.FIELDS + len(self.losses) + len(self.expert_labels))
        )
        self._state = np.array([0, 1], dtype=np.int64)  # buckets in use, rows that one holds

    def add(
        self,
        row: int,
        times: Array,
        y: Array,
        forecast: Array,
        lo: Array,
        hi: Array,
        banded: bool,
        losses: Array,
        weights: Array,
    ) -> None:
        """Rows from number `row` on: arrays (T,), losses (names, T) and weights (T, experts); y is
        NaN where it is missing.

        banded: whether lo and hi are an interval to be held to its coverage.
        """
        _rows.fill(
            row, times, y, forecast, lo, hi, banded, losses, weights, self._buckets, self._state
        )

    def columns(self) -> dict[str, Array]:
        """One value a bucket: what the report draws. Means are over rows, those of lo, hi and width
        over finite ones.
        """
        b = self._buckets[: self._state[0]]

        def mean(total: int, number: Array) -> Array:
            empty = number == 0.0
            return np.where(empty, np.nan, b[:, total] / np.where(empty, 1.0, number))

        told = b[:, _rows.ROWS].copy()
        if self.task != "binary":
            # the first forecast is 0, for nothing has been seen: it is not one to be drawn
            told[:1] -= 1.0
        unseen = b[:, _rows.Y_COUNT] == 0.0
        result = {
            "row": b[:, _rows.ROW].copy(),
            "rows": b[:, _rows.ROWS].copy(),
            "time": b[:, _rows.TIME].copy(),
            "y_min": np.where(unseen, np.nan, b[:, _rows.LEAST]),
            "y_mean": mean(_rows.Y, b[:, _rows.Y_COUNT]),
            "y_max": np.where(unseen, np.nan, b[:, _rows.MOST]),
            "forecast": mean(_rows.MIDDLE, told),
            "lo": mean(_rows.LO, b[:, _rows.LO_COUNT]),
            "hi": mean(_rows.HI, b[:, _rows.HI_COUNT]),
            "covered": b[:, _rows.COVERED].copy(),
            "scored": b[:, _rows.SCORED].copy(),
            "width": mean(_rows.WIDTH, b[:, _rows.WIDTH_COUNT]),
        }
        first = _rows.FIELDS + len(self.losses)
        result |= {
            f"loss:{name}": b[:, _rows.FIELDS + j].copy() for j, name in enumerate(self.losses)
        }
        result |= {
            f"weight:{k}": b[:, first + k] / np.maximum(b[:, _rows.ROWS], 1.0)
            for k in range(len(self.expert_labels))
        }
        return result

    def total(self, field: int) -> float:
        """The sum of a field over all buckets."""
        return float(self._buckets[: self._state[0], field].sum())

    @property
    def _not_finite(self) -> frozenset[str]:
        """As `Configured._not_finite`: a bucket without a target or a time has no least, largest or
        first one.
        """
        return frozenset({"buckets"})

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {"buckets": self._buckets[: self._state[0]].copy(), "state": self._state.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        used = stored(state, "state", 2, dtype=np.int64)
        counted("state", used[0], len(self._buckets))
        self._state[:] = used
        self._buckets[: self._state[0]] = state["buckets"]

"""The last rows of a series as they came: time, value, and what was known of each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.allocation import zeros
from stillpoint.core.array import Array
from stillpoint.core.validation import stored
from stillpoint.forecasters.aggregation import LARGEST
from stillpoint.series import restored
from stillpoint.series.history import KEEP, History


class Rows:
    """Rows from which slots can be told anew, the last KEEP of them.

    Parameters
    ----------
    features : int
        How many numbers may be known of a row before its value.
    """

    def __init__(self, features: int) -> None:
        # time, value, rows of features known, features; where there are none of these the first two
        self._table = zeros((16, 3 + features if features else 2))
        self._size = 0
        self.total = 0  # rows, all told
        self.before = 0  # rounds before the first of them, which had no times

    def extend(self, times: Array, y: Array, known: NDArray[Any], X: Array) -> None:
        """Add rows."""
        self.total += y.size
        times, y, known, X = times[-KEEP:], y[-KEEP:], known[-KEEP:], X[: known.size][-KEEP:]
        if self._size + y.size > self._table.shape[0]:
            kept = self._kept
            table = zeros((min(2 * KEEP, 2 * (len(kept) + y.size)), self._table.shape[1]))
            table[: len(kept)] = kept
            self._table, self._size = table, len(kept)
        new = self._table[self._size : self._size + y.size]
        new[:, 0], new[:, 1] = times, y
        if new.shape[1] > 2:
            new[:, 2], new[:, 3:] = known, X
        self._size += y.size

    def begin(self, last: float, history: History) -> None:
        """Begin with rounds that had no times: 1 apart, the last one at this time."""
        values = history.values
        self.before = history.before + history.rounds - values.size
        times = last - np.arange(float(values.size))[::-1]
        self.extend(times, values, history.known, history.features)

    @property
    def _kept(self) -> Array:
        return self._table[max(0, self._size - KEEP) : self._size]

    def in_slots(self, steps: NDArray[np.int64]) -> tuple[Array, Array, NDArray[np.int64], int]:
        """Values, features and how many rows of these were known, of slots so far apart.

        Of the first rows kept, as many as there are steps, those in the last KEEP slots; and how
        many rounds there were before them.
        """
        slots = np.cumsum(steps)
        mine = np.flatnonzero(slots > slots[-1] - KEEP)
        at, y = slots[mine] - slots[mine[0]], self.values[mine]
        values, good = np.full(at[-1] + 1, np.nan), ~np.isnan(y)
        X = np.full((values.size, self.features.shape[1]), np.nan)
        known = np.zeros(values.size, dtype=np.int64)
        X[at], known[at] = self.features[mine], self.known[mine]
        values[at[good]] = y[good]  # of several in a slot the last that is not missing
        before = self.before + self.total - len(self._kept) + int(mine[0])
        return values, X, known, before

    @property
    def times(self) -> Array:
        """When they were."""
        return self._kept[:, 0]

    @property
    def values(self) -> Array:
        """Their values, NaN where one was missing."""
        return self._kept[:, 1]

    @property
    def known(self) -> NDArray[np.int64]:
        """For how many rounds features were known."""
        return np.asarray(self._kept[:, 2:3].sum(axis=1), dtype=np.int64)

    @property
    def features(self) -> Array:
        """What was known of them."""
        return self._kept[:, 3:]

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {"rows": self._kept.copy(), "total": self.total}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        table = stored(state, "rows", None, self._table.shape[1])
        self._table, self._size = table, table.shape[0]
        self.total = restored.number(state, "total")
        late = not np.isfinite(table[:, 0]).all() or (np.diff(table[:, 0]) <= 0.0).any()
        large = np.isinf(table).any() or (np.abs(table[:, 1]) > LARGEST).any()
        if self._size != min(self.total, KEEP) or late or large or (table[:, 2:3] < 0.0).any():
            raise ValueError(
                f"state 'rows' must be the last of {self.total} rows, at increasing times: got"
                f" {self._size}; save the forecaster again"
            )

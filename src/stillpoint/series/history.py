"""The last values of a series, from which a forecaster is built anew when its seasons change."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.allocation import zeros
from stillpoint.core.array import Array
from stillpoint.core.validation import stored
from stillpoint.series import restored
from stillpoint.series._typos import YOUNG, believed, upset

KEEP = 8192  # rounds


def since(rounds: int) -> int:
    """From which round on so many are played again: all, or at least the last KEEP // 2."""
    part = KEEP // 2
    return max(0, rounds // part - 1) * part


class History:
    """The last values, NaN where one was missing, and what was known of each round.

    Features beside it, and for how many rounds ahead they were known then.

    It begins with the first value that was not missing, and grows as needed up to 2·KEEP rounds, of
    which KEEP are in use.
    """

    def __init__(self, features: int) -> None:
        # value, rows known, features; where there are none of these the value alone
        self._rows = zeros((16, 2 + features if features else 1))
        self.size = 0  # rows in use
        self.rounds = 0  # rounds since the first value, all told
        self.before = 0  # rounds before it
        self.varied = False  # whether values were not all the same

    def extend(self, y: Array, X: Array, known: Array) -> None:
        """Add rounds: values, features, and how many rows of these were known."""
        if not self.size:
            first = int(np.argmin(np.isnan(y))) if y.size else 0
            first = y.size if np.isnan(y).all() else first
            y, X, known = y[first:], X[first:], known[first:]
            self.before += first
        self.rounds += y.size
        if y.size and not self.varied:
            first = self._rows[0, 0] if self.size else y[0]
            self.varied = bool((y[~np.isnan(y)] != first).any())
        y, X, known = y[-KEEP:], X[-KEEP:], known[-KEEP:]
        if self.size + y.size > self._rows.shape[0]:
            kept = self._rows[max(0, self.size - KEEP) : self.size]
            rows = zeros((min(2 * KEEP, 2 * (len(kept) + y.size)), self._rows.shape[1]))
            rows[: len(kept)] = kept
            self._rows, self.size = rows, len(kept)
        self._rows[self.size : self.size + y.size, 0] = y
        if X.shape[1]:
            self._rows[self.size : self.size + y.size, 1] = known
            self._rows[self.size : self.size + y.size, 2:] = X
        self.size += y.size

    @property
    def _kept(self) -> Array:
        """The last KEEP rows, from the first that has a value on."""
        rows = self._rows[max(0, self.size - KEEP) : self.size]
        missing = np.isnan(rows[:, 0])
        return rows[rows.shape[0] if missing.all() else int(np.argmin(missing)) :]

    @property
    def values(self) -> Array:
        """The last values."""
        return np.ascontiguousarray(self._kept[:, 0])

    @property
    def believed(self) -> tuple[Array, Array, NDArray[np.int64]]:
        """Values, features and rows known, from the first value that is believed on.

        Values are NaN where they are missing or, among the first, not believed.
        """
        values = self.values
        if self.rounds == values.size:
            values = believed(values)
        first = int(np.argmin(np.isnan(values))) if values.size else 0
        return values[first:], self.features[first:], self.known[first:]

    def rows_from(self, first: int) -> tuple[Array, Array]:
        """Values and features of the rounds from this one on, of those that are kept.

        They begin with a value that is believed.
        """
        values, X, _ = self.believed
        start = max(0, values.size - (self.rounds - first))
        missing = np.isnan(values[start:])
        start += missing.size if missing.all() else int(np.argmin(missing))
        return values[start:], X[start:]

    def reach_from(self, first: int) -> int:
        """For how many rounds features were known at most, in the rounds from this one on."""
        rows = max(0, self.size - (self.rounds - first))
        return int(self._rows[rows : self.size, 1:2].max(initial=0.0))

    def upset_by(self, y: Array) -> int:
        """How many coming values it takes to believe others of the first ones; 0: these do not."""
        if self.rounds >= YOUNG or not self.size:
            return 0
        values = np.concatenate([self._rows[: self.size, 0], y[: YOUNG - self.size]])
        return max(upset(values, self.size) - self.size, 0)

    @property
    def features(self) -> Array:
        """What was known of their rounds."""
        return np.ascontiguousarray(self._kept[:, 2:])

    @property
    def known(self) -> NDArray[np.int64]:
        """For how many rounds features were known; no more than have come since."""
        part = self._kept[:, 1:2].astype(np.int64)
        return np.asarray(np.minimum(part.sum(axis=1), np.arange(part.shape[0], 0, -1)))

    def near(
        self, X: Array, known: NDArray[np.int64], horizon: int, apart: bool
    ) -> NDArray[np.int64]:
        """Of how many values features are known in coming rounds, for `Bands.between`.

        The horizon stands for what was known being known: so it is, unless some features are known
        of the next round alone (apart), or were so in the last rounds that had any, one a horizon.
        X and known are those of `Engine.track`.
        """
        before = self._rows[max(0, self.size - KEEP) : self.size, 1]
        reach, now = np.append(before, known), before.size + np.arange(known.size)
        some = np.flatnonzero(reach > 0.0)
        more = np.cumsum(np.append(0, reach[some] > 1.0))
        last = np.searchsorted(some, now)
        first = np.maximum(last - horizon, np.searchsorted(some, now - KEEP))
        alone = (last > first) & (more[last] == more[first])
        empty = np.ones(known.size, dtype=np.bool_)
        empty[: X.shape[0]] = np.isnan(X[: known.size]).all(axis=1)
        told = np.where(empty & (known < 2), 0, known)
        return np.minimum(told, 1) if apart else np.where(alone & (told < 2), told, horizon)

    @property
    def last(self) -> float:
        """The last value that is not missing; 0 before the first."""
        for value in self._rows[max(0, self.size - KEEP) : self.size, 0][::-1]:
            if not np.isnan(value):
                return float(value)
        return 0.0

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        rows = self._rows[max(0, self.size - KEEP) : self.size]
        return {
            "history": rows.copy(),
            "rounds": self.rounds,
            "before": self.before,
            "varied": self.varied,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        rows = stored(state, "history", None, self._rows.shape[1])
        rounds = restored.number(state, "rounds")
        if rows.shape[0] != min(rounds, KEEP):
            raise ValueError(
                f"state 'history' must have the last rows of {rounds} rounds: got"
                f" {rows.shape[0]}; save the forecaster again"
            )
        self._rows, self.size, self.rounds = rows, rows.shape[0], rounds
        self.before, self.varied = restored.number(state, "before"), bool(state["varied"])

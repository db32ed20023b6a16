"""Rounds without times: forecast, learn, and build anew when the seasons of the series change.

When a season is admitted, a value ends the logarithms or the unit no longer fits, all experts and
their aggregation are built anew and the kept history is replayed: weights are as if the seasons had
been known from its start. Seasons are looked for after 24, 34, 48, … values, √2 apart, so that all
looks and replays together cost O(log t) a round.
"""

import math
from typing import Any

import numpy as np

from stillpoint.core.array import Array
from stillpoint.core.validation import stored
from stillpoint.series import _rounds, layout, seasons
from stillpoint.series._knots import ISSUE
from stillpoint.series._scale import AT, BY
from stillpoint.series.gains import LAST, Gains, shared
from stillpoint.series.history import KEEP, History
from stillpoint.series.layout import Scale
from stillpoint.series.pool import Pool

START = 10  # values before there is anything but the last value
_NEVER = 1 << 62
_MISFIT = 8.0  # how much larger or smaller than its history's deviation a unit may be
# arrays of a state that change from round to round, by their names in files
_OWN = {
    "": ("scalars", "clock", "lags", "features"),
    "filters": ("means", "gaps", "seasonal"),
    "regressions": ("coefficients", "covariances"),
    "phases": ("levels", "first", "second", "first_seen", "second_seen"),
    "knots": ("experts", "pair", "scalars", "stack", "spread", "waiting", "issued"),
}


class Engine:
    """A series, round by round.

    Parameters
    ----------
    pool : Pool
        The experts.
    horizon : int
        How far ahead forecasts go.
    periods : tuple of float or None
        The seasons, the shortest first; None: they are found.
    features : int
        How many numbers are known of each round before its value.
    """

    def __init__(
        self, pool: Pool, horizon: int, periods: tuple[float, ...] | None, features: int = 0
    ) -> None:
        self.pool, self.horizon, self.features = pool, horizon, features
        self.periods, self.calendar = periods, ()
        self.history = History(features)
        self.active: tuple[float, ...] = ()
        self.builds = 0  # how often experts were built
        self.state: _rounds.State | None = None
        self._found: tuple[float, ...] = ()
        self._look, self._next, self._ages = seasons.LEAST, 0, 0
        self._room = np.empty((0, 0))

    # rounds

    def open(self) -> float:
        """Forecast the coming value."""
        if self.state is None:
            return self.history.last
        self._cover(1)
        return float(_rounds.open_one(self.state))

    def close(self, y: float) -> None:
        """Learn a value; NaN if it is missing."""
        given = np.array([y])
        if self.state is not None:
            if y <= 0.0 and self.state.clock[BY.logs]:
                self.state = None  # the logarithm ends with the first value that has none
            else:
                _rounds.close_one(self.state, y)
        self._keep(given)

    def path(self, horizon: int) -> Array:
        """Forecast the coming values, after `open`."""
        if self.state is None:
            return np.full(horizon, self.history.last)
        K = self.state.knots.experts.shape[2]
        if self._room.shape != (self.horizon, K):
            self._room = np.empty((self.horizon, K))
        out = np.empty(horizon)
        _rounds.path(self.state, self._room, out)
        out[0] = self.state.knots.issued[-1, 0, ISSUE.forecast]
        return out

    def track(self, y: Array, horizon: int) -> Array:
        """Open and close a round for each value; returns the forecasts, (rounds, horizon)."""
        out, i = np.empty((y.size, horizon)), 0
        while i < y.size:
            j = i + 1
            if self.state is None or (y[i] <= 0.0 and self.state.clock[BY.logs]):
                self.open()
                out[i] = self.path(horizon)
                self.close(y[i])
            else:
                j = min(y.size, i + max(1, self._next - self.history.rounds))
                if self.state.clock[BY.logs]:
                    ends = np.flatnonzero(y[i:j] <= 0.0)
                    j = i + int(ends[0]) if ends.size else j
                self._cover(j - i)
                _rounds.track(self.state, y[i:j], out[i:j])
                self._keep(y[i:j])
            i = j
        return out

    def _cover(self, rounds: int) -> None:
        """See that the tables of gains reach as far as so many more rounds."""
        assert self.state is not None
        age = int(self.state.clock[BY.now]) + rounds
        if age > self._ages:
            table = self._gains().up_to(age)
            self._ages = table.row_of_age.size
            if self._ages > LAST:
                self._ages = _NEVER
            filters = self.state.filters._replace(**table._asdict())
            self.state = self.state._replace(filters=filters)

    def _gains(self) -> Gains:
        return shared(self.active, layout.models(self.pool))

    # seasons

    def _keep(self, y: Array) -> None:
        """Add values to the history, and build anew where that is due."""
        self.history.extend(y, np.empty((y.size, self.features)))
        if self.state is None or self.history.rounds >= self._next:
            self._renew()

    def _renew(self) -> None:
        """Build anew, and replay the history, if something has changed or nothing is there yet."""
        values = self.history.values
        good = values[~np.isnan(values)]
        if good.size < START or np.ptp(good) == 0.0:
            return
        wanted = self._wanted(good)
        if wanted != self.active or self.state is None or self._misfit(good):
            self.active, self._ages = wanted, 0
            self.state = layout.build(
                self.pool, wanted, self.horizon, Scale.of(good), features=self.features
            )
            self.builds += 1
            self._cover(values.size)
            _rounds.track(self.state, values, np.empty((values.size, 1)))

    def _wanted(self, good: Array) -> tuple[float, ...]:
        """The seasons to have now; notes when to ask again."""
        n = self.history.rounds
        if self.periods is None:
            if n >= self._look:
                self._found = seasons.detect(good)
                while self._look <= n:
                    self._look = math.ceil(self._look * math.sqrt(2.0))
            wanted, self._next = self._found, self._look
        else:
            wanted = seasons.admitted(self.periods, n)
            later = [math.ceil(2.0 * m + 8.0) for m in self.periods if m not in wanted]
            self._next = min(later, default=_NEVER)
        if n >= KEEP:
            self._next = min(self._next, n + KEEP // 2)
        return wanted

    def _misfit(self, good: Array) -> bool:
        """Whether the series has outgrown its unit."""
        assert self.state is not None
        ratio = float(np.std(good)) / self.state.scalars[AT.unit]
        return self.history.rounds >= KEEP and not 1.0 / _MISFIT <= ratio <= _MISFIT

    # saving

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        saved = self.history.arrays() | {
            "active": np.array(self.active),
            "found": np.array(self._found),
            "look": self._look,
            "next": self._next,
            "builds": self.builds,
            "logs": -1 if self.state is None else int(self.state.clock[BY.logs]),
        }
        if self.state is not None:
            saved |= {name: array.copy() for name, array in _own(self.state).items()}
        return saved

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        self.history.restore(state)
        self.active = tuple(stored(state, "active", None).tolist())
        self._found = tuple(stored(state, "found", None).tolist())
        self._look, self._next, self._ages = int(state["look"]), int(state["next"]), 0
        self.builds, self.state = int(state["builds"]), None
        logs = int(state["logs"])
        if logs >= 0:
            scale = Scale(0.0, 1.0, 0.0, 1.0, bool(logs))
            built = layout.build(
                self.pool, self.active, self.horizon, scale, features=self.features
            )
            for name, array in _own(built).items():
                array[...] = stored(state, name, *array.shape, dtype=array.dtype)
            self.state = layout.at(built, self.active, self.horizon)


def _own(state: _rounds.State) -> dict[str, Any]:
    """The arrays of a state that are its own, by their names in files."""
    found: dict[str, Any] = {}
    for part, names in _OWN.items():
        holder = getattr(state, part) if part else state
        found |= {f"{part}.{name}".lstrip("."): getattr(holder, name) for name in names}
    return found

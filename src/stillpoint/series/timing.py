"""When rounds are: rows at times of their own, played as rounds in regular slots.

Rounds without times are one slot apart. With times, slots that no row fills are rounds without a
value, and of several rows in a slot the last value counts: a slot is learnt when the next begins.
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.array import Array
from stillpoint.core.validation import stored
from stillpoint.forecasters.aggregation import LARGEST
from stillpoint.series import seasons
from stillpoint.series.engine import Engine
from stillpoint.series.slots import Slots, seconds

_LEAST, _SEASONS = 64, 4  # empty slots in a row that are played: so many, or so many seasons


class Timing:
    """The rounds of an engine in time.

    Attributes
    ----------
    timed : bool
        Whether a time was ever given.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self._slots = engine, Slots()
        self.timed = self._dates = False
        self._named = False  # whether the time asked about last, maybe in vain, was a date
        self._waiting = False  # whether the engine's open round has its value, to be learnt later
        self._value, self._X = math.nan, np.empty((0, engine.features))

    def number(self, time: Any, started: bool) -> Any:
        """A time, or times, as numbers; dates in seconds. `started`: there were rounds before."""
        value, self._named = seconds(time)
        if self._named and started and not self._dates:
            raise ValueError(
                f"{'times' if np.ndim(time) else 'time'} must be numbers, as in the rounds before:"
                f" got {np.ravel(time)[0]}; build a forecaster for dates and give them from the"
                " first round on"
            )
        return value

    def given(self, last: float, started: bool) -> None:
        """Note that a time was given, the last round's being this."""
        self._dates |= self._named
        if not self.timed:
            self.timed = True
            if started:  # rounds before had none: they were 1 apart
                self._slots = Slots(1.0)
                self._slots.start(last)

    def coming(self, last: float) -> float:
        """When a round is whose time is left out."""
        return last + (self._slots.gap or 1.0)

    @property
    def rows(self) -> Array:
        """What is known of the open round and those after it."""
        return self._X

    def same(self, X: NDArray[Any]) -> bool:
        """Whether the open round was opened with these rows."""
        return X.shape == self._X.shape and np.array_equal(X, self._X, equal_nan=True)

    def open(self, when: float, X: Array) -> float:
        """Open the round at this time; returns the forecast."""
        if self.timed:
            self._enter(self._step(when))
        self._X = X
        return self._engine.open(X)

    def close(self, y: float) -> None:
        """Take in the value of the open round, NaN if it is missing."""
        if not self.timed:
            self._engine.close(y, self._X)
        elif not self._waiting or not math.isnan(y):
            self._value, self._waiting = y, True

    def track(
        self,
        y: Array,
        X: Array,
        known: NDArray[np.int64],
        when: Array,
        horizon: int,
        intervals: bool,
        opened: bool,
    ) -> tuple[Array, Array]:
        """Open and close rounds, the first of which may be `opened`, its time taken.

        Returns their forecasts and ends, as the engine's `track`.
        """
        if not self.timed:
            return self._engine.track(y, X, known, horizon, intervals)
        out, i = np.empty((y.size, horizon)), 0
        offsets = np.empty((y.size * intervals, *self._engine.bands.state.offsets.shape))
        while i < y.size and self._slots.gap is None:
            if not (opened and i == 0):
                self._enter(self._step(float(when[i])))
            self._X = X[i : i + known[i]]
            self._engine.open(self._X)
            out[i] = self._engine.path(horizon)
            offsets[i : i + 1] = self._engine.bands.state.offsets
            self.close(float(y[i]))
            i += 1
        if i < y.size:
            again = int(opened and i == 0)
            steps = np.append([0] * again, self._slots.take(when[i + again :])).astype(np.int64)
            # how long a break is played depends on the seasons that are known when it comes
            breaks = [i + int(j) for j in np.flatnonzero(steps > _LEAST)]
            for first, last in pairwise([i, *breaks, y.size]):
                if last > first:
                    self._enter(int(steps[first - i]))
                    part, ends = self._play(
                        y[first:last], X[first:], steps[first - i : last - i], horizon, intervals
                    )
                    out[first:last], offsets[first:last] = part, ends
        return out, offsets

    def _enter(self, step: int) -> None:
        """Learn what waits, and play the empty slots, before a row so many slots later."""
        if step:
            self._learn()
            self._pass(step - 1)

    def _play(
        self, y: Array, X: Array, steps: NDArray[np.int64], horizon: int, intervals: bool
    ) -> tuple[Array, Array]:
        """`track` where the slots are known, the first of these rows entered."""
        at = np.cumsum(steps) - steps[0]
        rounds = int(at[-1]) + 1
        values, rows = np.full(rounds, np.nan), np.full((rounds, X.shape[1]), np.nan)
        if self._waiting:
            values[0] = self._value
            rows[0] = self._X[0] if self._X.size else np.nan
        good = ~np.isnan(y)
        values[at[good]] = y[good]
        rows[at] = X[: y.size]
        ahead = np.minimum(np.arange(rounds, 0, -1), self._engine.horizon)
        self._waiting = False
        out, offsets = self._engine.track(values[:-1], rows, ahead[:-1], horizon, intervals)
        self._X = rows[-1:]
        self._engine.open(self._X)
        out = np.concatenate([out, [self._engine.path(horizon)]])[at]
        self._value, self._waiting = float(values[-1]), True
        if intervals:
            offsets = np.concatenate([offsets, [self._engine.bands.state.offsets]])[at]
        return out, offsets

    def _step(self, when: float) -> int:
        """How many slots this time is after the last row's."""
        step = int(self._slots.take(np.array([when]))[0])
        if self._slots.gap is None and self._slots.missing == 0:
            self._learn()
            steps = self._slots.settle()
            self._engine.calendar = self._suggested()
            if (steps != 1).any():
                played = [self._played(int(step)) for step in steps[:-1]]
                self._engine.spread(np.array(played, dtype=np.int64))
            step = int(steps[-1])
        return step

    def _suggested(self) -> tuple[float, ...]:
        """Seasons that go with the spacing of dates."""
        if not self._dates or self._slots.gap is None:
            return ()
        periods = seasons.calendar(self._slots.gap)
        return tuple(float(round(m)) if abs(m - round(m)) < 1e-4 * m else m for m in periods)

    def _learn(self) -> None:
        """Close the engine's round, where its value waits."""
        if self._waiting:
            self._waiting = False
            self._engine.close(self._value, self._X)

    def _pass(self, slots: int) -> None:
        """Play slots without a row."""
        rounds = self._played(slots + 1) - 1
        if rounds > 0:
            nothing = np.full((rounds, self._engine.features), np.nan)
            none = np.zeros(rounds, dtype=np.int64)
            self._engine.track(np.full(rounds, np.nan), nothing, none, 1)

    def _played(self, step: int) -> int:
        """A step, or one that leads to the same phase where it is very long."""
        known = self._engine.active or self._engine.periods or self._engine.calendar
        season = round(max(known, default=1.0))
        most = max(_LEAST, _SEASONS * season)
        return step - max(0, step - most + season - 1) // season * season

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        own = {
            "timed": self.timed,
            "dates": self._dates,
            "waiting": self._waiting,
            "value": self._value,
            "X": self._X.copy(),
        }
        return own | self._slots.arrays()

    def restore(self, state: dict[str, Any], rounds: int) -> None:
        """Inverse of `arrays`, of a forecaster that has opened so many rounds."""
        self._slots.restore(state)
        self.timed, self._dates = bool(state["timed"]), bool(state["dates"])
        self._waiting, self._value = bool(state["waiting"]), float(state["value"])
        self._X = stored(state, "X", None, self._engine.features)
        calendar = self._engine.calendar
        if self._X.shape[0] > self._engine.horizon or calendar not in ((), self._suggested()):
            raise ValueError(
                f"state 'X' and 'calendar' must fit the forecaster: got {self._X.shape[0]} rows and"
                f" {calendar}; save it again"
            )
        if abs(self._value) > LARGEST:
            raise ValueError(f"state 'value' must be a value: got {self._value}; save it again")
        first = rounds if self.timed and self._slots.gap is None else 0
        untimed = not self._waiting and self._slots.gap is None
        if self._slots.waiting != first or not (self.timed or untimed):
            raise ValueError(
                f"state 'first' must be the times of {first} rounds: got {self._slots.waiting};"
                " save the forecaster again"
            )

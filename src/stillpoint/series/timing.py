"""When rounds are: rows at times of their own, played as rounds in regular slots.

Rounds without times are one slot apart. With times, slots that no row fills are rounds without a
value, and of several rows in a slot the last value counts: a slot is learnt when the next begins.
"""

import math
from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.array import Array
from stillpoint.core.validation import stored, under
from stillpoint.forecasters.aggregation import LARGEST
from stillpoint.series import seasons, times
from stillpoint.series.engine import Engine
from stillpoint.series.slots import Slots

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
        # the slots, and the time, before a round whose time was left out: it may still be given
        self._before: tuple[Slots, float] | None = None

    def number(self, time: Any, started: bool) -> Any:
        """A time, or times, as numbers; dates in seconds. `started`: there were rounds before.

        After dates numbers are seconds, as in `Forecaster.time`.
        """
        value, self._named = times.seconds(time)
        many = bool(np.ndim(time))
        if self._named and started and not self._dates:
            raise ValueError(
                f"{'times' if many else 'time'} must be numbers, as in the rounds before: got"
                f" {next(iter(time)) if many else time}; build a forecaster for dates and give"
                " them from the first round on"
            )
        if many:
            times.increase(value, time)
        return value

    def text(self, time: float) -> str:
        """A time for a message."""
        return times.text(time, self._dates)

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

    def coming_times(self, last: float, rounds: int) -> Array:
        """When so many rounds are whose times are left out."""
        slots, when = copy(self._slots), np.empty(rounds)
        for i in range(rounds):
            last = when[i] = last + (slots.gap or 1.0)
            if slots.gap is None:
                slots.take(when[i : i + 1])
                if slots.missing == 0:
                    slots.settle()
        return when

    @property
    def before(self) -> float | None:
        """The time before an open round whose own was left out; None: it was given."""
        return None if self._before is None else self._before[1]

    def take_back(self) -> None:
        """Forget the time of an open round: what is opened next is that round, or a later one."""
        assert self._before is not None
        self._slots, self._before = self._before[0], None

    @property
    def rows(self) -> Array:
        """What is known of the open round and those after it."""
        return self._X

    def same(self, X: NDArray[Any]) -> bool:
        """Whether the open round was opened with these rows."""
        return X.shape == self._X.shape and np.array_equal(X, self._X, equal_nan=True)

    def open(self, when: float, X: Array, last: float | None = None) -> float:
        """Open the round at this time; returns the forecast.

        `last` is the time of the round before, where this one's was left out.
        """
        self._before = None
        if self.timed:
            known, slots = self._slots.gap is not None, copy(self._slots)
            self._enter(self._step(when))
            if last is not None and known == (self._slots.gap is not None):
                self._before = slots, last
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
        out, i = np.empty((y.size, horizon)), int(opened)
        offsets = np.empty((y.size * intervals, *self._engine.bands.state.offsets.shape))
        if opened:  # as it was opened: features ahead may have been known then
            self._say(out[:1], offsets[:1])
            self.close(float(y[0]))
        if not self.timed:
            out[i:], offsets[i:] = self._engine.track(y[i:], X[i:], known[i:], horizon, intervals)
            return out, offsets
        while i < y.size and self._slots.gap is None:
            self._enter(self._step(float(when[i])))
            self._X = X[i : i + known[i]]
            self._engine.open(self._X)
            self._say(out[i : i + 1], offsets[i : i + 1])
            self.close(float(y[i]))
            i += 1
        if i < y.size:
            steps = self._slots.take(when[i:])
            # how long a break is played depends on the seasons that are known when it comes
            breaks = [i + int(j) for j in np.flatnonzero(steps > _LEAST)]
            for first, last in pairwise([i, *breaks, y.size]):
                if last > first:
                    self._enter(int(steps[first - i]))
                    rows = X[first:last] if last < y.size else X[first:]
                    out[first:last], offsets[first:last] = self._play(
                        y[first:last],
                        rows if known[first] else rows[:0],
                        steps[first - i : last - i],
                        horizon,
                        intervals,
                    )
        return out, offsets

    def _say(self, out: Array, offsets: Array) -> None:
        """Fill in the forecasts of the open round, and the ends of its intervals, in one row."""
        out[:] = self._engine.path(out.shape[1])
        offsets[:] = self._engine.bands.state.offsets

    def _enter(self, step: int) -> None:
        """Learn what waits, and play the empty slots, before a row so many slots later."""
        if step:
            self._learn()
            self._pass(step - 1)

    def _play(
        self, y: Array, X: Array, steps: NDArray[np.int64], horizon: int, intervals: bool
    ) -> tuple[Array, Array]:
        """`track` where the slots are known, the first of these rows entered.

        Rows of X beyond those of y are of the slots after the last. Of a slot with several rows
        each is forecast with its own features; learnt, and known ahead, are those of its last. Of
        an empty slot nothing is known, nor in it of others: it is played when it is over.
        """
        at = np.cumsum(steps) - steps[0]
        rounds, later = int(at[-1]) + 1, max(X.shape[0] - y.size, 0)
        values, rows = np.full(rounds, np.nan), np.full((rounds + later, X.shape[1]), np.nan)
        if self._waiting:
            values[0] = self._value
        good = ~np.isnan(y)
        values[at[good]] = y[good]
        ahead = np.zeros(rounds, dtype=np.int64)
        if X.shape[0]:
            rows[at], rows[rounds:] = X[: y.size], X[y.size :]
            ahead[at] = np.minimum(rounds + later - at, self._engine.horizon)
        self._waiting, start = False, 0
        out, said = np.empty((y.size, horizon)), np.empty((rounds, horizon))
        offsets = np.empty((rounds * intervals, *self._engine.bands.state.offsets.shape))
        early = np.flatnonzero(steps[1:] == 0) if X.size else ()  # not the last of their slots
        for j in (*early, y.size - 1):
            slot = int(at[j])
            if slot > start:
                said[start:slot], offsets[start:slot] = self._engine.track(
                    values[start:slot], rows[start:], ahead[start:slot], horizon, intervals
                )
            self._X = rows[slot : slot + ahead[slot]].copy()
            self._X[:1] = X[j : j + 1]
            self._engine.open(self._X)
            self._say(out[j : j + 1], offsets[slot : slot + 1])
            start = slot
        said[-1] = out[-1]
        last = np.ones(y.size, dtype=bool)
        last[list(early)] = False
        out[last] = said[at[last]]
        self._value, self._waiting = float(values[-1]), True
        return out, offsets[at] if intervals else offsets

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
            "last": math.nan if self._before is None else self._before[1],
        }
        slots = (self._before or (self._slots,))[0]
        own |= {f"before.{name}": value for name, value in slots.arrays().items()}
        return own | self._slots.arrays()

    def restore(self, state: dict[str, Any], rounds: int) -> None:
        """Inverse of `arrays`, of a forecaster that has opened so many rounds."""
        self._slots.restore(state)
        self.timed, self._dates = bool(state["timed"]), bool(state["dates"])
        self._waiting, self._value = bool(state["waiting"]), float(state["value"])
        self._X = stored(state, "X", None, self._engine.features)
        last, slots = float(state["last"]), Slots()
        slots.restore(under(state, "before."))
        self._before = None if math.isnan(last) else (slots, last)
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

"""When rounds are: rows at times of their own, played as rounds in regular slots.

Rounds without times are one slot apart. With times, slots that no row fills are rounds without a
value, and of several rows in a slot the last value counts: a slot is learnt when the next begins.
Slots are told, and told anew, by the rows (`Grid`); then all rows kept are played in the new ones.
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
from stillpoint.series.grid import Grid
from stillpoint.series.history import KEEP
from stillpoint.series.playing import play, say
from stillpoint.series.slots import LEAST, Slots, shortened


class Timing:
    """The rounds of an engine in time.

    Attributes
    ----------
    timed : bool
        Whether a time was ever given.
    steps : array of int
        Slots from row to row in the last `track`; −1 where they were told anew.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self._grid = engine, Grid(engine.features)
        self._when = 0.0  # the time of the open round
        self.timed = self._dates = False
        self.steps, self._last_step = np.empty(0, dtype=np.int64), 1
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

    def given(self, last: float, started: bool, opened: bool = False) -> None:
        """Note that a time was given, the last round's being this, which may be open."""
        self._dates |= self._named
        if not self.timed:
            self.timed, self._when = True, last
            if started:  # rounds before had none: they were 1 apart
                self._grid.rows.begin(last - opened, self._engine.history)
                self._grid.slots = Slots(1.0)
                self._grid.slots.start(last)

    def coming(self, last: float) -> float:
        """When a round is whose time is left out."""
        return self._grid.slots.coming(last)

    def coming_times(self, last: float, rounds: int) -> Array:
        """When so many rounds are whose times are left out."""
        coming = self._grid.slots.coming
        return np.array([last := coming(last) for _ in range(rounds)], dtype=np.float64)

    @property
    def before(self) -> float | None:
        """The time before an open round whose own was left out; None: it was given."""
        return None if self._before is None else self._before[1]

    def take_back(self) -> None:
        """Forget the time of an open round: what is opened next is that round, or a later one."""
        assert self._before is not None
        self._grid.slots, self._before = self._before[0], None

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
            slots = copy(self._grid.slots)
            self._enter(self._step(when, last is None))
            if last is not None:
                self._before = slots, last
            self._when = when
        self._X = X
        return self._engine.open(X)

    def close(self, y: float) -> None:
        """Take in the value of the open round, NaN if it is missing."""
        if not self.timed:
            self._engine.close(y, self._X)
            return
        known = np.array([self._X.shape[0]])
        row = self._X[:1] if self._X.size else np.full((1, self._engine.features), np.nan)
        self._grid.rows.extend(np.array([self._when]), np.array([y]), known, row)
        if not self._waiting or not math.isnan(y):
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
        given: bool,
    ) -> tuple[Array, Array]:
        """Open and close rounds, the first of which may be `opened`, its time taken.

        `given`: times are, and were not left out; `when` may go on for later rows of X.
        Returns their forecasts and ends, as the engine's `track`.
        """
        width, i = self._engine.width(horizon, intervals), int(opened)
        out = np.empty((y.size, width))
        self.steps = np.ones(y.size, dtype=np.int64)
        offsets = np.empty((y.size * intervals, *self._engine.bands.state.offsets.shape))
        if opened:  # as it was opened: features ahead may have been known then
            say(self._engine, self._X, horizon, out[:1], offsets[:1])
            self.close(float(y[0]))
        if not self.timed:
            out[i:], offsets[i:] = self._engine.track(y[i:], X[i:], known[i:], horizon, intervals)
            return out, offsets
        while i < y.size:
            looks = given and self._grid.looks
            if self._grid.slots.gap is None and not looks:
                self.open(float(when[i]), X[i : i + known[i]], None if given else math.nan)
                say(self._engine, self._X, horizon, out[i : i + 1], offsets[i : i + 1])
                self.close(float(y[i]))
                self.steps[i] = self._last_step
                i += 1
                continue
            if alone := looks or not self._waiting:  # a row whose slot may be over, or told anew
                steps = np.array([self._step(float(when[i]), given)])
            else:
                steps = self._grid.steps(when[i : y.size], given)
            end = i + steps.size
            self.steps[i:end] = self._last_step if alone else steps
            ahead = self._engine.horizon if known[i] else 0
            places = np.append(steps, self._grid.slots.steps(when[end : end + ahead]))
            # how long a break is played depends on the seasons that are known when it comes
            breaks = [i + int(j) for j in np.flatnonzero(steps > LEAST)]
            for first, last in pairwise([i, *breaks, end]):
                if last > first:
                    self._enter(int(steps[first - i]))
                    part = play(
                        self._engine,
                        y[first:last],
                        X[first : last + ahead] if ahead else X[:0],
                        places[first - i : last - i + ahead],
                        self._value if self._waiting else math.nan,
                        horizon,
                        intervals,
                    )
                    out[first:last], offsets[first:last], self._value, self._X = part
                    self._waiting = True
            self._grid.rows.extend(when[i:end], y[i:end], known[i:end], X[i:end])
            i = end
        self._when, self._before = float(when[y.size - 1]), None
        return out, offsets

    def _enter(self, step: int) -> None:
        """Learn what waits, and play the empty slots, before a row so many slots later."""
        if step:
            self._learn()
            self._pass(step - 1)

    def _step(self, when: float, given: bool) -> int:
        """How many slots this time is after the last row's; looks at the slots where it is due."""
        grid, engine, new = self._grid, self._engine, self._grid.slots.gap is None
        steps = None
        if given and grid.looks:
            steps = grid.again(when, self._dates, engine.periods)
        self._last_step = grid.step(when) if steps is None else 1
        if steps is None:
            if not self._last_step and not self._waiting:  # its slot is over
                grid.slots.push()
                self._last_step = 1
            return self._last_step
        self._learn()
        engine.suggest(self._grid.suggested(self._dates), grid.slots.week is None)
        if not new or (steps != 1).any():
            self._last_step = -1
            first = int(np.flatnonzero(steps)[-1])  # of its slot
            played = steps[:first].copy()
            for i in np.flatnonzero(played > LEAST):
                played[i] = self._played(int(played[i]))
            engine.begin_anew(*grid.rows.in_slots(played))
            if first < steps.size - 1:  # rows before it share the slot, which is to be learnt later
                self._pass(int(steps[first]) - 1)
                values = grid.rows.values[first:]
                self._value = float(np.append(np.nan, values[~np.isnan(values)])[-1])
                self._waiting = True
        return int(steps[-1])

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
        engine = self._engine
        known = engine.active or (engine.calendar if engine.periods is None else engine.periods)
        return int(shortened(np.array(step), seasons.admitted(known, KEEP)))  # no other is used

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        own = {
            "timed": self.timed,
            "dates": self._dates,
            "waiting": self._waiting,
            "value": self._value,
            "X": self._X.copy(),
            "when": self._when,
            "last": math.nan if self._before is None else self._before[1],
        }
        slots = (self._before or (self._grid.slots,))[0]
        before = {f"before.{name}": value for name, value in slots.arrays().items()}
        return own | before | self._grid.arrays()

    def restore(self, state: dict[str, Any], rounds: int) -> None:
        """Inverse of `arrays`, of a forecaster of so many rounds that are over."""
        self._grid.restore(state)
        self._engine.usual = self._grid.slots.week is None
        self.timed, self._dates = bool(state["timed"]), bool(state["dates"])
        self._waiting, self._value = bool(state["waiting"]), float(state["value"])
        self._X = stored(state, "X", None, self._engine.features)
        last, slots = float(state["last"]), Slots()
        slots.restore(under(state, "before."))
        self._before = None if math.isnan(last) else (slots, last)
        calendar = self._engine.calendar
        if self._X.shape[0] > self._engine.horizon or calendar not in (
            (),
            self._grid.suggested(self._dates),
        ):
            raise ValueError(
                f"state 'X' and 'calendar' must fit the forecaster: got {self._X.shape[0]} rows and"
                f" {calendar}; save it again"
            )
        if abs(self._value) > LARGEST:
            raise ValueError(f"state 'value' must be a value: got {self._value}; save it again")
        self._when, total = float(state["when"]), self._grid.rows.total
        untimed = not self._waiting and self._grid.slots.gap is None and not total
        if total > rounds or not (self.timed or untimed):
            raise ValueError(
                f"state 'total' must be the rows of {rounds} rounds: got {total}; save the"
                " forecaster again"
            )
        self._grid.rows.before = rounds - total

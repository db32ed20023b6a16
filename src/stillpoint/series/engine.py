"""Rounds without times: forecast, learn, and build anew when the seasons of the series change.

When a season is admitted, a value ends the logarithms or a unit no longer fits, all experts and
their aggregation are built anew and the kept history is replayed: weights are as if the seasons had
been known from its start. Seasons are looked for after 24, 34, 49, … values, √2 apart, and those of
dates when two have been seen: all looks and replays together cost O(log t) a round.
"""

import math
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.allocation import full
from stillpoint.core.array import Array
from stillpoint.core.validation import stored, under
from stillpoint.series import _rounds, layout, restored, seasons
from stillpoint.series._scale import BY
from stillpoint.series._state import State
from stillpoint.series.bands import Bands
from stillpoint.series.gains import LAST, shared
from stillpoint.series.history import KEEP, History
from stillpoint.series.knots import RULE, SEEN
from stillpoint.series.layout import Scale
from stillpoint.series.light import _rounds as light_rounds
from stillpoint.series.own import own, tables
from stillpoint.series.pool import Pool
from stillpoint.series.said import beside
from stillpoint.series.watch import Watch

if TYPE_CHECKING:
    from stillpoint.series.unknown import Unknown

START, _UNIT = 3, 10  # values before there are experts, and after which units are told again
_NEVER = 1 << 62
_PATIENCE = 64  # rounds until a series that does not vary is looked at again
_NAN, _NONE = np.array([np.nan]), np.zeros(1, dtype=np.int64)  # handed over in single rounds
_NO_ENDS, _NO_PARTS = np.empty((0, 0, 0, 0)), np.empty(0)
# by `Pool.half`; engines that kept them would lead whoever walks over objects into Numba
_LOOPS: dict[bool, Any] = {False: _rounds, True: light_rounds}


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
    bands : Bands
        What tracks the intervals.
    features : int
        How many numbers may be known of a round before its value.
    """

    def __init__(
        self,
        pool: Pool,
        horizon: int,
        periods: tuple[float, ...] | None,
        bands: Bands,
        features: int = 0,
    ) -> None:
        self.pool, self.horizon, self.features = pool, horizon, features
        self.periods, self.bands = periods, bands
        self.ahead = full(features, True)  # features known beyond the coming round
        self.apart = False  # whether some are known of the coming round alone
        self.calendar: tuple[float, ...] = ()  # seasons that the spacing of dates suggests
        self.usual = True  # whether they are used where the series has no others
        self.history, self.watch = History(features), Watch()
        # of each engine its own: threads may play different ones at the same time
        self._no_rows, self._one = np.empty((0, features)), np.empty((1, 1))
        self.active = self._found = tuple[float, ...]()
        self.builds = 0  # how often experts were built
        self.state: State | None = None
        self.unknown: Unknown | None = None  # what answers where features ahead have not come
        self._look, self._next, self._ages = seasons.LEAST, 0, 0

    # rounds

    def open(self, X: Array) -> float:
        """Forecast the coming value; X (rows, features): what is known of the coming rounds."""
        if self.state is None:
            if self.history.size:
                _LOOPS[self.pool.half].play_last(self.bands.state, self.history.last, True, 0.0)
            return self.history.last
        self._cover(1)
        self._play(_NAN, X, np.array([X.shape[0]]), self._one, opens=True)
        return float(self._one[0, 0])

    def close(self, y: float, X: Array) -> None:
        """Learn a value, NaN if it is missing, of a round that was opened with X."""
        if self.state is not None and y <= 0.0 and self.state.clock[BY.logs]:
            self.state = None  # the logarithm ends with the first value that has none
        value, seasonal = np.array([y]), np.zeros(1)
        if self.state is not None:
            self._play(value, self._no_rows, _NONE, self._one, closes=True, seasonal=seasonal)
        elif self.history.size:
            _LOOPS[self.pool.half].play_last(self.bands.state, 0.0, False, y)
        elif not math.isnan(y):
            self.bands.start(y)
        row = X[:1] if X.shape[0] else np.full((1, self.features), np.nan)
        self._keep(value, row, np.array([X.shape[0]]), seasonal)

    def path(self, horizon: int) -> Array:
        """Forecast the coming values, after `open`."""
        if self.state is None:
            return np.full(horizon, self.history.last)
        self._play(_NAN, self._no_rows, _NONE, out := np.empty((1, horizon)))
        return np.asarray(out[0])

    def track(
        self, y: Array, X: Array, known: NDArray[np.int64], horizon: int, intervals: bool = False
    ) -> tuple[Array, Array]:
        """Open and close a round for each value; returns the forecasts, (rounds, horizon).

        Of round t, known[t] rows of X are known, from X[t] on. Ends of the intervals as they were
        issued, less the forecast, come second, (rounds, tracked horizons, 2, coverages), if they
        are asked for. Columns beyond the forecasts are those of `beside`; see `width`.
        """
        out, i = np.empty((y.size, horizon)), 0
        others = np.empty((y.size, self.width(horizon, intervals) - horizon))
        X = np.ascontiguousarray(X)
        offsets = np.empty((y.size * intervals, *self.bands.state.offsets.shape))
        while i < y.size:
            alone = self.state is None or bool(y[i] <= 0.0 and self.state.clock[BY.logs])
            j = i + (1 if alone else self._together(y[i:]))
            if others.size:
                others[i:j] = beside(self, y[i:j], X[i:], known[i:j], horizon)
            if alone:
                given = X[i : i + known[i]]
                self.open(given)
                out[i] = self.path(horizon)
                offsets[i:j] = self.bands.state.offsets
                self.close(y[i], given)
            else:
                self._cover(j - i)
                part = np.empty(j - i)
                self._play(y[i:j], X[i:], known[i:j], out[i:j], True, True, offsets[i:j], part)
                self._keep(y[i:j], X[i:j], known[i:j], part)
            i = j
        return np.concatenate([out, others], axis=1) if others.shape[1] else out, offsets

    def width(self, horizon: int, intervals: bool) -> int:
        """How many columns `track` has; the forecast of the next value is always its own."""
        others = horizon * (0 if self.unknown is None else 2 + 2 * len(self.bands.coverage)) + 1
        return horizon + (others if self.features and (horizon > 1 or intervals) else 0)

    def _together(self, y: Array) -> int:
        """How many of these rounds can be played before anything may be built anew."""
        assert self.state is not None
        n, part = self.history.rounds, KEEP // 2
        y = y[: min(max(1, self._next - n), part - n % part)]
        ends = np.flatnonzero((y <= 0.0) & (self.state.clock[BY.logs] > 0))
        y = y[: ends[0]] if ends.size else y
        return self.history.upset_by(y) or y.size

    def _play(
        self,
        y: Array,
        X: Array,
        known: NDArray[np.int64],
        out: Array,
        opens: bool = False,
        closes: bool = False,
        offsets: Array = _NO_ENDS,
        seasonal: Array = _NO_PARTS,
        live: bool = True,
    ) -> None:
        assert self.state is not None
        if closes and seasonal.size < y.size:
            seasonal = np.empty(y.size)
        given = y, np.ascontiguousarray(X), known, self.ahead  # one layout is compiled
        _LOOPS[self.pool.half].play(self.state, *given, live, opens, closes, out, offsets, seasonal)

    def _cover(self, rounds: int) -> None:
        """See that the tables of gains reach as far as so many more rounds."""
        assert self.state is not None
        age = int(self.state.clock[BY.now]) + rounds
        if age > self._ages:
            table = shared(self.active, layout.models(self.pool)).up_to(age)
            size = table.row_of_age.size
            self._ages = _NEVER if size > LAST else size
            filters = self.state.filters._replace(**table._asdict())
            self.state = self.state._replace(filters=filters)

    # seasons

    def suggest(self, periods: tuple[float, ...], usual: bool) -> None:
        """Take seasons that the spacing of dates suggests, to be looked at in the next round."""
        if periods != self.calendar and self.periods is None:
            self._next = self.history.rounds + 1
        self.calendar, self.usual = periods, usual

    def begin_anew(self, y: Array, X: Array, known: NDArray[np.int64], before: int) -> None:
        """Begin anew with these rounds; `before`: how many there were before them."""
        self.history, self.watch = History(self.features), Watch(before)
        self.history.before = before
        self.state, self._look, self._found, self.active = None, seasons.LEAST, (), ()
        self._keep(y, X, known, np.zeros(y.size))

    def _keep(self, y: Array, X: Array, known: NDArray[Any], seasonal: Array) -> None:
        """Add rounds to the history, and build anew where that is due."""
        self.watch.take(y, seasonal)
        upset = self.history.upset_by(y) > 0
        self.history.extend(y, X, known)
        due = self.history.rounds >= self._next
        if due or upset or (self.state is None and self.history.varied):
            self._renew(upset)

    def _renew(self, upset: bool) -> None:
        """Build anew, and replay the history, if something has changed or nothing is there yet."""
        values, X, known = self.history.believed
        good = values[~np.isnan(values)]
        if good.size < START or np.ptp(good) == 0.0:
            self._next = self.history.rounds + _PATIENCE
            return
        if upset:
            self.bands.forget(values)
        wanted = self._wanted(seasons.filled(values), layout.standardised(X))
        n, state = self.history.rounds, self.state
        due = upset or n in self._units() or wanted != self.active
        if due or state is None or layout.misfit(state, good, X, n >= KEEP):
            self.active, self._ages = wanted, 0
            rule = SEEN if wanted and n >= seasons.due(wanted[-1]) else RULE
            built = self.pool, wanted, self.horizon, Scale.of(good), self.bands.state
            self.state = layout.build(*built, features=layout.feature_scale(X), rule=rule)
            self.builds += 1
            self._cover(values.size)
            room, part = np.empty((values.size, 1)), np.empty(values.size)
            self._play(values, X, known, room, True, True, seasonal=part, live=False)
            if self.watch.periods != wanted:
                self.watch.renew(wanted, self.history.before + n - values.size, values, part)

    def _wanted(self, filled: Array, Z: Array) -> tuple[float, ...]:
        """The seasons to have now; notes when to ask again."""
        n, look = self.history.rounds, self.history.rounds >= self._look
        while self._look <= n:
            self._look = math.ceil(self._look * math.sqrt(2.0))
        self._next = min([self._look, n + KEEP // 2, *(due for due in self._units() if due > n)])
        if self.periods is not None:
            return self.periods
        self._next = seasons.next_look(self.calendar, n, self._next)
        if look or n in map(seasons.due, self.calendar) or (self.calendar and not self._found):
            self._found = seasons.confirmed(self.calendar, filled, self.usual, Z)
        return self._found

    def _units(self) -> list[int]:
        """Rounds after which units are told again: those of a few values mislead."""
        return [_UNIT, *(seasons.due(m) for m in self.periods or self._found)]

    # saving

    def __deepcopy__(self, memo: dict[int, Any]) -> "Engine":
        common: list[Any] = [self.pool]  # slow to copy
        common += tables(self.state) if self.state is not None else []
        common += [self.unknown] if self.history.size else []  # what it keeps is never changed
        memo.update((id(each), each) for each in common)
        new = memo[id(self)] = object.__new__(type(self))
        new.__dict__.update(deepcopy(self.__dict__, memo))
        return new

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        saved = self.history.arrays() | {
            "active": np.array(self.active),
            "found": np.array(self._found),
            "look": self._look,
            "next": self._next,
            "builds": self.builds,
            "calendar": np.array(self.calendar),
            "logs": -1 if self.state is None else int(self.state.clock[BY.logs]),
        }
        if self.state is not None:
            saved |= {name: array.copy() for name, array in own(self.state).items()}
        saved |= {f"bands.{name}": value for name, value in self.bands.arrays().items()}
        return saved | {f"watch.{name}": value for name, value in self.watch.arrays().items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        self.bands.restore(under(state, "bands."))
        self.history.restore(state)
        self.active = restored.periods(state, "active", KEEP)
        self._found = restored.periods(state, "found", KEEP)
        restored.agree(self.periods, self.active, self._found)
        self.watch.restore(under(state, "watch."), self.active)
        restored.rows(self.watch.rows, self.history.before + self.history.rounds)
        self.calendar = tuple(stored(state, "calendar", None).tolist())
        self._look, self._ages = restored.number(state, "look", seasons.LEAST), 0
        self._next, self.builds = (restored.number(state, name) for name in ("next", "builds"))
        built = self.pool, self.active, self.horizon, self.bands.state, self.features
        self.state = restored.built(state, self.history.rounds, *built)
        if self.state is not None:
            self._cover(1)

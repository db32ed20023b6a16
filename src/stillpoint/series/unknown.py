"""Steps ahead whose features have not come, where those of rounds ahead were known before.

What a forecaster has learnt of its errors ahead is then about rounds whose features it knew. So its
last rounds are played again by an engine that knows features of the next round alone: its forecasts
and intervals are as far off, and as wide, as that makes them.
"""

import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from stillpoint.core.array import Array
from stillpoint.series.bands import Bands
from stillpoint.series.engine import Engine
from stillpoint.series.history import since
from stillpoint.series.light import choice

_KEPT = 2  # engines that are kept: of a forecaster, and of a copy of it that has gone on


class Played(NamedTuple):
    """An engine that has played rounds with features of the next alone; it is never changed."""

    seasons: tuple[float, ...]
    first: int  # of the rounds that were played
    values: Array
    X: Array
    engine: Engine

    def begins(self, seasons: tuple[float, ...], first: int, values: Array, X: Array) -> bool:
        """Whether these rounds begin with those that were played."""
        n = self.values.size
        return (
            (seasons, first) == (self.seasons, self.first)
            and n <= values.size
            and np.array_equal(values[:n], self.values, equal_nan=True)
            and np.array_equal(X[:n], self.X, equal_nan=True)
        )


class Asked(NamedTuple):
    """What such an engine said of a coming round with these features, as `Engine.track` has it."""

    played: Played
    row: Array
    central: Array
    offsets: Array

    def about(self, played: Played, row: Array) -> bool:
        """Whether it is of this engine and these features."""
        return self.played is played and np.array_equal(self.row, row, equal_nan=True)


class Unknown:
    """Engines that know features of the next round alone, of the rounds of a forecaster.

    They depend on the rounds kept and on the seasons, not on when they are asked for: the last are
    kept, and played on. What is kept is never changed, so that copies of a forecaster share it.
    """

    def __init__(self) -> None:
        self._kept: tuple[Played, ...] = ()
        self._asked: Asked | None = None

    def __reduce__(self) -> Any:
        return Unknown, ()

    def played(self, engine: Engine) -> Played:
        """An engine that has played the rounds of this one, all that count or the last 4096."""
        first = since(engine.history.rounds)
        values, X = engine.history.rows_from(first)
        key = engine.active, first, values, X
        found = [one for one in self._kept if one.begins(*key)]
        last = max(found, key=lambda one: one.values.size) if found else _new(engine, first)
        n = last.values.size
        if n < values.size:
            new = copy.deepcopy(last.engine)
            new.track(values[n:], X[n:], np.ones(values.size - n, dtype=np.int64), 1)
            last = Played(*key, new)
        others = [one for one in self._kept if one is not last]
        self._kept = (last, *others)[:_KEPT]
        return last

    def said(
        self, engine: Engine, y: Array, X: Array, known: NDArray[np.int64], horizon: int
    ) -> Array:
        """What is said of coming rounds where features have not come: (rounds, …), see `Said`.

        y, X and known are those of `Engine.track`, of rounds in which the seasons stay the same.
        """
        lacks = lacking(engine, X, known, horizon)
        out = np.full((y.size, 2 + 2 * len(engine.bands.coverage), horizon), np.nan)
        some = np.flatnonzero(lacks.any(axis=1))
        if some.size:
            n = int(some[-1]) + 1
            rows = np.full((n, X.shape[1]), np.nan)
            rows[: X.shape[0]] = X[:n]
            bands, central, offsets = self._said(engine, y[:n], rows, horizon)
            out[:n, 0] = np.where(lacks[:n], central, np.nan)
            for near in (0, 1):  # the next row has not come, or has
                mine = np.flatnonzero(lacks[:n, 0] == (near == 0))
                out[mine, 1] = bands.shift(offsets[mine], horizon, near)
                ends = bands.between(offsets[mine], horizon, near)
                out[mine, 2:] = np.concatenate(ends, axis=2).swapaxes(1, 2)
        return out.reshape(y.size, -1)

    def total_ends(self, engine: Engine, X: Array, horizon: int) -> tuple[Array, Array]:
        """Ends of the interval of a total, less its forecast, in a round that opens with X."""
        row = np.full((1, engine.features), np.nan)
        row[: X.shape[0]] = X[:1]
        bands, _, offsets = self._said(engine, np.array([np.nan]), row, horizon)
        near = 1 - int(absent(X, engine.ahead, 1)[0])
        return bands.total_ends(horizon, near, offsets)

    def _said(
        self, engine: Engine, y: Array, rows: Array, horizon: int
    ) -> tuple[Bands, Array, Array]:
        """What such an engine says of coming rounds; of a single one it is kept."""
        played = self.played(engine)
        single, asked = y.size == 1, self._asked
        if single and asked is not None and asked.about(played, rows):
            return played.engine.bands, asked.central[:, :horizon], asked.offsets
        steps = engine.horizon if single else horizon
        ones = np.ones(y.size, dtype=np.int64)
        parts = copy.deepcopy(played.engine).track(y, rows, ones, steps, intervals=True)
        if single:
            self._asked = Asked(played, rows, *parts)
        return played.engine.bands, parts[0][:, :horizon], parts[1]


def _new(engine: Engine, first: int) -> Played:
    """An engine with the seasons of this one, before its first round."""
    own, periods = engine.bands, engine.active
    coverage = own.coverage if own.several else own.coverage[0]
    bands = choice.bands(engine.pool, engine.horizon, periods, coverage, own.level)
    new = choice.engine(engine.pool, engine.horizon, periods, bands, engine.features)
    new.ahead[:] = False
    return Played(periods, first, np.empty(0), np.empty((0, engine.features)), new)


def lacking(engine: Engine, X: Array, known: NDArray[np.int64], horizon: int) -> NDArray[np.bool_]:
    """Of which steps of coming rounds features have not come that used to: (rounds, horizon).

    Where as many rows have come as were known at most in the rounds that count, none are lacking:
    of what lies beyond, errors were learnt without.
    """
    n, history = known.size, engine.history
    steps = np.arange(horizon)
    rows = absent(X, engine.ahead, n + horizon - 1)
    none = sliding_window_view(rows, horizon) | (steps >= known[:, None])
    before = history.reach_from(since(history.rounds)) if engine.ahead.any() else 0
    reach = np.maximum.accumulate(np.append(before, known[:-1]))
    fewer = (none & (steps < reach[:, None])).any(axis=1) & (reach > 1) & engine.ahead.any()
    return np.asarray(none & fewer[:, None])


def absent(X: Array | None, ahead: NDArray[np.bool_], horizon: int) -> NDArray[np.bool_]:
    """Of which of so many rounds nothing has come that is known ahead; X: rows of the first."""
    found = np.ones(horizon, dtype=np.bool_)
    if X is not None:
        found[: X.shape[0]] = np.isnan(X[:horizon, ahead]).all(axis=1)
    return found

"""`track` on a series: sp.Forecaster on rows, and what comes next."""

import copy
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillpoint.commands import _scores
from stillpoint.commands.arguments import periods
from stillpoint.commands.beside import Beside
from stillpoint.commands.encode import Rows
from stillpoint.commands.intake import Intake
from stillpoint.commands.options import TrackOptions
from stillpoint.commands.plans import Plan, Table, Told
from stillpoint.core.learner import not_finite_in
from stillpoint.core.validation import Array, counted, stored, under
from stillpoint.losses import Pinball
from stillpoint.series import Forecaster
from stillpoint.series.slots import FIRST

_MOST = 8192  # rows without a target that wait for one, at least
_ROOM = 1 << 20  # forecasts made at once


class Ahead(NamedTuple):
    """A forecaster in the round after the last target, and what it says of the rounds to come."""

    model: Forecaster
    told: Told  # (H,)
    total: Told  # (1,)
    rows: Table  # those that have come of the rounds to come
    scores: _scores.Scores


class Series:
    """sp.Forecaster on rows, in order, cut anywhere.

    Rows after the last target wait: they are forecast as far ahead as they are, and played as
    rounds without a value once a target has come.
    """

    def __init__(self, options: TrackOptions, plan: Plan) -> None:
        self.task, self.plan = options.task, plan
        self.horizon, self._nonnegative = plan.horizon, options.nonnegative
        self.level = options.level if self.task == "quantile" else 0.0
        self.target_share = self.level or options.coverage
        self._reaches = bool(options.known)  # whether features of rows to come are looked at
        self.columns = plan.numbers + plan.words
        self.model = Forecaster(
            plan.horizon,
            season=periods(options.season),
            coverage=options.coverage,
            features=self.columns,
            loss=Pinball(self.level) if self.level else None,
        )
        self.intake = Intake(plan, options.time is not None)
        self.beside = Beside(plan, self.level)
        self.loss_name = "pinball loss" if self.level else "squared error"
        self._gap_start = -1  # slot after the last target before the rows that wait; −1 for none
        none, slots = np.zeros(0), np.zeros(0, dtype=np.int64)
        self._waiting = Table(none, np.zeros((0, self.columns)), none, slots, none)

    @property
    def at_once(self) -> int:
        """How many rows to play together, at most."""
        return max(1, _ROOM // self.horizon)

    @property
    def moved(self) -> bool:
        """Whether ends were moved inwards, to 0, while targets were below that."""
        return self._nonnegative and self.intake.negative

    def know(self, ahead: NDArray[np.bool_]) -> None:
        """Say which columns of features are known beyond the next row."""
        self.model._engine.ahead[:] = ahead

    def run(self, rows: Rows, row: int) -> tuple[Array, Array, Array, Array, Array]:
        """Forecast and learn rows from number `row` on; see `Engine.run`. There are no weights."""
        new = self.intake.read(rows)
        first = self._waiting.y.size
        table = self._waiting.then(new)
        n = self._ready(table)
        gaps = self._gaps(table, first, n)
        told, own = self._play_all(table, n, gaps)
        self.beside.score(table, told, n)
        self._waiting = table.part(n)
        out = Told(*(part[first:, 0].copy() for part in told))
        for i, origin, ahead in gaps:
            one = own[i] if i in own else self._further(told, origin, ahead)
            for part, end in zip(out, one, strict=True):
                part[i - first] = end
        return *out, self.beside.losses(out.forecast, new), np.zeros((new.y.size, 0))

    def _ready(self, table: Table) -> int:
        """Return how many rows can be learnt: up to a target, with all that was known ahead."""
        rows, known = table.y.size, np.flatnonzero(~np.isnan(table.y))
        n = int(known[-1]) + 1 if known.size else 0
        if self._reaches:
            # the first rows are taken for neighbours: all that they look at comes with them
            early = self.intake.timed and self.intake.rows < FIRST + 2 * self.horizon
            past = np.searchsorted(table.slots, table.slots[-1] - self.horizon, side="right")
            n = 0 if early else max(0, min(n, int(past), rows - self.horizon))
        if rows - n > max(_MOST, 2 * self.horizon):
            n = rows - self.horizon
        return n

    def _play_all(
        self, table: Table, n: int, gaps: list[tuple[int, int, int]]
    ) -> tuple[Told, dict[int, Told]]:
        """Forecast all rows and learn the first n; a copy plays the others.

        What is told of rows in gaps comes second, by row, where it depends on features ahead: of
        these, what had come with the row itself.
        """
        wanted: dict[int, list[tuple[int, int]]] = {}
        for i, origin, ahead in gaps if self._reaches else ():
            wanted.setdefault(origin, []).append((i, ahead))
        model, own, parts = self.model, dict[int, Told](), list[Told]()
        for start, stop in pairwise(sorted({0, n, table.y.size, *wanted})):
            if start == n:
                model = copy.copy(self.model)
            for i, ahead in wanted.get(start, ()):
                told = self._path(copy.copy(model), table, start, i + 1)
                own[i] = self._further(told, 0, ahead)
            parts.append(self._play(model, table, start, stop))
        return reduce(Told.then, parts), own

    def _play(self, model: Forecaster, table: Table, start: int, stop: int) -> Told:
        """Forecast some rows at all horizons and learn them: (rows, H)."""
        rows, X = table.part(start, stop), None
        if self.columns:
            X, after = rows.X, int(table.slots[stop - 1]) + 1
            if self._reaches:
                later = table.by_slot(after, stop, table.y.size, self.horizon - 1)
                X = np.concatenate([X, later])
        parts = model.track(
            rows.y, X, self._times(rows.times), horizon=self.horizon, intervals=True
        )
        told = Told(*(part.reshape(-1, self.horizon) for part in parts))
        return self._shaped(told, rows.whole)

    def _path(self, model: Forecaster, table: Table, start: int, stop: int) -> Told:
        """Forecast what comes from row `start` on, the features of some rows known: (1, H)."""
        x, time, whole = None, None, np.array([float(self.intake.whole)])
        if start < table.y.size:
            when, whole = (
                self._times(table.times[start : start + 1]),
                table.whole[start : start + 1],
            )
            time = None if when is None else when[0]
            if self.columns:
                x = table.by_slot(int(table.slots[start]), start, stop, self.horizon)
        said = model.predict(x, horizon=self.horizon, time=time)
        told = Told(said[None], *(end[None] for end in model.interval(horizon=self.horizon)))
        return self._shaped(told, whole)

    def _times(self, times: Array) -> Any:
        if not self.intake.timed:
            return None
        return (times * 1e6).round().astype("datetime64[us]") if self.plan.dated else times

    def _shaped(self, told: Told, whole: Array) -> Told:
        """Return forecasts and ends as they are told.

        A quantile is its own upper end. Ends among whole numbers are the outermost of these inside,
        or the nearest to the forecast: they hold the same values. None is below 0 where none can
        be.
        """
        forecasts, lo, hi = told
        if self.level:
            lo, hi = np.full_like(lo, -np.inf), forecasts
        elif whole.any():
            inner, outer = np.ceil(lo), np.floor(hi)
            none, marks = inner > outer, whole.astype(bool)[:, None]
            nearest = np.round(forecasts)
            lo = np.where(marks, np.where(none, nearest, inner), lo)
            hi = np.where(marks, np.where(none, nearest, outer), hi)
        if self._nonnegative:
            forecasts, hi = np.maximum(forecasts, 0.0), np.maximum(hi, 0.0)
            lo = lo if self.level else np.maximum(lo, 0.0)
        return Told(forecasts, lo, hi)

    def _gaps(self, table: Table, first: int, n: int) -> list[tuple[int, int, int]]:
        """Return new rows without a target: the row, that after the last target, and steps between.

        Further ahead than the horizon a row stands for itself.
        """
        found, start, origin = list[tuple[int, int, int]](), self._gap_start, 0
        self._gap_start = -1
        if not np.isnan(table.y).any():
            return found
        for i, y in enumerate(table.y.tolist()):
            if i == n:  # the next rows go on from here
                self._gap_start = start
            if start < 0:
                origin, start = i, int(table.slots[i])
            ahead = int(table.slots[i]) - start
            if y == y:
                start = -1
            elif i >= first and ahead > 0:
                found.append((i, origin if ahead < self.horizon else i, ahead))
        return found

    def _further(self, told: Told, i: int, ahead: int) -> Told:
        """Return what is told in row i of the value so many steps later.

        Beyond the horizon it is the coming forecast, which the values between did not change, with
        the last interval.
        """
        if ahead < self.horizon:
            return Told(*(part[i, ahead] for part in told))
        centre, lo, hi = (part[i] for part in told)
        return Told(centre[0], *(centre[0] + (end[-1] - centre[-1]) for end in (lo, hi)))

    def ahead(self) -> Ahead:
        """Return what comes after the last target, from a copy."""
        model, rows, H = copy.copy(self.model), self._waiting, self.horizon
        known = np.flatnonzero(~np.isnan(rows.y))
        n, scores = int(known[-1]) + 1 if known.size else 0, self.beside.scores
        if n:
            scores = self.beside.with_more(rows, self._play(model, rows, 0, n), n)
        told = self._path(model, rows, n, rows.y.size)
        total = Told(*(np.array([[end]]) for end in model.total(H)))
        total = total if self.level else self._shaped(total, np.array([float(self.intake.whole)]))
        return Ahead(model, told.row(0), total.row(0), rows.part(n), scores)

    @property
    def _parts(self) -> dict[str, Any]:
        return {"model.": self.model, "intake.": self.intake, "beside.": self.beside}

    @property
    def _not_finite(self) -> frozenset[str]:
        """As `Configured._not_finite`."""
        waiting = frozenset(f"waiting.{name}" for name in ("y", "X", "times"))
        return waiting.union(*(not_finite_in(key, part) for key, part in self._parts.items()))

    def arrays(self) -> dict[str, Any]:
        """Return the state, for saving: arrays and numbers under names with a prefix."""
        parts = [(key, part.arrays()) for key, part in self._parts.items()]
        parts.append(("waiting.", self._waiting._asdict()))
        state = {f"{key}{name}": value for key, all in parts for name, value in all.items()}
        return {**state, "gap_start": self._gap_start}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `arrays` returned."""
        for key, part in self._parts.items():
            part.restore(under(state, key))
        waiting = under(state, "waiting.")
        y = stored(waiting, "y", None)
        self._waiting = Table(
            y,
            stored(waiting, "X", y.size, self.columns),
            stored(waiting, "times", y.size),
            stored(waiting, "slots", y.size, dtype=np.int64),
            stored(waiting, "whole", y.size),
        )
        counted("gap_start", state["gap_start"] + 1, 2**62)
        self._gap_start = int(state["gap_start"])

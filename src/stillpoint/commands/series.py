"""`track` on a series: sp.Forecaster on rows, and what comes next."""

import copy
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.commands.ahead import Ahead, total_of, without
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
from stillpoint.series.slots import Slots
from stillpoint.series.unknown import Unknown, absent

_MOST = 8192  # rows without a target that wait for one, at least
_ROOM = 1 << 20  # forecasts made at once


class Series:
    """sp.Forecaster on rows, in order, cut anywhere.

    Rows after the last target wait: they are forecast as far ahead as they are, and played as
    rounds without a value once a target has come. apart: whether there are features that are known
    of the next row alone.
    """

    def __init__(self, options: TrackOptions, plan: Plan, apart: bool = False) -> None:
        self.task, self.plan = options.task, plan
        self.horizon, self.nonnegative = plan.horizon, options.nonnegative
        self.level = options.shares.level if self.task == "quantile" else 0.0
        self.target_share = self.level or options.shares.coverage
        self._reaches = bool(options.known)  # whether features of rows to come are looked at
        self.columns = plan.numbers + plan.words
        self.model = Forecaster(
            plan.horizon,
            season=periods(options.season),
            coverage=options.shares.coverage,
            features=self.columns,
            loss=Pinball(self.level) if self.level else None,
        )
        self.model._engine.apart, self.model._engine.unknown = apart, None  # see `ahead`
        self._timed, self.intake = options.time is not None, Intake(plan)
        self.beside, self._unknown = Beside(plan, self.level), Unknown()
        self.loss_name = "pinball loss" if self.level else "squared error"
        self._jump = 4 * (plan.period + plan.horizon)  # slots that nothing said reaches over
        # slot of the last row learnt; whether rows without a target were the last of these
        self._slot, self._in_gap = -1, False
        self.steps = np.zeros(0, dtype=np.int64)  # of rows just played, from the row before
        none = np.zeros(0)
        self._waiting = Table(none, np.zeros((0, self.columns)), none, none)

    @property
    def at_once(self) -> int:
        """How many rows to play together, at most."""
        return max(1, _ROOM // self.horizon)

    @property
    def moved(self) -> bool:
        """Whether ends were moved inwards, to 0, while targets were below that."""
        return self.nonnegative and self.intake.negative

    @property
    def slots(self) -> Slots:
        """Slots of the rows learnt."""
        return self.model._timing._grid.slots

    def know(self, ahead: NDArray[np.bool_]) -> None:
        """Say which columns of features are known beyond the next row."""
        self.model._engine.ahead[:] = ahead

    def run(self, rows: Rows, row: int) -> tuple[Array, Array, Array, Array, Array]:
        """Forecast and learn rows from number `row` on; see `Engine.run`. There are no weights."""
        new = self.intake.read(rows)
        first, table = self._waiting.y.size, self._waiting.then(new)
        n = self._ready(table)
        gaps = self._gaps(table, first, n)
        told, taken, own = self._play_all(table, n, gaps)
        slots = self._slots(taken)
        self.intake.count(new.y, taken[first:])
        self.steps = np.maximum(taken[first:], 1)
        self.beside.score(table.y[:n], slots, told)
        self._slot = int(slots[n - 1]) if n else self._slot
        self._waiting = table.part(n)
        out = Told(*(part[first:, 0].copy() for part in told))
        for i, origin in gaps:
            one = own[i] if i in own else self._further(told, i, origin, slots)
            for part, end in zip(out, one, strict=True):
                part[i - first] = end
        losses = self.beside.losses(out.forecast, new.y, slots[first:])
        return *out, losses, np.zeros((new.y.size, 0))

    def _ready(self, table: Table) -> int:
        """Return how many rows can be learnt: up to a target, with all that was known ahead."""
        rows, known = table.y.size, np.flatnonzero(~np.isnan(table.y))
        n = int(known[-1]) + 1 if known.size else 0
        if self._reaches:
            n = max(0, min(n, rows - self.horizon))
        return n if rows - n <= max(_MOST, 2 * self.horizon) else rows - self.horizon

    def _gaps(self, table: Table, first: int, n: int) -> list[tuple[int, int]]:
        """Return new rows without a target that follow such a row, and the first of these.

        A row stands for itself where that is further away than the horizon.
        """
        found, origin, goes_on = list[tuple[int, int]](), -1, self._in_gap
        self._in_gap = False
        if not np.isnan(table.y).any():
            return found
        for i, y in enumerate([*table.y.tolist(), 0.0]):
            if i == n:
                self._in_gap = goes_on or origin >= 0
            if y == y:
                origin, goes_on = -1, False
            elif origin < 0 and not goes_on:
                origin = i
            elif i >= first:
                found.append((i, i if goes_on or i - origin >= self.horizon else origin))
        return found

    def _play_all(
        self, table: Table, n: int, gaps: list[tuple[int, int]]
    ) -> tuple[Told, NDArray[np.int64], dict[int, Told]]:
        """Forecast all rows and learn the first n; a copy plays the others.

        Returns what was told (rows, H), how many slots each row is after the one before (-1: slots
        were told anew), and what is told of rows in gaps where that depends on features ahead: of
        these, on what had come with the row itself.
        """
        wanted: dict[int, list[int]] = {}
        for i, origin in gaps if self._reaches else ():
            wanted.setdefault(origin, []).append(i)
        model, own, parts, steps = self.model, dict[int, Told](), list[Told](), list[Any]()
        for start, stop in pairwise(sorted({0, n, table.y.size, *wanted})):
            if start == n:
                model = copy.copy(self.model)
            for i in wanted.get(start, ()):
                places = self._places(model, table.part(start, i + 1))
                told = self._path(copy.copy(model), table.part(start, i + 1))
                ahead = self.horizon if i == start else int(places[-1])
                own[i] = self._at(told, 0, ahead)
            parts.append(self._play(model, table, start, stop))
            steps.append(model._timing.steps)
        return reduce(Told.then, parts), np.concatenate(steps), own

    def _slots(self, taken: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return slots of rows after those learnt."""
        return np.asarray(self._slot + np.cumsum(np.where(taken < 0, self._jump, taken)))

    def _play(self, model: Forecaster, table: Table, start: int, stop: int) -> Told:
        """Forecast some rows at all horizons and learn them: (rows, H)."""
        ahead = stop + self.horizon if self._reaches else stop
        X = table.X[start:ahead] if self.columns else None
        times = self._times(table.times[start:ahead])
        y, H = table.y[start:stop], self.horizon
        parts = model.track(y, X, times, horizon=H, intervals=True)
        told = Told(*(part.reshape(-1, H) for part in parts))
        return self._shaped(told, table.whole[start:stop])

    def _places(self, model: Forecaster, rows: Table) -> NDArray[np.int64]:
        """Return how many slots after the first of these rows, the next to be played, each is."""
        slots = model._timing._grid.slots
        if not self._timed or slots.gap is None:
            return np.arange(rows.y.size)
        steps = slots.steps(rows.times)
        return np.cumsum(steps) - steps[:1]

    def _path(self, model: Forecaster, rows: Table) -> Told:
        """Forecast what comes, of which some rows have come, with their features: (1, H)."""
        return self._say(model, *self._given(model, rows))

    def _given(self, model: Forecaster, rows: Table) -> tuple[Array | None, Any, Array]:
        """Return what is known of rounds to come: features, time, whether targets are whole."""
        if not rows.y.size:
            return None, None, np.array([float(self.intake.whole)])
        x, when = None, self._times(rows.times[:1])
        if self.columns:
            places = self._places(model, rows)
            near = places < self.horizon
            x = np.full((int(places[near][-1]) + 1, self.columns), np.nan)
            x[places[near]] = rows.X[near]
        return x, None if when is None else when[0], rows.whole[:1]

    def _say(self, model: Forecaster, x: Array | None, time: Any, whole: Array) -> Told:
        """Forecast what comes: (1, H)."""
        said = model.predict(x, horizon=self.horizon, time=time)
        ends = (end[None] for end in model.interval(horizon=self.horizon))
        return self._shaped(Told(said[None], *ends), whole)

    def _times(self, times: Array) -> Any:
        if not self._timed:
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
            inner, outer, nearest = np.ceil(lo), np.floor(hi), np.round(forecasts)
            none, marks = inner > outer, whole.astype(bool)[:, None]
            lo = np.where(marks, np.where(none, nearest, inner), lo)
            hi = np.where(marks, np.where(none, nearest, outer), hi)
        if self.nonnegative:
            forecasts, hi = np.maximum(forecasts, 0.0), np.maximum(hi, 0.0)
            lo = lo if self.level else np.maximum(lo, 0.0)
        return Told(forecasts, lo + 0.0, hi + 0.0)  # no zero has a sign

    def _further(self, told: Told, i: int, origin: int, slots: NDArray[np.int64]) -> Told:
        """Return what was told of row i in an earlier one, or in itself, if it is too far ahead."""
        ahead = int(slots[i] - slots[origin])
        if i == origin or ahead >= self.horizon:
            return self._at(told, i, self.horizon)
        return self._at(told, origin, ahead)

    def _at(self, told: Told, i: int, ahead: int) -> Told:
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
            told, taken, _ = self._play_all(rows, 0, [])
            scores = self.beside.with_more(rows.y[:n], self._slots(taken), told)
            self._play(model, rows, 0, n)
        coming = rows.part(n)
        places = self._places(model, coming)
        x, time, whole = self._given(model, coming)
        told, sums, other = self._say(model, x, time, whole), model.total(H), model
        lacks = absent(x, self.model._engine.ahead, H) & self._reaches
        if lacks.any():
            other = without(model, self._unknown)
            theirs = self._say(other, None if x is None else x[:1], None, whole)
            told = Told(*(np.where(lacks, *pair) for pair in zip(theirs, told, strict=True)))
            sums = total_of(model, other, lacks)
        total = Told(*(np.array([[end]]) for end in sums))
        total = total if self.level else self._shaped(total, np.array([float(self.intake.whole)]))
        if self.nonnegative and not self.level and (told.forecast == 0.0).any():
            said = told.forecast.sum(axis=1, keepdims=True)
            end = np.ceil(said) if self.intake.whole else said
            total = Told(said, total.lo, np.maximum(total.hi, end))
        tellers = other if lacks[0] else model, other if lacks[-1] else model
        return Ahead(model, tellers, told.row(0), total.row(0), places, int(lacks.sum()), scores)

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
        return {**state, "slot": self._slot, "in_gap": self._in_gap}

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
            stored(waiting, "whole", y.size),
        )
        counted("slot", state["slot"] + 1, 2**62)
        self._slot, self._in_gap = int(state["slot"]), bool(state["in_gap"])

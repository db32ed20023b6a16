"""`track` on a series: sp.Forecaster on rows, scores of every horizon, and what comes next."""

import copy
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillpoint.commands import _rows, _scores
from stillpoint.commands._rows import Rule
from stillpoint.commands.arguments import periods
from stillpoint.commands.encode import Rows
from stillpoint.commands.engine import LAST, MEAN
from stillpoint.commands.options import TrackOptions
from stillpoint.commands.plans import Plan, Table, Told
from stillpoint.commands.summary import OURS
from stillpoint.core.learner import not_finite_in
from stillpoint.core.validation import Array, counted, stored, under
from stillpoint.losses import Pinball
from stillpoint.series import Forecaster
from stillpoint.series.slots import Slots

NAIVE = "seasonal naive"
_MOST = 8192  # rows without a target that wait for one, at least
_WHOLE = 10  # targets that must all be whole for ends to be
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
        self.model = Forecaster(
            plan.horizon,
            season=periods(options.season),
            coverage=options.coverage,
            loss=Pinball(self.level) if self.level else None,
        )
        self.names = [OURS, LAST, "normal quantile" if self.level else MEAN]
        self.names += [NAIVE] if plan.period else []
        self.loss_name = "pinball loss" if self.level else "squared error"
        self._factor = NormalDist().inv_cdf(self.level or 0.5)
        self._simple, self.loss_rows = np.zeros(5), 0
        self._slots = Slots() if options.time is not None else None
        self._slot, self._gap_start = -1, -1  # of the last row; of the first after the last target
        self._counts = np.zeros(3, dtype=np.int64)  # targets, those not whole, those below 0
        self._near, self._far = (_scores.ring(plan.period, h) for h in (1, plan.horizon))
        self.scores = _scores.scores(plan.horizon)
        none = np.zeros(0)
        self._waiting = Table(none, np.zeros((0, 0)), none, np.zeros(0, dtype=np.int64), none)

    @property
    def at_once(self) -> int:
        """How many rows to play together, at most."""
        return max(1, _ROOM // self.horizon)

    @property
    def whole(self) -> bool:
        """Whether all targets were whole numbers, and there were some."""
        return bool(self._counts[0] >= _WHOLE and self._counts[1] == 0)

    @property
    def moved(self) -> bool:
        """Whether ends were moved inwards, to 0, while targets were below that."""
        return bool(self._nonnegative and self._counts[2])

    @property
    def gap(self) -> float | None:
        """How far rows are apart in time; None where that is not known."""
        if self._slots is None:
            return None
        first = self._slots.arrays()["first"]
        return self._slots.gap or (float(np.median(np.diff(first))) if first.size > 1 else None)

    def run(self, rows: Rows, row: int) -> tuple[Array, Array, Array, Array, Array]:
        """Forecast and learn rows from number `row` on; see `Engine.run`. There are no weights."""
        new = self._read(rows)
        first = self._waiting.y.size
        table = self._waiting.then(new)
        known = np.flatnonzero(~np.isnan(table.y))
        n = int(known[-1]) + 1 if known.size else 0
        if table.y.size - n > max(_MOST, 2 * self.horizon):
            n = table.y.size - self.horizon
        done, rest = table.part(0, n), table.part(n)
        told = self._play(self.model, done)
        _scores.score(
            done.slots, done.y, *told, self.plan.period, self.level, self._far, self.scores
        )
        if rest.y.size:
            # a copy plays those that wait: none of them has a target
            others = self._play(copy.copy(self.model), rest)
            told = told.then(others)
        self._waiting = rest
        next_ones = Told(*(part[first:, 0].copy() for part in told))
        self._own_horizons(table, told, first, next_ones)
        return *next_ones, self._losses(next_ones.forecast, new), np.zeros((new.y.size, 0))

    def _read(self, rows: Rows) -> Table:
        """Return new rows with their slots; count whole and negative targets."""
        y, T = rows.y, rows.y.size
        known = ~np.isnan(y)
        odd, below = known & (y % 1.0 != 0.0), known & (y < 0.0)
        before = [
            start + np.cumsum(marks) - marks
            for start, marks in zip(self._counts, (known, odd), strict=False)
        ]
        whole = (before[0] >= _WHOLE) & (before[1] == 0)
        self._counts += np.array([known.sum(), odd.sum(), below.sum()])
        slots = self._slot + np.cumsum(self._steps(rows.times, T))
        self._slot = int(slots[-1])
        return Table(y, np.zeros((T, 0)), rows.times, slots, whole.astype(np.float64))

    def _steps(self, times: Array, T: int) -> NDArray[np.int64]:
        """Return how many slots each row is after the one before, as the forecaster has them."""
        if self._slots is None:
            return np.ones(T, dtype=np.int64)
        early = min(self._slots.missing, T)
        steps = self._slots.take(times[:early]) if early else np.zeros(0, dtype=np.int64)
        if early and self._slots.missing == 0 and (self._slots.settle() != 1).any():
            # the first rows were not one slot apart: what they said is of no slot that comes
            steps[-1] = 2 * (self._far.slots.size + self.horizon)
        return np.append(steps, self._slots.take(times[early:]) if early < T else steps[:0])

    def _play(self, model: Forecaster, rows: Table) -> Told:
        """Forecast rows at all horizons and learn them; return forecasts, lo and hi (T, H)."""
        parts = model.track(
            rows.y, times=self._times(rows.times), horizon=self.horizon, intervals=True
        )
        told = Told(*(part.reshape(-1, self.horizon) for part in parts))
        return self._shaped(told, rows.whole)

    def _times(self, times: Array) -> Any:
        if self._slots is None:
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

    def _own_horizons(self, table: Table, told: Told, first: int, out: Told) -> None:
        """Replace what is told of new rows without a target by what was said of them last.

        That was in the row after the last target, as many steps ahead as they are; further than
        the horizon it is the forecast without the targets between, and the last interval.
        """
        if not np.isnan(table.y).any():
            self._gap_start = -1
            return
        origin = 0  # in the rows that wait, of which the first may be that row
        start = self._gap_start
        for i in range(table.y.size):
            if start < 0:
                origin, start = i, int(table.slots[i])
            if not np.isnan(table.y[i]):
                start = -1
                continue
            ahead = int(table.slots[i]) - start
            if i < first or ahead == 0:
                continue
            if ahead < self.horizon:
                for end, part in zip(out, told, strict=True):
                    end[i - first] = part[origin, ahead]
            else:
                centre, last = told[0][i], self.horizon - 1
                for end, part in zip(out[1:], told[1:], strict=True):
                    end[i - first] = centre[0] + (part[i, last] - centre[last])
        self._gap_start = start

    def _losses(self, forecasts: Array, new: Table) -> Array:
        """Return losses (names, T); they count once a target is known."""
        T = new.y.size
        simple, known, naive = np.empty((2, T)), np.empty(T), np.empty(T)
        rule = Rule.QUANTILE if self.level else Rule.NUMBERS
        _rows.simple_rows(new.y, 0, 0, rule, self._factor, self._simple, simple, known)
        _scores.naive(new.slots, new.y, self.plan.period, self._near, naive)
        all_told = np.vstack([forecasts, simple, naive])[: len(self.names)]
        away = new.y - all_told
        losses = np.maximum(self.level * away, (self.level - 1.0) * away) if self.level else away**2
        counts = ~np.isnan(new.y) & (known > 0.0)
        self.loss_rows += int(counts.sum())
        return np.ascontiguousarray(np.where(counts, losses, 0.0))

    def ahead(self) -> Ahead:
        """Return what comes after the last target, from a copy."""
        model, rows, H = copy.copy(self.model), self._waiting, self.horizon
        when = self._times(rows.times[:1])
        time = when[0] if rows.y.size and when is not None else None
        said = model.predict(horizon=H, time=time), *model.interval(horizon=H)
        whole = np.array([float(self.whole)])
        told = self._shaped(Told(*(part[None] for part in said)), whole)
        total = Told(*(np.array([[end]]) for end in model.total(H)))
        total = total if self.level else self._shaped(total, whole)
        return Ahead(model, told.row(0), total.row(0), rows, self.scores)

    @property
    def _not_finite(self) -> frozenset[str]:
        """As `Configured._not_finite`."""
        own = {"slots.gap", "scores.paths", "scores.lasts", "near.last", "far.last"}
        waiting = {f"waiting.{name}" for name in ("y", "X", "times")}
        return not_finite_in("model.", self.model) | own | waiting

    def arrays(self) -> dict[str, Any]:
        """Return the state, for saving: arrays and numbers under names with a prefix."""
        parts: dict[str, dict[str, Any]] = {
            "model": self.model.arrays(),
            "slots": {} if self._slots is None else self._slots.arrays(),
            "scores": self.scores._asdict(),
            "near": self._near._asdict(),
            "far": self._far._asdict(),
            "waiting": self._waiting._asdict(),
        }
        state = {f"{part}.{name}": v for part, all in parts.items() for name, v in all.items()}
        own = {"simple": self._simple, "counts": self._counts, "loss_rows": self.loss_rows}
        return {**state, **own, "slot": self._slot, "gap_start": self._gap_start}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `arrays` returned."""
        self.model.restore(under(state, "model."))
        if self._slots is not None:
            self._slots.restore(under(state, "slots."))
        for prefix, part in (("scores.", self.scores), ("near.", self._near), ("far.", self._far)):
            saved = under(state, prefix)
            for name, array in part._asdict().items():
                array[...] = stored(saved, name, *array.shape, dtype=array.dtype)
        self._simple[:] = stored(state, "simple", 5)
        self._counts[:] = stored(state, "counts", 3, dtype=np.int64)
        waiting = under(state, "waiting.")
        y = stored(waiting, "y", None)
        self._waiting = Table(
            y,
            stored(waiting, "X", y.size, 0),
            stored(waiting, "times", y.size),
            stored(waiting, "slots", y.size, dtype=np.int64),
            stored(waiting, "whole", y.size),
        )
        for name in ("loss_rows", "slot", "gap_start"):
            counted(name, state[name] + 1, 2**62)
        self.loss_rows, self._slot = int(state["loss_rows"]), int(state["slot"])
        self._gap_start = int(state["gap_start"])

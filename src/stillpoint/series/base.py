"""What a Forecaster is beside its forecasts: rounds in time, what it can tell of itself, saving."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillpoint.alerts.change import Change
from stillpoint.core.array import Array
from stillpoint.core.learner import Learner
from stillpoint.core.validation import count, number, under
from stillpoint.series import explain, restored
from stillpoint.series.engine import Engine
from stillpoint.series.features import Features
from stillpoint.series.said import Said, around, beside
from stillpoint.series.times import late
from stillpoint.series.timing import Timing

# methods of other libraries' forecasters
_OURS = {
    "fit": "track(y), which forecasts each value and then learns it,",
    "partial_fit": "track(y), or update(value),",
    "learn_one": "update(value)",
    "forecast": "predict(horizon=…)",
    "predict_interval": "interval(horizon=…)",
    "score": "sp.backtest(y, horizon=…)",
}


class SeriesLearner(Learner):
    """Rounds of a series, which an engine forecasts and learns."""

    horizon: int
    _engine: Engine
    _features: Features
    _timing: Timing
    _left_out = False  # whether the time of the coming round was

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say what other libraries' names are here."""
            ours = _OURS.get(name)
            hint = f"; it is {ours} here" if ours else ""
            what = f"{type(self).__name__!r} object has no attribute {name!r}{hint}"
            raise AttributeError(what, name=name, obj=self)

    @property
    def features(self) -> Any:
        """Names of the features, or how many there are."""
        return self._features.given

    @property
    def seasons(self) -> list[float]:
        """The periods in use, in rounds."""
        return list(self._engine.active)

    @property
    def weights(self) -> dict[int, dict[str, float]]:
        """The weights of the experts in the forecast of each knot (a horizon)."""
        return explain.weights(self._engine)

    @property
    def regrets(self) -> dict[int, dict[str, float]]:
        """For each knot, how much more than each expert the aggregate can have lost so far.

        In error variances: `Σ ((y − p)² − (y − pᵢ)²)/σ² ≤ Rᵢ`, with p the ML-Poly forecast. At
        horizon 1 all R together are bounded whatever the series, see the notes on Forecaster. They
        count from when the experts were last built, over the history that was replayed then.
        """
        return explain.regrets(self._engine)

    @property
    def changes(self) -> list[Change]:
        """Where level, spread, slope or season of the series have moved; see `Change`.

        Rows are rounds counted from 0, empty slots among them; where slots are told anew, changes
        are looked for anew in the rows kept. A false one comes once in 10 000 rounds, or less
        often, once seasons are known: of more than some 50 rounds they are found, where they are
        neither told nor known from dates, when they have come six times or more. Of each stretch
        with the same seasons the last 100 are kept.
        """
        return self._engine.watch.records

    def components(self) -> dict[str, float]:
        """What the coming forecast is made of: parts that sum to it.

        "level", "slope" and each "season m" are those of the structural filters, weighted as the
        forecast weighs them; "features" what the regressions add for these; "memory" the rest: what
        the recent past adds. Where a quantile is forecast, "quantile" is what it is above the mean.
        """
        forecast, bands = self._begin(), self._engine.bands
        parts = explain.components(self._engine, forecast)
        if bands.shifts:
            parts["quantile"] = float(np.ravel(self._said(1, ends=True).shift)[0])
        return parts

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        own = {
            "rounds": self.rounds,
            "time": self.time,
            "started": self._started,
            "open": self._is_open,
            "answer": math.nan if self._answer is None else self._answer,
        }
        own |= {f"engine.{name}": value for name, value in self._engine.arrays().items()}
        return own | {f"timing.{name}": value for name, value in self._timing.arrays().items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        self.rounds, self.time = restored.number(state, "rounds"), float(state["time"])
        self._started, self._is_open = bool(state["started"]), bool(state["open"])
        self._engine.restore(under(state, "engine."))
        self._timing.restore(under(state, "timing."), self.rounds)
        self._answer = float(state["answer"]) if self._is_open else None

    @property
    def _not_finite(self) -> frozenset[str]:
        bands, watch = (
            ("offsets", "ends", "said"),
            ("earlier", "waiting", "now.moments", "now.records"),
        )
        engine = [
            "history",
            "scalars",
            "row",
            "exact",
            "nest",
            *(f"bands.{name}" for name in bands),
        ]
        engine += [f"watch.{name}" for name in watch]
        timing = ("gap", "value", "X", "rows", "last", "before.gap")
        names = (*(f"engine.{name}" for name in engine), *(f"timing.{name}" for name in timing))
        return frozenset({"answer", *names})

    def _steps(self, horizon: Any) -> int:
        steps = count("horizon", horizon)
        if steps > self.horizon:
            raise ValueError(
                f"horizon must be at most {self.horizon}, which the forecaster was built for: got"
                f" {steps}; build it with horizon={steps}"
            )
        return steps

    def _when(self, rounds: int, times: ArrayLike | None) -> Array:
        """Times of so many rounds, of which an open one is the first: it forecasts what it did."""
        if not (self._is_open and rounds):
            return self._coming_times(rounds, times)
        given = None if times is None else np.asarray(times)
        if given is not None and given.size and given.flat[0] != self.time:
            self._begin_bulk("y")
        rest = self._coming_times(rounds - 1, None if given is None else given[1:])
        return np.append(self.time, rest)

    def _begin(self, time: float | None = None, x: Any = None) -> Any:
        """Answer the open round or open the coming one; a time that was left out may come later."""
        before = self._retimed(time)
        if before is not None:
            self._check(time, x)
            x = self._timing.rows if x is None else x
            self._timing.take_back()
            self.time, self._is_open = before, False
        return super()._begin(time, x)

    def _retimed(self, time: float | None) -> float | None:
        """The time before the open round, where it has none and now gets this one."""
        if time is None or not self._is_open or time == self.time:
            return None
        return self._timing.before

    def _check(self, time: float | None = None, x: Any = None) -> None:
        before = self._retimed(time)
        if before is not None:
            when = number("time", time, "drop rounds without a time")
            self._check_later("time", when, before)
            self._check_same(x)
        elif self._is_open:
            super()._check(time, x)
        else:
            self._in_order(time)

    def _coming(self, time: float | None) -> float:
        when = self._in_order(time)
        if time is not None:
            self._timing.given(self.time, self._started)
        self._left_out = time is None and self._started
        return when

    def _in_order(self, time: float | None) -> float:
        """The time of the coming round, after the last one's."""
        if time is None and self._timing.timed:
            time = self._timing.coming(self.time)
        if time is not None and self._started:
            self._check_later("time", time, self.time)
        return super()._coming(time)

    def _coming_times(self, rounds: int, times: ArrayLike | None) -> Array:
        if times is not None and self._started and np.size(times):
            self._check_later("times", np.ravel(times)[0], self.time, " in row 0")
        if times is None and self._timing.timed:
            return self._timing.coming_times(self.time, rounds)
        return super()._coming_times(rounds, times)

    def _check_later(self, name: str, time: float, last: float, row: str = "") -> None:
        """Refuse a time that is not after the last one; others see to it that it is a number."""
        if isinstance(time, int | float | np.number) and time <= last:
            got, before = self._timing.text(float(time)) + row, self._timing.text(last)
            raise ValueError(late(name, got, f"{before}, the last round's", bool(time == last)))

    def _check_same(self, x: Any) -> None:
        if x is not None and not self._timing.same(x):
            raise ValueError(
                f"x must be that of the open round: got {x.tolist()}, open"
                f" {self._timing.rows.tolist()}; call update or skip first"
            )

    def _check_first(self, row: Array | None) -> None:
        """Refuse rows of features, of rounds to come in bulk, that do not begin as the open one."""
        mine = self._timing.rows[:1]
        same = row is None or np.array_equal(row, mine, equal_nan=True)
        if self._is_open and row is not None and row.size and not same:
            raise ValueError(
                f"X must begin with the features of the open round: got {row.tolist()}, open"
                f" {mine.tolist()}; call update or skip first, or pass the same row first"
            )

    def _said(self, steps: int, ends: bool) -> Said:
        """What is said of the open round; ends: whether more than the central forecasts counts."""
        engine, X = self._engine, self._timing.rows
        out = np.array([[self._answer]]) if steps == 1 else engine.path(steps)[None]
        partly = X.shape[0] < steps or np.isnan(X).any()
        if (partly or engine.apart) and engine.width(steps, ends) > steps:
            none, known = np.array([np.nan]), np.array([X.shape[0]])
            out = np.concatenate([out, beside(engine, none, X, known, steps)], axis=1)
        return Said(engine.bands, out, self._offsets, steps)

    def _total(self, steps: int) -> tuple[float, Any, Any]:
        """The total of so many values from the open round on, and its ends."""
        engine, said = self._engine, self._said(steps, ends=True)
        total, near = said.central[0].sum(keepdims=True), said.near
        ends = engine.bands.total_ends(steps, None if near is None else int(near[0]))
        if engine.unknown is not None and said.lacks:
            ends = engine.unknown.total_ends(engine, self._timing.rows, steps)
        lo, hi = around(engine.bands, total, *ends)
        return float(total[0]), lo[0], hi[0]

    @property
    def _offsets(self) -> Array:
        """Ends of the open round's intervals, less their forecasts, as `Engine.track` has them."""
        return self._engine.bands.state.offsets[None]

    def _open(self, when: float, x: NDArray[Any] | None) -> float:
        last = self.time if self._left_out else None
        return self._timing.open(when, self._features.none if x is None else x, last)

    def _close(self, feedback: float | None) -> None:
        self._timing.close(math.nan if feedback is None else feedback)

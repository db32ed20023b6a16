"""Forecaster: a series that repeats, trends, jumps and remembers; any horizon, told nothing."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillpoint.alerts.changes import Change
from stillpoint.core.learner import Learner
from stillpoint.core.validation import Array, count, real, under
from stillpoint.forecasters.aggregation import LARGEST, target_number
from stillpoint.losses import Absolute, Loss, Pinball, Squared
from stillpoint.series import explain, seasons
from stillpoint.series.bands import Bands
from stillpoint.series.engine import Engine
from stillpoint.series.features import Features
from stillpoint.series.history import KEEP
from stillpoint.series.pool import POOLS
from stillpoint.series.restored import number
from stillpoint.series.timing import Timing

_MISSING = "pass one number a round, NaN for a missing one"


class Forecaster(Learner):
    """Forecast a series any number of steps ahead: level, trend, seasons, memory, jumps.

    Nothing needs to be told: not the seasons, not the noise, no rate and no length.

    Parameters
    ----------
    horizon : int, default 1
        How many steps ahead it can be asked for.
    season : "auto", None, float or list of float
        Periods in rounds such as [24, 168]; "auto" finds them, None: there are none.
    coverage : float or list of float, default 0.9
        The share of values that intervals are to cover, or several.
    features : int or list of str, default 0
        How many numbers are known of each round before its value (prices, holidays), or their
        names.
    pool : {"full", "middle", "small"}
        How many experts forecast.
    loss : Squared, Absolute or Pinball, optional
        What forecasts aim at: the mean, the median, or another quantile of each horizon. None is
        Squared. For the others the tracked quantile of the errors is added to the forecast of the
        mean, and intervals have two sides.

    Notes
    -----
    A pool of filters, each the exact ridge regression of a kernel: on time (a level that drifts, a
    slope, seasons of smooth shape that drift), on the series' own past (autoregressions with
    forgetting), or on both. For each of some horizons, the knots, their forecasts are aggregated by
    ML-Poly blended with exponential weights, then corrected by a regression of what is left.
    """

    def __init__(
        self,
        horizon: int = 1,
        *,
        season: Any = "auto",
        coverage: Any = 0.9,
        features: Any = 0,
        pool: str = "full",
        loss: Loss | None = None,
    ) -> None:
        super().__init__()
        self.horizon = count("horizon", horizon)
        self.season, self.pool = season, pool
        if not isinstance(pool, str) or pool not in POOLS:
            raise ValueError(f'pool must be "small", "middle" or "full": got {pool!r}; choose one')
        self._features = Features(features, self.horizon)
        self.loss = loss
        self._bands = Bands(self.horizon, coverage, level=_level(loss), few=POOLS[pool].half)
        self._engine = Engine(
            POOLS[pool], self.horizon, _periods(season), self._bands, self._features.count
        )
        self._timing = Timing(self._engine)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this forecaster anew."""
        return {
            "horizon": self.horizon,
            "season": self.season,
            "coverage": self.coverage,
            "features": self.features,
            "pool": self.pool,
            "loss": self.loss,
        }

    @property
    def coverage(self) -> Any:
        """The share of values that intervals are to cover, or several."""
        return self._bands.coverage if self._bands.several else self._bands.coverage[0]

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
        """What is relied on: for each knot, a horizon, the experts' weights in its forecast."""
        return explain.weights(self._engine)

    @property
    def regrets(self) -> dict[int, dict[str, float]]:
        """For each knot, how much more than each expert the aggregate can have lost so far.

        In error variances, Σ_t s_t((y − pm)² − (y − p_i)²) ≤ R_i with s_t about 1/σ_t² and pm the
        ML-Poly forecast; at horizon 1 all R together are bounded, see `_knots`. Since the last time
        that experts were built, over the history that was replayed then.
        """
        return explain.regrets(self._engine)

    @property
    def changes(self) -> list[Change]:
        """Where level or spread of the series have moved, beside its seasons; see `Change`.

        Rows are rounds counted from 0, empty slots among them. A false one comes once in 10 000
        rounds, or less often. Of each stretch with the same seasons the last 100 are kept.
        """
        return self._engine.watch.records

    def components(self) -> dict[str, float]:
        """What the coming forecast is made of: parts that sum to it.

        "level", "slope" and each "season m" are those of the structural filters, weighted as the
        forecast weighs them; "features" what the regressions add for these; "memory" the rest: what
        the recent past adds.
        """
        forecast = self._begin()
        return explain.components(self._engine, forecast)

    def predict(
        self, x: ArrayLike | None = None, *, horizon: int | None = None, time: Any = None
    ) -> Any:
        """Forecast the coming value, or with `horizon` the coming values.

        Parameters
        ----------
        x : array of shape (features,) or (rows, features), optional
            What is known of the round, or of it and those after it; NaN where a number is not.
        horizon : int, optional
            How many; at most what the forecaster was built for.
        time : float or datetime, optional
            When the round is; left out, one step after the last.

        Returns
        -------
        float or array of shape (horizon,)
        """
        central = self._central(x, 1 if horizon is None else self._steps(horizon), time)
        shifted = central + self._bands.shift(self._offsets, central.size)
        return float(shifted.flat[0]) if horizon is None else shifted.reshape(-1)

    @property
    def _offsets(self) -> Array:
        return self._bands.state.offsets[None]

    def interval(
        self, x: ArrayLike | None = None, *, horizon: int | None = None, time: Any = None
    ) -> tuple[Any, Any]:
        """Return the ends (lo, hi) of the interval around each forecast of `predict`.

        Numbers, or arrays of shape (horizon,); with several coverages one more axis for them. An
        interval may be everything, (−∞, ∞), until its horizon has been judged twice.
        """
        forecast = self._central(x, 1 if horizon is None else self._steps(horizon), time)
        lo, hi = self._ends(forecast, *self._bands.ends(forecast.size))
        if horizon is not None:
            return lo, hi
        return (lo[0], hi[0]) if self._bands.several else (float(lo[0]), float(hi[0]))

    def total(
        self, horizon: int | None = None, *, x: ArrayLike | None = None, time: Any = None
    ) -> tuple[float, Any, Any]:
        """Forecast the sum of the coming values: (total, lo, hi), with an interval of its own."""
        steps = self.horizon if horizon is None else self._steps(horizon)
        total = self._central(x, steps, time).sum(keepdims=True)
        lo, hi = self._ends(total, *self._bands.total_ends(steps))
        several = self._bands.several
        return float(total[0]), lo if several else float(lo[0]), hi if several else float(hi[0])

    def _central(self, x: ArrayLike | None, steps: int, time: Any) -> Array:
        """Forecasts of the mean, which intervals are around."""
        answer = self._begin(self._timing.number(time), self._features.rows(x))
        return np.array([answer]) if steps == 1 else self._engine.path(steps)

    def _ends(self, forecast: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """Ends of intervals from those less the forecasts; coverages are the last axis of these."""
        if not self._bands.several:
            return forecast + low[..., 0], forecast + high[..., 0]
        return forecast[..., None] + low, forecast[..., None] + high

    def update(self, y: float, *, x: ArrayLike | None = None) -> None:
        """Tell the forecaster the value of the round; `skip` if it is missing."""
        target = target_number(y)
        self._begin(x=self._features.rows(x))
        self._end(target)

    def track(
        self,
        y: ArrayLike,
        X: ArrayLike | None = None,
        times: ArrayLike | None = None,
        horizon: int = 1,
        intervals: bool = False,
    ) -> Any:
        """Forecast and learn a whole series in compiled code: the numbers of predict and update.

        Parameters
        ----------
        y : array of shape (T,)
            The series; NaN is a missing value.
        X : array of shape (T, features) or longer, optional
            Features of each round, all known ahead; rows after the T-th are of rounds to come.
        times : array of shape (T,), optional
            Numbers or dates.
        horizon : int, default 1
            How many values to forecast in each round.

        intervals : bool, default False
            Whether to return the ends of the intervals, too.

        Returns
        -------
        array of shape (T,), or (T, horizon)
            Row t is what was forecast before y[t] was seen, of y[t], y[t + 1], …
        lo, hi : arrays of that shape, one axis more for several coverages
            If intervals are asked for.
        """
        steps = self._steps(horizon)
        targets = np.array(real("y", y, _MISSING))
        if np.ndim(y) != 1:
            raise ValueError(f"y must be one-dimensional: got shape {np.shape(y)}; {_MISSING}")
        for value in targets[np.abs(targets) > LARGEST][:1]:
            target_number(value)
        rows, known = self._features.table(X, targets.size)
        dates = self._timing.number(times)
        when = self._when(targets.size, dates)
        if not targets.size:
            none = np.empty((0, *self._bands.state.offsets.shape))
            return self._shaped(np.empty((0, steps)), none, intervals)
        if dates is not None:
            self._timing.given(self.time, self._started)
        ends = bool(intervals) or self._bands.shifts
        out, offsets = self._timing.track(targets, rows, known, when, steps, ends)
        self.time, self._started = float(when[-1]), True
        self._is_open, self._answer = False, None
        self.rounds += targets.size
        return self._shaped(out, offsets, intervals)

    def _shaped(self, central: Array, offsets: Array, intervals: bool) -> Any:
        """What `track` returns of so many forecasts a round."""
        steps = central.shape[1]
        forecasts = central + self._bands.shift(offsets, steps)
        parts = [forecasts]
        if intervals:
            parts += self._ends(central, *self._bands.between(offsets, steps))
        if steps == 1:
            parts = [part[:, 0].copy() for part in parts]
        return tuple(parts) if intervals else parts[0]

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
        self.rounds, self.time = number(state, "rounds"), float(state["time"])
        self._started, self._is_open = bool(state["started"]), bool(state["open"])
        self._engine.restore(under(state, "engine."))
        self._timing.restore(under(state, "timing."), self.rounds + self._is_open)
        self._answer = float(state["answer"]) if self._is_open else None

    @property
    def _not_finite(self) -> frozenset[str]:
        bands, watch = ("offsets", "ends", "said"), ("earlier", "now.moments", "now.records")
        engine = ["history", "scalars", *(f"bands.{name}" for name in bands)]
        engine += [f"watch.{name}" for name in watch]
        timing = ("gap", "value", "X")
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

    def _coming(self, time: float | None) -> float:
        timed = time is not None
        if time is None and self._timing.timed:
            time = self._timing.coming(self.time)
        when = super()._coming(time)
        if timed:
            self._timing.given(self.time, self._started)
        return when

    def _check_same(self, x: Any) -> None:
        if x is not None and not self._timing.same(x):
            raise ValueError("x must be that of the open round; call update or skip first")

    def _open(self, when: float, x: NDArray[Any] | None) -> float:
        return self._timing.open(when, self._features.none if x is None else x)

    def _close(self, feedback: float | None) -> None:
        self._timing.close(math.nan if feedback is None else feedback)


def _level(loss: Any) -> float | None:
    """The level of the quantile that a loss asks for; None: the mean."""
    if loss is None or isinstance(loss, Squared):
        return None
    if isinstance(loss, Absolute | Pinball):
        return loss.level if isinstance(loss, Pinball) else 0.5
    raise ValueError(
        f"loss must be None, Squared, Absolute or Pinball: got {loss!r}; choose one of sp.losses"
    )


def _periods(season: Any) -> tuple[float, ...] | None:
    """Periods as told; None: they are to be found."""
    if isinstance(season, str) and season == "auto":
        return None
    periods = () if season is None else seasons.told(season)
    for period in periods:
        if 2.0 * period + 8.0 > KEEP:
            raise ValueError(
                f"season must be at most {(KEEP - 8) // 2} rounds, of which two are kept: got"
                f" {period:g}; leave it out, or give coarser rows"
            )
    return periods

"""Forecaster: a series that repeats, trends, jumps and remembers; any horizon, told nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array, count, increasing, real
from stillpoint.forecasters.aggregation import LARGEST, target_number
from stillpoint.losses import Loss
from stillpoint.series import arguments
from stillpoint.series.base import SeriesLearner
from stillpoint.series.features import Features
from stillpoint.series.light.choice import bands, engine
from stillpoint.series.pool import POOLS
from stillpoint.series.said import Said
from stillpoint.series.timing import Timing
from stillpoint.series.unknown import Unknown

_MISSING = "pass one number a round, NaN for a missing one"


class Forecaster(SeriesLearner):
    """Forecast a series any number of steps ahead: level, trend, seasons, memory, jumps.

    Nothing has to be set. Values may be missing and times irregular; features may be known ahead.

    Parameters
    ----------
    horizon : int, default 1
        H, the largest number of steps ahead that can be forecast.
    season : "auto", None, float or list of float, default "auto"
        Periods in rounds such as [24, 168], in use from the third value on; None for none.
        "auto": those of the spacing of dates if the series bears them out, else those found in it.
    coverage : float or list of float, default 0.9
        The share of values that intervals are to cover, or several.
    features : int or list of str, default 0
        How many features of a round are known before its value (prices, holidays), or names.
    pool : {"full", "middle", "small"}, default "full"
        How many experts forecast: 24 with two seasons, 13 or 8.
    loss : Squared, Absolute or Pinball, optional
        What forecasts aim at: the mean, the median, or another quantile of each horizon. None is
        Squared. For the others the tracked quantile of the errors is added to the forecast of the
        mean, and intervals have two sides.

    Attributes
    ----------
    rounds : int
        How many rounds are over.
    time : float
        The time of the open round, or of the last one.
    seasons : list of float
        The periods in use.
    weights, regrets : dict
        For each knot (a horizon), the weight of each expert, and the regret against it.
    changes : list of Change
        Where level, spread, slope or season have moved.

    See Also
    --------
    - `VariationForecaster`: a level under noise that jumps and drifts, with a bound on regret.
    - `TrackingForecaster`: regression on features whose coefficients drift.
    - `IntervalTracker`: intervals around forecasts of any other model.

    Notes
    -----
    **Experts.** Each is ridge regression in the space of a kernel: on time, on the past, or both.

    - The last value, and for each season m the value at the same phase, `y[t + h − m⌈h/m⌉]`.
    - *Structural filters* [1], with variances in units of the noise's:
      `y = level + deviation + β'B(t) + noise`; `level += slope`, `slope *= φ`, `deviation *= ρ`,
      and all drift. B(t) are cosines and sines of 2πkt/m; β has the prior variance `10·k^(−3/2)`
      and drifts by `q·k^(−3/2)`: a smooth periodic kernel that changes, as a state space [2]. The
      gains of their Kalman filters depend on age alone: tables of these are shared by all series.
    - *Autoregressions*: least squares with forgetting λ on lags near and a season ago, harmonics,
      their products with lags, features, and random waves of the last two values [4],
      `S = z'Cz + λ; θ += Cz·e/S; C = (C − Cz(Cz)'/S)/λ`; fitted one step ahead and iterated.
    - *Smoothing by phase* [5]: a level and one number a phase, each moved by its share of an error.
    - *Effects*, with features: `y = level + β'B(t) + γ'x + noise`, where the level drifts [1].

    While all values are positive, some have twins for logarithms.

    **Aggregation**, for each of some horizons (the knots), weights between them interpolated. With
    pᵢ what expert i said, `p = Σ wᵢpᵢ`, `wᵢ ∝ max(Rᵢ, 0)/(B + Vᵢ)` (ML-Poly [3]), where `R = Σ r`,
    `V = Σ r²`, `B = max r²` and `rᵢ = 2(p − y)(p − pᵢ)/σ²`; in the first hundred rounds blended
    with exponential weights; then a ridge regression of what is left, and a second aggregation of
    both. Against each expert i, `Σ (loss of p − loss of i)/σ² ≤ R_i`, at every horizon. At h = 1,
    whatever the series, also `R_i ≤ √(A(B + max V))` with `A = ΣΣ r²/(B + V)`. At h > 1 values come
    late: R_i is an account, and no bound on it is promised.

    **Intervals** of horizon h are those of `c = ⌈h/s⌉` trackers in turn, s the rounds between
    origins, each of which has its value before its next turn; out of T of them at most
    `(1 − q)T + c(3√(q(1 − q)(T/c + 100)) + 1)` miss, on any series. Horizons 1, 3, 9, 27, … and
    H are tracked, those between interpolated in log h. s is 1 up to H = 15, then 5 or more, and
    always 1 for the next value. The smaller pools track 1, as promised, and about H/2, calibrated
    by hits and misses; for these, targets come late and nothing is promised. Where features have
    come for the next round alone, rounds without have the interval of the second tracked horizon,
    or of one beyond. Where rows ahead were known before and have not come now, steps without are
    said by experts that have played the last 4096 to 8191 rounds, or all, without: their intervals,
    and beyond the next value their forecasts.

    **Robustness.** From the 51st round on, a value more than 20 error deviations off moves filters
    by that much only, until the next value confirms it; a gross error earlier is left out. No
    expert goes more than one range of the values beyond them, unless that has grown steadily. A
    round costs the same at any age.

    References
    ----------
    - [1] Harvey, Forecasting, structural time series models and the Kalman filter, 1989.
    - [2] Solin & Särkkä, Explicit link between periodic covariance functions and state space
      models, AISTATS 2014.
    - [3] Gaillard, Stoltz & van Erven, A second-order bound with excess losses, COLT 2014.
    - [4] Rahimi & Recht, Random features for large-scale kernel machines, NeurIPS 2007.
    - [5] Winters, Forecasting sales by exponentially weighted moving averages, 1960; Holt, 1957.

    Examples
    --------
    >>> import numpy as np
    >>> import stillpoint as sp
    >>> month = np.arange(240)
    >>> noise = np.random.default_rng(0).normal(0.0, 0.5, 240)
    >>> y = 20.0 + 5.0 * np.cos(2.0 * np.pi * month / 12.0) + noise
    >>> model = sp.Forecaster(horizon=12)
    >>> forecasts = model.track(y)  # each was made before its value was seen
    >>> model.seasons
    [12.0]
    >>> model.predict(horizon=4).round(0)
    array([25., 24., 22., 20.])
    >>> lo, hi = model.interval(horizon=4)
    >>> bool((lo < [25, 24.3, 22.5, 20]).all() and (hi > [25, 24.3, 22.5, 20]).all())
    True
    >>> model.update(25.3)
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
        periods = arguments.periods(season)
        self.season = season if isinstance(season, str) or season is None else list(periods or ())
        self.pool, self.loss = pool, loss
        if not isinstance(pool, str) or pool not in POOLS:
            raise ValueError(f'pool must be "small", "middle" or "full": got {pool!r}; choose one')
        self._features = Features(features, self.horizon)
        self._bands = bands(POOLS[pool], self.horizon, periods, coverage, arguments.level(loss))
        self._engine = engine(POOLS[pool], self.horizon, periods, self._bands, self._features.count)
        if self._features.count and self.horizon > 1:
            self._engine.unknown = Unknown()
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

    def predict(
        self, x: ArrayLike | None = None, *, horizon: int | None = None, time: Any = None
    ) -> Any:
        """Forecast the coming value, or with `horizon` the coming values.

        Parameters
        ----------
        x : array of shape (features,) or (rows, features), optional
            What is known of the round, or of it and those after it; NaN where a number is not. Rows
            after the first count for what is asked with `horizon`, until the round is closed; how
            many there are does not say how many values to forecast.
        horizon : int, optional
            How many; at most what the forecaster was built for.
        time : float or datetime, optional
            When the round is; left out, one step after the last. The round is open at that time.

        Returns
        -------
        array of shape (horizon,), or a float if `horizon` is left out
        """
        steps = 1 if horizon is None else self._steps(horizon)
        self._ask(x, time)
        forecasts = self._said(steps, ends=self._bands.shifts).forecasts[0]
        return float(forecasts[0]) if horizon is None else forecasts

    def interval(
        self, x: ArrayLike | None = None, *, horizon: int | None = None, time: Any = None
    ) -> tuple[Any, Any]:
        """Return the ends (lo, hi) of the interval around each forecast of `predict`.

        Numbers, or arrays of shape (horizon,); with several coverages one more axis for them. An
        interval may be everything, (−∞, ∞), until two forecasts of its horizon have been scored.
        """
        steps = 1 if horizon is None else self._steps(horizon)
        self._ask(x, time)
        lo, hi = (end[0] for end in self._said(steps, ends=True).ends)
        if horizon is not None:
            return lo, hi
        return (lo[0], hi[0]) if self._bands.several else (float(lo[0]), float(hi[0]))

    def total(
        self, horizon: int | None = None, *, x: ArrayLike | None = None, time: Any = None
    ) -> tuple[float, Any, Any]:
        """Forecast the sum of the coming values: (total, lo, hi), its mean whatever the loss."""
        steps = self.horizon if horizon is None else self._steps(horizon)
        self._ask(x, time)
        total, lo, hi = self._total(steps)
        return (total, lo, hi) if self._bands.several else (total, float(lo), float(hi))

    def _ask(self, x: ArrayLike | None, time: Any) -> None:
        """See that the round is open, with what is given."""
        self._begin(self._timing.number(time, self._started), self._features.rows(x))

    def update(self, y: float, *, x: ArrayLike | None = None) -> None:
        """Learn the value of the round; call `skip` if it is missing."""
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
        times : array of shape (T,), or of as many as X has rows, optional
            Numbers, dates of datetime, NumPy or pandas, or text in ISO form; increasing. Rounds are
            slots of the usual gap; phases of the week that never have a row are none.
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
        steps, intervals = self._steps(horizon), arguments.flag("intervals", intervals)
        targets = np.array(real("y", y, _MISSING))
        if np.ndim(y) != 1:
            raise ValueError(f"y must be one-dimensional: got shape {np.shape(y)}; {_MISSING}")
        for value in targets[np.abs(targets) > LARGEST][:1]:
            target_number(value)
        rows, known = self._features.table(X, targets.size)
        self._check_first(rows[:1] if X is not None else None)
        dates = self._timing.number(times, self._started)
        later = dates[targets.size :] if np.ndim(dates) == 1 and len(dates) == len(rows) else ()
        if len(later):
            dates = increasing("times", dates)
        when = self._when(targets.size, dates[: targets.size] if len(later) else dates)
        if not targets.size:
            return self._shaped(np.empty((0, steps)), self._offsets[:0], steps, intervals)
        ends, opened, given = intervals or self._bands.shifts, self._is_open, dates is not None
        if given:
            self._timing.given(self.time, self._started, opened)
        given_rows = targets, rows, known, np.append(when, later)
        out, offsets = self._timing.track(*given_rows, steps, ends, opened, given)
        self._opened(float(when[-1]), None)
        self._is_open, self.rounds = False, self.rounds + targets.size
        return self._shaped(out, offsets, steps, intervals)

    def _shaped(self, out: Array, offsets: Array, steps: int, intervals: bool) -> Any:
        """What `track` returns of so many forecasts a round; see `Said`."""
        said = Said(self._bands, out, offsets, steps)
        parts = [said.forecasts, *(said.ends if intervals else ())]
        if steps == 1:
            parts = [part[:, 0].copy() for part in parts]
        return tuple(parts) if intervals else parts[0]

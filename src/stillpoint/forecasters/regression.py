"""TrackingForecaster: time-varying regression with nothing to tune (TRACKING section 1).

Fifteen Kalman filters, one a rate of drift, on features standardised as they come; changes of
origin and unit are carried into the filters exactly. ML-Poly (Gaillard, Stoltz & van Erven 2014)
blended with exponential weights aggregates them.
"""

from collections.abc import Callable
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array, finite, number
from stillpoint.forecasters import _regression as linear
from stillpoint.forecasters import _tracking
from stillpoint.forecasters.base import limited
from stillpoint.forecasters.tracking import TrackingModel, compiled
from stillpoint.losses import Absolute, Huber, Loss, Pinball, Squared

# Variance that (slopes, intercept) gain a round, in units of the noise's: none; the intercept
# alone; both; the intercept faster; the slopes alone. The last kind is not in TRACKING's thirteen:
# without it, slopes that jump over a still level cost 15% more (benchmarks/forecasters.py).
RATES: Array = np.array(
    [(0.0, 0.0)]
    + [(0.0, q) for q in (1e-4, 1e-2, 1.0, 1e2)]
    + [(q, q) for q in (1e-6, 1e-4, 1e-2, 1.0)]
    + [(q, 100.0 * q) for q in (1e-6, 1e-4, 1e-2, 1.0)]
    + [(q, 0.0) for q in (1e-2, 1.0)]
)


class TrackingForecaster(TrackingModel):
    """Forecast y_t from the features x_t, then see it; linear, with coefficients that may drift or
    jump. O(15·dim²) a round.

    dim: features of a context; an intercept is added. Forecasts do not depend on the units or
    origins of features, and follow those of the targets. The forecast is 0 until a target has been
    seen. So that one row cannot do much harm, features count as at most ten standard deviations
    from their mean and forecasts stay within one range of the targets beyond those seen: it does
    not extrapolate far.
    loss: what the aggregation minimises: Squared (None means it), Absolute, Huber or Pinball. The
    filters are the same; their regrets are r_i = ℓ'(p̂)(p̂ − p_i)/s, s the running mean loss over
    about 100 rounds, so units of the targets still do not matter. Huber's width is in units of the
    targets: rescale both together. Under Pinball, whose quantiles no mixture of means can reach,
    and Absolute, each filter's value has v·m added to it, m the running mean of its residuals' size
    and v their quantile at the level in units of it, followed by steps v ← v − c(1[y ≤ p] − level),
    c = max(2/(3(1 + αk)), 0.04), with k rounds so far and α = min(level, 1 − level) (TRACKING
    section 4).
    missing: NaN in x then means that a feature is not seen this round. It counts as its running
    mean, and its statistics stay.

    Times are optional: coefficients drift by each filter's rate times the gap since the last round
    over the mean gap so far (at most 10⁴), so the unit of time does not matter; rounds may share a
    time, and one without is one mean gap after the last.

    Guarantee: against every filter i, Σ_t (ℓ_t(ML-Poly) − ℓ_t(i))/s_t ≤ R_i ≤ √(2K(B + V_i) ln(1 +
    V_max/B)), K = 15, ℓ the loss, s its running mean, V_i = Σr², B = max r², plus the price of
    rounds that set a new record B. The blend adds the losses of exponential weights, weighted
    300/(300 + t). One round adds at most 200 to a regret (s_t is larger where it would be more),
    and an r_i > 0 of a filter that did worse than the aggregate by more than 25 s is cut by what is
    more, at most to 0: else one outlier is remembered for a thousand rounds. Mixtures of filters
    have the same bound, and in addition what was cut from their members.
    """

    _rates = RATES
    _prior = (linear.SLOPE_PRIOR, linear.INTERCEPT_PRIOR)
    _parts: ClassVar[tuple[str, ...]] = (*TrackingModel._parts, "books", "shifts")

    def __init__(self, dim: int, loss: Loss | None = None, missing: bool = False) -> None:
        if not (loss is None or isinstance(loss, Squared | Absolute | Huber | Pinball)):
            raise ValueError(
                f"loss must be None, Squared, Absolute, Huber or Pinball: got {loss!r}; choose one"
                " of sp.losses"
            )
        super().__init__(dim, missing, 1)
        self.loss = loss
        K = len(RATES)
        self._books, self._scalars, self._shifts = zeros((3, K)), zeros(11), zeros((2, K))
        self._own, self._weights = zeros((3, K)), zeros((2, K))
        level = (
            loss.level if isinstance(loss, Pinball) else 0.5 if isinstance(loss, Absolute) else 0.0
        )
        if level > 0.0:  # the quantile of normal residuals, in mean sizes
            self._shifts[linear.MULTIPLE] = NormalDist().inv_cdf(level) / (2.0 / np.pi) ** 0.5
        self._rule = (
            (Squared.code, 0.0, level) if loss is None else (loss.code, loss.parameter, level)
        )

    def predict(self, x: ArrayLike, time: float | None = None) -> float:
        """The forecast for the coming round, whose features are x; called again before `update` it
        is the same.
        """
        self._begin(x, time)
        return float(self._scalars[_tracking.ORIGIN] + self._scalars[_tracking.FORECAST])

    def peek(self, x: ArrayLike, time: float | None = None) -> float:
        """What predict(x, time) would return, with no round opened and nothing changed; O(15·dim).

        While a round is open: its forecast for its own x, and for others as if it had been skipped.
        """
        row = self._row(x)
        if self._is_open(row):
            return self.predict(x, time)
        if not self._open:
            self.moment(time)
        return self.answer(row)

    def answer(self, row: Array) -> float:
        """`peek` without its checks, for faces that have made theirs: no round is open, row is a
        whole array of its own.
        """
        run: Callable[..., float] = linear.peek_one
        return float(run(row, *self._seen()))

    def peek_stream(self, X: ArrayLike) -> Array:
        """Forecasts (T,) for the rows of X (T, dim), each as if it were the next round's; nothing
        changes.
        """
        rows = self._rows(X)
        look, weights, forecasts = (
            np.empty((3, self.dim + 1)),
            np.empty((2, len(RATES))),
            np.empty(len(rows)),
        )
        run: Callable[..., None] = linear.peek
        run(rows, *self._seen(), look, weights, forecasts)
        return forecasts

    def update(self, x: ArrayLike, y: float, time: float | None = None) -> None:
        """What the round with features x turned out to be."""
        target = self.target(y)
        if not self._open:
            self.take(self._row(x), target, self.moment(time))
            return
        self._begin(x, time)
        books = self._books, self._scalars, self._shifts
        linear.learn(
            target, *self._rule, self._means, self._covariances, *books, self._gains, self._own
        )
        self._close()

    def take(self, row: Array, target: float, moment: float) -> None:
        """`update` without its checks, for faces that have made theirs (see `answer`); moment: NaN
        for a round without a time.
        """
        self._x[:] = row
        run: Callable[..., float] = linear.turn
        run(row, target, moment, *self._rule, self._clock, *self._state())
        self.rounds += 1

    def target(self, y: float, remedy: str = "call skip(x) for a missing target") -> float:
        """Return y as a float that can be learnt from."""
        if isinstance(y, str | bytes):  # which is not missing
            raise ValueError(f"y must be a number: got {y!r}; convert it first")
        target = number("y", y, remedy)
        if abs(target) > _tracking.LIMIT:
            raise ValueError(f"y must be within ±{_tracking.LIMIT:g}: got {y!r}; rescale it")
        return target

    def track(self, X: ArrayLike, y: ArrayLike, times: ArrayLike | None = None) -> Array:
        """Forecasts (T,) of targets y (T,) from features X (T, dim): predict and update in turn, in
        one compiled loop.
        """
        self._closed("X")
        targets = limited("y", finite("y", y, "call skip(x) for a missing target"))
        if targets.ndim != 1:
            raise ValueError(
                f"y must be one-dimensional: got shape {targets.shape}; pass one target a round"
            )
        rows = self._rows(X, targets.size)
        moments = self._moments(times, targets.size)
        forecasts = np.empty(targets.size)
        run: Callable[..., None] = linear.stream
        run(rows, compiled(targets), moments, *self._rule, self._clock, *self._state(), forecasts)
        self.rounds += targets.size
        if targets.size:
            self._x[:] = rows[-1]
        return forecasts

    def _propose(self, pace: float) -> None:
        linear.propose(self._x, pace, *self._state())

    def _state(self) -> tuple[Array, ...]:
        filters = RATES, self._features, self._means, self._covariances
        return (
            *filters,
            self._books,
            self._scalars,
            self._shifts,
            self._z,
            self._gains,
            self._own,
            self._weights,
        )

    def _seen(self) -> tuple[Array, ...]:
        return self._features, self._means, self._books, self._scalars, self._shifts

    @property
    def weights(self) -> Array:
        """Weights (15,) of the filters in the open round's forecast, or in the coming one's; in the
        order of `RATES`.
        """
        weights = np.empty((2, len(RATES)))
        _tracking.weigh(self._books, self._scalars, weights)
        return np.array(weights[_tracking.BLEND])

    @property
    def noise(self) -> float:
        """Running mean square of the forecasts' errors, over about 100 rounds."""
        return float(self._scalars[_tracking.NOISE])

    @property
    def variance(self) -> float:
        """Variance of the regression's value at the last features asked about; add `noise` for that
        of the target.

        The filters' posterior variances, mixed by `weights`, in units of `noise`; how far the
        filters disagree is not counted.
        """
        return float(self.weights @ self._own[linear.VARIANCE]) * self.noise

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this forecaster anew."""
        return {"dim": self.dim, "loss": self.loss, "missing": self.missing}

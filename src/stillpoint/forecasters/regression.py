"""TrackingForecaster: linear regression whose coefficients drift, with nothing to tune.

Fifteen Kalman filters, one a rate of drift, on features standardised as they come; changes of
origin and unit are carried into the filters exactly. ML-Poly (Gaillard, Stoltz & van Erven 2014)
blended with exponential weights aggregates them.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.beliefs._kalman import LIMIT
from stillpoint.core._poly import WEIGHTS
from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array, finite, number
from stillpoint.forecasters import _linear, _regression
from stillpoint.forecasters._linear import AT, RATES, ROW, Rule, State
from stillpoint.forecasters.base import limited
from stillpoint.forecasters.feature_rounds import compiled
from stillpoint.forecasters.tracking import Outputs, Rounds, TrackingModel
from stillpoint.losses import Absolute, Huber, Loss, Pinball, Squared


class TrackingForecaster(TrackingModel):
    """Forecast y_t from features x_t by linear regression whose coefficients may drift or jump.

    O(15·dim²) a round. Forecasts do not depend on the units or origins of features, and follow
    those of the targets. The forecast is 0 until a target has been seen. So that one row cannot do
    much harm, features count as at most ten standard deviations from their mean and forecasts stay
    within one range of the targets beyond those seen: it does not extrapolate far.

    Times are optional: coefficients drift by each filter's rate times the gap since the last round,
    over the mean gap so far (at most 10⁴), so the unit of time does not matter; rounds may share a
    time, and one without is one mean gap after the last.

    Parameters
    ----------
    dim : int
        Features of a context; an intercept is added.
    loss : Squared, Absolute, Huber or Pinball, optional
        What the aggregation minimises; None is squared loss. Huber's width is in units of the
        targets: rescale both together.
    missing : bool, default False
        Whether NaN in x means that a feature is not seen this round. It counts as its running mean,
        and its statistics stay.

    Notes
    -----
    The filters are the same for all losses; their regrets are r_i = ℓ'(p̂)(p̂ − p_i)/s, s the
    running mean loss over about 100 rounds, so units of the targets do not matter. Under Pinball,
    whose quantiles no mixture of means can reach, and Absolute, each filter's value has v·m added
    to it, m the running mean of its residuals' size and v their quantile at the level in units of
    it, followed by steps v ← v − c(1[y ≤ p] − level), c = max(2/(3(1 + αk)), 0.04), with k rounds
    so far and α = min(level, 1 − level).

    Guarantee: against every filter i, Σ_t (ℓ_t(ML-Poly) − ℓ_t(i))/s_t ≤ R_i ≤ √(2K(B + V_i) ln(1 +
    V_max/B)), K = 15, ℓ the loss, s its running mean, V_i = Σr², B = max r², plus the price of
    rounds that set a new record B. The blend adds the losses of exponential weights, weighted
    300/(300 + t). One round adds at most 200 to a regret (s_t is larger where it would be more),
    and an r_i > 0 of a filter that did worse than the aggregate by more than 25 s is cut by what is
    more, at most to 0: else one outlier is remembered for a thousand rounds. Mixtures of filters
    have the same bound, and in addition what was cut from their members.
    """

    _rates, _nothing = RATES, 0.0
    _prior = (_linear.SLOPE_PRIOR, _linear.INTERCEPT_PRIOR)

    def __init__(self, dim: int, *, loss: Loss | None = None, missing: bool = False) -> None:
        if not (loss is None or isinstance(loss, Squared | Absolute | Huber | Pinball)):
            raise ValueError(
                f"loss must be None, Squared, Absolute, Huber or Pinball: got {loss!r}; choose one"
                " of sp.losses"
            )
        super().__init__(dim, missing)
        self.loss = loss
        level = (
            loss.level if isinstance(loss, Pinball) else 0.5 if isinstance(loss, Absolute) else 0.0
        )
        kind = (Squared.code, 0.0) if loss is None else (loss.code, loss.parameter)
        self._rule: Rule = Rule(*kind, level)
        table, scalars = zeros((len(ROW), len(RATES))), zeros(len(AT))
        state = State(**self._new_filters(1), table=table, scalars=scalars)
        if level > 0.0:  # the quantile of normal residuals, in mean sizes
            table[ROW.multiple] = NormalDist().inv_cdf(level) / (2.0 / np.pi) ** 0.5
        self._set(state)

    def predict(self, x: ArrayLike, time: float | None = None) -> float:
        """Return the forecast for the coming round; called again before `update` it is the same.

        Parameters
        ----------
        x : array of shape (dim,)
            The features of the round.
        time : float, optional
            When the round is, not before the last one.
        """
        return self._begin(time, self._row(x))  # type: ignore[no-any-return]

    def _round(self, opens: bool, closes: bool, x: Array, feedback: float, when: float) -> float:
        return _regression.round_one(opens, closes, x, feedback, when, *self._flat)

    def peek(self, x: ArrayLike, time: float | None = None) -> float:
        """Return what predict(x, time) would, with no round opened and nothing changed.

        While a round is open: its forecast for its own x, and for others as if it had been skipped.
        O(15·dim).
        """
        row = self._row(x)
        if self._is_open and self._same(row):
            return self._begin(time, row)  # type: ignore[no-any-return]
        if not self._is_open:
            self._coming(time)
        return self._look(row)

    def _look(self, row: Array) -> float:
        """`peek` without its checks, for wrappers that have made theirs; row is not kept."""
        return _regression.peek_one(row, *self._seen())

    def peek_rows(self, X: ArrayLike) -> Array:
        """Return forecasts (T,) for the rows of X (T, dim), each as if it were the next round's."""
        rows = self._rows(X)
        look, weights = np.empty((3, self.dim + 1)), np.empty((2, len(RATES)))
        forecasts = np.empty(len(rows))
        _regression.peek(rows, *self._seen(), look, weights, forecasts)
        return forecasts

    def _feedback(self, y: Any, remedy: str = "call skip(x) for a missing target") -> float:
        if isinstance(y, str | bytes):  # which is not missing
            raise ValueError(f"y must be a number: got {y!r}; convert it first")
        target = number("y", y, remedy)
        if abs(target) > LIMIT:
            raise ValueError(f"y must be within ±{LIMIT:g}: got {y!r}; rescale it")
        return target

    def _targets(self, y: ArrayLike) -> Array:
        targets = limited("y", finite("y", y, "call skip(x) for a missing target"))
        if targets.ndim != 1:
            raise ValueError(
                f"y must be one-dimensional: got shape {targets.shape}; pass one target a round"
            )
        return compiled(targets)

    def _answers(self, rows: int) -> Array:
        return np.empty(rows)

    def _play(self, rounds: Rounds, out: Outputs) -> None:
        _regression.track(*rounds, self._rule, self._state, *out)

    def _parts(self) -> dict[str, Array]:
        table, own = self._state.table, super()._parts()
        return {
            **own,
            "scalars": self._state.scalars,
            "books": table[: ROW.loss + 1],
            "shifts": table[ROW.multiple : ROW.spread + 1],
            "own": table[ROW.raw : ROW.variance + 1],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        s = self._state.scalars
        self._answer = float(s[AT.origin] + s[AT.forecast]) if self._is_open else None

    def _seen(self) -> tuple[Array, Array, Array, Array]:
        s = self._state
        return s.features, s.means, s.table, s.scalars

    @property
    def weights(self) -> Array:
        """Weights (15,) of the filters in the open round's forecast, or in the coming one's.

        In the order of `RATES`.
        """
        weights = np.empty((2, len(RATES)))
        _linear.weigh(self._state.table, self._state.scalars, weights)
        return np.array(weights[WEIGHTS.blend])

    @property
    def noise(self) -> float:
        """Running mean of the squared errors of the forecasts, over about 100 rounds."""
        return float(self._state.scalars[AT.noise])

    @property
    def variance(self) -> float:
        """Variance of the regression's value at the last features asked about.

        Add `noise` for that of the target. The filters' posterior variances, mixed by `weights`, in
        units of `noise`; how far the filters disagree is not counted.
        """
        return float(self.weights @ self._state.table[ROW.variance]) * self.noise

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this forecaster anew."""
        return {"dim": self.dim, "loss": self.loss, "missing": self.missing}

"""TrackingRegressor with the interface of scikit-learn."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from stillpoint.core.validation import Array, under
from stillpoint.estimators.losses import loss_named
from stillpoint.estimators.sklearn.base import (
    COLUMNS,
    TrackingEstimator,
    in_units,
    unchanged_on_failure,
    width_of,
)
from stillpoint.forecasters._linear import AT
from stillpoint.forecasters._linear import ROW as FILTER
from stillpoint.forecasters.regression import TrackingForecaster
from stillpoint.intervals import IntervalTracker
from stillpoint.intervals.base import values
from stillpoint.losses import Absolute, Huber, Pinball, Squared


class TrackingRegressor(RegressorMixin, TrackingEstimator):
    """Linear regression whose coefficients may drift or jump, with nothing to tune.

    Kalman filters over fifteen rates of drift on features standardised as they come, aggregated on
    the fly (`stillpoint.TrackingForecaster`). Forecasts stay within one range of the targets beyond
    those seen. NaN in X is a feature that is not seen in that row: it counts as its running mean.

    Parameters
    ----------
    loss : Squared, Absolute, Huber or Pinball of stillpoint.losses, or a name, optional
        Names are "squared_error", "absolute_error", "huber" and "quantile"; None is squared loss.
    quantile : float, optional
        Which one, where loss is "quantile".
    coverage : float or list of float, optional
        The share of targets that `predict_interval` is to cover, or several.
    path_every : int, optional
        Keep the coefficients every so many rows; None keeps none.

    Attributes
    ----------
    core_ : stillpoint.TrackingForecaster
        The forecaster, with its `weights`, `noise` and `variance`.
    coef_ : ndarray of shape (n_features_in_,)
        The present coefficients: `X @ coef_ + intercept_` is `predict(X)`, but for rows that lie
        far outside of those seen.
    intercept_ : float
        The present intercept.
    coef_path_ : ndarray of shape (times, n_features_in_)
        With `path_every`: the coefficients after each of `path_rows_`.
    intercept_path_ : ndarray of shape (times,)
        With `path_every`: the intercept.
    path_rows_ : ndarray of shape (times,)
        With `path_every`: how many rows had been learnt.
    intervals_ : stillpoint.IntervalTracker
        With `coverage`: the intervals around forecasts, with `coverage_so_far` and `miss_bound()`.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names that are strings.

    Examples
    --------
    >>> import numpy as np
    >>> from stillpoint.estimators.sklearn import TrackingRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((400, 2))
    >>> y = X[:, 0] * np.linspace(1, 3, 400) + 0.1 * rng.standard_normal(400)
    >>> model = TrackingRegressor(coverage=0.9, path_every=100).fit(X, y)
    >>> model.coef_path_[:, 0].round(1)
    array([1.5, 2. , 2.4, 3. ])
    >>> lo, hi = model.predict_interval([[1.0, 0.0]]).T
    >>> bool(lo[0] < 3.0 < hi[0])
    True
    """

    core_: TrackingForecaster
    intervals_: IntervalTracker
    _numeric = True

    def __init__(
        self,
        loss: Squared | Absolute | Huber | Pinball | str | None = None,
        *,
        quantile: float | None = None,
        coverage: Any = None,
        path_every: int | None = None,
    ) -> None:
        self.loss, self.quantile = loss, quantile
        self.coverage, self.path_every = coverage, path_every

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        times: ArrayLike | None = None,
    ) -> Self:
        """Learn more rows in order; arguments as in `fit`."""
        return self._learn(X, y, sample_weight, times, fresh=not hasattr(self, "core_"))

    def _build(self, width: int) -> TrackingForecaster:
        return TrackingForecaster(width, loss=loss_named(self.loss, self.quantile), missing=True)

    def _check_targets(self, y: NDArray[Any]) -> None:
        if y.dtype.kind not in "biuf":
            raise ValueError(f"y must be numbers: got {y[0]!r}; convert the targets first")

    def _learn_rows(
        self, rows: Array, y: NDArray[Any], times: Any, weights: Array, fresh: bool
    ) -> None:
        core = self._build(rows.shape[1]) if fresh else self.core_
        targets, band = y.astype(np.float64), None
        if self.coverage is not None:
            known = None if fresh else self._band()
            band = IntervalTracker(self.coverage) if known is None else known
            values("y", targets, missing=False)  # before the core moves
        if fresh:
            self._forget()
        said = self._play(core, rows, targets, times, weights)
        self.core_ = core
        if band is not None:
            band.track(said, targets)
            self.intervals_ = band

    def predict(self, X: ArrayLike) -> Any:
        """Return a forecast for each row, as if it came next; nothing is learnt."""
        rows = self._rows(X)
        return self._series(self.core_.peek_rows(rows), X, "forecast")

    def predict_interval(self, X: ArrayLike) -> Any:
        """Return the interval around each forecast, as if its row came next.

        Returns
        -------
        array of shape (rows, 2), or (rows, 2, coverages) where several were asked for
            Lower and upper ends; a table with columns "lo" and "hi", or one of each for every
            coverage, after `set_output`.
        """
        check_is_fitted(self)
        band = self._band()
        if band is None:
            raise ValueError(
                f"coverage must be given for intervals, and before fit: got {self.coverage}; build"
                " the model with coverage=0.9 and fit it"
            )
        forecasts = self.core_.peek_rows(self._rows(X))
        lo, hi = (np.atleast_1d(end) for end in band.peek(0.0))
        ends = np.stack([forecasts[:, None] + lo, forecasts[:, None] + hi], axis=1)
        if np.ndim(self.coverage) == 0:
            return self._table(ends[:, :, 0], X, ["lo", "hi"])
        shares = band.coverage
        names = [f"{end} {share:g}" for end in ("lo", "hi") for share in shares]
        table = self._table(ends.reshape(len(ends), -1), X, names)
        return ends if isinstance(table, np.ndarray) else table

    def _band(self) -> IntervalTracker | None:
        """The intervals of the coverage asked for, if rows were learnt with it."""
        band = getattr(self, "intervals_", None)
        same = band is not None and np.array_equal(band.coverage, self.coverage)
        return band if same else None

    def _coefficients(self) -> tuple[Array, Any]:
        check_is_fitted(self)
        core = self.core_
        state, weights = core._state, core.weights
        coef, intercept = in_units(weights @ state.means, state.features)
        shifts = weights @ (state.table[FILTER.multiple] * state.table[FILTER.spread])
        return coef, float(state.scalars[AT.origin] + intercept + shifts)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this model anew, for saving."""
        names = "loss", "quantile", "coverage", "path_every"
        return {name: getattr(self, name) for name in names}

    @property
    def _not_finite(self) -> frozenset[str]:
        return frozenset({"core.x", "intervals.ends"})

    def arrays(self) -> dict[str, Any]:
        """The state, for saving; empty before `fit`."""
        band = self._band()
        own = {} if band is None else band.arrays()
        return {**self._taken(), **{f"intervals.{key}": value for key, value in own.items()}}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        with unchanged_on_failure(self):
            self._forget(*COLUMNS)
            if state:
                self.core_ = self._build(width_of(state))
                self._put(state)
                if own := under(state, "intervals."):
                    self.intervals_ = IntervalTracker(self.coverage)
                    self.intervals_.restore(own)

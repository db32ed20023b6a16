"""Intervals that hold around any regressor of scikit-learn, as its estimators."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin, clone

from stillpoint.core.validation import Array
from stillpoint.estimators.conformal import ScoreQuantile, quantile_score
from stillpoint.estimators.sklearn.conformal import Conformal
from stillpoint.intervals import IntervalTracker
from stillpoint.intervals.base import values


class ConformalRegressor(RegressorMixin, Conformal):
    """Prediction intervals around any regressor, whose coverage holds on any stream.

    `fit` gives the first rows to the regressor and the others to the intervals; `partial_fit` goes
    on with both, or with the intervals alone where the regressor cannot. Intervals follow noise
    that changes, with nothing to tune (`stillpoint.IntervalTracker`).

    Parameters
    ----------
    estimator : regressor
        The model; one that is fitted already may be given as `sklearn.frozen.FrozenEstimator`.
    coverage : float, default 0.9
        The share of targets that intervals are to cover.
    two_sided : bool, default False
        A radius of its own for each side, for skewed or biased errors.
    calibration : float, default 0.3
        The share of rows, at the end, that `fit` holds out from the regressor.

    Attributes
    ----------
    estimator_ : regressor
        The fitted model.
    intervals_ : stillpoint.IntervalTracker
        The intervals, with `coverage_so_far` and `miss_bound()`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from stillpoint.estimators.sklearn import ConformalRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((900, 1))
    >>> y = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(900)
    >>> model = ConformalRegressor(KNeighborsRegressor()).fit(X[:600], y[:600])
    >>> lo, hi = model.predict_interval(X[600:]).T
    >>> bool(abs(np.mean((lo <= y[600:]) & (y[600:] <= hi)) - 0.9) < 0.04)
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        coverage: float = 0.9,
        two_sided: bool = False,
        calibration: float = 0.3,
    ) -> None:
        self.estimator, self.coverage = estimator, coverage
        self.two_sided, self.calibration = two_sided, calibration

    def _begin(self) -> None:
        self.intervals_ = IntervalTracker(self.coverage, two_sided=self.two_sided)
        if np.ndim(self.coverage):
            raise ValueError(f"coverage must be one number: got {self.coverage!r}; choose one")

    def _targets(self, y: NDArray[Any]) -> NDArray[Any]:
        return values("y", y, missing=False)

    def _fit_models(self, X: Any, y: NDArray[Any], **first: Any) -> None:
        self.estimator_ = clone(self.estimator).fit(X, y)

    def _models(self) -> tuple[Any, ...]:
        return (self.estimator_,)

    def _answers(self, X: Any, y: NDArray[Any]) -> Array:
        return values("forecasts", self.estimator_.predict(X), missing=False)

    def _take(self, answers: Array, y: NDArray[Any]) -> None:
        self.intervals_.track(answers, y)

    def predict(self, X: ArrayLike) -> Any:
        """Return the regressor's forecast for each row."""
        return self._series(self._middle(X), X, "forecast")

    def _middle(self, X: Any) -> Array:
        rows = self._rows(X)
        return np.asarray(self.estimator_.predict(rows), dtype=np.float64)

    def predict_interval(self, X: ArrayLike) -> Any:
        """Return the ends (rows, 2) of the interval around each forecast, as if it came next."""
        middle = self._middle(X)
        lo, hi = self.intervals_.peek(0.0)
        return self._table(np.stack([middle + lo, middle + hi], axis=1), X, ["lo", "hi"])


class ConformalQuantiles(RegressorMixin, Conformal):
    """Prediction intervals around two quantile regressions, whose coverage holds on any stream.

    Conformalized quantile regression (Romano, Patterson & Candès 2019), online: the interval is
    [lower − q̂, upper + q̂], q̂ the moving quantile of how far targets were outside, below 0 where
    the two were too far apart. It is as wide for each row as the quantiles say.

    Parameters
    ----------
    lower, upper : regressors
        Models of a low and a high quantile, such as `HistGradientBoostingRegressor` with
        loss="quantile", or `TrackingRegressor`.
    coverage : float, default 0.9
        The share of targets that intervals are to cover.
    calibration : float, default 0.3
        The share of rows, at the end, that `fit` holds out from the models.

    Attributes
    ----------
    lower_, upper_ : regressors
        The fitted models.
    scores_ : stillpoint.QuantileTracker
        The tracker of scores, with `coverage_so_far` and `miss_bound()`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import QuantileRegressor
    >>> from stillpoint.estimators.sklearn import ConformalQuantiles
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((900, 1))
    >>> y = X[:, 0] + X[:, 0] * rng.standard_normal(900)
    >>> low, high = (QuantileRegressor(quantile=q, alpha=0) for q in (0.1, 0.9))
    >>> model = ConformalQuantiles(low, high, coverage=0.9).fit(X, y)
    >>> narrow, wide = np.diff(model.predict_interval([[0.1], [0.9]]))[:, 0]
    >>> bool(narrow < wide)
    True
    """

    def __init__(
        self, lower: Any, upper: Any, *, coverage: float = 0.9, calibration: float = 0.3
    ) -> None:
        self.lower, self.upper = lower, upper
        self.coverage, self.calibration = coverage, calibration

    def _begin(self) -> None:
        self._quantile = ScoreQuantile(self.coverage)
        self.scores_ = self._quantile.tracker

    def _targets(self, y: NDArray[Any]) -> NDArray[Any]:
        return values("y", y, missing=False)

    def _fit_models(self, X: Any, y: NDArray[Any], **first: Any) -> None:
        self.lower_, self.upper_ = (clone(model).fit(X, y) for model in (self.lower, self.upper))

    def _models(self) -> tuple[Any, ...]:
        return self.lower_, self.upper_

    def _both(self, X: Any) -> tuple[Array, Array]:
        rows = self._rows(X)
        lo, hi = (np.asarray(model.predict(rows), dtype=np.float64) for model in self._models())
        return lo, hi

    def _given(self) -> Any:
        return self.lower

    def _answers(self, X: Any, y: NDArray[Any]) -> Array:
        return values("forecasts", quantile_score(*self._both(X), y), missing=False)

    def _take(self, answers: Array, y: NDArray[Any]) -> None:
        self._quantile.learn_many(answers)

    def predict(self, X: ArrayLike) -> Any:
        """Return the midpoint of both quantiles for each row."""
        lo, hi = self._both(X)
        return self._series(0.5 * (lo + hi), X, "forecast")

    def predict_interval(self, X: ArrayLike) -> Any:
        """Return the ends (rows, 2) of the interval around both quantiles, as if it came next."""
        (lo, hi), reach = self._both(X), self._quantile.quantile
        return self._table(np.stack([lo - reach, hi + reach], axis=1), X, ["lo", "hi"])

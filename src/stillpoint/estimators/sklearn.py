"""Scikit-learn faces of the tracking cores: `fit`, `partial_fit`, `predict`, `predict_proba`, `score` (TRACKING 1 and 2).

Rows are a stream, in order: `fit` starts afresh and learns them one by one, `partial_fit` goes on, `predict` answers for each row
as if it came next.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, validate_data

from stillpoint._validate import Array
from stillpoint.filters.tracking import TrackingForecaster
from stillpoint.filters.tracking.probabilities import TrackingProbabilities
from stillpoint.losses import Absolute, Huber, Pinball, Squared


class TrackingRegressor(RegressorMixin, BaseEstimator):
    """Linear regression whose coefficients may drift or jump, with nothing to tune: no learning rate, no scaler, no forgetting.

    Kalman filters over fifteen rates of drift on features standardised as they come, aggregated on the fly
    (`stillpoint.TrackingForecaster`).

    Parameters
    ----------
    loss : None or one of stillpoint.losses Absolute, Huber, Pinball
        None is squared loss.

    Attributes
    ----------
    core_ : stillpoint.TrackingForecaster
        The forecaster, whose `weights`, `noise` and `variance` tell what it is doing.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names that are strings.
    """

    core_: TrackingForecaster

    def __init__(self, loss: Squared | Absolute | Huber | Pinball | None = None) -> None:
        self.loss = loss

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Forget everything, then learn the rows in order."""
        return self._learn(X, y, fresh=True)

    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn more rows in order."""
        return self._learn(X, y, fresh=not hasattr(self, "core_"))

    def _learn(self, X: ArrayLike, y: ArrayLike, fresh: bool) -> Self:
        rows, targets = validate_data(self, X, y, y_numeric=True, reset=fresh, dtype=np.float64)
        core = TrackingForecaster(rows.shape[1], loss=self.loss) if fresh else self.core_
        core.forecast_stream(rows, targets.astype(np.float64))
        self.core_ = core
        return self

    def predict(self, X: ArrayLike) -> Array:
        """A forecast for each row, each as if it came next; nothing is learnt."""
        check_is_fitted(self)
        return self.core_.peek_stream(validate_data(self, X, reset=False, dtype=np.float64))


class TrackingClassifier(ClassifierMixin, BaseEstimator):
    """Logistic regression whose coefficients may drift or jump, with nothing to tune, for two classes or more.

    One exact MAP step a row in each of ten filters, mixed by their likelihood with fixed share; with more than two classes one
    set of filters a class (`stillpoint.filters.TrackingProbabilities`).

    Attributes
    ----------
    core_ : stillpoint.filters.TrackingProbabilities
        The filters.
    classes_ : ndarray
        The labels, sorted.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names that are strings.
    """

    core_: TrackingProbabilities
    classes_: NDArray[Any]

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Forget everything, then learn the rows in order."""
        return self._learn(X, y, None, fresh=True)

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn more rows in order. `classes`, needed at the first call, lists every label that may come."""
        fresh = not hasattr(self, "core_")
        if fresh and classes is None:
            raise ValueError("classes must be given at the first call of partial_fit: got None; list every label that may come")
        return self._learn(X, y, classes, fresh)

    def _learn(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None, fresh: bool) -> Self:
        rows, labels = validate_data(self, X, y, reset=fresh, dtype=np.float64)
        check_classification_targets(labels)
        known = unique_labels(labels if classes is None else classes) if fresh else self.classes_
        places = np.searchsorted(known, labels)
        strange = labels[known[np.minimum(places, known.size - 1)] != labels]
        if strange.size:
            raise ValueError(f"y must hold the labels {known.tolist()}: got {strange[0]!r}; list every label in `classes`")
        core = TrackingProbabilities(rows.shape[1], classes=max(known.size, 2)) if fresh else self.core_
        core.forecast_stream(rows, places)
        self.core_, self.classes_ = core, known
        return self

    def predict_proba(self, X: ArrayLike) -> Array:
        """Probabilities of shape (rows, classes), in the order of `classes_`; each row as if it came next."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        if self.classes_.size == 1:
            return np.ones((len(rows), 1))
        return self.core_.peek_stream(rows)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable label of each row."""
        best = self.predict_proba(X).argmax(axis=1)  # checks first that there are classes
        return np.asarray(self.classes_[best])

"""Label sets that hold around any classifier of scikit-learn, as its estimator."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from stillpoint.core.validation import Array
from stillpoint.estimators.conformal import ScoreQuantile, label_score
from stillpoint.estimators.sklearn.conformal import Conformal
from stillpoint.intervals.base import values


class ConformalClassifier(ClassifierMixin, Conformal):
    """Sets of labels around any classifier, whose coverage holds on any stream.

    `predict_set(X)` marks the labels that are probable enough for sets to hold the true one as
    often as was asked for, however good the probabilities are. A set may be empty. A label
    that the classifier was not fitted with is in no set.

    Parameters
    ----------
    estimator : classifier
        A model with `predict_proba`.
    coverage : float, default 0.9
        The share of labels that the sets are to cover.
    calibration : float, default 0.3
        The share of rows, at the end, that `fit` holds out from the classifier.

    Attributes
    ----------
    estimator_ : classifier
        The fitted model.
    classes_ : ndarray
        Its labels.
    scores_ : stillpoint.QuantileTracker
        The tracker of scores, with `coverage_so_far` and `miss_bound()`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from stillpoint.estimators.sklearn import ConformalClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 900)
    >>> X = y[:, None] + rng.standard_normal((900, 2))
    >>> model = ConformalClassifier(GaussianNB(), coverage=0.9).fit(X[:600], y[:600])
    >>> sets = model.predict_set(X[600:])
    >>> bool(abs(sets[np.arange(300), y[600:]].mean() - 0.9) < 0.05)
    True
    """

    def __init__(self, estimator: Any, *, coverage: float = 0.9, calibration: float = 0.3) -> None:
        self.estimator, self.coverage, self.calibration = estimator, coverage, calibration

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels of the fitted classifier."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.classes_)

    def _begin(self) -> None:
        self._quantile = ScoreQuantile(self.coverage)
        self.scores_ = self._quantile.tracker

    def _targets(self, y: NDArray[Any]) -> NDArray[Any]:
        check_classification_targets(y)
        return y

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn more rows: the sets, then the classifier, where it has `partial_fit`.

        Each batch is predicted before it is learnt. The first call is `fit`; `classes` then lists
        every label that may come, for a classifier with `partial_fit`.
        """
        fresh = not hasattr(self, "n_features_in_")
        return self._learn(X, y, fresh, **({"classes": classes} if fresh else {}))

    def _fit_models(self, X: Any, y: NDArray[Any], **first: Any) -> None:
        model = clone(self.estimator)
        if first.get("classes") is not None and hasattr(model, "partial_fit"):
            self.estimator_ = model.partial_fit(X, y, **first)
        else:
            self.estimator_ = model.fit(X, y)

    def _models(self) -> tuple[Any, ...]:
        return (self.estimator_,)

    def _learnable(self, model: Any, y: NDArray[Any]) -> NDArray[np.bool_]:
        return np.isin(y, model.classes_)

    def _answers(self, X: Any, y: NDArray[Any]) -> Array:
        came = (self._probabilities(X) * (self.classes_ == y[:, None])).sum(axis=1)
        return values("probabilities", label_score(came), missing=False)

    def _take(self, answers: Array, y: NDArray[Any]) -> None:
        self._quantile.learn_many(answers)

    def _probabilities(self, X: Any) -> Array:
        rows = self._rows(X)
        return np.asarray(self.estimator_.predict_proba(rows), dtype=np.float64)

    def predict(self, X: ArrayLike) -> Any:
        """Return the classifier's label for each row."""
        rows = self._rows(X)
        return self._series(np.asarray(self.estimator_.predict(rows)), X, "label")

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> Any:
        """Return the classifier's probabilities (rows, classes)."""
        return self._table(self._probabilities(X), X, self.classes_.tolist())

    def predict_set(self, X: ArrayLike) -> Any:
        """Return a mask (rows, classes): whether each label is in the set of each row."""
        sets = label_score(self._probabilities(X)) <= self._quantile.quantile
        return self._table(sets, X, self.classes_.tolist())

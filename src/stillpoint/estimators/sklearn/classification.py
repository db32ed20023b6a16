"""TrackingClassifier with the interface of scikit-learn."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted

from stillpoint.core.validation import Array
from stillpoint.estimators.sklearn.base import (
    COLUMNS,
    TrackingEstimator,
    in_units,
    unchanged_on_failure,
    width_of,
)
from stillpoint.forecasters._logistic import OUT, RATES
from stillpoint.forecasters.classification import TrackingProbabilities


class TrackingClassifier(ClassifierMixin, TrackingEstimator):
    """Logistic regression whose coefficients may drift or jump, with nothing to tune, for two
    classes or more.

    One exact MAP step a row in each of ten filters, mixed by their likelihood with fixed share;
    with more than two classes one set of filters a class
    (`stillpoint.forecasters.TrackingProbabilities`). NaN in X is a feature that is not seen in that
    row: it counts as its running mean.

    Parameters
    ----------
    path_every : int, optional
        Keep the coefficients every so many rows; None keeps none.

    Attributes
    ----------
    core_ : stillpoint.forecasters.TrackingProbabilities
        The filters.
    classes_ : ndarray
        The labels, sorted.
    coef_ : ndarray of shape (1, n_features_in_), or (classes, n_features_in_) from three on
        The present coefficients of the log-odds, of the second class or of each against the others:
        a mean over the filters by their weights. Probabilities are mixed, not log-odds: they differ
        a little from those of this mean.
    intercept_ : ndarray of shape (1,) or (classes,)
        The present intercepts.
    coef_path_ : ndarray of shape (times, 1 or classes, n_features_in_)
        With `path_every`: the coefficients after each of `path_rows_`.
    intercept_path_ : ndarray of shape (times, 1 or classes)
        With `path_every`: the intercepts.
    path_rows_ : ndarray of shape (times,)
        With `path_every`: how many rows had been learnt.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names that are strings.

    Examples
    --------
    >>> import numpy as np
    >>> from stillpoint.estimators.sklearn import TrackingClassifier
    >>> X = np.arange(100.0)[:, None] % 10
    >>> model = TrackingClassifier().fit(X, np.where(X[:, 0] > 4, "hot", "cold"))
    >>> model.predict([[9.0], [1.0]]).tolist()
    ['hot', 'cold']
    """

    core_: TrackingProbabilities
    classes_: NDArray[Any]

    def __init__(self, *, path_every: int | None = None) -> None:
        self.path_every = path_every

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        times: ArrayLike | None = None,
    ) -> Self:
        """Learn more rows in order; arguments as in `fit`.

        `classes`, needed at the first call, lists every label that may come.
        """
        fresh = not hasattr(self, "core_")
        if fresh and classes is None:
            raise ValueError(
                "classes must be given at the first call of partial_fit: got None; list every label"
                " that may come"
            )
        return self._learn(X, y, sample_weight, times, fresh, classes=classes)

    def _check_targets(self, y: NDArray[Any]) -> None:
        check_classification_targets(y)

    def _learn_rows(
        self,
        rows: Array,
        y: NDArray[Any],
        times: Any,
        weights: Array,
        fresh: bool,
        classes: ArrayLike | None = None,
    ) -> None:
        known, places = self._places(y, classes, fresh)
        if fresh:
            self._forget()
            core = TrackingProbabilities(rows.shape[1], classes=max(known.size, 2), missing=True)
        else:
            core = self.core_
        self._play(core, rows, places, times, weights)
        self.core_, self.classes_ = core, known

    def _places(
        self, labels: NDArray[Any], classes: ArrayLike | None, fresh: bool
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """The classes, and where among them the labels are."""
        listed = None if classes is None else unique_labels(classes)
        known = self.classes_ if not fresh else unique_labels(labels) if listed is None else listed
        if listed is not None and not np.array_equal(listed, known):
            raise ValueError(
                f"classes must be those of the first call, {known.tolist()}: got"
                f" {listed.tolist()}; leave it out"
            )
        places = np.searchsorted(known, labels)
        strange = labels[known[np.minimum(places, known.size - 1)] != labels]
        if strange.size:
            remedy = "list every label in `classes` at the first call"
            raise ValueError(
                f"y must hold the labels {known.tolist()}: got {strange[0]!r}; {remedy}"
            )
        return known, places

    def predict_proba(self, X: ArrayLike) -> Any:
        """Return probabilities (rows, classes) in the order of `classes_`, as if each came next."""
        return self._table(self._probabilities(X), X, self.classes_.tolist())

    def _probabilities(self, X: ArrayLike) -> Array:
        rows = self._rows(X)
        if self.classes_.size == 1:
            return np.ones((len(rows), 1))
        return self.core_.peek_rows(rows)

    def predict(self, X: ArrayLike) -> Any:
        """The most probable label of each row."""
        best = self._probabilities(X).argmax(axis=1)  # checks first that there are classes
        return self._series(np.asarray(self.classes_[best]), X, "label")

    def _coefficients(self) -> tuple[Array, Any]:
        check_is_fitted(self)
        state, K = self.core_._state, len(RATES)
        weights = state.outs[OUT.weight]
        shares = weights[:, :K] + weights[:, K:]  # of a filter: both of its read-outs
        means = state.means.reshape(len(shares), K, -1)
        return in_units((shares[:, :, None] * means).sum(axis=1), state.features)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this model anew, for saving."""
        return {"path_every": self.path_every}

    @property
    def _not_finite(self) -> frozenset[str]:
        return frozenset({"core.x"})

    def arrays(self) -> dict[str, Any]:
        """The state, for saving; empty before `fit`."""
        return {
            **self._taken(),
            **({"classes": _portable(self.classes_)} if hasattr(self, "core_") else {}),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        with unchanged_on_failure(self):
            self._forget(*COLUMNS)
            if not state:
                return
            labels = state["classes"]
            classes = np.array(labels, dtype=None if isinstance(labels, np.ndarray) else object)
            if classes.ndim != 1 or not 0 < classes.size == len(set(classes.tolist())) <= max(
                2, state["core.mixed"].size
            ):
                raise ValueError(
                    f"state 'classes' must be different labels, one a class: got {labels!r}; save"
                    " the model again"
                )
            self.core_ = TrackingProbabilities(
                width_of(state), classes=max(classes.size, 2), missing=True
            )
            self.classes_ = classes
            self._put(state)


def _portable(labels: NDArray[Any]) -> Any:
    """Labels as they can be saved: objects as a list."""
    return labels if labels.dtype.kind in "biufU" else labels.tolist()

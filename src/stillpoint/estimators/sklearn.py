"""Wrappers for scikit-learn: `fit`, `partial_fit`, `predict`, `predict_proba` and `score`.

Rows are a stream, in order: `fit` starts afresh and learns them one by one, `partial_fit` goes on,
`predict` answers for each row as if it came next. A call that fails leaves the model as it was.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, validate_data

from stillpoint.core.learner import Configured
from stillpoint.core.validation import Array, stored, under
from stillpoint.forecasters.classification import TrackingProbabilities
from stillpoint.forecasters.regression import TrackingForecaster
from stillpoint.losses import Absolute, Huber, Pinball, Squared

__all__ = ["TrackingClassifier", "TrackingRegressor"]


class TrackingRegressor(RegressorMixin, BaseEstimator, Configured):
    """Linear regression whose coefficients may drift or jump, with nothing to tune.

    Kalman filters over fifteen rates of drift on features standardised as they come, aggregated on
    the fly (`stillpoint.TrackingForecaster`). Forecasts stay within one range of the targets beyond
    those seen.

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

    def fit(self, X: ArrayLike, y: ArrayLike, times: ArrayLike | None = None) -> Self:
        """Forget everything, then learn the rows in order.

        With `times`, numbers or dates, one for each row, drift follows the gaps.
        """
        return self._learn(X, y, times, fresh=True)

    def partial_fit(self, X: ArrayLike, y: ArrayLike, times: ArrayLike | None = None) -> Self:
        """Learn more rows in order; `times` as in `fit`."""
        return self._learn(X, y, times, fresh=not hasattr(self, "core_"))

    def _learn(self, X: ArrayLike, y: ArrayLike, times: ArrayLike | None, fresh: bool) -> Self:
        with _unchanged_on_failure(self):
            rows, targets = validate_data(self, X, y, y_numeric=True, reset=fresh, dtype=np.float64)
            if targets.dtype.kind not in "biuf":
                raise ValueError(
                    f"y must be numbers: got {targets[0]!r}; convert the targets first"
                )
            core = TrackingForecaster(rows.shape[1], loss=self.loss) if fresh else self.core_
            core.track(rows, targets.astype(np.float64), _moments(times))
            self.core_ = core
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Return a forecast for each row, as if it came next; nothing is learnt."""
        check_is_fitted(self)
        return self.core_.peek_rows(validate_data(self, X, reset=False, dtype=np.float64))

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this model anew, for saving."""
        return {"loss": self.loss}

    def arrays(self) -> dict[str, Any]:
        """The state, for saving; empty before `fit`."""
        return _taken(self)

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        with _unchanged_on_failure(self):
            _forget(self)
            if state:
                self.core_ = TrackingForecaster(_width(state), loss=self.loss)
                _put(self, state)


class TrackingClassifier(ClassifierMixin, BaseEstimator, Configured):
    """Logistic regression whose coefficients may drift or jump, with nothing to tune, for two
    classes or more.

    One exact MAP step a row in each of ten filters, mixed by their likelihood with fixed share;
    with more than two classes one set of filters a class
    (`stillpoint.forecasters.TrackingProbabilities`).

    Attributes
    ----------
    core_ : stillpoint.forecasters.TrackingProbabilities
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

    def fit(self, X: ArrayLike, y: ArrayLike, times: ArrayLike | None = None) -> Self:
        """Forget everything, then learn the rows in order.

        With `times`, numbers or dates, one for each row, drift follows the gaps.
        """
        return self._learn(X, y, None, times, fresh=True)

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        times: ArrayLike | None = None,
    ) -> Self:
        """Learn more rows in order; `times` as in `fit`.

        `classes`, needed at the first call, lists every label that may come.
        """
        fresh = not hasattr(self, "core_")
        if fresh and classes is None:
            raise ValueError(
                "classes must be given at the first call of partial_fit: got None; list every label"
                " that may come"
            )
        return self._learn(X, y, classes, times, fresh)

    def _learn(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None,
        times: ArrayLike | None,
        fresh: bool,
    ) -> Self:
        with _unchanged_on_failure(self):
            rows, labels = validate_data(self, X, y, reset=fresh, dtype=np.float64)
            check_classification_targets(labels)
            listed = None if classes is None else unique_labels(classes)
            known = (
                self.classes_ if not fresh else unique_labels(labels) if listed is None else listed
            )
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
            core = (
                TrackingProbabilities(rows.shape[1], classes=max(known.size, 2))
                if fresh
                else self.core_
            )
            core.track(rows, places, _moments(times))
            self.core_, self.classes_ = core, known
        return self

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return probabilities (rows, classes) in the order of `classes_`, as if each came next."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        if self.classes_.size == 1:
            return np.ones((len(rows), 1))
        return self.core_.peek_rows(rows)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable label of each row."""
        best = self.predict_proba(X).argmax(axis=1)  # checks first that there are classes
        return np.asarray(self.classes_[best])

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this model anew, for saving: none."""
        return {}

    def arrays(self) -> dict[str, Any]:
        """The state, for saving; empty before `fit`."""
        return {
            **_taken(self),
            **({"classes": _portable(self.classes_)} if hasattr(self, "core_") else {}),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        with _unchanged_on_failure(self):
            _forget(self)
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
            self.core_ = TrackingProbabilities(_width(state), classes=max(classes.size, 2))
            self.classes_ = classes
            _put(self, state)


@contextmanager
def _unchanged_on_failure(model: BaseEstimator) -> Iterator[None]:
    """Put a model's attributes back where something fails.

    Scikit-learn notes the columns of a table before all is checked.
    """
    before = dict(vars(model))
    try:
        yield
    except Exception:  # whatever it was, it is raised again
        vars(model).clear()
        vars(model).update(before)
        raise


def _taken(model: Any) -> dict[str, Any]:
    """The state of a fitted model: its core's, and what scikit-learn notes about columns."""
    if not hasattr(model, "core_"):
        return {}
    names = getattr(model, "feature_names_in_", None)
    own = {"features": None if names is None else names.tolist()}
    return {**own, **{f"core.{key}": value for key, value in model.core_.arrays().items()}}


def _forget(model: BaseEstimator) -> None:
    """Make a model what it was before `fit`, which scikit-learn knows by the attributes."""
    for name in ("core_", "classes_", "n_features_in_", "feature_names_in_"):
        vars(model).pop(name, None)


def _width(state: dict[str, Any]) -> int:
    """How many features a saved state is for."""
    width = stored(state, "core.x", None).size
    # before the core makes room for as many
    stored(state, "core.covariances", None, width + 1, width + 1)
    return width


def _put(model: Any, state: dict[str, Any]) -> None:
    """Inverse of `_taken`, in a model with a new core."""
    model.core_.restore(under(state, "core."))
    model.n_features_in_, names = model.core_.dim, state["features"]
    if names is not None:
        if len(names) != model.n_features_in_ or not all(isinstance(name, str) for name in names):
            raise ValueError(
                f"state 'features' must be {model.n_features_in_} names: got {names}; save the"
                " model again"
            )
        model.feature_names_in_ = np.array(names, dtype=object)


def _portable(labels: NDArray[Any]) -> Any:
    """Labels as they can be saved: objects as a list."""
    return labels if labels.dtype.kind in "biufU" else labels.tolist()


def _moments(times: ArrayLike | None) -> ArrayLike | None:
    """Times as numbers: dates become seconds."""
    moments = None if times is None else np.asarray(times)
    if moments is None or moments.dtype.kind != "M":
        return times
    return np.where(
        np.isnat(moments), np.nan, moments.astype("datetime64[us]").astype(np.float64) / 1e6
    )

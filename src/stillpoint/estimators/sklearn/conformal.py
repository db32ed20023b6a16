"""Conformal models of scikit-learn: which rows the model learns, and which the scores."""

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from stillpoint.core.validation import Array
from stillpoint.estimators.sklearn.base import unchanged_on_failure
from stillpoint.estimators.sklearn.output import TableOutput


class Conformal(MetaEstimatorMixin, TableOutput, BaseEstimator):
    """Rows in order: a model learns the first ones, the scores come from those after them."""

    estimator: Any
    calibration: float

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the model to the first rows, and learn from the others how large its errors are.

        A model with `partial_fit` then learns the others, too, once they have been predicted.
        """
        return self._learn(X, y, fresh=True)

    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn more rows: the sizes of errors, then the model, where it has `partial_fit`.

        Each batch is predicted before it is learnt. The first call is `fit`.
        """
        return self._learn(X, y, fresh=not hasattr(self, "n_features_in_"))

    def _learn(self, X: Any, y: Any, fresh: bool, **first: Any) -> Self:
        with unchanged_on_failure(self):
            rows, targets = self._checked(X, y, fresh)
            start = 0
            if fresh:
                start = max(len(targets) - math.ceil(self._share() * len(targets)), 1)
                begin = np.arange(start)
                self._begin()
                self._fit_models(_safe_indexing(rows, begin), targets[begin], **first)
            if start < len(targets):
                later = np.arange(start, len(targets))
                rows, targets = _safe_indexing(rows, later), targets[later]
                answers = self._answers(rows, targets)
                for model in self._models():
                    if hasattr(model, "partial_fit") and not isinstance(model, FrozenEstimator):
                        kept = np.flatnonzero(self._learnable(model, targets))
                        if kept.size:
                            model.partial_fit(_safe_indexing(rows, kept), targets[kept])
                self._take(answers, targets)
        return self

    def _share(self) -> float:
        share = self.calibration
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0.0 < share < 1.0:
            raise ValueError(
                f"calibration must be a share of the rows between 0 and 1: got {share!r}; 0.3 is"
                " usual"
            )
        return float(share)

    def _checked(self, X: Any, y: Any, fresh: bool) -> tuple[Any, NDArray[Any]]:
        """Rows and targets; what is in the rows is for the model to check."""
        rows, targets = validate_data(self, X, y, reset=fresh, **self._loosely())
        # a table stays one: the model may know its columns by name
        return (X if hasattr(X, "columns") else rows), self._targets(targets)

    def _rows(self, X: Any) -> Any:
        """Rows to answer for."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, **self._loosely())
        return X if hasattr(X, "columns") else rows

    def _loosely(self) -> dict[str, Any]:
        sparse = "csr" if get_tags(self).input_tags.sparse else False
        return {"dtype": None, "ensure_all_finite": False, "accept_sparse": sparse}

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect of rows: what the model takes."""
        tags, model = super().__sklearn_tags__(), get_tags(self._given())
        tags.input_tags.sparse = model.input_tags.sparse
        tags.input_tags.allow_nan = model.input_tags.allow_nan
        return tags

    def _given(self) -> Any:
        """The model, or one of two, that was given."""
        return self.estimator

    def _targets(self, y: NDArray[Any]) -> NDArray[Any]:
        raise NotImplementedError

    def _begin(self) -> None:
        raise NotImplementedError

    def _fit_models(self, X: Any, y: NDArray[Any], **first: Any) -> None:
        raise NotImplementedError

    def _models(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def _learnable(self, model: Any, y: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of these targets a fitted model can learn."""
        return np.ones(len(y), dtype=bool)

    def _answers(self, X: Any, y: NDArray[Any]) -> Array:
        """What the trackers learn of these rows, before the model has."""
        raise NotImplementedError

    def _take(self, answers: Array, y: NDArray[Any]) -> None:
        """Let the trackers learn it."""
        raise NotImplementedError

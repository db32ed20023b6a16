"""TrackingClassifier with the interface of river."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from river import base

from stillpoint.core.learner import Configured, not_finite_in
from stillpoint.estimators import frames
from stillpoint.estimators.columns import Columns
from stillpoint.estimators.river.regression import as_targets
from stillpoint.forecasters.classification import TrackingProbabilities


class TrackingClassifier(base.MiniBatchClassifier, Configured):
    """Logistic regression whose coefficients may drift or jump, for two classes or more.

    One exact MAP step a round in each of ten filters, mixed by their likelihood with fixed share;
    with more than two classes one set of filters a class
    (`stillpoint.forecasters.TrackingProbabilities`). Labels need not be known in advance. None and
    NaN are missing features. Time and memory grow with the number of classes and the
    square of that of features.

    Parameters
    ----------
    absent : {"mean", "zero"}, default "mean"
        The value of a known feature that is not in the dict: its running mean, or 0 (for sparse
        counts).
    time : hashable, optional
        The feature that holds the time of a row, a number or a date (without a zone: UTC); drift
        then follows the gaps. Rows may share a time, but not go back. None counts rounds.

    Examples
    --------
    >>> from stillpoint.estimators.river import TrackingClassifier
    >>> model = TrackingClassifier()
    >>> for i in range(100):
    ...     model.learn_one({"heat": i % 10}, "hot" if i % 10 > 4 else "cold")
    >>> model.predict_one({"heat": 9})
    'hot'
    """

    def __init__(self, absent: str = "mean", time: Hashable | None = None) -> None:
        self.absent, self.time = absent, time
        self._columns = Columns(absent, time)
        self._core = TrackingProbabilities(1, missing=True)
        self._labels: dict[Any, int] = {}

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: dict[Hashable, Any], y: Any) -> None:
        """Learn a row with features x and label y; a label not seen before becomes a class."""
        _check_label(y)
        row, moment = self._columns.learn(x, self._core)
        if y not in self._labels:
            self._add(y)
        self._core._learn_one(row, self._labels[y], moment)

    def _add(self, label: Any) -> None:
        """Make a label a class."""
        self._labels[label] = len(self._labels)
        if len(self._labels) > 2:
            self._core.add_class()

    def predict_proba_one(self, x: dict[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each label seen so far."""
        if len(self._labels) < 2:
            return dict.fromkeys(self._labels, 1.0)
        row, moment = self._columns.read(x, self._core)
        return dict(zip(self._labels, self._core._look(row, moment).tolist(), strict=True))

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a data frame in order, as `learn_one` does, in compiled code."""
        batch = self._columns.learn_table(X, self._core)
        labels = as_targets(y, len(batch.rows)).tolist()
        fresh: dict[Any, int] = {}  # labels not seen before -> their first row
        for row, label in enumerate(labels):
            _check_label(label)
            if label not in self._labels:
                fresh.setdefault(label, row)
        starts = {row: label for label, row in fresh.items()}
        for first, last in batch.parts(starts):
            if first in batch.joins:
                self._columns.join(batch.joins[first], self._core)
            if first in starts:
                self._add(starts[first])
            rows, when = batch.part(first, last, self._core.dim)
            places = np.array([self._labels[label] for label in labels[first:last]], dtype=float)
            self._core._track(rows, places, when, 0, 0, False)

    def predict_proba_many(self, X: Any) -> Any:
        """Return the probability of each label for each row of a data frame, as if it came next."""
        rows, when = self._columns.read_table(X, self._core)
        if len(self._labels) < 2:
            table = np.ones((len(rows), len(self._labels)))
        elif self.time is None:
            table = self._core.peek_rows(rows)
        else:
            each = [self._core._look(row, at) for row, at in zip(rows, when.tolist(), strict=True)]
            table = np.array(each).reshape(len(rows), len(self._labels))
        return frames.table(table, list(self._labels), like=X)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this model anew, for saving."""
        return {"absent": self.absent, "time": self.time}

    @property
    def _not_finite(self) -> frozenset[str]:
        return not_finite_in("core.", self._core)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving: names of features, labels, and that of the filters."""
        core = {f"core.{key}": value for key, value in self._core.arrays().items()}
        return {"names": list(self._columns.names), "labels": list(self._labels), **core}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        labels = {label: place for place, label in enumerate(state["labels"])}
        if len(labels) < len(state["labels"]) or len(labels) > max(2, state["core.mixed"].size):
            raise ValueError(
                f"state 'labels' must be different, one a class: got {state['labels']}; save the"
                " model again"
            )
        core = TrackingProbabilities(1, classes=max(len(labels), 2), missing=True)
        self._columns.restore(state["names"], core, state)
        self._core, self._labels = core, labels


def _check_label(y: Any) -> None:
    try:
        hash(y)
        missing = y is None or bool(y != y)
    # lists and arrays have no hash, and what pandas calls NA is not even equal to itself
    except TypeError:
        missing = True
    if missing:
        raise ValueError(
            f"y must be a label, such as a number or a string: got {y!r}; leave rows without a"
            " label out"
        )

"""Wrappers for river: `learn_one`, `predict_one` and `predict_proba_one` on dicts of features."""

from collections.abc import Hashable
from typing import Any

from river import base

from stillpoint.core.learner import Configured, not_finite_in
from stillpoint.estimators.columns import Columns
from stillpoint.forecasters.classification import TrackingProbabilities
from stillpoint.forecasters.regression import TrackingForecaster
from stillpoint.losses import Absolute, Huber, Pinball, Squared

__all__ = ["TrackingClassifier", "TrackingRegressor"]


class TrackingRegressor(base.Regressor, Configured):
    """Linear regression whose coefficients may drift or jump, with nothing to tune.

    Kalman filters over fifteen rates of drift on features standardised as they come, aggregated on
    the fly (`stillpoint.TrackingForecaster`). Features may appear, vanish and be reordered; targets
    may come late: `predict_one` changes nothing, and `learn_one` needs only the features and the
    target. Time and memory grow with the square of the number of features: hundreds are fine, a bag
    of words is not.

    Parameters
    ----------
    loss : Absolute, Huber or Pinball, optional
        One of `stillpoint.losses`; None is squared loss.
    absent : {"mean", "zero"}
        What a known feature that is not in the dict stands for: its running mean, or 0, for sparse
        counts.
    time : hashable, optional
        The feature that holds the time of a row, a number or a date (without a zone: UTC); drift
        then follows the gaps. Rows may share a time, but not go back. None counts rounds.
    """

    def __init__(
        self,
        loss: Squared | Absolute | Huber | Pinball | None = None,
        absent: str = "mean",
        time: Hashable | None = None,
    ) -> None:
        self.loss, self.absent, self.time = loss, absent, time
        self._columns = Columns(absent, time)
        self._core = TrackingForecaster(1, loss=loss, missing=True)

    def learn_one(self, x: dict[Hashable, Any], y: float) -> None:
        """Learn that features x came with target y."""
        target = self._core._feedback(y, "leave rows without a target out")
        row, moment = self._columns.learn(x, self._core)
        self._core._learn_one(row, target, moment)

    def predict_one(self, x: dict[Hashable, Any]) -> float:
        """The forecast for features x; 0 until a target has been seen."""
        row, _ = self._columns.read(x, self._core)
        return self._core._look(row)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this model anew, for saving."""
        return {"loss": self.loss, "absent": self.absent, "time": self.time}

    @property
    def _not_finite(self) -> frozenset[str]:
        return not_finite_in("core.", self._core)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving: names of features, and that of the forecaster."""
        return {
            "names": list(self._columns.names),
            **{f"core.{key}": value for key, value in self._core.arrays().items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        core = TrackingForecaster(1, loss=self.loss, missing=True)  # columns only ever join a core
        self._columns.restore(state["names"], core, state)
        self._core = core


class TrackingClassifier(base.Classifier, Configured):
    """Logistic regression whose coefficients may drift or jump, for two classes or more.

    One exact MAP step a round in each of ten filters, mixed by their likelihood with fixed share;
    with more than two classes one set of filters a class
    (`stillpoint.forecasters.TrackingProbabilities`). Labels need not be known in advance. Time and
    memory grow with the number of classes and the square of that of features.

    Parameters
    ----------
    absent : {"mean", "zero"}
        What a known feature that is not in the dict stands for: its running mean, or 0, for sparse
        counts.
    time : hashable, optional
        The feature that holds the time of a row, a number or a date (without a zone: UTC); drift
        then follows the gaps. Rows may share a time, but not go back. None counts rounds.
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
        """Learn that features x came with label y; a label not seen before becomes a class."""
        _check_label(y)
        row, moment = self._columns.learn(x, self._core)
        if y not in self._labels:
            self._labels[y] = len(self._labels)
            if len(self._labels) > 2:
                self._core.add_class()
        self._core._learn_one(row, self._labels[y], moment)

    def predict_proba_one(self, x: dict[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """The probability of each label seen so far."""
        if len(self._labels) < 2:
            return dict.fromkeys(self._labels, 1.0)
        row, moment = self._columns.read(x, self._core)
        return dict(zip(self._labels, self._core._look(row, moment).tolist(), strict=True))

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

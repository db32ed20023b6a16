"""TrackingRegressor with the interface of river."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from river import base

from stillpoint.core.learner import Configured, not_finite_in
from stillpoint.estimators.columns import Columns
from stillpoint.estimators.frames import series
from stillpoint.estimators.losses import loss_named
from stillpoint.forecasters.regression import TrackingForecaster
from stillpoint.losses import Absolute, Huber, Pinball, Squared


class TrackingRegressor(base.MiniBatchRegressor, Configured):
    """Linear regression whose coefficients may drift or jump, with nothing to tune.

    Kalman filters over fifteen rates of drift on features standardised as they come, aggregated on
    the fly (`stillpoint.TrackingForecaster`). Features may appear, vanish and be reordered; targets
    may come late: `predict_one` changes nothing, and `learn_one` needs only the features and the
    target. None and NaN are missing features. Time and memory grow with the square of
    the number of features: hundreds are fine, a bag of words is not.

    Parameters
    ----------
    loss : Squared, Absolute, Huber or Pinball, or a name, optional
        One of `stillpoint.losses`, or "squared_error", "absolute_error" or "huber"; None is squared
        loss.
    absent : {"mean", "zero"}, default "mean"
        The value of a known feature that is not in the dict: its running mean, or 0 (for sparse
        counts).
    time : hashable, optional
        The feature that holds the time of a row, a number or a date (without a zone: UTC); drift
        then follows the gaps. Rows may share a time, but not go back. None counts rounds.

    Examples
    --------
    >>> from stillpoint.estimators.river import TrackingRegressor
    >>> model = TrackingRegressor()
    >>> for i in range(100):
    ...     x = {"size": i % 7, "age": None if i % 5 else i % 3}
    ...     model.learn_one(x, 2.0 * x["size"] + 1.0)
    >>> round(model.predict_one({"size": 10}), 1)
    21.0
    """

    def __init__(
        self,
        loss: Squared | Absolute | Huber | Pinball | str | None = None,
        absent: str = "mean",
        time: Hashable | None = None,
    ) -> None:
        self.loss, self.absent, self.time = loss, absent, time
        self._columns = Columns(absent, time)
        self._core = TrackingForecaster(1, loss=loss_named(loss), missing=True)

    def learn_one(self, x: dict[Hashable, Any], y: float) -> None:
        """Learn a row with features x and target y."""
        target = self._core._feedback(y, "leave rows without a target out")
        row, moment = self._columns.learn(x, self._core)
        self._core._learn_one(row, target, moment)

    def predict_one(self, x: dict[Hashable, Any]) -> float:
        """Return the forecast for features x; 0 until a target has been seen."""
        row, _ = self._columns.read(x, self._core)
        return self._core._look(row)

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a data frame in order, as `learn_one` does, in compiled code."""
        batch = self._columns.learn_table(X, self._core)
        targets = self._core._targets(as_targets(y, len(batch.rows)))
        for first, last in batch.parts():
            if first in batch.joins:
                self._columns.join(batch.joins[first], self._core)
            rows, when = batch.part(first, last, self._core.dim)
            self._core._track(rows, targets[first:last].copy(), when, 0, 0, False)

    def predict_many(self, X: Any) -> Any:
        """Return a series of forecasts for the rows of a data frame, each as if it came next."""
        rows, _ = self._columns.read_table(X, self._core)
        return series(self._core.peek_rows(rows), like=X)

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
        # columns only ever join a core
        core = TrackingForecaster(1, loss=loss_named(self.loss), missing=True)
        self._columns.restore(state["names"], core, state)
        self._core = core


def as_targets(y: Any, rounds: int) -> Any:
    """The targets of a data frame's rows, made sure of their number."""
    targets = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if targets.shape != (rounds,):
        raise ValueError(
            f"y must have one target a row of X, {rounds}: got shape {targets.shape}; pass as many"
        )
    return targets

"""Intervals around a point forecaster of any library, known by its methods."""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stillpoint.core.learner import Configured, not_finite_in
from stillpoint.core.state import rollback_on_error
from stillpoint.core.validation import real, under
from stillpoint.intervals.base import value

if TYPE_CHECKING:
    from stillpoint.intervals.interval import IntervalTracker

_UNSET = object()


class Wrapped(Configured):
    """A point forecaster with intervals around its forecasts.

    `predict(x)` gives the interval (lo, hi); `update(x, y)` teaches tracker and model. Rounds are
    those of the tracker. `sp.save` saves both where the model is one of this library; otherwise
    save the tracker, and the model by its own means.

    Parameters
    ----------
    tracker : IntervalTracker
        Makes the intervals; it has coverage and bounds.
    model : object
        With predict_one(x) it is asked as river's, and learns by learn_one(x, y); with predict and
        update as this library's, learning by update(x, y); with predict as scikit-learn's, on a
        table of one row, learning by partial_fit where it has that; else it is a plain function
        x -> forecast, which does not learn. A scikit-learn model that has seen nothing yet
        forecasts 0; its x are sequences of numbers, or with names a row of a data frame (df.iloc[i]
        or df.iloc[[i]]). With a tracker that has a delay, one of this library is asked by peek(x):
        it learns late, too.
    """

    def __init__(self, tracker: "IntervalTracker", model: Any) -> None:
        self.tracker, self.model, self._x = tracker, model, _UNSET
        self._make = _make(model)
        self._saves = hasattr(model, "arrays") and hasattr(model, "restore")

    def predict(self, x: Any) -> tuple[Any, Any]:
        """Return the interval (lo, hi) of the coming round, whose features are x.

        Called again before `update` it is the same; with a delay, every call opens a round.
        """
        late = self.tracker.delay > 0
        interval = self.tracker.predict(self._look(x) if late else self._forecast(x))
        self._x = x
        return interval

    def peek(self, x: Any) -> tuple[Any, Any]:
        """Return the interval for features x, with no round opened and nothing changed.

        For what-if forecasts; where targets come late, build the tracker with a delay.
        """
        return self.tracker.peek(self._look(x))

    def _look(self, x: Any) -> Any:
        if self._make != "rounds":
            return self._forecast(x)
        if not hasattr(self.model, "peek"):
            raise ValueError(
                f"model must have peek(x) for that: got {self.model!r}, whose predict(x) opens a"
                " round; call predict(x), with a tracker that has no delay"
            )
        return self.model.peek(x)

    def update(self, x: Any, y: float) -> None:
        """Learn the target of the round with features x: the tracker, then the model.

        With a delay it is the oldest open round, and x are its features.
        """
        value("y", y, "call skip() for a missing target")
        if self.tracker.delay:
            self._update_late(x, float(y))
            return
        own = self if self._saves else self.tracker
        # a model may refuse y once the round is open
        with nullcontext() if self.tracker.is_open else rollback_on_error(own):
            # where x is not the object the round was opened with, the tracker tells whether the
            # forecast is the same
            if not self.tracker.is_open or x is not self._x:
                self.predict(x)
            # first, so that a model that refuses leaves the tracker in the open round
            self._learn(x, float(y))
            self.tracker.update(y)
        self._x = _UNSET

    learn_one = update

    def _update_late(self, x: Any, y: float) -> None:
        if not self.tracker.is_open:
            raise ValueError(
                f"y must belong to an open round: got {y} and none is open; call predict(x) first"
            )
        self._learn(x, y)  # first, so that a model that refuses leaves the tracker as it is
        self.tracker.update(y)

    def skip(self) -> None:
        """Pass a round whose target is missing."""
        if self._make == "rounds" and hasattr(self.model, "skip") and not self.tracker.delay:
            self.model.skip()  # its round is open too, or passes as the tracker's does
        self.tracker.skip()
        self._x = _UNSET

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this anew, once tracker and model are."""
        return {"tracker": self.tracker, "model": self.model}

    @property
    def _not_finite(self) -> frozenset[str]:
        return not_finite_in("tracker.", self.tracker) | not_finite_in("model.", self.model)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving: that of the tracker and that of the model."""
        if not self._saves:
            raise ValueError(
                "the model must be one of this library to be saved with its intervals: got"
                f" {self.model!r}; save the tracker, which is .tracker here, and the model by its"
                " own means"
            )
        pairs = ("tracker", self.tracker), ("model", self.model)
        return {
            f"{name}.{key}": value for name, part in pairs for key, value in part.arrays().items()
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`; a round that was open is known again by its forecast."""
        self.tracker.restore(under(state, "tracker."))
        self.model.restore(under(state, "model."))
        self._x = _UNSET

    def _forecast(self, x: Any) -> Any:
        model = self.model
        if self._make == "river":
            return model.predict_one(x)
        if self._make == "function":
            return model(x)
        if self._make == "rounds":
            return model.predict(x)
        try:
            return np.asarray(model.predict(_row(x))).ravel()[0]
        except ValueError as error:
            if type(error).__name__ != "NotFittedError" or not hasattr(model, "partial_fit"):
                raise
            return 0.0

    def _learn(self, x: Any, y: float) -> None:
        model = self.model
        if self._make == "river":
            model.learn_one(x, y)
        elif self._make == "rounds":
            model.update(x, y)
        elif self._make == "table" and hasattr(model, "partial_fit"):
            model.partial_fit(_row(x), np.array([y]))


def _make(model: Any) -> Literal["river", "rounds", "table", "function"]:
    """How a model is asked: as river's, in rounds, with a table as scikit-learn's, or called."""
    if hasattr(model, "predict_one"):
        return "river"
    if hasattr(model, "predict"):
        return "rounds" if hasattr(model, "update") else "table"
    if callable(model):
        return "function"
    raise ValueError(
        f"model must forecast: got {model!r}; give it predict_one(x) or predict(x), or pass a"
        " function of x"
    )


def _row(x: Any) -> Any:
    """A table of one row; names stay, since scikit-learn checks them."""
    if isinstance(x, Mapping):
        raise ValueError(
            f"x must be a row of numbers or of a data frame: got {x!r}; pass list(x.values()), in"
            " the model's order"
        )
    if hasattr(x, "to_frame"):  # a row of a data frame
        return x.to_frame().T
    if hasattr(x, "columns"):
        if len(x) != 1:
            raise ValueError(f"x must have one row: got {len(x)}; pass one round at a time")
        return x
    return real("x", x, "pass the row's numbers").reshape(1, -1)

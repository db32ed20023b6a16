"""Models of river and Vowpal Wabbit at their own defaults.

River's linear ones run behind a StandardScaler.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.lab.streams.real.base import BINARY, MULTICLASS, REGRESSION, RealStream

if TYPE_CHECKING:
    from stillpoint.lab.real.players import Entrant

LOGISTIC = "river LogisticRegression"
_SEED = 0  # forests draw


class River:
    """A river regressor."""

    def __init__(self, model: Any, stream: RealStream) -> None:
        self._model, self._names = model, stream.features

    def _row(self, x: Array) -> dict[str, float]:
        return dict(zip(self._names, x.tolist(), strict=True))

    def predict(self, x: Array) -> float:
        """One number."""
        return float(self._model.predict_one(self._row(x)))

    def learn(self, x: Array, y: float) -> None:
        """Learn one."""
        self._model.learn_one(self._row(x), float(y))


class RiverBayes(River):
    """river's BayesianLinearRegression, which has no intercept: it is given a constant feature."""

    def _row(self, x: Array) -> dict[str, float]:
        return super()._row(x) | {"1": 1.0}


class RiverClassifier(River):
    """A river classifier; classes not heard of yet share what is left."""

    def __init__(self, model: Any, stream: RealStream) -> None:
        super().__init__(model, stream)
        self._classes = len(stream.classes)

    def predict(self, x: Array) -> Any:
        """A probability a class."""
        given = self._model.predict_proba_one(self._row(x))
        p = np.array([float(given.get(k, 0.0)) for k in range(self._classes)])
        total = float(p.sum())
        return p / total if total > 0.0 else np.full(self._classes, 1.0 / self._classes)

    def learn(self, x: Array, y: Any) -> None:
        """Learn one."""
        self._model.learn_one(self._row(x), int(y))


class RiverSeries:
    """A river time series model: the series alone."""

    def __init__(self, model: Any) -> None:
        self._model, self._ready = model, False

    def predict(self, x: Array) -> float:
        """One round ahead; 0 while the model still collects its first season."""
        if not self._ready:
            return 0.0
        try:
            return float(self._model.forecast(horizon=1)[0])
        # what HoltWinters does until its first season is complete
        except (IndexError, TypeError, AttributeError):
            return 0.0

    def learn(self, x: Array, y: float) -> None:
        """Learn one."""
        self._model.learn_one(float(y))
        self._ready = True


class Vowpal:
    """Vowpal Wabbit, a line of text a round, as its own tools do it."""

    def __init__(self, options: str, stream: RealStream) -> None:
        self._task, self._classes = stream.task, len(stream.classes)
        loss = {
            REGRESSION: "--loss_function squared",
            BINARY: "--loss_function logistic --link logistic",
            MULTICLASS: f"--oaa {self._classes} --loss_function logistic --probabilities",
        }[self._task]
        self._model: Any = import_module("vowpalwabbit").Workspace(
            f"--quiet --random_seed {_SEED} {loss} {options}".strip()
        )

    @staticmethod
    def _text(x: Array) -> str:
        return "| " + " ".join(f"f{i}:{value:.9g}" for i, value in enumerate(x.tolist()))

    def predict(self, x: Array) -> Any:
        """One number, or a probability a class."""
        said = self._model.predict(self._text(x))
        if self._task == REGRESSION:
            return float(said)
        if self._task == BINARY:
            return np.array([1.0 - float(said), float(said)])
        p = np.array(
            [float(value) for value in (said.values() if isinstance(said, dict) else said)]
        )
        return p / p.sum() if p.sum() > 0.0 else np.full(self._classes, 1.0 / self._classes)

    def learn(self, x: Array, y: Any) -> None:
        """Learn one."""
        if self._task == REGRESSION:
            label = f"{float(y):.12g}"
        elif self._task == BINARY:
            label = "1" if y else "-1"
        else:
            label = str(int(y) + 1)
        self._model.learn(f"{label} {self._text(x)}")


def _river(part: str) -> Any:
    return import_module(f"river.{part}")


def _scaled(make: Callable[[], Any]) -> Any:
    return _river("preprocessing").StandardScaler() | make()


def _linear(stream: RealStream) -> River:
    return River(_scaled(_river("linear_model").LinearRegression), stream)


def _passive(stream: RealStream) -> River:
    return River(_scaled(_river("linear_model").PARegressor), stream)


def _bayes(stream: RealStream) -> River:
    return RiverBayes(_scaled(_river("linear_model").BayesianLinearRegression), stream)


def _neighbours(stream: RealStream) -> River:
    regression = stream.task == REGRESSION
    make = _river("neighbors").KNNRegressor if regression else _river("neighbors").KNNClassifier
    engine = make().engine.clone({"seed": _SEED})  # the default search, approximate and random
    return (River if regression else RiverClassifier)(_scaled(partial(make, engine=engine)), stream)


def _forest(stream: RealStream) -> River:
    if stream.task == REGRESSION:
        return River(_river("forest").ARFRegressor(seed=_SEED), stream)
    return RiverClassifier(_river("forest").ARFClassifier(seed=_SEED), stream)


def _logistic(stream: RealStream) -> River:
    if stream.task == BINARY:
        return RiverClassifier(_scaled(_river("linear_model").LogisticRegression), stream)
    return RiverClassifier(
        _scaled(
            lambda: _river("multiclass").OneVsRestClassifier(
                _river("linear_model").LogisticRegression()
            )
        ),
        stream,
    )


def _softmax(stream: RealStream) -> River:
    return RiverClassifier(_scaled(_river("linear_model").SoftmaxRegression), stream)


def _arima(stream: RealStream) -> RiverSeries:
    season = (
        {"m": stream.period, "sp": 1, "sq": 0} if stream.period > 1 else {"m": 1, "sp": 0, "sq": 0}
    )
    return RiverSeries(_river("time_series").SNARIMAX(p=3, d=1, q=1, sd=0, **season))


def _winters(stream: RealStream) -> RiverSeries:
    season = stream.period if stream.period > 1 else 0
    return RiverSeries(
        _river("time_series").HoltWinters(alpha=0.3, beta=0.1, gamma=0.1, seasonality=season)
    )


def entrants() -> list["Entrant"]:
    """All of them."""
    from stillpoint.lab.real.players import CLASSES, Entrant

    regression, everything = (REGRESSION,), (REGRESSION, *CLASSES)
    return [
        Entrant("river LinearRegression", regression, _linear, "river"),
        Entrant("river PARegressor", regression, _passive, "river"),
        Entrant("river BayesianLinearRegression", regression, _bayes, "river"),
        Entrant("river SNARIMAX(3,1,1)", regression, _arima, "river", series=True),
        Entrant("river HoltWinters", regression, _winters, "river", series=True),
        Entrant(LOGISTIC, CLASSES, _logistic, "river"),
        Entrant("river SoftmaxRegression", (MULTICLASS,), _softmax, "river"),
        Entrant("river KNN", everything, _neighbours, "river"),
        Entrant("river ARF", everything, _forest, "river"),
        *(
            Entrant(f"VW {options}".strip(), everything, partial(Vowpal, options), "vowpalwabbit")
            for options in ("", "--coin", "--freegrad")
        ),
    ]

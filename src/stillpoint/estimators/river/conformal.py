"""Intervals and label sets that hold around any model of river, as models of river."""

from collections.abc import Hashable, Iterator
from typing import Any

from river import base, conf, dummy, linear_model, preprocessing, stats

from stillpoint.core.validation import shown
from stillpoint.estimators.conformal import ScoreQuantile, label_score, quantile_score
from stillpoint.intervals import IntervalTracker, QuantileTracker
from stillpoint.intervals.base import value

Row = dict[Hashable, Any]
_LATE = "leave rows without a target out"
_DIVERGED = "scale the features: the model's forecast is no number"


def of_river(name: str, model: Any, method: str) -> None:
    """Refuse what is no model of river, before the first row."""
    if not hasattr(model, method):
        raise ValueError(
            f"{name} must be a model of river with {method}: got {shown(model)}; those of"
            " scikit-learn go with stillpoint.estimators.sklearn"
        )


class ConformalRegressor(base.Wrapper, base.Regressor):
    """Prediction intervals around any regressor, whose coverage holds on any stream.

    `predict_one(x, with_interval=True)` gives a `river.conf.Interval`; the regressor's forecasts
    are left as they are. No window and no step size are asked for: the interval follows noise that
    changes (`stillpoint.IntervalTracker`). The guarantee is for targets that are learnt before the
    next interval is asked for.

    Parameters
    ----------
    regressor : river.base.Regressor
        The model, or a pipeline.
    coverage : float, default 0.9
        The share of targets that intervals are to cover.
    two_sided : bool, default False
        A radius of its own for each side, for skewed or biased errors.

    Attributes
    ----------
    tracker : stillpoint.IntervalTracker
        The intervals, with `coverage_so_far` and `miss_bound()`.

    Examples
    --------
    >>> from river import datasets, linear_model, preprocessing, stats
    >>> from stillpoint.estimators.river import ConformalRegressor
    >>> model = preprocessing.StandardScaler() | linear_model.LinearRegression(intercept_lr=0.1)
    >>> model = ConformalRegressor(model, coverage=0.9)
    >>> covered = stats.Mean()
    >>> for x, y in datasets.TrumpApproval():
    ...     covered.update(y in model.predict_one(x, with_interval=True))
    ...     model.learn_one(x, y)
    >>> round(covered.get(), 2)
    0.9
    """

    def __init__(
        self, regressor: base.Regressor, coverage: float = 0.9, two_sided: bool = False
    ) -> None:
        of_river("regressor", regressor, "predict_one")
        self.regressor, self.coverage, self.two_sided = regressor, coverage, two_sided
        self.tracker = IntervalTracker(coverage, two_sided=two_sided)

    @property
    def _wrapped_model(self) -> base.Regressor:
        return self.regressor

    def learn_one(self, x: Row, y: float, **kwargs: Any) -> None:
        """Learn that features x came with target y."""
        forecast, target = self._forecast(x), value("y", y, _LATE)
        self.regressor.learn_one(x, y, **kwargs)  # first: it may refuse
        self.tracker.predict(forecast)
        self.tracker.update(target)

    def _forecast(self, x: Row) -> float:
        forecast = self.regressor.predict_one(x)
        return 0.0 if forecast is None else value("forecast", forecast, _DIVERGED)

    def predict_one(self, x: Row, with_interval: bool = False, **kwargs: Any) -> Any:
        """Return the forecast for features x, or the interval around it."""
        if not with_interval:
            return self.regressor.predict_one(x, **kwargs)
        return conf.Interval(*self.tracker.peek(self._forecast(x)))

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"regressor": preprocessing.StandardScaler() | linear_model.LinearRegression()}
        yield {"regressor": dummy.StatisticRegressor(stats.Mean()), "two_sided": True}


class ConformalQuantiles(base.Regressor):
    """Prediction intervals around two quantile forecasts, whose coverage holds on any stream.

    Conformalized quantile regression (Romano, Patterson & Candès 2019), online: the interval is
    [lower − q̂, upper + q̂], q̂ the moving quantile of how far targets were outside, below 0 where
    the two were too far apart. It is as wide for each x as the quantiles say. Forecasts of
    `predict_one` are half-way between the two.

    Parameters
    ----------
    lower, upper : river.base.Regressor
        Models of a low and a high quantile, as with `stillpoint.losses.Pinball` or river's
        `optim.losses.Quantile`.
    coverage : float, default 0.9
        The share of targets that intervals are to cover.

    Examples
    --------
    >>> import stillpoint as sp
    >>> from stillpoint.estimators.river import ConformalQuantiles, TrackingRegressor
    >>> low, high = (TrackingRegressor(loss=sp.losses.Pinball(q)) for q in (0.05, 0.95))
    >>> model = ConformalQuantiles(low, high, coverage=0.9)
    >>> for i in range(200):
    ...     model.learn_one({"a": i % 5}, i % 5 + (i * i) % 7)
    >>> interval = model.predict_one({"a": 3}, with_interval=True)
    >>> interval.lower < 6 < interval.upper
    True
    """

    def __init__(self, lower: base.Regressor, upper: base.Regressor, coverage: float = 0.9) -> None:
        of_river("lower", lower, "predict_one")
        of_river("upper", upper, "predict_one")
        self.lower, self.upper, self.coverage = lower, upper, coverage
        self._scores = ScoreQuantile(coverage)

    @property
    def tracker(self) -> QuantileTracker:
        """The tracker of scores, with its `coverage_so_far` and `miss_bound()`."""
        return self._scores.tracker

    def _ends(self, x: Row) -> tuple[float, float]:
        ends = self.lower.predict_one(x), self.upper.predict_one(x)
        lo, hi = (0.0 if end is None else float(end) for end in ends)
        return lo, hi

    def learn_one(self, x: Row, y: float) -> None:
        """Learn that features x came with target y."""
        score = value("y", float(quantile_score(*self._ends(x), value("y", y, _LATE))), _DIVERGED)
        self.lower.learn_one(x, y)  # first: it may refuse
        self.upper.learn_one(x, y)
        self._scores.learn(score)

    def predict_one(self, x: Row, with_interval: bool = False) -> Any:
        """Return the midpoint of both forecasts for features x, or the interval around them."""
        lo, hi = self._ends(x)
        if not with_interval:
            return 0.5 * (lo + hi)
        reach = self._scores.quantile
        return conf.Interval(lo - reach, hi + reach)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {
            "lower": dummy.StatisticRegressor(stats.Quantile(0.1)),
            "upper": dummy.StatisticRegressor(stats.Quantile(0.9)),
        }


class ConformalClassifier(base.Wrapper, base.Classifier):
    """Sets of labels around any classifier, whose coverage holds on any stream.

    `predict_set_one(x)` gives the labels that are probable enough for sets to hold the true one as
    often as was asked for, however good the probabilities are. A set may be empty, after so many
    hits that a miss is affordable. A label that was never seen is in no set; until two labels have
    come, each is in all.

    Parameters
    ----------
    classifier : river.base.Classifier
        A model with `predict_proba_one`, or a pipeline.
    coverage : float, default 0.9
        The share of labels that the sets are to cover.

    Examples
    --------
    >>> from river import datasets, naive_bayes, stats
    >>> from stillpoint.estimators.river import ConformalClassifier
    >>> model, covered = ConformalClassifier(naive_bayes.GaussianNB(), coverage=0.9), stats.Mean()
    >>> for x, y in datasets.Phishing():
    ...     covered.update(y in model.predict_set_one(x))
    ...     model.learn_one(x, y)
    >>> round(covered.get(), 1)
    0.9
    """

    def __init__(self, classifier: base.Classifier, coverage: float = 0.9) -> None:
        of_river("classifier", classifier, "predict_proba_one")
        self.classifier, self.coverage = classifier, coverage
        self._scores = ScoreQuantile(coverage)

    @property
    def _wrapped_model(self) -> base.Classifier:
        return self.classifier

    @property
    def tracker(self) -> QuantileTracker:
        """The tracker of scores, with its `coverage_so_far` and `miss_bound()`."""
        return self._scores.tracker

    def learn_one(self, x: Row, y: Any, **kwargs: Any) -> None:
        """Learn a row with features x and label y."""
        came = self.classifier.predict_proba_one(x).get(y, 0.0)
        score = value("probability", float(label_score(came)), _DIVERGED)
        self.classifier.learn_one(x, y, **kwargs)  # first: it may refuse
        self._scores.learn(score)

    def predict_proba_one(self, x: Row, **kwargs: Any) -> dict[Any, float]:
        """Return the classifier's probabilities."""
        probabilities: dict[Any, float] = self.classifier.predict_proba_one(x, **kwargs)
        return probabilities

    def predict_set_one(self, x: Row) -> set[Any]:
        """Return the set of labels for features x."""
        most = self._scores.quantile
        found = self.classifier.predict_proba_one(x).items()
        return {label for label, p in found if label_score(p) <= most}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"classifier": preprocessing.StandardScaler() | linear_model.LogisticRegression()}

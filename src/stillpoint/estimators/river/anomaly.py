"""Anomalies with the interface of river's supervised anomaly detectors."""

import math
from collections.abc import Hashable, Iterator
from typing import Any

from river import base, linear_model, preprocessing

from stillpoint.alerts import Anomalies as Core
from stillpoint.alerts.anomaly import Anomaly
from stillpoint.core.learner import Configured, not_finite_in
from stillpoint.core.validation import counted, nonnegative, under
from stillpoint.estimators.cells import missing
from stillpoint.estimators.river.conformal import of_river
from stillpoint.forecasters.aggregation import target_number
from stillpoint.intervals.base import value

try:
    from river.base import SupervisedAnomalyDetector
except ImportError:  # where river 0.21 has it
    from river.anomaly.base import SupervisedAnomalyDetector

_MISSING = "pass None for a missing value"


class Anomalies(SupervisedAnomalyDetector, Configured):
    """Detect targets that do not fit, with a rate of alarms that is kept.

    `stillpoint.Anomalies` for river: `score_one` is 1 − p, where p is how often a row is as unusual
    as this one; `learn_one` takes the row in, and may raise an alarm. `score_one` changes nothing.
    A missing target is None or NaN: its score is 0.

    In `anomaly.ThresholdFilter` the threshold 1 − rate holds back a share `rate` of usual rows. A
    detector protected by its filter never sees these: it has no alarms for them, and after a
    lasting change it may hold back all rows. Keep the threshold at 0.999 or above there, since
    below 0.998 a stretch that has left the long-run level is unusual whatever comes next; or let
    `QuantileFilter(…, protect_anomaly_detector=False)` learn all. In a pipeline the filter scores
    each row after it is learnt, as if it came again: use a regressor there, since without one the
    next value is expected by then.

    Parameters
    ----------
    rate : float, default 0.001
        The share of rows that may be called unusual where nothing is.
    regressor : river.base.Regressor, optional
        The model, or a pipeline, that forecasts each target from its features. None is
        `stillpoint.Forecaster`, which forecasts a series from its own past; features are then
        ignored, and may be None.
    period : int, optional
        Length in rows of the season of the long-run level; 1 for none. None finds it in the stream.
    grace_period : int, default 100
        Targets that the regressor learns before its errors count: those of its first rows are
        larger than any anomaly.

    Attributes
    ----------
    anomaly : stillpoint.alerts.Anomaly or None
        The last alarm: row, value, what was expected, and p. Rows are those learnt, from 0.
    anomaly_detected : bool
        Whether the last row that was learnt is an alarm.
    alarms : int
        How many alarms so far; at most `alarm_bound()`, on any stream.

    Examples
    --------
    >>> import random
    >>> from stillpoint.estimators.river import Anomalies, TrackingRegressor
    >>> rng = random.Random(0)
    >>> detector = Anomalies(rate=0.001, regressor=TrackingRegressor())
    >>> for i in range(500):
    ...     x = {"load": rng.uniform(0, 10)}
    ...     detector.learn_one(x, 3 * x["load"] + rng.gauss(0, 1) + 15 * (i == 400))
    >>> detector.anomaly.row, detector.alarms
    (400, 1)
    >>> detector.score_one({"load": 2}, 6) < 0.9 < 0.99 < detector.score_one({"load": 2}, 26)
    True
    """

    def __init__(
        self,
        rate: float = 1e-3,
        regressor: base.Regressor | None = None,
        period: int | None = None,
        grace_period: int = 100,
    ) -> None:
        if regressor is not None:
            of_river("regressor", regressor, "predict_one")
        nonnegative("grace_period", grace_period, "give a number of rows, such as 100")
        self.rate, self.regressor = rate, regressor
        self.period, self.grace_period = period, grace_period
        self._core = Core(rate, period=period)
        self._taught = 0  # targets that the regressor has learnt

    @property
    def anomaly(self) -> Anomaly | None:
        """The last alarm; None before there is one."""
        return self._core.records[-1] if self.alarms else None

    @property
    def anomaly_detected(self) -> bool:
        """Whether the last row that was learnt is an alarm."""
        last = self.anomaly
        return last is not None and last.row == self._core.rounds - 1

    @property
    def alarms(self) -> int:
        """How many alarms there were."""
        return self._core.alarms

    def alarm_bound(self) -> float:
        """How many alarms there can be by now at most, on any stream."""
        return self._core.alarm_bound()

    def score_one(self, x: dict[Hashable, Any] | None, y: float) -> float:
        """Return 1 − p of a row with features x and target y, as if next; 0 if y is missing."""
        if missing(y):
            return 0.0
        target, forecast = target_number(y, _MISSING), self._forecast(x)
        # without one all rows would be judged alike, by those before them
        graced = forecast is not None and math.isnan(forecast)
        return 0.0 if graced else 1.0 - self._core.score(target, forecast=forecast)

    def learn_one(self, x: dict[Hashable, Any] | None, y: float) -> None:
        """Learn a row with features x and target y; None or NaN for a missing target."""
        if missing(y):
            self._core.skip()
            return
        target, forecast = target_number(y, _MISSING), self._forecast(x)
        if self.regressor is not None:
            self.regressor.learn_one(x, y)  # first: it may refuse
            self._taught += 1
        self._core.update(target, forecast=forecast)

    def _forecast(self, x: Any) -> float | None:
        """What the regressor says, NaN if that does not count yet; None without one."""
        if self.regressor is None:
            return None
        said = None if self._taught < self.grace_period else self.regressor.predict_one(x)
        remedy = "scale the features: the model's forecast is no number"
        return math.nan if said is None else value("forecast", said, remedy)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this detector anew, for saving."""
        names = ("rate", "regressor", "period", "grace_period")
        return {name: getattr(self, name) for name in names}

    @property
    def _not_finite(self) -> frozenset[str]:
        return not_finite_in("core.", self._core) | not_finite_in("regressor.", self.regressor)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving: that of the detector and that of the regressor."""
        if self.regressor is not None and not hasattr(self.regressor, "arrays"):
            raise ValueError(
                "the regressor must be one of this library to be saved with its detector: got"
                f" {self.regressor!r}; pickle both, as river's models are"
            )
        parts = {"core.": self._core, "regressor.": self.regressor}
        found = {
            prefix + name: each
            for prefix, part in parts.items()
            if part is not None
            for name, each in part.arrays().items()
        }
        return {"taught": self._taught, **found}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        taught, core = int(state["taught"]), Core(self.rate, period=self.period)
        counted("taught", taught, 2.0**53)
        core.restore(under(state, "core."))
        if self.regressor is not None:
            self.regressor.restore(under(state, "regressor."))
        self._core, self._taught = core, taught

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"regressor": preprocessing.StandardScaler() | linear_model.LinearRegression()}

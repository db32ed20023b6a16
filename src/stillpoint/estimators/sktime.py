"""Forecaster with the interface of sktime."""

from typing import Any, ClassVar

import numpy as np

from stillpoint.core.extras import require
from stillpoint.core.validation import Array
from stillpoint.estimators.losses import loss_named
from stillpoint.estimators.replay import Replay
from stillpoint.losses import Absolute, Pinball, Squared
from stillpoint.series import Forecaster as Core

pandas = require("pandas", "stillpoint.estimators.sktime", "sktime")
require("sktime", "stillpoint.estimators.sktime", "sktime")

from sktime.forecasting.base import BaseForecaster, ForecastingHorizon  # noqa: E402

__all__ = ["Forecaster"]

_LEAST = 1e-6  # coverage from which on intervals have ends of their own
_LONGEST = 10**6  # gap between whole numbers, or periods, that is filled


class Forecaster(BaseForecaster):
    """Forecast a series any number of steps ahead, with intervals and nothing to tune.

    `stillpoint.Forecaster` for sktime: level, trend, seasons, memory and jumps. `update` learns the
    new values alone, at a cost that does not grow. X is known ahead: `predict` takes that of the
    steps to come. In sample, `predict` returns what was forecast before each value was seen.

    Parameters
    ----------
    season : "auto", None, float or list of float, default "auto"
        Periods in steps; "auto" finds them, None is for none.
    coverage : float or list of float, default 0.9
        Coverages that intervals are learnt for from the start. Others may be asked for, and steps
        further ahead than in `fit`: all values are then learnt again, once.
    pool : {"full", "middle", "small"}, default "full"
        How many experts forecast.
    loss : Squared, Absolute or Pinball, or a name, optional
        What forecasts aim at: the mean (None), the median, or another quantile.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from stillpoint.estimators.sktime import Forecaster
    >>> months = pd.period_range("2015-01", periods=72, freq="M")
    >>> y = pd.Series(50 + 9 * np.cos(np.pi * np.arange(72) / 6), index=months)
    >>> model = Forecaster().fit(y[:60], fh=[1, 2, 3])
    >>> model.predict().round(1).tolist()
    [59.0, 57.7, 54.5]
    >>> model.update(y[60:]).predict(fh=[1]).round(1).tolist()
    [59.0]
    """

    _tags: ClassVar[dict[str, Any]] = {
        "authors": "The stillpoint developers",
        "maintainers": "The stillpoint developers",
        "python_dependencies": "stillpoint",
        "capability:multivariate": False,
        "capability:exogenous": True,
        "capability:insample": True,
        "capability:pred_int": True,
        "capability:pred_int:insample": True,
        "capability:missing_values": True,
        "capability:update": True,
        "capability:categorical_in_X": False,
        "y_inner_mtype": "pd.Series",
        "X_inner_mtype": "pd.DataFrame",
        "requires-fh-in-fit": False,
        "X-y-must-have-same-index": True,
    }
    _config: ClassVar[dict[str, Any]] = {"remember_data": False}  # it is kept here, once

    def __init__(
        self,
        season: Any = "auto",
        coverage: Any = 0.9,
        pool: str = "full",
        loss: Squared | Absolute | Pinball | str | None = None,
    ) -> None:
        self.season, self.coverage, self.pool, self.loss = season, coverage, pool, loss
        super().__init__()
        self._y = self._X = None  # where sktime keeps data if it is told to

    def to_forecaster(self) -> Core:
        """Return a `stillpoint.Forecaster` that has learnt the same values.

        Its `seasons`, `changes`, `weights` and `components()` tell what it is doing.
        """
        self.check_is_fitted()
        return self._replay.ready(np.empty((0, len(self._columns))))[0]

    def _fit(self, y: Any, X: Any, fh: Any) -> "Forecaster":
        self._columns, self._name = [] if X is None else list(X.columns), y.name
        self._labels = y.index[:0]
        steps = [] if fh is None else fh.to_relative(self.cutoff).to_numpy().tolist()
        arguments = {
            "season": self.season,
            "features": len(self._columns),
            "pool": self.pool,
            "loss": loss_named(self.loss),
        }
        coverages = np.atleast_1d(self.coverage).tolist()
        self._replay = Replay(arguments, max([1, *steps]), coverages)
        self._take(y, X)
        return self

    def _update(self, y: Any, X: Any = None, update_params: bool = True) -> "Forecaster":
        if update_params:
            fresh = y.index > self._labels[-1]  # what is known already stays as it was
            if fresh.any():
                self._take(y[fresh], X)
        return self

    def _take(self, y: Any, X: Any) -> None:
        """Learn new values."""
        y = self._filled(y)
        rows = np.empty((len(y), len(self._columns)))
        if self._columns:
            rows[:] = np.nan if X is None else X.reindex(y.index)[self._columns].to_numpy(float)
        self._replay.learn(y.to_numpy(float), rows, _times(y.index))
        self._labels = self._labels.append(y.index)
        self._last = self.cutoff  # it has the frequency, too

    def _filled(self, y: Any) -> Any:
        """Values at whole numbers or periods, which are steps: those not there are missing.

        Between dates the forecaster sees to it.
        """
        periods = isinstance(y.index, pandas.PeriodIndex)
        if not periods and not pandas.api.types.is_integer_dtype(y.index):
            return y
        first, last = self._labels[-1] + 1 if len(self._labels) else y.index[0], y.index[-1]
        if (last.ordinal - first.ordinal if periods else int(last) - int(first)) > _LONGEST:
            raise ValueError(
                f"y must have an index whose steps are 1: got {last} after {first}; number the"
                " values, or give them dates"
            )
        if periods:
            return y.reindex(pandas.period_range(first, last, freq=y.index.freq))
        return y.reindex(pandas.RangeIndex(int(first), int(last) + 1))

    def _answers(self, fh: Any, X: Any, coverages: list[float]) -> tuple[Array, Array, Array]:
        """Forecasts and ends of intervals, coverages along the last axis, at each point of fh."""
        absolute = fh.to_absolute(self.cutoff)
        steps = absolute.to_relative(self._last).to_numpy().astype(int)
        furthest = max(int(steps.max(initial=0)), 0)
        self._replay.ensure(furthest, coverages)
        ahead = self._rows_ahead(X, furthest, absolute.freq)
        core, past = self._replay.ready(ahead)
        where = self._labels.get_indexer(absolute.to_pandas())  # −1: never seen
        answers = tuple(np.full((steps.size, *part.shape[1:]), np.nan) for part in past)
        for answer, part in zip(answers, past, strict=True):
            answer[where >= 0] = part[where[where >= 0]]
        if furthest:
            x, later = ahead if ahead.size else None, steps > 0
            path = core.predict(x, horizon=furthest), *core.interval(x, horizon=furthest)
            for answer, part in zip(answers, path, strict=True):
                answer[later] = part[steps[later] - 1]
        return answers[0], answers[1], answers[2]

    def _rows_ahead(self, X: Any, steps: int, freq: Any) -> Array:
        if not self._columns:
            return np.empty((0, 0))
        rows = np.full((steps, len(self._columns)), np.nan)
        if X is not None:
            coming = X[X.index > self._labels[-1]]
            if len(coming):
                fh = ForecastingHorizon(coming.index, is_relative=False, freq=freq)
                at = fh.to_relative(self._last).to_numpy().astype(int)
                near = at <= steps
                rows[at[near] - 1] = coming[self._columns].to_numpy(float)[near]
        return rows

    def _predict(self, fh: Any, X: Any) -> Any:
        forecasts, _, _ = self._answers(fh, X, [])
        return pandas.Series(forecasts, index=fh.to_absolute_index(self.cutoff), name=self._name)

    def _predict_interval(self, fh: Any, X: Any, coverage: list[float]) -> Any:
        wanted = [share for share in coverage if _LEAST <= share <= 1.0 - _LEAST]
        forecasts, lo, hi = self._answers(fh, X, wanted)
        known = self._replay.coverages
        columns = {}
        for share in coverage:
            ends = forecasts, forecasts
            if share in known:
                ends = lo[:, known.index(share)], hi[:, known.index(share)]
            elif share > 0.5:
                ends = np.full_like(forecasts, -np.inf), np.full_like(forecasts, np.inf)
            for side, end in zip(("lower", "upper"), ends, strict=True):
                columns[(self._get_varnames()[0], share, side)] = end
        table = pandas.DataFrame(columns, index=fh.to_absolute_index(self.cutoff))
        table.columns = pandas.MultiIndex.from_tuples(columns)
        return table

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Return the arguments that sktime's tests build it with."""
        return [{"pool": "small"}, {"season": [4], "coverage": [0.5, 0.9], "pool": "small"}]


def _times(labels: Any) -> list[Any]:
    """Times of rounds: numpy's dates without a zone; None for steps that are numbered."""
    if isinstance(labels, pandas.PeriodIndex):
        labels = labels.to_timestamp()
    if isinstance(labels, pandas.DatetimeIndex):
        plain = labels if labels.tz is None else labels.tz_convert("UTC").tz_localize(None)
        return list(plain.to_numpy().astype("M8[us]"))
    return [None] * len(labels)

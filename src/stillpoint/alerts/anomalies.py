"""Anomalies: rows that do not fit, with a p-value each and a rate of alarms that is kept."""

import math
from typing import Any

from numpy.typing import ArrayLike

from stillpoint.alerts._anomalies import AT, BY
from stillpoint.alerts.anomaly import LONGEST, Anomaly, bound, noted
from stillpoint.alerts.full import Full
from stillpoint.alerts.period import checked
from stillpoint.alerts.small import Small
from stillpoint.alerts.source import Source
from stillpoint.core.array import Array
from stillpoint.core.learner import Learner
from stillpoint.core.validation import number
from stillpoint.intervals.base import value, values

LEAST = 1e-6  # of the rate: 5000 ranks twice have no smaller p-value


class Anomalies(Learner):
    """Detect rows of a stream that do not fit, with a rate of alarms that is kept.

    `update(y)` gives an `Anomaly` in a row that is an alarm, else None. Nothing to tune.

    Parameters
    ----------
    rate : float, default 0.001
        The share of rows that may be called unusual where nothing is.
    forecaster : object, optional
        What forecasts each row: an object with `predict()` and `update(y)`, such as
        `sp.VariationForecaster()`, or a river time-series model wrapped in these two methods. None
        is `sp.Forecaster()`. It is not asked where forecasts are given, see `update`.
    period : int, optional
        Length in rows of the season of the long-run level; 1 for none. None finds it in the stream,
        or with a small memory takes none.
    memory : {"full", "small"}, default "full"
        What a row is ranked among: the last 5000 rows, or of all rows the 64 largest and a sample
        of the others, which takes 3 kB (for fleets).

    Attributes
    ----------
    rounds : int
        How many rows there were.
    p, p_forecast, p_level : float
        p-values of the last row, see `Anomaly`; NaN if it was missing.
    alarms, exceedances : int
        How many alarms so far, and rows with p ≤ rate.

    See Also
    --------
    - `Changes`: where level, spread, slope or season of a stream have moved for good.
    - `IntervalTracker`: intervals that hold a share of the rows.

    Notes
    -----
    With f_t the forecast of y_t and m_t the mean of all values before, by phase of the season where
    there is one, e_t = y_t − f_t and d_t = y_t − m_t,

        b_t = |mean(d_{t−10}, …, d_{t−1})|
        p₁ = (1 + #{past |e| ≥ |e_t|})/(n + 1),   p₂ = (1 + #{past b ≥ b_t})/(n + 1)
        s = −ln p₁ − ln p₂,   p = (1 + s)·e^−s

    over the last 5000 rows; in p, of an error among the largest 1% (or 10), p₁ is that of a Pareto
    tail fitted to these, with what they leave open about it. A row is an exceedance if p ≤ rate,
    and an alarm if no other exceedance was in the 100 rows before, or 1/(10·rate) if that is fewer:
    a stretch is told once, and chance silences a tenth of the rows at most. What holds:

    - If the errors are exchangeable, P(p₁ ≤ a) ≤ a for every a (a conformal p-value; Vovk,
      Gammerman & Shafer 2005).
    - On a stationary stream whose ranks of errors do not depend on the past, and whose errors have
      a Pareto tail or a lighter one, the share of exceedances goes to `rate`, or below.
    - On any stream, alarms ≤ rate·T + 3√(rate(1 − rate)(T + 100)) + 1 after T values, see
      `alarm_bound`: an alarm beyond is not raised.

    A lone error, however large, is hardly ever an alarm in the first 100 rows at a rate of 0.001.
    Constant streams have p = 1. Detection does not depend on shifts and units. A season is looked
    for after 24, 34, 49, … rows, and the long-run level then learnt anew from the last 5000.

    With `memory="small"` the first and the last statement hold as they stand. Ranks beyond the 64
    largest are estimated from a sample, and nothing is forgotten: after a stretch of large errors
    smaller ones are not found again for as long. lo and hi are those that a share `rate` of all
    errors so far were outside of, and `records` has the last alarm only.

    Examples
    --------
    >>> import numpy as np
    >>> import stillpoint as sp
    >>> y = np.random.default_rng(0).normal(20.0, 1.0, 600)
    >>> y[500] += 8.0
    >>> alerts = sp.Anomalies(rate=0.001, forecaster=sp.VariationForecaster())
    >>> p, found = alerts.track(y)
    >>> [(anomaly.row, anomaly.sign) for anomaly in found]
    [(500, 1)]
    >>> alerts.alarms <= alerts.alarm_bound()
    True
    """

    def __init__(
        self,
        rate: float = 1e-3,
        *,
        forecaster: Any = None,
        period: int | None = None,
        memory: str = "full",
    ) -> None:
        super().__init__()
        remedy = "give a share of rows, such as 0.001"
        self._rate = number("rate", rate, remedy)
        if not LEAST <= self._rate <= 0.5:
            raise ValueError(f"rate must be from {LEAST:g} to 0.5: got {rate!r}; {remedy}")
        self._period = None if period is None else checked(period, LONGEST)
        told = {None: "auto", 1: None}.get(self._period, self._period)
        self._source = Source(forecaster, told)
        if memory not in ("full", "small"):
            raise ValueError(f"memory must be 'full' or 'small': got {memory!r}; choose one")
        own = self._rate, self._period
        self._memory: Full | Small = Small(*own) if memory == "small" else Full(*own)

    # what is known

    @property
    def rate(self) -> float:
        """The share of rows that may be called unusual where nothing is."""
        return self._rate

    @property
    def period(self) -> int:
        """Length in rows of the season of the long-run level; 1 if there is none."""
        return int(self._memory.state.phases.shape[0])

    @property
    def p(self) -> float:
        """The p-value of the last row; NaN if it was missing."""
        return float(self._memory.state.scalars[AT.p])

    @property
    def p_forecast(self) -> float:
        """The p-value of its error alone."""
        return float(self._memory.state.scalars[AT.forecast])

    @property
    def p_level(self) -> float:
        """The p-value of how far the ten rows before it had left the long-run level."""
        return float(self._memory.state.scalars[AT.long_run])

    @property
    def alarms(self) -> int:
        """How many alarms there were."""
        return int(self._memory.state.clock[BY.alarms])

    @property
    def exceedances(self) -> int:
        """How many rows had p ≤ rate."""
        return int(self._memory.state.clock[BY.exceedances])

    @property
    def records(self) -> list[Anomaly]:
        """The last 100 alarms, oldest first; with a small memory the last one."""
        notes, alarms = self._memory.state.records, self.alarms
        return [noted(notes[i % len(notes)]) for i in range(max(alarms - len(notes), 0), alarms)]

    def alarm_bound(self) -> float:
        """How many alarms there can be by now at most, on any stream.

        rate·T + 3√(rate(1 − rate)(T + 100)) + 1 after T values.
        """
        return bound(self._rate, int(self._memory.state.clock[BY.values]))

    # rounds

    def score(self, y: float, *, forecast: float | None = None) -> float:
        """Return the p-value that this row would have if it came next; nothing changes."""
        target = value("y", y, "pass a number")
        return self._memory.judge(target, self._source.peek(forecast))

    def update(self, y: float, *, forecast: float | None = None) -> Anomaly | None:
        """Take in a row; returns its `Anomaly` if it is an alarm, else None.

        Parameters
        ----------
        y : float
            The value; `skip` if it is missing.
        forecast : float, optional
            Its forecast, if it was made elsewhere; NaN for none. Given in every row or in none;
            where it is, `forecaster` is never asked.
        """
        target = value("y", y, "call skip() for a missing value")
        self._source.admit(target, forecast)
        expected = self._source.expect(forecast)
        self._source.learn(target, forecast)
        before = self.alarms
        self._begin()
        self._end((target, expected))
        return self.records[-1] if self.alarms > before else None

    def skip(self) -> None:
        """Pass a row whose value is missing."""
        self._source.skip()
        super().skip()

    def _open(self, when: float, x: None) -> None:
        """There is nothing to answer."""

    def _close(self, feedback: tuple[float, float] | None) -> None:
        self._memory.close(*((math.nan, math.nan) if feedback is None else feedback))

    def track(
        self, y: ArrayLike, forecasts: ArrayLike | None = None
    ) -> tuple[Array, list[Anomaly]]:
        """Take in a whole stream.

        Parameters
        ----------
        y : array-like of shape (T,)
            Values; NaN is a missing one.
        forecasts : array-like of shape (T,), optional
            Forecasts of the values that were made elsewhere, NaN for none; see `update`.

        Returns
        -------
        p : array of shape (T,)
            The p-value of each row, NaN where it is missing.
        found : list of Anomaly
            The alarms: those of `update`, bit for bit.
        """
        targets = values("y", y, missing=True)
        self._begin_bulk("y")
        said = self._memory.track(targets, self._source.track(targets, forecasts))
        self._follow()
        return said

    # saving

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this detector anew."""
        own = {"rate": self._rate, "forecaster": self._source.given, "period": self._period}
        return {**own, "memory": "small" if isinstance(self._memory, Small) else "full"}

    @property
    def _not_finite(self) -> frozenset[str]:
        return self._memory._not_finite | self._source._not_finite

    def arrays(self) -> dict[str, Any]:
        """The state, for saving: its own, that of its interval and that of its forecaster."""
        return {**self._memory.arrays(), **self._source.arrays()}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`; ValueError, and nothing is written, where it cannot be."""
        self._memory, self._source = self._memory.restored(state), self._source.restored(state)
        self._follow()
        self._is_open = False

    def _follow(self) -> None:
        self.rounds = int(self._memory.state.clock[BY.row])
        self.time, self._started = float(self.rounds), self.rounds > 0

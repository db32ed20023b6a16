"""Changes: where level, spread, slope or season of a stream have moved, and by how much."""

import copy
import math
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from stillpoint.alerts._state import AT, MOST, OF
from stillpoint.alerts.change import LARGEST, Change
from stillpoint.alerts.detector import Detector
from stillpoint.alerts.period import checked, found, in_rows
from stillpoint.core.array import Array
from stillpoint.core.learner import Learner
from stillpoint.core.validation import number
from stillpoint.intervals.base import value, values

LONGEST = 1000  # rows of a season, seen five times in what is kept


class Changes(Learner):
    """Detect changes of level, spread, slope and season in a stream, with a rate of false alarms.

    `update(y)` gives a `Change` in the row that declares one, else None. Nothing to tune.

    Parameters
    ----------
    every : float, default 10000
        How many rows there are at least, on average, from one false alarm to the next.
    period : int, optional
        Length in rows of the season of the stream, of its shortest if it has two; 1 for none. None
        finds it in the stream.

    Attributes
    ----------
    rounds : int
        How many rows there were.
    evidence : float
        M after the last row.
    records : list of Change
        The last 100 changes.

    See Also
    --------
    - `Anomalies`: rows that do not fit, which may be single ones.
    - `Forecaster`: its `changes` are those of the series beside what its seasons explain.

    Notes
    -----
    A regression of y_t on the last three values, which does not forget and is begun anew at each
    change, forecasts each row; where the stream has a season or a trend, harmonics and time are
    regressors, too. A longer season beside it, as the week is in hours, is taken off the values
    once it has come twice, as least squares on the values since the last change have it. A value
    far from its forecast, as a typo is, stands among the three only if the next value comes nearer
    to what follows from it than to what follows from its forecast. The rank u_t of its error among
    those before is uniform where nothing changes; twelve bets are placed on ranks that are too
    often high, low, extreme or central, and one on errors that repeat with the season. With M_k the
    sum over all past rows of what bet k has won since (Shiryaev & Roberts) and M the mean of these,
    a change is declared when M ≥ 3/2·`every`. M_t − t is a martingale if the errors are
    exchangeable, and then

        E[rows until the alarm] ≥ 3/2·every.

    For independent rows that is so but for the regression's own errors, which fade; half as much
    again is for those. `stillpoint bench alerts` counts false alarms in noise of many kinds: one in
    10 000 rows or fewer at the default where it is stationary. A stream whose spread comes and goes
    does change, and raises alarms. Laws much more skewed than a log-normal of σ = 1, and streams
    that are at one value for long runs or in nine rows of ten, get more.

    The `start` of a change is where the winning bet's cusum began (Page 1954). A level that rises
    or falls on after its change is a slope. After an alarm 30 to 60 rows pass before the next is
    possible. Season and trend are looked for 60 rows after a change, then ever less often.
    Detection does not depend on shifts and units of the stream. A row costs O(1): ranks are among
    the last 5000.

    Examples
    --------
    >>> import numpy as np
    >>> import stillpoint as sp
    >>> y = np.random.default_rng(0).normal(20.0, 1.0, 600)
    >>> y[500:] += 2.0
    >>> changes = sp.Changes()
    >>> (change,) = changes.track(y)
    >>> change.kind, change.start, change.row - change.start < 10
    ('level up', 500, True)
    >>> round(change.before), round(change.after)
    (20, 22)
    """

    def __init__(self, every: float = 10_000, *, period: int | None = None) -> None:
        super().__init__()
        self._every = number("every", every, "give a number of rows, such as 10000")
        if not 1.0 <= self._every <= LARGEST:
            raise ValueError(
                f"every must be from 1 to 2^53: got {every!r}; give a number of rows, such as 10000"
            )
        self._period = None if period is None else checked(period, LONGEST)
        told = 0.0 if self._period in (None, 1) else float(self._period or 0)
        find = None if self._period == 1 else partial(_periods, told)
        self._detector = Detector(self._every, told, find=find)

    @property
    def _not_finite(self) -> frozenset[str]:
        return frozenset({"history", "records"})  # seasons that nobody told are NaN there

    def update(self, y: float) -> Change | None:
        """Take in a value; returns the `Change` declared in this row, else None.

        The record's size is what is known in this row; `records` has it more exactly later.
        """
        target = value("y", y, "call skip() for a missing value")
        self._begin()
        change = self._detector.update(target)
        self._closed()
        return change

    def track(self, y: ArrayLike) -> list[Change]:
        """Take in a whole stream; returns the changes declared in it.

        Parameters
        ----------
        y : array-like of shape (T,)
            Values; NaN is a missing one.

        Returns
        -------
        list of Change
            Those of `update`, bit for bit, with sizes as `records` has them after the last row.
        """
        targets = values("y", y, missing=True)
        self._begin_bulk("y")
        result = self._detector.take(targets)
        self._follow()
        return result

    def _open(self, when: float, x: None) -> None:
        """There is nothing to answer."""

    def _close(self, feedback: None) -> None:
        self._detector.update(math.nan)

    def _follow(self) -> None:
        self.rounds = self._detector.row
        self.time, self._started = float(self.rounds), self.rounds > 0

    @property
    def evidence(self) -> float:
        """M after the last row: without change it gets this far once in M rows or less often.

        In the row after an alarm it begins anew from 0.
        """
        return float(self._detector.state.scalars[AT.evidence])

    @property
    def period(self) -> int:
        """Length in rows of the season of the reference; 1 if there is none."""
        return int(self._detector.period) or 1

    @property
    def records(self) -> list[Change]:
        """The last 100 changes, oldest first; the latest's size is measured further for 50 rows."""
        return self._detector.records

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this detector anew."""
        return {"every": self._every, "period": self._period}

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return self._detector.arrays()

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`; ValueError, and nothing is written, where it cannot be."""
        new = copy.copy(self._detector)
        new.restore(state)
        if self._period is not None and new.period != self._detector.period:
            raise ValueError(
                f"state 'shape' must have the period that was told: got {new.period:g}, told"
                f" {self._period}; save it again"
            )
        self._detector = new
        self._follow()
        self._is_open = False


def _periods(told: float, past: Array) -> tuple[float, float]:
    """The period of the values since the last change, unless it was told, and a longer one.

    0 where there is none.
    """
    if not past.shape[0]:
        return told, 0.0
    periods = found(in_rows(past[:, OF.row], past[:, OF.value], MOST), LONGEST)
    first = told or float(next(iter(periods), 0))
    return first, float(next((m for m in periods if m > 1.5 * first), 0))

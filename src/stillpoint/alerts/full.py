"""The full memory of Anomalies: the last 5000 rows, their season, and an interval around each."""

import copy
import math
from typing import Any

import numpy as np

from stillpoint.alerts import _anomalies
from stillpoint.alerts import anomaly as kept
from stillpoint.alerts._anomalies import BY, KEPT, MOST
from stillpoint.alerts.anomaly import LARGEST, LONGEST, Anomaly, noted
from stillpoint.alerts.period import found
from stillpoint.core.allocation import zeros
from stillpoint.core.array import Array
from stillpoint.core.learner import not_finite_in
from stillpoint.core.validation import counted, under
from stillpoint.intervals import IntervalTracker
from stillpoint.series import seasons


class Full:
    """Ranks among the last 5000 rows.

    Parameters
    ----------
    rate : float
        Of exceedances.
    period : int, optional
        Rows of the season of the long-run level; None: found in the stream.
    """

    def __init__(self, rate: float, period: int | None) -> None:
        self._rate, self._period = rate, period
        self._band = IntervalTracker(1.0 - rate, empty=False)
        self.state = kept.build(rate, period or 1)
        self._look = seasons.LEAST if period is None else 0  # row to look for a season, 0: never

    def judge(self, y: float, expected: float) -> float:
        """Return the p-value of a value, if it came now."""
        return float(_anomalies.judge(self.state, y, expected)[0])

    def close(self, y: float, expected: float) -> None:
        """Take in a row; NaN stands for no value, or no forecast."""
        lo, hi = -math.inf, math.inf
        if math.isnan(expected):
            self._band.skip()
        else:
            lo, hi = self._band.predict(expected)
            self._band.update(y)
        _anomalies.update(y, expected, lo, hi, *self.state)
        if self.state.clock[BY.row] == self._look:
            self._find_season()

    def track(self, y: Array, expected: Array) -> tuple[Array, list[Anomaly]]:
        """Take in rows; return their p-values, and the alarms."""
        nothing = np.isnan(expected)
        ends = np.stack(
            self._band.track(np.where(nothing, 0.0, expected), np.where(nothing, np.nan, y))
        )
        ends[:, nothing] = [[-math.inf], [math.inf]]
        p, alarms, t = np.empty(y.size), list[Anomaly](), 0
        while t < y.size:
            before, row = int(self.state.clock[BY.alarms]), int(self.state.clock[BY.row])
            stop = min(y.size, t + self._look - row) if self._look else y.size
            t = _anomalies.track(self.state, y, expected, ends, t, stop, p)
            if self.state.clock[BY.alarms] > before:
                alarms.append(noted(self.state.records[before % KEPT]))
            if self.state.clock[BY.row] == self._look:
                self._find_season()
        return p, alarms

    def _find_season(self) -> None:
        """Look for the season, and learn the long-run level anew if it has changed."""
        row = self._look
        self._look = min(math.ceil(row * math.sqrt(2.0)), row + MOST // 2)
        periods = found(np.roll(self.state.history, -row)[-min(row, MOST) :], LONGEST)
        period = periods[0] if periods else 1
        if period != self.state.phases.shape[0]:
            self.state = self.state._replace(phases=zeros((period, 2)))
            _anomalies.replay(self.state)

    # saving

    @property
    def _not_finite(self) -> frozenset[str]:
        """As `Configured._not_finite`."""
        own = frozenset({"scalars", "history", "records"})
        return own | not_finite_in("band.", self._band)

    def arrays(self) -> dict[str, Any]:
        """Return the state, for saving: its own, and that of its interval."""
        band = {f"band.{name}": each for name, each in self._band.arrays().items()}
        return {**kept.arrays(self.state), "look": self._look, **band}

    def restored(self, state: dict[str, Any]) -> "Full":
        """Return what was saved; ValueError where no detector has it."""
        look, new = int(state["look"]), copy.deepcopy(self)
        new.state, new._look = kept.restored(state, self._rate, self._period), look
        counted("look", look, LARGEST)
        if bool(look) != (self._period is None) or (look and look <= new.state.clock[BY.row]):
            raise ValueError(f"state 'look' must be a row to come: got {look}; save it again")
        new._band.restore(under(state, "band."))
        return new

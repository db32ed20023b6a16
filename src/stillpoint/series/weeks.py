"""Weeks of which some phases never have a row: nights, weekends, hours when nothing is open.

A phase of the week that is always empty is no slot: Friday's last hour is followed by Monday's
first. A season of a day or a week then has as many rounds as rows, and a holiday, whose phases are
filled in other weeks, is a gap of missing values like any other.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.array import Array
from stillpoint.series.seasons import DAY

WEEK = 7.0 * DAY
_LEAST, _MOST = 2.0, 20_000  # weeks that must be seen, and phases of a week
_FEW = 4.0  # weeks up to which one row is enough for a phase, then two
_EMPTY = 0.1  # of the phases that are to be empty: else nothing is gained
_CHANCE = 0.01  # that a phase which is filled as often as others is empty in all weeks
_OFF = 1e-3  # by which a gap may differ from a whole part of the week
_FAR = 2.0**52


@dataclass(frozen=True)
class Week:
    """The phases of a week that have rows.

    Parameters
    ----------
    origin : float
        The time of a phase 0, in seconds.
    active : array of bool
        Which phases have rows.
    """

    origin: float
    active: NDArray[np.bool_]

    @property
    def gap(self) -> float:
        """Seconds from phase to phase."""
        return WEEK / self.active.size

    def count(self, times: Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """How many filled phases came before each time, and whether its own is one."""
        k = _phases(times, self.gap, self.origin)
        n, before = self.active.size, np.append(0, np.cumsum(self.active))
        return k // n * before[-1] + before[k % n], self.active[k % n]

    def after(self, time: float) -> float:
        """When the first filled phase after this time is; as late in it as the time in its own."""
        k = int(_phases(np.array([time]), self.gap, self.origin)[0])
        n, steps = self.active.size, 1
        while not self.active[(k + steps) % n]:
            steps += 1
        return time + steps * self.gap

    def periods(self) -> tuple[float, ...]:
        """Rounds of a day, if that is longer than the gap, and of a week."""
        n, filled = self.active.size, float(self.active.sum())
        if n == 7 or n % 7:
            return (filled,)
        quiet = int(self.active.reshape(7, -1).sum(axis=0).argmin())  # where one day ends
        days = np.roll(self.active, -quiet).reshape(7, -1).any(axis=1).sum()
        return filled / float(days), filled

    def same(self, other: "Week | None") -> bool:
        """Whether the phases are those of another."""
        return other is not None and np.array_equal(self.active, other.active)


def learn(times: Array, gap: float, told: tuple[float, ...] | None) -> Week | None:
    """The phases of the week that have rows; None: most have, or it cannot be told yet.

    Seasons that were told count as rounds of rows, if they are those of the phases found, else as
    rounds of the clock: then nothing is left out.
    """
    n, weeks = round(WEEK / gap), (times[-1] - times[0]) / WEEK
    if weeks < _LEAST or not 2 <= n <= _MOST or abs(gap * n / WEEK - 1.0) > _OFF:
        return None
    gap = WEEK / n
    turn = np.exp(2j * np.pi * (times % gap) / gap).mean()
    origin = float(np.angle(turn) / (2.0 * np.pi) * gap)
    filled = np.unique(_phases(times, gap, origin))
    rows = np.bincount(filled % n, minlength=n)
    active = rows >= (1 if weeks < _FEW else 2)
    if not active.any() or active.sum() > (1.0 - _EMPTY) * n:
        return None
    share = min(float(rows[active].sum()) / (weeks * float(active.sum())), 0.999)
    week = Week(origin, active)
    if (1.0 - share) ** weeks > _CHANCE:
        return None
    if told and not any(abs(m - mine) < 0.5 for m in told for mine in week.periods()):
        return None
    return week


def arrays(week: Week | None) -> dict[str, Any]:
    """A week, for saving."""
    if week is None:
        return {"origin": 0.0, "active": np.empty(0, dtype=np.int64)}
    return {"origin": week.origin, "active": week.active.astype(np.int64)}


def restored(state: dict[str, Any]) -> Week | None:
    """Inverse of `arrays`."""
    active = np.asarray(state["active"])
    good = active.ndim == 1 and active.dtype == np.int64 and np.isin(active, (0, 1)).all()
    if not good or (active.size and not (2 <= active.size <= _MOST and active.any())):
        raise ValueError(
            f"state 'active' must be the phases of a week: got {active}; save the forecaster again"
        )
    return Week(float(state["origin"]), active.astype(bool)) if active.size else None


def _phases(times: Array, gap: float, origin: float) -> NDArray[np.int64]:
    k = np.floor((times - origin) / gap + 0.5)
    return np.clip(k, -_FAR, _FAR).astype(np.int64)

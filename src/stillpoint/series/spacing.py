"""The spacing of dates: what it is called, how far to look ahead, which dates come next."""

import calendar
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise

import numpy as np

from stillpoint.series.seasons import DAY
from stillpoint.series.weeks import Week

LONGEST = 2016  # rows of a season that simple forecasts repeat
# how many seconds rows are apart, at least and at most; and rows of a season, which is how far
# forecasts go by themselves
_UNITS = {
    "second": (0.99, 1.01, 10),
    "minute": (59.0, 61.0, 10),
    "hour": (3590.0, 3610.0, 24),
    "day": (0.99 * DAY, 1.01 * DAY, 7),
    "week": (6.9 * DAY, 7.1 * DAY, 52),
    "month": (27.0 * DAY, 32.0 * DAY, 12),
    "quarter": (88.0 * DAY, 93.0 * DAY, 4),
    "year": (360.0 * DAY, 370.0 * DAY, 10),
}
_WEEKDAY = 32  # the last weekday of a month, in place of a day
_NEAR = 5  # days that are the end of a month, nearly
_OTHERS = 10  # rows ahead where the spacing says nothing


def unit(gap: float | None) -> str | None:
    """Return the name of a spacing in seconds; None where it has none."""
    return next(
        (name for name, (low, high, _) in _UNITS.items() if gap and low <= gap <= high), None
    )


def steps_of(gap: float | None) -> int:
    """Return how many rows ahead to forecast, for rows so many seconds apart: a season."""
    name = unit(gap)
    return _UNITS[name][2] if name else _OTHERS


class Dates:
    """Dates so many slots after the last.

    Parameters
    ----------
    last
        The last dates.
    gap
        Between slots, in seconds.
    week
        The phases of the week that have rows, where not all have.
    clocked
        Whether dates have a time of day.
    zone
        The zone whose time of day they keep, where it is known.
    """

    def __init__(
        self,
        last: Sequence[datetime],
        gap: float,
        week: Week | None,
        clocked: bool,
        zone: tzinfo | None = None,
    ) -> None:
        self._last, self._gap, self._week = last[-1], gap, week
        self._clocked, self._zone = clocked, zone
        self._months = round(gap * 12 / 365.25 / DAY)
        self._day = _day_of_month(last, self._months) if gap >= 27.0 * DAY else 0

    def at(self, slots: int) -> datetime:
        """Return the date so many slots after the last, or before it."""
        last = self._last
        if self._week is not None:
            start = last.replace(tzinfo=last.tzinfo or UTC).timestamp()
            seconds = _in_week(self._week, start, slots) - start
            if self._week.gap == DAY:
                return self._local(last + timedelta(days=round(seconds / DAY)))
            return self._later(round(seconds, 6))
        if self._day and slots:
            year, month = divmod(12 * last.year + last.month - 1 + slots * self._months, 12)
            day = _weekday_end(year, month + 1)
            if self._day != _WEEKDAY:
                day = min(self._day, calendar.monthrange(year, month + 1)[1])
            return self._local(last.replace(year=year, month=month + 1, day=day))
        days = self._gap / DAY
        if abs(days - round(days)) < 1e-4 * days or not self._clocked:
            # the same time of day, which daylight saving does not move
            return self._local(last + timedelta(days=round(slots * days)))
        return self._later(slots * self._gap)

    def _later(self, seconds: float) -> datetime:
        """Return the time so many seconds after the last, with the offset it then has."""
        last, away = self._last, timedelta(seconds=seconds)
        if self._zone is None or last.tzinfo is None:
            return last + away
        return (last.astimezone(UTC) + away).astimezone(self._zone)

    def _local(self, at: datetime) -> datetime:
        """Return the time of day with the offset that its zone has on that day."""
        return at if self._zone is None or at.tzinfo is None else at.replace(tzinfo=self._zone)


def _in_week(week: Week, last: float, slots: int) -> float:
    """Return the time so many filled phases of the week after another, or before it."""
    for _ in range(slots):
        last = week.after(last)
    if slots >= 0:
        return last
    weeks = -slots // int(week.active.sum()) + 2
    times = last - week.gap * np.arange(weeks * week.active.size, dtype=np.float64)
    places, inside = week.count(times)
    return float(times[inside & (places == places[0] + slots)][0])


def _weekday_end(year: int, month: int) -> int:
    """Return the last day of a month that is neither a Saturday nor a Sunday."""
    first, days = calendar.monthrange(year, month)
    return days - max((first + days - 1) % 7 - 4, 0)


def _day_of_month(moments: Sequence[datetime], step: int) -> int:
    """Return the day of the month that times have, 31 for the last, 32 for the last weekday.

    Where days vary and months are still so many apart, it is about that day; 0 where they are not.
    """
    days = [at.day for at in moments]
    ends = [calendar.monthrange(at.year, at.month)[1] for at in moments]
    if days == ends:
        return 31
    if all(day == min(max(days), end) for day, end in zip(days, ends, strict=True)):
        return max(days)
    if days == [_weekday_end(at.year, at.month) for at in moments]:
        return _WEEKDAY
    months = np.diff([12 * at.year + at.month for at in moments])
    apart = {later - at for at, later in pairwise(moments)}
    if len(apart) == 1 or step < 1 or (months < 1).any() or (months % step).any():
        return 0
    early = float(np.median(np.subtract(ends, days)))
    weekdays = all(at.weekday() < 5 for at in moments)
    return round(float(np.median(days))) if early > _NEAR else _WEEKDAY if weekdays else 31

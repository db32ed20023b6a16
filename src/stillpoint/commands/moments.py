"""Times to come: the spacing of rows, and the texts of rows that would follow."""

import calendar
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import numpy as np

from stillpoint.commands.dates import moment, read, written
from stillpoint.series.seasons import calendar as suggested
from stillpoint.series.weeks import Week

DAY = 86_400.0
RECENT = 24  # times from which days of months are told
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
_ISO = re.compile(
    r"(\d{4})(-?)(\d\d)-?(\d\d)(?:([T ])(\d\d)(:?)(\d\d)?(:?\d\d)?([.,]\d+)?)?(Z|[+-]\d\d.*)?"
)
_WEEK = re.compile(r"\d{4}(-?)W\d\d(-?\d)?")
_MONTHS = "January February March April May June July August September October November December"


def unit(gap: float | None) -> str | None:
    """Return the name of a spacing in seconds; None where it has none."""
    return next(
        (name for name, (low, high, _) in _UNITS.items() if gap and low <= gap <= high), None
    )


def steps_of(gap: float | None) -> int:
    """Return how many rows ahead to forecast, for rows so many seconds apart: a season."""
    name = unit(gap)
    return _UNITS[name][2] if name else _OTHERS


def season_of(gap: float | None) -> int:
    """Return how many rows a season has, for rows so many seconds apart; 0 where none is known."""
    found = suggested(gap) if gap else ()
    rows = round(found[0]) if found else 0
    return rows if 2 <= rows <= LONGEST else 0


class Coming:
    """Times of rows so many slots after the last, written as those before.

    Parameters
    ----------
    texts
        The last times, as the input has them.
    dated
        Whether they are dates, not numbers.
    gap
        Between slots, in seconds or in the unit of the numbers.
    zone
        The name of their time zone, where the input tells it.
    week
        The phases of the week that have rows, where not all have.
    form
        Of dates, as `strptime` has it; None for ISO's.
    """

    def __init__(
        self,
        texts: Sequence[str],
        dated: bool,
        gap: float,
        zone: str | None = None,
        week: Week | None = None,
        form: str | None = None,
    ) -> None:
        self._last, self._dated, self._gap, self._week = texts[-1], dated, gap, week
        self._texts, self._form = texts, form
        if dated:
            self._moments = [moment(text, form) for text in texts]
            self._zone = zone_named(zone)
            self._clocked = ":" in self._last or any(at.hour or at.minute for at in self._moments)
            self._months = round(gap * 12 / 365.25 / DAY)
            self._day = _day_of_month(self._moments, self._months) if gap >= 27.0 * DAY else 0

    def text(self, slots: int) -> str:
        """Return the time so many slots after the last row, or before it."""
        if not self._dated:
            return _number(float(self._last) + slots * self._gap, self._last)
        if self._form is not None:
            return written(self.moment(slots), self._form, self._texts)
        return write(self.moment(slots), self._last)

    def number(self, text: str) -> float:
        """Return a time as a number: dates in seconds since 1970."""
        return read(text, self._form) if self._dated else float(text)

    def moment(self, slots: int) -> datetime:
        """Return the date so many slots after the last row, or before it."""
        last = self._moments[-1]
        if self._week is not None:
            start = last.replace(tzinfo=last.tzinfo or UTC).timestamp()
            return last + timedelta(seconds=round(_in_week(self._week, start, slots) - start, 6))
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
        later = last + timedelta(seconds=slots * self._gap)
        if self._zone is None or last.tzinfo is None:
            return later
        return (last.astimezone(UTC) + timedelta(seconds=slots * self._gap)).astimezone(self._zone)

    def _local(self, at: datetime) -> datetime:
        """Return the time of day with the offset that its zone has on that day."""
        return at if self._zone is None or at.tzinfo is None else at.replace(tzinfo=self._zone)

    def words(self, slots: int) -> str:
        """Return when that is, in words that go after what happened."""
        if not self._dated:
            return f"at {self.text(slots)}"
        at, name = self.moment(slots), unit(self._gap)
        if name in ("month", "quarter"):
            return f"in {_MONTHS.split()[at.month - 1]} {at.year}"
        if name == "year":
            return f"in {at.year}"
        day = f"on {at.day} {_MONTHS.split()[at.month - 1]} {at.year}"
        return day if self._gap >= DAY - 1.0 else f"{day}, {at:%H:%M}"


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


def zone_like(texts: Sequence[str]) -> str | None:
    """Return a time zone whose clock shows these times, among them some where it was changed."""
    times = [datetime.fromisoformat(text.strip()) for text in texts]
    for name in sorted(available_timezones()) if times else ():
        zone = zone_named(name)
        if zone and all(at.astimezone(zone).utcoffset() == at.utcoffset() for at in times):
            return name
    return None


def zone_named(name: str | None) -> tzinfo | None:
    """Return the time zone of that name; None where there is none."""
    try:
        return None if name is None else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return None


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


def write(at: datetime, like: str) -> str:
    """Return a date in ISO's form, with the marks and the parts that another has."""
    found, week = _ISO.fullmatch(like.strip()), _WEEK.fullmatch(like.strip())
    if week is not None:
        year, number, day = at.isocalendar()
        return f"{year:04}{week[1]}W{number:02}" + (f"{week[1]}{day}" if week[2] else "")
    if found is None:
        return at.isoformat()
    _, dash, _, _, sep, hour, colon, minute, second, fraction, offset = found.groups()
    text = f"{at.year:04}{dash}{at.month:02}{dash}{at.day:02}"
    if hour:
        text += f"{sep}{at.hour:02}"
        text += f"{colon}{at.minute:02}" if minute else ""
        text += f"{second[:-2]}{at.second:02}" if second else ""
        text += f"{fraction[0]}{at.microsecond:06}"[: len(fraction)] if fraction else ""
    if offset:
        away = at.utcoffset() or timedelta(0)
        if offset == "Z" and not away:
            return text + "Z"
        sign, minutes = "+-"[away < timedelta(0)], abs(round(away.total_seconds() / 60.0))
        mark = ":" if ":" in offset or offset == "Z" else ""
        text += f"{sign}{minutes // 60:02}{mark}"
        text += f"{minutes % 60:02}" if mark or len(offset) > 3 or minutes % 60 else ""
    return text


def _number(value: float, like: str) -> str:
    try:
        whole = str(int(like)) == like.strip()
    except ValueError:
        whole = False
    return str(round(value)) if whole and value == round(value) else f"{value:.12g}"


def zone_of(cell: Any) -> str | None:
    """Return the name of a date's time zone, where it has one."""
    zone = cell.tzinfo if isinstance(cell, datetime) else None
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)
    return name if isinstance(name, str) else None

"""Times to come: the spacing of rows, and the texts of rows that would follow."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from stillpoint.commands.dates import moment, read, written
from stillpoint.series.seasons import DAY
from stillpoint.series.seasons import calendar as suggested
from stillpoint.series.spacing import LONGEST, Dates, unit
from stillpoint.series.weeks import Week

RECENT = 24  # times from which days of months are told
# what to do about times that a clock shows twice
OFFSETS = "write times with their offset from UTC, as 2025-10-26T02:00+01:00"
SET_BACK = f"if clocks were set back then, {OFFSETS}"
_ISO = re.compile(
    r"(\d{4})(-?)(\d\d)-?(\d\d)(?:([T ])(\d\d)(:?)(\d\d)?(:?\d\d)?([.,]\d+)?)?(Z|[+-]\d\d.*)?"
)
_WEEK = re.compile(r"\d{4}(-?)W\d\d(-?\d)?")
_MONTHS = "January February March April May June July August September October November December"


def season_of(gap: float | None, week: Week | None = None) -> int:
    """Return how many rows a season has, for rows so many seconds apart; 0 where none is known.

    week: the phases of the week that have rows, where not all have.
    """
    found = week.periods() if week is not None else suggested(gap) if gap else ()
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
        self._last, self._dated, self._gap = texts[-1], dated, gap
        self._texts, self._form = texts, form
        # Python leaves fractions of a second out where they are 0
        self._like = next((text for text in texts[::-1] if {*".,"} & {*text}), self._last)
        if dated:
            past = [moment(text, form) for text in texts]
            clocked = ":" in self._last or any(at.hour or at.minute for at in past)
            self._dates = Dates(past, gap, week, clocked, zone_named(zone))

    def text(self, slots: int) -> str:
        """Return the time so many slots after the last row, or before it."""
        if not self._dated:
            return _number(float(self._last) + slots * self._gap, self._last)
        if self._form is not None:
            return written(self.moment(slots), self._form, self._texts)
        return write(self.moment(slots), self._like)

    def number(self, text: str) -> float:
        """Return a time as a number: dates in seconds since 1970."""
        return read(text, self._form) if self._dated else float(text)

    def moment(self, slots: int) -> datetime:
        """Return the date so many slots after the last row, or before it."""
        return self._dates.at(slots)

    @property
    def utc_offset(self) -> float | None:
        """How many seconds the clock of the last row is ahead of UTC; None without a zone."""
        away = self.moment(0).utcoffset() if self._dated else None
        return None if away is None else away.total_seconds()

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


def zone_like(texts: Sequence[str]) -> str | None:
    """Return a time zone whose clock shows these times, among them some where it was changed."""
    times = [datetime.fromisoformat(text.strip()) for text in texts]
    for name in sorted(available_timezones()) if times else ():
        zone = zone_named(name)
        if zone and all(at.astimezone(zone).utcoffset() == at.utcoffset() for at in times):
            return name
    return None


def set_back(at: datetime) -> bool:
    """Whether a date without a zone is in an hour that clocks somewhere have shown twice."""
    zones = () if at.tzinfo is not None else map(zone_named, available_timezones())
    for zone in filter(None, zones):
        first, second = (at.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
        if (first.utcoffset() or timedelta(0)) > (second.utcoffset() or timedelta(0)):
            return True
    return False


def zone_named(name: str | None) -> tzinfo | None:
    """Return the time zone of that name; None where there is none."""
    try:
        return None if name is None else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return None


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
    return str(round(value)) if whole and value == round(value) else f"{value:.15g}"


def zone_of(cell: Any) -> str | None:
    """Return the name of a date's time zone, where it has one."""
    zone = cell.tzinfo if isinstance(cell, datetime) else None
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)
    return name if isinstance(name, str) else None

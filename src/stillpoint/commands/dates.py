"""Dates in other forms than ISO's: told from the first of a column, or given by `--date-format`."""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import numpy as np

from stillpoint.commands.cells import is_date, missing, seconds, time_kind
from stillpoint.commands.errors import InputError, RowError, show_cell, show_name

# the usual forms; where day and month could be either, values tell
_DAYS = (
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d.%m.%Y",
    "%m.%d.%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d %b %Y",
    "%d-%b-%Y",
    "%b %d, %Y",
    "%d %B %Y",
    "%B %d, %Y",
    "%Y-%m",
    "%m/%Y",
    "%b %Y",
    "%B %Y",
    "%Y/%m",
    "%YQ%q",  # quarters, which strptime has no letter for
    "%Yq%q",
    "%Y-Q%q",
    "%Y Q%q",
    "Q%q %Y",
)
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", "T%H:%M:%S")
_FORMS = (*(day + clock for day in _DAYS for clock in _CLOCKS), "%Y-%m-%d %H:%M:%S UTC")
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)\b", re.ASCII)
NO_DAY = "there is no such day, so repair it, or leave the row out"
REMEDY = "write ISO dates such as 2025-01-31, or give --date-format such as %d.%m.%Y"


def check_format(given: str | None) -> None:
    """Refuse a `--date-format` that cannot tell dates."""
    if given is None:
        return
    if "%Z" in given:
        raise InputError(
            f"--date-format must have no %Z, which cannot be written again: got {given!r}; spell"
            f" the zone, as {given.replace('%Z', 'UTC')!r}, or give %z for offsets such as +0100"
        )
    try:
        good = "%" in given and _read(_write(_EXAMPLE, given), given).year > 1900
    except (TypeError, ValueError):
        good = False
    if not good:
        raise InputError(
            f"--date-format must have a year and what else tells a date: got {given!r}; give it"
            " such as %d.%m.%Y or '%m/%d/%Y %H:%M'"
        )


_EXAMPLE = datetime(2025, 11, 30, 13, 45, 59, tzinfo=UTC)


def recognised(cells: Sequence[Any], name: str) -> tuple[str | None, str | None]:
    """Return the form of a column of dates; None for ISO's, and for what is no text.

    And the first of the dates where all are the same in another form, as 01/01/2024 is: later ones
    tell, if they are looked at behind it. RowError for a column that could be in two forms.
    """
    first = cells[0]
    if not isinstance(first, str) or is_date(first) or missing(first):
        return None, None
    forms = [form for form in _FORMS if _fits(first, form)]
    if len(forms) < 2:
        return next(iter(forms), None), None
    # what is a date in none of them is refused with its row, later
    texts = [cell for cell in cells if isinstance(cell, str) and _fits_any(cell, forms)]
    able = [form for form in forms if all(_fits(text, form) for text in texts)]
    able = able or forms
    if len(able) > 1:
        able = [form for form in able if _increases(texts, form)] or able
    either = next((text for text in texts if _differs(text, able)), None)  # 01/01 does not tell
    if either is not None:
        both = " or ".join(able[:2])
        raise RowError(
            0,
            f"column {show_name(name)} must tell day and month apart: got {show_cell(either)},"
            f" which could be {both}; give --date-format {_quoted(able[0])} or {_quoted(able[1])}",
            undecided=True,
        )
    return able[0], first if len(able) > 1 else None


class Written(NamedTuple):
    """How a column of times is written.

    kind: "number" or "date". form: of dates that are not ISO's. open: a date that is in another
    form, too, where no other has told them apart.
    """

    kind: str
    form: str | None
    open: str | None = None


def kind_and_form(given: Sequence[Any], name: str, form: str | None = None) -> Written:
    """Return how a column of times is written, told from its first cells, none of them missing.

    form: the one given, if any. RowError where a form could be another.
    """
    kind, first = time_kind(given[0]), None
    if form is None and kind == "number":
        form = digits(given)
    elif form is None:
        form, first = recognised(given, name)
    return Written("number" if kind == "number" and form is None else "date", form, first)


def digits(cells: Sequence[Any]) -> str | None:
    """Return the form of numbers that are all dates, as 20250131 or 202501 are; None for others.

    One alone tells if it has a day.
    """
    texts = {str(cell).strip() for cell in cells}
    for form, length in ("%Y%m%d", 8), ("%Y%m", 6):
        if all(len(text) == length and text[:2] in ("19", "20") for text in texts) and all(
            text.isdecimal() and _fits(text, form) for text in texts
        ):
            return form if len(texts) > 1 or length == 8 else None
    return None


def read(cell: Any, form: str | None, zoned: bool | None = None) -> float:
    """Return seconds since 1970 of a date in that form; None stands for ISO's."""
    if form is None:
        return seconds(cell, zoned)
    return seconds(moment(cell, form))


def moment(cell: Any, form: str | None) -> datetime:
    """Return a date as it was written, in that form."""
    text = str(cell).strip()
    return datetime.fromisoformat(text) if form is None else _read(text, form)


def written(at: datetime, form: str, like: Sequence[str]) -> str:
    """Return a date in that form, without zeros before digits where others have none."""
    text = _write(at, form)
    padded = all(_write(moment(one, form), form) == one.strip() for one in like)
    marks = r"[\d:.]" if "%f" in form else r"[\d:]"  # after these a zero stays
    bare = re.sub(rf"(?<!{marks})0(?=\d)", "", text)
    return text if padded else bare


def no_such_day(cell: Any, form: str | None) -> bool:
    """Whether a cell is written as a date in that form, of a day that there is not."""
    found = _DAY.match(str(cell).strip()) if form is None else None
    try:
        if found is not None:
            date(*map(int, found.groups()))
        elif form is not None:
            _read(str(cell).strip(), form)
    except ValueError as error:  # strptime has one type of error for all that is wrong
        return found is not None or "out of range" in str(error)
    return False


def what_is_wrong(name: str, form: str | None) -> tuple[str, str]:
    """Return what a column of dates must hold, and what to do about a cell that is none."""
    if form is None:
        return f"column {show_name(name)} must hold ISO dates", REMEDY
    return f"column {show_name(name)} must hold dates as {form}", "repair it"


def _read(text: str, form: str) -> datetime:
    """As `strptime`, with %q for the quarter of a year; its first day is meant."""
    if "%q" not in form:
        return datetime.strptime(text, form)
    parts = re.escape(form).replace("%Y", r"(?P<year>\d{4})", 1).replace("%q", "(?P<q>[1-4])", 1)
    found = re.fullmatch(parts, text, re.ASCII)
    if found is None or "year" not in found.groupdict():
        raise ValueError(f"a date must be a quarter as {form}: got {text!r}")
    return datetime(int(found["year"]), 3 * int(found["q"]) - 2, 1)


def _write(at: datetime, form: str) -> str:
    return at.strftime(form.replace("%q", str((at.month + 2) // 3)))


def _fits(text: str, form: str) -> bool:
    try:
        _read(text.strip(), form)
    except ValueError:
        return missing(text)
    return True


def _fits_any(text: str, forms: Sequence[str]) -> bool:
    return any(_fits(text, form) for form in forms)


def _differs(text: str, forms: Sequence[str]) -> bool:
    """Whether a date is another one in another form."""
    if missing(text):
        return False
    return len({read(text, form) for form in forms if _fits(text, form)}) > 1


def _increases(texts: Sequence[str], form: str) -> bool:
    times = [read(text, form) for text in texts if not missing(text) and _fits(text, form)]
    return bool((np.diff(times) >= 0.0).all())


def _quoted(form: str) -> str:
    return f"'{form}'" if " " in form else form

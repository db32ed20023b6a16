"""Times as people have them: numbers, dates of any library, text in ISO form.

All become numbers, dates in seconds since 1970. Dates without a time zone count as universal time;
periods count from their start.
"""

import math
import re
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.array import Array

_CONVERT = "convert them first, with pandas.to_datetime or numpy.datetime64"


def seconds(time: Any) -> tuple[Any, bool]:
    """A time, or times, as numbers, and whether they were dates: then in seconds."""
    if time is None or isinstance(time, int | float | np.number):
        return time, False
    if _is_date(time):
        return _one("time", time), True
    try:
        given = np.asarray(time)
    except ValueError:
        raise ValueError(
            f"times must be one-dimensional: got {type(time).__name__} of several lengths; pass"
            " one time a round"
        ) from None
    if given.dtype.kind == "M":
        return _vector(given), True
    if given.dtype.kind in "USTmO" and given.size:
        name = "times" if given.ndim else "time"
        if _is_date(given.flat[0]):
            return _many(name, given), True
        for one in given.flat:
            if not isinstance(one, Real | Decimal):
                raise ValueError(f"{name} must be numbers or dates: got {one!r}; {_CONVERT}")
    return time, False


def text(time: float, dates: bool) -> str:
    """A time for a message: dates in ISO form, without what is 0 in them."""
    if not dates or not abs(time) < 1e11:
        return str(time)
    said = str(np.datetime64(round(time * 1e6), "us"))
    return said.removesuffix(".000000").removesuffix("T00:00:00")


def increase(numbers: Any, given: Any) -> None:
    """Refuse times, as numbers and as they were given, of which one is no later than before."""
    values = np.asarray(numbers)
    steps = np.diff(values) if values.ndim == 1 and values.dtype.kind in "iuf" else np.empty(0)
    for i in np.flatnonzero(steps <= 0.0)[:1] + 1:
        rows = given if isinstance(given, Sequence) else list(given)
        before = f"{rows[i - 1]} in row {i - 1}"
        raise ValueError(late("times", f"{rows[i]} in row {i}", before, bool(steps[i - 1] == 0.0)))


def late(name: str, time: str, last: str, same: bool) -> str:
    """The message about a time that is not after the last; rows count from 0."""
    remedy = "sort the rows by time"
    if same:
        remedy = "keep one row a time (the last, or their mean), or give times in a finer unit"
    return f"{name} must increase: got {time} after {last}; {remedy}"


def _is_date(one: Any) -> bool:
    period = hasattr(one, "to_timestamp") and hasattr(one, "ordinal")  # of pandas
    return period or isinstance(one, date | np.datetime64 | str)


def _many(name: str, given: NDArray[Any]) -> Array:
    """Dates one by one: of objects and text, with time zones all of them or none."""
    aware = None
    for one in given.flat:
        if not _is_date(one):
            raise ValueError(f"{name} must be dates, all of them: got {one!r}; {_CONVERT}")
        if one == one and not isinstance(one, str):
            zone = getattr(one, "tzinfo", None) is not None
            if aware not in (None, zone):
                raise ValueError(
                    f"{name} must have a time zone, all or none of them: got {one}; localize them,"
                    " with tz_localize or replace(tzinfo=...)"
                )
            aware = zone
    values = np.array([_one(name, one) for one in given.flat], dtype=np.float64)
    return values.reshape(given.shape)


def _one(name: str, time: Any) -> float:
    """One date in seconds; NaN: not a time."""
    if isinstance(time, str):
        time = _parsed(name, time)
    elif not isinstance(time, date | np.datetime64):
        time = time.to_timestamp()  # the start of a pandas.Period
    if time != time:
        return math.nan
    if isinstance(time, datetime) and time.tzinfo:
        return time.timestamp()
    return float(_vector(np.datetime64(time)))


def _parsed(name: str, written: str) -> Any:
    """A date in ISO form: 2024-03, 2024-03-01, 2024-03-01T12:30, with a zone or without."""
    try:
        if re.fullmatch(r"\d{4}-\d{2}", written):
            return np.datetime64(written)
        return datetime.fromisoformat(written)
    except ValueError:
        raise ValueError(
            f"{name} must be numbers or dates, as text in ISO form such as 2024-03-01T12:30: got"
            f" {written!r}; {_CONVERT}"
        ) from None


def _vector(time: Any) -> Any:
    number = time.astype("datetime64[us]").astype(np.int64) / 1e6
    return np.where(np.isnat(time), np.nan, number)[()]

"""Single values of rows: numbers, what is missing, and times."""

import math
from collections.abc import Hashable
from datetime import UTC, date, datetime
from numbers import Real
from typing import Any

import numpy as np

from stillpoint.beliefs._kalman import LIMIT


def missing(value: Any) -> bool:
    """Whether a value is None, NaN or what pandas calls NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and value != value


def number(name: Hashable, value: Any) -> float:
    """Return the value of a feature as a float, NaN where it is missing."""
    if missing(value):
        return math.nan
    if isinstance(value, np.timedelta64):  # to NumPy whole numbers
        raise ValueError(
            f"x[{name!r}] must be a number: got the duration {value!r}; divide it by a unit, such"
            " as np.timedelta64(1, 's')"
        )
    if isinstance(value, date | np.datetime64):
        raise ValueError(
            f"x[{name!r}] must be a number: got the date {value!r}; name it as the clock of the"
            f" model, time={name!r}, or give numbers made of it, such as its hour or weekday"
        )
    if not isinstance(value, Real | np.bool_):
        raise ValueError(
            f"x[{name!r}] must be a number: got {value!r}; encode categories first, as with river's"
            " OneHotEncoder"
        )
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not -LIMIT <= result <= LIMIT:
        raise ValueError(
            f"x[{name!r}] must be within ±{LIMIT:g}: got {value!r}; rescale it or leave it out"
        )
    return result


def column(name: Hashable, values: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a column of a table as floats, NaN where a value is missing."""
    cells = np.asarray(values)
    if cells.dtype.kind in "biuf":
        numbers = cells.astype(np.float64)
        for value in numbers[np.abs(numbers) > LIMIT][:1]:
            number(name, float(value))
        return numbers
    if cells.dtype.kind == "M":
        cells = cells[:1]
    return np.array([number(name, value) for value in cells], dtype=np.float64)


def is_date(value: Any) -> bool:
    """Whether a value is a date or a time of day on one."""
    return isinstance(value, date | np.datetime64) and not missing(value)


def date64(when: Any) -> Any:
    """Return a date as numpy's, without a zone.

    One without a zone is read as UTC: local time would go back in autumn, and differ from machine
    to machine.
    """
    if isinstance(when, np.datetime64):
        return when.astype("datetime64[us]")
    if isinstance(when, datetime) and when.tzinfo is not None:
        when = when.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(when, "us")


def moment(name: Hashable, when: Any) -> float:
    """Return a time, a number or a date, as a float; dates in seconds."""
    if is_date(when):
        found = date64(when)
        if not np.isnat(found):
            return float(found.astype(np.int64)) / 1e6
    elif isinstance(when, Real) and not isinstance(when, np.timedelta64) and math.isfinite(when):
        return float(when)
    raise ValueError(
        f"x[{name!r}] must be a number or a date: got {when!r}; convert the times first"
    )

"""From cells to numbers, times and keys: what all commands that read rows agree on."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, NoReturn

import numpy as np

from stillpoint.commands.errors import RowError, show_cell, show_name
from stillpoint.core.validation import Array
from stillpoint.core.words import MISSING

_COMMAS = re.compile(r"[-+]?\d[\d.]*(,\d+)+(\.\d+)?")  # a decimal comma, or thousands set apart
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+\.\d+|[-+]?\d{1,3}(,\d{3}){2,}")  # for certain
_MILLIONS = re.compile(r"[-+]?\d{1,3}(\.\d{3}){2,}")  # thousands set apart by points
_PERCENT = re.compile(r"[-+]?[\d.,]*\d ?%")
_PLAIN = r"(\d{1,3}([\s'’.,]\d{3})+|\d+)([.,]\d+)?"
_DRESSED = re.compile(  # with a currency, in brackets, a sign behind, or spaces between thousands
    rf"[-+]?[$€£¥₹]\s?[-+]?{_PLAIN}|[-+]?{_PLAIN}\s?[$€£¥₹]|\([$€£¥₹]?{_PLAIN}\s?[$€£¥₹]?\)"
    rf"|{_PLAIN}-|[-+]?\d{{1,3}}([\s'’]\d{{3}})+([.,]\d+)?"
)
Reasons = dict[int, str]  # why a row cannot be used, by its place
_EPOCH, _SECOND = datetime(1970, 1, 1, tzinfo=UTC), 1e-6


def missing(cell: Any) -> bool:
    """Whether a cell stands for no value."""
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING
    return cell is None or (isinstance(cell, float) and cell != cell)


def read_number(cell: Any) -> float:
    """Return a number in the digits 0 to 9, not in others that `float` knows.

    Nor is it one in Python's 12_0, which in a file is a code.
    """
    if (isinstance(cell, str) and ("_" in cell or not cell.strip().isascii())) or (
        isinstance(cell, bytes) and b"_" in cell
    ):
        raise ValueError(f"a number must have no underscore, and the digits 0 to 9: got {cell!r}")
    return float(cell)


def read_flag(cell: Any) -> float:
    """Return a number, or a truth value by name."""
    if isinstance(cell, str) and cell.strip().lower() in ("true", "false"):
        return float(cell.strip().lower() == "true")
    return read_number(cell)


def meant_number(cell: Any) -> str:
    """Say how to write a number that is spelled in an odd way; "" for other cells."""
    text = cell.strip() if isinstance(cell, str) else ""
    if _PERCENT.fullmatch(text):
        return "write numbers without a percent sign"
    if not text.isascii() and _is_float(text):
        return "write numbers in the digits 0 to 9"
    if _COMMAS.fullmatch(text):
        mark = "thousands" if _THOUSANDS.fullmatch(text) else "decimal"
        points = ", thousands='.'" if "." in text.partition(",")[0] else ""
        return (
            "write decimal points, and no commas between thousands, or give sp.track what"
            f" pandas.read_csv(…, {mark}=','{points}) reads"
        )
    if _MILLIONS.fullmatch(text):
        return (
            "write no points between thousands, or give sp.track what pandas.read_csv(…,"
            " thousands='.') reads"
        )
    if _DRESSED.fullmatch(text):
        return "write numbers as -1234.5, without a currency, brackets or spaces"
    return ""


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def seconds(cell: Any, zoned: bool | None = None) -> float:
    """Return seconds since 1970; a date without a zone counts as UTC.

    zoned: whether it must have a zone, or must have none.
    """
    moment = datetime.fromisoformat(cell.strip()) if type(cell) is str else _moment(cell)
    if moment.tzinfo is None:
        if zoned:
            raise ValueError(f"a date must have a time zone: got {cell!r}")
        moment = moment.replace(tzinfo=UTC)
    elif zoned is False:
        raise ValueError(f"a date must have no time zone: got {cell!r}")
    gap = moment - _EPOCH
    return gap.days * 86400.0 + gap.seconds + gap.microseconds * _SECOND


def has_zone(cell: Any) -> bool | None:
    """Whether a date has a time zone; None for what is no date."""
    try:
        return _moment(cell).tzinfo is not None
    except (TypeError, ValueError):
        return None


def _moment(cell: Any) -> datetime:
    if isinstance(cell, date) and not isinstance(cell, datetime):
        return datetime(cell.year, cell.month, cell.day)
    return cell if isinstance(cell, datetime) else datetime.fromisoformat(str.strip(cell))


def mixed_zones(name: str, cell: Any, zoned: bool) -> str:
    """Say what is wrong with a date that, unlike those before it, has a time zone, or has none."""
    others = "the dates before it have one" if zoned else "the dates before it have none"
    what = (
        f"column {show_name(name)} must hold dates that all have a time zone, or all have none: got"
        f" {show_cell(cell)}"
    )
    return f"{what}, and {others}; write all in one way, such as 2025-01-31T08:00+00:00"


def is_date(cell: Any) -> bool:
    """Whether a cell is a date, or one in text as ISO has it."""
    try:
        seconds(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def read_column(
    cells: Sequence[Any], read: Callable[[Any], float], refuse: Callable[[int, Any], None]
) -> Array:
    """Return a column in numbers, NaN where a cell is missing.

    read: one of the above, for a cell. refuse: called with place and cell where one cannot be read;
    if it returns, that one counts as missing.
    """
    # then they read what `float` does, and more
    if read in (read_number, read_flag) and not _odd(cells):
        try:
            return np.array(list(map(float, cells)))
        except (TypeError, ValueError, OverflowError):
            pass
    result = np.full(len(cells), math.nan)
    for i, cell in enumerate(cells):
        try:
            if cell != "" and not missing(cell):
                result[i] = read(cell)
        except (TypeError, ValueError, OverflowError):
            refuse(i, cell)
    return result


def _odd(cells: Sequence[Any]) -> bool:
    """Whether some text may be a number to Python alone: one look at the column or its types."""
    try:
        text = "".join(cells)
        return "_" in text or not text.isascii()
    except TypeError:
        return not {str, bytes}.isdisjoint(map(type, cells))


def time_kind(cell: Any) -> str:
    """Whether a time is a "number" or a "date"."""
    try:
        read_number(cell)
    except (TypeError, ValueError):
        return "date"
    except OverflowError:  # a whole number of JSON beyond all floats, which is refused as a number
        pass
    return "number"


def read_numbers(
    cells: Sequence[Any], name: str, limit: float, remedy: str, dated: str = ""
) -> Array:
    """Return a column of numbers, NaN where a cell is missing; RowError for one that is neither.

    remedy: for a cell that is no number; dated: for one that is a date.
    """

    def told(cell: Any) -> str:
        return meant_number(cell) or (dated if is_date(cell) else "") or remedy

    result = read_column(
        cells, read_flag, refusing(f"column {show_name(name)} must be numeric", told)
    )
    if not (np.abs(result) <= limit).all() and (np.abs(result) > limit).any():
        at = int(np.argmax(np.abs(result) > limit))
        raise RowError(
            at,
            f"column {show_name(name)} must be within ±{limit:g}: got {show_cell(cells[at])};"
            " rescale or drop it",
        )
    return result


def refusing(what: str, remedy: Callable[[Any], str]) -> Callable[[int, Any], NoReturn]:
    """Return what refuses a cell by its row. remedy: for the cell."""

    def refuse(index: int, cell: Any) -> NoReturn:
        raise RowError(index, f"{what}: got {show_cell(cell)}; {remedy(cell)}") from None

    return refuse


def read_floats(
    cells: Sequence[Any],
    name: str,
    reasons: Reasons,
    read: Callable[[Any], float] = read_number,
    what: str = "a number",
) -> Array:
    """Return a column of numbers, NaN where a cell is missing or, with a reason, unreadable."""

    def refuse(row: int, cell: Any) -> None:
        got = show_cell(cell)
        reasons.setdefault(
            row,
            f"column {show_name(name)} must hold {what}: got {got};"
            f" {meant_number(cell) or 'repair it, or leave it empty'}",
        )

    return read_column(cells, read, refuse)


def read_times(
    cells: Sequence[Any], name: str, kind: str, zoned: bool | None, reasons: Reasons
) -> Array:
    """Return times as numbers, dates as seconds since 1970, with reasons as `read_floats`.

    zoned: whether dates must have a zone, or must have none.
    """
    if kind != "date":
        return read_floats(cells, name, reasons)
    dates = read_floats(cells, name, reasons, partial(seconds, zoned=zoned), "an ISO date")
    for row in reasons.keys() if zoned is not None else ():
        if has_zone(cells[row]) is (not zoned):
            reasons[row] = mixed_zones(name, cells[row], bool(zoned))
    return dates


def first_time_kind(cells: Iterable[Any]) -> str:
    """Whether times are "number" or "date", by the first that is there; "" where none is."""
    first = next((cell for cell in cells if not missing(cell)), None)
    return "" if first is None else time_kind(first)


def first_zone(cells: Iterable[Any]) -> bool | None:
    """Whether dates have a time zone, by the first that is there; None where none is."""
    return next((zone for zone in map(has_zone, cells) if zone is not None), None)


def read_keys(cells: Sequence[Any]) -> Sequence[Any] | np.ndarray[Any, np.dtype[np.int64]]:
    """Return keys as they are; whole numbers alone become an array, which is quicker."""
    if set(map(type, cells)) == {int}:
        try:
            return np.array(cells, np.int64)
        except OverflowError:
            pass
    return list(cells)

"""Checks of arguments: a word of several, a column's name, a share, a whole number."""

import operator
from collections.abc import Sequence
from typing import Any

from stillpoint.commands.errors import ColumnError, InputError, show_name, show_names
from stillpoint.core.words import suggest

# as the learners have them, which are too heavy to be asked here: of a share and of what it leaves;
# how many seasons, and of how many rows
_LEAST, _SEASONS, _LONGEST = 1e-6, 8, 4092
MOST_AHEAD = 10_000  # steps of a horizon


def one_of(option: str, given: str, known: Sequence[str]) -> None:
    """Refuse a word that is not known, with the nearest that is."""
    if given not in known:
        raise InputError(
            f"{option} must be one of {', '.join(known)}: got {given!r}; {suggest(given, known)}see"
            " --help"
        )


def no_column(option: str, what: str, given: str, names: Sequence[str]) -> InputError:
    """Return the error for a name that is not that of a column, with the nearest that is."""
    hint = f"{suggest(given, names)}the columns are {show_names(names)}"
    if not names:
        hint = "there are no other columns, so add one of that name to the data"
    return ColumnError(f"{option} must be {what}: got {show_name(given)}; {hint}")


def share(option: str, given: Any) -> float:
    """Return a share as a float; refuse what is none that a tracker can hold to."""
    value = _number(given)
    if not _LEAST <= value <= 1.0 - _LEAST:
        ends = f"{_LEAST:f} and {1.0 - _LEAST:f}"
        raise InputError(
            f"{option} must be a number between {ends}: got {given!r}; give a share such as 0.9"
        )
    return value


def rate(option: str, given: Any) -> float:
    """Return a rate of alarms as a float; refuse what no detector can hold to."""
    value = _number(given)
    if not _LEAST <= value <= 0.5:
        raise InputError(
            f"{option} must be a number between {_LEAST:f} and 0.5: got {given!r}; give a share of"
            " rows such as 0.001"
        )
    return value


def _number(given: Any) -> float:
    """Return a number as a float; NaN of what is none."""
    try:
        return float("nan" if isinstance(given, str | bytes) else given)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def whole(option: str, given: Any, remedy: str) -> int:
    """Return a whole number as an int; refuse all else."""
    try:
        return int(operator.index(given))
    except TypeError:
        raise InputError(f"{option} must be a whole number: got {given!r}; {remedy}") from None


def horizon(given: Any) -> int:
    """Return how many rows ahead to forecast; refuse what no forecaster can."""
    remedy = "give how many rows ahead to forecast"
    value = whole("--horizon", given, remedy)
    if not 1 <= value <= MOST_AHEAD:
        raise InputError(f"--horizon must be from 1 to {MOST_AHEAD:,}: got {value}; {remedy}")
    return value


def periods(given: str | None) -> str | list[float] | None:
    """Return the seasons that `--season` names, as Forecaster takes them."""
    if given is None or given == "auto":
        return "auto"
    if given == "none":
        return None
    try:
        found = [float(part) for part in given.split(",")]
    except (AttributeError, ValueError):
        found = []
    if not found or not all(2.0 <= period < float("inf") for period in found):
        raise InputError(
            f"--season must be auto, none, or periods of 2 rows or more: got {given!r}; give them"
            " such as 24,168"
        )
    for wrong, what, remedy in (
        (len(set(found)) < len(found), "name each period once", "give them such as 24,168"),
        (len(found) > _SEASONS, f"have at most {_SEASONS} periods", "leave out the least"),
        (
            max(found) > _LONGEST,
            f"be periods of at most {_LONGEST} rows, of which two are kept",
            "leave the longest out, or give coarser rows",
        ),
    ):
        if wrong:
            raise InputError(f"--season must {what}: got {given}; {remedy}")
    return found

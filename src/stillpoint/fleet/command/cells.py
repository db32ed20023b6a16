"""From cells to keys and numbers; what cannot be read is told by row, and the others go on."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from stillpoint._validate import Array
from stillpoint.track.encode import missing, seconds, show_cell

Reasons = dict[int, str]


def floats(
    cells: Sequence[Any], name: str, reasons: Reasons, read: Callable[[Any], float] = float, what: str = "a number"
) -> Array:
    """A column of numbers, NaN where a cell is missing or, with a reason, cannot be read."""
    if read is float:
        try:
            return np.array(list(map(float, cells)))
        except (TypeError, ValueError, OverflowError):
            pass
    result = np.full(len(cells), np.nan)
    for i, cell in enumerate(cells):
        try:
            if cell != "" and not missing(cell):
                result[i] = read(cell)
        except (TypeError, ValueError, OverflowError):
            reasons.setdefault(i, f"column {name!r} must hold {what}: got {show_cell(cell)}; repair it, or leave it empty")
    return result


def times(cells: Sequence[Any], name: str, kind: str, reasons: Reasons) -> Array:
    """Times as numbers: as they are, or dates as seconds since 1970; a date without a zone counts as UTC."""
    return floats(cells, name, reasons, seconds, "an ISO date") if kind == "date" else floats(cells, name, reasons)


def time_kind(cells: Iterable[Any]) -> str:
    """Whether times are "number" or "date", by the first that is there; "" where none is."""
    first = next((cell for cell in cells if not missing(cell)), None)
    if first is None:
        return ""
    try:
        float(first)
    except (TypeError, ValueError):
        return "date"
    except OverflowError:  # a whole number beyond floats
        pass
    return "number"


def keys(cells: Sequence[Any]) -> Sequence[Any] | np.ndarray[Any, np.dtype[np.int64]]:
    """Keys as they are: text stays text; whole numbers alone become an array, which is quicker."""
    if set(map(type, cells)) == {int}:
        try:
            return np.array(cells, np.int64)
        except OverflowError:
            pass
    return list(cells)

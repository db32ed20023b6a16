"""From cells to keys and numbers; what cannot be read is told by row, and the others go on."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from stillpoint.commands import cells as shared
from stillpoint.commands.columns import show_name
from stillpoint.core.validation import Array

Reasons = dict[int, str]


def floats(
    cells: Sequence[Any],
    name: str,
    reasons: Reasons,
    read: Callable[[Any], float] = shared.read_number,
    what: str = "a number",
) -> Array:
    """A column of numbers, NaN where a cell is missing or, with a reason, cannot be read."""

    def refuse(row: int, cell: Any) -> None:
        got = shared.show_cell(cell)
        reasons.setdefault(
            row,
            f"column {show_name(name)} must hold {what}: got {got}; repair it, or leave it empty",
        )

    return shared.read_column(cells, read, refuse)


def times(
    cells: Sequence[Any], name: str, kind: str, zoned: bool | None, reasons: Reasons
) -> Array:
    """Times as numbers: as they are, or dates as seconds since 1970; a date without a zone counts
    as UTC.

    zoned: whether dates must have a zone, or must have none.
    """
    if kind != "date":
        return floats(cells, name, reasons)
    dates = floats(cells, name, reasons, partial(shared.seconds, zoned=zoned), "an ISO date")
    for row in reasons.keys() if zoned is not None else ():
        if shared.has_zone(cells[row]) is (not zoned):
            reasons[row] = shared.mixed_zones(name, cells[row], bool(zoned))
    return dates


def time_kind(cells: Iterable[Any]) -> str:
    """Whether times are "number" or "date", by the first that is there; "" where none is."""
    first = next((cell for cell in cells if not shared.missing(cell)), None)
    return "" if first is None else shared.time_kind(first)


def zoned(cells: Iterable[Any]) -> bool | None:
    """Whether dates have a time zone, by the first that is there; None where none is."""
    return next((zone for zone in map(shared.has_zone, cells) if zone is not None), None)


def keys(cells: Sequence[Any]) -> Sequence[Any] | np.ndarray[Any, np.dtype[np.int64]]:
    """Keys as they are: text stays text; whole numbers alone become an array, which is quicker."""
    if set(map(type, cells)) == {int}:
        try:
            return np.array(cells, np.int64)
        except OverflowError:
            pass
    return list(cells)

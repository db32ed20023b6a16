"""Predictions as text."""

from stillpoint.commands.encode import Rows
from stillpoint.commands.sink import cell, lines, quoted
from stillpoint.core.validation import Array


def text_of(row: int, rows: Rows, forecasts: Array, band: tuple[Array, Array] | None) -> bytes:
    """Return rows of predictions.csv from number `row` on."""
    numbers = [str(i) for i in range(row, row + forecasts.size)]
    times = numbers if rows.time_texts is None else list(map(quoted, rows.time_texts))
    targets = list(
        map(cell, rows.y.tolist()) if rows.y_texts is None else map(quoted, rows.y_texts)
    )
    plays = [list(map(repr, play.tolist())) for play in (forecasts, *(band or ()))]
    return lines([numbers, times, targets, *plays], "" if band else ",,")

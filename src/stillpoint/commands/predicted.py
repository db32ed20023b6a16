"""What is written of a run beside its summary: predictions, steps ahead, and the page."""

import os
from pathlib import Path
from typing import Any

from stillpoint.commands.encode import Rows
from stillpoint.commands.history import History
from stillpoint.commands.options import TrackOptions
from stillpoint.commands.sink import cell, lines, quoted
from stillpoint.commands.summary import plain
from stillpoint.core.container import places, replace
from stillpoint.core.validation import Array

FORECAST, REPORT, ALERTS = "forecast.csv", "report.html", "alerts.jsonl"
METRICS = "metrics.prom"


def text_of(row: int, rows: Rows, forecasts: Array, band: tuple[Array, Array] | None) -> bytes:
    """Return rows of predictions.csv from number `row` on."""
    numbers = [str(i) for i in range(row, row + forecasts.size)]
    times = numbers if rows.time_texts is None else list(map(quoted, rows.time_texts))
    targets = list(
        map(cell, rows.y.tolist()) if rows.y_texts is None else map(quoted, rows.y_texts)
    )
    plays = [list(map(repr, play.tolist())) for play in (forecasts, *(band or ()))]
    return lines([numbers, times, targets, *plays], "" if band else ",,")


def write_forecast(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write forecast.csv."""
    columns = [
        [str(row["step"]) for row in rows],
        [quoted(row["time"] or "") for row in rows],
        *([cell(row[name]) for row in rows] for name in ("forecast", "lo", "hi")),
    ]
    replace(path, b"step,time,forecast,lo,hi\n", lines(columns))


def draw_page(
    options: TrackOptions, history: History, summary: dict[str, Any], notes: list[str]
) -> bool:
    """Draw the page; return whether it is there. A note says why where it is not."""
    path, temporary = places(options.out / REPORT)
    try:
        from stillpoint.report.page import write_page

        title = f"Forecasting {options.target}"
        write_page(temporary, history, plain({**summary, "notes": notes}), title)
        os.replace(temporary, path)
    except OSError as error:
        notes.append(f"report.html was left out: {error.strerror or error}; run the command again")
        raise
    except Exception as error:  # a page that cannot be drawn must not lose the numbers
        notes.append(
            f"report.html was left out: {type(error).__name__}: {error}; reinstall stillpoint"
        )
        return False
    finally:
        temporary.unlink(missing_ok=True)
    return True

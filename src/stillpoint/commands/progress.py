"""How far a run is, on the terminal."""

from contextlib import ExitStack
from typing import Any

from stillpoint.core.terminal import console


def progress(stack: ExitStack, size: int | None, bar: bool) -> Any:
    """A bar on a terminal, by bytes where the size is known."""
    if not bar:
        return lambda rows, position: None
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.fields[rows]:,} rows"), BarColumn(), TimeRemainingColumn()
    progress = stack.enter_context(Progress(*columns, console=console(err=True), transient=True))
    task = progress.add_task("", total=size, rows=0)
    return lambda rows, position: progress.update(task, completed=position, rows=rows)

"""What the bench commands have in common: options, and what becomes of a result."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stillpoint.commands.shared import print_json, report, show
from stillpoint.core.extras import require
from stillpoint.core.terminal import tell

if TYPE_CHECKING:
    from stillpoint.report.grid import Grid

Jobs = Annotated[int, typer.Option(min=1, help="Processes.")]


def several(flag: str, what: str, default: str = "", *, least: int | None = None) -> Any:
    """An option that may be given more than once; `least` is for whole numbers."""
    left_out = f" Default: {default}." if default else ""
    return typer.Option(flag, min=least, help=f"{what}; repeat for more.{left_out}")


def figures_can_be_drawn(out: Path | None) -> None:
    """Raise before hours of work if the figures that --out asks for could not be drawn."""
    if out is not None:
        require("matplotlib", "--out", "lab")


@contextmanager
def named_packages() -> Iterator[None]:
    """What is asked for by name and its package is missing: a wrong argument, not a crash."""
    try:
        yield
    except ImportError as error:
        raise ValueError(str(error)) from None


def deliver(
    result: Any,
    grids: list["Grid"],
    out: Path | None,
    json: bool,
    command: str,
    notes: Iterable[str] = (),
) -> None:
    """Write a result's files where --out says, and print it: as JSON, or tables and notes.

    Its page says which command made it.
    """
    result.settings["command"] = command
    files = result.save(out) if out else []
    if json:
        print_json(result.to_dict())
        return
    show(grids)
    for note in notes:
        tell(note)
    report(files)

"""`stillpoint bench real`: tables on the terminal, files with --out, or JSON."""

from collections.abc import Sequence
from pathlib import Path

from stillpoint.core.terminal import console, tell, tell_json
from stillpoint.lab.real.bench import real_bench


def run(
    streams: Sequence[str] = (),
    out: Path | None = None,
    rounds: int = 5000,
    json: bool = False,
    task: str | None = None,
    progress: bool = True,
    command: str = "stillpoint bench real",
) -> list[Path]:
    """Play, show and write; returns the files.

    json: print all scores as JSON instead of tables, without a progress bar.

    command: what the page says made it.
    """
    from stillpoint.lab.real.report import grids

    try:
        result = real_bench(streams, task=task, rounds=rounds, progress=progress and not json)
    # a stream asked for by name whose package is missing: a wrong argument, not a crash
    except ImportError as error:
        raise ValueError(str(error)) from None
    result.settings["command"] = command
    if json:
        tell_json(result.to_json())
    else:
        screen = console()
        for grid in grids(result):
            if not grid.deep:
                screen.print(grid.rich())
        for note in result.notes:
            tell(note)
    return result.save(out) if out else []

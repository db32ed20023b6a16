"""`stillpoint reproduce`: a table on the terminal, files with --out, or JSON; exit code 1 if a claim does not hold."""

from pathlib import Path

from stillpoint.experiments.reproduce.run import reproduce


def run(out: Path | None = None, quick: bool = False, json: bool = False) -> int:
    """Measure, show and write; returns the exit code.

    json: print the numbers instead of the table, with those of the figures if `out` is given.
    """
    from rich.console import Console
    from rich.markup import escape

    from stillpoint.experiments.reproduce.page import table, verdict

    result = reproduce(out, quick=quick, progress=not json)
    if json:
        print(result.to_json())
        return result.exit_code
    console = Console()
    console.print(table(result))
    for row in result.failures:
        console.print(f"[bold red]✗ {escape(row.name)}[/]: {escape(verdict(row))}")
    wrote = "\n".join(f"wrote {file}" for file in result.files)
    console.print(wrote or "give --out DIR for the page, the figures and all numbers", markup=False)
    return result.exit_code

"""`stillpoint reproduce`: a table on the terminal, files with --out, or JSON."""

from pathlib import Path

from stillpoint.core.terminal import console, shown, styled, tell, tell_json
from stillpoint.lab.reproduce.run import reproduce


def run(out: Path | None = None, quick: bool = False, json: bool = False) -> int:
    """Measure, show and write; returns the exit code.

    json: print the numbers instead of the table, with those of the figures if `out` is given.
    """
    from stillpoint.lab.reproduce.page import table, verdict

    result = reproduce(out, quick=quick, progress=not json)
    if json:
        tell_json(result.to_json())
        return result.exit_code
    screen = console()
    screen.print(table(result))
    for row in result.failures:
        screen.print(styled(f"✗ {row.name}", "bold red") + f": {shown(verdict(row))}")
    for file in result.files:
        tell(f"wrote {file}")
    if not result.files:
        tell("give --out DIR for the page, the figures and all numbers")
    return result.exit_code

"""The speed benchmark as Markdown and as tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stillpoint.lab.bench.tables import ordered
from stillpoint.report.grid import Grid

if TYPE_CHECKING:
    from stillpoint.lab.bench.speed import SpeedBench


def speed_markdown(bench: SpeedBench) -> str:
    """The speed benchmark as Markdown."""
    intro = (
        "# µs a round\n\nEvery learner in one run, absolute loss, least of several repeats."
        " Interactive: predict and update. Bulk: `sp.play` on a loss stream; in brackets the"
        " multiple of a bare compiled OGD loop that keeps nothing. Written by"
        f" `{bench.settings.get('command', 'stillpoint bench speed')} --out FOLDER`.\n"
    )
    return "\n".join([intro, *(grid.markdown() for grid in speed_grids(bench))])


def speed_grids(bench: SpeedBench) -> list[Grid]:
    """By dimension, and by age at d = 1."""
    dims, ages = bench.settings["dims"], bench.settings["ages"]
    names = ordered(row.learner for row in bench.rows)
    assumes = {row.learner: row.assumes for row in bench.rows}
    grids = []
    for mode in ("interactive", "bulk"):
        body = []
        for name in names:
            found = [bench.find(name, mode, dim) for dim in dims]
            if any(found):
                body.append(
                    [
                        name,
                        assumes[name],
                        *(
                            "–" if row is None else _microseconds(row.us, row.ratio)
                            for row in found
                        ),
                    ]
                )
        grids.append(
            Grid(
                f"{mode.capitalize()}, µs a round",
                ["learner", "assumes", *(f"d = {d}" for d in dims)],
                body,
            )
        )
    for mode in ("interactive", "bulk"):
        body = []
        for name in names:
            aged = [bench.find(name, mode, 1, age) for age in ages]
            if any(aged):
                first, last = aged[0], aged[-1]
                growth = f"{last.us / first.us:.2f}×" if first and last else "–"
                body.append(
                    [name, *("–" if row is None else _microseconds(row.us) for row in aged), growth]
                )
        header = ["learner", *(f"t = {age:,}" for age in ages), "last / first"]
        grids.append(Grid(f"{mode.capitalize()} after t rounds, d = 1, µs a round", header, body))
    return grids


def _microseconds(us: float, ratio: float | None = None) -> str:
    return f"{us:.3g}" + (
        "" if ratio is None else f" ({ratio:.1f}×)" if ratio < 10 else f" ({ratio:.0f}×)"
    )

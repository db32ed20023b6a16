"""The benchmark on the M4 competition as a table and Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stillpoint.report.grid import Grid

if TYPE_CHECKING:
    from stillpoint.lab.m4.bench import M4Bench


def markdown(bench: M4Bench) -> str:
    """The benchmark as Markdown."""
    told = {
        "auto": "told nothing but the horizon",
        "told": "told the periods of the calendar (24 and 168 hours, 7 days, 52 weeks, 12 months,"
        " 4 quarters)",
    }[bench.settings["season"]]
    limit = bench.settings["limit"]
    cut = f" Only the first {limit} series of each frequency." if limit else ""
    intro = (
        "# The M4 competition\n\n`sp.Forecaster`, pool"
        f" {bench.settings['pool']}, {told}: one pass over each series' training values, nothing"
        " learnt from other series. Measures and Naive2 are the competition's (Makridakis,"
        " Spiliotis and Assimakopoulos, 2020): OWA is the mean of sMAPE and MASE, each over"
        f" Naive2's.{cut} ms a series: its training values and one forecast, the median, several"
        f" processes at once.\n\n`{bench.settings.get('command', 'stillpoint bench m4 DIR')}"
        " --out OUT` makes this page; DIR has the competition's files.\n"
    )
    return "\n".join([intro, *(grid.markdown() for grid in grids(bench))])


def grids(bench: M4Bench) -> list[Grid]:
    """A row a frequency and method."""
    rows = [
        [
            mean.frequency,
            mean.method,
            str(mean.series),
            f"{mean.smape:.3f}",
            f"{mean.mase:.3f}",
            f"{mean.owa:.3f}",
            f"{mean.ms:.3g}",
        ]
        for mean in bench.means()
    ]
    header = ["frequency", "method", "series", "sMAPE", "MASE", "OWA", "ms a series (median)"]
    return [Grid("M4", header, rows)]

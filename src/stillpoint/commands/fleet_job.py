"""What `stillpoint fleet` does of any learner: where its rows come from, and what it refuses."""

from collections.abc import Sequence
from typing import Any

from stillpoint.commands import checkpoint as saved
from stillpoint.commands.errors import Stop
from stillpoint.commands.fleet_options import FleetOptions
from stillpoint.commands.forecasts.output import ALERTS
from stillpoint.commands.session import PREDICTIONS, Job
from stillpoint.commands.sources import (
    Source,
    inputs,
    refuse_deleting_input,
    refuse_folder_of_input,
    refuse_overwriting_input,
)
from stillpoint.commands.summary import SUMMARY

BATCH = 1 << 16  # rows read at once


class FleetJob(Job):
    """A job on the rows of many keys."""

    def __init__(self, options: FleetOptions) -> None:
        self.options: FleetOptions = options
        self.no_rows = f"the input must have rows: got none in {options.source}; check the file"
        self.unused: list[str] = []  # columns that are not read, of all files

    def source(self, stop: Stop) -> Source:
        """See Job."""
        refuse_inputs(self.options)
        o = self.options
        files, keys = inputs(o.source), [o.key]
        return Source(files, self._columns, stop, format=o.format, named=True, words=keys)

    def _columns(self, names: list[str], file: str) -> Sequence[str]:
        self.options.check(names, file)
        self.unused += [name for name in self.options.unused(names) if name not in self.unused]
        return self.options.columns

    @property
    def limit(self) -> int:
        """See Job."""
        return BATCH

    def command(self) -> dict[str, Any]:
        """See Job."""
        return self.options.command()


def refuse_inputs(options: FleetOptions) -> None:
    """Refuse outputs that are the input, or that would be inputs of the next run."""
    spark, ahead = options.engine == "spark", options.learner == "forecaster"
    written: tuple[str, ...] = ("spark.log" if spark else PREDICTIONS, SUMMARY)
    trees: list[tuple[str, ...]] = [("predictions",), ("spark",)] if spark else [(), ()]
    if ahead and spark:
        trees = [("forecasts",), ("spark", "states")]
    elif ahead:
        trees = [("forecasts", "predictions", ".work"), ("rows", "states")]
        written += (ALERTS,)
    for option, folder, names, own in (
        ("--out", options.out, written, trees[0]),
        ("--checkpoint", options.checkpoint, saved.FILES, trees[1]),
    ):
        refuse_folder_of_input(options.source, option, folder)
        for file in inputs(options.source):
            refuse_overwriting_input(file, option, folder, names)
            for tree in own if file != "-" else ():  # what a run before it left there is deleted
                refuse_deleting_input(file, option, folder, tree)

"""One part of a fleet after the other: rows from disk in, forecasts and the state they need out."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stillpoint.commands.errors import InputError
from stillpoint.commands.fleet_options import FleetOptions
from stillpoint.commands.forecasts import alerts, output
from stillpoint.commands.forecasts.intake import Intake
from stillpoint.commands.forecasts.spill import HASHES, Spill
from stillpoint.commands.forecasts.times import Times
from stillpoint.core.container import replace
from stillpoint.fleet.series.parts import Part, header_of
from stillpoint.fleet.series.plan import Plan

KEPT = "states"


class PartPlayer:
    """Plays parts, each by itself, in any order and in several threads.

    Parameters
    ----------
    options, plan, intake, spill
        Of the fleet, and its rows.
    folder
        Where states are kept, if there is a checkpoint.
    parts, runs
        How many parts there are, and how many runs are over.
    """

    def __init__(
        self,
        options: FleetOptions,
        plan: Plan,
        intake: Intake,
        spill: Spill,
        folder: Path,
        parts: int,
        runs: int,
    ) -> None:
        self._options, self._plan, self._spill = options, plan, spill
        self._folder, self._parts, self._runs = folder / KEPT, parts, runs
        self._times, self._types = Times(intake, plan), None
        if "parquet" in (options.forecasts, options.predictions):
            like = intake.like if intake.form is None and plan.dated else None
            self._types = output.Types(intake.numbers, like, plan.dated)

    def play(self, number: int) -> dict[str, Any]:
        """Play a part, unless that is done; return what it comes to.

        Its state is written last, and says that all is done.
        """
        o, runs = self._options, self._runs
        done, before = (self._folder / f"part-{number:05}-{run}" for run in (runs + 1, runs))
        if o.checkpoint is not None and done.exists():
            with _whole(done):
                result: dict[str, Any] = header_of(done.read_bytes())["result"]
                return result
        with _whole(before):
            own = Part(o.settings, self._plan, before.read_bytes() if runs else None)
        rounds, told = own.play(self._spill.load(*hashes(number, self._parts)))
        result = own.result()
        if own.watch is not None:
            result["alerts"] = alerts.candidates(own, rounds, self._times)
        own.header = {"result": result}
        content = own.pack() if o.checkpoint is not None else None
        if o.predictions is not None:
            path = _made(o.out / output.PREDICTIONS) / output.name_of(number, o.predictions, runs)
            types = self._types if o.predictions == "parquet" else None
            output.write_played(path, own, rounds, told, self._times, types)
        path = _made(o.out / output.FORECASTS) / output.name_of(number, str(o.forecasts))
        types = self._types if o.forecasts == "parquet" else None
        output.write_ahead(path, own, self._times, types)
        if content is not None:
            replace(_made(self._folder) / done.name, *content)
        return result


def hashes(number: int, parts: int) -> tuple[int, int]:
    """Return the hashes of a part: from the first on, before the second."""
    return number * HASHES // parts, (number + 1) * HASHES // parts


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Say of a state that cannot be used which it is, and what to do."""
    try:
        yield
    except (ValueError, KeyError, TypeError, FileNotFoundError) as error:
        raise InputError(
            f"the checkpoint must be whole: got {path}, {error}; delete {path.parents[1]} to begin"
            " anew"
        ) from None


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder

"""The commands that compare forecasters: `stillpoint bench series` and `stillpoint bench m4`."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from stillpoint.commands.shared import Json, Out, Quick, asked, plain_errors
from stillpoint.lab.results import Jobs, deliver, named_packages, several

Pool = Annotated[str, typer.Option(help="Of the forecaster: small, middle or full.")]


def series(
    context: typer.Context,
    series: Annotated[
        list[str] | None, several("--series", "A series by name", "all installed")
    ] = None,
    method: Annotated[
        list[str] | None, several("--method", "A method by name", "all installed")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=100, help="Cut series to their first rounds. Default: 6000.")
    ] = None,
    pool: Pool = "full",
    jobs: Jobs = 2,
    out: Out = None,
    quick: Quick = False,
    json: Json = False,
) -> None:
    """Real series, one step and one season ahead: ours beside statsforecast, river and LightGBM."""
    with plain_errors():
        from stillpoint.lab.series.bench import series_bench
        from stillpoint.lab.series.report import grids

        with named_packages():
            result = series_bench(
                series or (),
                method or (),
                rounds=rounds or (400 if quick else 6000),
                pool=pool,
                jobs=jobs,
                progress=not json,
            )
        deliver(result, grids(result), out, json, asked(context), result.notes)


def m4(
    context: typer.Context,
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="Folder with the competition's files: Hourly-train.csv, Hourly-test.csv, …",
        ),
    ],
    frequency: Annotated[
        list[str] | None, several("--frequency", "Yearly, Quarterly, … Hourly")
    ] = None,
    season: Annotated[
        str, typer.Option(help="auto: told nothing; told: the periods of the calendar.")
    ] = "auto",
    pool: Pool = "full",
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first series of each frequency.")
    ] = None,
    jobs: Jobs = 2,
    out: Out = None,
    json: Json = False,
) -> None:
    """The M4 competition's series: sMAPE, MASE and OWA by frequency, beside Naive2."""
    with plain_errors():
        from stillpoint.lab.m4.bench import m4_bench
        from stillpoint.lab.m4.report import grids

        result = m4_bench(
            folder,
            frequency or (),
            season=season,
            pool=pool,
            limit=limit,
            jobs=jobs,
            progress=not json,
        )
        # where somebody keeps the files is nobody else's business
        named = shlex.join(["folder", str(folder)])
        command = asked(context).replace(named, "DIR")
        deliver(result, grids(result), out, json, command)


def mount(bench: typer.Typer) -> None:
    """Add both to `stillpoint bench`."""
    for command in (series, m4):
        bench.command()(command)

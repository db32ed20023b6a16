"""The command line: `stillpoint track` and `fleet`, and the commands of the lab."""

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from stillpoint._start import loaded
from stillpoint.commands.fleet_cli import fleet
from stillpoint.commands.shared import (
    Checkpoint,
    Commands,
    DateFormat,
    Format,
    Json,
    Quiet,
    plain_errors,
)
from stillpoint.core.terminal import tell

# Everything else is imported where it is used, so that help and mistyped options answer at once.

app = typer.Typer(cls=Commands, no_args_is_help=True, rich_markup_mode="markdown")


def _version(asked: bool) -> None:
    if asked:
        from stillpoint import __version__

        tell(f"stillpoint {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Say which version this is."
        ),
    ] = False,
) -> None:
    """Online learners that follow a moving target.

    `bench`, `sweep` and the figures of `reproduce` are research, for
    `pip install 'stillpoint[lab]'`.

    Examples:

    - `stillpoint track data.csv --target y --out results` forecasts every row before it is seen,
    and writes a report

    - `stillpoint fleet sales.csv --key sku --target sold --time day --out results` forecasts of
    each key of a table

    - `stillpoint streams export walk --out walk.csv` a stream to play with
    """
    loaded()


@app.command()
def track(
    source: Annotated[
        str,
        typer.Argument(
            help="A CSV or JSON-lines file, gzipped or not, or Parquet; - for standard input."
        ),
    ],
    target: Annotated[
        str,
        typer.Option(
            help="The column to forecast; rows without it are only forecast, at the end of a series"
            " with intervals of their own horizon."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="Folder for predictions, forecast, summary.json and report.html; - writes"
            " predictions to standard output as JSON lines."
        ),
    ],
    time: Annotated[
        str | None, typer.Option(help="A column of numbers or dates; drift follows the gaps.")
    ] = None,
    features: Annotated[
        str | None, typer.Option(help="Columns to forecast from, as a,b,c. Default: all others.")
    ] = None,
    task: Annotated[
        str, typer.Option(help="regression, binary, quantile or interval.")
    ] = "regression",
    level: Annotated[
        float | None, typer.Option(help="The level of --task quantile. Default: 0.9.")
    ] = None,
    coverage: Annotated[
        float | None,
        typer.Option(
            help="The share of targets that intervals of --task regression are to hold. Default:"
            " 0.9."
        ),
    ] = None,
    delay: Annotated[
        int,
        typer.Option(
            help="How many rows later a target is known; intervals hold then, quantiles cover less."
        ),
    ] = 0,
    horizon: Annotated[
        int | None,
        typer.Option(
            help="How many steps ahead to forecast a series. Default: one season of its times."
        ),
    ] = None,
    season: Annotated[
        str | None,
        typer.Option(help="Seasons of a series, in rows: auto, none, or periods such as 24,168."),
    ] = None,
    known: Annotated[
        str,
        typer.Option(
            help="Columns known ahead, as a,b: they count at every step of a series, others at the"
            " next."
        ),
    ] = "",
    nonnegative: Annotated[
        bool, typer.Option("--nonnegative", help="Keep forecasts of a series at 0 or above.")
    ] = False,
    learner: Annotated[
        str,
        typer.Option(
            help="auto, forecaster (a series, many steps ahead) or regression (the next row)."
        ),
    ] = "auto",
    date_format: DateFormat = None,
    format: Format = None,
    predictions: Annotated[
        str, typer.Option(help="How to write predictions: csv or parquet.")
    ] = "csv",
    alerts: Annotated[
        float | None,
        typer.Option(
            metavar="RATE",
            help="Write alerts.jsonl: rows that do not fit (where nothing is wrong a share RATE of"
            " all, such as 0.001) and changes of the target (a false one in 10/RATE rows or more).",
        ),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="Keep reading a growing file or a pipe, until Ctrl-C, with summary.json and"
            " metrics.prom kept up to date.",
        ),
    ] = False,
    checkpoint: Checkpoint = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Forecast every row of a file before its target is seen; write predictions, a summary and a
    report.

    Examples:

    - `stillpoint track sales.csv --target sold --time date --out results`

    - `stillpoint track sales.csv --target sold --time date --known price --horizon 28 --out
    results`

    - `stillpoint track - --target y --out live --follow --checkpoint live/state < pipe`

    - `stillpoint track sensor.csv --target bar --time at --alerts 0.001 --out results`

    - `kcat -C … | stillpoint track - --format jsonl --target y --out - | kcat -P …`
    """
    with plain_errors():
        from stillpoint.commands import track as run

        code = run(
            source,
            target,
            out,
            time=time,
            features=features,
            task=task,
            level=level,
            coverage=coverage,
            delay=delay,
            horizon=horizon,
            season=season,
            known=known,
            nonnegative=nonnegative,
            learner=learner,
            date_format=date_format,
            format=format,
            follow=follow,
            checkpoint=checkpoint,
            predictions=predictions,
            alerts=alerts,
            print_json=json,
            quiet=quiet,
        )
        raise typer.Exit(code)


app.command()(fleet)

# research has commands of its own, looked up here and nowhere else
import_module("stillpoint.lab.cli").mount(app)

"""The command line of `stillpoint fleet`."""

from pathlib import Path
from typing import Annotated

import typer

from stillpoint.commands.shared import (
    Checkpoint,
    DateFormat,
    Format,
    Json,
    Quiet,
    plain_errors,
)


def fleet(
    source: Annotated[
        str,
        typer.Argument(
            help="A CSV, JSON-lines or Parquet file, a folder of them, or - for standard input."
        ),
    ],
    key: Annotated[str, typer.Option(help="The column that says which stream a row belongs to.")],
    target: Annotated[
        str, typer.Option(help="The column to predict; rows where it is empty are only predicted.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for forecasts and summary.json.")],
    learner: Annotated[
        str,
        typer.Option(
            help="forecaster (many steps ahead), or for the next row tracker, multiscale,"
            " quantile, interval or kernel."
        ),
    ] = "forecaster",
    horizon: Annotated[
        int | None,
        typer.Option(help="How many steps ahead to forecast. Default: one season of the times."),
    ] = None,
    season: Annotated[
        list[str] | None,
        typer.Option(
            help="Seasons, in rows: auto, none, or periods such as 24,168. Default: those of the"
            " dates, or found on a sample of the keys."
        ),
    ] = None,
    pool: Annotated[
        str | None, typer.Option(help="How many experts forecast: small (default) or middle.")
    ] = None,
    nonnegative: Annotated[
        bool, typer.Option("--nonnegative", help="Keep forecasts at 0 or above.")
    ] = False,
    loss: Annotated[
        str | None,
        typer.Option(
            help="For tracker and multiscale: absolute (default), squared, huber or pinball."
        ),
    ] = None,
    level: Annotated[
        float | None, typer.Option(help="The level of quantile or of --loss pinball.")
    ] = None,
    coverage: Annotated[
        float | None, typer.Option(help="The share of targets that intervals are to hold.")
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            help="A column of numbers or dates: forecasters sort by it, for others it must"
            " increase for each key; Spark needs it."
        ),
    ] = None,
    forecast: Annotated[
        str | None, typer.Option(help="The column that intervals are around.")
    ] = None,
    date_format: DateFormat = None,
    format: Format = None,
    forecasts: Annotated[
        str | None, typer.Option(help="How to write forecasts: csv (default) or parquet.")
    ] = None,
    predictions: Annotated[
        str | None,
        typer.Option(help="Write forecasts of each row before it was seen, too: csv or parquet."),
    ] = None,
    alerts: Annotated[
        float | None,
        typer.Option(
            metavar="RATE",
            help="Write alerts.jsonl: rows that do not fit their forecast, where nothing is wrong a"
            " share RATE of the rows of all keys, such as 0.0001.",
        ),
    ] = None,
    checkpoint: Checkpoint = None,
    engine: Annotated[
        str, typer.Option(help="local, or spark, for pip install 'stillpoint[spark]'.")
    ] = "local",
    threads: Annotated[
        int, typer.Option(help="Threads of the local engine; the numbers are the same for any.")
    ] = 1,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Many series in one table: forecasts of each key, with intervals; or another learner a key.

    Examples:

    - `stillpoint fleet sales.csv --key sku --target sold --time day --horizon 28 --nonnegative
    --out results`

    - `stillpoint fleet sensors.csv --key sensor --target value --learner quantile --level 0.95
    --out results`

    - `stillpoint fleet folder --key sku --target sold --time date --out results --checkpoint state`
    """
    with plain_errors():
        from stillpoint.commands import fleet as run

        code = run(
            source,
            key,
            target,
            out,
            learner=learner,
            loss=loss,
            level=level,
            coverage=coverage,
            time=time,
            forecast=forecast,
            checkpoint=checkpoint,
            engine=engine,
            threads=threads,
            horizon=horizon,
            season=",".join(season) if season else None,
            pool=pool,
            nonnegative=nonnegative,
            date_format=date_format,
            forecasts=forecasts,
            predictions=predictions,
            alerts=alerts,
            format=format,
            print_json=json,
            quiet=quiet,
        )
        raise typer.Exit(code)

"""The command line: `stillpoint track`, `fleet`, `reproduce`, `bench`, `sweep`, `streams list | describe | export`."""

from pathlib import Path
from typing import Annotated

import typer

from stillpoint._start import loaded
from stillpoint._terminal import tell
from stillpoint.cli_bench import bench, sweep
from stillpoint.cli_shared import Commands, Json, Out, Quick, plain_errors, print_json, show

# Everything else is imported where it is used, so that help and mistyped options answer at once.

app = typer.Typer(cls=Commands, no_args_is_help=True, rich_markup_mode="markdown")
streams = typer.Typer(help="The streams there are: list, describe or export them.")
app.add_typer(bench, name="bench")
app.command()(sweep)
app.add_typer(streams, name="streams")


def _version(asked: bool) -> None:
    if asked:
        from stillpoint import __version__

        tell(f"stillpoint {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """Online learners that follow a moving target.

    Examples:

    - `stillpoint track data.csv --target y --out results` forecasts every row before it is seen, and writes a report

    - `stillpoint fleet sensors.csv --key sensor --target value --out results` one learner for each key of a table

    - `stillpoint reproduce --quick` the paper's claims, measured

    - `stillpoint bench real --stream polls` ours beside river on a real stream

    - `stillpoint sweep --learner Tracker --stream chosen --out results` many runs, into Parquet; goes on after a kill

    - `stillpoint streams export walk --out walk.csv` a stream to play with
    """
    loaded()


@app.command()
def track(
    source: Annotated[str, typer.Argument(help="A CSV, JSON-lines or Parquet file; - for standard input.")],
    target: Annotated[str, typer.Option(help="The column to forecast; rows where it is empty are only forecast.")],
    out: Annotated[Path, typer.Option(help="Folder for predictions, summary.json and report.html.")],
    time: Annotated[str | None, typer.Option(help="A column of numbers or ISO dates; drift follows the gaps.")] = None,
    features: Annotated[str | None, typer.Option(help="Columns to forecast from, as a,b,c. Default: all others.")] = None,
    task: Annotated[str, typer.Option(help="regression, binary, quantile or interval.")] = "regression",
    level: Annotated[float, typer.Option(help="The level of --task quantile.")] = 0.9,
    coverage: Annotated[float, typer.Option(help="The share of next rows that intervals are to hold.")] = 0.9,
    delay: Annotated[int, typer.Option(help="How many rows later a target is known; intervals then cover less than asked.")] = 0,
    format: Annotated[str | None, typer.Option(help="csv, jsonl or parquet, where the suffix does not tell.")] = None,
    predictions: Annotated[str, typer.Option(help="How to write predictions: csv or parquet.")] = "csv",
    follow: Annotated[bool, typer.Option("--follow", help="Keep reading a growing file or a pipe, until Ctrl-C.")] = False,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder to go on from after a kill; no row is lost or repeated.")
    ] = None,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Forecast every row of a file before its target is seen; write predictions, a summary and a report.

    Examples:

    - `stillpoint track sales.csv --target sold --time date --out results`

    - `stillpoint track - --target y --out live --follow --checkpoint live/state < pipe`
    """
    with plain_errors():
        from stillpoint.track import track as run

        code = run(
            source, target, out, time=time, features=features, task=task, level=level, coverage=coverage, delay=delay,
            format=format, follow=follow, checkpoint=checkpoint, predictions=predictions, print_json=json, quiet=quiet,
        )  # fmt: skip
        raise typer.Exit(code)


@app.command()
def fleet(
    source: Annotated[str, typer.Argument(help="A CSV, JSON-lines or Parquet file, a folder of them, or - for standard input.")],
    key: Annotated[str, typer.Option(help="The column that says which stream a row belongs to.")],
    target: Annotated[str, typer.Option(help="The column to predict; rows where it is empty are only predicted.")],
    out: Annotated[Path, typer.Option(help="Folder for predictions and summary.json.")],
    learner: Annotated[str, typer.Option(help="tracker, multiscale, quantile, interval or forecaster.")] = "forecaster",
    loss: Annotated[
        str | None, typer.Option(help="For tracker and multiscale: absolute (default), squared, huber or pinball.")
    ] = None,
    level: Annotated[float | None, typer.Option(help="The level of quantile or of --loss pinball.")] = None,
    coverage: Annotated[float | None, typer.Option(help="The share of targets that intervals are to hold.")] = None,
    time: Annotated[
        str | None, typer.Option(help="A column of numbers or ISO dates, increasing for each key; Spark needs it.")
    ] = None,
    forecast: Annotated[str | None, typer.Option(help="The column that intervals are around.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder to go on from after a kill; no row is lost or repeated.")
    ] = None,
    engine: Annotated[str, typer.Option(help="local or spark.")] = "local",
    threads: Annotated[int, typer.Option(help="Threads of the local engine; the numbers are the same for any.")] = 1,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Many streams in one table: a learner for each key, every row predicted before its target is seen.

    Examples:

    - `stillpoint fleet sensors.csv --key sensor --target value --learner quantile --level 0.95 --out results`

    - `stillpoint fleet folder --key sku --target sold --time date --out results --checkpoint state --engine spark`
    """
    with plain_errors():
        from stillpoint.fleet.command import fleet as run

        code = run(
            source, key, target, out, learner=learner, loss=loss, level=level, coverage=coverage, time=time, forecast=forecast,
            checkpoint=checkpoint, engine=engine, threads=threads, print_json=json, quiet=quiet,
        )  # fmt: skip
        raise typer.Exit(code)


@app.command()
def reproduce(out: Out = None, quick: Quick = False, json: Json = False) -> None:
    """The paper as a run: every theorem, proposition, lemma and example measured beside its bound; exit code 1 if one fails."""
    with plain_errors():
        from stillpoint.experiments.reproduce.command import run

        raise typer.Exit(run(out, quick, json))


@streams.callback(invoke_without_command=True)
def streams_default(context: typer.Context) -> None:
    """The streams there are: list, describe or export them."""
    if context.invoked_subcommand is None:
        streams_list()


@streams.command("list")
def streams_list(json: Json = False) -> None:
    """List the synthetic streams of the benchmark with their set and group, and the real ones whose package is installed."""
    from stillpoint.report.grid import Grid
    from stillpoint.streams import all_streams, real

    rows = [[spec.name, spec.kind, spec.group, spec.note] for spec in all_streams()]
    rows += [
        [name, f"real, {real.entry(name).task}", real.entry(name).group, real.entry(name).description]
        for name in real.available()
    ]
    columns = ["name", "set", "group", "what it is"]
    if json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        show([Grid("Streams", columns, rows)])


@streams.command("describe")
def streams_describe(
    name: Annotated[str, typer.Argument(help="A stream's name.")],
    seed: Annotated[int, typer.Option(min=0)] = 0,
    rounds: Annotated[int, typer.Option(min=100, help="How long to draw it; real streams have their length.")] = 2000,
    json: Json = False,
) -> None:
    """What a stream is, and what it looks like in numbers."""
    with plain_errors():
        from stillpoint.report.grid import Grid
        from stillpoint.streams.export import describe

        facts = describe(name, rounds, seed)
        if json:
            print_json(facts)
        else:
            show([Grid(name, ["", ""], [[key, str(value)] for key, value in facts.items()])])


@streams.command("export")
def streams_export(
    name: Annotated[str, typer.Argument(help="A stream's name.")],
    out: Annotated[Path, typer.Option("--out", help="The CSV file to write.")],
    seed: Annotated[int, typer.Option(min=0)] = 0,
    rounds: Annotated[int, typer.Option(min=100, help="How long to draw it; real streams have their length.")] = 2000,
    json: Json = False,
) -> None:
    """Write a stream as CSV: times, features, targets, and the truth where it is known."""
    with plain_errors():
        from stillpoint.streams.export import export

        rows = export(name, rounds, seed, out)
        if json:
            print_json({"stream": name, "rows": rows, "file": str(out)})
        else:
            tell(f"wrote {rows} rows to {out}")

"""The command line: `stillpoint track`, `reproduce`, `bench regret | speed | real`, `streams list | describe | export`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from stillpoint.report.tables import Grid

# Everything else is imported where it is used, so that help and mistyped options answer at once.

app = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown")
bench = typer.Typer(no_args_is_help=True, help="Compare learners: what they lose, and what they cost.")
streams = typer.Typer(help="The streams there are: list, describe or export them.")
app.add_typer(bench, name="bench")
app.add_typer(streams, name="streams")

Learners = Annotated[list[str] | None, typer.Option("--learner", help="A learner by name; repeat for more. Default: all.")]
Out = Annotated[Path | None, typer.Option("--out", help="Folder for the full tables, the raw rows and figures.")]
Quick = Annotated[bool, typer.Option("--quick", help="A small run, in seconds, to see that all is well.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def _version(asked: bool) -> None:
    if asked:
        from stillpoint import __version__

        typer.echo(f"stillpoint {__version__}")
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

    - `stillpoint reproduce --quick` the paper's claims, measured

    - `stillpoint bench real --stream polls` ours beside river on a real stream

    - `stillpoint streams export walk --out walk.csv` a stream to play with
    """


@app.command()
def track(
    source: Annotated[str, typer.Argument(help="A CSV, JSON-lines or Parquet file; - for standard input.")],
    target: Annotated[str, typer.Option(help="The column to forecast; rows where it is empty are only forecast.")],
    out: Annotated[Path, typer.Option(help="Folder for predictions, summary.json and report.html.")],
    time: Annotated[str | None, typer.Option(help="A column of numbers or ISO dates; drift follows the gaps.")] = None,
    features: Annotated[str | None, typer.Option(help="Columns to forecast from, as a,b,c. Default: all others.")] = None,
    task: Annotated[str, typer.Option(help="regression, binary, quantile or interval.")] = "regression",
    level: Annotated[float, typer.Option(help="The level of --task quantile.")] = 0.9,
    coverage: Annotated[float, typer.Option(help="The share of targets that intervals are to hold.")] = 0.9,
    delay: Annotated[int, typer.Option(help="How many rows later a target is known.")] = 0,
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
    from stillpoint.track import track as run

    code = run(
        source, target, out, time=time, features=features, task=task, level=level, coverage=coverage, delay=delay,
        format=format, follow=follow, checkpoint=checkpoint, predictions=predictions, print_json=json, quiet=quiet,
    )  # fmt: skip
    raise typer.Exit(code)


@app.command()
def reproduce(out: Out = None, quick: Quick = False, json: Json = False) -> None:
    """The paper as a run: every theorem, proposition, lemma and example measured beside its bound; exit code 1 if one fails."""
    with _plain_errors():
        from stillpoint.experiments.reproduce.command import run

        raise typer.Exit(run(out, quick, json))


@bench.command()
def regret(
    learner: Learners = None,
    stream: Annotated[
        list[str] | None,
        typer.Option("--stream", help="A stream, set, group or wildcard ('x1000/*'); repeat for more. Default: all."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds.")] = 10,
    first_seed: Annotated[int, typer.Option(min=0, help="The first of them; fresh ones tell fitting from learning.")] = 0,
    horizon: Annotated[list[int] | None, typer.Option("--horizon", min=100, help="Rounds; repeat for more.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    out: Out = None,
    quick: Quick = False,
    json: Json = False,
) -> None:
    """Regret against the true target, beside OGD whose step is chosen in hindsight."""
    with _plain_errors():
        from stillpoint.experiments.bench import regret_bench
        from stillpoint.report.tables import regret_grids

        result = regret_bench(
            learner or (),
            stream or (["chosen"] if quick else ["all"]),
            seeds=range(first_seed, first_seed + (min(seeds, 2) if quick else seeds)),
            horizons=horizon or ([500] if quick else [2000, 20000]),
            jobs=1 if quick else jobs,
            progress=not json,
        )
        files = result.save(out) if out else []
        if json:
            _print_json(result.to_dict())
            return
        _show(regret_grids(result))
        _report(files)
        failures = sum(bool(row.error) for row in result.rows)
        if failures:
            first = next(row for row in result.rows if row.error)
            typer.echo(f"{failures} runs were refused; the first: {first.learner} on {first.stream}: {first.error}", err=True)


@bench.command()
def speed(
    learner: Learners = None,
    out: Out = None,
    quick: Quick = False,
    json: Json = False,
) -> None:
    """µs a round, interactive and bulk, by dimension and by age, beside a bare compiled OGD loop."""
    with _plain_errors():
        from stillpoint.experiments.speed import speed_bench
        from stillpoint.report.tables import speed_grids

        if quick:
            sizes = {"dims": (1, 10), "ages": (1_000, 10_000)}
            result = speed_bench(learner or (), **sizes, repeats=2, patience=5.0, progress=not json)
        else:
            result = speed_bench(learner or (), progress=not json)
        files = result.save(out) if out else []
        if json:
            _print_json(result.to_dict())
            return
        _show(speed_grids(result))
        _report(files)


@bench.command()
def real(
    stream: Annotated[
        list[str] | None, typer.Option("--stream", help="A real stream by name; repeat for more. Default: all installed.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="Only streams of a task: regression, binary or multiclass.")] = None,
    rounds: Annotated[int, typer.Option(min=20, help="Cut streams to their first rounds, for everybody alike.")] = 5000,
    json: Json = False,
    out: Out = None,
) -> None:
    """Real streams: ours beside the best filter in hindsight, river and Vowpal Wabbit; predict, then learn."""
    with _plain_errors():
        from stillpoint.experiments.real.command import run

        files = run(stream or (), out, rounds, json, task)
        if not json:
            _report(files)


@streams.callback(invoke_without_command=True)
def streams_default(context: typer.Context) -> None:
    """The streams there are: list, describe or export them."""
    if context.invoked_subcommand is None:
        streams_list()


@streams.command("list")
def streams_list(json: Json = False) -> None:
    """List the synthetic streams of the benchmark with their set and group, and the real ones whose package is installed."""
    from stillpoint.report.tables import Grid
    from stillpoint.streams import all_streams, real

    rows = [[spec.name, spec.kind, spec.group, spec.note] for spec in all_streams()]
    rows += [
        [name, f"real, {real.entry(name).task}", real.entry(name).group, real.entry(name).description]
        for name in real.available()
    ]
    columns = ["name", "set", "group", "what it is"]
    if json:
        _print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        _show([Grid("Streams", columns, rows)])


@streams.command("describe")
def streams_describe(
    name: Annotated[str, typer.Argument(help="A stream's name.")],
    seed: Annotated[int, typer.Option(min=0)] = 0,
    rounds: Annotated[int, typer.Option(min=100, help="How long to draw it; real streams have their length.")] = 2000,
    json: Json = False,
) -> None:
    """What a stream is, and what it looks like in numbers."""
    with _plain_errors():
        from stillpoint.report.tables import Grid
        from stillpoint.streams.export import describe

        facts = describe(name, rounds, seed)
        if json:
            _print_json(facts)
        else:
            _show([Grid(name, ["", ""], [[key, str(value)] for key, value in facts.items()])])


@streams.command("export")
def streams_export(
    name: Annotated[str, typer.Argument(help="A stream's name.")],
    out: Annotated[Path, typer.Option("--out", help="The CSV file to write.")],
    seed: Annotated[int, typer.Option(min=0)] = 0,
    rounds: Annotated[int, typer.Option(min=100, help="How long to draw it; real streams have their length.")] = 2000,
    json: Json = False,
) -> None:
    """Write a stream as CSV: times, features, targets, and the truth where it is known."""
    with _plain_errors():
        from stillpoint.streams.export import export

        rows = export(name, rounds, seed, out)
        if json:
            _print_json({"stream": name, "rows": rows, "file": str(out)})
        else:
            typer.echo(f"wrote {rows} rows to {out}")


def _show(grids: list["Grid"]) -> None:
    from rich.console import Console

    console = Console()
    for grid in grids:
        if not grid.deep:
            console.print(grid.rich())


def _print_json(value: object) -> None:
    import json

    typer.echo(json.dumps(value, indent=1, allow_nan=False))


def _report(files: list[Path]) -> None:
    typer.echo("\n".join(f"wrote {file}" for file in files) or "give --out DIR to keep all rows, tables by stream and figures")


@contextmanager
def _plain_errors() -> Iterator[None]:
    """A bad argument, or a file that cannot be written, ends with its message, not a traceback."""
    try:
        yield
    except ValueError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("interrupted; run the command again", err=True)
        raise typer.Exit(130) from None
    except BrokenPipeError:
        raise typer.Exit(1) from None
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        typer.echo(f"error: reading or writing failed{place}: {error.strerror or error}; give another --out", err=True)
        raise typer.Exit(1) from None

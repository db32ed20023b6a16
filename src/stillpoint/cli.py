"""The command line: `stillpoint bench regret | speed | real`, `stillpoint streams`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from stillpoint.report.tables import Grid

# Everything else is imported where it is used, so that help and mistyped options answer at once.

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Online learners that follow a moving target.")
bench = typer.Typer(no_args_is_help=True, help="Compare learners: what they lose, and what they cost.")
app.add_typer(bench, name="bench")

Learners = Annotated[list[str] | None, typer.Option("--learner", help="A learner by name; repeat for more. Default: all.")]
Out = Annotated[Path | None, typer.Option("--out", help="Folder for the full tables, the raw rows and figures.")]
Quick = Annotated[bool, typer.Option("--quick", help="A small run, in seconds, to see that all is well.")]


@app.callback()
def main() -> None:
    """Online learners that follow a moving target."""


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
            progress=True,
        )
        _show(regret_grids(result))
        _report(result.save(out) if out else [])
        failures = sum(bool(row.error) for row in result.rows)
        if failures:
            first = next(row for row in result.rows if row.error)
            typer.echo(f"{failures} runs were refused; the first: {first.learner} on {first.stream}: {first.error}", err=True)


@bench.command()
def speed(
    learner: Learners = None,
    out: Out = None,
    quick: Quick = False,
) -> None:
    """µs a round, interactive and bulk, by dimension and by age, beside a bare compiled OGD loop."""
    with _plain_errors():
        from stillpoint.experiments.speed import speed_bench
        from stillpoint.report.tables import speed_grids

        if quick:
            result = speed_bench(learner or (), dims=(1, 10), ages=(1_000, 10_000), repeats=2, patience=5.0, progress=True)
        else:
            result = speed_bench(learner or (), progress=True)
        _show(speed_grids(result))
        _report(result.save(out) if out else [])


@bench.command()
def real(
    stream: Annotated[
        list[str] | None, typer.Option("--stream", help="A real stream by name; repeat for more. Default: all installed.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="Only streams of a task: regression, binary or multiclass.")] = None,
    rounds: Annotated[int, typer.Option(min=20, help="Cut streams to their first rounds, for everybody alike.")] = 5000,
    json: Annotated[bool, typer.Option("--json", help="Print all scores as JSON instead of tables.")] = False,
    out: Out = None,
) -> None:
    """Real streams: ours beside the best filter in hindsight, river and Vowpal Wabbit; predict, then learn."""
    with _plain_errors():
        from stillpoint.experiments.real.command import run

        files = run(stream or (), out, rounds, json, task)
        if not json:
            _report(files)


@app.command()
def streams() -> None:
    """List the streams of the benchmark, their set and their group."""
    from stillpoint.report.tables import Grid
    from stillpoint.streams import all_streams

    rows = [[spec.name, spec.kind, spec.group, spec.note] for spec in all_streams()]
    _show([Grid("Streams", ["name", "set", "group", "what it is"], rows)])


def _show(grids: list["Grid"]) -> None:
    from rich.console import Console

    console = Console()
    for grid in grids:
        if not grid.deep:
            console.print(grid.rich())


def _report(files: list[Path]) -> None:
    typer.echo("\n".join(f"wrote {file}" for file in files) or "give --out DIR to keep all rows, tables by stream and figures")


@contextmanager
def _plain_errors() -> Iterator[None]:
    """A bad argument ends with its message, not a traceback."""
    try:
        yield
    except ValueError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None

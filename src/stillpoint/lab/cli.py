"""The commands of the lab: `stillpoint bench`, `sweep` and `reproduce`; `streams` is beside."""

from pathlib import Path
from typing import Annotated

import typer

from stillpoint.commands.shared import Json, Out, Quick, asked, plain_errors, print_json, show
from stillpoint.core.terminal import tell
from stillpoint.lab import alerts_cli, forecasts_cli, streams_cli
from stillpoint.lab.results import Jobs, deliver, figures_can_be_drawn, named_packages, several

bench = typer.Typer(
    no_args_is_help=True,
    help="Compare learners: what they lose, and what they cost. Needs the extra lab.",
)

Learners = Annotated[
    list[str] | None,
    several("--learner", "A learner by name", "those that `bench learners` does not mark"),
]
Seeds = Annotated[int, typer.Option(min=1, help="How many seeds.")]
FirstSeed = Annotated[
    int, typer.Option(min=0, help="The first of them; fresh ones tell fitting from learning.")
]
Horizons = Annotated[
    list[int] | None,
    several("--horizon", "Rounds", "2000 and 20000", least=100),
]
Streams = Annotated[
    list[str] | None,
    several("--stream", "A stream, set, group or wildcard ('x1000/*')", "all"),
]


@bench.command()
def regret(
    context: typer.Context,
    learner: Learners = None,
    stream: Streams = None,
    seeds: Seeds = 10,
    first_seed: FirstSeed = 0,
    horizon: Horizons = None,
    jobs: Jobs = 2,
    out: Out = None,
    quick: Quick = False,
    json: Json = False,
) -> None:
    """Regret against the true target, beside OGD whose step is chosen in hindsight."""
    with plain_errors():
        figures_can_be_drawn(out)
        from stillpoint.lab.bench.regret import regret_bench
        from stillpoint.lab.bench.tables import regret_grids

        result = regret_bench(
            learner or (),
            stream or (["chosen"] if quick else ["all"]),
            seeds=range(first_seed, first_seed + (min(seeds, 2) if quick else seeds)),
            horizons=horizon or ([500] if quick else [2000, 20000]),
            jobs=1 if quick else jobs,
            progress=not json,
        )
        deliver(result, regret_grids(result), out, json, asked(context))
        failures = sum(bool(row.error) for row in result.rows)
        if failures and not json:
            first = next(row for row in result.rows if row.error)
            tell(
                f"{failures} runs were refused; the first: {first.learner} on {first.stream}:"
                f" {first.error}",
                err=True,
            )


@bench.command()
def learners(json: Json = False) -> None:
    """Every learner that can be entered, and what it assumes."""
    with plain_errors():
        from stillpoint.lab.bench.contenders import contenders
        from stillpoint.report.grid import Grid

        known = contenders().values()
        if json:
            print_json([{"learner": p.name, "assumes": p.assumes, "usual": p.usual} for p in known])
            return
        rows = [[p.name, p.assumes, "" if p.usual else "when named"] for p in known]
        show([Grid(f"{len(rows)} learners", ["learner", "assumes", "played"], rows)])


@bench.command()
def adaptive(
    context: typer.Context,
    learner: Annotated[
        list[str] | None, several("--learner", "A learner by name", "nine that adapt")
    ] = None,
    stream: Annotated[
        list[str] | None, several("--stream", "A stream, set, group or wildcard", "families")
    ] = None,
    length: Annotated[
        list[int] | None, several("--length", "Of intervals", "10 to 1000", least=1)
    ] = None,
    seeds: Seeds = 3,
    first_seed: FirstSeed = 0,
    horizon: Annotated[list[int] | None, several("--horizon", "Rounds", "10000", least=100)] = None,
    jobs: Jobs = 2,
    out: Out = None,
    quick: Quick = False,
    json: Json = False,
) -> None:
    """Regret on the worst interval of each length, against the best fixed play on it."""
    with plain_errors():
        from stillpoint.lab.bench.adaptive import LEARNERS, LENGTHS, adaptive_bench

        result = adaptive_bench(
            learner or LEARNERS,
            stream or ["families"],
            lengths=length or ([10, 100] if quick else LENGTHS),
            seeds=range(first_seed, first_seed + (1 if quick else seeds)),
            horizons=horizon or ([500] if quick else [10000]),
            jobs=1 if quick else jobs,
            progress=not json,
        )
        deliver(result, result.grids(), out, json, asked(context))


@bench.command()
def speed(
    context: typer.Context,
    learner: Learners = None,
    out: Out = None,
    quick: Quick = False,
    json: Json = False,
) -> None:
    """µs per round, interactive and bulk, by dimension and age, beside a bare compiled OGD loop."""
    with plain_errors():
        from stillpoint.lab.bench.speed import speed_bench
        from stillpoint.lab.bench.speed_tables import speed_grids

        if quick:
            sizes = {"dims": (1, 10), "ages": (1_000, 10_000)}
            result = speed_bench(learner or (), **sizes, repeats=2, patience=5.0, progress=not json)
        else:
            result = speed_bench(learner or (), progress=not json)
        deliver(result, speed_grids(result), out, json, asked(context))


@bench.command()
def real(
    context: typer.Context,
    stream: Annotated[
        list[str] | None, several("--stream", "A real stream by name", "all installed")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Only streams of a task: regression, binary or multiclass.")
    ] = None,
    rounds: Annotated[
        int, typer.Option(min=20, help="Cut streams to their first rounds, for everybody alike.")
    ] = 5000,
    json: Json = False,
    out: Out = None,
) -> None:
    """Real streams: ours beside the best filter in hindsight, river and Vowpal Wabbit."""
    with plain_errors():
        figures_can_be_drawn(out)
        from stillpoint.lab.real.bench import real_bench
        from stillpoint.lab.real.report import grids

        with named_packages():
            result = real_bench(stream or (), task=task, rounds=rounds, progress=not json)
        deliver(result, grids(result), out, json, asked(context), result.notes)


def sweep(
    out: Annotated[
        Path, typer.Option("--out", help="Folder for the results; what it has is not played again.")
    ],
    learner: Learners = None,
    stream: Streams = None,
    seeds: Seeds = 10,
    first_seed: FirstSeed = 0,
    horizon: Horizons = None,
    backend: Annotated[
        str, typer.Option(help="loky for processes here; dask or ray, also for clusters.")
    ] = "loky",
    address: Annotated[
        str | None,
        typer.Option(help="A running Dask scheduler or Ray head. Default: start one here."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes. Default: one a core.")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Play cells again that failed.")] = False,
    json: Json = False,
) -> None:
    """Play learners on streams, for every seed and horizon, into Parquet.

    It needs the extras lab and parquet: `pip install 'stillpoint[lab,parquet]'`.

    The exit code is 1 if a run failed. After a kill, run the same command again: only what is
    missing is played. With other options the folder grows.

    Examples:

    - `stillpoint sweep --learner Tracker --learner KT --stream families --horizon 2000 --out
    results`

    - `stillpoint sweep --backend dask --address tcp://head:8786 --out results`
    """
    with plain_errors():
        from stillpoint.lab.bench.tables import sweep_grids
        from stillpoint.lab.sweep import SweepStopped
        from stillpoint.lab.sweep import sweep as run

        try:
            result = run(
                learner or (),
                stream or ["all"],
                range(first_seed, first_seed + seeds),
                horizon or [2000, 20000],
                out=out,
                backend=backend,
                jobs=jobs,
                address=address,
                retry=retry,
                progress=not json,
            )
        except SweepStopped as stop:
            tell(f"error: {stop}", err=True)
            raise typer.Exit(1) from None
        if json:
            print_json(result.to_dict())
        else:
            show(sweep_grids(result))
            tell(
                f"{result.played} cells played, {len(result.rows) - result.played} were there; all"
                f" are in {result.folder}"
            )
        for line in result.notes():
            tell(line, err=True)
        if result.failures:
            raise typer.Exit(1)


def reproduce(out: Out = None, quick: Quick = False, json: Json = False) -> None:
    """The paper as a run: every claim measured beside its bound; exit code 1 if one fails.

    Its figures (--out) need the extra lab.
    """
    with plain_errors():
        from stillpoint.lab.reproduce.command import run

        raise typer.Exit(run(out, quick, json))


def mount(app: typer.Typer) -> None:
    """Add the commands of the lab to the command line."""
    forecasts_cli.mount(bench)
    alerts_cli.mount(bench)
    app.add_typer(bench, name="bench")
    app.command()(sweep)
    streams_cli.mount(app)
    app.command()(reproduce)

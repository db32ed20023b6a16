"""The command that compares detectors of changes and anomalies: `stillpoint bench alerts`."""

from typing import Annotated

import typer

from stillpoint.commands.shared import Json, Out, Quick, asked, plain_errors
from stillpoint.lab.results import Jobs, deliver, figures_can_be_drawn, several


def alerts(
    context: typer.Context,
    law: Annotated[
        list[str] | None, several("--law", "A law of noise, known or unseen", "all")
    ] = None,
    only: Annotated[str | None, typer.Option(help="changes or anomalies. Default: both.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Streams a law; slow peers play fewer.")] = 100,
    first_seed: Annotated[int, typer.Option(min=0, help="The first of them.")] = 0,
    rounds: Annotated[
        int | None, typer.Option(min=3000, help="Rows of streams without change. Default: 10000.")
    ] = None,
    every: Annotated[
        float, typer.Option(min=1.0, help="Of sp.Changes: rows from one false alarm to the next.")
    ] = 10_000,
    jobs: Jobs = 2,
    out: Out = None,
    quick: Quick = False,
    json: Json = False,
) -> None:
    """Simulated changes and anomalies: false alarms, delays, misses, errors, beside river's."""
    with plain_errors():
        figures_can_be_drawn(out)
        from stillpoint.lab.alerts.bench import PARTS, alerts_bench
        from stillpoint.lab.alerts.report import grids

        result = alerts_bench(
            law or (["normal", "AR .8"] if quick else ()),
            parts=PARTS if only is None else [only],
            seeds=range(first_seed, first_seed + (min(seeds, 5) if quick else seeds)),
            rounds=rounds or (3000 if quick else 10_000),
            every=every,
            jobs=1 if quick else jobs,
            progress=not json,
        )
        deliver(result, grids(result), out, json, asked(context), result.notes)


def mount(bench: typer.Typer) -> None:
    """Add it to `stillpoint bench`."""
    bench.command()(alerts)

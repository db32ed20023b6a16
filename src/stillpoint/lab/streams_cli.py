"""The command `stillpoint streams`: list, describe or export the streams there are."""

from pathlib import Path
from typing import Annotated

import typer

from stillpoint.commands.shared import Json, plain_errors, print_json, show
from stillpoint.core.terminal import tell

Name = Annotated[str, typer.Argument(help="A stream's name.")]
Seed = Annotated[int, typer.Option(min=0)]
Rounds = Annotated[
    int, typer.Option(min=100, help="How long to draw it; real streams have their length.")
]

streams = typer.Typer(help="The streams there are: list, describe or export them.")


@streams.callback(invoke_without_command=True)
def streams_default(context: typer.Context) -> None:
    """The streams there are: list, describe or export them."""
    if context.invoked_subcommand is None:
        streams_list()


@streams.command("list")
def streams_list(json: Json = False) -> None:
    """List the synthetic streams, and the real ones whose package is installed."""
    from stillpoint.lab.streams import all_streams, real
    from stillpoint.report.grid import Grid

    rows = [[spec.name, spec.kind, spec.group, spec.note] for spec in all_streams()]
    for each in map(real.entry, real.available()):
        rows.append([each.name, f"real, {each.task}", each.group, each.description])
    columns = ["name", "set", "group", "what it is"]
    if json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        show([Grid("Streams", columns, rows)])


@streams.command("describe")
def streams_describe(
    name: Name,
    seed: Seed = 0,
    rounds: Rounds = 2000,
    json: Json = False,
) -> None:
    """What a stream is, and what it looks like in numbers."""
    with plain_errors():
        from stillpoint.lab.streams.export import describe
        from stillpoint.report.grid import Grid

        facts = describe(name, rounds, seed)
        if json:
            print_json(facts)
        else:
            show([Grid(name, ["", ""], [[key, str(value)] for key, value in facts.items()])])


@streams.command("export")
def streams_export(
    name: Name,
    out: Annotated[Path, typer.Option("--out", help="The CSV file to write.")],
    seed: Seed = 0,
    rounds: Rounds = 2000,
    json: Json = False,
) -> None:
    """Write a stream as CSV: times, features, targets, and the truth where it is known."""
    with plain_errors():
        from stillpoint.lab.streams.export import export

        rows = export(name, rounds, seed, out)
        if json:
            print_json({"stream": name, "rows": rows, "file": str(out)})
        else:
            tell(f"wrote {rows} rows to {out}")


def mount(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.add_typer(streams, name="streams")

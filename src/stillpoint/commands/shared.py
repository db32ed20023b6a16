"""What the commands have in common: options, tables, JSON, and errors without tracebacks."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from stillpoint.commands.errors import EXPLAINED, Remedies, explain
from stillpoint.core.terminal import console, tell, tell_json

if TYPE_CHECKING:
    from stillpoint.report.grid import Grid

Out = Annotated[
    Path | None, typer.Option("--out", help="Folder for the full tables, the raw rows and figures.")
]
Quick = Annotated[
    bool, typer.Option("--quick", help="A small run, in seconds, to see that all is well.")
]
_REMEDIES = Remedies(
    "interrupted; run the command again",
    "use a machine with more",
    "give another --out",
    "give another --out",
)
_TYPES = {"int": "a whole number", "float": "a number"}  # of options, as pydantic names them
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
DateFormat = Annotated[
    str | None,
    typer.Option(help="How --time writes dates, such as %d.%m.%Y, where values do not tell."),
]
Format = Annotated[
    str | None, typer.Option(help="csv, jsonl or parquet, where the suffix does not tell.")
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(help="Folder to go on from after a kill; no row is lost or repeated."),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print errors and notes only.")]


def asked(context: typer.Context) -> str:
    """The command as it was given, without where its results go: pages say what made them."""
    words = context.command_path.split()
    for option in context.command.params:
        name = option.name or ""
        source = context.get_parameter_source(name)
        if name in ("out", "json") or source is None or source.name != "COMMANDLINE":
            continue
        value = context.params[name]
        for one in value if isinstance(value, list | tuple) else [value]:
            words += [option.opts[0]] if one is True else [option.opts[0], str(one)]
    return shlex.join(["stillpoint", *words[1:]])


def show(grids: list["Grid"]) -> None:
    """Tables on the terminal, without those too long for one."""
    screen = console()
    for grid in grids:
        if not grid.deep:
            screen.print(grid.rich())


def print_json(value: object) -> None:
    """A value as JSON."""
    import json

    tell_json(json.dumps(value, indent=1, allow_nan=False))


def report(files: list[Path]) -> None:
    """Which files were written."""
    for file in files:
        tell(f"wrote {file}")
    if not files:
        tell("give --out DIR to keep all rows, tables by stream and figures")


class Commands(TyperGroup):
    """Commands whose errors of usage are one line, as all others are, shown as other text is: they
    quote what was typed, or the files that `*` stood for. In their help flags have no type.
    """

    def get_command(self, *args: Any) -> Any:
        """The command of a name, and what is below it."""
        command = super().get_command(*args)
        for each in (command, *getattr(command, "commands", {}).values()):
            if each is not None:
                _without_types(each.get_params(args[0]))
        return command

    def get_params(self, *args: Any) -> Any:
        """Options before the command's name."""
        return _without_types(super().get_params(*args))

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Parse what comes before the command's name."""
        with _usage_shown():
            return super().make_context(*args, **options)

    def invoke(self, *args: Any) -> Any:
        """Parse the rest, and run the command."""
        with _usage_shown():
            return super().invoke(*args)


def _without_types(options: list[Any]) -> list[Any]:
    """Options of which flags have no type: help would say <bool>, as if they took a word."""
    for option in options:
        if getattr(option, "is_flag", False):
            option.metavar = ""
    return options


@contextmanager
def _usage_shown() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # a ClickException; where that class lives differs between versions of typer
        if not hasattr(error, "format_message") or type(error).__name__ == "NoArgsIsHelpError":
            raise
        context = getattr(error, "ctx", None)
        command = [] if context is None else context.command_path.split()[1:]
        tell(f"error: {_usage(error)} see {' '.join(['stillpoint', *command])} --help", err=True)
        raise typer.Exit(2) from None


def _usage(error: Any) -> str:
    """What is wrong with how a command was called, up to what to do about it."""
    option, kind = getattr(error, "param", None), type(error).__name__
    name = option.opts[0] if option is not None else ""
    if kind == "MissingParameter" and name:
        return f"{name} must be given: got none; give it,"
    found = getattr(error.__cause__, "errors", None)  # of pydantic: the message has no value
    if kind == "BadParameter" and name and found is not None:
        first = found()[0]
        what = _TYPES.get(first["type"].partition("_")[0], "what its help says")
        return f"{name} must be {what}: got {first['input']!r};"
    message = error.format_message().rstrip(".").replace(". Did", "; did")
    return f"{message[:1].lower()}{message[1:]}{'' if message.endswith('?') else ';'}"


@contextmanager
def plain_errors() -> Iterator[None]:
    """End with a message and an exit code, not a traceback, where arguments or files are bad."""
    try:
        yield
    except EXPLAINED as error:
        code, line = explain(error, _REMEDIES)
        if line:
            tell(line, err=True)
        raise typer.Exit(code) from None

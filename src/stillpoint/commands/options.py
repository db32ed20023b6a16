"""What `stillpoint track` was asked for, checked, and the errors that it answers with."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stillpoint.commands.columns import left_out, show_name, show_names
from stillpoint.core.words import suggest

TASKS = ("regression", "binary", "quantile", "interval")
FORMATS = ("csv", "jsonl", "parquet")
_PREDICTIONS = ("csv", "parquet")
FILES = ("predictions.csv", "summary.json", "report.html")  # of a run; what is written
PARQUET = "predictions.parquet"  # … in place of the first, if asked for
_MOST_DELAY = 10**8
# of a share and of what it leaves, as the trackers have it; they are too heavy to be asked at the
# start
_LEAST = 1e-6
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
SUFFIXES |= {".parquet": "parquet", ".pq": "parquet"}
# and what unpacks to a pipe
PACKED = {".gz": "gunzip -c", ".zip": "unzip -p", ".bz2": "bunzip2 -c", ".xz": "xz -dc"}


class InputError(ValueError):
    """Arguments or input that cannot be used: one line that names what, the value and the
    remedy.
    """


class RowError(InputError):
    """A row that cannot be used; `index` is its place in the batch, to be told as a row number
    where that is known.
    """

    def __init__(self, index: int, what: str) -> None:
        super().__init__(what)
        self.index, self.what = index, what


@dataclass(frozen=True)
class Options:
    """The command's arguments. features: None for all other columns. level: of a quantile.
    coverage: of an interval.
    """

    source: str
    target: str
    out: Path
    time: str | None = None
    features: tuple[str, ...] | None = None
    task: str = "regression"
    level: float = 0.9
    coverage: float = 0.9
    delay: int = 0
    format: str | None = None
    follow: bool = False
    checkpoint: Path | None = None
    predictions: str = "csv"

    def __post_init__(self) -> None:
        named(self.source)
        one_of("--task", self.task, TASKS)
        one_of("--predictions", self.predictions, _PREDICTIONS)
        if self.format is not None:
            one_of("--format", self.format, FORMATS)
        object.__setattr__(self, "level", share("--level", self.level))
        object.__setattr__(self, "coverage", share("--coverage", self.coverage))
        object.__setattr__(
            self,
            "delay",
            whole("--delay", self.delay, "give how many rows later targets are known"),
        )
        if self.delay < 0:
            raise InputError(
                f"--delay must not be negative: got {self.delay}; give how many rows later targets"
                " are known"
            )
        if self.delay > _MOST_DELAY:
            raise InputError(
                f"--delay must be at most {_MOST_DELAY}: got {self.delay}; so many rows are kept in"
                " memory"
            )
        if self.time == self.target:
            raise InputError(
                f"--time must not be the target: got {self.time!r}; name the column of times, or"
                " leave it out"
            )
        for name in self.features or ():
            if name in (self.target, self.time):
                raise InputError(
                    f"--features must not hold the target or the time: got {name!r}; leave it out"
                )
        if self.features is not None and len(set(self.features)) < len(self.features):
            raise InputError(
                f"--features must differ: got {','.join(self.features)}; name each column once"
            )
        if self.out.exists() and not self.out.is_dir():
            raise InputError(f"--out must be a folder: got the file {self.out}; give another name")

    @property
    def kind(self) -> str:
        """The format of the input, by name or by suffix; CSV from standard input."""
        if self.format is not None:
            return self.format
        if self.source == "-":
            return "csv"
        suffix = Path(self.source).suffix.lower()
        if suffix in PACKED:
            raise packed(self.source, PACKED[suffix])
        if suffix not in SUFFIXES:
            raise InputError(
                f"the format must be known: got the suffix {suffix!r}; add --format csv, jsonl or"
                " parquet"
            )
        return SUFFIXES[suffix]

    def columns(self, names: Sequence[str]) -> tuple[str, ...]:
        """The features, once the columns of the input are known; refuses names that are not among
        them.
        """
        known = set(names)
        asked = [("--target", self.target)] + [("--features", name) for name in self.features or ()]
        for option, name in [*asked, *([("--time", self.time)] if self.time is not None else [])]:
            if name not in known:
                raise no_column(option, "a column", name, names)
        if self.features is not None:
            return self.features
        out = {self.target, self.time, *left_out(names)}
        return tuple(name for name in names if name not in out)

    def notes(self, names: Sequence[str]) -> list[str]:
        """Which columns are no features although nobody said so, and why."""
        left = left_out(names) if self.features is None else {}
        own = (self.target, self.time)
        return [
            f"column {show_name(name)} is no feature: {why}"
            for name, why in left.items()
            if name not in own
        ]


def one_of(option: str, given: str, known: Sequence[str]) -> None:
    """Refuse a word that is not known, with the nearest that is."""
    if given not in known:
        raise InputError(
            f"{option} must be one of {', '.join(known)}: got {given!r}; {suggest(given, known)}see"
            " --help"
        )


def named(source: Any) -> None:
    """Refuse an input whose name is not text: it stands in the summary."""
    if not isinstance(source, str):
        raise InputError(f"the input must be named by text: got {source!r}; give str(path)")


def packed(source: str, command: str) -> InputError:
    """The error for a compressed input. command: what unpacks it to a pipe."""
    pipe = f"{command} {'FILE' if source == '-' else source} | stillpoint track - …"
    return InputError(
        f"the input must not be compressed: got {source}; decompress it, or pipe it: {pipe}"
    )


def no_column(option: str, what: str, given: str, names: Sequence[str]) -> InputError:
    """The error for a name that is not that of a column, with the nearest that is."""
    hint = f"{suggest(given, names)}the columns are {show_names(names)}"
    return InputError(f"{option} must be {what}: got {show_name(given)}; {hint}")


def different(names: Sequence[str]) -> None:
    """Refuse columns of which two have one name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(
                f"columns must have different names: got {show_name(name)} twice; rename one"
            )
        seen.add(name)


def share(option: str, given: Any) -> float:
    """A share as a float; refuses what is none that a tracker can hold to."""
    try:
        value = float("nan" if isinstance(given, str | bytes) else given)
    except (TypeError, ValueError, OverflowError):
        value = float("nan")
    if not _LEAST <= value <= 1.0 - _LEAST:
        ends = f"{_LEAST:f} and {1.0 - _LEAST:f}"
        raise InputError(
            f"{option} must be a number between {ends}: got {given!r}; give a share such as 0.9"
        )
    return value


def whole(option: str, given: Any, remedy: str) -> int:
    """A whole number as an int; refuses all else."""
    try:
        return int(operator.index(given))
    except TypeError:
        raise InputError(f"{option} must be a whole number: got {given!r}; {remedy}") from None

"""What `stillpoint track` was asked for, checked, and the errors that it answers with."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TASKS = ("regression", "binary", "quantile", "interval")
FORMATS = ("csv", "jsonl", "parquet")
PREDICTIONS = ("csv", "parquet")
MOST_DELAY = 10**8
SUFFIXES = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}
SUFFIXES |= {".parquet": "parquet", ".pq": "parquet"}


class InputError(ValueError):
    """Arguments or input that cannot be used: one line that names what, the value and the remedy."""


class RowError(InputError):
    """A row that cannot be used; `index` is its place in the batch, to be told as a row number where that is known."""

    def __init__(self, index: int, what: str) -> None:
        super().__init__(what)
        self.index, self.what = index, what


@dataclass(frozen=True)
class Options:
    """The command's arguments. features: None for all other columns. level: of a quantile. coverage: of an interval."""

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
        one_of("--task", self.task, TASKS)
        one_of("--predictions", self.predictions, PREDICTIONS)
        if self.format is not None:
            one_of("--format", self.format, FORMATS)
        for name, share in (("--level", self.level), ("--coverage", self.coverage)):
            if not 1e-6 <= share <= 1.0 - 1e-6:
                raise InputError(f"{name} must be between 0 and 1: got {share}; give a share such as 0.9")
        if self.delay < 0:
            raise InputError(f"--delay must not be negative: got {self.delay}; give how many rows later targets are known")
        if self.delay > MOST_DELAY:
            raise InputError(f"--delay must be at most {MOST_DELAY}: got {self.delay}; so many rows are kept in memory")
        if self.time == self.target:
            raise InputError(f"--time must not be the target: got {self.time!r}; name the column of times, or leave it out")
        for name in self.features or ():
            if name in (self.target, self.time):
                raise InputError(f"--features must not hold the target or the time: got {name!r}; leave it out")
        if self.features is not None and len(set(self.features)) < len(self.features):
            raise InputError(f"--features must differ: got {','.join(self.features)}; name each column once")
        if self.out.exists() and not self.out.is_dir():
            raise InputError(f"--out must be a folder: got the file {self.out}; give another name")

    @property
    def kind(self) -> str:
        """The format of the input, by name or by suffix; lines of CSV where neither tells."""
        if self.format is not None:
            return self.format
        if self.source == "-":
            return "csv"
        suffix = Path(self.source).suffix.lower()
        if suffix not in SUFFIXES:
            raise InputError(f"the format must be known: got the suffix {suffix!r}; add --format csv, jsonl or parquet")
        return SUFFIXES[suffix]

    def columns(self, names: Sequence[str]) -> tuple[str, ...]:
        """The features, once the columns of the input are known; refuses names that are not among them."""
        asked = [("--target", self.target)] + [("--features", name) for name in self.features or ()]
        for option, name in [*asked, *([("--time", self.time)] if self.time is not None else [])]:
            if name not in names:
                near = difflib.get_close_matches(name, names, 1, 0.5)
                hint = f"did you mean {near[0]!r}? " if near else ""
                raise InputError(f"{option} must be a column: got {name!r}; {hint}the columns are {', '.join(names)}")
        if self.features is not None:
            return self.features
        return tuple(name for name in names if name not in (self.target, self.time))


def one_of(option: str, given: str, known: Sequence[str]) -> None:
    """Refuse a word that is not known, with the nearest that is."""
    if given not in known:
        near = difflib.get_close_matches(given, known, 1, 0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise InputError(f"{option} must be one of {', '.join(known)}: got {given!r}; {hint}see --help")

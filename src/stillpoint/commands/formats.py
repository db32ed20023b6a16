"""Formats of input: CSV, JSON lines and Parquet, told apart, read as batches of columns."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from stillpoint.commands.errors import InputError, Stop, show_name

SUFFIXES = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), "csv"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "jsonl"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
}
# compressed files, what unpacks them to a pipe, and how they begin
_PACKED = {
    ".zip": ("unzip -p", re.compile(rb"PK\x03\x04")),
    ".bz2": ("bunzip2 -c", re.compile(rb"BZh[1-9]1AY&SY")),
    ".xz": ("xz -dc", re.compile(rb"\xfd7zXZ")),
}
_SHEETS = (".xlsx", ".xls", ".xlsm", ".ods")
# a column may be named PAR1, but no name goes on like this
_PARQUET = re.compile(rb"PAR1[\x00-\x08\x0e-\x1f]")
# what pandas writes for an index, and reads one back as
_INDEX = re.compile(r"|Unnamed: \d+(_level_\d+)?|__index_level_\d+__")
# what `stillpoint streams export` writes, and nothing else
_EXPORTED = re.compile(r"time|[xy]\d*|truth\d*")

Cells = Sequence[Any]


@dataclass
class Batch:
    """Rows by column, in the order asked for.

    `records`, and `places`, which is the record of each row, are the reader's.
    """

    columns: list[Cells]
    rows: int
    records: list[bytes] = field(default_factory=list)
    places: list[int] | None = None

    def kept(self, rows: int) -> int:
        """Return how many records hold the first rows."""
        return rows if self.places is None or rows == 0 else self.places[rows - 1] + 1

    def head(self, rows: int) -> "Batch":
        """Return the first rows."""
        places = None if self.places is None else self.places[:rows]
        columns = [column[:rows] for column in self.columns]
        return Batch(columns, rows, self.records[: self.kept(rows)], places)


class Reader(Protocol):
    """What a source asks of the reader of one file: batches of rows, and a place to go on from."""

    names: list[str]
    passed: list[str]  # names in later rows that are no columns, a few of them

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to come."""

    @property
    def gone(self) -> bool:
        """Whether it ended because it was deleted while it was followed."""

    @property
    def position(self) -> int:
        """Where the next row begins."""

    @property
    def size(self) -> int | None:
        """Where the last one ends, if that is known."""

    def begin(self) -> bool:
        """Find the names of the columns; False while there is nothing to read them from."""

    def use(self, columns: Sequence[str]) -> None:
        """Choose the columns to read, and their order."""

    def read(self, limit: int) -> Batch:
        """Read up to so many rows; none where nothing has come.

        A row that cannot be read is refused when it is the first.
        """

    def back(self, batch: Batch, rows: int) -> None:
        """Let all but the first rows of the batch just read come again."""

    def seek(self, position: int) -> None:
        """Go on at a position."""

    def fingerprint(self, head: int, position: int) -> list[str | None]:
        """Return what tells this input from another up to that position; None for what cannot."""

    def notes(self) -> list[str]:
        """Return what a person should know of what was read."""

    def close(self) -> None:
        """Close the input."""


def open_reader(
    source: str,
    format: str | None = None,
    *,
    follow: bool = False,
    stop: Stop | None = None,
    words: Sequence[str] = (),
) -> Reader:
    """Open one file, or "-" for standard input, with the reader of its format.

    stop: ends the search for the place where a checkpoint goes on. words: columns that are not read
    as numbers.
    """
    if source != "-" and Path(source).is_dir():
        raise InputError(
            f"the input must be a file: got the folder {source}; name a file in it, or use"
            " stillpoint fleet, which reads all of them"
        )
    kind = format_of(source, format)
    if kind == "parquet":
        if source == "-" or follow:
            what = "--follow" if follow else "-"
            raise InputError(
                f"Parquet must be a whole file: got {what}; convert it to CSV or JSON lines to"
                " stream it"
            )
        from stillpoint.commands.parquet import ParquetReader

        return ParquetReader(source)
    from stillpoint.commands.lines import Lines

    lines = Lines(source, follow, kind == "csv", stop)
    check = partial(check_start, source, format)
    if kind == "csv":
        from stillpoint.commands.text import CsvReader

        return CsvReader(lines, check, words)
    from stillpoint.commands.jsonl import JsonReader

    return JsonReader(lines, check)


def suffix_of(name: Path) -> str:
    """Return the suffix that tells a file's format: of what gzip has packed, the one before .gz."""
    packed = name.suffix.lower() == ".gz"
    return (name.with_suffix("") if packed else name).suffix.lower()


def format_of(source: str, given: str | None = None) -> str:
    """Return the format of an input: as given, or by its suffix; CSV from standard input.

    What gzip has packed is read as it is.
    """
    if given is not None:
        return given
    if source == "-":
        return "csv"
    name = Path(source)
    packed = name.suffix.lower() == ".gz"
    suffix = suffix_of(name)
    if packed and SUFFIXES.get(suffix) == "parquet":
        raise InputError(
            f"Parquet must not be packed once more: got {source}; unpack it: gunzip {source}"
        )
    if suffix in _PACKED:
        raise _packed(source, suffix)
    if suffix in _SHEETS:
        raise _sheet(source)
    if suffix not in SUFFIXES:
        raise InputError(
            f"the format must be known: got the suffix {suffix!r}; add --format csv, jsonl or"
            " parquet"
        )
    return SUFFIXES[suffix]


def check_start(source: str, given: str | None, head: bytes) -> None:
    """Refuse, by its first bytes, an input that is not what it is read as.

    That is what is compressed, Parquet, and JSON lines that are read as CSV because nobody said so:
    better said than found out row by row.
    """
    if _PACKED[".zip"][1].match(head) and suffix_of(Path(source)) in _SHEETS:
        raise _sheet(source)
    for suffix, (_, mark) in _PACKED.items():
        if mark.match(head):
            raise _packed(source, suffix)
    piped = source == "-"
    if _PARQUET.match(head):
        if piped:
            raise InputError(
                "Parquet must be a whole file: got - with Parquet in it; write it to a file and"
                " name that"
            )
        raise InputError(
            f"the input must be text: got {source}, which is Parquet; add --format parquet"
        )
    if piped and given is None and head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        what = "got standard input that begins with {"
        raise InputError(
            f"the format must be named where it is not CSV: {what}; add --format jsonl, or write it"
            " to a .jsonl file"
        )


def _packed(source: str, suffix: str) -> InputError:
    """Return the error for a compressed input."""
    pipe = f"{_PACKED[suffix][0]} {'FILE' if source == '-' else source} | stillpoint track - …"
    return InputError(
        f"the input must not be compressed: got {source}; decompress it, or pipe it: {pipe}"
    )


def _sheet(source: str) -> InputError:
    """Return the error for a spreadsheet."""
    return InputError(
        f"the input must be text or Parquet: got the spreadsheet {source}; save it as CSV, or give"
        " sp.track what pandas.read_excel reads"
    )


def different(names: Sequence[str]) -> None:
    """Refuse columns of which two have one name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            # a line of a title has one cell, and the rest of it is empty
            remedy = "rename one" if name else "name each, and leave out lines above the header"
            raise InputError(
                f"columns must have different names: got {show_name(name)} twice; {remedy}"
            )
        seen.add(name)


def left_out(names: Sequence[str]) -> dict[str, str]:
    """Return columns that are no features unless they are asked for, with the reason.

    An index counts rows and would be read as a trend. `truth` is what an exported stream was made
    from: who has a column of that name among others of their own keeps it as a feature.
    """
    asked = "name it in --features to use it"
    index = (
        "without a name it is the index of a data frame, or what one separator too many makes; {}"
    ).format
    found = {
        name: index(asked if name else "name it in the header to use it")
        for name in names
        if _INDEX.fullmatch(name)
    }
    if all(map(_EXPORTED.fullmatch, names)) and any(name.startswith("y") for name in names):
        why = f"in an exported stream it is what the targets were made from; {asked}"
        found |= {name: why for name in names if name.startswith("truth")}
    return found

"""Parquet by pyarrow, which is optional: rows of a file in blocks, and predictions as a file."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from stillpoint.commands.errors import InputError, RowError, show_name
from stillpoint.commands.formats import Batch, Cells, different
from stillpoint.commands.lines import HEAD
from stillpoint.core.container import replacing

_ROWS, _CELLS = 1 << 15, 1 << 20  # read at once, at most


def load(what: str) -> Any:
    """pyarrow, with the parts that are used here."""
    try:
        for part in ("csv", "parquet"):
            import_module(f"pyarrow.{part}")
        return import_module("pyarrow")
    except ImportError:
        raise InputError(
            f"{what} must have pyarrow: it is not installed; run: pip install pyarrow"
        ) from None


class ParquetReader:
    """Rows of a Parquet file, by pyarrow; positions are row numbers."""

    gone = False  # it is not followed

    def __init__(self, path: str) -> None:
        arrow, self.passed = load("Parquet"), list[str]()
        if not Path(path).is_file():
            raise InputError(f"the input must exist: got {path}; check the path")
        try:
            self._file = arrow.parquet.ParquetFile(path)
        except (arrow.ArrowException, OSError) as error:
            what = " ".join(str(error).split())
            raise InputError(
                f"the input must be a Parquet file: got {path} ({what}); give --format csv or jsonl"
            ) from None
        self._broken = arrow.ArrowException, OSError
        self._path = path
        self.names = list(self._file.schema_arrow.names)
        self.size = int(self._file.metadata.num_rows)
        self.position, self._cursor, self._count = 0, 0, 0
        self._loaded: list[Cells] = []
        self._prints: list[str | None] | None = None

    def begin(self) -> bool:
        """The names are in the file."""
        different(self.names)
        return True

    def use(self, columns: Sequence[str]) -> None:
        """Columns to read, and their order."""
        self._used = list(columns)
        rows = max(1, min(_ROWS, _CELLS // max(len(self._used), 1)))
        self._batches: Iterator[Any] = self._file.iter_batches(batch_size=rows, columns=self._used)

    def read(self, limit: int) -> Batch:
        """Up to so many rows."""
        while self._cursor == self._count and self.position < self.size:
            try:
                batch = next(self._batches)
            except self._broken as error:
                what = " ".join(str(error).split())
                raise RowError(
                    0, f"the Parquet file must be whole: got {what}; write it anew"
                ) from None
            # looked for by name, each would be a search
            places = {name: i for i, name in enumerate(batch.schema.names)}
            self._loaded = [self._cells(batch.column(places[name]), name) for name in self._used]
            self._cursor, self._count = 0, int(batch.num_rows)
        rows = min(limit, self._count - self._cursor)
        columns: list[Cells] = [
            column[self._cursor : self._cursor + rows] for column in self._loaded
        ]
        self._cursor, self.position = self._cursor + rows, self.position + rows
        return Batch(columns, rows)

    def _cells(self, column: Any, name: str) -> Cells:
        """The cells of a column; dates may be of years, or so fine, that Python has none."""
        try:
            cells: Cells = column.to_pylist()
        except (ValueError, OverflowError, *self._broken) as error:
            what = " ".join(str(error).split())
            raise InputError(
                f"column {show_name(name)} must hold what Python can read: got {column.type} in"
                f" {self._path} ({what}); cast it to microseconds of the years 1 to 9999, or leave"
                " the column out"
            ) from None
        return cells

    def back(self, batch: Batch, rows: int) -> None:
        """All but the first rows of the batch just read come again."""
        self._cursor = self._cursor - (batch.rows - rows)
        self.position = self.position - (batch.rows - rows)

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to come."""
        return self.position >= self.size

    def seek(self, position: int) -> None:
        """Skip rows."""
        while self.position < position:
            if self.ended:
                raise InputError(
                    f"the input must be as long as before: got {self.size} rows of {position};"
                    " begin anew"
                )
            self.read(min(position - self.position, _ROWS))

    def fingerprint(self, head: int, position: int) -> list[str | None]:
        """Of its first bytes and its last, where the sizes of all columns stand, and of all. It
        does not grow: once is enough.
        """
        if self._prints is None:
            with open(self._path, "rb") as file:
                whole = hashlib.file_digest(file, "sha256").hexdigest()
                file.seek(0)
                first = file.read(HEAD)
                file.seek(-min(HEAD, file.seek(0, 2)), 2)
                self._prints = [hashlib.sha256(first + b"|" + file.read()).hexdigest(), whole]
        return self._prints

    def notes(self) -> list[str]:
        """There is nothing to know."""
        return []

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def to_parquet(path: Path, dates: bool, labels: bool) -> None:
    """Copy predictions.csv, block by block, to predictions.parquet beside it; dates and labels stay
    text.

    The copy is on the disk when this returns: the original may be deleted.
    """
    arrow = load("--predictions parquet")
    types = dict.fromkeys(("time", "y", "forecast", "lo", "hi"), arrow.float64()) | {
        "row": arrow.int64()
    }
    types |= {name: arrow.string() for name, text in (("time", dates), ("y", labels)) if text}
    options = arrow.csv.ConvertOptions(column_types=types, strings_can_be_null=True)
    with replacing(path.with_suffix(".parquet")) as temporary:
        blocks = arrow.csv.open_csv(path, convert_options=options)
        with blocks, arrow.parquet.ParquetWriter(temporary, blocks.schema) as writer:
            for block in blocks:
                writer.write_batch(block)
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())

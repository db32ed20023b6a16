"""CSV, JSON lines and Parquet as batches of columns; a batch that holds a bad row is cut
before it.
"""

import csv
import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from stillpoint.commands.batches import Batch, Cells, Reader
from stillpoint.commands.cells import show_cell
from stillpoint.commands.lines import Lines
from stillpoint.commands.options import InputError, Options, RowError, different
from stillpoint.commands.start import check_start
from stillpoint.commands.stop import Stop
from stillpoint.commands.text import all_decoded, check_quotes, decoded, once, writable

_DELIMITERS = (",", ";", "\t", "|")
_NAMED = 5  # keys in a note
_DECODER = json.JSONDecoder(object_pairs_hook=once)
_OPEN = (
    "a row must close its quotes: got one that stays open; close it, or double a quote that is part"
    " of a cell"
)


class _TextReader:
    """Rows of text, a record each; subclasses say how a record is read. check: refuses an input by
    its first bytes.
    """

    names: list[str]

    def __init__(self, lines: Lines, check: Callable[[bytes], None] | None = None) -> None:
        self.lines, self._check = lines, check
        self.names, self._used = [], [""]

    def begin(self) -> bool:
        """Find the names of the columns; False while there is nothing to read them from."""
        raise NotImplementedError

    def _first(self) -> bytes | None:
        """The first record that is not blank; None while there is none."""
        while True:
            try:
                records = self.lines.take(1)
            except RowError:  # of a file that is no text, which says more
                self._look()
                raise
            if not records:
                return None
            if records[0].strip():
                self._look()
                return records[0]

    def _look(self) -> None:
        if self._check is not None:
            self._check(self.lines.head)

    def _rows(self, records: list[bytes]) -> tuple[list[Any], list[int] | None]:
        """Rows, and the record each came from if that is not one for one. RowError's index is that
        of the row.
        """
        raise NotImplementedError

    def _columns(self, rows: list[Any]) -> list[Cells]:
        raise NotImplementedError

    def _blank(self, record: bytes) -> bool:
        """Whether a record holds no row."""
        return not record.strip()

    def _holding(self, records: list[bytes], rows: int) -> int:
        """How many records hold the first rows and no more; blank ones hold none."""
        seen = 0
        for i, record in enumerate(records):
            if seen == rows:
                return i
            seen += not self._blank(record)
        return len(records)

    def use(self, columns: Sequence[str]) -> None:
        """Columns to read, and their order."""
        self._used = list(columns)

    def read(self, limit: int) -> Batch:
        """Up to so many rows; none where nothing has come. A row that cannot be read is refused
        when it is the first.
        """
        records = self.lines.take(limit)
        while True:
            try:
                rows, places = self._rows(records)
                return Batch(self._columns(rows), len(rows), records, places)
            except RowError as error:
                kept = min(self._holding(records, error.index), len(records) - 1)
                self.lines.put_back(records[kept:])
                if kept == 0:
                    raise
                records = records[:kept]

    def back(self, batch: Batch, rows: int) -> None:
        """All but the first rows of the batch just read come again."""
        self.lines.put_back(batch.records[batch.kept(rows) :])

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to come."""
        return self.lines.ended

    @property
    def gone(self) -> bool:
        """Whether it ended because it was deleted while it was followed."""
        return self.lines.gone

    @property
    def position(self) -> int:
        """Where the next row begins."""
        return self.lines.position

    @property
    def size(self) -> int | None:
        """Where the last one ends, if that is known."""
        return self.lines.size

    def seek(self, position: int) -> None:
        """Go on at a position."""
        self.lines.seek(position)

    def fingerprint(self, head: int, position: int) -> list[str | None]:
        """What tells this input from another, up to that position; None for a part that cannot be
        told.
        """
        return self.lines.fingerprint(head, position)

    def notes(self) -> list[str]:
        """What a person should know of what was read."""
        return []

    def close(self) -> None:
        """Close the input."""
        self.lines.close()


class CsvReader(_TextReader):
    """A header, then rows with as many cells. The delimiter is read off the header: comma,
    semicolon, tab or bar.
    """

    def begin(self) -> bool:
        """Read the header."""
        first = self._first()
        if first is None:
            return False
        header = decoded(first, "the header").removeprefix("\ufeff")
        # a name in quotes may hold any of them
        self.delimiter = max(_DELIMITERS, key=re.sub(r'"[^"]*"', "", header).count)
        try:
            self.names = [
                name.strip() for name in next(csv.reader([header], delimiter=self.delimiter))
            ]
        except csv.Error as error:
            raise InputError(
                f"the header must be CSV: {error}; end lines with \\n, check quotes"
            ) from None
        different(self.names)
        self._width = len(self.names)
        return True

    def use(self, columns: Sequence[str]) -> None:
        """Columns to read, and their order."""
        super().use(columns)
        places = {name: i for i, name in enumerate(self.names)}
        self._places = [places[name] for name in columns]

    def _blank(self, record: bytes) -> bool:
        return not record.strip(b"\r\n")  # spaces are a cell, tabs may be the marks between some

    def _rows(self, records: list[bytes]) -> tuple[list[Any], list[int] | None]:
        texts = all_decoded(records)
        reader = csv.reader(texts, delimiter=self.delimiter)
        rows: list[list[str]] = []
        places: list[int] | None = None
        try:
            rows.extend(reader)
        except csv.Error as error:
            raise RowError(
                sum(map(bool, rows)), f"a row must be CSV: {error}; check its quotes"
            ) from None
        if [] in rows or len(rows) != len(records):
            rows, places = [], []
            reader = csv.reader(texts, delimiter=self.delimiter)
            for i, row in enumerate(reader, 1):
                # a quote that no count of quotes shows: it has swallowed the next record
                if reader.line_num > i:
                    raise RowError(len(rows), _OPEN)
                if row:
                    rows.append(row)
                    places.append(reader.line_num - 1)
        check_quotes(texts, self.delimiter)
        if set(map(len, rows)) - {self._width}:
            bad = next(i for i, row in enumerate(rows) if len(row) != self._width)
            raise RowError(
                bad,
                f"a row must have {self._width} cells: got {len(rows[bad])}; repair it, quote cells"
                " with commas",
            )
        return rows, places

    def _columns(self, rows: list[Any]) -> list[Cells]:
        if not rows:
            return [() for _ in self._used]
        cells = list(zip(*rows, strict=True))
        return [cells[place] for place in self._places]


class JsonReader(_TextReader):
    """One JSON object a line; columns are the keys of the first, and a key that is not there is a
    missing cell.
    """

    _known: frozenset[str] | None = None  # until the first object has been read

    def __init__(self, lines: Lines, check: Callable[[bytes], None] | None = None) -> None:
        super().__init__(lines, check)
        # keys that are no columns; once they are more than are named, no others are looked for
        self._passed: list[str] = []

    def begin(self) -> bool:
        """Read the keys off the first object, which comes again as a row."""
        first = self._first()
        if first is None:
            return False
        rows, _ = self._rows([first])
        self.names = list(rows[0])
        self._known = frozenset(self.names)
        self.lines.put_back([first])
        return True

    def notes(self) -> list[str]:
        """Which keys were passed over."""
        if not self._passed:
            return []
        names = ", ".join(map(show_cell, self._passed[:_NAMED])) + (
            " and others" if len(self._passed) > _NAMED else ""
        )
        return [
            f"columns are the keys of the first object: got {names} in later ones, left out; give"
            " the first all keys"
        ]

    def _rows(self, records: list[bytes]) -> tuple[list[Any], list[int] | None]:
        rows: list[Any] = []
        places: list[int] = []
        for i, record in enumerate(records):
            if not record.strip():
                continue
            try:
                row = _DECODER.decode(decoded(record, "a row").removeprefix("\ufeff"))
            except RowError as error:
                raise RowError(len(rows), error.what) from None
            except (ValueError, RecursionError) as error:
                raise RowError(
                    len(rows), f"a row must be JSON: {error}; write one object a line"
                ) from None
            if not isinstance(row, dict):
                raise RowError(
                    len(rows),
                    f"a row must be a JSON object: got {show_cell(row)}; write one object a line",
                )
            if b"\\ud" in record.lower() and not writable(row):
                raise RowError(
                    len(rows),
                    "a row must be Unicode: got half of a surrogate pair; write whole characters",
                )
            if (
                self._known is not None
                and len(self._passed) <= _NAMED
                and not row.keys() <= self._known
            ):  # which looks at lengths first
                self._passed += [
                    name for name in row if name not in self._known and name not in self._passed
                ]
            rows.append(row)
            places.append(i)
        return rows, None if len(rows) == len(records) else places

    def _columns(self, rows: list[Any]) -> list[Cells]:
        return [[row.get(name) for row in rows] for name in self._used]


def open_reader(options: Options, stop: Stop | None = None) -> Reader:
    """The reader of the input's format. stop: ends the search for the place where a checkpoint goes
    on.
    """
    kind = options.kind
    if kind == "parquet":
        if options.source == "-" or options.follow:
            what = "--follow" if options.follow else "-"
            raise InputError(
                f"Parquet must be a whole file: got {what}; convert it to CSV or JSON lines to"
                " stream it"
            )
        from stillpoint.commands.parquet import ParquetReader

        return ParquetReader(options.source)
    lines = Lines(options.source, options.follow, kind == "csv", stop)
    check = partial(check_start, options)
    return CsvReader(lines, check) if kind == "csv" else JsonReader(lines, check)

"""Rows of text, a record each, and CSV; a batch that holds a bad row is cut before it."""

import csv
import re
from collections.abc import Callable, Sequence
from typing import Any

from stillpoint.commands.errors import InputError, RowError
from stillpoint.commands.formats import Batch, Cells, different
from stillpoint.commands.lines import Lines
from stillpoint.commands.thousands import Thousands

_DELIMITERS = (",", ";", "\t", "|")
_OPEN = (
    "a row must close its quotes: got one that stays open; close it, or double a quote that is part"
    " of a cell"
)


class TextReader:
    """Rows of text, a record each; subclasses say how a record is read.

    check: refuses an input by its first bytes.
    """

    names: list[str]

    def __init__(self, lines: Lines, check: Callable[[bytes], None] | None = None) -> None:
        self.lines, self._check = lines, check
        self.names, self._used = [], [""]
        self.passed: list[str] = []  # see `Reader`

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


class CsvReader(TextReader):
    """A header, then rows with as many cells. The delimiter is read off the header: comma,
    semicolon, tab or bar.

    words: columns that are not read as numbers.
    """

    def __init__(
        self,
        lines: Lines,
        check: Callable[[bytes], None] | None = None,
        words: Sequence[str] = (),
    ) -> None:
        super().__init__(lines, check)
        self._thousands = Thousands(words)

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
        texts = _all_decoded(records)
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
        _check_quotes(texts, self.delimiter)
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
        columns: list[Cells] = [cells[place] for place in self._places]
        if self.delimiter == ";":  # where commas are decimal, points set thousands apart
            self._thousands.check(self._used, columns)
        return columns


def decoded(record: bytes, what: str) -> str:
    """A record as text."""
    if b"\0" in record:
        raise RowError(0, f"{what} must be text: got a NUL byte; convert the file to UTF-8 first")
    try:
        return record.decode()
    except UnicodeDecodeError as error:
        raise RowError(
            0,
            f"{what} must be UTF-8: {error.reason} at byte {error.start}; convert the file by iconv"
            " -f latin1 -t utf8, or give sp.track what pandas.read_csv(…, encoding='latin1')"
            " reads",
        ) from None


def _all_decoded(records: Sequence[bytes]) -> list[str]:
    """Records of CSV as text."""
    try:
        if b"\0" not in b"".join(records):
            return [record.decode() for record in records]
    except UnicodeDecodeError:
        pass
    texts: list[str] = []
    for record in records:
        try:
            texts.append(decoded(record, "a row"))
        except RowError as error:
            raise RowError(_rows_in(texts), error.what) from None
    return texts


def _rows_in(texts: Sequence[str]) -> int:
    """How many records of CSV hold a row: spaces are a cell, tabs may be the marks between some."""
    return sum(bool(text.strip("\r\n")) for text in texts)


def _check_quotes(texts: Sequence[str], delimiter: str) -> None:
    """Refuse a stray quote that another one closes lines later: the rows between the two would be
    one cell of one row.
    """
    for i, text in enumerate(texts):
        if "\n" in text:
            try:
                next(csv.reader([text], delimiter=delimiter, strict=True), None)
            except csv.Error as error:
                remedy = "check its quotes: line ends between two of them are part of a cell"
                raise RowError(
                    _rows_in(texts[:i]), f"a row must be CSV: {error}; {remedy}"
                ) from None

"""Readers of what is in memory, as `Source` asks for them: columns, and rows as they come."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain, islice
from typing import Any

import numpy as np

from stillpoint.commands.errors import InputError, RowError, Stop, show_cell
from stillpoint.commands.formats import Batch, different
from stillpoint.commands.formats import Cells as Rows
from stillpoint.commands.jsonl import NAMED, left_out
from stillpoint.commands.sources import Source
from stillpoint.frames.cells import Cells, array_cells

NUMBER = float | int | np.number | Decimal
VALUE = "y"  # the name of a column that has none
_END = object()
_REMEDY = "give dicts, named tuples or numbers"


class MemorySource(Source):
    """A reader that is open already."""

    def __init__(
        self, reader: "Reader", columns: Callable[[list[str], str], Sequence[str]], stop: Stop
    ) -> None:
        super().__init__(["data"], columns, stop)
        reader.use(columns(reader.names, "data"))
        self._reader = reader

    def refused(self, error: RowError) -> InputError:
        """Return the error for the row that comes next, by its place in the data."""
        return InputError(f"row {self.row} (counted from 0): {error.what}")


class Reader:
    """What readers of memory have in common: there is nothing to wait for, or to close."""

    gone, size = False, None

    def __init__(self, names: Sequence[str]) -> None:
        different(names)
        self.names, self.position, self.ended = list(names), 0, False
        self._used: list[str] = []
        self.passed: list[str] = []

    def begin(self) -> bool:
        """Return True: the names are known."""
        return True

    def use(self, columns: Sequence[str]) -> None:
        """Choose the columns to read, and their order."""
        self._used = list(columns)

    def read(self, limit: int) -> Batch:
        """Read up to so many rows."""
        raise NotImplementedError

    def back(self, batch: Batch, rows: int) -> None:
        """Let all but the first rows of the batch just read come again."""
        raise NotImplementedError

    def seek(self, position: int) -> None:
        """Refuse: there are no checkpoints of what is in memory."""
        raise NotImplementedError

    def fingerprint(self, head: int, position: int) -> list[str | None]:
        """Return nothing: see `seek`."""
        return []

    def notes(self) -> list[str]:
        """Return nothing to know."""
        return []

    def close(self) -> None:
        """Do nothing."""


class ColumnReader(Reader):
    """Columns of equal length.

    Parameters
    ----------
    columns
        Cells by name.
    """

    def __init__(self, columns: Mapping[str, Cells]) -> None:
        super().__init__(list(columns))
        self._columns = columns
        lengths = {name: len(cells) for name, cells in columns.items()}
        self.rows = next(iter(lengths.values()), 0)
        for name, length in lengths.items():
            if length != self.rows:
                raise InputError(
                    f"data must have columns of one length: got {length} rows in {name!r} and"
                    f" {self.rows} in {next(iter(lengths))!r}; make them equal"
                )
        self.ended = self.rows == 0

    def read(self, limit: int) -> Batch:
        """Read up to so many rows."""
        start, stop = self.position, min(self.position + limit, self.rows)
        self.position, self.ended = stop, stop == self.rows
        found = [self._columns[name][start:stop] for name in self._used]
        columns: list[Rows] = [c.tolist() if isinstance(c, np.ndarray) else c for c in found]
        return Batch(columns, stop - start)

    def back(self, batch: Batch, rows: int) -> None:
        """Let all but the first rows of the batch just read come again."""
        self.position -= batch.rows - rows
        self.ended = self.position == self.rows


class RowReader(Reader):
    """Rows one by one: mappings, named tuples, sequences, or bare numbers.

    Columns are those of the first; of a sequence they are named by their places.

    Parameters
    ----------
    rows
        Read as they are asked for; they need not end soon.
    value
        The name of bare numbers.
    """

    def __init__(self, rows: Iterator[Any], value: str = VALUE) -> None:
        first = next(rows, _END)
        if first is _END:
            raise InputError("data must have rows: got none; give at least one")
        self._value = value
        super().__init__(list(self._cells(first, 0)))
        self._rows, self._known = chain([first], rows), frozenset(self.names)
        self._last: list[dict[str, Any]] = []

    def _cells(self, row: Any, index: int) -> dict[str, Any]:
        if isinstance(row, Mapping):
            return {str(name): cell for name, cell in row.items()}
        if hasattr(row, "_asdict"):
            return dict(row._asdict())
        if isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim == 1):
            return {str(i): cell for i, cell in enumerate(row)}
        if row is None or isinstance(row, NUMBER):
            return {self._value: row}
        raise RowError(index, f"a row must have cells: got {show_cell(row)}; {_REMEDY}")

    def _admit(self, row: Any) -> dict[str, Any]:
        """Return the cells of a later row: as many as the first has, or under names."""
        cells = self._cells(row, 0)
        named = isinstance(row, Mapping) or hasattr(row, "_asdict")
        if not named and len(cells) != len(self.names):
            raise RowError(
                0,
                f"a row must have {len(self.names)} cells, as the first: got {len(cells)} in"
                f" {show_cell(row)}; fill in what is missing, or give dicts",
            )
        if len(self.passed) <= NAMED and not cells.keys() <= self._known:
            self.passed += [
                name for name in cells if name not in self._known and name not in self.passed
            ]
        return cells

    def notes(self) -> list[str]:
        """Return which keys were left out."""
        return left_out(self.passed)

    def read(self, limit: int) -> Batch:
        """Read up to so many rows; a bad one is refused when it is the first."""
        rows: list[dict[str, Any]] = []
        for row in islice(self._rows, limit):
            try:
                cells = self._admit(row)
            except RowError:
                if not rows:
                    raise
                self._rows = chain([row], self._rows)
                break
            rows.append(cells)
        self.position += len(rows)
        self.ended, self._last = not rows, rows
        columns: list[Rows] = [
            list(array_cells([row.get(name) for row in rows])) for name in self._used
        ]
        return Batch(columns, len(rows))

    def back(self, batch: Batch, rows: int) -> None:
        """Let all but the first rows of the batch just read come again."""
        self.position -= batch.rows - rows
        self._rows = chain(self._last[rows:], self._rows)
        self.ended = False

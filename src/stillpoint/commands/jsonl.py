"""JSON lines: one object a line."""

import json
from collections.abc import Sequence
from typing import Any

from stillpoint.commands.errors import RowError, show_cell
from stillpoint.commands.formats import Cells
from stillpoint.commands.text import TextReader, decoded

NAMED = 5  # keys in a note


class JsonReader(TextReader):
    """One JSON object a line; columns are the keys of the first, and a key that is not there is a
    missing cell.
    """

    _known: frozenset[str] | None = None  # until the first object has been read

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
        return left_out(self.passed)

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
            if b"\\ud" in record.lower() and not _writable(row):
                raise RowError(
                    len(rows),
                    "a row must be Unicode: got half of a surrogate pair; write whole characters",
                )
            if (
                self._known is not None
                and len(self.passed) <= NAMED
                and not row.keys() <= self._known
            ):  # which looks at lengths first
                self.passed += [
                    name for name in row if name not in self._known and name not in self.passed
                ]
            rows.append(row)
            places.append(i)
        return rows, None if len(rows) == len(records) else places

    def _columns(self, rows: list[Any]) -> list[Cells]:
        return [[row.get(name) for row in rows] for name in self._used]


def left_out(passed: Sequence[str]) -> list[str]:
    """A note on names that later rows have and the first has not."""
    if not passed:
        return []
    more = " and others" if len(passed) > NAMED else ""
    names = ", ".join(map(show_cell, passed[:NAMED])) + more
    return [
        f"columns are the keys of the first object: got {names} in later ones, left out; give"
        " the first all keys"
    ]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON as a dict; `json` itself would keep the last of two values under one key,
    and not say so.
    """
    row = dict(pairs)
    if len(row) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"got the key {show_cell(name)} twice")
            seen.add(name)
    return row


def _writable(row: dict[str, Any]) -> bool:
    """Whether an object is made of whole characters, which can be written to a file."""
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


_DECODER = json.JSONDecoder(object_pairs_hook=_once)

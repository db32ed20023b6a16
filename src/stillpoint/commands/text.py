"""Records of text that cannot be what they seem: refused before anything is made of them."""

import csv
import json
from collections.abc import Sequence
from typing import Any

from stillpoint.commands.cells import show_cell
from stillpoint.commands.options import RowError


def decoded(record: bytes, what: str) -> str:
    """A record as text."""
    if b"\0" in record:
        raise RowError(0, f"{what} must be text: got a NUL byte; convert the file to UTF-8 first")
    try:
        return record.decode()
    except UnicodeDecodeError as error:
        raise RowError(
            0, f"{what} must be UTF-8: {error.reason} at byte {error.start}; convert the file first"
        ) from None


def all_decoded(records: Sequence[bytes]) -> list[str]:
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
            raise RowError(rows_in(texts), error.what) from None
    return texts


def rows_in(texts: Sequence[str]) -> int:
    """How many records of CSV hold a row: spaces are a cell, tabs may be the marks between some."""
    return sum(bool(text.strip("\r\n")) for text in texts)


def check_quotes(texts: Sequence[str], delimiter: str) -> None:
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
                    rows_in(texts[:i]), f"a row must be CSV: {error}; {remedy}"
                ) from None


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
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


def writable(row: dict[str, Any]) -> bool:
    """Whether an object is made of whole characters, which can be written to a file."""
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True

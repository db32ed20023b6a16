"""Thousands marks that look like decimal points: 1.098 beside 998 in files separated by `;`."""

import re
from collections.abc import Sequence
from typing import Any

from stillpoint.commands.cells import missing
from stillpoint.commands.errors import RowError, show_cell, show_name

# cells of a column of thousands, where none is a million: 1.098 and 998, but not 0.998 or 1.5
_EITHER = re.compile(r"\s*[-+]?(?:[1-9]\d{0,2}(?:\.\d{3})?|0)\s*", re.ASCII)
_WHOLE = re.compile(r"[-+]?\d{3}", re.ASCII)
_DATE = re.compile(r"\d{1,2}\.\d{1,2}\.\d{2,4}\b.*", re.ASCII)
_MARKED, _PLAIN = "marked", "plain"


class Thousands:
    """Looks for columns of which nobody can tell whether their points are decimal or set thousands
    apart.

    Of decimals that are written without zeros at their end one in ten has a digit less than the
    most, and one in a thousand is whole where the most are three: a column in which each point has
    three digits behind it, and some whole number has three digits, hardly holds decimals. It holds
    no thousands where a number begins with 0, or a whole one has more digits.

    Parameters
    ----------
    words
        Columns that are not read as numbers, such as keys.
    """

    def __init__(self, words: Sequence[str] = ()) -> None:
        self._clear = set(words)  # columns that are told apart, or are no such numbers
        self._seen: dict[tuple[str, str], str] = {}  # the first cell of each kind, by column

    def check(self, names: Sequence[str], columns: Sequence[Sequence[Any]]) -> None:
        """Refuse rows, at the first of them, of which some column could be read in two ways."""
        for name, cells in zip(names, columns, strict=True):
            if name not in self._clear:
                self._look(name, cells)
        for name in names:
            marked, plain = (self._seen.get((name, kind)) for kind in (_MARKED, _PLAIN))
            if name not in self._clear and marked is not None and plain is not None:
                dates = [own for own, cells in zip(names, columns, strict=True) if _dated(cells)]
                raise RowError(0, _both(name, marked, plain, dates))

    def _look(self, name: str, cells: Sequence[Any]) -> None:
        for cell in cells:
            if _EITHER.fullmatch(cell) is None and not missing(cell):
                self._clear.add(name)
                return
        for kind in (_MARKED, _PLAIN):
            if (name, kind) not in self._seen:
                found = next((text for text in map(str.strip, cells) if _of(kind, text)), None)
                if found is not None:
                    self._seen[name, kind] = found


def _of(kind: str, text: str) -> bool:
    return "." in text if kind == _MARKED else _WHOLE.fullmatch(text) is not None


def _dated(cells: Sequence[Any]) -> bool:
    return bool(cells) and _DATE.match(cells[0]) is not None


def _both(name: str, marked: str, plain: str, dates: Sequence[str]) -> str:
    """Say what is wrong. dates: columns that pandas takes for numbers where points are."""
    what = f"column {show_name(name)} must tell thousands from decimals"
    got = f"got {show_cell(marked)} beside {show_cell(plain)}"
    plainly = f"{marked.replace('.', '')} or {plain}.000"
    days = f", parse_dates={list(dates)}, dayfirst=True" if dates else ""
    pandas = f"pandas.read_csv(…, sep=';', thousands='.', decimal=','{days}) reads"
    return f"{what}: {got}; write {plainly}, or give sp.track what {pandas}"

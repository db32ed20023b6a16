"""Labels of two classes, and cells as text."""

from typing import Any

import numpy as np

from stillpoint.commands.cells import missing
from stillpoint.commands.errors import RowError, show_name
from stillpoint.commands.formats import Cells
from stillpoint.core.validation import Array

_TRUE, _FALSE = ("1", "1.0", "true"), ("0", "0.0", "false")


def read_labels(cells: Cells, known: dict[str, int], spelled: dict[str, str], name: str) -> Array:
    """Return classes of labels: 1, true, yes are class 1, 0 and false class 0, others as they come.

    known: learns them; spelled: learns how the cell was written in which each was first seen.
    """
    result = np.full(len(cells), np.nan)
    for t, cell in enumerate(cells):
        label = known.get(cell) if isinstance(cell, str) else None
        if label is None:
            if missing(cell):
                continue
            text = _plain(cell)
            label = known.get(text)
            if label is None:
                if len(known) == 2:
                    got = write_cell(cell).strip()
                    both = " and ".join(show_name(spelled.get(one, one)) for one in known)
                    raise RowError(
                        t,
                        f"column {show_name(name)} must hold two labels: got {show_name(got)}"
                        f" beside {both}; merge classes first",
                    )
                label = (
                    1 - next(iter(known.values()))
                    if known
                    else int(text == "1" or text.lower() == "yes")
                )
                known[text], spelled[text] = label, write_cell(cell).strip()
        result[t] = label
    return result


def _plain(cell: Any) -> str:
    text = write_cell(cell).strip()
    low = text.lower()
    return "1" if low in _TRUE else "0" if low in _FALSE else text


def write_cell(cell: Any) -> str:
    """Return a cell as text, nothing for None."""
    return cell if isinstance(cell, str) else "" if cell is None else str(cell)

"""The season of a stream that is watched: told, or found in its last values."""

from typing import Any

import numpy as np

from stillpoint.core.array import Array
from stillpoint.core.validation import number
from stillpoint.series import seasons


def checked(period: Any, longest: int) -> int:
    """Return a period that was given, in rows."""
    remedy = f"give a whole number of rows from 1, which is none, to {longest}; None to find it"
    result = number("period", period, remedy)
    if not 1.0 <= result <= longest or result != int(result):
        raise ValueError(f"period must be a number of rows: got {period!r}; {remedy}")
    return int(result)


def found(y: Array, longest: int) -> tuple[int, ...]:
    """Return the periods in the last values, NaN where missing: none, one or two."""
    known = np.flatnonzero(~np.isnan(y))
    if known.size < seasons.LEAST:
        return ()
    periods = seasons.detect(seasons.filled(y[known[0] :]))
    return tuple(int(m) for m in periods if m <= longest)


def in_rows(rows: Array, y: Array, most: int) -> Array:
    """Return values by their rows, the last so many of these, NaN where there is none."""
    ago = (rows[-1] - rows).astype(np.int64)
    out = np.full(min(int(ago[0]) + 1, most), np.nan)
    kept = ago < out.size
    out[out.size - 1 - ago[kept]] = y[kept]
    return out

"""Answers as tables of the caller's own kind."""

from collections.abc import Sequence
from typing import Any

from stillpoint.core.extras import require


def is_pandas(table: Any) -> bool:
    """Whether a table is one of pandas: others have no index."""
    return hasattr(table, "index") and hasattr(table, "iloc")


def series(values: Any, like: Any, name: str | None = None) -> Any:
    """Return values as a series of pandas or polars, whichever that table is of."""
    if is_pandas(like):
        return require("pandas", "an answer for a pandas table", "frames").Series(
            values, index=like.index, name=name
        )
    return require("polars", "an answer for a polars table", "frames").Series(name or "", values)


def table(values: Any, columns: Sequence[Any], like: Any) -> Any:
    """Return a table of pandas or polars; polars has names of columns as text only."""
    if is_pandas(like):
        return require("pandas", "an answer for a pandas table", "frames").DataFrame(
            values, index=like.index, columns=list(columns)
        )
    return require("polars", "an answer for a polars table", "frames").DataFrame(
        values, schema=[str(name) for name in columns]
    )

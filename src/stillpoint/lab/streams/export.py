"""A stream as a table of columns: for CSV files and for a look at it."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.lab.streams import real
from stillpoint.lab.streams.reactive import ReactiveStream
from stillpoint.lab.streams.registry import all_streams, named


def columns(name: str, rounds: int, seed: int) -> tuple[str, dict[str, Array]]:
    """Describe the stream of that name in one line, and return its columns.

    These are time, features, targets and truth.
    """
    if name in real.names() and name not in {spec.name for spec in all_streams()}:
        found = real.load(name)
        table = {} if found.times is None else {"time": found.times}
        table |= dict(zip(found.features, found.X.T, strict=True))
        return found.description, table | {"y": found.y}
    stream = named(name, real.names()).make(rounds, seed)
    if isinstance(stream, ReactiveStream):
        raise ValueError(
            f"stream must not answer its learner: got {name!r}, which has no data before it is"
            " played; choose another"
        )
    losses = stream.losses
    table = {} if losses.times is None else {"time": losses.times}
    table |= _numbered("x", losses.x) if losses.x.size else {}
    return stream.note, table | _numbered("y", losses.y) | _numbered("truth", stream.target)


def _numbered(name: str, values: Array) -> dict[str, Array]:
    return {
        name if values.shape[1] == 1 else f"{name}{i + 1}": column
        for i, column in enumerate(values.T)
    }


def describe(name: str, rounds: int, seed: int) -> dict[str, Any]:
    """Facts about a stream, by label."""
    note, table = columns(name, rounds, seed)
    y = next(values for key, values in table.items() if key in ("y", "y1"))
    facts: dict[str, Any] = {"what it is": note, "rounds": y.size, "columns": ", ".join(table)}
    facts |= {
        "mean of y": f"{y.mean():.4g}",
        "standard deviation of y": f"{y.std():.4g}",
        "range of y": f"{y.min():.4g} to {y.max():.4g}",
    }
    if "truth" in table:
        facts["path length of the truth"] = f"{np.abs(np.diff(table['truth'])).sum():.4g}"
    return facts


def export(name: str, rounds: int, seed: int, path: Path) -> int:
    """Write the stream as CSV; returns the number of rows."""
    _, table = columns(name, rounds, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(values.tolist() for values in table.values()), strict=True))
    return len(next(iter(table.values())))

"""Forecasts and predictions of a part of a fleet, as CSV or Parquet, replaced as a whole."""

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stillpoint.commands.errors import InputError
from stillpoint.commands.forecasts.times import Times
from stillpoint.commands.sink import cell, lines, quoted_all
from stillpoint.core.container import replace
from stillpoint.fleet.series.grid import Rounds
from stillpoint.fleet.series.parts import Part, Told

FORECASTS, PREDICTIONS, ALERTS = "forecasts", "predictions", "alerts.jsonl"
_ROWS = 1 << 15  # written at once
_AHEAD = ("key", "time", "step", "forecast", "lo", "hi")
_PLAYED = ("key", "time", "target", "forecast", "lo", "hi")


def name_of(number: int, kind: str, run: int = 0) -> str:
    """Return the name of a part's file, of the first run or of a later one."""
    return f"part-{number:05}" + (f"-{run:03}" if run else "") + f".{kind}"


def write_ahead(path: Path, part: Part, times: Times, types: "Types | None") -> None:
    """Write a row a key and step ahead."""
    known, told = part.ahead()
    H, latest = part.plan.horizon, part.clocks.latest
    keys = [part.keys[i] for i in known.tolist() for _ in range(H)]
    when = [text for i in known.tolist() for text in times.ahead(latest[i])]
    steps = np.tile(np.arange(1, H + 1), known.size)
    _write(path, _AHEAD, [keys, when, steps, *(end.reshape(-1) for end in told)], types)


def write_played(
    path: Path, part: Part, rounds: Rounds, told: Told, times: Times, types: "Types | None"
) -> None:
    """Write a row a value learnt, with what was told of it before."""
    keys = [part.keys[i] for i in rounds.codes.tolist()]
    columns = [keys, times.texts(rounds.times), rounds.values, *told]
    _write(path, _PLAYED, columns, types)


def _write(path: Path, names: Sequence[str], columns: list[Any], types: "Types | None") -> None:
    if types is not None:
        replace(path, types.file(names, columns))
        return
    blocks = [(",".join(names) + "\n").encode()]
    for start in range(0, len(columns[0]), _ROWS):
        blocks.append(lines([_cells(column[start : start + _ROWS]) for column in columns]))
    replace(path, *blocks)


def _cells(column: Any) -> list[str]:
    """Return cells as texts; infinite ends as `inf`, which readers know."""
    if isinstance(column, list):
        return quoted_all(column)
    whole = column.dtype.kind == "i" or not np.isnan(column).any()
    write: Callable[[Any], str] = repr if whole else cell
    return list(map(write, column.tolist()))


class Types:
    """Columns of Parquet files: the same types in all parts of a fleet.

    Parameters
    ----------
    numbers
        Whether keys are whole numbers.
    like
        A time as it is written, if times are dates in ISO's form.
    dated
        Whether times are dates.
    """

    def __init__(self, numbers: bool, like: str | None, dated: bool) -> None:
        from stillpoint.commands.parquet import load

        self._arrow = arrow = load("Parquet")
        when = arrow.string() if dated else arrow.float64()
        for kind in (arrow.date32(), arrow.timestamp("us"), arrow.timestamp("us", "UTC")):
            if like is not None and _can(arrow, like, kind):
                when = kind
                break
        self._types = dict.fromkeys(("target", "forecast", "lo", "hi"), arrow.float64())
        self._types |= {"key": arrow.string(), "time": when, "step": arrow.int64()}
        if numbers:
            self._types["key"] = arrow.int64()

    def file(self, names: Sequence[str], columns: Sequence[Any]) -> memoryview:
        """Return a file of these columns."""
        arrow = self._arrow
        arrays = []
        for name, column in zip(names, columns, strict=True):
            kind = self._types[name]
            if isinstance(column, list):
                text = arrow.array(column, arrow.string())
                arrays.append(text if kind == text.type else text.cast(kind))
            else:
                arrays.append(arrow.array(column, kind, from_pandas=name == "target"))
        out = io.BytesIO()
        arrow.parquet.write_table(arrow.table(arrays, names=list(names)), out)
        return out.getbuffer()


def _can(arrow: Any, like: str, kind: Any) -> bool:
    try:
        arrow.array([like], arrow.string()).cast(kind)
    except arrow.ArrowException:
        return False
    return True


def refuse_without_parquet(*kinds: str | None) -> None:
    """Refuse Parquet where pyarrow is missing, before a row is read."""
    if "parquet" in kinds:
        from stillpoint.commands.parquet import load

        try:
            load("Parquet")
        except ValueError as error:
            raise InputError(str(error)) from None

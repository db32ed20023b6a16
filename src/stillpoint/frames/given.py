"""Data as callers have it: which reader reads it, which columns are meant, what comes back."""

import os
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from stillpoint.commands.cells import is_date
from stillpoint.commands.errors import InputError, show_cell, show_names
from stillpoint.frames.cells import array_cells, series_cells
from stillpoint.frames.kinds import TIME, Framed, Kind, Plain
from stillpoint.frames.readers import NUMBER, VALUE, ColumnReader, Reader, RowReader

_WHAT = (
    "a pandas, polars or PyArrow frame, a series, a dict of columns, a path, or an iterable of rows"
)
# what pandas calls an index of dates
_DATED = ("datetime64", "datetime", "date", "period")


@dataclass
class Given:
    """Data to be read: by a reader, or from the file that `source` names."""

    source: str
    target: str
    time: str | None
    kind: Kind
    reader: Reader | None = None
    index: str | None = None  # the name of the time, where that is the index of a frame
    notes: tuple[str, ...] = ()  # what to know of how it is read


def given(data: Any, target: Any, time: Any) -> Given:
    """Return how to read data, and what to call its columns; see `track` for the arguments."""
    name = _target(target, data)
    if isinstance(data, str | os.PathLike):
        return Given(os.fspath(data), _named(name, "a file"), _text(time), Plain())
    if isinstance(data, Mapping):
        columns = {str(key): values for key, values in data.items()}
        _check_columns(columns)
        others = [key for key in columns if not isinstance(time, str) or key != time]
        return _columns(columns, _named(name, "a dict", others), time)
    if isinstance(data, np.ndarray) or _numbers(data):
        array = np.asanyarray(data, dtype=np.float64 if isinstance(data, list | tuple) else None)
        if array.ndim != 1:
            raise InputError(
                f"data must be one-dimensional where it is an array: got shape {array.shape}; give"
                " a dict of columns or a frame"
            )
        return _columns({name or VALUE: array}, name or VALUE, time)
    found = _frame(data, name, time)
    if found is not None:
        return found
    if isinstance(data, bytes | Set) or not isinstance(data, Iterable):
        raise InputError(f"data must be {_WHAT}: got {show_cell(data)}; give one of them")
    reader = RowReader(iter(data), name or VALUE)
    return Given("rows", _named(name, "rows", reader.names), _text(time), Plain(), reader)


def _target(target: Any, data: Any) -> str | None:
    """Return the target's name: not the values themselves, nor a horizon in its place."""
    bare = _numbers(data) or len(getattr(data, "shape", ())) == 1  # values without a column's name
    if isinstance(target, int | np.integer) and bare and getattr(data, "name", None) != target:
        raise InputError(
            f"target must be the name of a column: got {target}; leave it out where data is one"
            f" column, and give horizon={target} by name"
        )
    if getattr(target, "shape", ()) or isinstance(target, list | Mapping | Set):
        raise InputError(
            f"target must be the name of a column: got {type(target).__name__}; add the values to"
            " data as a column, and name that"
        )
    return None if target is None else str(target)


def _named(name: str | None, what: str, names: list[str] | None = None) -> str:
    if name is None and names is not None and len(names) == 1:
        return names[0]
    if name is None:
        which = f"; the columns are {show_names(names)}" if names else "; name the column"
        raise InputError(f"target must be given for {what} of several columns: got None{which}")
    return name


def _text(time: Any) -> str | None:
    if time is not None and not isinstance(time, str | int):
        raise InputError(
            f"time must be the name of a column: got {show_cell(time)}; add the times to data as a"
            " column, and name that"
        )
    return None if time is None else str(time)


def _check_columns(columns: Mapping[str, Any]) -> None:
    if not columns:
        raise InputError("data must have columns: got none; give lists or arrays by name")
    for name, values in columns.items():
        if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
            raise InputError(
                f"data must hold columns: got {show_cell(values)} in {name!r}; give a list or an"
                " array a column"
            )


def _numbers(data: Any) -> bool:
    """Whether data is a list of numbers, not of rows."""
    if not isinstance(data, list | tuple) or not data or hasattr(data, "_asdict"):
        return False
    return all(cell is None or isinstance(cell, NUMBER) for cell in data)


def _columns(columns: dict[str, Any], target: str, time: Any) -> Given:
    """Columns of arrays and lists; times may stand beside them."""
    columns = {key: _unmasked(values) for key, values in columns.items()}
    if time is not None and not isinstance(time, str | int):
        if TIME in columns:
            raise InputError(
                "time must be the name of a column where data has one of that name: got an array;"
                ' give time="time"'
            )
        periods = hasattr(time, "to_timestamp")
        columns, time = {TIME: time.to_timestamp() if periods else time, **columns}, TIME
    name = None if time is None else str(time)
    cells = {key: array_cells(values) for key, values in columns.items()}
    return Given("columns", target, name, Plain(columns, name), ColumnReader(cells))


def _unmasked(values: Any) -> Any:
    """Return an array with NaN, or None among other things, where it is masked."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if values.dtype.kind in "biuf":
        return np.ma.filled(values.astype(np.float64), np.nan)
    return np.ma.filled(values.astype(object), None)


def _frame(data: Any, target: str | None, time: Any) -> Given | None:
    """Frames and series, by narwhals; None where it is neither."""
    import narwhals as nw

    source, index = type(data).__name__, cast(Any, None)
    if nw.dependencies.is_into_series(data):
        series = nw.from_native(data, series_only=True)
        target = target or str(series.name or VALUE)
        index = nw.maybe_get_index(series)
        data = series.alias(target).to_frame().to_native()
    elif not nw.dependencies.is_into_dataframe(data):
        if hasattr(data, "collect") and hasattr(data, "lazy"):
            raise InputError(
                f"data must be in memory: got {source}; give data.collect(), or a path"
            )
        return None
    pandas = nw.dependencies.get_pandas()
    if pandas is not None and isinstance(data, pandas.DataFrame):
        index = data.index
        data = data.set_axis([str(name) for name in data.columns], axis=1).reset_index(drop=True)
        if not data.columns.is_unique:
            twice = data.columns[data.columns.duplicated()][0]
            raise InputError(f"data must name each column once: got {twice!r} twice; rename one")
    timed = time is None and getattr(index, "inferred_type", "") in _DATED
    notes = _unused(index) if time is None and index is not None and not timed else ()
    time = _text(time)
    frame = nw.from_native(data, eager_only=True)
    if timed:
        own = getattr(index, "name", None)
        time = TIME if own is None else str(own)
        while time in frame.columns:
            time = f"index {time}"
        periods = isinstance(index, pandas.PeriodIndex)
        when = index.to_timestamp() if periods else pandas.DatetimeIndex(index)
        frame = frame.with_columns(
            nw.from_native(pandas.Series(when), series_only=True).alias(time)
        )
    cells = {name: series_cells(frame[name]) for name in frame.columns}
    others = [name for name in frame.columns if name != time]
    chosen = _named(target, f"a {source}", others)
    kind = Framed(frame, time, index, timed)
    return Given(source, chosen, time, kind, ColumnReader(cells), time if timed else None, notes)


def _unused(index: Any) -> tuple[str, ...]:
    """Return a note on dates in the index of pandas that are no times; refuse those of a level."""
    levels = getattr(index, "levels", [])
    if any(level.dtype.kind == "M" for level in levels):
        raise InputError(
            f"the index must have one level where it holds times: got {len(levels)}; give"
            " data.reset_index() and name time, or, for several series in one table, use"
            " stillpoint.Fleet"
        )
    if levels or not len(index) or index.dtype.kind != "O" or not is_date(index[0]):
        return ()
    what = f"the index holds dates that are not used as times: got {show_cell(index[0])}"
    return (f"{what}; give data.set_index(pandas.to_datetime(data.index))",)

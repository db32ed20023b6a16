"""Columns of a frame as cells that the reader of a file could have handed over."""

from collections.abc import Sequence
from datetime import UTC, tzinfo
from typing import Any

import numpy as np

from stillpoint.core.validation import Array

Cells = Sequence[Any] | Array
_NONE = ("NAType", "NaTType")  # what pandas has for no value


def array_cells(values: Any) -> Cells:
    """Return cells of an array, a list or whatever NumPy takes for one."""
    array = values if isinstance(values, np.ndarray) else None
    if array is None and not isinstance(values, list | tuple):
        array = np.asarray(values)
    if array is not None and array.dtype.kind == "c":
        return list(array.tolist())  # NumPy would take them for numbers, with a warning
    if array is None or array.dtype.kind not in "biufM":
        return [None if type(cell).__name__ in _NONE else cell for cell in values]
    return moments(array) if array.dtype.kind == "M" else array


def moments(values: Array, zone: tzinfo | None = None) -> list[Any]:
    """Return dates of NumPy as datetimes, or as dates where all are at midnight.

    zone: theirs, where they are in UTC but belong elsewhere. Dates without times of day are what a
    file has of them, so that both are told alike.
    """
    whole = values.astype("datetime64[us]")
    days = whole.astype("datetime64[D]")
    if zone is None:
        midnight = bool(((whole == days) | np.isnat(whole)).all())
        return list((days if midnight else whole).tolist())
    return [
        None if at is None else at.replace(tzinfo=UTC).astimezone(zone) for at in whole.tolist()
    ]


def series_cells(series: Any) -> Cells:
    """Return cells of a series of narwhals."""
    import narwhals as nw

    dtype, missing = series.dtype, int(series.null_count())
    if dtype == nw.Datetime:
        zone = None
        if dtype.time_zone is not None:
            known = series.drop_nulls().head(1).to_list()
            zone = known[0].tzinfo if known else UTC
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return moments(np.asarray(series.cast(nw.Datetime("us")).to_numpy()), zone)
    if dtype.is_float() or (dtype.is_integer() and missing):
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    if dtype.is_integer():
        return np.asarray(series.to_numpy())
    native = series.to_native()
    if dtype == nw.Unknown and hasattr(getattr(native, "dtype", None), "freq"):  # pandas' periods
        return moments(native.dt.to_timestamp().to_numpy())
    if dtype in (nw.Categorical, nw.Enum):
        series = series.cast(nw.String)
    return [None if type(cell).__name__ in _NONE else cell for cell in series.to_list()]

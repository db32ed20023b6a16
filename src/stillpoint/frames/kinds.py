"""Results in the caller's kind: dicts of arrays, or frames with the index of pandas."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from typing import Any, Protocol

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.frames.clock import Clock

Columns = Mapping[str, Any]
TIME, START, NONE = "time", "start_time", Clock("row")


class Kind(Protocol):
    """How results are handed back."""

    def rows(self, columns: Columns, times: Sequence[str] | None, clock: Clock, target: str) -> Any:
        """Return columns of one value a row of the data, with its times and targets."""

    def ahead(self, columns: Columns, times: Sequence[str] | None, clock: Clock, after: int) -> Any:
        """Return columns of one value a step, from row number `after` of the data on."""

    def table(
        self,
        columns: Columns,
        times: Sequence[str] | None = None,
        clock: Clock = NONE,
        starts: Sequence[str] | None = None,
    ) -> Any:
        """Return other columns, with times if there are any, and those of where things began."""


class Plain:
    """Dicts of arrays.

    Parameters
    ----------
    given
        The columns that the data have in memory, which are handed back as they are.
    time
        The name of the column of times, if there is one.
    """

    def __init__(self, given: Columns | None = None, time: str | None = None) -> None:
        self._given, self._time = given or {}, time

    def rows(self, columns: Columns, times: Sequence[str] | None, clock: Clock, target: str) -> Any:
        """See Kind."""
        given = self._given.get(self._time or "")
        when = {} if times is None else {TIME: clock.array(times)}
        when |= {} if given is None else {TIME: np.asarray(given)}
        own = {"y": np.asarray(self._given[target])} if target in self._given else {}
        return {**when, **columns, **own}

    def ahead(self, columns: Columns, times: Sequence[str] | None, clock: Clock, after: int) -> Any:
        """See Kind."""
        return self.table(columns, times, clock)

    def table(
        self,
        columns: Columns,
        times: Sequence[str] | None = None,
        clock: Clock = NONE,
        starts: Sequence[str] | None = None,
    ) -> Any:
        """See Kind."""
        told = ((TIME, times), (START, starts))
        when = {name: self._times(each, clock) for name, each in told if each is not None}
        return {**when, **{name: np.asarray(values) for name, values in columns.items()}}

    def _times(self, texts: Sequence[str], clock: Clock) -> Array:
        given = self._given.get(self._time or "")
        cells = np.asarray([] if given is None else given)
        if cells.dtype.kind == "U":
            return np.array(texts)
        if cells.dtype == object and isinstance(next(iter(cells), None), str):
            return np.array(texts, dtype=object)
        if cells.dtype.kind in "iu" and clock.form is not None:  # dates such as 20250131
            return np.array([int(text) for text in texts], dtype=cells.dtype)
        found = clock.array(texts)
        like = given.dtype if isinstance(given, np.ndarray) else found.dtype
        same = like.kind == found.dtype.kind or like.kind + found.dtype.kind in ("if", "uf")
        return found.astype(like) if same else found


class Framed:
    """Frames of the caller's library.

    Parameters
    ----------
    frame
        The data, a frame of narwhals.
    time
        The name of the column of times, if there is one.
    index
        The index of pandas, whose rows those of the data are.
    timed
        Whether that index is the time.
    """

    def __init__(
        self, frame: Any, time: str | None = None, index: Any = None, timed: bool = False
    ) -> None:
        self._frame, self._time = frame, time
        self._index, self._timed = index, timed

    def rows(self, columns: Columns, times: Sequence[str] | None, clock: Clock, target: str) -> Any:
        """See Kind."""
        own = [self._frame[target].alias("y")]
        if self._time is not None and not self._timed:
            own.insert(0, self._frame[self._time].alias(TIME))
        names = [series.name for series in own]
        others = [name for name in columns if name not in names]
        made = self._made(columns).with_columns(*own).select(*names, *others).to_native()
        return made if self._index is None else made.set_axis(self._index, axis=0)

    def ahead(self, columns: Columns, times: Sequence[str] | None, clock: Clock, after: int) -> Any:
        """See Kind."""
        if self._index is None or (times is not None and not self._timed):
            return self.table(columns, times, clock)
        made = self._made(columns).to_native()
        if times is not None:
            return made.set_axis(self._future(times, clock), axis=0)
        steps = _continued(self._index, after, len(made))
        return made if steps is None else made.set_axis(steps, axis=0)

    def table(
        self,
        columns: Columns,
        times: Sequence[str] | None = None,
        clock: Clock = NONE,
        starts: Sequence[str] | None = None,
    ) -> Any:
        """See Kind."""
        made = self._made(columns)
        told = ((TIME, times), (START, starts))
        when = {name: self._times(each, clock) for name, each in told if each is not None}
        if when:
            own = [series.alias(name) for name, series in when.items()]
            made = made.with_columns(*own).select(*when, *columns)
        return made.to_native()

    def _made(self, columns: Columns) -> Any:
        import narwhals as nw

        return nw.from_dict(dict(columns), backend=self._frame.implementation)

    def _times(self, texts: Sequence[str], clock: Clock) -> Any:
        """Return times as a series of the caller's library, of the type that the data's have."""
        import narwhals as nw

        series = self._frame[self._time]
        backend, objects = self._frame.implementation, series.dtype == nw.Object
        if series.dtype == nw.Unknown and clock.kind == "date":
            return self._of_pandas(clock.moments(texts), series.to_native().dtype)
        first = series.drop_nulls().head(1).to_list() if objects else []
        if first and isinstance(first[0], date):
            return self._objects(clock.moments(texts), first[0])
        if objects or series.dtype in (nw.String, nw.Categorical, nw.Enum):
            return nw.new_series(TIME, list(texts), nw.String, backend=backend)
        if series.dtype.is_integer() and clock.form is not None:  # dates such as 20250131
            return nw.new_series(TIME, [int(text) for text in texts], nw.Int64, backend=backend)
        dated = clock.kind == "date"
        values: list[Any] = clock.moments(texts) if dated else clock.numbers(texts).tolist()
        if series.dtype == nw.Date:
            values = [at.date() for at in values]
        whole = series.dtype.is_integer() and all(value == int(value) for value in values)
        dtype = series.dtype if dated or whole else nw.Float64
        values = [int(value) for value in values] if whole else values
        if series.dtype == nw.Datetime and series.dtype.time_zone is not None:
            made = nw.new_series(TIME, values, nw.Datetime("us", "UTC"), backend=backend)
            return made.dt.convert_time_zone(series.dtype.time_zone).cast(dtype)
        return nw.new_series(TIME, values, dtype, backend=backend)

    def _of_pandas(self, found: list[datetime], dtype: Any) -> Any:
        """Return periods, or dates in zones that narwhals cannot read, such as America/New_York."""
        import narwhals as nw

        pandas = self._frame.implementation.to_native_namespace()
        if hasattr(dtype, "freq"):
            times = pandas.Series(pandas.DatetimeIndex(found).to_period(dtype.freq), name=TIME)
        else:
            times = pandas.Series(pandas.to_datetime(found, utc=True), name=TIME).astype(dtype)
        return nw.from_native(times, series_only=True)

    def _objects(self, found: list[datetime], like: date) -> Any:
        """Return dates of Python, where the data's are such, with or without a time of day."""
        import narwhals as nw

        values: list[Any] = [at.date() for at in found]
        if isinstance(like, datetime):
            values = [at if at.tzinfo is None else at.astimezone(like.tzinfo) for at in found]
        library = self._frame.implementation
        if not library.is_pandas_like():
            return nw.new_series(TIME, values, nw.Object, backend=library)
        own = library.to_native_namespace().Series(values, name=TIME, dtype=object)
        return nw.from_native(own, series_only=True)

    def _future(self, texts: Sequence[str], clock: Clock) -> Any:
        """Return times as an index like the data's, with its frequency where they keep it."""
        pandas = self._frame.implementation.to_native_namespace()
        index = self._index
        made = pandas.DatetimeIndex(self._times(texts, clock).to_native()).rename(index.name)
        if isinstance(index, pandas.PeriodIndex):
            return made.to_period(index.freq)
        if index.dtype == object:
            dates = index.inferred_type == "date"
            return pandas.Index(made.date if dates else made.to_pydatetime(), name=index.name)
        with suppress(ValueError):  # of business days, say, where weekends are forecast, too
            made.freq = index.freq or index.inferred_freq or made.inferred_freq
        return made


def _continued(index: Any, after: int, steps: int) -> Any:
    """Return the labels of rows to come where rows are numbered; None where they are not."""
    first, step = getattr(index, "start", None), getattr(index, "step", None)
    if not isinstance(first, int) or not isinstance(step, int):
        return None
    begin = first + after * step
    return type(index)(begin, begin + steps * step, step, name=index.name)

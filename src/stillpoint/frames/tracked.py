"""`sp.track`: every row of a table is forecast before its target is seen, and what comes after."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from stillpoint.commands.errors import show_cell
from stillpoint.commands.options import TrackOptions
from stillpoint.frames.given import Given, given
from stillpoint.frames.memory import NOWHERE, MemoryTrack, play
from stillpoint.frames.result import Tracked
from stillpoint.frames.words import python_errors

# what is no name of a column; whole numbers may be
_VALUES = bool | float | np.bool_ | np.floating | np.ndarray


def track(
    data: Any,
    target: str | None = None,
    *,
    time: Any = None,
    horizon: int | None = None,
    known: str | Iterable[str] = (),
    features: str | Iterable[str] | None = None,
    season: Any = "auto",
    coverage: float | None = None,
    nonnegative: bool = False,
    task: str = "regression",
    level: float | None = None,
    delay: int = 0,
    learner: str = "auto",
    date_format: str | None = None,
    format: str | None = None,
    alerts: float | None = None,
    progress: bool | None = None,
) -> Tracked:
    """Forecast every row of a table before its target is seen, and the steps after the last.

    A target without other columns, or with times at even distances that never repeat, is a series:
    sp.Forecaster forecasts it many steps ahead. Else it is a regression on the other columns. The
    numbers are those of `stillpoint track` on a file with the same rows; no file is written.

    Parameters
    ----------
    data : frame, series, dict of columns, array, path or iterable of rows
        A frame of pandas, polars or PyArrow; a path to CSV, JSON lines or Parquet; rows are
        mappings, named tuples, sequences (columns are then named "0", "1", …), or bare numbers.
        Rows are in the order of time.
    target : str, optional
        The column to forecast; rows where it is missing are only forecast. It may be left out where
        there is one column.
    time : str, optional
        A column of numbers or dates. None takes the index of pandas where that has dates. Beside
        arrays and dicts of them it may be the times themselves.
    horizon : int, optional
        How many steps ahead to forecast a series. None takes a season by the spacing of its times:
        24 hours, 7 days, 52 weeks, 12 months, 4 quarters, else 10 rows.
    known : str or list of str, default ()
        Columns that are known ahead, as prices and holidays are: they count at every horizon, the
        others for the next row only. Rows at the end without a target say what they will be; steps
        further ahead than these are forecast as if they were not known, and a note says so.
    features : list of str, optional
        Columns to forecast from. None takes all others; () takes none.
    season : "auto", None, float or list of float, default "auto"
        Periods of a series in rows, such as [24, 168]; "auto" finds them, None is for none.
    coverage : float, optional
        The share of targets that the intervals of task "regression" are to cover; None is 0.9.
    nonnegative : bool, default False
        Whether forecasts and intervals of a series are kept at 0 or above.
    task : {"regression", "quantile", "binary"}, default "regression"
        The mean with an interval, the quantile at `level`, or the probability of a label.
    level : float, optional
        The level of task "quantile"; None is 0.9.
    delay : int, default 0
        The target of row t is learnt after row t + delay was forecast; makes it a regression.
    learner : {"auto", "forecaster", "regression"}, default "auto"
        Whether to treat the target as a series; "auto" decides as above.
    date_format : str, optional
        The format of times in text for `strptime`, such as "%d.%m.%Y"; None takes ISO's, or a usual
        form that is found in the first rows.
    format : {"csv", "jsonl", "parquet"}, optional
        Format of a file whose suffix does not say.
    alerts : float, optional
        The share of rows that may be called unusual where nothing is, such as 0.001: rows that do
        not fit their forecasts (`sp.Anomalies`), and changes of the target (`sp.Changes`, a false
        one in 10/`alerts` rows or more) are in `Tracked.alerts` then. For numbers, not for task
        "binary".
    progress : bool, optional
        Whether to show progress; None does where standard error is a terminal. The first run
        compiles, for half a minute or so; None says so in a notebook, too.

    Returns
    -------
    Tracked
        Its `predictions`, `forecast` and `changes` are of the kind of the data: frames of the same
        library, with the index of pandas kept; dicts of arrays for all else; so are the two parts
        of `alerts`, if that is given. `summary` is a dict; `plot()` draws it, `report(path)` writes
        the page.

    Examples
    --------
    >>> import numpy as np
    >>> import stillpoint as sp
    >>> sold = np.tile([20.0, 21.0, 19.0, 22.0, 25.0, 40.0, 38.0], 20)
    >>> sold += np.random.default_rng(0).normal(0.0, 0.2, sold.size)
    >>> result = sp.track({"sold": sold}, "sold", horizon=7, season=7)
    >>> result.forecast["forecast"].round(0)
    array([20., 21., 19., 22., 25., 40., 38.])
    """
    with python_errors():
        found = given(data, target, time)
    with python_errors(found.index):
        options = options_of(
            found,
            horizon=horizon,
            known=known,
            features=features,
            season=season,
            coverage=coverage,
            nonnegative=nonnegative,
            task=task,
            level=level,
            delay=delay,
            learner=learner,
            date_format=date_format,
            format=format,
            alerts=alerts,
        )
        job = MemoryTrack(options, found)
        return Tracked(found, job, play(job, progress))


def options_of(
    found: Given, *, known: Any, features: Any, season: Any, **options: Any
) -> TrackOptions:
    """Return what the command would have been asked for."""
    return TrackOptions(
        found.source,
        found.target,
        NOWHERE,
        time=found.time,
        known=names("known", known) or (),
        features=names("features", features),
        season=periods(season),
        **options,
    )


def names(argument: str, given: Any) -> tuple[str, ...] | None:
    """Return names of columns: one, or several."""
    if given is None or isinstance(given, str):
        return None if given is None else (given,) if given else ()
    try:
        found = list(given)
    except TypeError:
        raise ValueError(
            f"{argument} must be names of columns: got {given!r}; give a list of them"
        ) from None
    value = next((one for one in found if isinstance(one, _VALUES)), None)
    if value is not None:
        raise ValueError(
            f"{argument} must be names of columns: got {show_cell(value)}; add the values to"
            " data as a column, and name that"
        )
    return tuple(map(str, found))


def periods(season: Any) -> str | None:
    """Return seasons as the command takes them."""
    if isinstance(season, str):
        return None if season == "auto" else season
    if season is None:
        return "none"
    if np.ndim(season) == 0:
        return str(season)
    return ",".join(str(period) for period in season) or "none"

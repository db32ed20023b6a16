"""Forecasts of many series on Spark: from a table that is all there, or from a stream of rows."""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from stillpoint.fleet.batch import type_named
from stillpoint.fleet.series import plan as planning
from stillpoint.fleet.series.parts import Part, Settings, build
from stillpoint.fleet.series.plan import Plan
from stillpoint.fleet.spark.columns import BUCKET, Columns, counted
from stillpoint.fleet.spark.processor import KEY, TIME
from stillpoint.fleet.spark.series import (
    FIGURES,
    STEP,
    TOLD,
    SeriesBucket,
    SeriesJob,
    play_series,
    sound,
)
from stillpoint.fleet.spark.session import check

_SLOTS = 1024  # of hashes, by which a sample is drawn
_ROWS, _MOST = 1 << 18, 1 << 22  # of the sample: enough, and at most
_STATE = 32 << 20  # bytes of a bucket's forecasters
_PLAYED = 1 << 20  # rows of a bucket


class Found(NamedTuple):
    """A plan, and how many buckets the rows it is of should have."""

    plan: Plan
    buckets: int
    rows: int


def plan(
    frame: Any,
    *,
    key: str,
    target: str,
    time: str,
    season: Sequence[float] | str | None = "auto",
    horizon: int | None = None,
) -> Plan:
    """Find slots of time, seasons and steps ahead on a sample of the keys.

    Parameters
    ----------
    frame : DataFrame
        Static, not streaming; the keys of a sample with most rows are looked at.
    key, target, time : str
        Columns, as for `forecasts`.
    season : list, "auto" or None, default "auto"
        Rows of each season; "auto" takes those of the calendar, or what most keys have.
    horizon : int, optional
        How many rows ahead to forecast; None takes a season of the calendar.

    Returns
    -------
    Plan
        gap, season, horizon and more; for `forecasts`.
    """
    return find(Columns(frame, key, target, time), season, horizon).plan


def find(
    columns: Columns,
    season: Sequence[float] | str | None = "auto",
    horizon: int | None = None,
    settings: Settings = Settings(),  # noqa: B008
) -> Found:
    """Return the plan of the rows of a frame, and how many buckets they should have."""
    import pyspark.sql.functions as F

    _need_all(columns.frame)
    plain = columns.enter(columns.frame, _SLOTS)
    slots = (
        plain.groupBy(BUCKET)
        .agg(F.count("*").alias("rows"), F.approx_count_distinct(KEY, 0.1).alias("keys"))
        .orderBy(BUCKET)
        .collect()
    )
    most, rows = 0, None
    chosen: list[int] = []
    for slot in slots:
        most, chosen = most + slot["rows"], [*chosen, slot[BUCKET]]
        if most >= _ROWS or slot is slots[-1]:
            some = plain.filter(F.col(BUCKET).isin(chosen)).limit(_MOST).toPandas()
            rows, reasons = sound(columns.unit, some)
            if rows.keys:
                break
            most, chosen = 0, []
    if rows is None or not rows.keys:
        why = f", mostly because {max(reasons, key=reasons.__getitem__)}" if slots else ""
        raise ValueError(
            "frame must have rows that can be used: got none of"
            f" {sum(slot['rows'] for slot in slots):,}{why}; check the columns"
        )
    timed = {"timed": True, "dated": bool(columns.unit)}
    found = planning.plan(planning.sample(rows), **timed, season=season, horizon=horizon)
    total, keys = (sum(slot[name] for slot in slots) for name in ("rows", "keys"))
    each = build(settings, found).bytes_per_key + 8 * (found.period + found.recent + 12)
    return Found(found, max(64, -(-total // _PLAYED), -(-keys * each // _STATE)), total)


def forecasts(
    frame: Any,
    plan: Plan,
    *,
    key: str,
    target: str,
    time: str,
    pool: str = "small",
    coverage: float = 0.9,
    nonnegative: bool = False,
    dtype: str = "float64",
    buckets: int = 64,
    states: str | None = None,
) -> Any:
    """Forecast the series of each key as far ahead as the plan says, with intervals.

    For a static frame every key is forecast once, after its last row. For a streaming one a
    micro-batch forecasts the keys that have rows in it: the forecasters are the query's state.

    Parameters
    ----------
    frame : DataFrame
        The rows, in any order; of a stream, a row that is not after what was learnt is left out.
    plan : Plan
        What `plan` returned for a history.
    key : str
        A column of whole numbers or text.
    target : str
        A column of numbers, or text of them; null or NaN is a missing value.
    time : str
        A column of numbers, timestamps or dates.
    pool : str, default "small"
        As for `Forecaster`: "small" or "middle".
    coverage : float, default 0.9
        The share of values that intervals are to cover.
    nonnegative : bool, default False
        Whether forecasts and intervals are kept at 0 or above.
    dtype : str, default "float64"
        Type of the states; "float32" halves them, and forecasts differ by rounding.
    buckets : int, default 64
        Pieces that keys are shared out to; of a stream fixed for the life of a checkpoint, as are
        the plan and the other arguments.
    states : str, optional
        Of a stream: a folder that all workers see, a path or an address that pyarrow knows, for the
        states, which are large. None keeps them in Spark's state store, which is slower.

    Returns
    -------
    DataFrame
        A row a key and step: key and time under their own names, step, forecast, lo, hi.
    """
    columns = Columns(frame, key, target, time)
    settings = Settings(pool, coverage, nonnegative, type_named(dtype))
    rows = played(columns, plan, settings, buckets, moved=frame.isStreaming, states=states)
    return rows.filter(f"{STEP} > 0").drop(BUCKET, FIGURES)


def played(
    columns: Columns,
    plan: Plan,
    settings: Settings,
    buckets: int,
    *,
    moved: bool,
    states: str | None = None,
) -> Any:
    """Return what `forecasts` does, and figures of each bucket in a row of step 0.

    moved: whether only keys that have had rows are forecast, not all of their buckets.
    """
    import pyspark.sql.functions as F

    frame = columns.frame
    for role, name in (("key", columns.key), ("time", columns.time)):
        if name.lower() in (BUCKET, STEP, FIGURES, *TOLD):
            raise ValueError(
                f"{role} must not be named as a column of forecasts: got {name!r}; rename it, as"
                f" with frame.withColumnRenamed({name!r}, ...)"
            )
    build(settings, plan)  # what cannot be built is refused here, not on some worker
    if states is not None and "://" not in states:
        states = os.path.abspath(states)  # workers have folders of their own
    job = SeriesJob(plan, settings, counted(buckets), columns.unit, moved, states)
    told = ", ".join(f"{name} double" for name in TOLD)
    schema = (
        f"{BUCKET} int, {KEY} {columns.key_type}, {TIME} {columns.time_type}, {STEP} int, {told},"
        f" {FIGURES} string"
    )
    given = columns.enter(frame, job.buckets).groupBy(BUCKET)
    if frame.isStreaming:
        check(frame.sparkSession)
        rows = given.transformWithStateInPandas(SeriesBucket(job), schema, "append", "none")
    else:

        def play(some: Any) -> Any:
            return play_series(job, Part(job.settings, job.plan), [some])

        rows = given.applyInPandas(play, schema)
    own = F.col(KEY).cast(columns.type(columns.key)).alias(columns.key)
    return rows.select(BUCKET, own, columns.own_time().alias(columns.time), STEP, *TOLD, FIGURES)


def _need_all(frame: Any) -> None:
    if frame.isStreaming:
        raise ValueError(
            "frame must be all there: got a streaming one; read a history by spark.read"
        )

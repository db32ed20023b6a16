"""Data frames through fleets: rows go to buckets by their keys, one piece of state a bucket."""

from dataclasses import dataclass
from typing import Any

from stillpoint.core.words import MISSING
from stillpoint.fleet.rows import NO_TIME, OUTPUTS, RowPlayer
from stillpoint.fleet.spark.processor import (
    CENTRE,
    KEY,
    NO_KEY,
    REASON,
    TARGET,
    TIME,
    Bucket,
    Job,
    play_bucket,
)
from stillpoint.fleet.spark.session import check
from stillpoint.losses import Loss

BUCKET = "bucket"
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_REAL = ("float", "double")


def stream(
    frame: Any,
    learner: type[Any] | str,
    *,
    key: str,
    target: str,
    time: str,
    forecast: str | None = None,
    loss: Loss | str | None = None,
    buckets: int = 64,
    **config: Any,
) -> Any:
    """Predict the rows of a streaming frame, each before its target is learnt.

    Parameters
    ----------
    frame : streaming DataFrame
        The rows.
    learner : type or str
        The learner of each key, as for `RowPlayer`.
    key : str
        A column of whole numbers or text.
    target : str
        A column of numbers, or text of them; null or NaN is a row to predict only.
    time : str
        A column of numbers, timestamps or dates that increase for each key. Spark keeps no order
        of rows, so this column gives it: a micro-batch is played in its order, and a row that is
        not after the last one of its key is rejected.
    forecast : str, optional
        A column of forecasts, for IntervalTracker.
    loss : Loss or str, optional
        As for `RowPlayer`.
    buckets : int, default 64
        Pieces that keys are shared out to; fixed for the life of a checkpoint, as are learner and
        config.
    **config
        Arguments of the learner.

    Returns
    -------
    streaming DataFrame
        A row for every row: key, time, target (and forecast) as they came; prediction, or lo and
        hi; rejected: why a row was not learnt from, or null.
    """
    columns = _Columns(frame, key, target, time, forecast)
    job = _job(learner, loss, columns, buckets, config)
    check(frame.sparkSession)
    if not frame.isStreaming:
        raise ValueError(
            "frame must be a streaming one: got one that is not; read it by spark.readStream, or"
            " use batch"
        )
    given = columns.enter(frame, job.buckets).groupBy(BUCKET)
    return columns.leave(
        given.transformWithStateInPandas(Bucket(job), columns.schema(job), "append", "none"), job
    )


def batch(
    frame: Any,
    learner: type[Any] | str,
    *,
    key: str,
    target: str,
    time: str,
    forecast: str | None = None,
    loss: Loss | str | None = None,
    buckets: int = 64,
    **config: Any,
) -> Any:
    """Predict the rows of a frame that is all there, as in a back-test: the numbers of `stream`.

    Parameters are those of `stream`. A bucket's rows are in memory at once: with long histories
    give more buckets.
    """
    columns = _Columns(frame, key, target, time, forecast)
    job = _job(learner, loss, columns, buckets, config)
    if frame.isStreaming:
        raise ValueError(
            "frame must be all there: got a streaming one; read it by spark.read, or use stream"
        )

    def play(rows: Any) -> Any:
        return play_bucket(job, job.player(), [rows])

    return columns.leave(
        columns.enter(frame, job.buckets).groupBy(BUCKET).applyInPandas(play, columns.schema(job)),
        job,
    )


@dataclass(frozen=True)
class _Columns:
    """The user's columns, and plain ones that Python gets: whole numbers, doubles and text.

    None of these is null where its type would change.
    """

    frame: Any
    key: str
    target: str
    time: str
    forecast: str | None

    def __post_init__(self) -> None:
        names = [self.key, self.target, self.time, *([self.forecast] if self.forecast else [])]
        for what, name in zip(("key", "target", "time", "forecast"), names, strict=False):
            if name not in self.frame.columns:
                raise ValueError(
                    f"{what} must be a column: got {name!r}; the columns are"
                    f" {', '.join(self.frame.columns)}"
                )
            if name in OUTPUTS:
                raise ValueError(
                    f"{what} must not be named as an output: got {name!r}; rename the column"
                )
        if len(set(names)) < len(names):
            raise ValueError(
                f"key, target, time and forecast must be different columns: got {', '.join(names)};"
                " name each once"
            )
        if self.type(self.key) not in (*_WHOLE, "string"):
            raise ValueError(
                f"key must be whole numbers or text: got {self.type(self.key)} {self.key!r}; cast"
                " it to string"
            )
        for what, column in (("target", self.target), ("forecast", self.forecast)):
            if column is not None and not self._numeric(column) and self.type(column) != "string":
                raise ValueError(
                    f"{what} must be numbers: got {self.type(column)} {column!r}; cast it to double"
                )
        if not self._numeric(self.time) and self.type(self.time) not in (
            "timestamp",
            "timestamp_ntz",
            "date",
        ):
            raise ValueError(
                f"time must be numbers, timestamps or dates: got {self.type(self.time)}"
                f" {self.time!r}; cast it"
            )

    def type(self, name: str) -> str:
        """The type of a column, in short."""
        text: str = dict(self.frame.dtypes)[name]
        return text

    def _numeric(self, name: str) -> bool:
        return self.type(name) in (*_WHOLE, *_REAL) or self.type(name).startswith("decimal")

    @property
    def _key_type(self) -> str:
        return "string" if self.type(self.key) == "string" else "bigint"

    @property
    def _time_type(self) -> str:
        return (
            "double"
            if self.type(self.time) in _REAL or self.type(self.time).startswith("decimal")
            else "bigint"
        )

    def enter(self, frame: Any, buckets: int) -> Any:
        """Plain columns, and the bucket of each row."""
        import pyspark.sql.functions as F

        kind, key, time = self.type(self.time), F.col(f"`{self.key}`"), F.col(f"`{self.time}`")
        if kind in ("timestamp", "timestamp_ntz"):
            time = F.unix_micros(time.cast("timestamp"))
        elif kind == "date":
            time = F.unix_date(time)
        moment = time.cast(self._time_type)
        # a null would make whole numbers floats on the way to Python, and large ones would lose
        # digits
        reason = (
            F.when(key.isNull() | (key.cast("string") == ""), F.lit(NO_KEY))
            .when(moment.isNull(), F.lit(NO_TIME))
            .when(*self._unread(self.target))
        )
        if self.forecast:
            reason = reason.when(*self._unread(self.forecast))
        plain = [
            F.pmod(F.xxhash64(key), F.lit(buckets)).cast("int").alias(BUCKET),
            F.coalesce(
                key.cast(self._key_type), F.lit("" if self._key_type == "string" else 0)
            ).alias(KEY),
            F.coalesce(moment, F.lit(0)).cast(self._time_type).alias(TIME),
            self._number(self.target).alias(TARGET),
            reason.alias(REASON),
        ]
        if self.forecast:
            plain.append(self._number(self.forecast).alias(CENTRE))
        return frame.select(*plain)

    def _number(self, name: str) -> Any:
        """A column as doubles, null for text that is none."""
        import pyspark.sql.functions as F

        return F.col(f"`{name}`").try_cast("double")

    def _unread(self, name: str) -> tuple[Any, Any]:
        """Which cells hold text that is no number, and what to say of them."""
        import pyspark.sql.functions as F

        text = F.col(f"`{name}`").cast("string")
        bad = text.isNotNull() & ~F.lower(F.trim(text)).isin(*MISSING) & self._number(name).isNull()
        return bad, F.concat(
            F.lit(f"column {name!r} must hold a number: got '"),
            text,
            F.lit("'; repair it, or leave it empty"),
        )

    def schema(self, job: Job) -> str:
        """Of what Python returns."""
        plays = "".join(f", {name} double" for name in job.columns)
        centre = f", {CENTRE} double" if self.forecast else ""
        return (
            f"{KEY} {self._key_type}, {TIME} {self._time_type}, {TARGET} double{centre}{plays},"
            f" {REASON} string"
        )

    def leave(self, played: Any, job: Job) -> Any:
        """The user's names and types again."""
        import pyspark.sql.functions as F

        time, kind = F.col(TIME), self.type(self.time)
        if kind in ("timestamp", "timestamp_ntz"):
            time = F.timestamp_micros(time)
        elif kind == "date":
            time = F.date_from_unix_date(time.cast("int"))
        missing = F.coalesce(F.col(REASON) == NO_KEY, F.lit(False))
        untimed = F.coalesce(F.col(REASON) == NO_TIME, F.lit(False))
        own = [
            F.when(~missing, F.col(KEY)).cast(self.type(self.key)).alias(self.key),
            F.when(~(missing | untimed), time).cast(kind).alias(self.time),
            F.col(TARGET).alias(self.target),
            *([F.col(CENTRE).alias(self.forecast)] if self.forecast else []),
        ]
        return played.select(*own, *job.columns, F.col(REASON).alias("rejected"))


def _job(
    learner: type[Any] | str,
    loss: Loss | str | None,
    columns: _Columns,
    buckets: int,
    config: dict[str, Any],
) -> Job:
    name = learner if isinstance(learner, str) else getattr(learner, "__name__", str(learner))
    # what cannot be built is refused here, not on some worker
    player = RowPlayer(learner, loss=loss, **config)
    if (columns.forecast is None) == (name == "IntervalTracker"):
        what = "given" if columns.forecast is None else "left out"
        raise ValueError(
            f"forecast must be {what} for {name}: got {columns.forecast!r}; only intervals are"
            " around forecasts"
        )
    unit = {"timestamp": "micros", "timestamp_ntz": "micros", "date": "days"}.get(
        columns.type(columns.time), ""
    )
    return Job(name, loss, config, player.columns, _count(buckets), unit)


def _count(buckets: int) -> int:
    if not isinstance(buckets, int) or isinstance(buckets, bool) or buckets < 1:
        raise ValueError(
            f"buckets must be a whole number above 0: got {buckets!r}; give about 1000 keys a"
            " bucket"
        )
    return buckets

"""Columns of a frame: the user's, and plain ones that Python gets."""

from dataclasses import dataclass
from typing import Any

from stillpoint.core.validation import count
from stillpoint.core.words import MISSING
from stillpoint.fleet.rows import NO_TIME, OUTPUTS
from stillpoint.fleet.spark.processor import CENTRE, KEY, NO_KEY, REASON, TARGET, TIME

BUCKET = "bucket"
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_REAL = ("float", "double")


@dataclass(frozen=True)
class Columns:
    """The user's columns, and plain ones that Python gets: whole numbers, doubles and text.

    None of these is null where its type would change.
    """

    frame: Any
    key: str
    target: str
    time: str
    forecast: str | None = None

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
    def unit(self) -> str:
        """What whole times count, where they are dates."""
        kind = self.type(self.time)
        return {"timestamp": "micros", "timestamp_ntz": "micros", "date": "days"}.get(kind, "")

    @property
    def key_type(self) -> str:
        """The type that keys have on their way to Python."""
        return "string" if self.type(self.key) == "string" else "bigint"

    @property
    def time_type(self) -> str:
        """The type that times have there."""
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
        moment = time.cast(self.time_type)
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
                key.cast(self.key_type), F.lit("" if self.key_type == "string" else 0)
            ).alias(KEY),
            F.coalesce(moment, F.lit(0)).cast(self.time_type).alias(TIME),
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

    def schema(self, columns: tuple[str, ...]) -> str:
        """Of what Python returns: the row, these plays and the reason."""
        plays = "".join(f", {name} double" for name in columns)
        centre = f", {CENTRE} double" if self.forecast else ""
        return (
            f"{KEY} {self.key_type}, {TIME} {self.time_type}, {TARGET} double{centre}{plays},"
            f" {REASON} string"
        )

    def leave(self, played: Any, columns: tuple[str, ...]) -> Any:
        """The user's names and types again."""
        import pyspark.sql.functions as F

        missing = F.coalesce(F.col(REASON) == NO_KEY, F.lit(False))
        untimed = F.coalesce(F.col(REASON) == NO_TIME, F.lit(False))
        own = [
            F.when(~missing, F.col(KEY)).cast(self.type(self.key)).alias(self.key),
            F.when(~(missing | untimed), self.own_time()).alias(self.time),
            F.col(TARGET).alias(self.target),
            *([F.col(CENTRE).alias(self.forecast)] if self.forecast else []),
        ]
        return played.select(*own, *columns, F.col(REASON).alias("rejected"))

    def own_time(self) -> Any:
        """Times as the user has them."""
        import pyspark.sql.functions as F

        time, kind = F.col(TIME), self.type(self.time)
        if kind in ("timestamp", "timestamp_ntz"):
            time = F.timestamp_micros(time)
        elif kind == "date":
            time = F.date_from_unix_date(time.cast("int"))
        return time.cast(kind)


def counted(buckets: int) -> int:
    """Return how many buckets there are; refuse what is no number of them."""
    return count("buckets", buckets, "give about 1000 keys a bucket")

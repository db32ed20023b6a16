"""`stillpoint fleet --engine spark`: files through a streaming query, until all has been played."""

import os
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from stillpoint.commands import cells
from stillpoint.commands.checkpoint import Checkpoint, same_command
from stillpoint.commands.errors import InputError, Stop, Stopped
from stillpoint.commands.fleet_options import LEARNERS, FleetOptions
from stillpoint.commands.fleets import ENOUGH, SUMS, WORST, layout, summed
from stillpoint.commands.formats import format_of, open_reader
from stillpoint.commands.session import progress
from stillpoint.commands.sources import inputs
from stillpoint.commands.summary import SUMMARY, answer, show_fleet
from stillpoint.commands.text import CsvReader
from stillpoint.fleet.spark.frames import stream
from stillpoint.fleet.spark.session import session

# bytes of files a micro-batch; small enough for memory, and for a kill to lose little
MOST = 128 << 20
LOG = "spark.log"
_SOME = 1000  # rows to look for a time in, at a time


def run(options: FleetOptions, stop: Stop, *, print_json: bool, quiet: bool) -> None:
    """Play what is there and sum up; Stopped where that was asked for on the way."""
    summary = play(options, stop, bar=not quiet and sys.stderr.isatty())
    answer(summary, options.out, show_fleet, print_json=print_json, quiet=quiet)
    if stop.signal:
        raise Stopped(f"stopped after {summary['rows']:,} rows; all files are whole")


def play(options: FleetOptions, stop: Stop, bar: bool) -> dict[str, Any]:
    """Play what is there; return the summary."""
    from pyspark.errors import PySparkException

    try:
        return _play(options, stop, bar)
    except PySparkException as error:
        if "JAVA_GATEWAY_EXITED" in str(error):
            log = options.out / LOG
            what = f"it did not start, see {log}; install openjdk-17-jre"
            raise InputError(f"Spark must have Java 17 or newer: {what}") from None
        raise OSError(f"Spark stopped: {_line(error)}; see {options.out / LOG}") from None


def _play(options: FleetOptions, stop: Stop, bar: bool) -> dict[str, Any]:
    begun = time.perf_counter()
    kind, files = _format(options), inputs(options.source)
    first = files[0]
    look = _look(options, files)
    options.check(look[0], first)
    options.out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        places = stack.enter_context(_places(options))
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
        # Spark's own words would drown the one line that says what is wrong
        with _errors_to(options.out / LOG):
            spark = session(spark__sql__session__timeZone="UTC")
        stack.callback(spark.stop)
        spark.sparkContext.setLogLevel("ERROR")
        query = _start(spark, options, kind, first, look, places)
        own = stack.enter_context(Stop())  # starting Spark took the handler of Ctrl-C away
        own.signal = own.signal or stop.signal  # what came before that
        tell = progress(stack, None, bar)
        while not own.signal and not query.awaitTermination(0.3):
            tell(f"{sum(one['numInputRows'] for one in query.recentProgress):,} rows", 0)
        query.stop()
        stop.signal = own.signal
        result: dict[str, Any] = {"rows": 0}
        if any(places[0].glob("*.parquet")):
            _tidy(spark, places[0])
            result = _figures(spark, str(places[0]), options)
        if result["rows"] == 0:
            if stop.signal:
                raise Stopped("no row was read")
            raise InputError(
                f"the input must have rows: got none in {options.source}; check the files"
            )
        tail = {"seconds": time.perf_counter() - begun, "files": [places[0].name, SUMMARY]}
        return summed(options, not stop.signal, {**result, **tail})


def _start(
    spark: Any,
    options: FleetOptions,
    kind: str,
    first: str,
    look: tuple[list[str], str, str],
    places: tuple[Path, Path],
) -> Any:
    import pyspark.sql.functions as F
    from pyspark.sql.types import StringType, StructField, StructType

    names, delimiter, moment = look
    reader = spark.readStream.option("maxBytesPerTrigger", MOST)
    if kind == "csv":  # text: what cannot be read as a number is to be told, not lost
        schema = StructType([StructField(name, StringType()) for name in names])
        reader = (
            reader.option("header", True).option("sep", delimiter).option("enforceSchema", False)
        )
    else:
        schema = spark.read.format("json" if kind == "jsonl" else kind).load(first).schema
    source = Path(options.source).resolve()
    if source.is_file():
        reader = reader.option("pathGlobFilter", source.name)
    folder = source if source.is_dir() else source.parent
    rows = reader.schema(schema).format("json" if kind == "jsonl" else kind).load(str(folder))
    assert options.time is not None
    if dict(rows.dtypes)[options.time] == "string":
        cell = F.col(f"`{options.time}`").try_cast("timestamp" if moment == "date" else "double")
        rows = rows.withColumn(options.time, cell)
    columns = ("key", "target", "time", "forecast")
    given: dict[str, Any] = {name: getattr(options, name) for name in columns}
    played = stream(
        rows, LEARNERS[options.learner], loss=options.own_loss, **given, **options.config
    )
    writer = played.writeStream.format("parquet").option("checkpointLocation", str(places[1]))
    return writer.trigger(availableNow=True).start(str(places[0]))


def _format(options: FleetOptions) -> str:
    """The one format of all files."""
    if options.source == "-":
        raise InputError(
            "the input must be files on Spark: got standard input; use --engine local, or write it"
            " to a folder"
        )
    if not Path(options.source).exists():
        raise InputError(f"the input must exist: got {options.source}; check the path")
    kinds = sorted({format_of(path) for path in inputs(options.source)})
    if len(kinds) > 1:
        what = f"got {' and '.join(kinds)}; put them in folders of their own"
        raise InputError(f"the files must have one format on Spark: {what}")
    return kinds[0]


def _look(options: FleetOptions, files: list[str]) -> tuple[list[str], str, str]:
    """Return columns and delimiter of the first file, and the kind of the first time there is."""
    names, delimiter, moment = _look_into(options, files[0])
    for file in files[1:]:
        moment = moment or _look_into(options, file)[2]
    return names, delimiter, moment or "number"


def _look_into(options: FleetOptions, file: str) -> tuple[list[str], str, str]:
    reader = open_reader(file)
    try:
        while not reader.begin():
            if reader.ended:
                raise InputError(
                    f"the input must have a header and rows: got nothing in {file}; check the file"
                )
        delimiter = reader.delimiter if isinstance(reader, CsvReader) else ","
        if options.time not in reader.names:
            return reader.names, delimiter, ""
        reader.use([options.time])
        moment = ""
        while not moment:
            batch = reader.read(_SOME)
            if batch.rows == 0 and reader.ended:
                break
            moment = cells.first_time_kind(batch.columns[0])
        return reader.names, delimiter, moment
    finally:
        reader.close()


@contextmanager
def _places(options: FleetOptions) -> Iterator[tuple[Path, Path]]:
    """Yield the folders of predictions and of Spark's checkpoint.

    Of an earlier run only what the checkpoint speaks of stays.
    """
    output = options.out / "predictions"
    if options.checkpoint is None:
        shutil.rmtree(output, ignore_errors=True)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            yield output, Path(folder) / "spark"
        return
    held = Checkpoint(options.checkpoint)
    try:
        stored, inner = held.load(), options.checkpoint / "spark"
        command = options.command()
        if stored is None:
            shutil.rmtree(output, ignore_errors=True)
            shutil.rmtree(inner, ignore_errors=True)
            held.save({"command": command}, {})
        else:
            same_command(command, stored[0]["command"])
            if any(inner.glob("commits/[0-9]*")) and not (output / "_spark_metadata").is_dir():
                raise InputError(
                    f"{output} must be as the checkpoint left it: got none; delete the checkpoint"
                    " to begin anew"
                )
        yield output, inner
    finally:
        held.close()


def _tidy(spark: Any, output: Path) -> None:
    """Delete what a killed attempt left: only Spark knows that it does not count."""
    kept = {Path(file).name for file in spark.read.parquet(str(output)).inputFiles()}
    for part in output.glob("*.parquet"):
        if part.name not in kept:
            part.unlink()
            part.with_name(f".{part.name}.crc").unlink(missing_ok=True)


@contextmanager
def _errors_to(path: Path) -> Iterator[None]:
    """What is started here writes its errors to a file."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with path.open("ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _line(error: Any) -> str:
    """Return the line of Spark's that says most: that of an error in Python, or else the first."""
    text = str(getattr(error, "desc", None) or error).strip()
    text = text.rpartition("terminated with exception: ")[2]
    found = re.findall(r"^\w*(?:Error|Exception): .*", text, flags=re.MULTILINE)
    return " ".join((found[-1] if found else text.partition("\n")[0]).split())[:300]


def _figures(spark: Any, path: str, options: FleetOptions) -> dict[str, Any]:
    """Return the `layout` of the predictions that a run wrote."""
    import pyspark.sql.functions as F

    player = options.player()
    rows, target, columns = spark.read.parquet(path), options.target, player.columns

    def score(frames: Iterator[Any]) -> Iterator[Any]:
        for frame in frames:
            learnt = frame[(frame["rejected"].isna() & frame[target].notna()).to_numpy()]
            losses, hits = player.score(
                [learnt[name].to_numpy() for name in columns], learnt[target].to_numpy()
            )
            own = frame[["key"]].assign(
                targets=0.0, losses=0.0, hits=0.0, rejected=frame["rejected"].notna().astype(float)
            )
            own.loc[learnt.index, "targets"], own.loc[learnt.index, "losses"] = 1.0, losses
            own.loc[learnt.index, "hits"] = hits.astype(float)
            yield own

    named = rows.select(F.col(f"`{options.key}`").alias("key"), f"`{target}`", *columns, "rejected")
    kind = dict(named.dtypes)["key"]
    scored = named.mapInPandas(
        score, ", ".join([f"key {kind}", *(f"{name} double" for name in SUMS)])
    )
    keys = (
        scored.groupBy("key")
        .agg(F.count("*").alias("rows"), *(F.sum(name).alias(name) for name in SUMS))
        .cache()
    )
    whole = keys.agg(
        F.sum("rows"), F.count("key"), F.max("targets"), *(F.sum(name) for name in SUMS)
    ).first()
    count, streams, most, *sums = (value or 0 for value in whole)
    mean = F.col("losses") / F.col("targets")
    worst = (
        keys.filter(F.col("targets") >= max(1, min(ENOUGH, most)))
        .filter("key is not null")
        .orderBy(mean.desc(), "key")
        .limit(WORST)
    )
    lost = (
        keys.filter("rejected > 0 and key is not null")
        .orderBy(F.desc("rejected"), "key")
        .limit(WORST)
    )
    reasons = (
        rows.filter("rejected is not null")
        .groupBy(F.split("rejected", ": got ")[0].alias("reason"))
        .count()
    )
    told = {
        row["reason"]: row["count"] for row in reasons.orderBy(F.desc("count"), "reason").collect()
    }
    fared, refused = ([row.asDict() for row in some.collect()] for some in (worst, lost))
    return layout(
        player, int(count), int(streams), dict(zip(SUMS, sums, strict=True)), fared, refused, told
    )

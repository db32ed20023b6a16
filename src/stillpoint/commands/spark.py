"""`stillpoint fleet --engine spark`: files through a streaming query, until all has been played."""

import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from stillpoint.commands import spark_files as files
from stillpoint.commands.checkpoint import Checkpoint, same_command
from stillpoint.commands.errors import InputError, Stop, Stopped
from stillpoint.commands.fleet_options import LEARNERS, FleetOptions
from stillpoint.commands.fleets import ENOUGH, SUMS, WORST, layout, summed
from stillpoint.commands.forecasts.figures import show as show_forecasts
from stillpoint.commands.session import progress
from stillpoint.commands.sources import inputs
from stillpoint.commands.summary import SUMMARY, answer, show_fleet
from stillpoint.fleet.spark.frames import stream
from stillpoint.fleet.spark.session import session

# bytes of files a micro-batch; small enough for memory, and for a kill to lose little
MOST = 128 << 20


def run(options: FleetOptions, stop: Stop, *, print_json: bool, quiet: bool) -> None:
    """Play what is there and sum up; Stopped where that was asked for on the way."""
    summary, notes = play(options, stop, bar=not quiet and sys.stderr.isatty())
    show = show_forecasts if options.learner == "forecaster" else show_fleet
    answer(summary, options.out, show, notes, print_json=print_json, quiet=quiet)
    if stop.signal:
        raise Stopped(f"stopped after {summary['rows']:,} rows; all files are whole")


def play(options: FleetOptions, stop: Stop, bar: bool) -> tuple[dict[str, Any], list[str]]:
    """Play what is there; return the summary and notes."""
    from pyspark.errors import PySparkException

    try:
        if options.learner == "forecaster":
            from stillpoint.commands.forecasts import spark as ahead

            return ahead.play(options, stop, bar)
        return _play(options, stop, bar), []
    except PySparkException as error:
        if "JAVA_GATEWAY_EXITED" in str(error):
            log = options.out / files.LOG
            what = f"it did not start, see {log}; install openjdk-17-jre"
            raise InputError(f"Spark must have Java 17 or newer: {what}") from None
        raise OSError(
            f"Spark stopped: {files.line(error)}; see {options.out / files.LOG}"
        ) from None


def _play(options: FleetOptions, stop: Stop, bar: bool) -> dict[str, Any]:
    begun = time.perf_counter()
    kind, given = files.one_format(options), inputs(options.source)
    first = given[0]
    look = files.look(options, given)
    options.check(look[0], first)
    options.out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        places = stack.enter_context(_places(options))
        spark = started(options, stack)
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
            _delete_leftovers(spark, places[0])
            result = _figures(spark, str(places[0]), options)
        if result["rows"] == 0:
            if stop.signal:
                raise Stopped("no row was read")
            raise InputError(
                f"the input must have rows: got none in {options.source}; check the files"
            )
        tail = {"seconds": time.perf_counter() - begun, "files": [places[0].name, SUMMARY]}
        return summed(options, not stop.signal, {**result, **tail})


def started(options: FleetOptions, stack: ExitStack) -> Any:
    """Return a session, which is stopped with the stack."""
    stack.enter_context(warnings.catch_warnings())
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    # Spark's own words would drown the one line that says what is wrong
    with files.errors_to(options.out / files.LOG):
        spark = session(spark__sql__session__timeZone="UTC")
    stack.callback(spark.stop)
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _start(
    spark: Any,
    options: FleetOptions,
    kind: str,
    first: str,
    look: tuple[list[str], str, str],
    places: tuple[Path, Path],
) -> Any:
    reader = spark.readStream.option("maxBytesPerTrigger", MOST)
    rows = files.load(spark, reader, options, kind, first, look)
    columns = ("key", "target", "time", "forecast")
    given: dict[str, Any] = {name: getattr(options, name) for name in columns}
    played = stream(
        rows, LEARNERS[options.learner], loss=options.own_loss, **given, **options.config
    )
    writer = played.writeStream.format("parquet").option("checkpointLocation", str(places[1]))
    return writer.trigger(availableNow=True).start(str(places[0]))


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


def _delete_leftovers(spark: Any, output: Path) -> None:
    """Delete what a killed attempt left: only Spark knows that it does not count."""
    kept = {Path(file).name for file in spark.read.parquet(str(output)).inputFiles()}
    for part in output.glob("*.parquet"):
        if part.name not in kept:
            part.unlink()
            part.with_name(f".{part.name}.crc").unlink(missing_ok=True)


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

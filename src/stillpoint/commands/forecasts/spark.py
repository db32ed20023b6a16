"""`stillpoint fleet --engine spark` with forecasters: a job over the files, or a stream's state."""

import json
import shutil
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stillpoint.commands import spark_files as files
from stillpoint.commands.arguments import periods
from stillpoint.commands.checkpoint import Checkpoint, same_command
from stillpoint.commands.errors import InputError, Stop, Stopped
from stillpoint.commands.fleet_options import FleetOptions
from stillpoint.commands.forecasts.figures import figures
from stillpoint.commands.forecasts.output import FORECASTS
from stillpoint.commands.notes import unused_notes
from stillpoint.commands.session import progress
from stillpoint.commands.sources import inputs
from stillpoint.commands.spark import started
from stillpoint.commands.summary import SUMMARY, write_summary
from stillpoint.core.container import replace
from stillpoint.fleet.series import plan as planning
from stillpoint.fleet.series.plan import Plan
from stillpoint.fleet.spark.columns import BUCKET, Columns
from stillpoint.fleet.spark.forecasts import find, played
from stillpoint.fleet.spark.series import FIGURES, STEP, TOLD

RESULTS, STATE, STATES = "results.json", "spark", "states"
_WRITERS = "spark.sql.maxConcurrentOutputFileWriters"


@dataclass
class _Run:
    """What a run has come to: rows of this one, figures of each bucket."""

    rows: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    results: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Rows of all runs."""
        return sum(one["rows"] for one in self.results.values())


@dataclass
class _Counted:
    rows: int
    reasons: Counter[str]
    zoned: bool | None = None  # Spark does not tell


def play(options: FleetOptions, stop: Stop, bar: bool) -> tuple[dict[str, Any], list[str]]:
    """Play what is there; return the summary and notes."""
    begun, o, run = time.perf_counter(), options, _Run()
    kind, given = files.one_format(o), inputs(o.source)
    look = files.look(o, given)
    o.check(look[0], given[0])
    run.notes += unused_notes(o.unused(look[0]))
    o.out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        held = None
        if o.checkpoint is not None:
            held = Checkpoint(o.checkpoint)
            stack.callback(held.close)
        kept = _kept(o, held)
        spark = started(o, stack)
        own = stack.enter_context(Stop())  # starting Spark took the handler of Ctrl-C away
        own.signal = own.signal or stop.signal
        tell = progress(stack, None, bar)
        tell("reading", 0)

        def load(reader: Any) -> Columns:
            frame = files.load(spark, reader, o, kind, given[0], look, days=True)
            assert o.time is not None
            return Columns(frame, o.key, o.target, o.time)

        plan, buckets = _planned(o, held, kept, load, spark)
        spark.conf.set(_WRITERS, buckets)
        before = 0
        if o.checkpoint is not None:
            if (path := o.checkpoint / RESULTS).exists():
                run.results = json.loads(path.read_text(encoding="utf-8"))
            before = run.total
            states = str((o.checkpoint / STATES).resolve())
            given_rows = load(spark.readStream)
            rows = played(given_rows, plan, o.settings, buckets, moved=False, states=states)
            _stream(rows, o, run, own, tell)
        else:
            rows = played(load(spark.read), plan, o.settings, buckets, moved=False)
            _batch(spark, rows, o, run, own)
        stop.signal = own.signal
        if stop.signal:
            raise Stopped("the rows were not all played")
        run.rows, run.seconds = run.total - before, time.perf_counter() - begun
        results = list(run.results.values())
        reasons = sum((Counter(one["reasons"]) for one in results), Counter[str]())
        summary = figures(o, plan, _Counted(run.total, reasons), results, run)
        return write_summary(o.out, summary), run.notes


def _kept(o: FleetOptions, held: Checkpoint | None) -> dict[str, Any] | None:
    """Return the header of an earlier run; clear the place of a new one."""
    stored = None if held is None else held.load()
    if stored is None:
        shutil.rmtree(o.out / FORECASTS, ignore_errors=True)
        (o.out / SUMMARY).unlink(missing_ok=True)
        if o.checkpoint is not None:
            for name in (STATE, STATES):
                shutil.rmtree(o.checkpoint / name, ignore_errors=True)
            (o.checkpoint / RESULTS).unlink(missing_ok=True)
        return None
    same_command(o.command(), stored[0]["command"])
    if (o.checkpoint / RESULTS).exists() and not (o.out / FORECASTS).is_dir():  # type: ignore[operator]
        raise InputError(
            f"{o.out / FORECASTS} must be as the checkpoint left it: got none; delete the"
            " checkpoint to begin anew"
        )
    return stored[0]


def _planned(
    o: FleetOptions, held: Checkpoint | None, kept: dict[str, Any] | None, load: Any, spark: Any
) -> tuple[Plan, int]:
    """Return plan and buckets, of the checkpoint or told from the files."""
    if kept is not None:
        return planning.restored(kept["plan"]), int(kept["buckets"])
    try:
        found = find(load(spark.read), periods(o.season), o.horizon, o.settings)
    except ValueError as error:
        raise InputError(str(error).replace("frame must", f"{o.source} must")) from None
    if held is not None:
        told = {"plan": found.plan.header(), "buckets": found.buckets}
        held.save({"command": o.command(), **told}, {})
    return found.plan, found.buckets


def _stream(rows: Any, o: FleetOptions, run: _Run, stop: Stop, tell: Any) -> None:
    """Play what is new as one micro-batch: rows may be in any order in it."""
    assert o.checkpoint is not None
    path: Path = o.checkpoint / RESULTS

    def write(frame: Any, number: int) -> None:
        _write(frame, o, run)
        replace(path, json.dumps(run.results).encode())

    writer = rows.writeStream.option("checkpointLocation", str(o.checkpoint / STATE))
    query = writer.foreachBatch(write).trigger(availableNow=True).start()
    while not stop.signal and not query.awaitTermination(0.3):
        tell("playing", 0)
    query.stop()


def _batch(spark: Any, rows: Any, o: FleetOptions, run: _Run, stop: Stop) -> None:
    """Play all in one job, in a thread, so that a signal is heard on the way."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            _write(rows, o, run)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        thread.join(0.3)
        if stop.signal:
            spark.sparkContext.cancelAllJobs()
    if failed and not stop.signal:
        raise failed[0]


def _write(frame: Any, o: FleetOptions, run: _Run) -> None:
    """Write forecasts, a folder a bucket, which replaces that of an earlier run; keep figures."""
    from pyspark import StorageLevel

    frame = frame.persist(StorageLevel.DISK_ONLY)
    try:
        ahead = frame.filter(f"{STEP} > 0").withColumnsRenamed({o.key: "key", str(o.time): "time"})
        writer = ahead.select(BUCKET, "key", "time", STEP, *TOLD).write.mode("overwrite")
        writer = writer.option("partitionOverwriteMode", "dynamic").partitionBy(BUCKET)
        if o.forecasts == "csv":
            writer = writer.option("header", True)
        writer.format(str(o.forecasts)).save(str((o.out / FORECASTS).resolve()))
        for row in frame.filter(f"{STEP} = 0").select(BUCKET, FIGURES).collect():
            run.results[str(row[BUCKET])] = json.loads(row[FIGURES])
    finally:
        frame.unpersist()

"""Forecasts on Spark in local[2]: rows a second over 100 000 keys, as a job and as a stream.

    pip install '.[spark]'                  # and Java 17
    python benchmarks/spark_forecasts.py    # some minutes; prints Markdown

A log of all keys lies ready as Parquet, a row a key and hour (or day), a file an hour or several;
seasons are told. Keys are young: until their longest season has been seen twice they keep values
beside their state. The job plays all files at once: reading, shuffling by bucket, each key's
series, forecasts with intervals written. The stream has one file a micro-batch: states out of and
into files, forecasts of the keys that moved, written, the commit. Its first two micro-batches start
Python and load compiled code, and are left out of the rate.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

KEYS, HOURS, WARM = 100_000, 96, 2
TOLD = {"key": "key", "target": "y", "time": "hour"}


def write(folder, keys, hours, each):
    """Write a log of all keys, `each` hours a file."""
    import pyarrow as pa
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    level, shape = rng.gamma(5.0, 2.0, keys), 1.0 + 0.5 * np.sin(2 * np.pi * np.arange(24) / 24)
    folder.mkdir()
    for i in range(0, hours, each):
        hour = np.repeat(np.arange(i, i + each), keys)
        key = np.tile(np.arange(keys), each)
        y = level[key] * shape[hour % 24] + rng.normal(size=key.size)
        path = folder / f"{i:05d}.parquet"
        pa.parquet.write_table(pa.table({"key": key, "hour": hour, "y": y}), path)
        os.utime(path, (1e9 + i, 1e9 + i))


def run(folder, kind, season, horizon):
    """Print seconds of the job, or rows and seconds of each micro-batch."""
    warnings.simplefilter("ignore")
    from stillpoint.fleet import spark as fleets

    spark = fleets.session(spark__master="local[2]", spark__ui__showConsoleProgress="false")
    spark.sparkContext.setLogLevel("ERROR")
    rows = spark.read.parquet(str(folder / "in"))
    plan = fleets.plan(rows, season=season, horizon=horizon, **TOLD)
    out = folder / f"{kind}-{horizon}"
    if kind == "job":
        few = rows.filter("key < 64")
        fleets.forecasts(few, plan, **TOLD).count()  # starts Python, loads compiled code
        begun = time.perf_counter()
        fleets.forecasts(rows, plan, **TOLD).write.parquet(str(out))
        batches = [(rows.count(), time.perf_counter() - begun)]
    else:
        source = spark.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1)
        states = str(folder / "states")
        played = fleets.forecasts(source.parquet(str(folder / "in")), plan, states=states, **TOLD)
        writer = played.writeStream.format("parquet").option(
            "checkpointLocation", str(out) + "-state"
        )
        query = writer.trigger(availableNow=True).start(str(out))
        query.awaitTermination()
        progress = [one for one in query.recentProgress if one["numInputRows"]]
        batches = [(p["numInputRows"], p["durationMs"]["triggerExecution"] / 1e3) for p in progress]
    count = spark.read.parquet(str(out)).count()
    spark.stop()
    print(json.dumps({"batches": batches, "forecasts": count}))


def measure(kind, season, keys, hours, each, horizon):
    """Run in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "in", keys, hours, each)
        told = [kind, ",".join(map(str, season)), str(horizon)]
        command = [sys.executable, __file__, "--run", str(folder), *told]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed; run it by itself to see why")
        return json.loads(done.stdout.splitlines()[-1])


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows, to see that it runs")
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        folder, kind, season, horizon = given.run
        run(Path(folder), kind, [int(m) for m in season.split(",")], int(horizon))
        return
    import pyspark

    keys, hours = (2_000, 8) if given.quick else (KEYS, HOURS)
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(
        f"{platform.machine()}, Python {platform.python_version()}, Spark {pyspark.__version__},"
        f" local[2], {keys:,} keys."
    )
    print(f"Load of the machine before the run (1, 5, 15 minutes): {load}.\n")
    heads = ("form", "seasons", "rows at once", "steps ahead", "rows/s", "forecasts/s")
    print("| " + " | ".join((*heads, "rows/s, each micro-batch")) + " |")
    print("|---|---|---|---|---|---|---|")
    for kind, season, count, each, horizon in (
        ("job", [24, 168], hours, hours // 8, 24),
        ("stream", [7], 6, 1, 1),
        ("stream", [24, 168], 5, 1, 1),
        ("stream", [24, 168], 5, 1, 24),
    ):
        told = measure(kind, season, keys, count, each, horizon)
        later = told["batches"][WARM:] or told["batches"]
        spent = sum(seconds for _, seconds in later)
        rate = sum(rows for rows, _ in later) / spent
        made = told["forecasts"] * len(later) / len(told["batches"]) / spent
        rows = keys * (count if kind == "job" else each)
        single = ", ".join(f"{n / seconds:,.0f}" for n, seconds in told["batches"])
        single = single if kind == "stream" else "–"
        cells = [kind, ", ".join(map(str, season)), f"{rows:,}", str(horizon), f"{rate:,.0f}"]
        print("| " + " | ".join([*cells, f"{made:,.0f}", single]) + " |", flush=True)


if __name__ == "__main__":
    main()

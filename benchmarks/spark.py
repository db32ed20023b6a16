"""Fleets on Spark in local[2]: rows a second over 100 000 keys, beside the local engine.

    pip install '.[spark]'                  # and Java 17
    python benchmarks/spark.py              # some minutes; prints Markdown

Files of rows (whole-number key, time, target) lie ready as Parquet; each is one micro-batch of a
streaming query with a file source, checkpointed state and a file sink, so that every rate is end to
end: reading, shuffling by bucket, state out of and into RocksDB, predictions written, the commit.
The first two micro-batches start Python and load compiled code, and are left out of the sustained
rate. The local engine reads the same rows as CSV, and writes CSV.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

KEYS, WARM = 100_000, 2
LEARNERS = {"Tracker": "tracker", "QuantileTracker": "quantile"}


def write(folder, files, rows, keys):
    """Write random keys, noisy targets and times, as Parquet and as CSV."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    level = rng.normal(size=keys)
    (folder / "parquet").mkdir()
    (folder / "csv").mkdir()
    for i in range(files):
        which = rng.integers(0, keys, rows)
        columns = {
            "key": which,
            "time": np.arange(rows) + i * rows,
            "y": level[which] + rng.normal(size=rows),
        }
        path = folder / "parquet" / f"{i:04d}.parquet"
        pa.parquet.write_table(pa.table(columns), path)
        pa.csv.write_csv(pa.table(columns), folder / "csv" / f"{i:04d}.csv")
        os.utime(path, (1e9 + i, 1e9 + i))


def spark_run(folder, learner, begun):
    """Rows and seconds of each micro-batch, of the whole run, and of the batch form."""
    warnings.simplefilter("ignore")
    from stillpoint.fleet import spark as fleets

    spark = fleets.session(spark__master="local[2]", spark__ui__showConsoleProgress="false")
    spark.sparkContext.setLogLevel("ERROR")
    told = {"key": "key", "target": "y", "time": "time"}
    source = spark.readStream.schema("key bigint, time bigint, y double").option(
        "maxFilesPerTrigger", 1
    )
    played = fleets.stream(source.parquet(str(folder / "parquet")), learner, **told)
    writer = played.writeStream.format("parquet").option(
        "checkpointLocation", str(folder / "state")
    )
    query = writer.trigger(availableNow=True).start(str(folder / "out"))
    query.awaitTermination()
    total = time.time() - begun
    batches = [
        (p["numInputRows"], p["durationMs"]["triggerExecution"] / 1e3)
        for p in query.recentProgress
        if p["numInputRows"]
    ]
    start = time.perf_counter()
    frame = fleets.batch(spark.read.parquet(str(folder / "parquet")), learner, **told)
    frame.write.parquet(str(folder / "batch"))
    spent = time.perf_counter() - start
    count, wrong = (
        spark.read.parquet(str(folder / "out")).count(),
        frame.filter("rejected is not null").count(),
    )
    spark.stop()
    print(
        json.dumps(
            {"batches": batches, "total": total, "batch": spent, "count": count, "wrong": wrong}
        )
    )


def local_run(folder, learner):
    """What the local engine says."""
    command = [
        sys.executable,
        "-m",
        "stillpoint",
        "fleet",
        str(folder / "csv"),
        "--key",
        "key",
        "--target",
        "y",
        "--time",
        "time",
    ]
    command += ["--learner", LEARNERS[learner], "--out", str(folder / "local"), "--json"]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout), time.perf_counter() - start


def measure(learner, files, rows, keys):
    """Run both on the same rows."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, files, rows, keys)
        command = [sys.executable, __file__, "--run", str(folder), learner, repr(time.time())]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True
        )
        result = json.loads(done.stdout.splitlines()[-1])
        assert result["count"] == files * rows
        assert result["wrong"] == 0
        local, seconds = local_run(folder, learner)
        shutil.rmtree(folder / "out")
    return result, local, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows, to see that it runs")
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        spark_run(Path(given.run[0]), given.run[1], float(given.run[2]))
        return
    import pyspark

    keys, files, sizes = (2_000, 4, (5_000,)) if given.quick else (KEYS, 8, (100_000, 400_000))
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(
        f"{platform.machine()}, Python {platform.python_version()}, Spark {pyspark.__version__},"
        f" local[2], {keys} keys.",
        end=" ",
    )
    print(f"Load of the machine before the run (1, 5, 15 minutes): {load}.\n")
    heads = (
        "learner",
        "rows a micro-batch",
        "rows/s, each micro-batch",
        "sustained",
        "with start-up",
        "batch form",
        "local engine",
    )
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for learner in LEARNERS:
        for rows in sizes:
            result, local, _ = measure(learner, files, rows, keys)
            each = ", ".join(f"{count / spent:.0f}" for count, spent in result["batches"])
            later = result["batches"][WARM:]
            sustained = sum(count for count, _ in later) / sum(spent for _, spent in later)
            whole, batch = files * rows / result["total"], files * rows / result["batch"]
            cells = (
                f"{sustained:.0f}",
                f"{whole:.0f}",
                f"{batch:.0f}",
                f"{local['rows_per_second']:.0f}",
            )
            print(f"| {learner} | {rows} | {each} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

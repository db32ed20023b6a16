"""Fleets on Spark, in local mode: streams and batches give the local engine's numbers, and a kill
loses and doubles nothing.
"""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from stillpoint.commands import fleet
from stillpoint.commands.errors import Stop
from stillpoint.commands.fleet_options import FleetOptions
from stillpoint.fleet import RowPlayer

# Spark warns of every pandas newer than itself
pytestmark = [
    pytest.mark.extra,
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
FILES, ROWS, KEYS = 3, 400, 50
QUERY = """
import sys
from stillpoint.fleet import spark as fleets
spark = fleets.session(spark__master="local[2]")
rows = spark.readStream.schema("k bigint, t bigint, y double").option("maxFilesPerTrigger", 1)
rows = rows.parquet(sys.argv[1])
played = fleets.stream(rows, "Tracker", key="k", target="y", time="t", loss="absolute", buckets=3)
query = played.writeStream.format("parquet").option("checkpointLocation", sys.argv[3])
query = query.trigger(availableNow=True)
query.start(sys.argv[2]).awaitTermination()
"""


def table(seed=0):
    """Rows of many keys in the order of their times, some without a target, one bad."""
    rng, n = np.random.default_rng(seed), FILES * ROWS
    keys = rng.integers(0, KEYS, n) * 10**15 + 2**60  # too large for floats
    y = keys % 7 + np.sin(np.arange(n) / 100) + 0.1 * rng.normal(size=n)
    y[rng.random(n) < 0.03] = np.nan
    y[ROWS + 5] = np.inf
    return keys, np.arange(n) * 3, y


@pytest.fixture(scope="module")
def folder(fleets, tmp_path_factory):
    """Files that were written one after the other."""
    import pandas as pd

    keys, times, y = table()
    place = tmp_path_factory.mktemp("in")
    for i in range(FILES):
        cut = slice(i * ROWS, (i + 1) * ROWS)
        # within a micro-batch the times give the order
        order = np.random.default_rng(i).permutation(ROWS)
        rows = {"k": keys[cut][order], "t": times[cut][order], "y": y[cut][order]}
        pd.DataFrame(rows).to_parquet(place / f"{i}.parquet")
        os.utime(place / f"{i}.parquet", (1e9 + i, 1e9 + i))
    return place


def numbers(frame, *columns):
    """Columns in the order of times."""
    return [frame.sort_values("t")[name].to_numpy() for name in columns]


def start(query, *arguments):
    process = [sys.executable, "-W", "ignore", "-c", query, *map(str, arguments)]
    return subprocess.Popen(
        process, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


@pytest.fixture(scope="module")
def killed(fleets, folder, tmp_path_factory):
    """A query in processes that are killed once a micro-batch is written and the next is under way;
    starting takes them long, and tests go on meanwhile. What it wrote, its checkpoint, and how many
    micro-batches were done when it is dead.
    """
    place = tmp_path_factory.mktemp("killed")
    out, state = place / "out", place / "state"
    process = start(QUERY, folder, out, state)

    def kill():
        try:
            limit = time.monotonic() + 600
            while not (out / "_spark_metadata" / "0").exists():
                assert time.monotonic() < limit
                assert process.poll() is None
                time.sleep(0.02)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return len(list((state / "commits").glob("[0-9]*")))

    with ThreadPoolExecutor(1) as pool:
        yield out, state, pool.submit(kill)


@pytest.mark.slow  # a Java more, and two minutes; `test_spark_series.py` has runs that go on
def test_killed_and_started_again_nothing_is_lost_or_doubled(
    fleets, folder, killed, spark, tmp_path
):
    keys, times, y = table()

    def run(out, state):
        rows = (
            spark.readStream.schema("k bigint, t bigint, y double")
            .option("maxFilesPerTrigger", 1)
            .parquet(str(folder))
        )
        played = fleets.stream(
            rows, "Tracker", key="k", target="y", time="t", loss="absolute", buckets=3
        )
        query = (
            played.writeStream.format("parquet")
            .option("checkpointLocation", str(state))
            .trigger(availableNow=True)
        )
        query = query.start(str(out))
        query.awaitTermination()
        return (
            min(report["batchId"] for report in query.recentProgress),
            spark.read.parquet(str(out)).toPandas(),
        )

    _, whole = run(tmp_path / "whole", tmp_path / "fresh")
    out, state, death = killed
    done = death.result()
    assert done < FILES
    first, again = run(out, state)
    assert first == done  # it went on, and did not begin anew
    one = fleets.batch(
        spark.read.parquet(str(folder)),
        "Tracker",
        key="k",
        target="y",
        time="t",
        loss="absolute",
        buckets=5,
    ).toPandas()
    local = RowPlayer("Tracker", loss="absolute").play(keys, y, times=times)
    for frame in (again, whole, one):
        assert list(frame.columns) == ["k", "t", "y", "prediction", "rejected"]
        own = numbers(frame, "k", "t", "y", "prediction")
        for ours, theirs in zip(own, (keys, times, y, local.plays[0]), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        bad = frame[frame["rejected"].notna()]
        assert bad["t"].tolist() == [3 * (ROWS + 5)]
        assert bad["rejected"].iloc[0] == local.rejected[ROWS + 5]


def test_bad_rows_come_out_with_a_reason(fleets, spark):
    rows = [
        ("a", 1, 2.0),
        ("b", 1, float("nan")),
        ("a", 1, 5.0),
        (None, 2, 3.0),
        ("b", 3, None),
        ("c", None, 4.0),
        ("b", 4, float("inf")),
        ("a", 5, 7.0),
    ]
    frame = spark.createDataFrame(rows, "name string, n int, value double")
    played = fleets.batch(frame, "QuantileTracker", key="name", target="value", time="n", level=0.5)
    assert dict(played.dtypes) == {
        "name": "string",
        "n": "int",
        "value": "double",
        "prediction": "double",
        "rejected": "string",
    }
    rows = played.collect()
    assert len(rows) == 8
    said = {(row["name"], row["value"]): (row["rejected"] or "").partition(":")[0] for row in rows}
    assert said["a", 2.0] == said["a", 7.0] == said["b", None] == ""
    assert said["a", 5.0] == "time must increase"
    assert said[None, 3.0] == "key must be given"
    assert said["c", 4.0] == "time must be given"
    assert said["b", float("inf")] == "target must be finite"


def test_cells_that_cannot_be_read_are_told_as_by_the_local_engine(fleets, spark, tmp_path):
    lines = ["k,t,y,f", "a,1,2,1", "a,2,x,1", "a,3,2,oops", "a,4,y,z", "a,5,2,1"]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    told = {"time": "t", "forecast": "f", "learner": "interval", "quiet": True}
    assert fleet(str(tmp_path / "a.csv"), "k", "y", tmp_path / "out", **told) == 0
    with (tmp_path / "out" / "predictions.csv").open(encoding="utf-8") as file:
        theirs = [row["rejected"] for row in csv.DictReader(file)]
    frame = spark.createDataFrame(
        [(k, int(t), y, f) for k, t, y, f in (line.split(",") for line in lines[1:])],
        "k string, t int, y string, f string",
    )
    own = (
        fleets.batch(frame, "IntervalTracker", key="k", target="y", time="t", forecast="f")
        .orderBy("t")
        .collect()
    )
    assert [row["rejected"] or "" for row in own] == theirs
    assert [text.partition(" must")[0] for text in theirs] == [
        "",
        "column 'y'",
        "column 'f'",
        "column 'y'",
        "",
    ]


def test_a_signal_while_spark_starts_is_heard(fleets, tmp_path, monkeypatch):
    from stillpoint.commands import spark

    (tmp_path / "a.csv").write_text("k,t,y\na,1,2\n", encoding="utf-8")
    stop = Stop()

    def starting(**options):
        stop.signal = signal.SIGTERM
        return SimpleNamespace(
            stop=lambda: None, sparkContext=SimpleNamespace(setLogLevel=lambda level: None)
        )

    query = SimpleNamespace(
        awaitTermination=lambda seconds: True, recentProgress=[], stop=lambda: None
    )
    monkeypatch.setattr(spark, "session", starting)
    monkeypatch.setattr(spark, "_start", lambda *arguments: query)
    filters = list(warnings.filters)
    # what was asked for, not a word on an input without rows
    with pytest.raises(KeyboardInterrupt):
        spark.play(
            FleetOptions(
                str(tmp_path / "a.csv"),
                "y",
                tmp_path / "out",
                key="k",
                time="t",
                engine="spark",
                learner="kernel",
            ),
            stop,
            False,
        )
    assert stop.signal == signal.SIGTERM
    assert warnings.filters == filters


def test_intervals_and_times_of_every_kind(fleets, spark):
    days = [date(2024, 1, day) for day in (1, 3, 4, 9)]
    moments = [datetime(2024, 1, day, 6, 30, 0, 123456) for day in (1, 3, 4, 9)]
    y = [1.0, 2.0, 1.5, 4.0]
    rows = [("x", d, m, value, 1.0) for d, m, value in zip(days, moments, y, strict=True)]
    frame = spark.createDataFrame(rows, "k string, d date, m timestamp, y double, f double")
    own = fleets.batch(
        frame, "IntervalTracker", key="k", target="y", time="d", forecast="f", coverage=0.8
    ).toPandas()
    played = RowPlayer("IntervalTracker", coverage=0.8).play(["x"] * 4, y, forecasts=[1.0] * 4)
    np.testing.assert_array_equal(own.sort_values("d")[["lo", "hi"]].to_numpy().T, played.plays)
    for name, given, fraction in (("d", days, 0.0), ("m", moments, 23400.123456)):
        seconds = [
            (day - date(2024, 1, 1)).days * 86400.0 + 1704067200.0 + fraction for day in days
        ]
        played = RowPlayer("KernelForecaster").play(["x"] * 4, y, times=seconds)
        own = (
            fleets.batch(frame, "KernelForecaster", key="k", target="y", time=name)
            .orderBy(name)
            .collect()
        )
        assert [row[name] for row in own] == given
        np.testing.assert_allclose([row["prediction"] for row in own], played.plays[0], rtol=1e-12)


def test_what_does_not_fit_is_refused_before_anything_runs(fleets, spark, folder):
    frame = spark.createDataFrame([("a", 1, 2.0, [1])], "k string, t int, y double, l array<int>")
    rows = spark.readStream.schema("k bigint, t bigint, y double").parquet(str(folder))
    good = {"key": "k", "target": "y", "time": "t"}
    cases = [
        (
            lambda: fleets.batch(frame, "Tracker", **{**good, "key": "q"}),
            "key must be a column: got 'q'",
        ),
        (
            lambda: fleets.batch(frame, "Tracker", **{**good, "key": "y"}),
            "must be different columns",
        ),
        (
            lambda: fleets.batch(frame, "Tracker", **{**good, "key": "l"}),
            "key must be whole numbers or text",
        ),
        (
            lambda: fleets.batch(frame, "Tracker", **{**good, "target": "l"}),
            "target must be numbers",
        ),
        (
            lambda: fleets.batch(frame, "Tracker", key="t", target="y", time="k"),
            "time must be numbers, timestamps or dates",
        ),
        (
            lambda: fleets.batch(
                frame.withColumnRenamed("y", "lo"), "Tracker", key="k", target="lo", time="t"
            ),
            "named as an output",
        ),
        (lambda: fleets.batch(frame, "Trackr", **good), "learner must be one of"),
        (lambda: fleets.batch(frame, "Tracker", dim=2, **good), "dim must be one"),
        (lambda: fleets.batch(frame, "Tracker", buckets=0, **good), "buckets must be"),
        (lambda: fleets.batch(frame, "IntervalTracker", **good), "forecast must be given"),
        (lambda: fleets.batch(rows, "Tracker", **good), "frame must be all there"),
        (lambda: fleets.stream(frame, "Tracker", **good), "frame must be a streaming one"),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()
    name = "spark.sql.streaming.stateStore.providerClass"
    kept = spark.conf.get(name)
    spark.conf.unset(name)
    spark.conf.set(
        name, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    )
    try:
        with pytest.raises(ValueError, match=r"must be RocksDB's: got .*HDFS"):
            fleets.stream(rows, "Tracker", **good)
    finally:
        spark.conf.set(name, kept)


@pytest.fixture
def sensors(tmp_path):
    """A folder of two files; a bad cell in each, and a key without any time in the first."""
    rng, source = np.random.default_rng(3), tmp_path / "in"
    source.mkdir()
    for i in range(2):
        lines = ["sensor;when;value"] + [
            f"s{rng.integers(9)};{100 * i + j};{rng.normal()!r}" for j in range(100)
        ]
        lines[7] = f"s1;{100 * i + 6};x"
        if i == 0:  # whether times are numbers or dates is for the next one to say
            lines[1] = "s9;;1.5"
        (source / f"{i}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        os.utime(source / f"{i}.csv", (1e9 + i, 1e9 + i))
    return source


@pytest.mark.slow  # a Java more; the test after it has the command in a session that is there
def test_the_command_on_its_own_gives_the_numbers_of_the_local_engine(fleets, sensors, tmp_path):
    told = ["--key", "sensor", "--target", "value", "--time", "when", "--learner", "quantile"]
    command = [sys.executable, "-m", "stillpoint", "fleet", str(sensors), *told, "--json"]

    def run(engine):
        own = [*command, "--out", str(tmp_path / engine), "--engine", engine]
        return subprocess.run(own, capture_output=True, text=True, timeout=600)

    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(run, ("local", "spark")))
    for done in ended:
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
    compare([json.loads(done.stdout) for done in ended], tmp_path)


def test_the_command_gives_the_numbers_of_the_local_engine(command, sensors, tmp_path):
    told = {"time": "when", "learner": "quantile"}
    assert fleet(str(sensors), "sensor", "value", tmp_path / "local", quiet=True, **told) == 0
    local = json.loads((tmp_path / "local" / "summary.json").read_text(encoding="utf-8"))
    ours = command(sensors, "value", tmp_path / "spark", key="sensor", **told)
    compare([local, ours], tmp_path)


def compare(summaries, folder):
    """Summaries and predictions of both engines, local and Spark, are the same."""
    import pandas as pd

    for name in ("rows", "targets", "keys", "loss_name", "coverage"):
        assert summaries[0][name] == summaries[1][name], name
    assert summaries[0]["loss"] == pytest.approx(summaries[1]["loss"], rel=1e-12)
    assert summaries[0]["rejected"] == summaries[1]["rejected"]
    assert set(summaries[0]["rejected"]["reasons"]) == {
        "column 'value' must hold a number",
        "time must be given",
    }
    ours = pd.read_parquet(folder / "spark" / "predictions").sort_values(
        "when", na_position="first"
    )
    # as written: some versions of pandas read the last digit otherwise
    local = folder / "local" / "predictions.csv"
    theirs = pd.read_csv(local, float_precision="round_trip")
    assert ours["sensor"].tolist() == theirs["sensor"].tolist()
    np.testing.assert_array_equal(ours["prediction"].to_numpy(), theirs["prediction"].to_numpy())
    assert ours["rejected"].fillna("").tolist() == theirs["rejected"].fillna("").tolist()


def test_numbers_or_dates_is_for_the_first_time_there_is_to_say(fleets, tmp_path):
    from stillpoint.commands.fleet_options import FleetOptions
    from stillpoint.commands.spark_files import look

    many = 1500 * "a,,1\n"  # more than are looked at in one go
    for text, kind in (("2024-01-02", "day"), ("5", "number"), ("", "number")):
        for names in (["a"], ["a", "b"]):  # in the first file, and in a later one
            files = [tmp_path / f"{name}.csv" for name in names]
            for file in files:
                last = text if file == files[-1] else ""
                file.write_text("k,t,y\n" + many + f"a,{last},2\n", encoding="utf-8")
            told = {"key": "k", "time": "t", "engine": "spark", "learner": "kernel"}
            options = FleetOptions(str(tmp_path), "y", tmp_path / "out", **told)
            assert look(options, [str(file) for file in files]) == (["k", "t", "y"], ",", kind)


def test_a_checkpoint_is_of_one_job(fleets):
    import pandas as pd

    from stillpoint.fleet.spark.processor import Bucket, Job

    class Handle:
        value = None

        def getValueState(self, name, schema):
            return self

        def get(self):
            return self.value

        def update(self, value):
            self.value = value

    handle = Handle()
    rows = pd.DataFrame(
        {"stream": [1, 1], "moment": [1, 2], "target": [1.0, 2.0], "reason": [None, None]}
    )
    for job, sound in (
        (Job("Tracker", "absolute", {}, ("prediction",), 4), True),
        (Job("Tracker", "absolute", {}, ("prediction",), 4), True),
        (Job("Tracker", "absolute", {}, ("prediction",), 5), False),
        (Job("Tracker", "squared", {}, ("prediction",), 4), False),
        (Job("KernelForecaster", None, {}, ("prediction",), 4), False),
    ):
        bucket = Bucket(job)
        bucket.init(handle)
        if sound:
            assert len(next(iter(bucket.handleInputRows((1,), iter([rows]), None)))) == 2
            rows["moment"] += 2
        else:
            before = handle.value
            with pytest.raises(ValueError, match="must be those of the checkpoint"):
                next(iter(bucket.handleInputRows((1,), iter([rows]), None)))
            assert handle.value == before


def test_without_java_one_line_says_so(fleets, tmp_path):
    (tmp_path / "a.csv").write_text("k,t,y\na,1,2\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "stillpoint",
        "fleet",
        str(tmp_path / "a.csv"),
        "--key",
        "k",
        "--target",
        "y",
        "--time",
        "t",
    ]
    command += ["--out", str(tmp_path / "out"), "--engine", "spark", "--learner", "kernel"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "JAVA_HOME": "/nowhere"},
    )
    assert done.returncode == 2
    assert "Spark must have Java 17 or newer" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_guide_runs(fleets, spark, tmp_path, capsys):
    import pandas as pd

    rng, n = np.random.default_rng(4), 300
    (tmp_path / "rows").mkdir()
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), unit="s")
    rows = {
        "sensor": [f"s{k}" for k in rng.integers(0, 3, n)],
        "when": when,
        "value": rng.normal(size=n),
    }
    pd.DataFrame(rows).to_parquet(tmp_path / "rows" / "0.parquet", coerce_timestamps="us")
    text = (Path(__file__).parents[2] / "docs" / "guide" / "fleet.md").read_text(encoding="utf-8")
    (section,) = (
        part for part in re.split(r"^## ", text, flags=re.MULTILINE) if part.startswith("On Spark")
    )
    blocks = re.findall(r"```py\n(.*?)```", section, flags=re.DOTALL)
    assert len(blocks) == 2
    namespace = {}
    for block in blocks:
        exec(
            re.sub(
                r'"(rows|state|predictions)"',
                lambda match: repr(str(tmp_path / match.group(1))),
                block,
            ),
            namespace,
        )
    own = pd.read_parquet(tmp_path / "predictions").sort_values("when")
    played = RowPlayer("QuantileTracker", level=0.95).play(rows["sensor"], rows["value"])
    np.testing.assert_array_equal(own["prediction"].to_numpy(), played.plays[0])
    assert "covered" in capsys.readouterr().out

"""Forecasts on Spark, in local mode: the numbers of the local engine, from tables and streams, and
of runs that go on or were cut off.
"""

import json
from datetime import date, timedelta

import numpy as np
import pytest

from stillpoint.commands import fleet

pytestmark = [
    pytest.mark.extra,
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
START, KEYS, DAYS, CUT, HORIZON = date(2024, 1, 1), 6, 50, 35, 3
NAMES = {"key": "k", "target": "y", "time": "day"}
SAME = ("rows", "targets", "keys", "scored", "coverage", "season", "gap", "rejected")


def table(seed=0):
    """Days, keys and values in any order: weeks, gaps, keys that begin late."""
    rng, rows = np.random.default_rng(seed), []
    for k in range(KEYS):
        for t in range(2 * k, DAYS):
            if rng.random() > 0.1 or t in (CUT - 1, DAYS - 1):
                y = 10 + k + 3 * np.sin(2 * np.pi * t / 7) + rng.normal()
                rows.append((f"s{k}", START + timedelta(days=t), round(float(y), 3)))
    return [rows[i] for i in rng.permutation(len(rows))]


def write(path, rows):
    path.parent.mkdir(exist_ok=True)
    lines = ["k,day,y", *(f"{k},{day},{y}" for k, day, y in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """Forecasts of the local engine, by key and step, and its summary."""
    place = tmp_path_factory.mktemp("local")
    source = write(place / "a.csv", [*table(), ("s1", "", 3.0), ("s2", "2024-01-09", "x")])
    told = {"time": "day", "horizon": HORIZON, "quiet": True}
    assert fleet(str(source), "k", "y", place / "out", **told) == 0
    found = {}
    for part in sorted((place / "out" / "forecasts").glob("*.csv")):
        for line in part.read_text(encoding="utf-8").splitlines()[1:]:
            key, day, step, *numbers = line.split(",")
            found[key, int(step)] = (date.fromisoformat(day), *map(float, numbers))
    return source, found, json.loads((place / "out" / "summary.json").read_text(encoding="utf-8"))


def compare(frame, found, key="k", time="day"):
    """The rows of a frame are those found, and no more."""
    assert len(frame) == len(found) == KEYS * HORIZON
    for row in frame.to_dict("records"):
        day, *numbers = found[row[key], row["step"]]
        assert row[time] == day
        assert [row["forecast"], row["lo"], row["hi"]] == numbers


def compare_summaries(ours, theirs):
    for name in SAME:
        assert ours[name] == theirs[name], name
    for own, other in zip(ours["errors"].values(), theirs["errors"].values(), strict=True):
        assert own == pytest.approx(other)  # sums of other parts


@pytest.mark.slow  # a minute and a half; the tests after it have the command and runs that go on
def test_tables_and_streams_are_forecast_as_by_the_local_engine(fleets, spark, local, tmp_path):
    _, found, _ = local
    frame = spark.createDataFrame(table(), "k string, day date, y double")
    plan = fleets.plan(frame, **NAMES, horizon=HORIZON)
    assert (plan.gap, plan.season, plan.horizon) == (86_400.0, (7.0,), HORIZON)
    compare(fleets.forecasts(frame, plan, buckets=3, **NAMES).toPandas(), found)

    rows, cut = table(), START + timedelta(days=CUT)
    late = [row for row in rows if row[1] >= cut and row[0] != "s4"]
    for i, some in enumerate(([row for row in rows if row[1] < cut], late)):
        part = spark.createDataFrame(some, "k string, day date, y double").coalesce(1)
        part.write.mode("append" if i else "overwrite").parquet(str(tmp_path / "in"))
        source = spark.readStream.schema("k string, day date, y double")
        states = {"buckets": 3, "states": str(tmp_path / "states")}
        played = fleets.forecasts(source.parquet(str(tmp_path / "in")), plan, **states, **NAMES)
        query = played.writeStream.format("parquet").trigger(availableNow=True)
        query = query.option("checkpointLocation", str(tmp_path / "state"))
        query.start(str(tmp_path / "out")).awaitTermination()
    kept = sorted(path.name for path in (tmp_path / "states").iterdir())
    assert kept == [f"{bucket}-{number}" for bucket in range(3) for number in (1, 2)]
    out = spark.read.parquet(str(tmp_path / "out")).toPandas()
    assert len(out) == (2 * KEYS - 1) * HORIZON  # s4 had no row in the second micro-batch
    last = out.sort_values("day").groupby(["k", "step"]).tail(1)
    for row in last[last["k"] != "s4"].to_dict("records"):
        assert (row["day"], row["forecast"], row["lo"], row["hi"]) == found[row["k"], row["step"]]
    with pytest.raises(ValueError, match="frame must be all there"):
        fleets.plan(source.parquet(str(tmp_path / "in")), **NAMES)


def test_the_command_forecasts_as_the_local_engine(command, local, tmp_path):
    import pandas as pd

    source, found, theirs = local
    summary = command(source, "y", tmp_path / "out", key="k", time="day", horizon=HORIZON)
    compare_summaries(summary, theirs)
    compare(pd.read_parquet(tmp_path / "out" / "forecasts"), found, "key", "time")


def test_runs_go_on_and_what_was_cut_off_is_done_again(command, local, tmp_path, monkeypatch):
    import pandas as pd

    from stillpoint.commands.forecasts import spark as ahead

    _, found, theirs = local
    rows, folder, cut = table(), tmp_path / "in", START + timedelta(days=CUT)
    told = {"key": "k", "time": "day", "horizon": HORIZON, "checkpoint": tmp_path / "state"}
    write(folder / "0.csv", [row for row in rows if row[1] < cut])
    first = command(folder, "y", tmp_path / "out", **told)
    extra = [("s1", "", 3.0), ("s2", "2024-01-09", "x")]
    write(folder / "1.csv", [*(row for row in rows if row[1] >= cut), *extra])
    with monkeypatch.context() as patch:  # forecasts are there, and what says so is not

        def cut_off(*arguments):
            raise OSError("the disk is full")

        patch.setattr(ahead, "replace", cut_off)
        with pytest.raises(OSError, match="the disk is full"):
            command(folder, "y", tmp_path / "out", **told)
    for _ in range(2):  # the second has nothing to do
        summary = command(folder, "y", tmp_path / "out", **told)
        assert first["rows"] < summary["rows"]
        compare_summaries(summary, theirs)
        compare(pd.read_parquet(tmp_path / "out" / "forecasts"), found, "key", "time")
    with pytest.raises(ValueError, match="--horizon must be that of the checkpoint"):
        command(folder, "y", tmp_path / "out", **{**told, "horizon": 5})


@pytest.mark.slow
def test_a_stream_refuses_the_state_of_another_plan(fleets, spark, tmp_path):
    from pyspark.errors import StreamingQueryException

    frame = spark.createDataFrame(table()[:60], "k string, day date, y double")
    frame.coalesce(1).write.parquet(str(tmp_path / "in"))
    plan = fleets.plan(frame, **NAMES, season=None, horizon=HORIZON)
    source = spark.readStream.schema("k string, day date, y double").parquet(str(tmp_path / "in"))

    def run(own):
        played = fleets.forecasts(source, own, buckets=2, **NAMES)
        query = played.writeStream.format("parquet").trigger(availableNow=True)
        query = query.option("checkpointLocation", str(tmp_path / "state"))
        query.start(str(tmp_path / "out")).awaitTermination()

    run(plan)
    frame.coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))
    with pytest.raises(StreamingQueryException, match="must be those of the checkpoint"):
        run(plan._replace(horizon=4))


@pytest.mark.parametrize("time", [np.nan, np.inf])
def test_rows_without_an_end_to_their_time_are_refused_and_counted(time):
    import pandas as pd

    from stillpoint.fleet.spark.series import REASON, sound

    moments = np.arange(6.0)
    moments[2] = time
    columns = {"stream": ["a"] * 6, "moment": moments, "target": np.ones(6)}
    frame = pd.DataFrame(columns).assign(**{REASON: None})
    rows, reasons = sound("numbers", frame)
    assert reasons == {"time must be given": 1}
    assert rows.times.tolist() == [0.0, 1.0, 3.0, 4.0, 5.0]

"""`stillpoint fleet` with learners of the next row: tables of many streams in, predictions and a
summary out; killed and begun again, the same bytes.
"""

import io
import json
import os
import re
import signal
import sys
from contextlib import closing, contextmanager
from functools import partial

import numpy as np
import pytest

from children import ended, forked, no_child_survives, piped  # noqa: F401
from extras import package
from stillpoint.commands import fleet as any_fleet
from stillpoint.commands import fleet_job, sink, spark_files
from stillpoint.commands import session as sessions
from stillpoint.commands.checkpoint import Checkpoint
from stillpoint.commands.errors import Stop
from stillpoint.commands.fleet_options import FleetOptions
from stillpoint.commands.fleets import Fleet
from stillpoint.commands.formats import open_reader
from stillpoint.commands.session import Session
from stillpoint.fleet import RowPlayer

fleet = partial(any_fleet, learner="kernel")
LEARNERS = {
    "tracker": ("Tracker", {"loss": "squared"}, {"loss": "squared"}),
    "multiscale": ("MultiScale", {}, {}),
    "quantile": ("QuantileTracker", {"level": 0.8}, {"level": 0.8}),
    "interval": ("IntervalTracker", {"coverage": 0.7}, {"coverage": 0.7, "forecast": "guess"}),
    "kernel": ("KernelForecaster", {}, {}),
}


def rows(n=1000, keys=20, seed=0):
    rng = np.random.default_rng(seed)
    which = rng.integers(0, keys, n)
    y = np.round(which + np.sin(np.arange(n) / 50) + rng.normal(size=n), 3)
    return [f"s{k}" for k in which], np.arange(n) + 0.5, y, np.round(which + 0.1, 1)


def write(path, table, start=0, stop=None, empty=()):
    lines = ["sensor,when,value,guess"]
    for i, (key, when, value, guess) in enumerate(zip(*table, strict=True)):
        if i >= start and (stop is None or i < stop):
            lines.append(f"{key},{when},{'' if i in empty else value},{guess}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def read(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return lines[0].split(","), [line.split(",") for line in lines[1:]]


@pytest.mark.parametrize("learner", ["tracker", "kernel"])  # the latter keep times themselves
def test_an_hour_that_comes_twice_in_autumn_asks_for_offsets(learner, tmp_path, capsys):
    remedy = "the first at 2025-10-26 02:00:00; if clocks were set back then, write times with"
    for day, zone, told in ("10-26", "", 1), ("05-26", "", 0), ("10-26", "+02:00", 0):
        hours = [f"2025-{day}T0{hour}:00{zone}" for hour in (0, 1, 2, 2, 3)]
        source, out = tmp_path / "a.csv", tmp_path / f"{day}{len(zone)}"
        source.write_text("k,when,y\n" + "".join(f"{k},{hour},1\n" for hour in hours for k in "ab"))
        assert any_fleet(str(source), "k", "y", out, learner=learner, time="when", quiet=True) == 0
        summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
        assert summary["rejected"]["reasons"] == {"time must increase": 2}
        assert capsys.readouterr().err.count(remedy) == told


@pytest.mark.parametrize("learner", LEARNERS)
def test_predictions_are_those_of_the_rows(learner, tmp_path, capsys):
    kind, config, options = LEARNERS[learner]
    keys, times, y, guesses = table = rows()
    source = write(tmp_path / "a.csv", table, empty=(7, 500))
    assert (
        fleet(
            str(source),
            "sensor",
            "value",
            tmp_path / "out",
            learner=learner,
            time="when",
            **options,
        )
        == 0
    )
    y = y.copy()
    y[[7, 500]] = np.nan
    told = {"forecasts": guesses} if learner == "interval" else {}
    played = RowPlayer(kind, **config).play(keys, y, times=times, **told)
    names, cells = read(tmp_path / "out" / "predictions.csv")
    plays = ["lo", "hi"] if learner == "interval" else ["prediction"]
    assert names == ["sensor", "when", "value", *(["guess"] if told else []), *plays, "rejected"]
    for place, own in enumerate(played.plays, len(names) - 1 - len(plays)):
        assert [float(row[place]) for row in cells] == own.tolist()
    assert [row[0] for row in cells] == keys
    assert cells[7][2] == ""
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert (summary["rows"], summary["targets"], summary["keys"], summary["complete"]) == (
        1000,
        998,
        20,
        True,
    )
    assert summary["loss"] == pytest.approx(np.nanmean(played.losses), rel=1e-12)
    assert summary["rejected"] == {"rows": 0, "reasons": {}, "keys": []}
    assert len(summary["worst"]) == 10
    assert ("coverage" in summary) == (learner in ("quantile", "interval"))
    printed = capsys.readouterr().out
    assert "worst keys" in printed
    assert "1,000 rows of 20 keys" in printed


def test_a_folder_is_its_files_in_the_order_of_their_names(tmp_path, capsys):
    table = rows()
    write(tmp_path / "one.csv", table)
    folder = tmp_path / "many"
    folder.mkdir()
    for i, (start, stop) in enumerate([(0, 300), (300, 301), (301, 1000)]):
        write(folder / f"{i}.csv", table, start, stop)
    (folder / "1b.csv").write_text("", encoding="utf-8")
    (folder / "notes.md").write_text("not a table", encoding="utf-8")
    for source, out in ((tmp_path / "one.csv", "a"), (folder, "b")):
        assert (
            fleet(str(source), "sensor", "value", tmp_path / out, learner="tracker", quiet=True)
            == 0
        )
    assert (tmp_path / "a" / "predictions.csv").read_bytes() == (
        tmp_path / "b" / "predictions.csv"
    ).read_bytes()
    with open(tmp_path / "c.jsonl", "w", encoding="utf-8") as file:
        for key, when, value, guess in zip(*table, strict=True):
            print(
                json.dumps({"sensor": key, "when": when, "value": value, "guess": guess}), file=file
            )
    assert (
        fleet(
            str(tmp_path / "c.jsonl"),
            "sensor",
            "value",
            tmp_path / "c",
            learner="tracker",
            threads=2,
            print_json=True,
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["rows"] == 1000
    assert (tmp_path / "a" / "predictions.csv").read_bytes() == (
        tmp_path / "c" / "predictions.csv"
    ).read_bytes()


@pytest.mark.extra
def test_parquet_is_read_alike(tmp_path):
    arrow = package("pyarrow")
    package("pyarrow.parquet")
    keys, times, y, _ = rows()
    numbers = [int(key[1:]) for key in keys]
    arrow.parquet.write_table(
        arrow.table({"sensor": numbers, "when": times, "value": y}), tmp_path / "a.parquet"
    )
    assert (
        fleet(
            str(tmp_path / "a.parquet"),
            "sensor",
            "value",
            tmp_path / "out",
            time="when",
            quiet=True,
        )
        == 0
    )
    played = RowPlayer("KernelForecaster").play(np.array(numbers), y, times=times)
    assert [float(row[3]) for row in read(tmp_path / "out" / "predictions.csv")[1]] == played.plays[
        0
    ].tolist()


# a column of numbers, and one that has to be looked at cell by cell
@pytest.mark.parametrize("last", ["2", ""])
def test_underscores_make_no_number(tmp_path, last):
    (tmp_path / "a.csv").write_text(f"k,y\na,1\na,12_0\na,{last}\n", encoding="utf-8")
    assert fleet(str(tmp_path / "a.csv"), "k", "y", tmp_path / "out", quiet=True) == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert summary["rejected"]["reasons"] == {"column 'y' must hold a number": 1}


def test_bad_rows_are_told_with_their_keys(tmp_path, capsys):
    text = 'k,t,y\na,1,2\nb,1,x\na,1,5\n,2,3\nb,3,\n"c,""d",oops,4\nb,4,inf\na,5,7\n'
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    assert fleet(str(tmp_path / "a.csv"), "k", "y", tmp_path / "out", time="t") == 0
    lines = (tmp_path / "out" / "predictions.csv").read_text(encoding="utf-8").splitlines()
    assert [line.partition(":")[0].rpartition(",")[2].strip('"') for line in lines[1:]] == [
        "",
        "column 'y' must hold a number",
        "time must increase",
        "key must be a whole number or text",
        "",
        "column 't' must hold a number",
        "target must be finite",
        "",
    ]
    assert lines[6].startswith('"c,""d",oops,4.0,,')
    rejected = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))[
        "rejected"
    ]
    assert rejected["rows"] == 5
    assert rejected["keys"] == [
        {"key": "b", "rows": 2},
        {"key": "a", "rows": 1},
        {"key": 'c,"d', "rows": 1},
    ]
    assert "key b: 2 rows" in capsys.readouterr().out


def test_dates_count_in_seconds(tmp_path):
    lines = ["k,t,y"] + [
        f"a,2024-01-{d:02d}T{h:02d}:30:00,{np.sin(d + h)}" for d in range(1, 9) for h in (0, 5, 23)
    ]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    assert fleet(str(tmp_path / "a.csv"), "k", "y", tmp_path / "out", time="t", quiet=True) == 0
    seconds = [
        1704067200.0 + (d - 1) * 86400 + h * 3600 + 1800 for d in range(1, 9) for h in (0, 5, 23)
    ]
    y = [np.sin(d + h) for d in range(1, 9) for h in (0, 5, 23)]
    played = RowPlayer("KernelForecaster").play(["a"] * 24, y, times=seconds)
    assert [float(row[3]) for row in read(tmp_path / "out" / "predictions.csv")[1]] == played.plays[
        0
    ].tolist()


@pytest.mark.parametrize("kind", ["number", "date"])
def test_a_time_that_is_missing_costs_its_row_only(tmp_path, monkeypatch, kind):
    """Whether times are numbers or dates is told by the first that is there, in whatever batch."""
    monkeypatch.setattr("stillpoint.commands.fleet_job.BATCH", 2)
    times = (
        ["", "NA", "", "2024-01-02", "2024-01-03", ""]
        if kind == "date"
        else ["", "NA", "", "2", "3", ""]
    )
    text = "\n".join(["k,t,y", *(f"a,{time},{i}" for i, time in enumerate(times))])
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    assert fleet(str(tmp_path / "a.csv"), "k", "y", tmp_path / "out", time="t", quiet=True) == 0
    said = [row[-1].partition(":")[0] for row in read(tmp_path / "out" / "predictions.csv")[1]]
    assert said == ["time must be given"] * 3 + [""] * 2 + ["time must be given"]


PLACES = {
    "sink": (sink.Sink, "write"),
    "checkpoint": (Checkpoint, "save"),
    "fleet": (RowPlayer, "play"),
}


def die_in(owner, name, left, after, number):
    """Send this process a signal at one of the calls to come of a method, before or after it."""
    plain = getattr(owner, name)

    def dying(self, *args, **named):
        nonlocal left
        left -= 1
        result = plain(self, *args, **named) if left or after else None
        if not left:
            if name == "write" and not after:
                os.write(self._fd, b"half a ro")
            os.kill(os.getpid(), number)
        return result

    setattr(owner, name, dying)


def process(left, where, number, source, folder):
    """The exit code of the command in a child that is killed there, and what it says."""

    def work():
        fleet_job.BATCH, sessions.EVERY = 100, 0.0
        if where is not None:
            place, when = where.split("-")
            die_in(*PLACES[place], left, when == "after", number)
        sys.stderr = said.open("w", encoding="utf-8")
        out, state = folder / "out", folder / "state"
        return fleet(str(source), "sensor", "value", out, time="when", checkpoint=state, quiet=True)

    said = folder / "said"
    code = ended(forked(work))
    return code, said.read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", [False, True])
def test_killed_anywhere_and_run_again_it_writes_the_same_bytes(tmp_path, folder):
    table = rows()
    if folder:
        source = tmp_path / "in"
        source.mkdir()
        for i in range(4):
            write(source / f"{i}.csv", table, 250 * i, 250 * (i + 1), empty=(3, 700))
    else:
        source = write(tmp_path / "a.csv", table, empty=(3, 700))
    assert fleet(str(source), "sensor", "value", tmp_path / "whole", time="when", quiet=True) == 0
    for n, where in (
        (3, "sink-before"),
        (2, "sink-after"),
        (2, "checkpoint-before"),
        (1, "checkpoint-after"),
        (2, "fleet-after"),
    ):
        code, said = process(n, where, signal.SIGKILL, source, tmp_path)
        assert code == -signal.SIGKILL, said
    if not folder:
        code, said = process(1, "fleet-after", signal.SIGINT, source, tmp_path)
        assert code == 130, said
        assert "run the same command to go on" in said
    for _ in range(2):  # once more, when all is done, changes nothing
        code, said = process(0, None, signal.SIGKILL, source, tmp_path)
        assert code == 0, said
        ours, theirs = (
            (tmp_path / out / "predictions.csv").read_bytes() for out in ("out", "whole")
        )
        assert ours == theirs
    one, two = (
        json.loads((tmp_path / out / "summary.json").read_text(encoding="utf-8"))
        for out in ("out", "whole")
    )
    for name in ("rows", "targets", "keys", "loss", "worst", "rejected"):
        assert one[name] == two[name]
    more = [
        (key, 1000.0 + i, y, 0.0)
        for i, (key, _, y, _) in enumerate(zip(*rows(50, seed=1), strict=True))
    ]
    if folder:  # a file that joins behind is played on
        write(source / "5.csv", list(zip(*more, strict=True)))
    else:  # and so are rows that join the file
        with source.open("a", encoding="utf-8") as file:
            file.writelines(f"{key},{when},{y},{guess}\n" for key, when, y, guess in more)
    assert process(0, None, signal.SIGKILL, source, tmp_path)[0] == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert (summary["rows"], summary["rejected"]["rows"]) == (1050, 0)
    assert fleet(str(source), "sensor", "value", tmp_path / "whole", time="when", quiet=True) == 0
    ours, theirs = ((tmp_path / out / "predictions.csv").read_bytes() for out in ("out", "whole"))
    assert ours == theirs


@contextmanager
def session(options, stop):
    job = Fleet(options)
    with closing(job.source(stop)) as source, closing(Session(job, source, stop)) as run:
        yield run


def test_a_stop_before_the_first_row_leaves_whole_files(tmp_path):
    source, out, state = (
        str(write(tmp_path / "a.csv", rows(50))),
        tmp_path / "out",
        tmp_path / "state",
    )
    stop = Stop()
    stop.signal = signal.SIGINT
    told = {"key": "sensor", "time": "when", "learner": "kernel", "checkpoint": state}
    options = FleetOptions(source, "value", out, **told)
    with session(options, stop) as run:
        run.play()
        with pytest.raises(KeyboardInterrupt):  # no word of an input without rows
            run.finish()
    assert fleet(source, "sensor", "value", out, time="when", checkpoint=state, quiet=True) == 0
    before = (out / "predictions.csv").read_bytes()
    (out / "predictions.csv").write_bytes(before + b"s1,50.5,half a ro")  # which a kill can leave
    with session(options, stop) as run:
        run.play()
        assert not run.finish()["complete"]
    assert (out / "predictions.csv").read_bytes() == before


def test_a_file_whose_columns_are_refused_is_closed(tmp_path, monkeypatch):
    closed = []

    def spied(source, *rest, **options):
        reader = open_reader(source, *rest, **options)
        close = reader.close
        reader.close = lambda: (closed.append(source), close())
        return reader

    monkeypatch.setattr("stillpoint.commands.sources.open_reader", spied)
    source = str(write(tmp_path / "a.csv", rows(5)))
    assert fleet(source, "sensr", "value", tmp_path / "out", quiet=True) == 2
    assert closed == [source]


def test_what_cannot_be_used_is_one_line_and_exit_code_2(tmp_path, capsys):
    source, out = str(write(tmp_path / "a.csv", rows(10))), tmp_path / "out"
    state = tmp_path / "state"
    (tmp_path / "ragged.csv").write_text("sensor,value\na,1\nb\n", encoding="utf-8")
    (tmp_path / "none.csv").write_text("sensor,value\n", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    assert fleet(source, "sensor", "value", out, checkpoint=state, quiet=True) == 0
    cases = [
        ({"learner": "trackr"}, "--learner must be one of .* did you mean tracker"),
        (
            {"learner": "quantile", "level": 1.5},
            "--level must be a number between 0.000001 and 0.999999: got 1.5",
        ),
        ({"level": 0.5}, "--level must fit the learner"),
        ({"coverage": 0.5}, "--coverage must fit the learner"),
        ({"loss": "squared"}, "--loss must fit the learner"),
        ({"learner": "tracker", "loss": "pinball"}, "--level must be given"),
        ({"learner": "tracker", "loss": "abs"}, "--loss must be one of"),
        ({"learner": "interval"}, "--forecast must be given"),
        ({"engine": "flink"}, "--engine must be one of local, spark"),
        ({"engine": "spark"}, "--time must be given on Spark"),
        ({"learner": "quantile", "level": "0.9"}, "--level must be a number between .* got '0.9'"),
        ({"threads": 0}, "--threads must be at least 1"),
        ({"threads": 1.5}, "--threads must be a whole number: got 1.5"),
        ({"key": "sensr"}, "--key must be a column .* did you mean sensor"),
        ({"time": "value"}, "must differ"),
        ({"source": str(tmp_path / "no.csv")}, "input must exist"),
        ({"source": str(tmp_path / "empty")}, "folder must hold"),
        ({"source": str(tmp_path / "none.csv")}, "input must have rows"),
        ({"source": str(tmp_path / "ragged.csv")}, "row 2: a row must have 2 cells: got 1"),
        ({"out": tmp_path / "a.csv"}, "--out must be a folder"),
        ({"checkpoint": state, "learner": "tracker"}, "--learner must be that of the checkpoint"),
        (
            {"checkpoint": tmp_path / "spark", "time": "when"},
            "--engine must be that of the checkpoint: got local, begun with spark",
        ),
    ]
    held = Checkpoint(tmp_path / "spark")
    held.save(
        {
            "command": (
                FleetOptions(
                    source,
                    "value",
                    out,
                    key="sensor",
                    time="when",
                    engine="spark",
                    learner="kernel",
                ).command()
            )
        },
        {},
    )
    held.close()
    for given, message in cases:
        told = {
            "source": source,
            "key": "sensor",
            "target": "value",
            "out": tmp_path / "other",
            **given,
        }
        if "checkpoint" in given:
            told["out"] = out
        assert fleet(**told) == 2, given
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert re.search(message, error), error
    (out / "predictions.csv").write_bytes(b"")
    assert fleet(source, "sensor", "value", out, checkpoint=state) == 2
    assert "as the checkpoint left it" in capsys.readouterr().err


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("source", "told", "message"),
    [
        (
            "in/predictions.csv",
            {"out": "in"},
            "--out must not overwrite the input: got .*predictions.csv; give another --out",
        ),
        (
            "in/linked.csv",
            {"out": "in"},
            "--out must not overwrite the input: got .*linked.csv, and .*predictions.csv;",
        ),
        (
            "in/hard.csv",
            {"out": "in"},
            "--out must not overwrite the input: got .*hard.csv, and .*predictions.csv;",
        ),
        (
            "in",
            {"out": "in"},
            "--out must not be the folder of the input: got .*in; give another --out",
        ),
        ("in", {"out": "link"}, "--out must not be the folder of the input"),
        (
            "in",
            {"out": "out", "checkpoint": "in"},
            "--checkpoint must not be the folder of the input",
        ),
        (
            "link",
            {"out": "to"},
            "--out must not overwrite the input: got .*link/.*, and .*to/predictions.csv;",
        ),
        ("in/summary.json", {"out": "in", "engine": "spark"}, "--out must not overwrite the input"),
        (
            "to/predictions",
            {"out": "to", "engine": "spark"},
            "--out must not delete the input: got .*to/predictions;",
        ),
        (
            "to/spark",
            {"out": "o", "checkpoint": "to", "engine": "spark"},
            "--checkpoint must not delete the input",
        ),
    ],
)
def test_inputs_that_would_be_written_over_are_refused(tmp_path, capsys, source, told, message):
    for folder in ("in", "to", "to/predictions", "to/spark"):
        (tmp_path / folder).mkdir()
    for name in ("in/predictions.csv", "in/summary.json", "to/predictions/a.csv", "to/spark/a.csv"):
        write(tmp_path / name, rows(20))
    (tmp_path / "link").symlink_to(tmp_path / "in")
    (tmp_path / "to" / "predictions.csv").symlink_to(tmp_path / "in" / "predictions.csv")
    (tmp_path / "in" / "linked.csv").symlink_to("predictions.csv")
    (tmp_path / "in" / "hard.csv").hardlink_to(tmp_path / "in" / "predictions.csv")
    before = contents(tmp_path)
    given = {name: value if name == "engine" else tmp_path / value for name, value in told.items()}
    assert fleet(str(tmp_path / source), "sensor", "value", time="when", **given) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert re.search(message, error), error
    assert contents(tmp_path) == before


def test_a_folder_within_that_of_the_input_may_be_written_to(tmp_path):
    source = write(tmp_path / "a.csv", rows(20))
    text = source.read_bytes()
    for _ in range(2):  # what the first run wrote is no input of the second
        assert fleet(str(tmp_path), "sensor", "value", tmp_path / "out", quiet=True) == 0
        assert (
            json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))["rows"]
            == 20
        )
    assert source.read_bytes() == text


def test_half_the_squared_error_is_called_so(tmp_path, capsys):
    source, out = str(write(tmp_path / "a.csv", rows(100))), tmp_path / "out"
    assert fleet(source, "sensor", "value", out, learner="tracker", loss="squared") == 0
    assert "half the squared error" in " ".join(
        re.sub("[│┃]", " ", capsys.readouterr().out).split()
    )
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert summary["loss_name"] == "loss (half the squared error)"
    y, plays = (
        np.array([float(row[i]) for row in read(out / "predictions.csv")[1]]) for i in (1, 2)
    )
    assert summary["loss"] == pytest.approx(np.mean((y - plays) ** 2) / 2)
    assert fleet(source, "sensor", "value", out, quiet=True) == 0
    assert (
        json.loads((out / "summary.json").read_text(encoding="utf-8"))["loss_name"]
        == "squared error"
    )


def test_standard_input(tmp_path, monkeypatch, capsys):
    words = "fleet - --learner kernel --key sensor --target value --out"
    content = write(tmp_path / "a.csv", rows(50)).read_bytes()
    assert piped(content, [*words.split(), str(tmp_path / "out")], monkeypatch) == 0
    assert "50 rows of" in capsys.readouterr().out
    assert (
        io.BytesIO((tmp_path / "out" / "predictions.csv").read_bytes()).readline()
        == b"sensor,value,prediction,rejected\n"
    )


def test_on_spark_the_format_is_the_one_given(tmp_path):
    source = tmp_path / "rows.log"
    source.write_text('{"k": "a", "t": 1, "y": 2.0}\n', encoding="utf-8")
    told = {"key": "k", "time": "t", "engine": "spark", "learner": "kernel", "format": "jsonl"}
    options = FleetOptions(str(source), "y", tmp_path / "out", **told)
    assert spark_files.one_format(options) == "jsonl"
    assert spark_files.look(options, [str(source)]) == (["k", "t", "y"], ",", "number")

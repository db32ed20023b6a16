"""`stillpoint track --alerts`: what is told is what the detectors say of the run's own forecasts,
once, in its row, however the run is cut.
"""

import errno
import json
import os
import random
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from test_track_series import hours

from children import ended, forked, lines_of, no_child_survives, wait_for  # noqa: F401
from faults import killed
from stillpoint.alerts import Anomalies, Change, Changes
from stillpoint.commands import alarms, live, session, sink, track, tracking
from stillpoint.commands.alarms import Strip
from stillpoint.commands.options import TrackOptions
from stillpoint.core import container
from tracked import bad, floats, read, run, write

N, RATE = 500, 0.01


@pytest.fixture(scope="module")
def columns():
    """A level that jumps, beside a feature; four rows that do not fit; gaps, one at the start."""
    rng = np.random.default_rng(4)
    a = rng.standard_normal(N)
    y = 2.0 * a + 0.5 * rng.standard_normal(N)
    y[[250, 380, 470]] += [9.0, -9.0, 12.0]
    y[300:] += 4.0
    cells = [f"{v:.4f}" for v in y]
    for gone in (0, 1, 40, 41, 42, 260):
        cells[gone] = ""
    return {"t": hours(N), "a": [f"{v:.4f}" for v in a], "y": cells}


@pytest.fixture
def source(columns, tmp_path):
    return write(tmp_path / "s.csv", columns)


def alerts_of(out):
    return [json.loads(line) for line in (Path(out) / "alerts.jsonl").read_text().splitlines()]


def finite(value):
    return None if isinstance(value, float) and not np.isfinite(value) else value


def told_by_detectors(rows, rate, delay=0, times=True, period=None):
    """The same row by row, from what predictions.csv has."""
    y, forecasts = floats(rows["y"]), floats(rows["forecast"])
    anomalies, changes = Anomalies(rate, period=period), Changes(10 / rate, period=period)
    found, learnt = [], []
    for i in range(y.size):
        learnt.append(np.isfinite(y[i]))
        said = forecasts[i] if any(learnt[: max(i - delay, 0)]) else np.nan
        if np.isnan(y[i]):
            anomalies.skip()
            changes.skip()
            continue
        at = {"row": i + 1, "time": rows["time"][i] if times else None}
        if (one := anomalies.update(y[i], forecast=said)) is not None:
            numbers = {name: finite(value) for name, value in one._asdict().items()}
            found.append({"alert": "anomaly", **numbers, **at})
        if (one := changes.update(y[i])) is not None:
            begun = {"start": one.start + 1}
            begun["start_time"] = rows["time"][one.start] if times else None
            found.append({"alert": "change", **one._asdict(), **at, **begun})
    return found, anomalies, changes


CASES = {
    "regression": {"features": "a"},
    "late targets": {"features": "a", "delay": 3, "time": "t"},
    "quantile": {"features": "a", "task": "quantile", "level": 0.8, "time": "t"},
}


@pytest.mark.parametrize("case", CASES)
def test_alarms_are_those_of_the_detectors_on_the_runs_own_forecasts(
    source, tmp_path, monkeypatch, case
):
    monkeypatch.setattr(tracking, "BATCH", 64)
    options = {"learner": "regression", **CASES[case]}
    rows, summary = run(source, tmp_path / "o", alerts=RATE, **options)
    expected, anomalies, changes = told_by_detectors(
        rows, RATE, options.get("delay", 0), "time" in options
    )
    told = alerts_of(tmp_path / "o")
    assert told == expected
    assert {each["alert"] for each in told} == {"anomaly", "change"}
    count = sum(each["alert"] == "anomaly" for each in told)
    assert summary["alerts"] == {
        "rate": RATE,
        "anomalies": count,
        "bound": anomalies.alarm_bound(),
        "exceedances": anomalies.exceedances,
        "p": anomalies.p,
        "every": 1000.0,
        "changes": len(told) - count,
        "evidence": changes.evidence,
    }
    assert 0 < count <= summary["alerts"]["bound"]
    assert summary["files"][:2] == ["predictions.csv", "alerts.jsonl"]
    without = run(source, tmp_path / "o", **options)
    assert without[0] == rows
    assert "alerts" not in without[1]
    assert not (tmp_path / "o" / "alerts.jsonl").exists()  # of the run before


def test_alarms_of_a_series_are_those_of_the_detectors(columns, tmp_path, monkeypatch):
    monkeypatch.setattr(tracking, "BATCH", 100)
    source = write(tmp_path / "s.csv", {"t": columns["t"], "y": columns["y"]})
    options = {"time": "t", "horizon": 3, "season": "none", "alerts": RATE}
    rows, _ = run(source, tmp_path / "o", **options)
    expected, *_ = told_by_detectors(rows, RATE, period=1)
    assert alerts_of(tmp_path / "o") == expected
    assert len(expected) > 2
    first = expected[0]
    assert first["time"] == columns["t"][first["row"] - 1]
    kept = ("row", "time", "value", "expected", "lo", "hi", "p", "p_forecast", "p_level", "sign")
    assert set(first) == {"alert", *kept}


def test_days_that_no_row_fills_do_not_move_the_season_of_the_detectors(tmp_path, monkeypatch):
    rng, days = np.random.default_rng(3), np.arange(420)
    y = 50.0 + 20.0 * np.cos(2.0 * np.pi * days / 7.0) + rng.normal(0.0, 3.0, days.size)
    y[340:] += 15.0
    dates = np.datetime64("2024-01-01") + days
    kept = ~np.isin(days, [100, 101, 102, 170, 250, 251, 345])

    def told(out, rows):
        columns = {"t": dates[rows].astype(str).tolist(), "y": [f"{v:.4f}" for v in y[rows]]}
        source = write(tmp_path / f"{out}.csv", columns)
        run(source, tmp_path / out, time="t", horizon=7, alerts=RATE)
        return alerts_of(tmp_path / out)

    whole = told("whole", days >= 0)
    assert [each["start_time"] for each in whole if each["alert"] == "change"] == ["2024-12-06"]
    cuts = []
    for batch in (4096, 13):
        monkeypatch.setattr(tracking, "BATCH", batch)
        with_gaps = told(f"gaps{batch}", kept)
        assert [each["start_time"] for each in with_gaps if each["alert"] == "change"] == [
            "2024-12-06"
        ]
        for each in with_gaps:  # rows are those of the file
            at = np.flatnonzero(kept)[each["row"] - 1]
            assert str(dates[at]) == each["time"]
        cuts.append(with_gaps)
    assert cuts[0] == cuts[1]
    # a place that no row fills is that of the next row
    detector = alarms.Alerts(TrackOptions("x", "y", Path("o"), alerts=0.1))
    for row in (1, 4):
        detector.run(row, np.zeros(3), np.zeros(3), [*"abc"], np.array([1, 1, 3]))
    assert [detector._row(place) for place in range(10)] == [1, 2, 3, 3, 3, 4, 5, 6, 6, 6]
    assert detector.changes.rounds == 10


def test_the_bytes_do_not_depend_on_how_rows_are_cut(source, tmp_path, monkeypatch):
    whole = None
    for size in (4096, 61, 7):
        monkeypatch.setattr(tracking, "BATCH", size)
        run(source, tmp_path / "o", alerts=RATE, features="a")
        text = (tmp_path / "o" / "alerts.jsonl").read_bytes()
        whole = whole or text
        assert text == whole
    assert whole.count(b'"change"') >= 1
    lines = Path(source).read_text().splitlines(keepends=True)
    grows, options = tmp_path / "g.csv", {"checkpoint": tmp_path / "c", "alerts": RATE}
    last = {}
    for end in (2, 45, 252, 253, 302, 303, 320, N + 1):
        grows.write_text("".join(lines[:end]))
        last = run(str(grows), tmp_path / "p", features="a", **options)[1]
        assert whole.startswith((tmp_path / "p" / "alerts.jsonl").read_bytes())
    assert (tmp_path / "p" / "alerts.jsonl").read_bytes() == whole
    again = json.loads((tmp_path / "o" / "summary.json").read_text())
    assert last["alerts"] == again["alerts"]


@pytest.mark.parametrize("name", ["alerts", "followed, alerts"])
def test_killed_at_calls_and_moments_no_alarm_is_lost_or_repeated(name, tmp_path, monkeypatch):
    assert killed(name, tmp_path, random.Random(name), monkeypatch, kills=5) >= 1


def test_a_disk_that_fills_up_between_the_two_files_costs_no_alarm(
    source, tmp_path, monkeypatch, capsys
):
    run(source, tmp_path / "whole", alerts=RATE, features="a")
    monkeypatch.setattr(tracking, "BATCH", 50)
    monkeypatch.setattr(session, "EVERY", 0.0)
    options = {"features": "a", "alerts": RATE, "checkpoint": tmp_path / "c", "quiet": True}
    write_all, name = sink.Sink.write, "alerts.jsonl"

    def full(self, data):
        if self.path.name == name and data:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_all(self, data)

    monkeypatch.setattr(sink.Sink, "write", full)
    assert track(source, "y", tmp_path / "o", **options) == 1
    assert "No space left on device" in capsys.readouterr().err
    # the row of the first alarm is on the disk, and will be cut off
    row = alerts_of(tmp_path / "whole")[0]["row"]
    assert len(read(tmp_path / "o")["row"]) >= row
    assert alerts_of(tmp_path / "o") == []
    monkeypatch.setattr(sink.Sink, "write", write_all)
    assert track(source, "y", tmp_path / "o", **options) == 0
    for each in ("predictions.csv", name):
        assert (tmp_path / "o" / each).read_bytes() == (tmp_path / "whole" / each).read_bytes()


def test_alerts_are_not_switched_between_runs_of_one_checkpoint(source, tmp_path, capsys):
    for name, first, other in (("a", {"alerts": RATE}, {}), ("b", {}, {"alerts": RATE})):
        out, options = tmp_path / name, {"features": "a", "checkpoint": tmp_path / f"c{name}"}
        run(source, out, **options, **first)
        assert track(source, "y", out, **options, **other) == 2
        got, begun = other.get("alerts", "none"), first.get("alerts", "none")
        message = f"--alerts must be that of the checkpoint: got {got}, begun with {begun}; give"
        assert message in capsys.readouterr().err
    assert track(source, "y", tmp_path / "a", **options, alerts=0.02) == 2


def test_a_checkpoint_of_before_there_were_alerts_goes_on(source, tmp_path):
    out, options = tmp_path / "o", {"features": "a", "checkpoint": tmp_path / "c"}
    lines, grows = Path(source).read_text().splitlines(keepends=True), tmp_path / "g.csv"
    grows.write_text("".join(lines[:200]))
    run(str(grows), out, **options)
    path = tmp_path / "c" / "checkpoint.npz"
    header, arrays = container.read("track", 2, path.read_bytes())
    assert header["command"].pop("--alerts") is None
    assert "lengths" not in header
    assert not any(name.startswith("alerts.") for name in arrays)
    path.write_bytes(b"".join(container.write("track", 2, header, arrays)))
    grows.write_text("".join(lines))
    assert run(str(grows), out, **options)[0] == run(source, tmp_path / "w", features="a")[0]


def test_a_checkpoint_of_before_empty_slots_had_places_goes_on(columns, tmp_path):
    source = write(tmp_path / "s.csv", {"t": columns["t"], "y": columns["y"]})
    lines = Path(source).read_text().splitlines(keepends=True)
    lines[295:298] = []  # hours without a row, after those of the checkpoint
    Path(source).write_text("".join(lines))
    options = {"time": "t", "horizon": 3, "season": "none", "alerts": RATE}
    run(source, tmp_path / "w", **options)
    grows, options["checkpoint"] = tmp_path / "g.csv", tmp_path / "c"
    grows.write_text("".join(lines[:290]))
    run(str(grows), tmp_path / "o", **options)
    path = tmp_path / "c" / "checkpoint.npz"
    header, arrays = container.read("track", 2, path.read_bytes())
    assert header["alerts"].pop("after") == [[0, 1]]
    path.write_bytes(b"".join(container.write("track", 2, header, arrays)))
    grows.write_text("".join(lines))
    run(str(grows), tmp_path / "o", **options)
    told = alerts_of(tmp_path / "o")
    assert told == alerts_of(tmp_path / "w")
    assert told[0]["row"] < 290
    assert told[-1]["row"] > 298


def test_a_checkpoint_whose_alerts_are_not_whole_is_refused(source, tmp_path, capsys):
    lines, grows = Path(source).read_text().splitlines(keepends=True), tmp_path / "g.csv"
    options = {"features": "a", "checkpoint": tmp_path / "c", "alerts": RATE, "time": "t"}
    options["learner"] = "regression"
    grows.write_text("".join(lines[:400]))
    run(str(grows), tmp_path / "o", **options)
    path = tmp_path / "c" / "checkpoint.npz"
    header, arrays = container.read("track", 2, path.read_bytes())
    parts = [name for name in arrays if name.startswith("alerts.")]
    # none may be there already, of a stream without a season say
    cut = {name: arrays[name][:0] if arrays[name].size else np.zeros(7) for name in parts}
    wrong = [(header, arrays | {name: cut[name]}) for name in parts]
    own = header["alerts"]
    for change in (
        {"lengths": []},
        {"lengths": [-1]},
        {"lengths": 3},
        {"alerts": None},
        {"alerts": own | {"times": [1.0]}},
        {"alerts": own | {"after": [[1, -1]]}},
        {"alerts": own | {"after": [3]}},
        {"alerts": own | {"last": {"anomaly": []}}},
        {"alerts": own | {"last": {"anomaly": [{"row": "x"}], "change": []}}},
        {"numbers": header["numbers"] | {"alerts.first": -1}},
        {"numbers": header["numbers"] | {"alerts.strip.rows": 0}},
    ):
        wrong.append((header | change, arrays))
    assert len(wrong) > 20
    for head, state in wrong:
        path.write_bytes(b"".join(container.write("track", 2, head, state)))
        assert track(str(grows), "y", tmp_path / "o", **options) == 2
        assert "the checkpoint must be whole" in capsys.readouterr().err
    path.write_bytes(b"".join(container.write("track", 2, header, arrays)))
    kept = (tmp_path / "o" / "alerts.jsonl").read_bytes()
    (tmp_path / "o" / "alerts.jsonl").write_bytes(kept[:-1])
    assert track(str(grows), "y", tmp_path / "o", **options) == 2
    assert "alerts.jsonl must be as the checkpoint left it" in capsys.readouterr().err
    (tmp_path / "o" / "alerts.jsonl").write_bytes(kept + b'{"alert": "half')
    assert track(str(grows), "y", tmp_path / "o", **options) == 0
    assert (tmp_path / "o" / "alerts.jsonl").read_bytes() == kept


def test_a_calm_run_has_an_empty_file_that_may_get_lost(tmp_path):
    source, options = tmp_path / "s.csv", {"alerts": 0.001, "checkpoint": tmp_path / "c"}
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{a + b:.3f}\n" for a, b in rng.normal(0, 1, (60, 2))]
    source.write_text("a,y\n" + "".join(rows[:30]))
    _, summary = run(str(source), tmp_path / "o", **options)
    assert (tmp_path / "o" / "alerts.jsonl").read_bytes() == b""
    assert (summary["alerts"]["anomalies"], summary["alerts"]["changes"]) == (0, 0)
    (tmp_path / "o" / "alerts.jsonl").unlink()
    source.write_text("a,y\n" + "".join(rows))
    run(str(source), tmp_path / "o", **options)
    assert (tmp_path / "o" / "alerts.jsonl").read_bytes() == b""


def test_what_cannot_be_an_alert_is_refused(tmp_path, capsys):
    for given in (0.0, 0.6, float("nan"), "0.1", -1, 1e-7):
        part = "--alerts must be a number between 0.000001 and 0.5"
        bad(tmp_path, capsys, "y\n1\n", part, "such as 0.001", alerts=given)
    part = "--alerts must be for numbers: got it with --task binary; leave one of them out"
    bad(tmp_path, capsys, "y\n1\n", part, alerts=0.01, task="binary")
    (tmp_path / "o").mkdir()
    source = tmp_path / "o" / "alerts.jsonl"
    source.write_text('{"y": 1}\n')
    assert track(str(source), "y", tmp_path / "o", alerts=0.01) == 2
    assert "--out" in capsys.readouterr().err
    assert source.read_text() == '{"y": 1}\n'


def test_without_alerts_nothing_of_them_is_imported(source, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "stillpoint.commands.alarms", None)  # importing it fails
    run(source, tmp_path / "o", features="a")
    with pytest.raises(ImportError):
        track(source, "y", tmp_path / "o", features="a", alerts=RATE)


def test_on_standard_output_alarms_are_lines_after_their_rows(source, tmp_path, capsys):
    run(source, tmp_path / "o", alerts=RATE, features="a")
    assert track(source, "y", "-", alerts=RATE, features="a") == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    alarmed = [i for i, each in enumerate(told) if "alert" in each]
    assert [told[i] for i in alarmed] == alerts_of(tmp_path / "o")
    for i in alarmed:
        assert told[i - 1]["row"] == told[i]["row"]
    assert [each["row"] for each in told if "alert" not in each] == list(range(1, N + 1))


def test_a_followed_run_tells_alarms_as_they_come_and_counts_them(source, tmp_path, monkeypatch):
    run(source, tmp_path / "whole", alerts=RATE, features="a")
    whole = (tmp_path / "whole" / "alerts.jsonl").read_text()
    row = json.loads(whole.splitlines()[0])["row"]
    monkeypatch.setattr(live, "EVERY", 0.05)
    lines, grows, out = Path(source).read_text().splitlines(keepends=True), tmp_path / "g", "o"
    grows.write_text("".join(lines[:row]))
    options = {"alerts": RATE, "features": "a", "follow": True, "quiet": True, "format": "csv"}
    child = forked(lambda: track(str(grows), "y", tmp_path / out, **options))
    wait_for(lambda: lines_of(tmp_path / out / "predictions.csv") == row)
    assert (tmp_path / out / "alerts.jsonl").read_text() == ""
    with open(grows, "a") as file:
        file.write(lines[row])
    wait_for(lambda: lines_of(tmp_path / out / "alerts.jsonl") > 0)

    def metrics():
        try:
            text = (tmp_path / out / "metrics.prom").read_text()
        except FileNotFoundError:
            return {}
        told = [line.split() for line in text.splitlines() if not line.startswith("#")]
        return {name.partition("{")[0]: float(value) for name, value in told}

    wait_for(lambda: metrics().get("stillpoint_rows_total") == row)
    os.kill(child, signal.SIGINT)
    assert ended(child) == 0
    own = json.loads((tmp_path / out / "summary.json").read_text())["alerts"]
    found = {key.removeprefix("stillpoint_"): value for key, value in metrics().items()}
    assert found["anomalies_total"] + found["alert_changes_total"] >= 1
    assert (found["anomalies_total"], found["anomalies_bound"]) == (own["anomalies"], own["bound"])
    assert (found["anomaly_p"], found["change_evidence"]) == (own["p"], own["evidence"])
    assert found["alert_changes_total"] == own["changes"]
    assert whole.startswith((tmp_path / out / "alerts.jsonl").read_text())


def test_the_terminal_has_one_line_about_them(source, tmp_path, capsys):
    assert track(source, "y", tmp_path / "o", alerts=RATE, features="a") == 0
    own = json.loads((tmp_path / "o" / "summary.json").read_text())["alerts"]
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("alerts: ")]
    rows = f"{own['anomalies']} unusual row{'' if own['anomalies'] == 1 else 's'}"
    changes = f"{own['changes']} change{'' if own['changes'] == 1 else 's'}"
    most = int(own["bound"])
    assert lines == [
        f"alerts: {rows}, at most {most} on any data; {changes}, a false one in 1,000 rows or more"
    ]


# parts


def test_other_kinds_of_changes_are_told_as_they_are():
    class Other:
        rounds, records, evidence, config = 0, [], 3.0, {"every": 100.0}

        def track(self, y):
            return [Change(4, 2, "season", float("nan"), 2.0, 5e3)] if y.size > 4 else []

    detector = alarms.Alerts(TrackOptions("x", "y", Path("o"), alerts=0.1))
    detector.changes = Other()
    told = detector.run(1, np.zeros(5), np.zeros(5), [*"abcde"])
    assert told == [
        {"alert": "change", "row": 5, "time": "e", "start": 3, "start_time": "c"}
        | {"kind": "season", "before": None, "after": 2.0, "evidence": 5e3}
    ]
    shown = detector.shown(lambda text: float(ord(text)))["last"]
    assert shown == [{**told[0], "at": 101.0, "start_at": 99.0}]


def test_a_change_that_began_before_all_times_that_are_kept_has_no_time(monkeypatch):
    monkeypatch.setattr(alarms, "_TIMES", 3)
    detector = alarms.Alerts(TrackOptions("x", "y", Path("o"), alerts=0.1))
    detector.run(1, np.zeros(5), np.zeros(5), [*"abcde"])
    assert [detector._time(row, 5, 5) for row in (2, 3, 5, 6)] == [None, "c", "e", None]


def test_where_a_change_began_does_not_depend_on_how_rows_are_cut(monkeypatch):
    class Others:  # places: the first six rows, three that are empty, six rows
        rounds, records, evidence = 0, [], 3.0

        def track(self, y):
            begun, self.rounds = self.rounds, self.rounds + y.size
            known = (Change(10, 4, "wider", 1.0, 2.0, 5e3), Change(14, 1, "wider", 1.0, 2.0, 5e3))
            return [one for one in known if begun <= one.row < self.rounds]

    monkeypatch.setattr(alarms, "_TIMES", 5)
    steps, states = np.where(np.arange(12) == 6, 4, 1), []
    for size in (12, 5, 1):
        detector = alarms.Alerts(TrackOptions("x", "y", Path("o"), alerts=0.1))
        detector.changes, told = Others(), []
        for i in range(0, 12, size):
            y, texts = np.zeros(min(size, 12 - i)), [*"abcdefghijkl"[i : i + size]]
            told += detector.run(i + 1, y, y, texts, steps[i : i + size])
        found = [tuple(each[k] for k in ("row", "time", "start", "start_time")) for each in told]
        # what is further back than times are kept is as unknown in one piece
        assert found == [(8, "h", 5, "e"), (12, "l", 1, None)]
        states.append(detector.state())
    assert states[0] == states[1] == states[2]


def test_seasons_that_are_told_are_those_of_the_detectors():
    for season, *told in (
        ("none", 1, 1),
        ("24,168", 24, 24),
        ("1440", 1440, None),  # more than Changes keeps
        ("365.25", None, None),
        (None, None, None),
    ):
        found = alarms.Alerts(TrackOptions("x", "y", Path("o"), alerts=0.1, season=season))
        assert [each.config["period"] for each in (found.anomalies, found.changes)] == told


def test_the_strip_counts_all_alarms_in_few_places():
    strip, rng = Strip(), np.random.default_rng(0)
    rows, kinds = np.sort(rng.choice(100_000, 3000, replace=False)) + 1, rng.integers(0, 2, 3000)
    for row, kind in zip(rows.tolist(), kinds.tolist(), strict=True):
        strip.add(kind, row)
    assert [strip.total(kind) for kind in (0, 1)] == np.bincount(kinds).tolist()
    places = strip.places()
    assert len(places) <= 2000
    starts, size = np.array([place[0] for place in places]), strip.arrays()["rows"]
    assert size == 64
    assert ((starts - 1) % size == 0).all()
    for kind in (0, 1):
        own = np.bincount((rows[kinds == kind] - 1) // size, minlength=2000)
        expected = own[(starts - 1) // size].tolist()
        assert [place[1 + kind] for place in places] == expected
        assert own.sum() == sum(expected)

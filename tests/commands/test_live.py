"""Runs that do not end: JSON lines on standard output, and files that are kept up to date."""

import json
import os
import re
import signal

import numpy as np
import pytest
from test_track_series import hours

from children import (
    ended,
    forked,
    lines_of,
    no_child_survives,  # noqa: F401
    on_pipe,
    wait_for,
)
from stillpoint.commands import live, track, tracking
from stillpoint.commands.live import metrics
from tracked import bad, run, write

N = 60


@pytest.fixture(scope="module")
def series():
    y = np.random.default_rng(0).normal(20.0, 1.0, N).round(3).tolist()
    return {"t": hours(N), "y": [*y[:-2], "", ""]}


def number(cell):
    return None if cell in ("", "inf", "-inf") else float(cell)


def test_predictions_are_lines_of_json_on_standard_output(series, tmp_path, monkeypatch, capsys):
    source = write(tmp_path / "s.csv", series)
    rows, _ = run(source, tmp_path / "o", time="t", horizon=3)
    monkeypatch.setattr(tracking, "BATCH", 25)
    monkeypatch.chdir(tmp_path)
    before = sorted(os.listdir())
    assert track(source, "y", "-", time="t", horizon=3) == 0
    out, err = capsys.readouterr()
    told = [json.loads(line) for line in out.splitlines()]
    assert err == ""
    assert sorted(os.listdir()) == before
    assert [one["time"] for one in told] == rows["time"]
    for name in ("y", "forecast", "lo", "hi"):
        assert [one[name] for one in told] == [number(cell) for cell in rows[name]]
    assert track(write(tmp_path / "b.csv", {"y": ["no", "yes"]}), "y", "-", task="binary") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[1]) == {
        "row": 2,
        "y": "yes",
        "forecast": pytest.approx(0.25, abs=0.25),
    }


def test_each_batch_is_written_when_it_has_come(series, tmp_path):
    run(write(tmp_path / "s.csv", series), tmp_path / "compiled", time="t", horizon=3)
    lines = (tmp_path / "s.csv").read_bytes().splitlines(keepends=True)
    (there, here), out = os.pipe(), tmp_path / "out"

    def work():
        on_pipe(there, here)
        os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT), 1)
        import sys

        sys.stdout = os.fdopen(1, "w")
        return track("-", "y", "-", time="t", horizon=3)

    child = forked(work)
    os.close(there)
    for first, last in ((0, 10), (10, 11), (11, 30)):
        os.write(here, b"".join(lines[first:last]))
        wait_for(lambda last=last: lines_of(out) == last - 1)
    os.close(here)
    assert ended(child) == 0


def test_a_followed_run_keeps_its_summary_and_metrics_up_to_date(series, tmp_path, monkeypatch):
    run(write(tmp_path / "s.csv", series), tmp_path / "compiled", time="t", horizon=3)
    monkeypatch.setattr(live, "EVERY", 0.05)
    lines = (tmp_path / "s.csv").read_text().splitlines(keepends=True)
    source, out = tmp_path / "grows.csv", tmp_path / "o"
    source.write_text("".join(lines[:30]))
    options = {"time": "t", "horizon": 3, "follow": True, "quiet": True}
    child = forked(lambda: track(str(source), "y", out, **options))

    def at(rows):
        try:
            summary = json.loads((out / "summary.json").read_text())
            text = (out / "metrics.prom").read_text()
        except FileNotFoundError:
            return False
        return summary["rows"] == rows and f'stillpoint_rows_total{{target="y"}} {rows}.0' in text

    wait_for(lambda: at(29))
    with open(source, "a") as file:
        file.write("".join(lines[30:50]))
    wait_for(lambda: at(49))
    summary = json.loads((out / "summary.json").read_text())
    assert summary["complete"] is False
    assert summary["forecast"][0]["time"] == hours(50)[49]
    text = (out / "metrics.prom").read_text()
    found = dict(re.findall(r'^stillpoint_(\w+){target="y"} (\S+)$', text, re.MULTILINE))
    assert float(found["error"]) == pytest.approx(summary["loss"]["stillpoint"] ** 0.5)
    assert float(found["coverage"]) == summary["coverage"]["achieved"]
    assert float(found["changes_total"]) == len(summary["changes"])
    assert float(found["seconds_behind"]) > 1e6  # the rows are of 2024
    os.kill(child, signal.SIGINT)
    assert ended(child) == 0
    last = json.loads((out / "summary.json").read_text())
    assert last["notes"] == summary["notes"]
    assert set(last["files"]) == {path.name for path in out.iterdir()}


def test_a_run_that_is_not_followed_has_no_metrics(series, tmp_path):
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "metrics.prom").write_text("of an earlier one\n")
    run(write(tmp_path / "s.csv", series), tmp_path / "o", time="t", horizon=3)
    assert not (tmp_path / "o" / "metrics.prom").exists()


def test_metrics_are_what_prometheus_reads():
    text = metrics({"rows_total": 3, "error": None, "coverage": 0.9}, 'a "b"\\\n')
    assert text == (
        "# HELP stillpoint_rows_total Rows forecast.\n"
        "# TYPE stillpoint_rows_total counter\n"
        'stillpoint_rows_total{target="a \\"b\\"\\\\\\n"} 3.0\n'
        "# HELP stillpoint_coverage Share of targets inside their intervals.\n"
        "# TYPE stillpoint_coverage gauge\n"
        'stillpoint_coverage{target="a \\"b\\"\\\\\\n"} 0.9\n'
    )


def test_what_needs_a_folder_is_refused_on_standard_output(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for options, part in (
        ({"checkpoint": tmp_path / "c"}, "--checkpoint must go with a folder: got --out -"),
        ({"predictions": "parquet"}, "--predictions must go with a folder"),
    ):
        (tmp_path / "x.csv").write_text("y\n1\n")
        assert track(str(tmp_path / "x.csv"), "y", "-", **options) == 2
        assert part in capsys.readouterr().err
    bad(tmp_path, capsys, "y\n", "the input must have rows", horizon=3)

"""`sp.track(…, alerts=RATE)`: the alarms of the command as two frames of the data's kind."""

import json

import numpy as np
import pytest

import stillpoint as sp
from extras import package
from stillpoint.commands import tracking
from stillpoint.frames.result import Alerts
from tracked import run, write

N, RATE = 400, 0.01


@pytest.fixture(scope="module")
def sensor():
    """Hours of a sensor whose level jumps, with two rows that do not fit and a gap."""
    rng = np.random.default_rng(5)
    y = rng.normal(20.0, 1.0, N).round(4)
    y[[180, 330]] += [15.0, -15.0]
    y[230:] += 5.0
    y[60:63] = np.nan
    at = np.datetime64("2024-01-01T00") + np.arange(N)
    return {"at": at.astype("datetime64[us]"), "a": rng.standard_normal(N).round(4), "y": y}


@pytest.fixture(scope="module")
def result(sensor):
    return sp.track(sensor, "y", time="at", learner="regression", alerts=RATE)


def test_they_are_those_of_the_command(sensor, result, tmp_path, monkeypatch):
    monkeypatch.setattr(tracking, "BATCH", 30)
    text = {name: np.where(np.isnan(v), "", v) for name, v in list(sensor.items())[1:]}
    source = write(tmp_path / "s.csv", {"at": sensor["at"].astype(str), **text})
    options = {"time": "at", "learner": "regression", "alerts": RATE}
    _, summary = run(source, tmp_path / "o", **options)
    assert result.summary["alerts"] == summary["alerts"]
    lines = (tmp_path / "o" / "alerts.jsonl").read_text().splitlines()
    told = [json.loads(line) for line in lines]
    unusual = [each for each in told if each["alert"] == "anomaly"]
    changed = [each for each in told if each["alert"] == "change"]
    assert unusual
    assert changed
    own = result.alerts
    assert isinstance(own, Alerts)
    for name in ("value", "expected", "p", "p_forecast", "p_level", "sign"):
        np.testing.assert_array_equal(own.anomalies[name], [each[name] for each in unusual])
    for name in ("kind", "evidence", "before"):
        assert own.changes[name].tolist() == [each[name] for each in changed]
    assert own.anomalies["row"].tolist() == [each["row"] - 1 for each in unusual]
    assert own.changes["start"].tolist() == [each["start"] - 1 for each in changed]
    for name, rows in (("time", "row"), ("start_time", "start")):
        np.testing.assert_array_equal(own.changes[name], sensor["at"][own.changes[rows]])
    np.testing.assert_array_equal(own.anomalies["time"], sensor["at"][own.anomalies["row"]])


def test_sizes_of_changes_are_those_known_in_the_end(sensor, result, monkeypatch):
    changes = sp.Changes(10 / RATE)
    changes.track(sensor["y"])
    for size in (4096, 11):
        monkeypatch.setattr(tracking, "BATCH", size)
        again = sp.track(sensor, "y", time="at", learner="regression", alerts=RATE)
        for name in ("before", "after"):
            own = [getattr(change, name) for change in changes.records]
            assert again.alerts.changes[name].tolist() == own
            assert result.alerts.changes[name].tolist() == own


def test_without_them_there_are_none(sensor):
    calm = sp.track({"a": sensor["a"], "y": sensor["y"]}, "y")
    assert calm.alerts is None
    assert "alerts" not in calm.summary
    assert "alerts" not in repr(calm)


def test_a_calm_run_has_empty_frames(sensor):
    few = {name: column[:40] for name, column in sensor.items()}
    calm = sp.track(few, "y", time="at", learner="regression", alerts=0.001)
    assert {name: len(column) for name, column in calm.alerts.anomalies.items()} == dict.fromkeys(
        ("time", "row", "value", "expected", "lo", "hi", "p", "p_forecast", "p_level", "sign"), 0
    )
    assert calm.alerts.changes["start_time"].size == 0
    assert "; alerts: 0 unusual rows, 0 changes>" in repr(calm)


def test_the_page_has_them(result, tmp_path):
    text = result.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Rows that do not fit" in text
    assert "instead of" in text


def test_plots_and_notebooks_mark_unusual_rows_and_where_changes_were_told(sensor):
    result = sp.track(sensor, "y", time="at", season=None, horizon=50, alerts=RATE)
    axes, first = result.plot(), N - 5 * 50  # of the rows that are shown
    drawn = {line.get_label(): line for line in axes.lines}
    unusual, changed = (frame["row"] for frame in result.alerts)
    assert min(*unusual, *changed) >= first
    assert unusual.tolist() == [180, 232, 330]
    assert changed.size == 1
    np.testing.assert_array_equal(drawn["alert: unusual row"].get_xdata(), sensor["at"][unusual])
    np.testing.assert_array_equal(drawn["alert: unusual row"].get_ydata(), sensor["y"][unusual])
    assert drawn["alert: change"].get_xdata()[0] == sensor["at"][changed[0]]
    named = {text.get_text() for text in axes.get_legend().get_texts()}
    assert {"alert: unusual row", "alert: change"} <= named
    shown = result._repr_html_()
    assert "alerts: 3 unusual rows, 1 change" in shown
    assert (shown.count('r="4"'), shown.count('stroke-dasharray="1 3"')) == (3, 1)
    calm = sp.track(sensor, "y", time="at", season=None, horizon=50)._repr_html_()
    assert not any(mark in calm for mark in ("alerts", 'r="4"', 'stroke-dasharray="1 3"'))


def test_what_cannot_be_is_said_in_python(sensor):
    with pytest.raises(ValueError, match=r"^alerts must be a number between 0.000001 and 0.5: got"):
        sp.track(sensor, "y", time="at", alerts=2.0)
    match = 'alerts must be for numbers: got it with task="binary"; leave one of them out'
    with pytest.raises(ValueError, match=match):
        sp.track(sensor, "y", time="at", alerts=0.1, task="binary")


@pytest.mark.extra
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_are_of_the_datas_kind(sensor, result, library):
    module = package(library)
    make = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}[library]
    frame = getattr(module, make)(sensor)
    found = sp.track(frame, "y", time="at", learner="regression", alerts=RATE).alerts
    for own, plain in zip(found, result.alerts, strict=True):
        assert type(own) is type(frame)
        columns = own.column_names if library == "pyarrow" else list(own.columns)
        assert columns == list(plain)
        for name in columns:
            told = own[name].to_pylist() if library == "pyarrow" else own[name].to_list()
            assert [str(v)[:19] for v in told] == [
                str(v).replace("T", " ")[:19] for v in plain[name].tolist()
            ]
    calm = sp.track(frame[:40], "y", time="at", learner="regression", alerts=0.001).alerts
    assert [len(part) for part in calm] == [0, 0]

"""`stillpoint track`: what it writes against direct use of the cores, every option, every bad
input, kills and resumption.
"""

import bz2
import csv
import errno
import gzip
import hashlib
import io
import itertools
import json
import lzma
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from children import (
    ended,
    forked,
    lines_of,
    no_child_survives,  # noqa: F401
    on_pipe,
    snapshot,
    soon,
    wait_for,
)
from extras import package
from stillpoint.commands import session, track, tracking
from stillpoint.commands._rows import Forecasts
from stillpoint.commands.checkpoint import Checkpoint
from stillpoint.commands.engine import Linear, Logistic
from stillpoint.commands.errors import InputError, say
from stillpoint.commands.history import History
from stillpoint.commands.options import share
from stillpoint.commands.sink import Sink
from stillpoint.core import container
from stillpoint.core.codec import decode_fields
from stillpoint.forecasters import TrackingForecaster, TrackingProbabilities, VariationForecaster
from stillpoint.forecasters._regression import CLIPPED
from stillpoint.forecasters._tracking import ORIGIN
from stillpoint.intervals import IntervalTracker, QuantileTracker
from stillpoint.losses import Pinball

T = 400


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((T, 3)).round(6)
    y = (X @ [1.0, -2.0, 0.5] + np.sin(np.arange(T) / 30) + 0.3 * rng.standard_normal(T)).round(6)
    times = np.cumsum(rng.exponential(1.0, T)).round(6) + 0.001 * np.arange(T)
    return X, y, times


def write(path, columns):
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))
    return str(path)


def table(data, **more):
    X, y, times = data
    return {
        "t": times.tolist(),
        "a": X[:, 0].tolist(),
        "b": X[:, 1].tolist(),
        "c": X[:, 2].tolist(),
        "y": y.tolist(),
        **more,
    }


@pytest.fixture
def plain(data, tmp_path):
    columns = table(data)
    del columns["t"]
    return write(tmp_path / "plain.csv", columns)


def read(out):
    with open(Path(out) / "predictions.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


def floats(cells):
    return np.array([float(cell) if cell else np.nan for cell in cells])


def run(source, out, **options):
    assert track(source, options.pop("target", "y"), out, quiet=True, **options) == 0
    return read(out), json.loads((Path(out) / "summary.json").read_text())


# what is written, against the cores


def test_regression_is_the_forecaster_and_the_interval_tracker(data, plain, tmp_path):
    X, y, _ = data
    rows, summary = run(plain, tmp_path / "o")
    forecasts = TrackingForecaster(3, missing=True).track(X, y)
    band = IntervalTracker(0.9)
    lo, hi = band.track(forecasts, y)
    assert rows["row"] == rows["time"] == [str(i + 1) for i in range(T)]
    for name, expected in (("y", y), ("forecast", forecasts), ("lo", lo), ("hi", hi)):
        np.testing.assert_array_equal(floats(rows[name]), expected)
    assert summary["loss"]["stillpoint"] == pytest.approx(np.mean((y - forecasts)[1:] ** 2))
    assert summary["loss"]["last value"] == pytest.approx(np.mean(np.diff(y) ** 2))
    means = np.cumsum(y)[:-1] / np.arange(1, T)
    assert summary["loss"]["running mean"] == pytest.approx(np.mean((y[1:] - means) ** 2))
    assert (
        summary["loss"]["stillpoint"]
        < summary["loss"]["full-history RLS"]
        < summary["loss"]["last value"]
    )
    coverage = summary["coverage"]
    assert (coverage["misses"], coverage["target"]) == (band.misses, 0.9)
    assert (coverage["least_misses"], coverage["most_misses"]) == band.miss_bound()
    assert coverage["mean_width"] == pytest.approx(np.mean((hi - lo)[3:]))
    assert coverage["infinite"] == 3
    assert sum(summary["weights"].values()) == pytest.approx(1.0)
    assert (summary["rows"], summary["targets"], summary["complete"]) == (T, T, True)
    assert summary["files"] == ["predictions.csv", "summary.json", "report.html"]
    assert all((tmp_path / "o" / name).exists() for name in summary["files"])


def test_full_history_baseline_is_the_filter_without_drift(data, plain, tmp_path):
    X, y, _ = data
    _, summary = run(plain, tmp_path / "o")
    core, losses = TrackingForecaster(3, missing=True), []
    for x, value in zip(X, y, strict=True):
        core.predict(x)
        losses.append((value - core._own[CLIPPED, 0] - core._scalars[ORIGIN]) ** 2)
        core.update(x, value)
    assert summary["loss"]["full-history RLS"] == pytest.approx(np.mean(losses[1:]))


@pytest.mark.parametrize("stamp", ["number", "date"])
def test_times_reach_the_cores(data, tmp_path, stamp):
    X, y, times = data
    columns = table(data)
    if stamp == "date":
        seconds = np.round(times * 3600)
        columns["t"] = [np.datetime64(int(s), "s").astype(str) for s in seconds]
        times = seconds
    rows, summary = run(write(tmp_path / "d.csv", columns), tmp_path / "o", time="t", coverage=0.8)
    forecasts = TrackingForecaster(3, missing=True).track(X, y, times)
    np.testing.assert_array_equal(floats(rows["forecast"]), forecasts)
    np.testing.assert_array_equal(floats(rows["lo"]), IntervalTracker(0.8).track(forecasts, y)[0])
    assert rows["time"] == [str(t) for t in columns["t"]]
    assert summary["time_kind"] == stamp


@pytest.mark.parametrize("options", [{}, {"task": "binary", "target": "k"}, {"delay": 3}])
def test_rows_may_share_a_time(data, tmp_path, options):
    X, y, times = data
    ties = np.repeat(times[::4], 4)
    labels = (y > 0.0).astype(float)
    columns = table(data, k=labels.astype(int).tolist()) | {"t": ties.tolist()}
    options = {"time": "t", "features": "a,b,c", **options}
    rows, _ = run(
        write(tmp_path / "d.csv", columns), tmp_path / "o", checkpoint=tmp_path / "c", **options
    )
    if "task" in options:
        forecasts = TrackingProbabilities(3, 2, missing=True).track(X, labels.astype(int), ties)[
            :, 1
        ]
        np.testing.assert_array_equal(floats(rows["forecast"]), forecasts)
    elif "delay" not in options:
        np.testing.assert_array_equal(
            floats(rows["forecast"]),
            TrackingForecaster(3, missing=True).track(X, y, ties),
        )
    assert np.isfinite(floats(rows["forecast"])).all()


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("task", ["regression", "interval"])
def test_no_features_make_a_series(data, tmp_path, timed, task):
    _, y, times = data
    source = write(
        tmp_path / "s.csv", {"t": times.tolist(), "y": y.tolist()} if timed else {"y": y.tolist()}
    )
    rows, summary = run(source, tmp_path / "o", time="t" if timed else None, task=task)
    core = VariationForecaster()
    forecasts = core.track(y, times if timed else None)
    np.testing.assert_array_equal(floats(rows["forecast"]), forecasts)
    np.testing.assert_array_equal(floats(rows["hi"]), IntervalTracker(0.9).track(forecasts, y)[1])
    assert list(summary["loss"]) == ["stillpoint", "last value", "running mean"]
    label = "squared error more than the best one constant's, at most"
    # more than all that was lost
    assert f"{label} {2 * core.bound(1):.4g}" in summary["certificate_note"]
    gone = run(
        write(tmp_path / "f.csv", table(data)),
        tmp_path / "o2",
        features="",
        task=task,
        time="t" if timed else None,
    )[0]
    assert gone["forecast"] == rows["forecast"]


def test_quantile_is_the_pinball_forecaster_with_a_guaranteed_share(data, plain, tmp_path):
    X, y, _ = data
    rows, summary = run(plain, tmp_path / "o", task="quantile", level=0.8)
    forecasts = TrackingForecaster(3, loss=Pinball(0.8), missing=True).track(X, y)
    tracker = QuantileTracker(0.8)
    np.testing.assert_array_equal(floats(rows["forecast"]), forecasts)
    np.testing.assert_array_equal(floats(rows["hi"]), forecasts + tracker.track(y - forecasts))
    assert set(rows["lo"]) == {"-inf"}
    assert summary["coverage"]["misses"] == tracker.misses
    assert summary["coverage"]["most_misses"] == tracker.miss_bound()[1]
    away = (y - forecasts)[1:]
    assert summary["loss"]["stillpoint"] == pytest.approx(
        np.mean(np.maximum(0.8 * away, -0.2 * away))
    )
    series, _ = run(plain, tmp_path / "o2", task="quantile", features="")
    constant = TrackingForecaster(1, loss=Pinball(0.9), missing=True).track(np.zeros((T, 1)), y)
    np.testing.assert_array_equal(floats(series["forecast"]), constant)


@pytest.mark.parametrize(
    "words", [("0", "1"), ("false", "TRUE"), ("1.0", "0.0"), ("down", "up"), ("up", "down")]
)
def test_binary_is_the_probability_of_class_one(data, tmp_path, words):
    X, y, _ = data
    labels = (y > 0).astype(int)
    columns = table(data, y=[words[k] for k in labels])
    del columns["t"]
    rows, summary = run(write(tmp_path / "b.csv", columns), tmp_path / "o", task="binary")
    ones = {"1", "1.0", "TRUE"} & set(words)
    first = words[labels[0]]
    one = ones.pop() if ones else next(word for word in words if word != first)
    classes = np.array([float(words[k] == one) for k in labels])
    core = TrackingProbabilities(3, missing=True)
    p = core.track(X, classes.astype(int))[:, 1]
    np.testing.assert_array_equal(floats(rows["forecast"]), p)
    assert rows["y"] == [words[k] for k in labels]
    assert set(rows["lo"]) == set(rows["hi"]) == {""}
    assert summary["loss"]["stillpoint"] == pytest.approx(
        -np.mean(np.log(np.where(classes == 1, p, 1 - p)))
    )
    assert summary["certificate"][
        "log loss more than the best read-out's, at most"
    ] == pytest.approx(core.bound())
    assert "coverage" not in summary
    assert set(summary["labels"]) == {"0", "1"}


def test_filters_are_called_by_the_step_that_they_expect():
    linear, logistic = Linear(2, None).labels, Logistic(2).labels
    assert linear[:2] == ["no drift", "level ±1% of noise"]  # variances of 1e-4 a round
    assert linear[5] == "all ±0.1% of noise"
    assert linear[12:14] == ["slopes ±100%, level ±1000% of noise", "slopes ±10% of noise"]
    assert logistic[:2] + logistic[-1:] == [
        "no drift",
        "level ±0.01 log-odds",
        "slopes ±0.1, level ±1 log-odds",
    ]


@pytest.mark.parametrize(
    "labels", ["yes no", "no yes", "Yes No", "True False", "false true", "1 0"]
)
def test_the_chance_is_that_of_yes(tmp_path, labels):
    rows, summary = run(
        write(tmp_path / "d.csv", {"y": labels.split() * 3}), tmp_path / "o", task="binary"
    )
    assert summary["labels"]["1"].lower() in ("yes", "true", "1")
    # as the file has them
    assert set(summary["labels"].values()) == set(rows["y"]) == set(labels.split())


def test_labels_are_told_as_the_file_has_them(tmp_path, capsys):
    source = write(tmp_path / "d.csv", {"y": ["False", "True", "TRUE", "0", "1"]})
    assert track(source, "y", tmp_path / "o", task="binary", checkpoint=tmp_path / "c") == 0
    assert "forecasts are probabilities of 'True'" in capsys.readouterr().out
    with open(source, "a") as file:
        file.write("maybe\n")
    assert track(source, "y", tmp_path / "o", task="binary", checkpoint=tmp_path / "c") == 2
    assert (
        "row 6: column 'y' must hold two labels: got 'maybe' beside 'False' and 'True'"
        in capsys.readouterr().err
    )


def test_a_checkpoint_without_the_spelling_of_labels_goes_on(tmp_path, capsys):
    source, path = tmp_path / "d.csv", tmp_path / "c" / "checkpoint.npz"
    source.write_text("y\nFalse\nTrue\n")
    run(str(source), tmp_path / "o", task="binary", checkpoint=tmp_path / "c")
    header, arrays = container.read("track", 2, path.read_bytes())
    assert header["encoder"].pop("spelled") == {"0": "False", "1": "True"}
    source.write_text("y\nFalse\nTrue\nTrue\n")
    for spelled, code in (
        ({"spelled": {"2": "u"}}, 2),
        ({"spelled": {"1": 1}}, 2),
        ({"spelled": []}, 2),
        ({}, 0),
    ):
        other = {**header, "encoder": {**header["encoder"], **spelled}}
        path.write_bytes(b"".join(container.write("track", 2, other, arrays)))
        assert (
            track(
                str(source),
                "y",
                tmp_path / "o",
                task="binary",
                checkpoint=tmp_path / "c",
                quiet=True,
            )
            == code
        )
        assert ("the checkpoint must be whole" in capsys.readouterr().err) == (code == 2)
    assert json.loads((tmp_path / "o" / "summary.json").read_text())["labels"] == {
        "0": "0",
        "1": "1",
    }


def test_binary_without_features(data, tmp_path):
    _, y, _ = data
    source = write(tmp_path / "b.csv", {"y": (y > 0).astype(int).tolist()})
    rows, _ = run(source, tmp_path / "o", task="binary")
    p = TrackingProbabilities(1, missing=True).track(np.zeros((T, 1)), (y > 0).astype(int))[:, 1]
    np.testing.assert_array_equal(floats(rows["forecast"]), p)


@pytest.mark.parametrize("task", ["regression", "quantile", "binary"])
def test_missing_cells(data, tmp_path, task):
    X, y, _ = data
    labels = (y > 0).astype(int)
    X, target = X.copy(), (labels if task == "binary" else y).astype(float)
    X[3, 0] = X[50:60, 1] = X[7] = np.nan
    target[[5, 6, 100]] = np.nan
    cells = [
        [
            "" if np.isnan(v) else (str(int(v)) if task == "binary" and j == 3 else repr(v))
            for v in column
        ]
        for j, column in enumerate([*X.T.tolist(), target.tolist()])
    ]
    cells[1][55] = "NaN"
    rows, summary = run(
        write(tmp_path / "m.csv", dict(zip("abcy", cells, strict=True))), tmp_path / "o", task=task
    )
    core = (
        TrackingProbabilities(3, missing=True)
        if task == "binary"
        else TrackingForecaster(3, loss=Pinball(0.9) if task == "quantile" else None, missing=True)
    )
    expected = []
    for x, value in zip(X, target, strict=True):
        p = core.predict(x)
        expected.append(p[1] if task == "binary" else p)
        if np.isnan(value):
            core.skip(x)
        else:
            core.update(x, int(value) if task == "binary" else value)
    np.testing.assert_array_equal(floats(rows["forecast"]), expected)
    assert [rows["y"][i] for i in (5, 6, 100)] == ["", "", ""]
    assert (summary["rows"], summary["targets"]) == (T, T - 3)


def test_categories_join_as_they_come(data, tmp_path, monkeypatch):
    X, y, _ = data
    kinds = (["red"] * 50 + ["blue", "red"] * 50 + ['green, "dark"', "blue", ""] * 100)[:T]
    source = write(tmp_path / "c.csv", {"k": kinds, "a": X[:, 0].tolist(), "y": y.tolist()})
    rows, summary = run(source, tmp_path / "o")
    core, names, expected = TrackingForecaster(1, missing=True), [], []
    for kind, x, value in zip(kinds, X[:, 0], y, strict=True):
        if kind and kind not in names:
            names.append(kind)
            core.grow(1 + len(names))
        row = np.array(
            [x, *([np.nan] * len(names) if not kind else [float(kind == name) for name in names])]
        )
        expected.append(core.predict(row))
        core.update(row, value)
    np.testing.assert_array_equal(floats(rows["forecast"]), expected)
    assert summary["columns"] == ["a", "k=red", "k=blue", 'k=green, "dark"']
    monkeypatch.setattr(tracking, "BATCH", 7)
    assert run(source, tmp_path / "o2")[0] == rows
    assert track(source, "y", tmp_path / "o3", features="k", delay=3, quiet=True) == 0


def test_codes_with_underscores_are_categories(data, tmp_path):
    _, y, _ = data
    codes = {"12_0": "u", "1_20": "v"}  # Python reads 120 for both
    which = [list(codes)[i % 2] for i in range(T)]
    rows, summary = run(write(tmp_path / "a.csv", {"code": which, "y": y.tolist()}), tmp_path / "o")
    words, _ = run(
        write(tmp_path / "b.csv", {"code": [codes[one] for one in which], "y": y.tolist()}),
        tmp_path / "o2",
    )
    assert summary["columns"] == ["(constant)", "code=12_0", "code=1_20"]
    assert rows == words


def test_too_many_categories_are_told(data, tmp_path, capsys):
    _, y, _ = data
    source = write(
        tmp_path / "c.csv", {"k": [f"user{i}" for i in range(120)], "y": y[:120].tolist()}
    )
    assert track(source, "y", tmp_path / "o", quiet=True) == 0
    assert "more than 100 categories ('k' 100): those that came later" in capsys.readouterr().err


def test_too_many_categories_are_told_with_their_columns(tmp_path):
    columns = {
        "few": ["u", "v"] * 60,
        "many": [f"user{i}" for i in range(120)],
        "x": range(120),
        "y": range(120),
    }
    (note,) = run(write(tmp_path / "c.csv", columns), tmp_path / "o")[1]["notes"]
    assert note.startswith("more than 100 categories ('many' 98, 'few' 2): ")


MARKERS = [
    "",
    "#N/A",
    "#N/A N/A",
    "#NA",
    "<NA>",
    "NaN",
    "-NaN",
    "NULL",
    "null",
    "None",
    "n/a",
    "NA",
    "?",
    " ? ",
]


@pytest.mark.parametrize("marker", MARKERS)
def test_markers_of_missing_cells_leave_a_column_numeric(data, tmp_path, marker):
    _, y, _ = data
    rows, summary = run(
        write(tmp_path / "d.csv", {"a": [marker, *y[1:20]], "y": [*y[:9], marker, *y[10:20]]}),
        tmp_path / "o",
    )
    assert (summary["columns"], summary["notes"], summary["targets"]) == (["a"], [], 19)
    expected, _ = run(
        write(tmp_path / "e.csv", {"a": ["", *y[1:20]], "y": [*y[:9], "", *y[10:20]]}),
        tmp_path / "o2",
    )
    assert rows == expected


@pytest.mark.parametrize("word", ["-", ".", "missing", "unknown", "12_0"])
def test_a_column_of_numbers_but_for_its_first_cell_is_told(tmp_path, capsys, word):
    def notes(cells):
        return run(write(tmp_path / "d.csv", {"x": cells, "y": range(len(cells))}), tmp_path / "o")[
            1
        ]["notes"]

    cause = f"got {word!r}, and numbers after it; leave missing cells empty"
    told = [f"column 'x' was read as words because of its first cell: {cause}"]
    assert notes([word, *range(8), "b", 8.5]) == told
    assert f"note: {told[0]}" in capsys.readouterr().err
    assert notes([word, *range(8)]) == []  # nine words may be codes
    assert notes([word, *range(8), "b", "c"]) == []


def test_dates_that_are_not_the_time_are_told(tmp_path):
    dates = [f"2024-01-{day:02d}" for day in range(1, 10)]
    columns = {
        "d": dates,
        "e": [f"{one}T12:00:00Z" for one in dates],
        "k": ["2024-01-01", "z"] * 4 + ["z"],
        "y": range(9),
    }
    source = write(tmp_path / "d.csv", columns)
    assert run(source, tmp_path / "o")[1]["notes"] == [
        f"column {name!r} holds dates: give --time {name}, or leave it out with --features"
        for name in "de"
    ]
    assert run(source, tmp_path / "o", time="d")[1]["notes"] == [
        "column 'e' holds dates: leave it out with --features"
    ]
    assert run(source, tmp_path / "o", time="d", features="k")[1]["notes"] == []


@pytest.mark.extra
def test_dates_in_parquet_that_are_not_the_time_are_refused_with_the_remedy(tmp_path, capsys):
    arrow, parquet = package("pyarrow"), package("pyarrow.parquet")
    for kind in (arrow.date32(), arrow.timestamp("us")):
        days = arrow.array(
            [0, 1, 2], arrow.int32() if kind == arrow.date32() else arrow.int64()
        ).cast(kind)
        parquet.write_table(arrow.table({"d": days, "y": [1.0, 2.0, 3.0]}), tmp_path / "d.parquet")
        remedy = "if it holds dates, give --time d, or leave it out with --features"
        bad(
            tmp_path,
            capsys,
            None,
            "row 1: column 'd' must be numeric: got datetime",
            remedy,
            name="d.parquet",
        )
        assert run(str(tmp_path / "d.parquet"), tmp_path / "o", time="d")[1]["rows"] == 3


@pytest.mark.parametrize("task", ["regression", "quantile", "binary", "series"])
def test_delay_is_late_learning(data, tmp_path, task):
    X, y, times = data
    N = 7
    labels = (y > 0).astype(int)
    columns = table(data, **({"y": labels.tolist()} if task == "binary" else {}))
    options = {"time": "t", "delay": N} | ({"features": ""} if task == "series" else {"task": task})
    rows, summary = run(write(tmp_path / "d.csv", columns), tmp_path / "o", **options)
    if task in ("regression", "binary"):
        core = (
            TrackingProbabilities(3, missing=True)
            if task == "binary"
            else TrackingForecaster(3, missing=True)
        )
        expected = []
        for t in range(T):
            value = core.peek(X[t], times[t])
            expected.append(value[1] if task == "binary" else value)
            if t >= N:
                core.update(X[t - N], labels[t - N] if task == "binary" else y[t - N], times[t - N])
        np.testing.assert_array_equal(floats(rows["forecast"]), expected)
    assert summary["certificate"] == {}
    assert "7 rows later" in summary["certificate_note"]
    cut, loss = 200, summary["loss"]
    assert loss["stillpoint"] < loss["last value"]
    columns["y"] = list(columns["y"])
    columns["y"][cut] = 1 - columns["y"][cut] if task == "binary" else 50.0
    other = run(write(tmp_path / "e.csv", columns), tmp_path / "o2", **options)[0]
    for name in ("forecast", "lo", "hi"):
        assert rows[name][: cut + N + 1] == other[name][: cut + N + 1]
    assert rows["forecast"][cut + N + 1] != other["forecast"][cut + N + 1]
    if task != "binary":
        assert rows["hi"][cut + N + 1] != other["hi"][cut + N + 1]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"delay": 5, "time": "t"},
        {"task": "quantile"},
        {"features": "", "time": "t", "delay": 2},
    ],
)
def test_batches_may_be_cut_anywhere(data, tmp_path, monkeypatch, options):
    columns = table(data)
    columns["y"] = ["" if i % 37 == 5 else v for i, v in enumerate(columns["y"])]
    source = write(tmp_path / "d.csv", columns)
    rows, summary = run(source, tmp_path / "o", **options)
    monkeypatch.setattr(tracking, "BATCH", 3)
    again, other = run(source, tmp_path / "o2", **options)
    assert again == rows
    assert {**summary, "rows_per_second": 0, "started": 0, "finished": 0} == {
        **other,
        "rows_per_second": 0,
        "started": 0,
        "finished": 0,
    }


# inputs


def test_json_lines_and_other_spellings_say_the_same(data, plain, tmp_path):
    X, y, _ = data
    rows, _ = run(plain, tmp_path / "o")
    with open(tmp_path / "d.jsonl", "w") as file:
        for x, value in zip(X.tolist(), y.tolist(), strict=True):
            file.write(json.dumps({**dict(zip("abc", x, strict=True)), "y": value}) + "\n\n")
    assert run(str(tmp_path / "d.jsonl"), tmp_path / "o2")[0] == rows
    text = Path(plain).read_text()
    spelled = {
        "crlf.csv": text.replace("\n", "\r\n"),
        "bom.csv": "\ufeff" + text,
        "semicolon.csv": text.replace(",", ";"),
        "tab.tsv": text.replace(",", "\t"),
        "quoted.csv": (
            text.replace(",", '","').replace("\n", '"\n"').join('""').removesuffix('"\n""') + '"'
        ),
        "unended.csv": text.removesuffix("\n"),
        "blank.csv": text.replace("\n", "\n\n"),
    }
    for name, content in spelled.items():
        (tmp_path / name).write_bytes(content.encode())
        assert run(str(tmp_path / name), tmp_path / "o3")[0] == rows, name
    (tmp_path / "odd.data").write_text(text)
    assert run(str(tmp_path / "odd.data"), tmp_path / "o4", format="csv")[0] == rows


def test_line_ends_within_quotes_and_missing_keys(tmp_path):
    (tmp_path / "q.csv").write_text('k,y\n"one\ntwo",1\nother,2\n"one\ntwo",3\n')
    rows, summary = run(str(tmp_path / "q.csv"), tmp_path / "o")
    assert rows["y"] == ["1.0", "2.0", "3.0"]
    assert summary["columns"] == ["(constant)", "k=one\ntwo", "k=other"]
    (tmp_path / "k.jsonl").write_text(
        '{"a": 1, "b": true, "y": 1}\n{"b": false, "y": null, "z": 3}\n{"a": 2, "b": null, "y":'
        " 2}\n"
    )
    rows, _ = run(str(tmp_path / "k.jsonl"), tmp_path / "o2")
    core, expected = TrackingForecaster(2, missing=True), []
    for x, y in (([1, 1], 1.0), ([np.nan, 0], None), ([2, np.nan], 2.0)):
        expected.append(core.predict(x))
        core.skip(x) if y is None else core.update(x, y)
    np.testing.assert_array_equal(floats(rows["forecast"]), expected)


def test_keys_that_the_first_object_has_not_are_told(tmp_path, capsys):
    source = tmp_path / "k.jsonl"
    source.write_text(
        '{"a": 1, "y": 1}\n{"a": 1, "y": 2, "z": 3}\n{"y": 3, "w": 4}\n{"a": 1, "y": 2, "z": 3}\n'
    )
    note = (
        "columns are the keys of the first object: got 'z', 'w' in later ones, left out; give the"
        " first all keys"
    )
    _, summary = run(str(source), tmp_path / "o")
    assert (summary["features"], summary["notes"]) == (["a"], [note])
    assert capsys.readouterr().err == f"note: {note}\n"
    # whoever names columns wants no others
    assert run(str(source), tmp_path / "o", features="a")[1]["notes"] == []
    source.write_text(
        '{"a": 1, "y": 1}\n{"y": 2}\n' + json.dumps({f"k{i}": i for i in range(9)}) + "\n"
    )
    (note,) = run(str(source), tmp_path / "o")[1]["notes"]
    assert "got 'k0', 'k1', 'k2', 'k3', 'k4' and others in later ones" in note


def test_features_can_be_chosen(data, plain, tmp_path):
    X, y, _ = data
    rows, summary = run(plain, tmp_path / "o", features="c, a")
    np.testing.assert_array_equal(
        floats(rows["forecast"]),
        TrackingForecaster(2, missing=True).track(X[:, [2, 0]], y),
    )
    assert summary["features"] == ["c", "a"]


def test_standard_input(plain, tmp_path, monkeypatch):
    rows, _ = run(plain, tmp_path / "o")
    with open(plain) as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert run("-", tmp_path / "o2", checkpoint=tmp_path / "c")[0] == rows
    text, before = Path(plain).read_bytes(), snapshot(tmp_path / "o2", tmp_path / "c")
    for content in (text, text + text.splitlines(keepends=True)[-1]):
        there, here = os.pipe()
        writer = threading.Thread(
            target=lambda fd=here, content=content: (os.write(fd, content), os.close(fd))
        )
        writer.start()
        with os.fdopen(there) as pipe:
            monkeypatch.setattr(sys, "stdin", pipe)
            again = run("-", tmp_path / "o2", checkpoint=tmp_path / "c")[0]
        writer.join()
        if content == text:
            assert snapshot(tmp_path / "o2", tmp_path / "c") == before
    assert len(again["row"]) == T + 1
    assert again["forecast"][:T] == rows["forecast"]


@pytest.mark.extra
def test_parquet_in_and_out(plain, tmp_path):
    arrow, arrow_csv, parquet = (
        package(name) for name in ("pyarrow", "pyarrow.csv", "pyarrow.parquet")
    )

    rows, _ = run(plain, tmp_path / "o")
    parquet.write_table(arrow_csv.read_csv(plain), tmp_path / "d.parquet", row_group_size=64)
    assert run(str(tmp_path / "d.parquet"), tmp_path / "o2", checkpoint=tmp_path / "c")[0] == rows
    before = snapshot(tmp_path / "o2", tmp_path / "c")
    assert run(str(tmp_path / "d.parquet"), tmp_path / "o2", checkpoint=tmp_path / "c")[0] == rows
    assert snapshot(tmp_path / "o2", tmp_path / "c") == before
    assert track(plain, "y", tmp_path / "o3", predictions="parquet", quiet=True) == 0
    assert sorted(p.name for p in (tmp_path / "o3").iterdir()) == [
        "predictions.parquet",
        "report.html",
        "summary.json",
    ]
    table = parquet.read_table(tmp_path / "o3" / "predictions.parquet")
    np.testing.assert_array_equal(table["forecast"].to_numpy(), floats(rows["forecast"]))
    assert table.schema.field("hi").type == table.schema.field("time").type == arrow.float64()
    dated = write(tmp_path / "b.csv", {"t": ["2020-01-01", "2020-01-02"], "y": ["1", "b"]})
    assert (
        track(
            dated, "y", tmp_path / "o4", time="t", task="binary", predictions="parquet", quiet=True
        )
        == 0
    )
    table = parquet.read_table(tmp_path / "o4" / "predictions.parquet")
    assert (table["time"].to_pylist(), table["y"].to_pylist()) == (
        ["2020-01-01", "2020-01-02"],
        ["1", "b"],
    )


@pytest.mark.extra
def test_predictions_in_parquet_are_on_the_disk_before_those_in_csv_go(
    plain, tmp_path, monkeypatch
):
    package("pyarrow")
    calls, fsync, replace, unlink = [], os.fsync, os.replace, Path.unlink

    def synced(number):
        calls.append(("sync", Path(os.readlink(f"/proc/self/fd/{number}")).name))
        fsync(number)

    def replaced(source, target):
        calls.append(("replace", Path(target).name))
        replace(source, target)

    def unlinked(path, **options):
        calls.append(("unlink", path.name))
        unlink(path, **options)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    monkeypatch.setattr(Path, "unlink", unlinked)
    assert track(plain, "y", tmp_path / "o", predictions="parquet", quiet=True) == 0
    last = calls.index(("unlink", "predictions.csv"))
    assert calls[last - 3 : last] == [
        ("sync", ".predictions.parquet.part"),
        ("replace", "predictions.parquet"),
        ("sync", "o"),
    ]


@pytest.mark.extra
def test_parquet_that_cannot_be_used(tmp_path, capsys):
    arrow, parquet = package("pyarrow"), package("pyarrow.parquet")
    path, columns = tmp_path / "d.parquet", [arrow.array(np.arange(5000.0))] * 3
    parquet.write_table(arrow.Table.from_arrays(columns, names=["y", "x", "x"]), path)
    bad(tmp_path, capsys, None, "different names: got 'x' twice", name="d.parquet")
    parquet.write_table(arrow.Table.from_arrays(columns, names=["y", "x", "z"]), path)
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(60) + content[64:])
    bad(tmp_path, capsys, None, "row 1: the Parquet file must be whole", name="d.parquet")


def test_without_pyarrow_the_remedy_is_told(plain, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
    assert track("x.parquet", "y", tmp_path / "o") == 2
    assert track(plain, "y", tmp_path / "o", predictions="parquet") == 2
    assert capsys.readouterr().err.count("run: pip install pyarrow") == 2
    assert not (tmp_path / "o").exists()


def test_what_is_printed(plain, tmp_path, capsys):
    assert track(plain, "y", tmp_path / "o", print_json=True) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(
        (tmp_path / "o" / "summary.json").read_text()
    )
    assert track(plain, "y", tmp_path / "o") == 0
    text = capsys.readouterr()
    assert "full-history RLS" in text.out
    assert "coverage" in text.out
    assert "wrote" in text.out
    assert track(plain, "y", tmp_path / "o", quiet=True) == 0
    assert capsys.readouterr() == ("", "")


def test_a_page_that_fails_loses_nothing(plain, tmp_path, monkeypatch, capsys):
    from stillpoint.report import page

    monkeypatch.setattr(page, "write_page", lambda *arguments: {}["gone"])
    rows, summary = run(plain, tmp_path / "o")
    assert len(rows["row"]) == T
    assert summary["files"] == ["predictions.csv", "summary.json"]
    note = "report.html was left out: KeyError: 'gone'; reinstall stillpoint"
    assert summary["notes"] == [note]
    assert f"note: {note}" in capsys.readouterr().err


def test_a_page_that_cannot_be_written_leaves_the_summary(plain, tmp_path, monkeypatch, capsys):
    from stillpoint.report import page

    def full(path, *arguments):
        path.write_text("half a page")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(page, "write_page", full)
    assert track(plain, "y", tmp_path / "o", quiet=True) == 1
    assert capsys.readouterr().err.startswith(
        "error: reading or writing failed: No space left on device"
    )
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == [
        "predictions.csv",
        "summary.json",
    ]
    summary = json.loads((tmp_path / "o" / "summary.json").read_text())
    assert (summary["rows"], summary["files"]) == (T, ["predictions.csv", "summary.json"])
    assert summary["notes"] == [
        "report.html was left out: No space left on device; run the command again"
    ]


def test_a_bar_on_a_terminal(plain, tmp_path):
    here, there = os.openpty()
    code = (
        "import sys\n"
        "from stillpoint.commands import track\n"
        "sys.exit(track(*sys.argv[1:], quiet=False))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, plain, "y", tmp_path / "o"],
        stderr=there,
        stdout=subprocess.PIPE,
        check=True,
    )
    os.close(there)
    assert b"rows" in os.read(here, 1 << 16)
    os.close(here)
    # one batch, in which code may have been compiled, says nothing of speed
    assert b"rows a second" not in done.stdout


@pytest.mark.parametrize("task", ["regression", "interval", "quantile", "binary", "series"])
@pytest.mark.parametrize("delay", [0, 2])
def test_degenerate_inputs(tmp_path, capsys, task, delay):
    cases = {
        "one row": "a,y\n1,1\n",
        "two rows": "a,y\n1,1\n2,0\n",
        "no target": "a,y\n1,\n2,\n3,\n",
        "constant": "a,y\n" + "1,1\n" * 50,
        "no cell": "a,y\n,\n,\n",
        "late target": "a,y\n" + "1,\n" * 20 + "2,1\n3,0\n" * 20,
    }
    options = {"features": ""} if task == "series" else {"task": task}
    for name, content in cases.items():
        (tmp_path / "d.csv").write_text(content)
        assert track(str(tmp_path / "d.csv"), "y", tmp_path / "o", delay=delay, **options) == 0, (
            name
        )
        out, err = capsys.readouterr()
        late = delay > 0 and task != "binary" and not name.startswith("no ")
        assert (err.count("\n"), "cover less than was asked" in err) == (late, late), name
        assert "stillpoint" in out
        assert len(read(tmp_path / "o")["row"]) == content.count("\n") - 1
        summary = json.loads((tmp_path / "o" / "summary.json").read_text())
        if name == "no target":
            assert set(summary["loss"].values()) == {None}


def test_infinite_intervals_are_inf_in_files_and_null_in_json(tmp_path):
    from stillpoint.commands.summary import plain as jsonable

    y = np.repeat([0.0, 1e6], 60).tolist() + np.geomspace(1e6, 1e30, 60).tolist()
    rows, summary = run(write(tmp_path / "d.csv", {"y": y}), tmp_path / "o", coverage=0.99)
    infinite = rows["hi"].count("inf")
    assert infinite > 0
    assert summary["coverage"]["infinite"] == infinite
    assert "Infinity" not in (tmp_path / "o" / "summary.json").read_text()
    assert jsonable({"a": {"b": np.inf}, "c": [1.0, np.nan]}) == {
        "a": {"b": None},
        "c": [1.0, None],
        "not_finite": ["a.b", "c[1]"],
    }


# mistakes


def bad(tmp_path, capsys, content, *parts, name="x.csv", code=2, target="y", **options):
    source = tmp_path / name
    if content is not None:
        source.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert track(str(source), target, tmp_path / "out", **options) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("error: ")
    for part in parts:
        assert part in err
    return err


@pytest.mark.parametrize(
    ("content", "options", "parts"),
    [
        (None, {}, ["the input must exist", "check the path"]),
        ("", {}, ["must have a header and rows"]),
        ("\n\n", {}, ["must have a header and rows"]),
        ("a,y\n", {}, ["got a header only"]),
        ("", {"name": "x.jsonl"}, ["must have a header and rows"]),
        (
            "a,y\n1,2\n",
            {"target": "Y1"},
            ["--target must be a column: got 'Y1'", "the columns are a, y"],
        ),
        ("alpha,y\n1,2\n", {"features": "alpa"}, ["did you mean alpha?"]),
        ("a,y\n1,2\n", {"time": "when"}, ["--time must be a column"]),
        ("a,a,y\n1,1,2\n", {}, ["different names", "'a' twice"]),
        ("a,y\n1,2\n3\n", {}, ["row 2:", "2 cells: got 1"]),
        ("a,y\n1,2\n\n3,4,5\n", {}, ["row 2:", "2 cells: got 3"]),
        ("a,y\n1,2\n3,4\nx,5\n", {}, ["row 3:", "column 'a' must be numeric: got 'x'"]),
        (
            "a,y\n1,2\n3,four\n",
            {},
            ["row 2:", "column 'y' must be numeric: got 'four'", "leave it empty"],
        ),
        ("a,y\n1,2\n1e101,4\n", {}, ["row 2:", "column 'a' must be within"]),
        ("a,y\n1,2\n1,inf\n", {}, ["row 2:", "column 'y' must be within"]),
        ("t,y\n1,2\n2,3\n2,4\n", {"time": "t"}, ["row 3:", "'t' must increase", "same time"]),
        ("t,y\n2,2\n1,3\n", {"time": "t"}, ["row 2:", "earlier time", "sort the rows"]),
        ("t,y\n2,2\n,3\n", {"time": "t"}, ["row 2:", "give every row its time"]),
        ("t,y\n2020-01-01,2\nlater,3\n", {"time": "t"}, ["row 2:", "ISO dates: got 'later'"]),
        ("y\nu\nv\nw\n", {"task": "binary"}, ["row 3:", "two labels: got 'w' beside 'u' and 'v'"]),
        ("y\n0\n2\n1\n", {"task": "binary"}, ["row 3:", "two labels"]),
        (b"y\n1\n\xff\n", {}, ["row 2:", "UTF-8"]),
        (b"\xff\xfe\n1\n", {}, ["UTF-8"]),
        ('{"y": 1}\n{"y": \n', {"name": "x.jsonl"}, ["row 2:", "JSON"]),
        ('{"y": 1}\n[1]\n', {"name": "x.jsonl"}, ["row 2:", "JSON object: got [1]"]),
        ('{"a": [1], "y": 1}\n', {"name": "x.jsonl"}, ["row 1:", "column 'a' must be numeric"]),
        ("y\n1\n", {"name": "x.dat"}, ["suffix '.dat'", "--format"]),
        ("y\n1\n", {"task": "regresion"}, ["did you mean regression?"]),
        (
            "y\n1\n",
            {"coverage": 1.5},
            ["--coverage must be a number between 0.000001 and 0.999999: got 1.5"],
        ),
        ("y\n1\n", {"level": 0.0}, ["--level"]),
        ("y\n1\n", {"delay": -1}, ["--delay must not be negative"]),
        ("y\n1\n", {"format": "xml"}, ["--format must be one of csv, jsonl, parquet"]),
        ("y\n1\n", {"time": "y"}, ["--time must not be the target"]),
        ("a,y\n1,1\n", {"features": "a,y"}, ["--features must not hold the target"]),
        ("a,y\n1,1\n", {"features": "a,a"}, ["--features must differ"]),
        ("y\n1\n", {"predictions": "xls"}, ["--predictions must be one of"]),
        ("y\n1\n", {"format": "parquet", "follow": True}, ["Parquet must be a whole file"]),
        ("a,y\r1,2\r", {}, ["the header must be CSV"]),
        ("y," + "x" * 200_000 + "\n1,2\n", {}, ["the header must be CSV: field larger"]),
        ('a,y\nu,1\n"v,2\nw,3\n', {}, ["row 2:", "must close its quotes"]),
        ('a,y\nv"v,1\nw"w,2\nu,3\n', {}, ["row 1:", "must be CSV", "check its quotes"]),
        ('y,a,b\n1,u,v\n2,w"w,"v\n3,u,v\n4,u,v\n', {}, ["row 2:", "must close its quotes"]),
        (
            '{"t": "2020-01-01", "y": 1}\n{"t": 5, "y": 1}\n',
            {"name": "x.jsonl", "time": "t"},
            ["row 2:", "ISO dates: got 5"],
        ),
        (
            '{"t": [1], "y": 1}\n',
            {"name": "x.jsonl", "time": "t"},
            ["row 1:", "ISO dates: got [1]"],
        ),
        (
            '{"y": "u"}\n{"y": "\\ud800"}\n',
            {"name": "x.jsonl", "task": "binary"},
            ["row 2:", "surrogate"],
        ),
        ("y\n1\n", {"delay": 10**20}, ["--delay must be at most"]),
        (
            "y\n1\n",
            {"delay": 1.5},
            ["--delay must be a whole number: got 1.5", "how many rows later"],
        ),
        ("y\n1\n", {"delay": "2"}, ["--delay must be a whole number: got '2'"]),
        (
            "y\n1\n",
            {"level": "0.9"},
            ["--level must be a number between 0.000001 and 0.999999: got '0.9'"],
        ),
        ("y\n1\n", {"coverage": None}, ["--coverage must be a number"]),
        ("y\n1\n", {"level": 1e-7}, ["between 0.000001 and 0.999999: got 1e-07"]),
        ("y\n1\n", {"task": 3}, ["--task must be one of", "got 3"]),
        ("y\n1\n", {"target": 1}, ["--target must be a column: got 1"]),
        ("y\n1\n12_0\n", {}, ["row 2:", "column 'y' must be numeric: got '12_0'"]),
        (
            '{"y": 1}\n{"y": "12_0"}\n',
            {"name": "x.jsonl"},
            ["row 2:", "column 'y' must be numeric: got '12_0'"],
        ),
        ("t,y\n1_0,2\n", {"time": "t"}, ["row 1:", "ISO dates: got '1_0'"]),
        (
            "y\nup\ndown\n",
            {},
            ["row 1:", "must be numeric: got 'up'", "add --task binary if it holds two labels"],
        ),
        (
            "y;a\n0,1257;1\n",
            {},
            ["row 1:", "got '0,1257'; write decimal points, and no commas between thousands"],
        ),
        (
            "y;a\n1.234,5;1\n",
            {"task": "quantile"},
            ["row 1:", "got '1.234,5'; write decimal points"],
        ),
        (
            "a,y\n1,2\n12.5 %,3\n",
            {},
            ["row 2:", "got '12.5 %'; write numbers without a percent sign"],
        ),
        (
            "a,y\n,2\n2024-01-01,3\n",
            {},
            ["row 2:", "if it holds dates, give --time a, or leave it out with --features"],
        ),
        (
            "",
            {"name": "x.csv.gz"},
            [
                "must not be compressed: got",
                "x.csv.gz | stillpoint track - …",
                "pipe it: gunzip -c ",
            ],
        ),
        ("", {"name": "x.zip"}, ["decompress it, or pipe it: unzip -p "]),
        ("", {"name": "x.jsonl.BZ2"}, ["decompress it, or pipe it: bunzip2 -c "]),
        ("", {"name": "x.csv.xz"}, ["decompress it, or pipe it: xz -dc "]),
        (
            gzip.compress(b"a,y\n1,2\n"),
            {"name": "x.data", "format": "jsonl"},
            ["must not be compressed", "gunzip -c "],
        ),
        (bz2.compress(b"a,y\n1,2\n"), {}, ["must not be compressed", "bunzip2 -c "]),
        (lzma.compress(b"a,y\n1,2\n"), {}, ["must not be compressed", "xz -dc "]),
        (b"PK\x03\x04\x14\0\0\0", {}, ["must not be compressed", "unzip -p "]),
        (b"PAR1\x15\x04\x15\n\0PAR1", {}, ["must be text: got", "add --format parquet"]),
    ],
)
def test_bad_input_is_told_in_one_line(tmp_path, capsys, content, options, parts):
    bad(tmp_path, capsys, content, *parts, **options)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b'{"y": 1}\n', "add --format jsonl"),
        (b'\xef\xbb\xbf \n {"y": 1}\n', "add --format jsonl"),
        (b"PAR1\x15\x04\x15\n\0PAR1", "Parquet must be a whole file: got - "),
        (gzip.compress(b"y\n1\n"), "gunzip -c FILE | stillpoint track - …"),
    ],
)
def test_standard_input_that_is_no_csv_is_told(tmp_path, monkeypatch, capsys, content, part):
    (tmp_path / "d").write_bytes(content)
    with open(tmp_path / "d") as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert track("-", "y", tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert part in error
    assert not (tmp_path / "out").exists()


def test_a_column_may_be_named_as_another_format_begins(tmp_path):
    for name in ("PAR1", "{y}", "PK", "BZh9"):
        assert run(write(tmp_path / "d.csv", {name: [1, 2], "y": [1, 2]}), tmp_path / "o")[1][
            "features"
        ] == [name]


@pytest.mark.parametrize("level", [1e-6, 1.0 - 1e-6, 0.99e-6, 1.0 - 0.99e-6, np.float32(0.5)])
def test_shares_are_those_of_the_trackers(level):
    try:
        QuantileTracker(level)
    except ValueError:
        with pytest.raises(InputError):
            share("--level", level)
    else:
        assert share("--level", level) == level


def test_a_delimiter_within_a_quoted_name(tmp_path):
    (tmp_path / "d.csv").write_text('"a,b,c";y\n1;2\n2;3\n')
    assert run(str(tmp_path / "d.csv"), tmp_path / "o")[1]["features"] == ["a,b,c"]


def test_numbers_with_commas_are_not_taken_for_words_in_silence(tmp_path, capsys):
    (tmp_path / "d.csv").write_text("y;x;k\n1;1,5;u\n2;2,5;v\n")
    notes = run(str(tmp_path / "d.csv"), tmp_path / "o")[1]["notes"]
    assert notes == [
        "column 'x' was read as words: got '1,5'; write numbers as 1234.5 if they are numbers"
    ]
    assert "note: column 'x'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["[/b]", "[red]"])
def test_names_are_not_markup(tmp_path, capsys, name):
    source = write(tmp_path / "d.csv", {name: [name, "u"] * 3, "x": range(6), "y": range(6)})
    assert track(source, name, tmp_path / "o", task="binary") == 0
    assert f"{name}: 6 rows" in capsys.readouterr().out
    labelled = write(tmp_path / "e.csv", {"y": ["u", name] * 3})
    assert track(labelled, "y", tmp_path / "o", task="binary") == 0
    assert f"probabilities of {name!r}" in capsys.readouterr().out


def test_a_new_run_does_not_leave_the_files_of_an_old_one(plain, tmp_path, capsys):
    out = tmp_path / "o"
    run(plain, out)
    (tmp_path / "d.csv").write_text("y\n1\nx\n")
    assert track(str(tmp_path / "d.csv"), "y", out) == 2
    assert sorted(file.name for file in out.iterdir()) == ["predictions.csv"]


def test_folders_and_files_that_stand_in_the_way(plain, tmp_path, capsys):
    assert track(str(tmp_path), "y", tmp_path / "o", format="csv") == 2
    assert "got the folder" in capsys.readouterr().err
    assert track(plain, "y", plain) == 2
    assert "--out must be a folder" in capsys.readouterr().err
    assert track(plain, "y", tmp_path / "o", checkpoint=plain) == 2
    assert "--checkpoint must be a folder" in capsys.readouterr().err


# the input is not written over


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("predictions.csv", {}),
        ("predictions.csv", {"predictions": "parquet"}),
        ("summary.json", {"format": "csv"}),
        ("report.html", {"format": "csv"}),
        ("predictions.parquet", {"format": "csv"}),
        (".summary.json.part", {"format": "csv"}),
    ],
)
@pytest.mark.parametrize(
    "way", ["itself", "dot", "symlink", "hard link", "linked folder", "standard input"]
)
def test_an_input_that_would_be_written_over_is_refused(
    tmp_path, monkeypatch, capsys, name, options, way
):
    out, data = tmp_path / "o", tmp_path / "data.csv"
    out.mkdir()
    source, text = out / name, b"a,y\n1,2\n3,4\n"
    (data if way in ("symlink", "hard link") else source).write_bytes(text)
    monkeypatch.chdir(out)
    given, place = str(source), out
    if way == "dot":
        given, place = name, Path()
    elif way == "symlink":  # the output leads to the input
        source.symlink_to(data)
        given = str(data)
    elif way == "hard link":
        source.hardlink_to(data)
        given = str(data)
    elif way == "linked folder":
        (tmp_path / "link").symlink_to(out)
        place = tmp_path / "link"
    before = snapshot(tmp_path)
    with open(source) as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert track("-" if way == "standard input" else given, "y", place, **options) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"and the run writes or deletes {place / name}; give another --out folder" in error
    assert error.startswith("error: --out must not overwrite the input: got ")
    assert snapshot(tmp_path) == before
    assert source.read_bytes() == text


@pytest.mark.parametrize("name", ["checkpoint.npz", "lock", ".checkpoint.npz.part"])
def test_an_input_that_a_checkpoint_would_write_over_is_refused(tmp_path, capsys, name):
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / name).write_text("a,y\n1,2\n3,4\n")
    before = snapshot(tmp_path)
    assert track(str(folder / name), "y", tmp_path / "o", format="csv", checkpoint=folder) == 2
    assert "--checkpoint must not overwrite the input: got " in capsys.readouterr().err
    assert snapshot(tmp_path) == before


def test_an_input_beside_the_outputs_stays(plain, tmp_path):
    text = Path(plain).read_bytes()
    for _ in range(2):
        run(plain, tmp_path, checkpoint=tmp_path)
    assert Path(plain).read_bytes() == text


def test_rows_before_a_bad_one_are_kept_and_a_checkpoint_goes_on(data, plain, tmp_path, capsys):
    whole, _ = run(plain, tmp_path / "whole")
    lines = Path(plain).read_text().splitlines(keepends=True)
    for i, (bad_line, problem) in enumerate(
        [("1,2\n", "4 cells"), ("1,x,2,3\n", "column 'b'"), ("1,2,3,zz\n", "column 'y'")]
    ):
        source, out, options = (
            tmp_path / f"d{i}.csv",
            tmp_path / f"o{i}",
            {"checkpoint": tmp_path / f"c{i}", "quiet": True},
        )
        source.write_text("".join([*lines[:101], bad_line, *lines[101:150], "1\n", *lines[150:]]))
        assert track(str(source), "y", out, **options) == 2
        assert f"row 101: {'a row must have' if i == 0 else problem}" in capsys.readouterr().err
        assert read(out)["forecast"] == whole["forecast"][:100]
        source.write_text("".join(lines))
        assert track(str(source), "y", out, **options) == 0
        assert read(out) == whole


def test_a_disk_that_fills(plain, tmp_path, capfd, monkeypatch):
    whole = run(plain, tmp_path / "whole")[0]
    monkeypatch.setattr(tracking, "BATCH", 50)
    options = {"quiet": True, "checkpoint": tmp_path / "c"}

    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000))
        return track(plain, "y", tmp_path / "o", quiet=True)

    assert ended(forked(limited)) == 1
    assert (
        "reading or writing failed: File too large; what was written is whole"
        in capfd.readouterr().err
    )
    rows = read(tmp_path / "o")
    assert 50 <= len(rows["row"]) < T
    assert rows["hi"] == whole["hi"][: len(rows["row"])]
    written = []

    def full(fd, content, write=os.write):
        written.append(len(content))
        if sum(written) > 15_000 and sum(written) < 40_000:
            write(fd, content[:10])
            raise OSError(28, "No space left on device")
        return write(fd, content)

    monkeypatch.setattr(os, "write", full)
    assert track(plain, "y", tmp_path / "p", **options) == 1
    assert "No space left on device" in capfd.readouterr().err
    monkeypatch.undo()
    assert 50 <= len(read(tmp_path / "p")["row"]) < T
    assert track(plain, "y", tmp_path / "p", **options) == 0
    assert read(tmp_path / "p") == whole


# kills, interrupts, locks


@pytest.fixture
def long(tmp_path):
    rng = np.random.default_rng(8)
    n = 6000
    kinds = rng.choice(["u", "v", "w"], n).tolist()
    y = [f"{v:.5f}" if rng.random() > 0.05 else "" for v in np.cumsum(rng.standard_normal(n) * 0.1)]
    times = np.cumsum(rng.exponential(1.0, n) + 0.01).tolist()
    return write(
        tmp_path / "long.csv",
        {"t": times, "a": rng.standard_normal(n).tolist(), "k": kinds, "y": y},
    )


@pytest.mark.parametrize("options", [{"time": "t"}, {"delay": 9, "task": "quantile"}])
def test_killed_anywhere_it_goes_on_to_the_same_bytes(long, tmp_path, monkeypatch, options):
    monkeypatch.setattr(tracking, "BATCH", 40)
    monkeypatch.setattr(session, "EVERY", 0.0)
    begun = time.monotonic()
    assert track(long, "y", tmp_path / "whole", quiet=True, **options) == 0
    lasts = 2.0 * (time.monotonic() - begun)
    luck, resumed = random.Random(3), 0
    out, folder = tmp_path / "o", tmp_path / "c"
    work = lambda: track(long, "y", out, quiet=True, checkpoint=folder, **options)  # noqa: E731
    for _ in range(10):
        child = forked(work)
        time.sleep(luck.uniform(0.0, min(lasts, 1.0) / 5))
        os.kill(child, signal.SIGKILL)
        assert ended(child) in (-signal.SIGKILL, 0)
        resumed += (folder / "checkpoint.npz").exists()
    assert resumed > 3
    assert ended(forked(work)) == 0
    assert (out / "predictions.csv").read_bytes() == (
        tmp_path / "whole" / "predictions.csv"
    ).read_bytes()
    ours, theirs = (
        json.loads((folder / "summary.json").read_text()) for folder in (out, tmp_path / "whole")
    )
    for key in ("rows", "targets", "loss", "coverage", "weights", "certificate"):
        assert ours[key] == theirs[key]
    before = snapshot(out, folder)
    assert work() == 0
    assert snapshot(out, folder) == before


@pytest.mark.parametrize("delay", [0, 3])
def test_killed_before_any_system_call_it_goes_on_to_the_same_bytes(
    plain, tmp_path, monkeypatch, delay
):
    monkeypatch.setattr(tracking, "BATCH", 60)
    monkeypatch.setattr(session, "EVERY", 0.0)
    run(plain, tmp_path / "whole", delay=delay)
    out, folder = tmp_path / "o", tmp_path / "c"
    work = lambda: track(plain, "y", out, quiet=True, checkpoint=folder, delay=delay)  # noqa: E731

    def dies(calls):
        left = [calls]
        for name in ("write", "fsync", "replace", "ftruncate"):
            real = getattr(os, name)

            def counted(*arguments, real=real):
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*arguments)

            setattr(os, name, counted)
        return work()

    deaths = 0
    # about 6 a batch, of which there are 7, then what it takes to finish
    for calls in (*range(8), 7, 7, 7, *range(16)):
        deaths += ended(forked(lambda calls=calls: dies(calls))) == -signal.SIGKILL
    assert deaths > 15
    assert work() == 0
    assert (out / "predictions.csv").read_bytes() == (
        tmp_path / "whole" / "predictions.csv"
    ).read_bytes()
    assert json.loads((out / "summary.json").read_text())["rows"] == T
    before = snapshot(out, folder)
    assert work() == 0
    assert snapshot(out, folder) == before


def test_a_finished_run_goes_on_when_the_file_has_grown(plain, tmp_path):
    whole = run(plain, tmp_path / "whole")[0]
    lines, source = Path(plain).read_text().splitlines(keepends=True), tmp_path / "grows.csv"
    for end in (100, 101, 250, T + 1):
        source.write_text("".join(lines[:end]).removesuffix("\n"))
        run(str(source), tmp_path / "o", checkpoint=tmp_path / "c")
    assert read(tmp_path / "o") == whole


def test_a_finished_run_writes_a_broken_summary_anew(plain, tmp_path):
    _, summary = run(plain, tmp_path / "o", checkpoint=tmp_path / "c")
    (tmp_path / "o" / "summary.json").write_text('{"rows": ')
    again = run(plain, tmp_path / "o", checkpoint=tmp_path / "c")[1]
    assert again["loss"] == summary["loss"]


def test_the_checkpoint_is_of_one_command_and_one_input(data, plain, tmp_path, capsys):
    out, folder = tmp_path / "o", tmp_path / "c"
    run(plain, out, checkpoint=folder)
    before = snapshot(out, folder)
    other = write(tmp_path / "other.csv", {k: v[::-1] for k, v in table(data).items() if k != "t"})
    short = tmp_path / "short.csv"
    short.write_text(Path(plain).read_text()[:500])
    cases = [
        (
            {"features": "a"},
            plain,
            "--features must be that of the checkpoint: got a, begun with a,b,c",
        ),
        ({"target": "a", "features": "b"}, plain, "--target must be that of the checkpoint"),
        ({"task": "quantile"}, plain, "--task must be"),
        ({"delay": 1}, plain, "--delay must be"),
        ({"coverage": 0.8}, plain, "--coverage must be"),
        ({"out": tmp_path / "o9"}, plain, "--out must be"),
        ({"time": "a"}, plain, "--time must be"),
        ({}, other, "the input must be that of the checkpoint"),
        ({}, str(short), "must not have shrunk"),
    ]
    for change, source, message in cases:
        options = {"target": "y", "out": out, "checkpoint": folder, "quiet": True, **change}
        assert track(source, **options) == 2
        assert message in capsys.readouterr().err
    assert snapshot(out, folder) == before
    (out / "predictions.csv").write_text("row\n")
    assert track(plain, "y", out, checkpoint=folder) == 2
    assert "as the checkpoint left it" in capsys.readouterr().err


def test_a_corrupted_checkpoint_is_refused(plain, tmp_path, capsys):
    folder = tmp_path / "c"
    run(plain, tmp_path / "o", checkpoint=folder)
    path = folder / "checkpoint.npz"
    content = path.read_bytes()
    for broken in (
        content[:-5],
        content[:3000] + bytes([content[3000] ^ 1]) + content[3001:],
        b"",
        b"PK" + content,
        content.replace(b"track 2 ", b"track 9 ", 1),
    ):
        path.write_bytes(broken)
        assert track(plain, "y", tmp_path / "o", checkpoint=folder) == 2
        error = capsys.readouterr().err
        assert "the checkpoint must be" in error
        assert "delete" in error


def as_first_version(data):
    """A checkpoint as the first version wrote it."""
    header, arrays = container.read("track", 2, data)
    text = json.dumps({**header, "numbers": decode_fields(header["numbers"])}).encode()
    body = io.BytesIO()
    np.savez(
        body,
        header=np.frombuffer(text, dtype=np.uint8),
        **{f"array.{key}": value for key, value in arrays.items()},
    )
    return (
        b"stillpoint-track-1 "
        + hashlib.sha256(body.getvalue()).hexdigest().encode()
        + b"\n"
        + body.getvalue()
    )


@pytest.mark.parametrize("options", [{}, {"delay": 3}, {"task": "quantile", "delay": 1}])
def test_a_checkpoint_of_the_first_version_goes_on(plain, tmp_path, capsys, options):
    whole = run(plain, tmp_path / "whole", **options)[0]
    lines, source = Path(plain).read_text().splitlines(keepends=True), tmp_path / "grows.csv"
    path = tmp_path / "c" / "checkpoint.npz"
    source.write_text("".join(lines[:150]))
    run(str(source), tmp_path / "o", checkpoint=tmp_path / "c", **options)
    old = as_first_version(path.read_bytes())
    source.write_text("".join(lines))
    for broken in (old[:-1], old[:2000] + bytes([old[2000] ^ 1]) + old[2001:]):
        path.write_bytes(broken)
        assert track(str(source), "y", tmp_path / "o", checkpoint=tmp_path / "c", **options) == 2
        assert "the checkpoint must be whole" in capsys.readouterr().err
    path.write_bytes(old)
    assert run(str(source), tmp_path / "o", checkpoint=tmp_path / "c", **options)[0] == whole
    assert path.read_bytes().startswith(b"stillpoint track 2 ")


def test_a_checkpoint_with_another_state_under_a_right_checksum_is_refused(plain, tmp_path, capsys):
    lines, source = Path(plain).read_text().splitlines(keepends=True), tmp_path / "grows.csv"
    path = tmp_path / "c" / "checkpoint.npz"
    source.write_text("".join(lines[:150]))
    run(str(source), tmp_path / "o", checkpoint=tmp_path / "c", delay=3)
    whole = path.read_bytes()
    source.write_text("".join(lines))
    header, arrays = container.read("track", 2, whole)
    for name, array in arrays.items():
        for other in (
            array[:0],
            np.concatenate([array, array]),
            array[None],
            array.astype("U8"),
            np.zeros(7),
            None,
        ):
            changed = {key: value for key, value in arrays.items() if key != name} | (
                {} if other is None else {name: other}
            )
            path.write_bytes(b"".join(container.write("track", 2, header, changed)))
            assert (
                track(str(source), "y", tmp_path / "o", checkpoint=tmp_path / "c", delay=3) == 2
            ), name
            assert "the checkpoint must be whole" in capsys.readouterr().err
    path.write_bytes(whole)
    assert track(str(source), "y", tmp_path / "o", checkpoint=tmp_path / "c", delay=3) == 0


def test_what_is_said_is_written_in_one_piece(monkeypatch):
    """Several processes may say something at once: the end of a line must not come after the line
    of another.
    """
    written = []
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(write=written.append, flush=lambda: None))
    assert say("error: x", 2) == 2
    assert written == ["error: x\n"]


def test_the_lock_dies_with_its_process(plain, tmp_path, capsys):
    folder = tmp_path / "c"

    def hold():
        Checkpoint(folder)
        time.sleep(60)
        return 0

    child = forked(hold)
    try:
        while not (folder / "lock").exists():
            time.sleep(0.01)
        time.sleep(0.05)
        assert track(plain, "y", tmp_path / "o", checkpoint=folder) == 2
        assert "another process holds" in capsys.readouterr().err
        assert not (tmp_path / "o").exists()
    finally:
        os.kill(child, signal.SIGKILL)
        ended(child)
    run(plain, tmp_path / "o", checkpoint=folder)
    with pytest.raises(InputError, match="must be a folder"):
        Checkpoint(folder / "lock")


@pytest.mark.parametrize("checkpoint", [False, True])
def test_follow_a_growing_file(plain, tmp_path, checkpoint):
    whole = run(plain, tmp_path / "whole")[0]
    lines, source, out = (
        Path(plain).read_text().splitlines(keepends=True),
        tmp_path / "grows.csv",
        tmp_path / "o",
    )
    source.write_text("")
    options = {"checkpoint": tmp_path / "c"} if checkpoint else {}
    child = forked(lambda: track(str(source), "y", out, follow=True, quiet=True, **options))
    with open(source, "a") as file:
        for first, last in ((0, 50), (50, 51), (51, 200)):
            # the last row is only half there
            file.write("".join(lines[first:last]) + lines[last][:4])
            file.flush()
            wait_for(lambda last=last: lines_of(out / "predictions.csv") == last)
            file.write(lines[last][4:])
            file.flush()
            lines[last] = ""
            wait_for(lambda last=last: lines_of(out / "predictions.csv") == last + 1)
    os.kill(child, signal.SIGINT)
    assert ended(child) == 0
    assert read(out)["hi"] == whole["hi"][:200]
    assert json.loads((out / "summary.json").read_text())["rows"] == 200
    assert (out / "report.html").exists()
    if checkpoint:
        assert run(str(source), out, **options)[1]["complete"] is True
        assert read(out)["hi"] == whole["hi"][:200]


def test_a_followed_file_must_not_shrink(plain, tmp_path, capfd):
    run(plain, tmp_path / "compiled")
    source, out = tmp_path / "grows.csv", tmp_path / "o"
    source.write_text(Path(plain).read_text())
    child = forked(lambda: track(str(source), "y", out, follow=True))
    wait_for(lambda: lines_of(out / "predictions.csv") == T + 1)
    source.write_text("a,b,c,y\n")
    assert soon(child) == 2
    assert "error: the input must only grow while it is followed" in capfd.readouterr().err
    assert len(read(out)["row"]) == T


@pytest.mark.parametrize("kind", ["file", "pipe"])
def test_a_followed_input_that_is_deleted_ends_the_run(plain, tmp_path, capfd, kind):
    run(plain, tmp_path / "compiled")
    source, out = tmp_path / "grows.csv", tmp_path / "o"
    if kind == "pipe":
        os.mkfifo(source)
    else:
        source.write_text("")
    child = forked(lambda: track(str(source), "y", out, follow=True, quiet=True))
    with open(source, "a") as file:
        file.write(Path(plain).read_text() + "1,2")  # half a row is none
    wait_for(lambda: lines_of(out / "predictions.csv") == T + 1)
    source.unlink()
    assert soon(child) == 0
    assert "note: the input was deleted" in capfd.readouterr().err
    assert json.loads((out / "summary.json").read_text())["rows"] == T


def test_following_waits_without_work(plain, tmp_path):
    """Less than a tenth of a core while nothing comes, from a file, a named pipe without a writer,
    and one whose writer left.
    """
    run(plain, tmp_path / "compiled")
    for name in ("file.csv", "pipe.csv", "left.csv"):
        source, out = tmp_path / name, tmp_path / f"o-{name}"
        (source.touch if name == "file.csv" else lambda source=source: os.mkfifo(source))()
        child = forked(
            lambda source=source, out=out: track(str(source), "y", out, follow=True, quiet=True)
        )
        if name != "pipe.csv":
            with open(source, "a") as file:
                file.write(Path(plain).read_text())
            wait_for(lambda out=out: lines_of(out / "predictions.csv") == T + 1)
        time.sleep(0.3)
        spent = [
            sum(map(int, Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11:13]))
        ]
        time.sleep(1.0)
        spent.append(
            sum(map(int, Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11:13]))
        )
        assert (spent[1] - spent[0]) / os.sysconf("SC_CLK_TCK") < 0.1
        os.kill(child, signal.SIGTERM)
        assert soon(child) == 0


def test_ctrl_c_while_nobody_writes_to_a_named_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    child = forked(lambda: track(str(tmp_path / "pipe.csv"), "y", tmp_path / "o"))
    time.sleep(0.3)
    os.kill(child, signal.SIGINT)
    assert soon(child) == 130


def test_a_named_pipe_is_read_to_its_end(plain, tmp_path):
    whole, pipe = run(plain, tmp_path / "whole")[0], tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    child = forked(lambda: track(str(pipe), "y", tmp_path / "o", quiet=True))
    time.sleep(0.3)
    pipe.write_bytes(Path(plain).read_bytes())
    assert soon(child) == 0
    assert read(tmp_path / "o") == whole


def test_two_runs_do_not_write_to_one_folder(plain, tmp_path, capsys):
    run(plain, tmp_path / "compiled")
    source, out = tmp_path / "grows.csv", tmp_path / "o"
    source.write_text(Path(plain).read_text())
    child = forked(lambda: track(str(source), "y", out, follow=True, quiet=True))
    wait_for(lambda: lines_of(out / "predictions.csv") == T + 1)
    assert track(plain, "y", out) == 2
    assert "--out must be free: another process is writing" in capsys.readouterr().err
    assert lines_of(out / "predictions.csv") == T + 1
    os.kill(child, signal.SIGKILL)
    ended(child)
    run(plain, out)


def test_a_header_that_cannot_be_written_leaves_the_file_free(tmp_path, monkeypatch):
    path = tmp_path / "predictions.csv"
    with monkeypatch.context() as patch:
        patch.setattr(
            os, "write", lambda *arguments: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full"))
        )
        with pytest.raises(OSError, match="full") as error:  # which keeps the sink that failed
            Sink(path, b"row\n", None)
    Sink(path, b"row\n", None).close()
    del error


def test_standard_input_that_was_read_in_part_goes_on_with_a_checkpoint(
    plain, tmp_path, monkeypatch
):
    whole = run(plain, tmp_path / "whole")[0]
    skipped, lines = (
        b"a comment that a shell has read\n",
        Path(plain).read_bytes().splitlines(keepends=True),
    )
    source, out = tmp_path / "d.csv", tmp_path / "o"
    for end in (100, T + 1):
        source.write_bytes(skipped + b"".join(lines[:end]))
        with open(source) as file:
            os.lseek(file.fileno(), len(skipped), os.SEEK_SET)
            monkeypatch.setattr(sys, "stdin", file)
            assert track("-", "y", out, checkpoint=tmp_path / "c", quiet=True) == 0
    assert read(out) == whole


def test_children_die_with_the_tests(tmp_path):
    """What `forked` started ends when its parent is killed, which no fixture survives."""

    def parent():
        (tmp_path / "child").write_text(str(forked(lambda: time.sleep(60))))
        time.sleep(60)

    child = forked(parent)
    wait_for(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text())
    time.sleep(0.2)
    os.kill(child, signal.SIGKILL)
    ended(child)
    grandchild = Path("/proc") / (tmp_path / "child").read_text() / "stat"
    wait_for(
        lambda: (
            not grandchild.exists() or grandchild.read_text().rpartition(")")[2].split()[0] == "Z"
        )
    )


def test_follow_a_pipe_and_a_named_pipe(plain, tmp_path, monkeypatch):
    whole = run(plain, tmp_path / "whole")[0]
    lines, out = Path(plain).read_bytes().splitlines(keepends=True), tmp_path / "o"
    there, here = os.pipe()
    child = forked(
        lambda: (on_pipe(there, here), track("-", "y", out, follow=True, quiet=True))[-1]
    )
    os.close(there)
    os.write(here, b"".join(lines[:10]))
    wait_for(lambda: lines_of(out / "predictions.csv") == 10)
    os.write(here, b"".join(lines[10:20]))
    wait_for(lambda: lines_of(out / "predictions.csv") == 20)
    os.close(here)
    assert ended(child) == 0
    assert read(out)["lo"] == whole["lo"][:19]
    assert json.loads((out / "summary.json").read_text())["complete"] is True

    pipe, out = tmp_path / "pipe.csv", tmp_path / "o2"
    os.mkfifo(pipe)
    child = forked(lambda: track(str(pipe), "y", out, follow=True, quiet=True))
    for part in (lines[:30], lines[30:60]):  # one writer after the other
        pipe.write_bytes(b"".join(part))
    wait_for(lambda: lines_of(out / "predictions.csv") == 60)
    os.kill(child, signal.SIGTERM)
    assert ended(child) == 0
    assert read(out)["lo"] == whole["lo"][:59]


def test_ctrl_c_leaves_whole_files(plain, tmp_path, capfd):
    run(plain, tmp_path / "compiled")
    lines, out = Path(plain).read_bytes().splitlines(keepends=True), tmp_path / "o"
    for number, count in ((signal.SIGINT, 40), (signal.SIGTERM, 0)):
        there, here = os.pipe()
        child = forked(
            lambda there=there, here=here: (on_pipe(there, here), track("-", "y", out))[-1]
        )
        os.close(there)
        os.write(here, b"".join(lines[:count]))
        if count:
            wait_for(lambda: lines_of(out / "predictions.csv") == 40)
        else:
            time.sleep(0.5)
        os.kill(child, number)
        assert ended(child) == 128 + number
        os.close(here)
        errors = capfd.readouterr().err
        assert "interrupted: " in errors
        assert "--checkpoint DIR" in errors
        assert "Traceback" not in errors
        assert json.loads((out / "summary.json").read_text())["complete"] is False
        assert len(read(out)["row"]) == 39


def test_interrupted_with_a_checkpoint_it_goes_on(long, tmp_path, monkeypatch):
    monkeypatch.setattr(tracking, "BATCH", 10)
    whole = run(long, tmp_path / "whole")[0]
    out, options = tmp_path / "o", {"checkpoint": tmp_path / "c", "quiet": True}
    child = forked(lambda: track(long, "y", out, **options))
    wait_for(lambda: lines_of(out / "predictions.csv") > 100)
    os.kill(child, signal.SIGINT)
    assert ended(child) in (130, 0)
    assert track(long, "y", out, **options) == 0
    assert read(out) == whole


def test_a_second_ctrl_c_ends_at_once(capsys):
    from stillpoint.commands.errors import Stop

    with Stop() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.signal == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# the history


def test_history_is_bounded_and_exact():
    rng = np.random.default_rng(0)
    n, capacity = 1003, 16
    y, f = rng.standard_normal((2, n))
    f[0] = 0.0  # nothing has been seen, and it is not drawn
    y[rng.random(n) < 0.1] = np.nan
    lo, hi = f - 1.0, f + 1.0
    hi[rng.random(n) < 0.1] = np.inf
    losses, weights, times = (
        rng.random((2, n)),
        rng.dirichlet(np.ones(3), n),
        np.cumsum(rng.random(n)),
    )
    history = History(
        "regression", "squared error", ["stillpoint", "last value"], ["p", "q", "r"], capacity
    )
    cuts = [0, 1, 2, 17, 400, 401, n]
    for a, b in itertools.pairwise(cuts):
        part = slice(a, b)
        args = (
            times[part],
            y[part],
            f[part],
            lo[part],
            hi[part],
            np.ascontiguousarray(losses[:, part]),
            weights[part],
        )
        history.add(1 + a, Forecasts(*args), True)
    columns = history.columns()
    size = 64
    assert columns["rows"].tolist() == [size] * (n // size) + [n % size]
    assert columns["row"].tolist() == list(range(1, n + 1, size))
    for b, start in enumerate(range(0, n, size)):
        part = slice(start, min(start + size, n))
        seen = y[part][~np.isnan(y[part])]
        finite = np.isfinite(hi[part])
        expected = {
            "time": times[start],
            "y_min": seen.min(),
            "y_mean": seen.mean(),
            "y_max": seen.max(),
            "forecast": f[part][b == 0 :].mean(),
            "lo": lo[part].mean(),
            "hi": hi[part][finite].mean(),
            "width": 2.0,
            "scored": seen.size,
            "covered": ((lo[part] <= y[part]) & (y[part] <= hi[part])).sum(),
            "loss:last value": losses[1, part][~np.isnan(y[part])].sum(),
            "weight:2": weights[part, 2].mean(),
        }
        for name, value in expected.items():
            assert columns[name][b] == pytest.approx(value), name
    other = History(
        "regression", "squared error", ["stillpoint", "last value"], ["p", "q", "r"], capacity
    )
    other.restore(history.arrays())
    for name, values in other.columns().items():
        np.testing.assert_array_equal(values, columns[name])


def test_history_of_a_long_stream_stays_small():
    history = History("regression", "squared error", ["stillpoint"], ["p"])
    n = 1 << 16
    ones = np.ones(n)
    for i in range(16):
        history.add(
            1 + i * n, Forecasts(ones, ones, ones, ones, ones, ones[None], ones[:, None]), True
        )
    columns = history.columns()
    assert 1000 <= len(columns["row"]) <= 2000
    assert columns["rows"].sum() == columns["loss:stillpoint"].sum() == 16 * n
    assert sum(value.nbytes for value in history.arrays().values()) < 400_000


def test_empty_buckets_are_nan():
    history = History("binary", "log loss", [], [])
    nan = np.full(1, np.nan)
    none = np.zeros((0, 1)), np.zeros((1, 0))
    history.add(1, Forecasts(np.ones(1), nan, np.ones(1), nan, nan, *none), False)
    columns = history.columns()
    assert all(
        np.isnan(columns[name]).all() for name in ("y_min", "y_mean", "y_max", "lo", "hi", "width")
    )
    assert columns["scored"].tolist() == columns["covered"].tolist() == [0.0]


def test_memory_does_not_grow_with_the_file(tmp_path):
    """A file of 30 MB passes in a process whose memory grows by far less."""
    for name, rows in (("small.csv", 10_000), ("big.csv", 60_000)):
        with (tmp_path / name).open("w") as file:
            file.write("a,note,y\n")
            file.writelines(["0.125," + "n" * 500 + ",1.5\n"] * rows)
    code = (
        "import resource, sys\n"
        "from stillpoint.commands import track\n"
        "for name in ('small.csv', 'big.csv'):\n"
        "    source, out = f'{sys.argv[1]}/{name}', sys.argv[1] + '/o'\n"
        "    assert track(source, 'y', out, features='a', quiet=True) == 0\n"
        "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True
    )
    before, after = map(int, done.stdout.split())
    assert after - before < 10_000  # kB


def test_the_command_is_light_to_import():
    code = (
        "import stillpoint.commands, sys\n"
        "print([m for m in ('numba', 'numpy', 'rich', 'typer') if m in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )

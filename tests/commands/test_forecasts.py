"""`stillpoint track`: what it writes, against direct use of the learners."""

import json

import numpy as np
import pytest

from children import (
    no_child_survives,  # noqa: F401
)
from extras import package
from stillpoint.commands import track, tracking
from stillpoint.commands.engine import Linear, Logistic
from stillpoint.core import container
from stillpoint.forecasters import TrackingForecaster, TrackingProbabilities, VariationForecaster
from stillpoint.forecasters._linear import AT, ROW
from stillpoint.intervals import IntervalTracker, QuantileTracker
from stillpoint.losses import Pinball
from thorough import some
from tracked import T, bad, floats, run, table, write


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
        still = core._state.table[ROW.clipped, 0] + core._state.scalars[AT.origin]
        losses.append((value - still) ** 2)
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
        forecasts = TrackingProbabilities(3, classes=2, missing=True).track(
            X, labels.astype(int), ties
        )[:, 1]
        np.testing.assert_array_equal(floats(rows["forecast"]), forecasts)
    elif "delay" not in options:
        np.testing.assert_array_equal(
            floats(rows["forecast"]),
            TrackingForecaster(3, missing=True).track(X, y, ties),
        )
    assert np.isfinite(floats(rows["forecast"])).all()


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("task", ["regression", "interval"])
def test_no_features_make_a_level_that_is_followed(data, tmp_path, timed, task):
    _, y, times = data
    source = write(
        tmp_path / "s.csv", {"t": times.tolist(), "y": y.tolist()} if timed else {"y": y.tolist()}
    )
    options = {"time": "t" if timed else None, "task": task, "learner": "regression"}
    rows, summary = run(source, tmp_path / "o", **options)
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
        **options,
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
    series, _ = run(plain, tmp_path / "o2", task="quantile", features="", learner="regression")
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


@pytest.mark.parametrize("marker", some(MARKERS, every=2))
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
        "y": range(-4, 5),
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
            "row 1: column 'd' must be numeric: got 1970-01-01",
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
    assert not {name for name in summary["certificate"] if not name.startswith("misses")}
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

"""`stillpoint track`: formats and standard input, and what is written and printed."""

import errno
import gzip
import json
import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from children import (
    ended,
    forked,
    no_child_survives,  # noqa: F401
    snapshot,
)
from extras import package
from stillpoint.commands import lines as lines_module
from stillpoint.commands import session, track
from stillpoint.commands.engine import Engine
from stillpoint.commands.tracking import Track
from stillpoint.core import jit
from stillpoint.forecasters import TrackingForecaster
from thorough import some_of
from tracked import T, bad, floats, read, run, write


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


@pytest.mark.extra
@pytest.mark.parametrize("kind", ["timestamp", "date"])
def test_dates_in_parquet_that_python_has_not_are_refused_by_column(tmp_path, capsys, kind):
    arrow, parquet = package("pyarrow"), package("pyarrow.parquet")
    times = arrow.array([1 << 62, 1 << 62], arrow.timestamp("us"))
    if kind == "date":
        times = arrow.array([1 << 30, 1 << 30], arrow.int32()).cast(arrow.date32())
    parquet.write_table(arrow.table({"t": times, "y": [1.0, 2.0]}), tmp_path / "d.parquet")
    parts = ("column 't' must hold what Python can read: got", "d.parquet (", "leave the column")
    bad(tmp_path, capsys, None, *parts, name="d.parquet", time="t")
    run(str(tmp_path / "d.parquet"), tmp_path / "o", features="")


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


def test_compiling_is_told_where_rows_are_counted_and_at_the_end(plain, tmp_path, monkeypatch):
    told, parts = [], ((Engine, "run"), (Track, "_figures"))

    def announced(function):
        def compiled(*given):
            jit._announce(function)
            return function(*given)

        return compiled

    monkeypatch.setattr(session, "progress", lambda *bar: lambda text, place: told.append(text))
    for owner, name in parts:
        monkeypatch.setattr(owner, name, announced(getattr(owner, name)))
    run(plain, tmp_path / "o")
    assert told[:1] + told[-3:] == [
        "compiling, once",
        f"{T} rows",
        f"{T} rows, summing up",
        "compiling, once",
    ]


def test_a_bar_on_a_terminal(plain, tmp_path):
    here, there = os.openpty()

    def work():
        sys.stdout, sys.stderr = (tmp_path / "said").open("w"), os.fdopen(there, "w")
        code = track(plain, "y", tmp_path / "o", quiet=False)
        sys.stdout.flush()
        return code

    child = forked(work)
    os.close(there)
    assert ended(child) == 0
    assert b"rows" in os.read(here, 1 << 16)
    os.close(here)
    # one batch, in which code may have been compiled, says nothing of speed
    said = (tmp_path / "said").read_text()
    assert "wrote" in said
    assert "rows a second" not in said


TASKS = ["regression", "interval", "quantile", "binary", "series"]


@pytest.mark.parametrize(("task", "delay"), some_of(TASKS, [0, 2], every=2))
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
        none = name.startswith("no ")
        late = delay > 0 and task == "quantile" and not none
        assert ("no row has a target" in err, "cover less than was asked" in err) == (none, late)
        levelled = delay > 0 and task == "series" and not none
        assert ("by its level alone" in err) == levelled
        assert err.count("\n") == none + late + levelled, name
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


@pytest.mark.parametrize("piped", [False, True])
def test_gzip_is_read_as_it_is_and_goes_on_where_it_was(plain, tmp_path, monkeypatch, piped):
    whole = run(plain, tmp_path / "whole")[0]
    lines = Path(plain).read_bytes().splitlines(keepends=True)
    source, options = tmp_path / "d.csv.gz", {"checkpoint": tmp_path / "c"}
    monkeypatch.setattr(lines_module, "PACKED", 100)
    for ends in ((100,), (100, 230), (100, 230, T + 1)):
        # members one after the other, as `cat` and rotated logs make them
        cuts = zip((0, *ends), ends, strict=False)
        source.write_bytes(b"".join(gzip.compress(b"".join(lines[a:b])) for a, b in cuts))
        if piped:
            with open(source) as file:
                monkeypatch.setattr(sys, "stdin", file)
                rows = run("-", tmp_path / "o", **options)[0]
        else:
            rows = run(str(source), tmp_path / "o", **options)[0]
    assert rows == whole
    other = b"".join([*lines[:3], *lines[4:]])
    source.write_bytes(gzip.compress(other))
    if not piped:
        assert track(str(source), "y", tmp_path / "o", quiet=True, **options) == 2

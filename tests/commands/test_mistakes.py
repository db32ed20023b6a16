"""`stillpoint track`: every bad input is one line, and the input is not written over."""

import bz2
import gzip
import lzma
import os
import resource
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from children import (
    ended,
    forked,
    no_child_survives,  # noqa: F401
    snapshot,
)
from stillpoint.commands import track, tracking
from stillpoint.commands.arguments import share
from stillpoint.commands.errors import InputError
from stillpoint.intervals import QuantileTracker
from tracked import T, bad, read, run, write


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
        ("a,y\n1,2\n", {"target": "Y"}, ["--target must be a column: got 'Y'; did you mean y?"]),
        ("a,b,y\n1,2,3\n", {"target": "b,y"}, ["one column: got 'b,y'; forecast one a run"]),
        (
            "a,y\n1,2\n",
            {"known": "a,y", "features": "a"},
            ["--known must be a feature: got 'y', which is the target; leave it out"],
        ),
        ("y\n1\n", {"known": "promo"}, ["got 'promo'; there are no other columns, so add one"]),
        ("Sales 2024\na,y\n1,2\n", {}, ["columns are Sales 2024; leave out lines above the"]),
        ("y\n1\n", {"name": "x.xlsx"}, ["got the spreadsheet", "save it as CSV", "read_excel"]),
        (
            b"PK\x03\x04x\n",
            {"name": "x.xlsx", "format": "csv"},
            ["got the spreadsheet", "save it as CSV"],
        ),
        (b"a,y\n1,2\n\xfc,2\n", {}, ["row 2: a row must be UTF-8", "iconv -f latin1 -t utf8"]),
        (
            "t,y\n2025-02-28,1\n2025-02-30,2\n",
            {"time": "t"},
            ["row 2:", "got '2025-02-30'; there is no such day, so repair it"],
        ),
        (
            "t,y\n28.02.2025,1\n30.02.2025,2\n",
            {"time": "t"},
            ["row 2:", "got '30.02.2025'; there is no such day, so repair it"],
        ),
        ("a,y\n1,2\n", {"time": "when"}, ["--time must be a column"]),
        ("a,a,y\n1,1,2\n", {}, ["different names", "'a' twice"]),
        ("Sales 2024,,\nday,shop,y\n1,2,3\n", {}, ["'' twice", "leave out lines above the header"]),
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
        (
            "y\nu\nv\nw\n",
            {"task": "binary"},
            ["row 3:", "two labels: got 'w' beside 'u' and 'v'"],
        ),
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
        (
            "y\n1\n",
            {"level": 0.99},
            ["--level must fit the task: got 0.99 with --task regression; only --task quantile"],
        ),
        *(
            ("y\n1\n", {"coverage": 0.5, "task": task}, [f"got 0.5 with --task {task}; only"])
            for task in ("quantile", "binary")
        ),
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
        *(
            (f"y;a\n{cell};1\n", {}, ["row 1:", f"pandas.read_csv(…, {mark}=',') reads"])
            for cell, mark in (("1,000.54", "thousands"), ("1,000", "decimal"), ("0,5", "decimal"))
        ),
        ("y;a\n1.234,5;1\n", {}, ["pandas.read_csv(…, decimal=',', thousands='.') reads"]),
        ("y;a\n1.234.567;1\n", {}, ["row 1:", "no points between thousands", "thousands='.')"]),
        (
            "a,y\n1,2\n12.5 %,3\n",
            {},
            ["row 2:", "got '12.5 %'; write numbers without a percent sign"],
        ),
        *(
            (f'a,y\n1,"{cell}"\n', {}, ["row 1:", "without a currency, brackets or spaces"])
            for cell in ("$1,350.04", "-€5", "1 350,04 €", "(74.75)", "74.75-", "1'350", "1\xa0350")
        ),
        (
            "day,y\n2024-01-01,2\n2024-01-02,3\nTotal,5\n",
            {"time": "day"},
            ["row 3:", "ISO dates: got 'Total'; leave out rows that are no data, such as totals"],
        ),
        ("t,y\n1,2\n,2\n", {"time": "t"}, ["row 2:", "or leave the row out"]),
        (
            "t,k,y\n1,a,2\n2,a,1\n1,b,3\n",
            {"time": "t"},
            ["row 3:", "sort the rows, or, for several series in one file, use stillpoint fleet"],
        ),
        (
            "a,y\n,2\n2024-01-01,3\n",
            {},
            ["row 2:", "if it holds dates, give --time a, or leave it out with --features"],
        ),
        ("", {"name": "x.parquet.gz"}, ["must not be packed once more", "unpack it: gunzip "]),
        ("", {"name": "x.gz"}, ["the format must be known: got the suffix ''"]),
        (
            gzip.compress(b"a,y\n1,2\n")[:-9],
            {"name": "x.csv.gz"},
            ["row 2: gzip data must be whole: it ends too early"],
        ),
        (
            gzip.compress(b"y\n" + b"1\n" * 9)[:-8] + b"oh, no!!",
            {"name": "x.csv.gz"},
            ["gzip data must be whole: got"],
        ),
        ("", {"name": "x.zip"}, ["decompress it, or pipe it: unzip -p "]),
        ("", {"name": "x.jsonl.BZ2"}, ["decompress it, or pipe it: bunzip2 -c "]),
        ("", {"name": "x.csv.xz"}, ["decompress it, or pipe it: xz -dc "]),
        (b"{bad\n", {"name": "x.jsonl"}, ["row 1: a row must be JSON"]),
        (
            gzip.compress(b"a,y\n1,2\n"),
            {"name": "x.data", "format": "jsonl"},
            ["a row must be JSON"],
        ),
        (
            gzip.compress(b"y\n1\n"),
            {"name": "x.csv.gz", "follow": True},
            ["a file that is followed must not be packed"],
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
        (bz2.compress(b"y\n1\n"), "bunzip2 -c FILE | stillpoint track - …"),
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
    assert track(str(tmp_path), "y", tmp_path / "o") == 2
    assert "name a file in it, or use stillpoint fleet" in capsys.readouterr().err
    assert track(plain, "y", Path(plain) / "o") == 1
    barred = capsys.readouterr().err
    assert "check the path, and who may read and write there" in barred
    assert "what was written" not in barred
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

"""Cells, keys and columns that would be read as what they are not: refused in one line, or told in
a note.
"""

import json

import pytest

from extras import package
from stillpoint.commands import fleet, track, tracking
from stillpoint.commands.cells import is_date, read_column, read_flag, read_number
from stillpoint.commands.formats import left_out
from stillpoint.lab import streams
from stillpoint.lab.streams import export

FULL_WIDTH, ARABIC, NAGARI = "\uff11\uff12", "\u0661\u0662.5", "\u0967"


def told(tmp_path, capsys, text, code=0, name="d.csv", **options):
    """The summary, if there is one, and what was said."""
    source = tmp_path / name
    source.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert track(str(source), out=tmp_path / "o", quiet=True, **{"target": "y", **options}) == code
    error = capsys.readouterr().err
    if code:
        assert error.count("\n") == 1, error
        return error
    return json.loads((tmp_path / "o" / "summary.json").read_text())


def rejected(tmp_path, text, name="d.csv", **options):
    """Reasons by row of a fleet."""
    (tmp_path / name).write_text(text)
    told = {"learner": "kernel", "quiet": True, **options}
    assert fleet(str(tmp_path / name), "k", "y", tmp_path / "o", **told) == 0
    lines = (tmp_path / "o" / "predictions.csv").read_text().splitlines()[1:]
    return {i: line.split(",", 4)[-1] for i, line in enumerate(lines, 1) if not line.endswith(",")}


@pytest.mark.parametrize(
    "digits", [FULL_WIDTH, ARABIC, NAGARI], ids=["full width", "arabic", "nagari"]
)
def test_only_the_digits_0_to_9_make_a_number(tmp_path, capsys, digits):
    remedy = "write numbers in the digits 0 to 9"
    assert remedy in told(tmp_path, capsys, f"a,y\n1,2\n{digits},3\n", 2)
    assert "row 2: column 'y' must be numeric" in told(
        tmp_path, capsys, f"a,y\n1,2\n1,{digits}\n", 2
    )
    assert "row 1: column 'a' must hold ISO dates" in told(
        tmp_path, capsys, f"a,y\n{digits},2\n", 2, time="a"
    )
    record = json.dumps({"a": digits, "y": 3}, ensure_ascii=False)
    assert remedy in told(tmp_path, capsys, f'{{"a": 1, "y": 2}}\n{record}\n', 2, name="d.jsonl")
    summary = told(tmp_path, capsys, f"a,y\n{digits},2\n{digits},3\n")
    assert summary["columns"] == ["(constant)", f"a={digits}"]
    assert any(f"column 'a' was read as words: got {digits!r}" in note for note in summary["notes"])
    assert list(rejected(tmp_path, f"k,y\na,1\na,{digits}\n")) == [2]
    assert not is_date(f"{digits}25-01-01")


def test_the_ways_to_write_numbers_that_files_have_stay_numbers():
    for text, value in {
        "1e5": 1e5,
        " 1.5 ": 1.5,
        "\u00a01.5\u00a0": 1.5,
        "+.5": 0.5,
        "-0": 0.0,
        "1E-3": 1e-3,
    }.items():
        assert read_number(text) == value
        assert read_column([text, "1"], read_flag, pytest.fail).tolist() == [value, 1.0]
    for text in ("1_000", "0x10", "1,5", "1 000", "\u22125", FULL_WIDTH):
        with pytest.raises(ValueError):  # noqa: PT011
            read_number(text)
        wrong = []
        read_column(["1", text], read_flag, lambda i, cell: wrong.append((i, cell)))  # noqa: B023
        assert wrong == [(1, text)]


@pytest.mark.parametrize(
    "first", ["2025-01-01T00:00:00", "2025-01-01T00:00:00+01:00"], ids=["without", "with"]
)
@pytest.mark.parametrize("batch", [4096, 1])
def test_dates_with_and_without_a_time_zone_do_not_mix(tmp_path, capsys, monkeypatch, first, batch):
    monkeypatch.setattr(tracking, "BATCH", batch)
    second = "2025-01-03T00:00:00" + ("" if "+" in first else "+01:00")
    text = f"t,y\n{first},1\n{first.replace('01T', '02T')},2\n{second},3\n"
    error = told(tmp_path, capsys, text, 2, time="t")
    others = "have one" if "+" in first else "have none"
    assert (
        "row 3: column 't' must hold dates that all have a time zone, or all have none: got"
        f" {second!r}" in error
    )
    assert f"the dates before it {others}; write all in one way" in error
    assert (tmp_path / "o" / "predictions.csv").read_text().count("\n") == 3
    reasons = rejected(tmp_path, "k," + text.replace("\n", "\na,").removesuffix("a,"), time="t")
    assert list(reasons) == [3]
    assert "all have a time zone, or all have none" in reasons[3]


def test_whether_dates_have_a_time_zone_is_known_after_going_on(tmp_path, capsys):
    source, options = tmp_path / "d.csv", {"time": "t", "checkpoint": tmp_path / "c", "quiet": True}
    rows = options | {"checkpoint": tmp_path / "d", "learner": "kernel"}
    source.write_text("k,t,y\na,2025-01-01,1\n")
    assert track(str(source), "y", tmp_path / "o", **options) == 0
    assert fleet(str(source), "k", "y", tmp_path / "f", **rows) == 0
    with source.open("a") as file:
        file.write("a,2025-01-02T00:00Z,2\n")
    capsys.readouterr()
    assert track(str(source), "y", tmp_path / "o", **options) == 2
    assert "row 2: column 't' must hold dates that all have a time zone" in capsys.readouterr().err
    assert fleet(str(source), "k", "y", tmp_path / "f", **rows) == 0
    assert "all have a time zone" in (tmp_path / "f" / "predictions.csv").read_text()


def test_zones_may_differ_as_they_do_in_summer(tmp_path, capsys):
    text = "t,y\n2025-03-30T01:30+01:00,1\n2025-03-30T03:30+02:00,2\n2025-03-30T02:30Z,3\n"
    assert told(tmp_path, capsys, text, time="t")["rows"] == 3


@pytest.mark.parametrize("first", [False, True], ids=["later", "first"])
def test_a_key_that_an_object_has_twice_is_refused(tmp_path, capsys, first):
    bad, good = '{"y": 1, "x": 2, "y": 3}\n', '{"y": 1, "x": 2}\n'
    error = told(tmp_path, capsys, bad + good if first else good + bad, 2, name="d.jsonl")
    assert "a row must be JSON: got the key 'y' twice; write one object a line" in error
    assert first or error.startswith("error: row 2: ")
    source = tmp_path / "d.jsonl"
    assert fleet(str(source), "x", "y", tmp_path / "f", quiet=True) == 2
    assert "got the key 'y' twice" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_the_index_of_a_data_frame_is_no_feature(tmp_path, capsys, name):
    text = f"{name},a,y\n0,1.5,2\n1,2.5,3\n2,3.5,4\n"
    summary = told(tmp_path, capsys, text)
    assert summary["features"] == ["a"]
    assert any(
        f"column {name!r} is no feature: without a name it is the index" in note
        for note in summary["notes"]
    )
    summary = told(tmp_path, capsys, text, features=[name, "a"])
    assert summary["features"] == [name, "a"]
    assert not summary["notes"]
    summary = told(tmp_path, capsys, text, time=name)
    assert (summary["features"], summary["notes"]) == (["a"], [])


def test_columns_that_only_sound_like_an_index_are_features():
    assert not left_out(["index", "id", "unnamed", "Unnamed", "Unnamed: x", " ", "y"])
    assert [
        *left_out(["Unnamed: 0", "a", "Unnamed: 12", "Unnamed: 0_level_0", "__index_level_0__"])
    ] == [
        "Unnamed: 0",
        "Unnamed: 12",
        "Unnamed: 0_level_0",
        "__index_level_0__",
    ]


@pytest.mark.extra
def test_the_index_that_pandas_writes_to_parquet_is_no_feature(tmp_path):
    arrow, parquet = package("pyarrow"), package("pyarrow.parquet")
    columns = {"y": [1.0, 2.0], "a": [1.0, 3.0], "__index_level_0__": [5, 9]}
    parquet.write_table(arrow.table(columns), tmp_path / "d.parquet")
    assert track(str(tmp_path / "d.parquet"), "y", tmp_path / "o", quiet=True) == 0
    assert json.loads((tmp_path / "o" / "summary.json").read_text())["features"] == ["a"]


def test_the_truth_of_every_exported_stream_is_no_feature(tmp_path, capsys):
    seen = 0
    for spec in streams.all_streams():
        try:
            export.export(spec.name, 100, 0, tmp_path / "d.csv")
        except ValueError as error:
            assert "must not answer its learner" in str(error)  # noqa: PT017
            continue
        names = (tmp_path / "d.csv").read_text().splitlines()[0].split(",")
        truth = [name for name in names if name.startswith("truth")]
        assert truth
        assert [*left_out(names)] == truth
        seen += 1
    assert seen > 5
    export.export("walk", 100, 0, tmp_path / "walk.csv")
    text = (tmp_path / "walk.csv").read_text()
    summary = told(tmp_path, capsys, text)
    assert "truth" not in summary["features"]
    assert any(
        "column 'truth' is no feature: in an exported stream" in note for note in summary["notes"]
    )
    assert told(tmp_path, capsys, text, features="truth")["features"] == ["truth"]


def test_a_column_of_ones_own_that_is_called_truth_stays_a_feature():
    assert not left_out(["time", "price", "truth", "y"])
    assert not left_out(["x", "truth", "sold"])
    assert not left_out(["x", "truth"])


@pytest.mark.parametrize(
    "text",
    ['a,y\nu,1\n"v,2\nw,3\n"x,4\nz,5\n', 'a,y\nu,1\n"v,2\nw,3\nx","4"5\n'],
    ids=["two", "after"],
)
def test_a_quote_that_another_closes_rows_later_swallows_none(tmp_path, capsys, text):
    assert "row 2: a row must be CSV" in told(tmp_path, capsys, text, 2)
    good = told(tmp_path, capsys, 'a,y\nu,1\n"v, ""w""\nand more",2\n')
    assert good["columns"] == ["(constant)", "a=u", 'a=v, "w"\nand more']


@pytest.mark.parametrize(
    ("text", "name", "part"),
    [
        (
            "y,a\n1,2\n".encode("utf-16-le"),
            "d.csv",
            "the header must be text: got a NUL byte; convert the file to UTF-8",
        ),
        (b"y,a\n1,u\n2,v\x00\n", "d.csv", "row 2: a row must be text: got a NUL byte"),
        (b'{"y": 1}\n{"y": 2}\x00\n', "d.jsonl", "row 2: a row must be text: got a NUL byte"),
        (b'{"y": 1}\n{"y": "\xff"}\n', "d.jsonl", "row 2: a row must be UTF-8"),
        (b"y,a\r1,2\r3,4\r", "d.csv", "end lines with \\n"),
        (b"a,b, a\n1,2,3\n", "d.csv", "columns must have different names: got 'a' twice"),
        (b"y,a\n1,2\n1,infinity\n", "d.csv", "row 2: column 'a' must be within"),
    ],
    ids=[
        "utf-16",
        "nul",
        "nul in json",
        "latin in json",
        "carriage returns",
        "spaces in a name",
        "infinity",
    ],
)
def test_text_that_is_none_is_refused(tmp_path, capsys, text, name, part):
    assert part in told(tmp_path, capsys, text, 2, name=name)


def test_a_mark_of_byte_order_and_names_in_other_cases_are_read_as_they_are(tmp_path, capsys):
    summary = told(tmp_path, capsys, "\ufeffy,A,a\n1,2,3\n2,3,4\n")
    assert summary["features"] == ["A", "a"]
    assert (
        told(tmp_path, capsys, '\ufeff{"y": 1, "a": 2}\n{"y": 2, "a": 2}\n', name="d.jsonl")["rows"]
        == 2
    )


def test_times_that_look_like_seconds_since_1970_are_told(tmp_path, capsys):
    for last, unit in ((1735689660, "seconds"), (1735689660000, "milliseconds")):
        notes = told(tmp_path, capsys, f"t,y\n{last - 60},1\n{last},2\n", time="t")["notes"]
        assert notes == [
            f"column 't' was read as numbers: got {last}, which looks like {unit} since 1970; write"
            " dates, as 2025-01-01T00:01:00, for a calendar"
        ]
    for times in ("20250131,20251399", "1,2", "5000000000,5000000060"):
        first, last = times.split(",")
        assert not told(tmp_path, capsys, f"t,y\n{first},1\n{last},2\n", time="t")["notes"]


def test_numbers_that_are_dates_beside_others_are_told(tmp_path, capsys):
    text = "t,y\n20250131,1\n20250150,2\n20250201,3\n"
    assert told(tmp_path, capsys, text, time="t")["notes"] == [
        "column 't' was read as numbers: got 20250201, which looks like a date; write dates as"
        " 2025-02-01"
    ]


def test_very_long_names_and_cells_are_cut_in_messages(tmp_path, capsys):
    name = "k" * 10_000
    assert len(told(tmp_path, capsys, f"{name},y\n1,2\nx,3\n", 2)) < 400
    assert len(told(tmp_path, capsys, f"{name},y\n1,2\n0,3\n", 2, time=name)) < 400
    assert (
        len(told(tmp_path, capsys, f"a,y\n1,{name}\n1,l{name}\n1,m{name}\n", 2, task="binary"))
        < 400
    )
    summary = told(tmp_path, capsys, f"{name},y\n2025-01-01,2\n2025-01-02,3\n")
    assert len(summary["notes"][0]) < 400


def test_a_series_whose_targets_come_late_is_told_what_it_lacks(tmp_path, capsys):
    notes = told(tmp_path, capsys, "y\n" + "1\n2\n" * 6, delay=2)["notes"]
    assert any("step 3 of forecast.csv is made for it" in note for note in notes)
    rows = "a,y\n" + "1,2\n2,1\n" * 6
    assert not told(tmp_path, capsys, rows, delay=2)["notes"]

"""Files with very many columns, with endless rows, with a quote too many: little is read, little is
kept, one line is said.
"""

import csv
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from children import CHILDREN, ended, forked, no_child_survives, on_pipe, soon  # noqa: F401
from extras import package
from stillpoint.commands import fleet, lines, track, tracking
from stillpoint.commands.arguments import no_column
from stillpoint.commands.errors import InputError, RowError, Stop
from stillpoint.commands.formats import different, open_reader
from stillpoint.commands.lines import AT_ONCE, BLOCK, LONGEST, QUOTED, Lines
from stillpoint.commands.options import TrackOptions
from stillpoint.commands.room import LIMIT, check_room, rows_at_once


class Name(str):
    """A name that counts how often it is compared."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        Name.compared += 1
        return str.__eq__(self, other)


def comparisons(work):
    Name.compared = 0
    work()
    return Name.compared


def calls(name, work):
    """How often built-in functions of that name are called, until the end of the work or a row is
    refused.
    """
    seen = 0

    def profile(frame, event, function):
        nonlocal seen
        seen += event == "c_call" and function.__name__ == name

    sys.setprofile(profile)
    try:
        with suppress(RowError):
            work()
    finally:
        sys.setprofile(None)
    return seen


def wide(path, width, rows=3, cell="1.5"):
    header = ",".join(["y", *(f"x{i}" for i in range(width))])
    path.write_text("\n".join([header, *([",".join(["2", *[cell] * width])] * rows)]) + "\n")
    return str(path)


def one_line(capsys, *parts):
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error[:500]
    assert len(error) < 1000
    assert all(part in error for part in parts), error


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_more_features_than_there_is_memory_for_are_refused_in_one_line(tmp_path, capsys, kind):
    source = wide(tmp_path / "d.csv", 20_000)
    if kind == "jsonl":
        source = str(tmp_path / "d.jsonl")
        with open(source, "w") as file:
            file.write(json.dumps({"y": 1.0, **{f"x{i}": 1.0 for i in range(20_000)}}) + "\n")
    assert track(source, "y", tmp_path / "o", quiet=True) == 2
    one_line(
        capsys,
        "the features must be at most 2,114: got 20,000",
        "45,781 MiB",
        "limit is 512",
        "--features a,b,c",
    )
    assert not (tmp_path / "o").exists()
    assert track(source, "y", tmp_path / "o", features="x7,x9", quiet=True) == 0
    assert json.loads((tmp_path / "o" / "summary.json").read_text())["columns"] == ["x7", "x9"]


@pytest.mark.extra
def test_parquet_with_too_many_columns_is_refused_and_read_in_small_pieces(tmp_path, capsys):
    arrow, parquet = package("pyarrow"), package("pyarrow.parquet")
    path, column = str(tmp_path / "d.parquet"), arrow.array([1.0, 2.0, 3.0])
    parquet.write_table(arrow.table({"y": column, **{f"x{i}": column for i in range(2_200)}}), path)
    assert track(path, "y", tmp_path / "o", quiet=True) == 2
    one_line(capsys, "the features must be at most 2,114: got 2,200")
    assert track(path, "y", tmp_path / "o", features="x7", quiet=True) == 0
    column = arrow.array([0.0] * 10_000)
    parquet.write_table(arrow.table({f"x{i}": column for i in range(300)}), path)
    reader = open_reader(path)
    reader.use(reader.names)
    reader.read(1)
    assert len(reader._loaded[0]) * 300 <= 1 << 20
    reader.close()


@pytest.mark.parametrize("task", ["regression", "quantile", "binary"])
def test_the_limit_is_on_what_the_filters_really_keep(task):
    from stillpoint.forecasters import TrackingForecaster, TrackingProbabilities

    core = TrackingProbabilities(20, classes=2) if task == "binary" else TrackingForecaster(20)
    most = 1
    while core._state.covariances.size // 21**2 * (most + 2) ** 2 * 8 <= LIMIT:
        most += 1
    check_room(task, most, words=False)
    with pytest.raises(InputError, match=f"at most {most:,}: got {most + 1:,}, for"):
        check_room(task, most + 1, words=False)
    with pytest.raises(
        InputError, match=f"at most {most - 100:,}: got {most:,}, and 100 categories may join"
    ):
        check_room(task, most, words=True)


def test_columns_of_words_are_as_many_features_as_they_have_categories(tmp_path, capsys):
    assert track(wide(tmp_path / "d.csv", 3_000, cell="sun"), "y", tmp_path / "o", quiet=True) == 0
    assert len(json.loads((tmp_path / "o" / "summary.json").read_text())["columns"]) == 101
    assert "more than 100 categories" in capsys.readouterr().err


def test_batches_shrink_as_columns_and_features_grow(tmp_path, monkeypatch):
    assert rows_at_once("regression", 12, 10, 4096) == 4096
    assert rows_at_once("regression", 20_001, 101, 4096) * 20_001 <= 1 << 20
    assert rows_at_once("regression", 2_101, 2_100, 4096) == 1
    taken = []

    def spied(*source, **options):
        reader = open_reader(*source, **options)
        inner = reader.read
        reader.read = lambda limit: taken.append(limit) or inner(limit)
        return reader

    monkeypatch.setattr("stillpoint.commands.sources.open_reader", spied)
    assert track(wide(tmp_path / "d.csv", 1_000, rows=5), "y", tmp_path / "o", quiet=True) == 0
    assert set(taken) == {4}


def test_looks_at_names_grow_with_their_number(tmp_path):
    def check(count):
        names = [Name(f"x{i}") for i in range(count)]

        def work():
            different(names)
            options = TrackOptions(
                "a.csv", names[0], tmp_path, features=tuple(map(Name, names[1:]))
            )
            assert len(options.columns(names)) == count - 1
            reader = open_reader(wide(tmp_path / "d.csv", count))
            assert reader.begin()
            reader.names = [Name("y"), *names]
            reader.use([Name(name) for name in reversed(reader.names)])
            assert len(reader.read(10).columns) == count + 1
            reader.close()

        return comparisons(work)

    assert check(400) < 6 * check(100)


def test_messages_hold_few_names_and_short_ones(tmp_path, capsys):
    names = [f"column {i}" for i in range(100_000)]
    assert len(str(no_column("--target", "a column", "z" * 10_000, names))) < 1000
    source = wide(tmp_path / "d.csv", 200)
    assert track(source, "nothing", tmp_path / "o", quiet=True) == 2
    one_line(capsys, "the columns are y, x0, x1", "and 181 others")
    assert fleet(source, "nothing", "y", tmp_path / "o", quiet=True) == 2
    one_line(capsys, "and 181 others")
    assert track(source, "y", tmp_path / "o", checkpoint=tmp_path / "c", quiet=True) == 0
    capsys.readouterr()
    assert (
        track(source, "y", tmp_path / "o", checkpoint=tmp_path / "c", features="x1", quiet=True)
        == 2
    )
    one_line(capsys, "begun with x0,x1,", "and 180 others")


@pytest.mark.parametrize("every", ["numbers", "quoted"])
@pytest.mark.parametrize("command", ["track", "fleet"])
def test_a_stray_quote_is_refused_after_a_megabyte(tmp_path, monkeypatch, capsys, command, every):
    good = b"k,1.5,2.5\n" if every == "numbers" else b'"k","1.5",2.5\n'
    source = tmp_path / "d.csv"
    source.write_bytes(b"key,x,y\n" + good * 9 + b'k,"1.5,2.5\n' + good * 1_000_000)
    seen, read = 0, os.read

    def counted(number, size):
        nonlocal seen
        data = read(number, size)
        seen += len(data)
        return data

    monkeypatch.setattr(os, "read", counted)
    if command == "track":
        assert track(str(source), "y", tmp_path / "o", features="x", quiet=True) == 2
    else:
        assert fleet(str(source), "key", "y", tmp_path / "o", learner="kernel", quiet=True) == 2
    one_line(
        capsys,
        "row 10: a row must close its quotes: the one opened on line 11 stays open for 1 MiB",
        "close it, or double",
    )
    assert seen <= QUOTED + 2 * BLOCK
    # what came before it is kept
    assert (tmp_path / "o" / "predictions.csv").read_text().count("\n") == 10


def test_the_line_of_a_quote_is_told_after_going_on(tmp_path, capsys):
    source, options = tmp_path / "d.csv", {"checkpoint": tmp_path / "c", "quiet": True}
    source.write_text('a,y\n"two\nlines",1\nu,2\n')
    assert track(str(source), "y", tmp_path / "o", **options) == 0
    with source.open("a") as file:
        file.write('v,3\n"w,4\nu,5\n')
    capsys.readouterr()
    assert track(str(source), "y", tmp_path / "o", **options) == 2
    one_line(
        capsys,
        "row 4: a row must close its quotes: the one opened on line 6 stays open to the end of the"
        " input",
    )


def test_a_record_is_cut_in_time_that_grows_with_its_length(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 512)  # as a pipe may give it

    def work(rows):
        path = tmp_path / "d.csv"
        path.write_bytes(b'x,y\n"' + b'1,"2"\n' * rows)
        reader = Lines(str(path), False, quotes=True)

        def read():
            while not reader.ended:
                reader.take(10)

        seen = calls("count", read)
        with pytest.raises(RowError, match="opened on line 2"):
            reader.take(1)
        reader.close()
        return seen

    assert work(8_000) < 3 * work(4_000)


def test_a_byte_that_is_no_text_is_found_in_time_that_grows_with_the_rows(tmp_path):
    def work(rows):
        path = tmp_path / "d.csv"
        path.write_bytes(b"x,y\n" + b"1,2\n" * rows + b"\xff,3\n")
        reader = open_reader(str(path))
        assert reader.begin()
        reader.use(["y"])
        seen = calls("strip", lambda: reader.read(10**6))
        reader.close()
        return seen

    assert work(2_000) < 3 * work(1_000)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_row_without_an_end_is_refused_and_those_before_it_are_kept(tmp_path, capsys, kind):
    source, good = tmp_path / f"d.{kind}", b'{"y": 1, "x": 2}\n' if kind == "jsonl" else b"1,2\n"
    with source.open("wb") as file:
        file.write(b"" if kind == "jsonl" else b"y,x\n")
        file.write(good * 10 + b'{"y": "' + b"a" * (LONGEST + BLOCK) + b'"}\n' + good)
    assert track(str(source), "y", tmp_path / "o", quiet=True) == 2
    line = 11 if kind == "jsonl" else 12
    one_line(
        capsys,
        f"row 11: a row must be shorter than 16 MiB: line {line} is longer",
        "one row a line",
    )
    assert (tmp_path / "o" / "predictions.csv").read_text().count("\n") == 11


def test_long_rows_are_taken_a_few_at_a_time(tmp_path):
    source = tmp_path / "d.jsonl"
    with source.open("wb") as file:
        for _ in range(20):
            file.write(b"a" * 1_000_000 + b"\n")
    reader = Lines(str(source), False, quotes=False)
    sizes = []
    while not reader.ended:
        records = reader.take(4096)
        sizes.append(sum(map(len, records)))
        if len(sizes) == 4:  # what comes again counts as well
            reader.put_back(records[1:])
            sizes[-1] = 1_000_000 * bool(records)
    assert sum(sizes) == 20_000_000
    assert max(sizes) <= AT_ONCE + 1_000_000
    reader.close()


def test_memory_that_runs_out_is_one_line(tmp_path, monkeypatch, capsys):
    def full(*arguments, **options):
        raise MemoryError("Unable to allocate 3 GiB")

    monkeypatch.setattr(tracking, "Engine", full)
    assert track(wide(tmp_path / "d.csv", 3), "y", tmp_path / "o", quiet=True) == 1
    one_line(
        capsys,
        "error: memory ran out: Unable to allocate 3 GiB; what was written is whole, choose fewer"
        " columns",
    )


def at_the_prompt(own, out):
    """Begin a command as a shell does; what it reads, what it says, how it ends and its end."""
    words = [sys.executable, "-m", "stillpoint", *own, "--target", "y", "--out", out, "--quiet"]
    child = subprocess.Popen(words, bufsize=0, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    kill = lambda: (child.kill(), child.wait())  # noqa: E731
    return child.pid, child.stdin, child.stderr, lambda: child.wait(60), kill


def within(own, out):
    """The same in a child of this process, which has imported it all."""
    (there, here), (said, also) = os.pipe(), os.pipe()

    def work():
        on_pipe(there, here)
        os.dup2(also, 2)
        sys.stderr = os.fdopen(2, "w")
        if own[0] == "track":
            return track("-", "y", out, quiet=True)
        return fleet("-", own[-1], "y", out, quiet=True)

    child = forked(work)
    os.close(there)
    os.close(also)

    def kill():
        if child in CHILDREN:  # else the number may be another's by now
            os.kill(child, signal.SIGKILL)
            ended(child)

    return child, os.fdopen(here, "wb", 0), os.fdopen(said, "rb"), lambda: soon(child), kill


@pytest.mark.parametrize("command", ["track", "fleet"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_ends_it_while_a_row_never_ends(tmp_path, command, number):
    own = ["track", "-"] if command == "track" else ["fleet", "-", "--key", "k"]
    # one as users begin it, which takes seconds: Ctrl-C has had another meaning while it started
    begin = at_the_prompt if (command, number) == ("track", signal.SIGINT) else within
    child, stdin, stderr, wait, kill = begin(own, str(tmp_path / "o"))
    over = threading.Event()

    def trickle():
        try:
            while not over.wait(0.005):  # never so long that it would look at anything else
                stdin.write(b"a" * 100)
        except BrokenPipeError:
            pass

    stdin.write(b"a" * 300_000)  # more than a pipe holds: it is reading
    writer = threading.Thread(target=trickle)
    writer.start()
    try:
        os.kill(child, number)
        assert wait() == 128 + number
        error = stderr.read().decode()
        assert error.count("\n") == 1
        assert error.startswith("interrupted")
    finally:
        over.set()
        kill()
        writer.join()
        stderr.close()
        stdin.close()


def test_a_signal_ends_the_search_for_the_place_to_go_on(tmp_path):
    stop = Stop()
    stop.signal = signal.SIGTERM
    path = tmp_path / "d.csv"
    path.write_bytes(b"1,2\n" * 200_000)
    reader = Lines(str(path), False, quotes=True, stop=stop)
    with pytest.raises(KeyboardInterrupt):
        reader.seek(700_000)
    reader.close()
    quiet, writer = os.pipe()
    reader = Lines(f"/dev/fd/{quiet}", False, quotes=True, stop=stop)
    with pytest.raises(KeyboardInterrupt):  # nobody sends it again
        reader.seek(10)
    reader.close()
    os.close(quiet)
    os.close(writer)


def test_a_half_row_is_cut_off_where_going_on_is_interrupted(tmp_path, monkeypatch):
    source, out = tmp_path / "d.csv", tmp_path / "o"
    with source.open("w", newline="") as file:
        csv.writer(file).writerows([["x", "y"], *([i, i % 7] for i in range(100))])
    options = {"checkpoint": tmp_path / "c", "quiet": True}
    assert track(str(source), "y", out, **options) == 0
    before = (out / "predictions.csv").read_bytes()
    (out / "predictions.csv").write_bytes(before + b"101,101,half a ro")

    def interrupted(reader, position):
        raise KeyboardInterrupt

    monkeypatch.setattr(Lines, "seek", interrupted)
    assert track(str(source), "y", out, **options) == 130
    assert (out / "predictions.csv").read_bytes() == before

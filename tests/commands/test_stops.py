"""`stillpoint track`: kills, checkpoints, locks, files and pipes that are followed, and Ctrl-C."""

import errno
import hashlib
import io
import json
import os
import random
import signal
import sys
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
from stillpoint.commands import session, track, tracking
from stillpoint.commands.checkpoint import Checkpoint
from stillpoint.commands.errors import InputError, say
from stillpoint.commands.sink import Sink
from stillpoint.core import container
from stillpoint.core.codec import decode_fields
from thorough import some_in_turn
from tracked import T, read, run, table, write


@pytest.fixture
def long(tmp_path):
    rng = np.random.default_rng(8)
    n = 3600
    kinds = rng.choice(["u", "v", "w"], n).tolist()
    y = [f"{v:.5f}" if rng.random() > 0.05 else "" for v in np.cumsum(rng.standard_normal(n) * 0.1)]
    times = np.cumsum(rng.exponential(1.0, n) + 0.01).tolist()
    return write(
        tmp_path / "long.csv",
        {"t": times, "a": rng.standard_normal(n).tolist(), "k": kinds, "y": y},
    )


def written(folder):
    """When the checkpoint was last written, None if it was not."""
    try:
        return (folder / "checkpoint.npz").stat().st_mtime_ns
    except FileNotFoundError:
        return None


@pytest.mark.parametrize("options", [{"time": "t"}, {"delay": 9, "task": "quantile"}])
def test_killed_anywhere_it_goes_on_to_the_same_bytes(long, tmp_path, monkeypatch, options):
    monkeypatch.setattr(tracking, "BATCH", 40)
    monkeypatch.setattr(session, "EVERY", 0.0)
    assert track(long, "y", tmp_path / "whole", quiet=True, **options) == 0
    luck, resumed = random.Random(3), 0
    out, folder = tmp_path / "o", tmp_path / "c"
    work = lambda: track(long, "y", out, quiet=True, checkpoint=folder, **options)  # noqa: E731
    for _ in range(6):  # of which each takes it on by a few of 90 batches
        child, before = forked(work), written(folder)
        while written(folder) == before:  # however slow the machine is, it has gone on a little
            time.sleep(0.001)
        time.sleep(luck.uniform(0.0, 0.02))
        os.kill(child, signal.SIGKILL)
        resumed += ended(child) == -signal.SIGKILL
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


@pytest.mark.parametrize("name", ["predictions.csv", "alerts.jsonl"])
def test_files_of_another_run_are_not_gone_on_with(plain, tmp_path, capsys, name):
    out, folder = tmp_path / "o", tmp_path / "c"
    text, source = Path(plain).read_text(), tmp_path / "grows.csv"
    lines, told = text.splitlines(keepends=True), {"checkpoint": folder, "alerts": 0.05}
    source.write_text("".join(lines[:300]))
    run(str(source), out, **told)
    path = out / name
    kept = path.read_bytes()
    assert kept
    path.write_bytes(kept[:-2] + b"?\n" + kept)  # longer, so that its length tells nothing
    source.write_text(text)
    before = snapshot(out, folder)
    assert track(str(source), "y", out, **told) == 2
    said = capsys.readouterr().err
    assert f"{name} must be as the checkpoint left it: got other bytes" in said
    assert "delete the checkpoint to begin anew" in said
    assert snapshot(out, folder) == before
    path.write_bytes(kept + b"more")  # what nobody saved is cut off
    whole = run(plain, tmp_path / "whole", alerts=0.05)[0]
    assert run(str(source), out, **told)[0] == whole


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
    for turn, (name, array) in enumerate(arrays.items()):
        others = (
            array[:0],
            np.concatenate([array, array]),
            array[None],
            array.astype("U8"),
            np.zeros(7),
            None,
        )
        for other in some_in_turn(others, turn, every=2):
            if other is None and name == "history.recent":
                continue  # checkpoints of old have none
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


@pytest.mark.parametrize("pieces", [["\n3\n"], ["\r\n3\n"], ["\r", "\n", "3", "\n"]])
def test_a_last_line_without_an_end_gets_one_while_it_is_followed(tmp_path, pieces):
    source, out = tmp_path / "grows.csv", tmp_path / "o"
    source.write_text("y\n" + "1\n2\n" * 20 + "4.2")
    options = {"checkpoint": tmp_path / "c", "quiet": True}
    assert track(str(source), "y", out, **options) == 0  # the end of the input ends its last row
    assert lines_of(out / "predictions.csv") == 42
    child = forked(lambda: track(str(source), "y", out, follow=True, **options))
    for piece in pieces:
        with open(source, "a", newline="") as file:
            file.write(piece)
        time.sleep(0.3)
    wait_for(lambda: lines_of(out / "predictions.csv") == 43)
    os.kill(child, signal.SIGINT)
    assert ended(child) == 0
    assert read(out)["y"][-2:] == ["4.2", "3.0"]


def test_a_last_line_that_was_a_row_may_not_go_on(tmp_path, capfd):
    source, out = tmp_path / "grows.csv", tmp_path / "o"
    source.write_text("y\n" + "1\n2\n" * 20 + "4.2")
    options = {"checkpoint": tmp_path / "c", "quiet": True}
    assert track(str(source), "y", out, **options) == 0
    child = forked(lambda: track(str(source), "y", out, follow=True, **options))
    time.sleep(0.5)
    with open(source, "a") as file:
        file.write("5\n3\n")
    assert soon(child) == 2
    assert "error: the last line read must not change" in capfd.readouterr().err
    assert lines_of(out / "predictions.csv") == 42


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
    children = []
    for name in ("file.csv", "pipe.csv", "left.csv"):
        source, out = tmp_path / name, tmp_path / f"o-{name}"
        (source.touch if name == "file.csv" else lambda source=source: os.mkfifo(source))()
        children.append(
            forked(
                lambda source=source, out=out: track(str(source), "y", out, follow=True, quiet=True)
            )
        )
        if name != "pipe.csv":
            with open(source, "a") as file:
                file.write(Path(plain).read_text())
            wait_for(lambda out=out: lines_of(out / "predictions.csv") == T + 1)

    def spent():
        """Ticks of the clock that each has had."""
        stats = (Path(f"/proc/{child}/stat").read_text() for child in children)
        return np.array([sum(map(int, s.rpartition(")")[2].split()[11:13])) for s in stats])

    time.sleep(0.3)
    before = spent()
    time.sleep(1.0)
    assert ((spent() - before) / os.sysconf("SC_CLK_TCK") < 0.1).all()
    for child in children:
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

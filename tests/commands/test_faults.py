"""Kills, full disks, locks, clocks and Ctrl-C: `stillpoint track --checkpoint` loses and repeats
nothing, and says what was.
"""

import errno
import itertools
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from children import ended, forked, no_child_survives  # noqa: F401
from extras import package
from faults import CASES, Case, Fault, content, killed, runner, sound
from stillpoint.commands import session, totals, track, tracking
from thorough import THOROUGH, some, some_of

PLAIN = Case("csv", "file", {"time": "t"})
TRACK = [sys.executable, "-m", "stillpoint", "track"]


@pytest.mark.parametrize("name", some(CASES, every=2))
def test_killed_at_calls_and_moments_it_goes_on_to_the_same_bytes(name, tmp_path, monkeypatch):
    assert killed(name, tmp_path, random.Random(name), monkeypatch, kills=4) >= 1


@pytest.mark.slow
def test_killed_hundreds_of_times(tmp_path, monkeypatch):
    luck, kills, runs, end = random.Random(1), 0, 0, time.monotonic() + 600
    while kills < 600 and time.monotonic() < end:
        for name in CASES:
            (folder := tmp_path / str(runs)).mkdir()
            kills, runs = kills + killed(name, folder, luck, monkeypatch), runs + 1
    print(f"{kills} kills in {runs} runs, no row lost or doubled")
    assert kills >= 500


@pytest.mark.slow
def test_the_command_itself_killed_at_any_moment(tmp_path):
    """Start-up, imports and all, with the batches and the pace of checkpoints that users have."""
    source, out, folder = tmp_path / "d.csv", tmp_path / "o", tmp_path / "c"
    source.write_text(
        "a,y\n" + "".join(f"{i % 17},{(i * i) % 101 / 7}\n" for i in range(1_000_000))
    )
    command = [*TRACK, str(source), "--target", "y", "--quiet", "--out"]
    assert subprocess.run([*command, str(tmp_path / "whole")]).returncode == 0
    expected, luck, kills = (
        (tmp_path / "whole" / "predictions.csv").read_bytes(),
        random.Random(2),
        0,
    )
    for _ in range(25):
        child = subprocess.Popen([*command, str(out), "--checkpoint", str(folder)])
        time.sleep(luck.uniform(0.0, 2.5))
        child.kill()
        kills += child.wait() != 0
        sound(out, folder, expected)
    assert subprocess.run([*command, str(out), "--checkpoint", str(folder)]).returncode == 0
    assert (out / "predictions.csv").read_bytes() == expected
    print(f"{kills} kills of the command")
    assert kills >= 10


# disks and folders


@pytest.fixture
def run(tmp_path):
    """A source, and the bytes that an undisturbed run writes."""
    source = tmp_path / "data.csv"
    source.write_bytes(content("csv"))
    assert runner(PLAIN, source, tmp_path / "whole", None)() == 0
    return source, (tmp_path / "whole" / "predictions.csv").read_bytes()


def one_line(text, *parts):
    assert text.count("\n") == 1, text
    assert all(part in text for part in parts), text


def test_a_full_disk_at_every_call_that_writes(run, tmp_path, monkeypatch, capfd):
    """One that fails once and one that stays full: one line, the checkpoint as it was, and the same
    command goes on.
    """
    source, expected = run
    monkeypatch.setattr(session, "EVERY", 0.0)
    monkeypatch.setattr(tracking, "BATCH", 400)
    for at in itertools.count(0, 1 if THOROUGH else 3):
        out, folder = tmp_path / f"o{at}", tmp_path / f"c{at}"
        fault = Fault(
            at, ("fails", "full")[at % 2], 0.3, (errno.ENOSPC, errno.EDQUOT, errno.EIO)[at % 3]
        )
        code = ended(forked(runner(PLAIN, source, out, folder, fault=fault)))
        if code == 0:
            break
        assert code == 1
        one_line(
            capfd.readouterr().err,
            "error: reading or writing failed",
            "what was written is whole, run it again to go on",
        )
        sound(out, folder, expected)
        assert not list(folder.glob(".*")), "half a checkpoint stays behind"
        assert ended(forked(runner(PLAIN, source, out, folder))) == 0
        assert (out / "predictions.csv").read_bytes() == expected
    assert at > 20


def test_a_disk_that_is_really_full(run, tmp_path, monkeypatch, capfd):
    source, expected = run
    monkeypatch.setattr(session, "EVERY", 0.0)
    monkeypatch.setattr(tracking, "BATCH", 50)
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=80k", "tmpfs", str(disk)], capture_output=True
    )
    if not mounted or mounted.returncode:
        pytest.skip(
            "needs the right to mount a small disk; the test above makes every call fail by hand"
        )
    try:
        assert ended(forked(runner(PLAIN, source, disk / "o", disk / "c"))) == 1
        one_line(capfd.readouterr().err, "No space left on device", "run it again to go on")
        assert sound(disk / "o", disk / "c", expected) is not None
        subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
        assert ended(forked(runner(PLAIN, source, disk / "o", disk / "c"))) == 0
        assert (disk / "o" / "predictions.csv").read_bytes() == expected
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("unbuffered", "end"), some_of(["", "1"], ["a full disk", "nobody reads"], every=2)
)
def test_standard_output_on_a_full_disk(run, tmp_path, unbuffered, end):
    """Or in a pipe whose reader has left, which needs no words."""
    source, expected = run
    words = ["--target", "y", "--time", "t", "--json", "--out"]
    command = [*TRACK, str(source), *words, str(tmp_path / "o")]
    kept = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    if end == "a full disk":
        there = os.open("/dev/full", os.O_WRONLY)
    else:
        nobody, there = os.pipe()
        os.close(nobody)
    done = subprocess.run(command, stdout=there, stderr=subprocess.PIPE, text=True, env=kept)
    os.close(there)
    assert done.returncode == 1
    if end == "a full disk":
        one_line(done.stderr, "No space left on device")
    else:
        assert done.stderr == ""
    assert (tmp_path / "o" / "predictions.csv").read_bytes() == expected


def as_nobody(work):
    """Whom permissions hold for."""

    def careful():
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        return work()

    return careful


def test_folders_that_may_not_be_written_to(run, capfd, monkeypatch):
    source, expected = run
    monkeypatch.setattr(session, "EVERY", 0.0)
    with tempfile.TemporaryDirectory() as place:  # pytest's own folders are closed to others
        place = Path(place)
        place.chmod(0o755)
        data = shutil.copy(source, place / "data.csv")
        for name, mode in (("open", 0o777), ("closed", 0o555)):
            (place / name).mkdir()
            (place / name).chmod(mode)
        for out, folder in (
            ("closed", "open/c"),
            ("closed/o", "open/c"),
            ("open/o", "closed"),
            ("open/o", "closed/c"),
        ):
            assert ended(forked(as_nobody(runner(PLAIN, data, place / out, place / folder)))) == 1
            one_line(
                capfd.readouterr().err,
                "error: reading or writing failed",
                "Permission denied",
                "closed",
            )
        assert (
            ended(forked(as_nobody(runner(PLAIN, data, place / "open/o", place / "open/c2")))) == 0
        )
        assert (place / "open/o/predictions.csv").read_bytes() == expected
        (place / "open/c2").chmod(0o555)  # closed after a while: there is nothing new to write
        assert (
            ended(forked(as_nobody(runner(PLAIN, data, place / "open/o", place / "open/c2")))) == 0
        )
        with open(data, "a") as file:
            file.write("\n9999,1,u,up,0.5\n")
        assert (
            ended(forked(as_nobody(runner(PLAIN, data, place / "open/o", place / "open/c2")))) == 1
        )
        one_line(capfd.readouterr().err, "error: reading or writing failed", "Permission denied")
        (place / "open/c2").chmod(0o777)
        assert (
            ended(forked(as_nobody(runner(PLAIN, data, place / "open/o", place / "open/c2")))) == 0
        )
        assert (place / "open/o/predictions.csv").read_bytes().startswith(expected)
        assert (place / "open/o/predictions.csv").read_bytes().count(b"\n") == expected.count(
            b"\n"
        ) + 1


def test_many_processes_at_one_checkpoint(run, tmp_path, capfd, monkeypatch):
    source, expected = run
    monkeypatch.setattr(session, "EVERY", 0.0)
    monkeypatch.setattr(tracking, "BATCH", 20)
    work = runner(PLAIN, source, tmp_path / "o", tmp_path / "c")

    def together(begin):
        return lambda: (time.sleep(max(begin - time.monotonic(), 0.0)), work())[1]

    for _ in range(3):
        codes = [
            ended(child) for child in [forked(together(time.monotonic() + 0.1)) for _ in range(6)]
        ]
        assert 0 in codes
        assert set(codes) <= {0, 2}
        lines = capfd.readouterr().err.splitlines()
        assert len(lines) == codes.count(2)
        assert all("--checkpoint must be free: another process holds" in line for line in lines)
        assert (tmp_path / "o" / "predictions.csv").read_bytes() == expected


# clocks


def test_a_clock_that_goes_backwards(run, tmp_path, monkeypatch):
    """The time of day is only told, in the summary; files may be from the future."""
    source, expected = run
    monkeypatch.setattr(tracking, "BATCH", 60)
    monkeypatch.setattr(session, "EVERY", 0.0)
    falling = itertools.count(2_000_000_000, -3600)
    monkeypatch.setattr(time, "time", lambda: next(falling))
    for module in (session, totals):
        monkeypatch.setattr(
            module,
            "now",
            lambda: time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(time.time())),
        )
    for at in (10, 20):
        assert (
            ended(
                forked(
                    runner(PLAIN, source, tmp_path / "o", tmp_path / "c", fault=Fault(at, "after"))
                )
            )
            < 0
        )
        for path in (source, *(tmp_path / "o").iterdir(), *(tmp_path / "c").iterdir()):
            os.utime(path, (4e9, 4e9 - at))
    assert ended(forked(runner(PLAIN, source, tmp_path / "o", tmp_path / "c"))) == 0
    assert (tmp_path / "o" / "predictions.csv").read_bytes() == expected
    sources = Path(session.__file__).parent.parent.rglob("*.py")
    assert [path.name for path in sources if "time.time(" in path.read_text(encoding="utf-8")] == []


def test_times_that_go_backwards_are_told_and_the_rows_before_are_kept(run, tmp_path, capsys):
    source, expected = run
    lines = source.read_bytes().split(b"\n")
    out, options = tmp_path / "o", {"time": "t", "quiet": True, "checkpoint": tmp_path / "c"}
    whole = source.read_bytes()
    source.write_bytes(whole + b"\n" + b"0.5,1,u,up,0.1\n")
    assert track(str(source), "y", out, **options) == 2
    one_line(capsys.readouterr().err, "column 't'")
    assert (out / "predictions.csv").read_bytes() == expected
    last = lines[-1].split(b",")[0]
    source.write_bytes(whole + b"\n" + last + b",1,u,up,0.1\n")
    assert track(str(source), "y", out, **options) == 0
    assert (out / "predictions.csv").read_bytes().startswith(expected)


# inputs that are not what they were


def test_an_edit_anywhere_in_what_was_read_is_seen(run, tmp_path, capsys):
    source, _ = run
    out, options = tmp_path / "o", {"time": "t", "quiet": True, "checkpoint": tmp_path / "c"}
    assert track(str(source), "y", out, **options) == 0
    data = source.read_bytes()
    assert len(data) > 20_000
    for place in (3, len(data) // 3, len(data) // 2, len(data) - 2):
        at = (
            next(i for i in itertools.count(place) if data[i : i + 1].isdigit())
            if place > 3
            else place
        )
        source.write_bytes(
            data[:at] + (b"7" if data[at : at + 1] != b"7" else b"8") + data[at + 1 :]
        )
        assert track(str(source), "y", out, **options) == 2
        capsys.readouterr()
    source.write_bytes(data + b"\n")
    assert track(str(source), "y", out, **options) == 0
    # only new rows are read, and the digest goes on with them
    source.write_bytes(data + b"\n" + b"9999,1,u,up,0.5")
    assert track(str(source), "y", out, **options) == 0
    middle = len(data) // 2 + data[len(data) // 2 :].index(b"0.")
    source.write_bytes(data[: middle + 1] + b"," + data[middle + 2 :] + b"\n9999,1,u,up,0.5\n")
    assert track(str(source), "y", out, **options) == 2
    one_line(
        capsys.readouterr().err, "the input must be that of the checkpoint: got another content"
    )


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_pipe_is_replayed_from_its_start(suffix, tmp_path, capfd, monkeypatch):
    """A checkpoint cannot ask a pipe for what it said before: whoever restarts the run sends all of
    it, and it is compared.
    """
    monkeypatch.setattr(session, "EVERY", 0.0)
    monkeypatch.setattr(tracking, "BATCH", 30)
    case, data, source = Case(suffix, "pipe", {}), content(suffix), tmp_path / "data"
    source.write_bytes(data)
    out, folder = tmp_path / "o", tmp_path / "c"
    assert ended(forked(runner(case, source, tmp_path / "whole", None))) == 0
    assert ended(forked(runner(case, source, out, folder, fault=Fault(60, "after")))) < 0
    capfd.readouterr()
    middle = data.index(b"\n", len(data) // 2) + 1
    half = data.index(b"\n", len(data) // 6) + 1
    changed = data[: len(data) // 8] + data[len(data) // 8 :].replace(b"up", b"dn", 1)
    for wrong, message in (
        (
            data[middle:] if suffix == "jsonl" else data[: data.index(b"\n") + 1] + data[middle:],
            "the input must be",
        ),
        (data[:half], "the input must be as long as before"),
        (changed, "the input must be that of the checkpoint: got another content"),
    ):
        source.write_bytes(wrong)
        assert ended(forked(runner(case, source, out, folder))) == 2
        one_line(capfd.readouterr().err, message, "replay a pipe from its start")
    source.write_bytes(data)
    assert ended(forked(runner(case, source, out, folder))) == 0
    assert (out / "predictions.csv").read_bytes() == (
        tmp_path / "whole" / "predictions.csv"
    ).read_bytes()


@pytest.mark.extra
def test_an_edit_within_a_parquet_file_is_seen(tmp_path, capsys):
    arrow = package("pyarrow")
    package("pyarrow.parquet")
    for changed in (0, 1):
        y = [float((7 * i) % 13) for i in range(20_000)]
        y[9_000] += changed
        table = arrow.table({"a": list(range(20_000)), "y": y})
        arrow.parquet.write_table(
            table,
            tmp_path / "d.parquet",
            compression="none",
            use_dictionary=False,
            write_statistics=False,
        )
        code = track(
            str(tmp_path / "d.parquet"), "y", tmp_path / "o", checkpoint=tmp_path / "c", quiet=True
        )
        assert code == (2 if changed else 0)
    assert (
        "the input must be that of the checkpoint: got another content" in capsys.readouterr().err
    )


# Ctrl-C before there is anything to stop

LOADING = """
import os, signal, sys

class At:
    left, seen = sys.argv.pop(1), 0
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        At.seen += 1
        if At.left in (str(At.seen), name):
            os.kill(os.getpid(), signal.SIGINT)

from stillpoint._start import main
sys.meta_path.insert(0, At)
try:
    main()
finally:
    print(At.seen)
"""


def interrupted(at, source, out):
    """Ctrl-C at the import with this number, or of this name."""
    command = [
        sys.executable,
        "-c",
        LOADING,
        str(at),
        "track",
        str(source),
        "--target",
        "y",
        "--out",
        str(out),
        "--quiet",
    ]
    return subprocess.run(command, capture_output=True, text=True)


def check_interrupt(at, source, out):
    done = interrupted(at, source, out)
    assert done.returncode == 130, (at, done.stderr)
    one_line(done.stderr, "interrupted")


def test_ctrl_c_while_it_starts_is_one_line(run, tmp_path):
    # what comes before the first is Python's own; from numpy on the command itself is there to see
    for at in (1, 40, 150, "numba.core.dispatcher"):
        check_interrupt(at, run[0], tmp_path / "o")


@pytest.mark.slow
def test_ctrl_c_at_any_import(run, tmp_path):
    done = interrupted(0, run[0], tmp_path / "whole")
    assert done.returncode == 0
    imports = int(done.stdout)
    for at in range(1, imports, max(imports // 100, 1)):
        check_interrupt(at, run[0], tmp_path / "o")

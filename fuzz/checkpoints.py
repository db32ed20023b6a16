"""Checkpoints of `stillpoint track` with other values in them, under a right checksum: the command
answers, by an exit code.

A run that has ended goes on from what a checkpoint says. Whatever that is, it goes on (0), or says
in one line why not (2, and 1 where files cannot be read or written as it says); it never ends in a
traceback.
"""

import atexit
import contextlib
import io
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np

from loaders import changed, planted, turned
from source import Source
from stillpoint.commands import track
from stillpoint.commands.checkpoint import NAME, VERSION
from stillpoint.core import container

FOLDER = Path(tempfile.mkdtemp(prefix="checkpoints-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
TASKS = ("regression", "binary", "quantile", "series")
GOOD: dict[str, bytes] = {}


class Found(Exception):
    """What a fuzzer looks for."""


def run(task: str, folder: Path) -> int:
    """The command, on a file that is there."""
    features = "" if task == "series" else None
    silent = io.StringIO()
    with contextlib.redirect_stderr(silent), contextlib.redirect_stdout(silent):
        kind = "regression" if task == "series" else task
        folders = {"out": folder / "out", "checkpoint": folder / "state"}
        code = track(
            str(FOLDER / "in.csv"),
            "y",
            time="t",
            features=features,
            task=kind,
            quiet=True,
            **folders,
        )
    if code and len(silent.getvalue().strip().splitlines()) > 1:
        raise Found(f"{task}: more than one line: {silent.getvalue()}")
    return code


def one(data: bytes) -> None:
    """One execution."""
    source = Source(data)
    task = source.pick(TASKS)
    folder = FOLDER / task
    path, style = folder / "state" / NAME, source.byte()
    header, arrays = container.read("track", VERSION, GOOD[task])
    if style < 32:
        what = changed(source, GOOD[task])
    else:
        if style % 3 == 0:
            key = source.pick(sorted(arrays))
            arrays = {**arrays, key: turned(source, arrays[key])}
        else:
            header = planted(source, header)
        try:
            what = b"".join(container.write("track", VERSION, header, arrays))
        except (ValueError, TypeError):  # what cannot be written cannot be read either
            return
    path.write_bytes(what)
    with (folder / "out" / "predictions.csv").open("r+b") as file:
        file.truncate(LENGTHS[task])
    try:
        code = run(task, folder)
    except Found:
        raise
    except (
        ArithmeticError
    ):  # numbers that never were may give any answer or none, as for learners from files
        if style < 32 or style % 3:
            raise
        return
    except Exception as error:
        raise Found(
            f"{task}: {type(error).__name__}: {error}\n{header if style >= 32 else what!r}"
        ) from error
    if code not in (0, 1, 2):
        raise Found(f"{task}: exit code {code}\n{header}")


LENGTHS: dict[str, int] = {}


def setup() -> None:
    """A run of each kind that has come half the way."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    rows = [f"{t},{t % 3},{(t * 7) % 11 / 10},{'ab'[t % 2]}" for t in range(1, 60)]
    for task in TASKS:
        folder = FOLDER / task
        shutil.rmtree(folder, ignore_errors=True)
        made = [
            row if task != "binary" else row.replace(f",{t % 3},", f",{t % 2},", 1)
            for t, row in enumerate(rows, 1)
        ]
        for count in (30, 59):
            (FOLDER / "in.csv").write_text("\n".join(["t,y,a,b", *made[:count], ""]))
            if count == 30:
                assert run(task, folder) == 0
                GOOD[task] = (folder / "state" / NAME).read_bytes()
                LENGTHS[task] = (folder / "out" / "predictions.csv").stat().st_size
        assert run(task, folder) == 0

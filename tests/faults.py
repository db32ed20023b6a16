"""Faults of the world around `stillpoint track --checkpoint`, put into a child process: kills and
errors at any call that writes.

Nothing in the package knows of them. A run is killed again and again, at a call or at a moment
drawn from a seed; after every kill what lies on the disk must be a beginning of the uninterrupted
run's bytes under a whole checkpoint, and a power cut may take what was never synced. `killed`
returns how many kills there were.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any, NamedTuple

import numpy as np

from children import ended, forked
from stillpoint.commands import session, track, tracking
from stillpoint.core import container

ROWS = 700
# calls: the rows, their sync, the new checkpoint, its sync, its name, the folder's sync
PER_BATCH = 6


class Case(NamedTuple):
    """What is run: the format, how it is read (file, pipe or followed), and options."""

    suffix: str
    way: str
    options: dict[str, Any]


CASES = {
    "csv": Case("csv", "file", {"time": "t"}),
    "csv, late targets": Case("csv", "file", {"delay": 9, "task": "quantile"}),
    "json lines": Case("jsonl", "file", {"delay": 3, "time": "t"}),
    "json lines, classes": Case("jsonl", "file", {"target": "c"} | {"task": "binary"}),
    "standard input": Case("csv", "pipe", {"delay": 2}),
    "standard input, json lines": Case("jsonl", "pipe", {"time": "t", "task": "interval"}),
    # what is told from the first rows must not depend on how many of them are there
    "followed": Case("csv", "followed", {"time": "t", "learner": "regression"}),
    "followed, json lines, late targets": Case("jsonl", "followed", {"delay": 5}),
}
# with two files that grow
ALERTING = {
    "alerts": Case("csv", "file", {"time": "t", "alerts": 0.2}),
    "followed, alerts": Case("jsonl", "followed", {"delay": 2, "alerts": 0.2}),
}


def content(suffix, seed=0):
    """A file of rows: gaps in the target, words, quotes with line ends, and a last line without an
    end.
    """
    rng = np.random.default_rng(seed)
    y = np.cumsum(0.1 * rng.standard_normal(ROWS)).round(5)
    times = np.cumsum(rng.exponential(1.0, ROWS) + 0.01).round(4)
    a, words = rng.standard_normal(ROWS).round(4), rng.choice(["u", "v\nw", 'q"'], ROWS)
    table = zip(
        times.tolist(),
        a.tolist(),
        words.tolist(),
        y.tolist(),
        (rng.random(ROWS) < 0.05).tolist(),
        strict=True,
    )
    rows = [
        {"t": t, "a": a, "k": k, "c": "up" if v > 0 else "down", "y": None if gone else v}
        for t, a, k, v, gone in table
    ]
    if suffix == "jsonl":
        return "\n".join(json.dumps(row) for row in rows).encode()
    cells = [[cell(value) for value in row.values()] for row in rows]
    return "\n".join([",".join(rows[0]), *map(",".join, cells)]).encode()


def cell(value):
    """A cell of CSV."""
    return (
        '"' + value.replace('"', '""') + '"'
        if isinstance(value, str)
        else ""
        if value is None
        else repr(value)
    )


class Fault:
    """In a child: the call number `at` of those that write is its last (before it, after it, or
    torn) or fails with `error`.
    """

    def __init__(self, at, kind, share=0.5, error=0):
        self.left, self.kind, self.share, self.error = at, kind, share, error

    def install(self):
        """From now on."""
        for name in ("write", "fsync", "replace", "ftruncate"):
            setattr(os, name, self._counted(name, getattr(os, name)))
        opened = pathlib.Path.open
        fault = self

        def part(path, mode="r", *more, **named):
            file = opened(path, mode, *more, **named)
            return Part(file, fault) if path.name.endswith(".part") else file

        pathlib.Path.open = part

    def _counted(self, name, real):
        def counted(*arguments):
            torn = (
                (arguments[0], bytes(arguments[1])[: int(self.share * len(arguments[1]))])
                if name == "write"
                else None
            )
            return self.meet(
                lambda: real(*arguments), None if torn is None else lambda: real(*torn)
            )

        return counted

    def meet(self, whole, half):
        """One call: made, made in part, failed, or the last."""
        self.left -= 1
        if self.left >= 0 or (self.left < -1 and self.kind != "full"):
            return whole()
        if self.kind in ("fails", "full"):
            if half is not None:
                half()
            raise OSError(self.error, os.strerror(self.error))
        if self.kind == "torn" and half is not None:
            half()
        elif self.kind != "before":
            whole()
        os.kill(os.getpid(), signal.SIGKILL)


class Part:
    """A file that is written before it takes the place of another."""

    def __init__(self, file, fault):
        self.file, self.fault = file, fault

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def __getattr__(self, name):
        return getattr(self.file, name)

    def write(self, data):
        self.writelines([data])
        return len(data)

    def writelines(self, parts):
        parts = [part if isinstance(part, str) else bytes(part) for part in parts]
        data = type(parts[0])().join(parts)
        half = data[: int(self.fault.share * len(data))]
        self.fault.meet(
            lambda: (self.file.write(data), self.file.flush()),
            lambda: (self.file.write(half), self.file.flush()),
        )


def runner(case, source, out, folder, follow=False, fault=None):
    """The work of a child."""
    options = {"target": "y", **case.options}

    def work():
        place = str(source)
        if case.way == "pipe":
            sys.stdin = subprocess.Popen(["cat", place], stdout=subprocess.PIPE).stdout
            place = "-"
        if fault is not None:
            fault.install()
        checkpoint = {} if folder is None else {"checkpoint": folder, "follow": follow}
        return track(place, out=out, format=case.suffix, quiet=True, **options, **checkpoint)

    return work


def sound(out, folder, expected, noise=None):
    """What lies on the disk after a kill: a beginning of the right bytes, and no checkpoint that
    speaks of more.

    noise: what a power cut left before the run, if that did not live long enough to cut it off.
    """
    written = out / "predictions.csv"
    have = written.read_bytes() if written.exists() else b""
    assert expected.startswith(have) or have == noise
    path = folder / "checkpoint.npz"
    if not path.exists():
        return None
    header, _ = container.read("track", 2, path.read_bytes())
    for length in header.get("lengths", ()):
        assert length <= (out / "alerts.jsonl").stat().st_size
    assert header["length"] <= len(have)
    assert expected.startswith(have[: header["length"]])
    assert have[: header["length"]].count(b"\n") == header["rows"] + 1
    if (out / "summary.json").exists():
        json.loads((out / "summary.json").read_text())
    return header["length"]


def cut_power(out, folder, length, luck):
    """What was never synced is gone, or is anything."""
    written = out / "predictions.csv"
    if written.exists():
        kept = written.read_bytes()[: length or 0]
        written.write_bytes(kept + luck.randbytes(luck.randrange(300)))
    noise = written.read_bytes() if written.exists() else None
    alerts = out / "alerts.jsonl"
    if alerts.exists() and (folder / "checkpoint.npz").exists():
        header, _ = container.read("track", 2, (folder / "checkpoint.npz").read_bytes())
        kept = alerts.read_bytes()[: header["lengths"][0]]
        alerts.write_bytes(kept + luck.randbytes(luck.randrange(300)))
    for path in (*out.glob(".*.part"), *folder.glob(".*.part")):
        path.write_bytes(luck.randbytes(luck.randrange(300)))
    return noise


def killed(name, folder, luck, monkeypatch, kills=None):
    """One run of a case, killed about every third batch until it is through, or so many times; then
    its bytes are compared.
    """
    case, source, out, state = (CASES | ALERTING)[name], folder / "data", folder / "o", folder / "c"
    data = content(case.suffix)
    source.write_bytes(data)
    whole = runner(case, source, folder / "whole", None)
    # where it can it compiles here, for all
    assert (whole() if case.way != "pipe" else ended(forked(whole))) == 0
    expected = (folder / "whole" / "predictions.csv").read_bytes()
    there = len(data)
    if case.way == "followed":
        there = luck.randrange(40)
        source.write_bytes(data[:there])
    monkeypatch.setattr(session, "EVERY", 0.0)
    deaths, through, noise = 0, False, None
    while not through and (kills is None or deaths < kills):
        monkeypatch.setattr(tracking, "BATCH", luck.choice([9, 25, 60]))
        kind = luck.choice(["before", "after", "torn", "torn", "moment"])
        fault = (
            None if kind == "moment" else Fault(luck.randrange(5 * PER_BATCH), kind, luck.random())
        )
        child = forked(runner(case, source, out, state, case.way == "followed", fault))
        if case.way == "followed":
            for _ in range(3):
                more = min(there + luck.randrange(3000), len(data))
                with source.open("ab") as file:  # ends within a row, mostly
                    file.write(data[there:more])
                there = more
                time.sleep(0.02)
        patience = (
            luck.uniform(0.0, 0.08) if kind == "moment" else 10.0 if case.way != "followed" else 0.3
        )
        end = time.monotonic() + patience
        while (
            time.monotonic() < end
            and os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        ):
            time.sleep(0.001)
        os.kill(child, signal.SIGKILL)
        code = ended(child)
        assert code in (0, -signal.SIGKILL), code
        deaths += code != 0
        through = code == 0 or (
            there == len(data)
            and (out / "predictions.csv").exists()
            and case.way == "followed"
            and deaths > 8
        )
        length = sound(out, state, expected, noise)
        if code and luck.random() < 0.3:
            noise = cut_power(out, state, length, luck)
    source.write_bytes(data)
    assert ended(forked(runner(case, source, out, state))) == 0
    assert (out / "predictions.csv").read_bytes() == expected
    if name in ALERTING:
        told = (folder / "whole" / "alerts.jsonl").read_bytes()
        assert (out / "alerts.jsonl").read_bytes() == told
        assert told.count(b"\n") > 3
    ours, theirs = (
        json.loads((place / "summary.json").read_text()) for place in (out, folder / "whole")
    )
    for key in ("rows", "targets", "loss", "weights", "certificate", "complete"):
        assert ours[key] == theirs[key], key
    return deaths

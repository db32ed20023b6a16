"""The fuzzers' harnesses on a few random inputs, and what they have found; `make fuzz` runs them
for a million (fuzz/run.py).
"""

import contextlib
import json
import random
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import api
import checkpoints
import loaders
import parsers
from stillpoint.commands import track
from stillpoint.commands.checkpoint import NAME, VERSION
from stillpoint.core import container
from thorough import THOROUGH

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("harness", "runs"), [(api, 1000), (parsers, 1500), (loaders, 500), (checkpoints, 30)]
)
def test_harnesses_find_nothing_in_random_inputs(harness, runs):
    rng = random.Random(20)
    with warnings.catch_warnings(), np.errstate():
        harness.setup()
        for _ in range(runs if THOROUGH else runs // 5):
            harness.one(rng.randbytes(rng.choice((20, 60, 150, 400))))


def test_most_inputs_of_the_parsers_are_read(monkeypatch):
    """Options that are refused end an execution before any reader is reached."""
    read, asked = [], parsers.run
    monkeypatch.setattr(parsers, "run", lambda *given: read.append(asked(*given)) or read[-1])
    rng = random.Random(4)
    for _ in range(300):
        parsers.one(rng.randbytes(150))
    assert len(read) > 2 * 150  # small batches and large ones
    assert sum(bool(told) for told, _, _ in read) > 20  # rows that became numbers


def test_harnesses_would_see_a_trace(monkeypatch):
    """A learner that counts a refused call as a round, one that raises, and one that
    answers NaN.
    """
    import stillpoint as sp

    class Traced(sp.QuantileTracker):
        def update(self, y):
            self.rounds += (
                not np.isfinite(np.asarray(y, dtype=float)).all() if isinstance(y, float) else 0
            )
            super().update(y)

    class Crash(sp.QuantileTracker):
        def update(self, y):
            return 1 / 0

    class Empty(sp.QuantileTracker):
        def predict(self):
            return float("nan")

    rng = random.Random(3)
    for kind, match in (
        (Traced, "refused calls have changed|answers otherwise"),
        (Crash, "ZeroDivisionError"),
        (Empty, "nan"),
    ):
        monkeypatch.setattr(api, "BUILDERS", {"it": kind})
        monkeypatch.setattr(api, "NAMES", ["it"])
        with pytest.raises(api.Found, match=match):
            [api.one(rng.randbytes(100)) for _ in range(300)]


def test_the_runner_runs():
    command = [sys.executable, ROOT / "fuzz" / "run.py", "parsers", "--runs", "50", "--blind"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "parsers: 50 executions" in done.stdout


def rows_of(folder, text, **options):
    """Exit code of the command on that text, its predictions and what it says."""
    source = folder / f"in.{options.pop('suffix', 'csv')}"
    source.write_bytes(text)
    code = track(str(source), "y", folder / "out", quiet=True, **options)
    written = folder / "out" / "predictions.csv"
    return code, written.read_text().splitlines()[1:] if written.exists() else []


def test_a_time_that_is_a_whole_number_beyond_floats_is_refused_in_one_line(tmp_path, capsys):
    text = b"".join(b'{"t": %d, "y": 1}\n' % t for t in (10**400, 10**401))
    code, _ = rows_of(tmp_path, text, time="t", suffix="jsonl")
    assert code == 2
    assert "column 't' must be" in capsys.readouterr().err


@pytest.mark.parametrize("blank", [b"\t", b" \t "])
def test_rows_of_empty_cells_between_tabs_count_as_rows(tmp_path, capsys, blank):
    """They were taken for blank lines when the place of a bad row after them was told."""
    code, rows = rows_of(tmp_path, b"t\ty\n" + blank + b"\n1\t2\n" + blank + b"\n\xff\t3\n")
    assert code == 2
    assert "row 4: a row must be UTF-8" in capsys.readouterr().err
    assert len(rows) == 3


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("command", None),
        ("position", "x"),
        ("head", 2**40),
        ("length", None),
        ("rows", 1.5),
        ("counts", [1]),
        ("timed", [0, -1.0]),
        ("encoder", {}),
        ("fingerprint", 5),
        ("finished", 1),
        ("numbers", 3),
    ],
)
def test_checkpoints_with_another_header_are_refused_in_one_line(tmp_path, capsys, name, value):
    assert rows_of(tmp_path, b"t,y\n1,2\n2,3\n", time="t", checkpoint=tmp_path / "state")[0] == 0
    path = tmp_path / "state" / NAME
    header, arrays = container.read("track", VERSION, path.read_bytes())
    for other in (
        {**header, name: value},
        {key: kept for key, kept in header.items() if key != name},
    ):
        path.write_bytes(b"".join(container.write("track", VERSION, other, arrays)))
        assert (
            rows_of(tmp_path, b"t,y\n1,2\n2,3\n3,4\n", time="t", checkpoint=tmp_path / "state")[0]
            == 2
        )
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert f"the checkpoint must be whole: got {path}" in said


def test_what_the_encoder_refuses_it_has_not_learnt(tmp_path):
    from stillpoint.commands.encode import Encoder
    from stillpoint.commands.errors import RowError
    from stillpoint.commands.formats import Batch
    from stillpoint.commands.options import TrackOptions

    encoder = Encoder(TrackOptions("-", "y", tmp_path / "out", time="t"), ["a"])
    before = json.dumps(encoder.state())
    for bad in (["x", "1", "2"], ["1", "2", "1"], ["1", "2", "2"]):
        columns = [["1", "2", "nope"], bad, ["red", "green", "blue"]]
        with pytest.raises(RowError):
            encoder.encode(Batch(columns, 3))
        assert json.dumps(encoder.state()) == before
    with contextlib.suppress(RowError):
        encoder.encode(Batch([["1"], ["1"], ["red"]], 1))
    assert encoder.categories

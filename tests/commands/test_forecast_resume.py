"""`stillpoint fleet` with forecasters: killed anywhere and begun again, the same bytes; later rows
go on from what was kept.
"""

import itertools
import os
import shutil
import signal
import sys

import numpy as np
import pytest
from test_forecast_fleet import contents, read, run, series, summary, table, write

from children import ended, forked
from stillpoint.commands import fleet, fleet_job
from stillpoint.commands.checkpoint import Checkpoint
from stillpoint.commands.forecasts import job, output, player, spill

PLACES = {
    "rows": (spill.Spill, "flush"),
    "checkpoint": (Checkpoint, "save"),
    "forecasts": (output, "write_ahead"),
    "state": (player, "replace"),
    "tidy": (job.Forecasts, "tidy"),
    "summary": (job, "write_summary"),
}
FOLDERS = ("forecasts", "predictions")
SAME = ("rows", "keys", "targets", "scored", "errors", "worst", "coverage", "rejected", "repeated")


def process(left, where, number, source, out, state):
    """Exit code and stderr of a run in a child that gets a signal in one of the `PLACES`."""
    said = out.parent / "said.txt"

    def work():
        sys.stderr = said.open("w", encoding="utf-8")
        place, _, side = where.partition("-")
        if place in PLACES:
            signalled(*PLACES[place], left, getattr(signal, number), side == "after")
        options = {"time": "day", "horizon": 3, "season": "7", "predictions": "csv"}
        code = fleet(str(source), "sku", "sold", out, checkpoint=state, quiet=True, **options)
        sys.stderr.flush()
        return code

    return ended(forked(work)), said.read_text(encoding="utf-8")


def signalled(owner, name, left, number, after):
    """Have the call of that number get a signal, before or after it does what it does."""
    plain, calls = getattr(owner, name), itertools.count(1)

    def dying(*args, **named):
        last = next(calls) == left
        result = plain(*args, **named) if after or not last else None
        if last:
            os.kill(os.getpid(), number)
        return result

    setattr(owner, name, dying)


def small(monkeypatch):
    """Parts of a few keys, files of a few rows."""
    monkeypatch.setattr(fleet_job, "BATCH", 40)
    monkeypatch.setattr(job, "ROWS", 60)
    monkeypatch.setattr("stillpoint.commands.forecasts.spill.ROOM", 3000)


def test_killed_anywhere_and_run_again_it_writes_the_same_bytes(tmp_path, monkeypatch):
    small(monkeypatch)
    source, out = write(tmp_path / "a.csv", table(series(6, 50))), tmp_path / "out"
    assert run(source, tmp_path / "whole", predictions="csv") == 0
    want = {name: contents(tmp_path / "whole" / name) for name in FOLDERS}
    assert len(want["forecasts"]) > 2
    for n, where in (
        (2, "rows-before"),
        (1, "checkpoint-before"),
        (2, "checkpoint-after"),
        (2, "forecasts-before"),
        (1, "state-before"),
        (1, "state-after"),
        (1, "summary-after"),
        (1, "tidy-before"),
    ):
        died = process(n, where, "SIGKILL", source, out, tmp_path / "state")
        assert died[0] == -signal.SIGKILL, (where, died[1])
    for _ in range(2):  # once more, when all is done, changes nothing
        assert run(source, out, predictions="csv", checkpoint=tmp_path / "state") == 0
        assert {name: contents(out / name) for name in FOLDERS} == want
    one, two = summary(out), summary(tmp_path / "whole")
    assert {name: one[name] for name in SAME} == {name: two[name] for name in SAME}
    assert not list((tmp_path / "state" / "rows").iterdir())
    assert len(list((tmp_path / "state" / "states").iterdir())) == one["parts"]


def test_a_signal_ends_it_between_batches_or_parts(tmp_path, monkeypatch):
    small(monkeypatch)
    source, out = write(tmp_path / "a.csv", table(series(6, 50))), tmp_path / "out"
    assert run(source, tmp_path / "whole", predictions="csv") == 0
    for n, where, number, said in (
        (1, "rows-after", "SIGTERM", "rows were read, and none was played"),
        (2, "forecasts-after", "SIGINT", "2 of 4 parts were played"),
    ):
        code, told = process(n, where, number, source, out, tmp_path / "state")
        assert code == 128 + getattr(signal, number), told
        assert said in told
        assert "run the same command to go on" in told
    assert process(0, "none", "SIGINT", source, out, tmp_path / "state")[0] == 0
    assert contents(out / "forecasts") == contents(tmp_path / "whole" / "forecasts")


def cut(rows, day):
    """Rows up to a day, and later ones."""
    return [row for row in rows if row[1] < day], [row for row in rows if row[1] >= day]


def test_later_rows_go_on_from_what_was_kept(tmp_path, monkeypatch):
    """A key that is gone keeps its forecast, one that joins begins: as if all had come at once."""
    small(monkeypatch)
    given = series(6, 50)
    given["new"] = np.arange(45, 60), np.arange(15.0)
    given["gone"] = np.arange(20), np.arange(20.0)
    rows = table(given)
    before, after = cut(rows, "2024-02-10")
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    write(folder / "1.csv", before)
    told = {"checkpoint": tmp_path / "state", "predictions": "csv"}
    assert run(folder, out, **told) == 0
    first, parts = read(out), summary(out)["parts"]
    assert "new" not in first
    write(folder / "2.csv", after)
    died = process(2, "forecasts-after", "SIGKILL", folder, out, tmp_path / "state")
    assert died[0] == -signal.SIGKILL, died[1]
    assert run(folder, out, **told) == 0
    again = read(out)
    assert again["gone"] == first["gone"]
    monkeypatch.setattr(job, "ROWS", 10**6)
    assert run(write(tmp_path / "a.csv", rows), tmp_path / "whole", predictions="csv") == 0
    assert again == read(tmp_path / "whole")
    assert summary(out)["parts"] == parts
    for name in ("rows", "keys", "targets", "scored", "repeated", "rejected"):
        assert summary(out)[name] == summary(tmp_path / "whole")[name], name
    for name, errors in summary(out)["errors"].items():
        assert errors == pytest.approx(summary(tmp_path / "whole")["errors"][name])
    played = {key: sorted(rows, key=lambda row: row["time"]) for key, rows in
              read(out, "predictions").items()}  # fmt: skip
    assert played == read(tmp_path / "whole", "predictions")


def test_rows_that_come_too_late_are_counted_and_change_nothing(tmp_path):
    rows = table(series(3, 50))
    before, after = cut(rows, "2024-02-10")
    source, out = write(tmp_path / "a.csv", before), tmp_path / "out"
    told = {"checkpoint": tmp_path / "state"}
    assert run(source, out, **told) == 0
    late = [(key, "2024-01-30", "1000000") for key in ("sku0", "sku1")]
    with source.open("a") as file:
        file.writelines(f"{','.join(row)}\n" for row in [*late, *after])
    assert run(source, out, **told) == 0
    assert run(write(tmp_path / "b.csv", rows), tmp_path / "whole") == 0
    assert contents(out / "forecasts") == contents(tmp_path / "whole" / "forecasts")
    rejected = summary(out)["rejected"]
    assert rejected["reasons"] == {"time must be after what was learnt in an earlier run": 2}


def test_a_file_that_grew_while_parts_were_played_is_read_on_later(tmp_path, monkeypatch):
    small(monkeypatch)
    rows = table(series(6, 50))
    before, after = cut(rows, "2024-02-10")
    source, out = write(tmp_path / "a.csv", before), tmp_path / "out"
    died = process(2, "forecasts-after", "SIGKILL", source, out, tmp_path / "state")
    assert died[0] == -signal.SIGKILL
    with source.open("a") as file:
        file.writelines(f"{','.join(row)}\n" for row in after)
    assert process(0, "none", "SIGKILL", source, out, tmp_path / "state")[0] == 0
    assert run(write(tmp_path / "b.csv", rows), tmp_path / "whole") == 0
    assert sorted(read(out).items()) == sorted(read(tmp_path / "whole").items())


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"season": "7,30"}, "--season must be that of the checkpoint: got 7,30, begun with 7"),
        (
            {"season": None},
            "--season must be that of the checkpoint: got the default, begun with 7",
        ),
        ({"horizon": 4}, "--horizon must be that of the checkpoint: got 4, begun with 3"),
        ({"pool": "middle"}, "--pool must be that of the checkpoint: got middle, begun with small"),
        ({"coverage": 0.8}, "--coverage must be that of the checkpoint: got 0.8, begun with 0.9"),
        ({"learner": "kernel", "horizon": None, "season": None}, "--learner must be that of"),
    ],
)
def test_what_a_checkpoint_was_begun_with_stays(tmp_path, capsys, told, message):
    source, out = write(tmp_path / "a.csv", table(series(1, 30))), tmp_path / "out"
    assert run(source, out, checkpoint=tmp_path / "state") == 0
    before = contents(out / "forecasts")
    assert run(source, out, checkpoint=tmp_path / "state", **told) == 2
    assert message in capsys.readouterr().err
    assert contents(out / "forecasts") == before


def test_forecasts_that_were_deleted_are_written_again(tmp_path):
    source, out = write(tmp_path / "a.csv", table(series(2, 30))), tmp_path / "out"
    assert run(source, out, checkpoint=tmp_path / "state") == 0
    before = contents(out / "forecasts")
    (out / "forecasts" / "part-00000.csv").unlink()
    assert run(source, out, checkpoint=tmp_path / "state") == 0
    assert contents(out / "forecasts") == before


def test_a_state_that_is_damaged_is_told(tmp_path, capsys):
    source, out = write(tmp_path / "a.csv", table(series(1, 30))), tmp_path / "out"
    assert run(source, out, checkpoint=tmp_path / "state") == 0
    path = next((tmp_path / "state" / "states").iterdir())
    path.write_bytes(path.read_bytes()[:-10])
    with source.open("a") as file:
        file.write("sku0,2024-12-01,5\n")
    assert run(source, out, checkpoint=tmp_path / "state") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "the checkpoint must be whole" in error


def test_a_run_with_nothing_new_does_not_tell_how_fast_an_earlier_one_was(tmp_path, capsys):
    source, out = write(tmp_path / "a.csv", table(series(2, 40))), tmp_path / "out"
    told = {"checkpoint": tmp_path / "state", "quiet": False}
    for _ in range(2):  # a run that compiles tells no rate
        shutil.rmtree(tmp_path / "state", ignore_errors=True)
        assert run(source, out, **told) == 0
    assert "rows a second" in capsys.readouterr().out
    before = summary(out)
    assert run(source, out, **told) == 0
    said = capsys.readouterr().out
    assert "bytes a key" in said
    assert "rows a second" not in said
    assert summary(out) == before

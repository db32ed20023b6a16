"""Sweeps: every cell once, whatever is killed, whoever plays; and what is said about mistakes."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import stillpoint as sp
from extras import package
from stillpoint.commands.cli import app
from stillpoint.lab import store as store_module
from stillpoint.lab import streams
from stillpoint.lab.bench.regret import regret_bench
from stillpoint.lab.contenders import Contender, lineup
from stillpoint.lab.store import Store, SweepRow
from stillpoint.lab.sweep import SweepStopped, sweep
from stillpoint.lab.workers import _call, _sealed, watched, workers

extra = pytest.mark.extra
SMALL = {"streams": ["walk", "fleeing"], "seeds": range(2), "horizons": [100, 150]}


def logged(folder, pause, facts):
    """A learner that leaves a line for each time it is built."""
    with open(folder / "built", "a") as file:
        file.write(f"{facts.horizon}\n")
    time.sleep(pause)
    return sp.Tracker(facts.dim)


class Renamed:
    """A home for a class that has the name of another."""

    class Tracker(sp.Tracker):
        """Such a class."""


def built(folder):
    path = folder / "built"
    return len(path.read_text().splitlines()) if path.exists() else 0


def stubborn(folder, facts):
    if facts.horizon > 120 and not (folder / "mended").exists():
        raise RuntimeError("broken")
    return sp.Tracker(facts.dim)


def murderous(facts):
    if facts.horizon == 150:
        os._exit(1)
    return sp.Tracker(facts.dim)


def interrupted(facts):
    if facts.horizon == 150:
        raise KeyboardInterrupt
    return sp.Tracker(facts.dim)


def stored(folder):
    package("pyarrow.parquet")
    import pyarrow.parquet as parquet

    return parquet.read_table(folder / "cells.parquet").to_pylist()


def keys(rows):
    return [(row["learner"], row["stream"], row["horizon"], row["seed"]) for row in rows]


def values(result):
    return [(*row.key, row.regret, row.loss, row.error, row.version) for row in result.rows]


def row(seed, seconds=0.0, **values):
    return SweepRow(
        "L",
        "nothing",
        "s",
        100,
        seed,
        **{"regret": 1.0, "loss": 2.0, "seconds": seconds, "version": "0"} | values,
    )


def test_learners_are_names_classes_with_configuration_or_contenders():
    mine = Contender("mine", "nothing", lambda facts: sp.Tracker(facts.dim))
    ogd = ("slow", sp.lab.baselines.OGD, {"step": 0.1, "domain": sp.domains.Ball(2.0)})
    players, specs, seeds, horizons = lineup(
        ["KT", "KT", mine, ogd], ["walk", "walk"], [0, 3, 0], [100]
    )
    assert [player.name for player in players] == ["KT", "mine", "slow"]
    assert players[2].told.startswith(
        f"{sp.lab.baselines.OGD.__module__}.OGD(step=0.1, domain=Ball("
    )
    assert ([spec.name for spec in specs], seeds, horizons) == (["walk"], [0, 3], [100])
    players, specs, _, _ = lineup("KT", "walk", [0], [100])
    assert ([player.name for player in players], [spec.name for spec in specs]) == (
        ["KT"],
        ["walk"],
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"learners": ["Trakcer"]}, "did you mean Tracker"),
        ({"learners": [("a", sp.Tracker)]}, "learner must be a name or say how it is built"),
        (
            {"learners": [("a", sp.Tracker, {}), ("a", sp.Tracker, {})]},
            "different names: got 'a' twice",
        ),
        (
            {"learners": [("a", sp.Tracker, {"domain": object()})]},
            "config must read the same in every run",
        ),
        (
            {"learners": [("a", lambda dim: sp.Tracker(dim), {})]},
            "config must read the same in every run: got .*<lambda>",
        ),
        ({"learners": "Trakcer"}, "learner must be known: got 'Trakcer'; did you mean Tracker"),
        ({"streams": ["wolk"]}, "did you mean walk"),
        ({"streams": "wolk"}, "stream must be known: got 'wolk'; did you mean walk"),
        (
            {"seeds": [-1]},
            "seeds must be a positive whole number: got -1; give whole numbers, 0 or more",
        ),
        (
            {"seeds": [0.0]},
            "seeds must be a positive whole number: got 0.0; give whole numbers, 0 or more",
        ),
        ({"seeds": [False]}, "seeds must be a positive whole number: got False"),
        (
            {"streams": ["walk", replace(streams.find(["sine1"])[0], name="walk")]},
            "streams must have .* called 'walk'",
        ),
        ({"horizons": []}, "at least one of each"),
        ({"jobs": 0}, "jobs must be a positive"),
        ({"backend": "spark"}, "backend must be one of loky, dask, ray: got 'spark'"),
        ({"address": "tcp://head:8786"}, "address must go with a cluster"),
    ],
)
def test_mistakes_are_told_before_anything_is_made(tmp_path, changed, message):
    with pytest.raises(ValueError, match=message):
        sweep(**{"learners": ["Tracker"], **SMALL, "out": tmp_path / "out", **changed})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("missing", "backend", "message"),
    [
        ("pyarrow", "loky", "a sweep must have pyarrow: it is not installed"),
        (
            "distributed",
            "dask",
            r"backend dask must have its package: .* pip install 'stillpoint\[dask\]'",
        ),
        ("ray", "ray", r"pip install 'stillpoint\[ray\]'"),
    ],
)
def test_missing_packages_are_told(tmp_path, monkeypatch, missing, backend, message):
    for name in [name for name in sys.modules if name.partition(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ValueError, match=message):
        sweep(["Tracker"], **SMALL, out=tmp_path / "out", backend=backend)
    assert not (tmp_path / "out").exists()


def test_results_come_in_order_if_asked_and_lines_say_how_far(capsys):
    with workers("loky", 1) as run:
        assert list(watched(run(pow, [(i, 2) for i in range(4)], ordered=True), 6, 2)) == [
            0,
            1,
            4,
            9,
        ]
    assert capsys.readouterr().err.startswith("6 of 6 played, ")


@extra
def test_cells_have_the_regret_of_the_benchmark_and_are_played_once(tmp_path):
    package("pyarrow")
    player = Contender("logged", "nothing", partial(logged, tmp_path, 0.0))
    first = sweep([player, "KT"], **SMALL, out=tmp_path / "out", jobs=1)
    assert (first.played, built(tmp_path), first.failures) == (16, 8, [])
    bench = regret_bench([player, "KT"], **SMALL)
    assert {row.key: row.regret for row in first.rows} == {
        (row.learner, row.told, row.stream, row.horizon, row.seed): row.regret for row in bench.rows
    }
    rows = stored(tmp_path / "out")
    assert sorted(keys(rows)) == sorted(
        (r.learner, r.stream, r.horizon, r.seed) for r in first.rows
    )
    assert {row["version"] for row in rows} == {sp.__version__}
    assert all(row["seconds"] > 0.0 and row["loss"] > 0.0 for row in rows)
    before = built(tmp_path)
    again = sweep([player, "KT"], **SMALL, out=tmp_path / "out", jobs=1)
    assert (again.played, built(tmp_path), again.rows) == (0, before, first.rows)
    grown = sweep([player], **SMALL | {"seeds": range(3)}, out=tmp_path / "out", jobs=1)
    assert (grown.played, len(grown.rows), len(stored(tmp_path / "out"))) == (4, 12, 20)
    # told more: another learner
    other = Contender("logged", "something", partial(logged, tmp_path, 0.0))
    assert sweep([other], **SMALL, out=tmp_path / "out", jobs=1).played == 8


@extra
def test_another_class_under_the_same_name_is_another_cell(tmp_path):
    package("pyarrow")
    for kind in (sp.Tracker, sp.MultiScale, Renamed.Tracker):
        assert sweep([("mine", kind, {})], ["walk"], [0], [100], out=tmp_path, jobs=1).played == 1
        assert (
            sweep(
                [("mine", kind, {})],
                ["walk", "walk"],
                [0, np.int64(0)],
                [100],
                out=tmp_path,
                jobs=1,
            ).played
            == 0
        )
    assert [row["told"] for row in stored(tmp_path)] == [
        f"{kind.__module__}.{kind.__qualname__}()"
        for kind in (sp.Tracker, sp.MultiScale, Renamed.Tracker)
    ]


@extra
def test_failures_are_rows_and_retried_when_asked(tmp_path):
    package("pyarrow")
    player = Contender("stubborn", "nothing", partial(stubborn, tmp_path))
    arguments = {**SMALL, "out": tmp_path / "out", "jobs": 1}
    found = sweep([player, "Tracker"], **arguments)
    assert {(r.learner, r.horizon, r.error, r.regret) for r in found.failures} == {
        ("stubborn", 150, "RuntimeError: broken", None)
    }
    assert len(found.failures) == 4
    assert found.notes()[0] == "failed: stubborn on walk (2): RuntimeError: broken"
    (tmp_path / "mended").touch()
    assert sweep([player, "Tracker"], **arguments).played == 0
    mended = sweep([player, "Tracker"], **arguments, retry=True)
    assert (mended.played, mended.failures) == (4, [])
    assert len(stored(tmp_path / "out")) == 16


@extra
def test_a_stream_that_cannot_be_drawn_is_a_failure(tmp_path):
    package("pyarrow")
    broken = streams.Spec(
        "broken", "toy", streams.CHOSEN, lambda rounds, seed: streams.get("walk", rounds, "x")
    )
    found = sweep(["Tracker"], [broken, "walk"], [0], [100], out=tmp_path, jobs=1)
    assert [bool(row.error) for row in found.rows] == [True, False]


@extra
def test_a_killed_sweep_goes_on_where_it_was(tmp_path):
    """Kill −9 while three hundred cells are played by two processes: none is lost, none is there
    twice.
    """
    package("pyarrow")
    out, arguments = tmp_path / "out", [*SMALL["streams"], "sine1"]
    code = f"""
import sys
sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(Path(__file__).parents[1])!r}]
from functools import partial
from pathlib import Path
from test_sweep import Contender, logged, store_module, sweep
store_module._UNSAVED, store_module._MANY = 0.0, 7
contender = Contender("logged", "nothing", partial(logged, Path({str(tmp_path)!r}), 0.02))
sweep([contender], {arguments!r}, range(50),
      [100, 150],
      out={str(out)!r}, jobs=2)
"""
    found = 0
    # the second kill meets a folder that the first one left
    for enough in ("part-000003.parquet", "part-000010.parquet"):
        process = subprocess.Popen([sys.executable, "-c", code])
        start = time.monotonic()
        while (
            not any(path.name >= enough for path in out.glob("part-*"))
            and time.monotonic() - start < 60.0
        ):
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with Store(out) as store:
            assert found < len(store.rows) < 300
            found = len(store.rows)
    fresh = tmp_path / "fresh"  # orphaned workers may still be writing to the other one
    fresh.mkdir()
    player = Contender("logged", "nothing", partial(logged, fresh, 0.0))
    result = sweep([player], arguments, range(50), [100, 150], out=out, jobs=1)
    assert result.played == 300 - found == built(fresh)
    assert len(set(keys(stored(out)))) == len(stored(out)) == 300
    assert sorted(path.name for path in out.iterdir()) == [".lock", "cells.parquet"]


@extra
def test_rows_are_on_disk_once_work_would_be_lost(tmp_path, monkeypatch):
    package("pyarrow")
    monkeypatch.setattr(store_module, "_MANY", 3)
    parts = lambda: sorted(path.name for path in tmp_path.glob("*.parquet"))  # noqa: E731
    with Store(tmp_path) as store:
        store.add(row(0, 0.4))
        assert parts() == []
        store.add(row(1, 0.7))
        assert parts() == ["part-000001.parquet"]
        store.add(row(2, 60.0))
        store.add(row(3, 60.0))
        assert parts() == ["cells.parquet"]
        with pytest.raises(ValueError, match="another sweep is writing"), Store(tmp_path):
            pass
    assert [each["seed"] for each in stored(tmp_path)] == [0, 1, 2, 3]


@extra
def test_a_kill_between_merging_and_removing_parts_doubles_nothing(tmp_path, monkeypatch):
    package("pyarrow")

    def killed(self):
        raise OSError("killed")

    store = Store(tmp_path)
    store.__enter__()
    store.add(row(0, 2.0))
    store.add(row(1, 2.0, error="x"))
    store.add(row(1, 2.0))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", killed)
        with pytest.raises(OSError, match="killed"):
            store.__exit__(None, None, None)
    (tmp_path / ".part-000009.parquet.part").write_bytes(b"PAR1 half")
    assert len(list(tmp_path.glob("*.parquet"))) == 4
    with Store(tmp_path) as again:
        assert [(each.seed, each.error) for each in again.rows.values()] == [(0, ""), (1, "")]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "cells.parquet"]


@extra
def test_files_of_others_are_refused(tmp_path):
    package("pyarrow")
    (tmp_path / "cells.parquet").write_bytes(b"mine")
    with pytest.raises(
        ValueError, match=r"out must hold a sweep's files only: got .*cells.parquet"
    ):
        sweep(["Tracker"], **SMALL, out=tmp_path)
    assert (tmp_path / "cells.parquet").read_bytes() == b"mine"
    with pytest.raises(ValueError, match="out must be a folder: got the file"):
        sweep(["Tracker"], **SMALL, out=tmp_path / "cells.parquet")


@extra
def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(tmp_path):
    package("pyarrow")
    with pytest.raises(
        KeyboardInterrupt,
        match=r"interrupted: 4 of 8 cells are in .*; do the same again to play the rest",
    ):
        sweep([Contender("interrupted", "nothing", interrupted)], **SMALL, out=tmp_path, jobs=1)
    assert len(stored(tmp_path)) == 4


@extra
def test_a_lost_worker_does_not_lose_the_rest(tmp_path):
    package("pyarrow")
    with pytest.raises(
        SweepStopped, match=r"the sweep stopped: TerminatedWorkerError: .* of 8 cells are in"
    ):
        sweep([Contender("murderous", "nothing", murderous)], **SMALL, out=tmp_path, jobs=2)
    assert sweep(["Tracker"], **SMALL, out=tmp_path, jobs=1).failures == []


@extra
# files that fit: three parts, or all parts and not what is merged
@pytest.mark.parametrize(("room", "done"), [(3, 3), (8, 8)])
def test_a_full_disk_stops_the_sweep_and_counts_what_it_holds(tmp_path, monkeypatch, room, done):
    package("pyarrow")
    left, write = [room], store_module.replace

    def full(path, body):
        if not left[0]:
            raise OSError(28, "No space left on device")
        left[0] -= 1
        write(path, body)

    with monkeypatch.context() as patch:
        patch.setattr(store_module, "replace", full)
        patch.setattr(store_module, "_UNSAVED", 0.0)
        with pytest.raises(
            SweepStopped,
            match=rf"the sweep stopped: OSError: .*No space left.*; {done} of 8 cells are in",
        ):
            sweep(["Tracker"], **SMALL, out=tmp_path, jobs=1)
    assert sweep(["Tracker"], **SMALL, out=tmp_path, jobs=1).played == 8 - done


@extra
@pytest.mark.parametrize("backend", ["loky", "dask", "ray"])
@pytest.mark.filterwarnings("ignore")  # of Dask and Ray about themselves
def test_every_backend_gives_the_same_rows(tmp_path, backend):
    package("pyarrow")
    package({"loky": "joblib", "dask": "distributed"}.get(backend, backend))
    players = [
        "Tracker",
        "KT",
        ("slow", sp.lab.baselines.OGD, {"step": 0.01}),
        Contender("at once", "nothing", lambda facts: 1 / 0),
    ]
    here = sweep(players, **SMALL, out=tmp_path / "here", jobs=1)
    there = sweep(players, **SMALL, out=tmp_path / "there", jobs=2, backend=backend)
    assert values(there) == values(here)
    assert len(there.failures) == 8


@extra
def test_a_dask_worker_imports_what_a_job_needs_where_it_runs():
    """Not where it reads messages: two threads that import a package at once may find half of it,
    and the sweep stands still.
    """
    package("cloudpickle")
    message = pickle.dumps((_call, (_sealed(sp.IntervalTracker, (0.9,)),)))
    code = (
        "import pickle, sys; call, job = pickle.load(sys.stdin.buffer);"
        " print('stillpoint.estimators' in sys.modules)"
    )
    code += "; call(*job); print('stillpoint.estimators' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], input=message, capture_output=True, check=True
    )
    assert done.stdout.split() == [b"False", b"True"], done.stderr


@extra
@pytest.mark.filterwarnings("ignore")
def test_a_running_cluster_is_used(tmp_path):
    package("pyarrow")
    distributed = package("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, processes=False
    ) as cluster:
        found = sweep(
            ["Tracker"], **SMALL, out=tmp_path, backend="dask", address=cluster.scheduler_address
        )
    assert (found.played, found.failures) == (8, [])


@extra
@pytest.mark.parametrize("backend", ["dask", "ray"])
@pytest.mark.filterwarnings("ignore")
def test_an_address_where_nobody_is_says_so(tmp_path, monkeypatch, backend):
    package("pyarrow")
    package({"dask": "distributed"}.get(backend, backend))
    monkeypatch.setattr("stillpoint.lab.workers._PATIENCE", 1)
    with pytest.raises(ValueError, match=r"address must be that of a \w+ \w+: got 127.0.0.1:9 "):
        sweep(["Tracker"], **SMALL, out=tmp_path, backend=backend, address="127.0.0.1:9")


@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_a_cluster_that_does_not_start_here_says_so(monkeypatch, backend):
    def fails(**settings):
        raise RuntimeError("no\nmemory") if backend == "ray" else OSError("no\nmemory")

    fake = SimpleNamespace(
        Client=fails, init=fails, is_initialized=lambda: False, RayBackend=object
    )
    for name in ("distributed", "ray", "ray.util.joblib.ray_backend"):
        monkeypatch.setitem(sys.modules, name, fake)
    monkeypatch.setattr(
        pytest.importorskip("joblib"), "register_parallel_backend", lambda *arguments: None
    )
    with (
        pytest.raises(
            ValueError, match=f"backend {backend} must start here: got .*Error: no memory; "
        ),
        workers(backend),
    ):
        pass


@extra
def test_the_command_prints_means_lists_failures_and_goes_on(tmp_path, monkeypatch):
    package("pyarrow")
    monkeypatch.setenv("COLUMNS", "200")
    common = [
        "sweep",
        "--learner",
        "Tracker",
        "--learner",
        "KT",
        "--horizon",
        "100",
        "--jobs",
        "1",
        "--out",
        str(tmp_path),
    ]
    result = CliRunner().invoke(
        app, [*common, "--stream", "walk", "--seeds", "2", "--first-seed", "5"]
    )
    assert result.exit_code == 0, result.output
    assert "Mean regret, T = 100" in result.stdout
    assert "4 cells played, 0 were there" in result.stdout
    rows = stored(tmp_path)
    assert {row["seed"] for row in rows} == {5, 6}
    mean = np.mean([row["regret"] for row in rows if row["learner"] == "KT"])
    assert f"{mean:.4g}" in result.stdout
    result = CliRunner().invoke(
        app, [*common, "--stream", "walk", "--stream", "stagewise", "--seeds", "1", "--json"]
    )
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert (found["cells"], found["played"]) == (4, 4)
    assert [(row["learner"], row["stream"]) for row in found["failures"]] == [("KT", "stagewise")]
    assert "failed: KT on stagewise (1): ValueError: lipschitz must be finite" in result.stderr
    assert {(mean["learner"], mean["failed"]) for mean in found["means"]} == {
        ("Tracker", 0),
        ("KT", 0),
        ("KT", 1),
    }
    result = CliRunner().invoke(app, [*common, "--stream", "wolk"])
    assert (result.exit_code, result.stderr[:22]) == (2, "error: stream must be ")

"""Sweeps: every cell once, whatever is killed, whoever plays; and what is said about mistakes."""

import json
import os
import pickle
import re
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
from stillpoint.core.extras import MissingExtra
from stillpoint.lab import cells as cells_module
from stillpoint.lab import store as store_module
from stillpoint.lab import streams
from stillpoint.lab.bench.contenders import Contender, lineup
from stillpoint.lab.bench.regret import regret_bench
from stillpoint.lab.bench.workers import _call, _cloudpickled, play_all, watched, workers
from stillpoint.lab.store import Store, SweepRow
from stillpoint.lab.sweep import SweepStopped, sweep

extra = pytest.mark.extra
FILES = ["cells.parquet", "cells.sqlite"]
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


def copied(folder, to):
    """A copy as a kill would leave it, by another process: locks end where a file is closed."""
    subprocess.run(["cp", "-r", folder, to], check=True)
    return to


def row(seed, seconds=0.0, **values):
    return SweepRow(
        "L",
        "nothing",
        "s",
        100,
        seed,
        **{"regret": 1.0, "loss": 2.0, "seconds": seconds, "version": "0"} | values,
    )


def test_the_function_is_not_shadowed_by_its_module():
    """Whichever is imported first: both are called `stillpoint.lab.sweep`."""
    code = """
import os
import sys
import numba
import scipy.stats
assert "stillpoint" not in sys.modules  # only what it needs, once for all
for first in ("from stillpoint.lab.sweep import Sweep", "import stillpoint.lab.cli", ""):
    child = os.fork()
    if child == 0:
        exec(first)
        import stillpoint as sp
        assert callable(sp.lab.sweep), (first, sp.lab.sweep)
        from stillpoint.lab.sweep import SweepStopped, sweep
        from stillpoint.lab import sweep as again
        assert sweep is again is sp.lab.sweep, first
        import stillpoint.lab.sweep
        assert sp.lab.sweep is sweep, first
        break
    assert os.waitpid(child, 0)[1] == 0, first
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_learners_are_names_classes_with_configuration_or_contenders():
    mine = Contender("mine", "nothing", lambda facts: sp.Tracker(facts.dim))
    ogd = ("slow", sp.lab.baselines.OGD, {"step": 0.1, "domain": sp.domains.Ball(2.0)})
    players, specs, seeds, horizons = lineup(
        ["KT", "KT", mine, ogd], ["walk", "walk"], [0, 3, 0], [100]
    )
    assert [player.name for player in players] == ["KT", "mine", "slow"]
    assert players[2].assumes.startswith(
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
        ("pyarrow", "loky", r"out needs pyarrow, .* pip install 'stillpoint\[lab,parquet\]'"),
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


def test_a_folder_of_a_comparison_names_the_extras_that_it_needs(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"pip install 'stillpoint\[lab,parquet\]'"):
        sp.lab.compare("Tracker", "walk", seeds=1, horizons=20, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_results_come_as_they_are_ready_or_in_order_and_lines_say_how_far(capsys):
    tasks = [(i, 2) for i in range(4)]
    with workers("loky", 1) as run:
        assert sorted(watched(run(pow, tasks), 6, 2)) == [0, 1, 4, 9]
    assert capsys.readouterr().err.startswith("6 of 6 played, ")
    assert play_all(pow, tasks, jobs=2, progress=True) == [0, 1, 4, 9]
    assert capsys.readouterr().err.startswith("4 of 4 played, ")


@extra
def test_cells_have_the_regret_of_the_benchmark_and_are_played_once(tmp_path):
    package("pyarrow")
    player = Contender("logged", "nothing", partial(logged, tmp_path, 0.0))
    first = sweep([player, "KT"], **SMALL, out=tmp_path / "out", jobs=1)
    assert (first.played, built(tmp_path), first.failures) == (16, 8, [])
    bench = regret_bench([player, "KT"], **SMALL)
    assert {row.key: row.regret for row in first.rows} == {
        (row.learner, row.assumes, row.stream, row.horizon, row.seed): row.regret
        for row in bench.rows
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
    # assuming more: another learner
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
    assert [row["assumes"] for row in stored(tmp_path)] == [
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
    """Kill −9 while two processes play 120 cells: none is lost, none is there twice."""
    package("pyarrow")
    out, arguments = tmp_path / "out", [*SMALL["streams"], "sine1"]
    code = f"""
import sys
sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(Path(__file__).parents[1])!r}]
from functools import partial
from pathlib import Path
from test_sweep import Contender, logged, sweep
contender = Contender("logged", "nothing", partial(logged, Path({str(tmp_path)!r}), 0.02))
sweep([contender], {arguments!r}, range(20),
      [100, 150],
      out={str(out)!r}, jobs=2)
"""
    found = 0
    # the second kill meets a folder that the first one left
    for enough in (10, 50):
        process = subprocess.Popen([sys.executable, "-c", code])
        start = time.monotonic()
        while built(tmp_path) < enough and time.monotonic() - start < 60.0:
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with Store(out, SweepRow) as store:
            assert found < len(store.rows) < 120
            found = len(store.rows)
    fresh = tmp_path / "fresh"  # orphaned workers may still be writing to the other one
    fresh.mkdir()
    player = Contender("logged", "nothing", partial(logged, fresh, 0.0))
    result = sweep([player], arguments, range(20), [100, 150], out=out, jobs=1)
    assert result.played == 120 - found == built(fresh)
    assert len(set(keys(stored(out)))) == len(stored(out)) == 120
    assert sorted(path.name for path in out.iterdir()) == FILES


@extra
def test_rows_are_on_disk_at_once_and_a_second_sweep_is_refused(tmp_path):
    package("pyarrow")
    with Store(tmp_path / "one", SweepRow) as store:
        for seed in range(4):
            store.add(row(seed))
            with Store(copied(tmp_path / "one", tmp_path / f"killed {seed}"), SweepRow) as left:
                assert [each.seed for each in left.rows.values()] == list(range(seed + 1))
        again = Store(tmp_path / "one", SweepRow)
        with pytest.raises(ValueError, match="another sweep is writing"), again:
            pass
        code = (
            "import sys; from stillpoint.lab.store import Store, SweepRow\n"
            "Store(sys.argv[1], SweepRow).__enter__()"
        )
        other = subprocess.run(
            [sys.executable, "-c", code, tmp_path / "one"], capture_output=True, text=True
        )
        assert "ValueError: out must be free: another sweep is writing" in other.stderr
        store.add(row(4))
    assert [each["seed"] for each in stored(tmp_path / "one")] == [0, 1, 2, 3, 4]


@extra
def test_a_kill_within_a_write_loses_that_row_alone_and_doubles_none(tmp_path):
    package("pyarrow")
    with Store(tmp_path / "one", SweepRow) as store:
        for seed in range(3):
            store.add(row(seed, error="x"))
            store.add(row(seed))
        copied(tmp_path / "one", tmp_path / "killed")
    log = (tmp_path / "killed" / "cells.sqlite-wal").read_bytes()
    found = []
    for length in sorted({0, 1, 31, 32, 500, *range(0, len(log), 1031), len(log) - 1, len(log)}):
        cut = copied(tmp_path / "killed", tmp_path / f"cut {length}")
        (cut / "cells.sqlite-wal").write_bytes(log[:length])
        with Store(cut, SweepRow) as again:
            left = [(each.seed, each.error) for each in again.rows.values()]
        assert left in [[]] + [
            [(seed, "") for seed in range(n)] + [(n, error)]
            for n in range(3)
            for error in ("x", "")
        ]
        found.append(left)
        assert sorted(path.name for path in cut.iterdir()) == (FILES if left else FILES[1:])
    assert found[0] == []
    assert found[-1] == [(0, ""), (1, ""), (2, "")]
    assert len({str(left) for left in found}) == 7


@extra
def test_a_folder_without_its_database_is_read_from_its_results(tmp_path):
    """As copies are, and folders of version 0.1, whose rows have another name for `assumes`."""
    package("pyarrow")
    import pyarrow.parquet as parquet

    first = sweep(["Tracker"], **SMALL, out=tmp_path, jobs=1)
    (tmp_path / "cells.sqlite").unlink()
    table = parquet.read_table(tmp_path / "cells.parquet")
    names = ["told" if name == "assumes" else name for name in table.column_names]
    parquet.write_table(table.rename_columns(names).slice(0, 5), tmp_path / "cells.parquet")
    parquet.write_table(table.rename_columns(names).slice(4, 2), tmp_path / "part-000001.parquet")
    again = sweep(["Tracker"], **SMALL, out=tmp_path, jobs=1)
    assert (again.played, [row.key for row in again.rows]) == (2, [row.key for row in first.rows])
    assert len(stored(tmp_path)) == 8


@extra
def test_files_of_others_are_refused(tmp_path):
    package("pyarrow")
    (tmp_path / "cells.parquet").write_bytes(b"mine")
    with pytest.raises(
        ValueError, match=r"out must hold a sweep's files only: got .*cells.parquet"
    ):
        sweep(["Tracker"], **SMALL, out=tmp_path)
    assert (tmp_path / "cells.parquet").read_bytes() == b"mine"
    (tmp_path / "cells.sqlite").write_bytes(b"mine, and no database" * 50)
    with pytest.raises(ValueError, match=r"out must hold a sweep's files only: got .*cells.sqlite"):
        sweep(["Tracker"], **SMALL, out=tmp_path)
    assert (tmp_path / "cells.sqlite").read_bytes() == b"mine, and no database" * 50
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
def test_a_full_disk_stops_the_sweep_and_counts_what_it_holds(tmp_path):
    package("pyarrow")

    class Small(Store):
        """One whose database may have no more pages than it begins with."""

        def _open(self, earlier):
            super()._open(earlier)
            pages = self._database.execute("PRAGMA page_count").fetchone()[0]
            self._database.execute(f"PRAGMA max_page_count = {pages}")

    long = Contender("x" * 700, "nothing", lambda facts: sp.Tracker(facts.dim))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells_module, "Store", Small)
        with pytest.raises(
            SweepStopped,
            match=r"stopped: OperationalError: database or disk is full; [1-7] of 8 cells are in",
        ) as stop:
            sweep([long], **SMALL, out=tmp_path, jobs=1)
    done = int(re.search(r"(\d) of 8", str(stop.value)).group(1))
    assert len(stored(tmp_path)) == done
    assert sweep([long], **SMALL, out=tmp_path, jobs=1).played == 8 - done


@extra
def test_results_that_cannot_be_written_stop_the_sweep_and_lose_no_cell(tmp_path, monkeypatch):
    package("pyarrow")

    def full(path, body):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(store_module, "replace", full)
        with pytest.raises(
            SweepStopped,
            match=r"the sweep stopped: OSError: .*No space left.*; 8 of 8 cells are in",
        ):
            sweep(["Tracker"], **SMALL, out=tmp_path, jobs=1)
    assert sweep(["Tracker"], **SMALL, out=tmp_path, jobs=1).played == 0
    assert len(stored(tmp_path)) == 8


@extra
@pytest.mark.parametrize("backend", ["loky", "dask", pytest.param("ray", marks=pytest.mark.slow)])
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
    """Not where it reads messages: two threads that import a package may find half of it."""
    package("cloudpickle")
    message = pickle.dumps((_call, (_cloudpickled(sp.IntervalTracker, (0.9,)),)))
    code = (
        "import pickle, sys; call, job = pickle.load(sys.stdin.buffer);"
        " print('stillpoint.intervals' in sys.modules)"
    )
    code += "; call(*job); print('stillpoint.intervals' in sys.modules)"
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
    monkeypatch.setattr("stillpoint.lab.bench.workers._PATIENCE", 1)
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


def gradients(T, seed):
    return np.random.default_rng(seed).standard_normal((T, 2))


@extra
def test_a_stream_without_a_comparator_has_losses_and_no_failures(tmp_path):
    package("pyarrow")
    streams_ = [("gradients", gradients)]
    found = sweep([("T", sp.Tracker, {})], streams_, range(2), [50], out=tmp_path, jobs=1)
    (mean,) = found.means()
    assert (mean.regret, mean.failed, mean.cells) == (None, 0, 2)
    plays = [sp.play(sp.Tracker(2), gradients(50, seed)).losses.sum() for seed in range(2)]
    assert mean.loss == pytest.approx(np.mean(plays), rel=1e-14)

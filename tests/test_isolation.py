"""Threads, processes and caches: learners share nothing, survive fork and spawn, and compile where
no cache can be kept.
"""

import copy
import functools
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import persisted
import stillpoint as sp
from children import in_threads
from extras import package
from persisted import CORE, LATER, parameters
from stillpoint import forecasters
from thorough import THOROUGH

ROUNDS = 15
SOURCE = Path(__file__).parent.parent / "src" / "stillpoint"
OF_OTHERS = (
    "Anomalies",
    "baselines.AdaNormalHedge",
    "baselines.AdaptMLProd",
    "baselines.Bandit",
    "baselines.Hedge",
    "baselines.MSMWC",
    "baselines.OptimisticHedge",
    "baselines.Prod",
    "Wrapped",
)  # whose configuration is other learners, theirs alone


@functools.cache
def alone(name, first):
    return persisted.play(CORE[name], CORE[name].build(), first, first + ROUNDS).tobytes()


def take_turns(name, turns):
    """Two learners advance by half a round as `turns` say, then to their ends; the second has the
    configuration of the first.
    """
    case = CORE[name]
    one = case.build()
    # shares kernels, domains and losses with it
    pair = one, case.build() if name in OF_OTHERS else type(one)(**one.config)
    plays, halves = ([], []), []

    def rounds(which, first):
        for t in range(first, first + ROUNDS):
            plays[which].append(np.ravel(np.asarray(case.open(pair[which], t), dtype=float)))
            yield
            case.close(pair[which], t)
            yield

    halves = rounds(0, 0), rounds(1, 100)
    for second in turns:
        next(halves[second], None)
    for each in halves:
        for _ in each:
            pass
    for which, first in ((0, 0), (1, 100)):
        assert np.concatenate(plays[which]).tobytes() == alone(name, first), name


TURNS = st.lists(st.booleans(), min_size=ROUNDS, max_size=4 * ROUNDS)


@pytest.mark.parametrize("name", parameters(CORE))
@settings(max_examples=2)
@given(turns=TURNS)
def test_two_learners_taking_turns_are_as_alone(name, turns):
    take_turns(name, turns)


@pytest.mark.slow
@pytest.mark.parametrize("name", parameters(CORE))
@settings(max_examples=50)
@given(turns=TURNS)
def test_two_learners_taking_many_turns_are_as_alone(name, turns):
    take_turns(name, turns)


@pytest.mark.parametrize("name", parameters(CORE))
def test_learners_in_threads_are_as_alone(name):
    """Four at a time, with threads switched a hundred thousand times a second."""
    case, firsts, results = CORE[name], (0, 0, 60, 120), {}
    expected = {first: alone(name, first) for first in firsts}
    barrier = threading.Barrier(len(firsts))

    def work(place, first):
        learner = case.build()
        barrier.wait()
        results[place] = persisted.play(case, learner, first, first + ROUNDS).tobytes()

    in_threads(work, enumerate(firsts))
    assert [results[place] for place in range(len(firsts))] == [expected[first] for first in firsts]


def begin(cases):
    """All learners after the first rounds, every other one within a round."""
    learners = {name: case.build() for name, case in cases.items()}
    for i, (name, learner) in enumerate(learners.items()):
        persisted.play(cases[name], learner, 0, ROUNDS)
        if i % 2:
            cases[name].open(learner, ROUNDS)
    return learners


def go_on(learners):
    """What they do next; here, or in another process."""
    cases = persisted.all_cases(list(learners))
    return {
        name: persisted.play(cases[name], each, ROUNDS, 2 * ROUNDS).tobytes()
        for name, each in learners.items()
    }


COPIES = {"pickle": lambda item: pickle.loads(pickle.dumps(item)), "deepcopy": copy.deepcopy}
COPIES["copy"] = lambda begun: {name: copy.copy(each) for name, each in begun.items()}


@pytest.mark.parametrize(
    "way", [*COPIES, "fork", "spawn", pytest.param("joblib", marks=pytest.mark.slow)]
)
def test_learners_are_copied_and_passed_to_processes_and_go_on_there(way):
    begun = begin(
        {name: case for name, case in CORE.items() if THOROUGH or name not in LATER}
        if way in COPIES
        else dict([*CORE.items()][::4])  # files are one form
    )
    if way == "joblib":
        there = joblib.Parallel(n_jobs=2)([joblib.delayed(go_on)(begun)])[0]
    elif way in COPIES:
        there = go_on(COPIES[way](begun))
    else:
        with multiprocessing.get_context(way).Pool(1) as pool:
            there = pool.apply(go_on, (begun,))
    assert there == go_on(begun)  # which the others have left alone


@pytest.mark.extra
@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("faces", ["river", "sklearn"])
def test_faces_are_copied_and_go_on_alike(way, faces):
    package(faces)
    cases = getattr(persisted, f"{faces}_faces")()
    begun = begin(cases)
    there = go_on(COPIES[way](begun))
    assert there == go_on(begun)


@pytest.mark.parametrize("name", parameters(sorted({*CORE} - {*OF_OTHERS, "Fleet"})))
def test_learners_show_what_builds_them(name):
    learner = CORE[name].build()
    names = {
        **vars(sp),
        **vars(sp.kernels),
        **vars(sp.domains),
        **vars(sp.losses),
        **vars(sp.potentials),
        **vars(forecasters),
    }
    again = eval(repr(learner), {**names, type(learner).__name__: type(learner)})
    assert type(again) is type(learner)
    assert again.config == learner.config


# compiled code where none can be kept

WORK = """
import sys
sys.path.insert(0, sys.argv[1])
{refuse}
import numpy as np
import stillpoint as sp
from stillpoint import forecasters
from stillpoint.learners import _constrained
assert sp.__file__.startswith(sys.argv[1]), sp.__file__
learner = sp.{learner}
learner.update({update})
play = np.float64(learner.predict())
print(play.tobytes().hex(), _constrained.observe._cache.cache_path or "", sep=",")
"""
REFUSE = """
import tempfile
def refused(*arguments, **named):
    raise PermissionError(13, "Permission denied")
tempfile.TemporaryFile = refused  # how numba finds out whether a folder can be written to
"""


def elsewhere(code, place, home, **environment):
    """What a process prints that has this home and no folder for caches named to it."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "PYTHONPATH")
    }
    command = [
        sys.executable,
        "-W",
        "error",
        "-W",
        "ignore::DeprecationWarning",
        "-c",
        code,
        str(place),
    ]
    done = subprocess.run(
        command, env={**kept, "HOME": str(home), **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().split(",")


# the first compiles little, the others as much as most do
SLOWLY = {"Tracker(2)": "[1.0, -2.0]", "QuantileTracker()": "1.0"}
WORKERS = {"KernelVAW(sp.kernels.Constant())": "1.0"} | SLOWLY


def worked(learner):
    """What the code above prints first."""
    made = eval(f"sp.{learner}")
    made.update(eval(WORKERS[learner]))
    return np.float64(made.predict()).tobytes().hex()


@pytest.fixture
def read_only(tmp_path):
    """The package where nobody may write, and what to say where only permissions could be set,
    which do not hold for root.
    """
    place = tmp_path / "install"
    shutil.copytree(SOURCE, place / "stillpoint", ignore=shutil.ignore_patterns("__pycache__"))
    command = ["mount", "--bind", str(place), str(place)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True).returncode:
        yield place, REFUSE
        return
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", str(place)], check=True)
        yield place, ""
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize(
    "learner", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOWLY)) for name in WORKERS]
)
def test_a_read_only_install_without_a_home_compiles_and_runs(read_only, learner):
    place, refuse = read_only
    code = WORK.format(refuse=refuse, learner=learner, update=WORKERS[learner])
    assert elsewhere(code, place, "/proc/nobody") == [worked(learner), ""]


@pytest.mark.slow
def test_a_read_only_install_with_a_home_keeps_its_cache_there(read_only, tmp_path):
    place, refuse = read_only
    if refuse:
        pytest.skip("needs the right to mount a folder read-only")
    code = WORK.format(refuse="", learner="Tracker(2)", update=WORKERS["Tracker(2)"])
    assert elsewhere(code, place, tmp_path / "home")[0] == worked("Tracker(2)")
    assert list((tmp_path / "home").rglob("*.nbc"))


COMPILED = """
import importlib
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import numba.core.caching
def full(*arguments):
    raise OSError(28, "No space left on device")
def run():
    # anew, as a process would: what is in memory is not looked at
    sys.modules.pop("compiled", None)
    compiled = importlib.import_module("compiled")
    print(compiled.double(21), sum(compiled.double.stats.cache_hits.values()), sep=",", end=",")
kept = numba.core.caching.IndexDataCacheFile.save
numba.core.caching.IndexDataCacheFile.save = full
run()
numba.core.caching.IndexDataCacheFile.save = kept
run()
for file, damaged in zip(
    sorted(Path(sys.argv[1], "cache").rglob("*.nb?")),
    (lambda data: b"x" + data[1:], lambda data: data[:20]),
    strict=True,
):
    file.write_bytes(damaged(file.read_bytes()))
run()
run()
print("over")
"""


def test_damaged_and_full_caches_are_compiled_past_and_mended(tmp_path):
    source = (
        "from stillpoint.core.jit import njit\n\n\n@njit(cache=True)\ndef double(x):\n    return 2"
        " * x\n"
    )
    (tmp_path / "compiled.py").write_text(source)
    told = elsewhere(COMPILED, tmp_path, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert told == [
        *("42", "0"),  # the disk is full
        *("42", "0"),  # none was kept, but this one is
        *("42", "0"),  # both files are damaged
        *("42", "1"),
        "over",
    ]


@pytest.mark.parametrize(
    "build",
    [
        lambda kernel: sp.KernelVAW(kernel),
        lambda kernel: sp.StronglyConvex(1, kernel=kernel, curvature=1.0),
        lambda kernel: sp.ExpConcave(1, kernel=kernel, curvature=0.5),
        lambda kernel: sp.Directional(1, kernel=kernel, lipschitz=1.0),
        lambda kernel: sp.KernelForecaster([kernel], ridges=[1.0]),
        lambda kernel: sp.TrackingVAW(1, kernel=kernel, context=sp.kernels.GaussianContext(1.0)),
    ],
    ids=["VAW", "strongly convex", "exp-concave", "directional", "forecaster", "contexts"],
)
def test_learners_that_keep_every_observation_are_pickled(build):
    """Kernels without a state space, and kernels on contexts."""
    learner = build(sp.kernels.Gaussian(width=2.0))
    row = [[1.5]] if isinstance(learner, sp.TrackingVAW) else []
    for _ in range(3):
        learner.update(*row, 0.4)
    again = pickle.loads(pickle.dumps(learner))
    for each in (learner, again):
        each.update(*row, -0.2)
    assert np.array_equal(again.predict(*row), learner.predict(*row))

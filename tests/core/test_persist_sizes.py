"""Sizes that a file makes up: refused before anything of that size is built, whatever class, field
or writing they stand in.
"""

import contextlib
import re
import struct
import tracemalloc
from functools import cache

import numpy as np
import pytest

import extras
import persisted
import stillpoint as sp
from altered import Original, craft, parts
from core.test_persist_damage import CASES
from persisted import PLAYED, Case, all_cases, parameters, play, y
from stillpoint.commands.checkpoint import Checkpoint
from stillpoint.commands.errors import InputError
from stillpoint.core import allocation, persist, registry
from stillpoint.core.codec import decode, encode
from stillpoint.fleet.rows import RowPlayer
from stillpoint.forecasters import TrackingProbabilities
from stillpoint.kernels import OU, Gaussian, Matern32
from thorough import some_in_turn, some_of

SIZES = (3000, 20_000, 10**6, 10**9, 2**62)
OPTIONAL = sorted(
    name for name in registry.saved_names() if name.startswith(("gpu.", "river.", "sklearn."))
)
NAMES = [
    *parameters(CASES),
    *(pytest.param(name, marks=pytest.mark.extra) for name in OPTIONAL),
]


def case_of(name):
    if name not in OPTIONAL:
        return CASES[name]
    extras.package({"gpu": "torch"}.get(name.partition(".")[0], name.partition(".")[0]))
    return all_cases([name])[name]


@cache
def file_of(name):
    case = case_of(name)
    learner = case.build()
    play(case, learner, 0, PLAYED)
    return persist.pack(learner)


def writings(size):
    yield size
    yield {"int": hex(size)}
    yield {"numpy": "<i8", "value": size}
    yield float(size)


def numbers(tree, path=()):
    """Where numbers stand in some JSON."""
    if isinstance(tree, int | float) and not isinstance(tree, bool):
        yield path
    for key, value in (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    ):
        yield from numbers(value, (*path, key))


def put(tree, path, value):
    """The same JSON with another value there."""
    if not path:
        return value
    if isinstance(tree, list):
        return [put(item, path[1:], value) if i == path[0] else item for i, item in enumerate(tree)]
    return {
        key: put(item, path[1:], value) if key == path[0] else item for key, item in tree.items()
    }


def load_within_bounds(original, header):
    """The learner of a file with this header, or None where it is refused; what it takes to find
    out goes with the length of the file.
    """
    length, unpack = original.opening(header, original.arrays)
    tracemalloc.start()
    try:
        learner = unpack()
    except ValueError as error:
        learner, message = None, str(error)
    else:
        message = ""
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert learner is not None or re.fullmatch(
        "data must be what stillpoint.core.persist.pack returned: .*, and .*; .*", message
    )
    assert peak < 30 * length + (1 << 24)
    return learner


def configured(original, **config):
    """The same with other arguments of the learner."""
    changed = {**original.header, "config": {**original.header["config"], **config}}
    return load_within_bounds(original, changed)


@pytest.mark.parametrize("name", NAMES)
def test_a_number_blown_up_anywhere_in_the_header_is_refused_or_changes_no_size(name):
    data = file_of(name)
    original = Original(data)
    header, arrays = original.header, original.arrays
    persist.unpack(data)  # what is made once, at the first use, is not what a file asks for
    found = [path for key in ("config", "scalars") for path in numbers(header[key], (key,))]
    written = [1e-300, -1, *(written for size in SIZES for written in writings(size))]
    for path, value in some_of(found, written, every=11):
        learner = load_within_bounds(original, put(header, path, value))
        if learner is not None:
            state = learner.arrays()
            assert all(state[key].shape == array.shape for key, array in arrays.items())


@pytest.mark.parametrize("name", NAMES)
def test_every_learner_is_built_of_arrays_that_are_counted(name):
    """One that makes its state with NumPy alone would not be held to what a file holds: see
    stillpoint.core.allocation.
    """
    written = encode(case_of(name).build())
    with allocation.within(1 << 20) as room:
        fresh = decode(written)
    state = [
        value for value in fresh.arrays().values() if isinstance(value, np.ndarray) and value.ndim
    ]
    assert sum(value.nbytes for value in state) <= room.taken


def kernel(name, **fields):
    return {"part": f"kernels.{name}", "fields": fields}


def powers(part, times):
    """A kernel times itself, again and again: a text of this length stands for as many states as
    two to its power.
    """
    for _ in range(times):
        part = kernel("Product", left=part, right=part)
    return part


MIXTURE = kernel("OUMixture", rates={"tuple": list(range(1, 4000))}, weights={"tuple": [1] * 3999})
LONG = {
    "product of products": powers(kernel("Matern32", rate=0.1), 5),
    "product of horizon-free kernels": powers(kernel("HorizonFree"), 3),
    "long mixture": MIXTURE,
    "many harmonics": kernel("Periodic", period=24.0, harmonics=1000),
    "more harmonics than there may be": kernel("Periodic", period=24.0, harmonics=10**9),
    "sum with a long mixture": kernel("Sum", left=MIXTURE, right=kernel("Matern32", rate=0.1)),
}
CURVED = (
    "KernelFTRL",
    "ExpConcave",
    "StronglyConvex",
    "KernelVAW",
    "TrackingVAW",
    "Directional",
    "Tracker",
)


@pytest.mark.parametrize(("name", "long"), some_of(CURVED, LONG, every=4))
def test_a_kernel_with_more_states_than_the_file_is_refused(name, long):
    original = Original(file_of(name))
    field = "certify" if name == "Tracker" else "kernel"
    assert configured(original, **{field: LONG[long]}) is None


@pytest.mark.parametrize(
    "config",
    [
        {"features": 10**9},
        {"features": 2**62},
        {"features": [f"x{i}" for i in range(30_000)]},
        {"horizon": 10**9},
        {"horizon": 10**7, "pool": "full"},
        {"season": list(range(2, 3000))},
        {"season": [4088.0] * 2},
        {"coverage": {"tuple": [i / 20_001 for i in range(1, 20_001)]}},
    ],
    ids=lambda config: "-".join(map(str, config)),
)
def test_a_series_of_any_size_is_refused(config):
    original = Original(file_of("SeriesForecaster"))
    assert configured(original, **config) is None


def test_many_kernels_times_many_ridges_are_refused():
    original = Original(file_of("KernelForecaster of kernels"))
    config = {
        # neither are many by themselves
        "kernels": {"tuple": [kernel("Periodic", period=24.0, harmonics=8)] * 100},
        "ridges": {"tuple": [1.0 + i for i in range(100)]},
    }
    assert configured(original, **config) is None


def test_learners_within_learners_are_refused_together():
    original = Original(file_of("baselines.Hedge"))
    each = {"learner": "baselines.OGD", "config": {"dim": {"int": hex(40_000)}, "step": 0.1}}
    assert configured(original, learners={"tuple": [each] * 500}, prior=None) is None


def comes_back(learner):
    data = persist.pack(learner)
    assert persist.pack(persist.unpack(data)) == data


def wide(dim):
    """Cases of that dimension."""
    gradient = np.sin(np.arange(dim)) / np.sqrt(dim)

    def gradients(build):
        return Case(
            build,
            lambda learner, t: learner.predict(),
            lambda learner, t: learner.update(gradient * np.cos(t)),
        )

    def contexts(build, target=y):
        return Case(
            build,
            lambda learner, t: learner.predict(gradient),
            lambda learner, t: learner.update(gradient, target(t)),
        )

    few = min(dim, 300)  # where the state is a square of it

    def fleet(learner):
        return Case(
            lambda: sp.Fleet(learner, dim=dim),
            lambda each, t: each.predict(["a"]),
            lambda each, t: each.update(["a"], gradient[None]),
        )

    return {
        "Tracker": gradients(lambda: sp.Tracker(dim, certify=OU(0.1))),
        "MultiScale": gradients(lambda: sp.MultiScale(dim)),
        "KernelFTRL": gradients(lambda: sp.KernelFTRL(dim, kernel=OU(0.1) * Matern32(0.3))),
        "dense KernelFTRL": gradients(
            lambda: sp.KernelFTRL(dim, kernel=Gaussian(3.0), lipschitz=1.0)
        ),
        "diagonal Directional": gradients(
            lambda: sp.Directional(dim, lipschitz=1.0, kernel=Gaussian(2.0), norms="diagonal")
        ),
        "StronglyConvex": gradients(lambda: sp.StronglyConvex(dim, kernel=OU(0.1), curvature=1.0)),
        "OGD": gradients(lambda: sp.lab.baselines.OGD(dim, step=0.1)),
        "Ader": gradients(
            lambda: sp.lab.baselines.Ader(dim, horizon=10**9, lipschitz=1.0, radius=1.0)
        ),
        "SparseHaar": gradients(
            lambda: sp.lab.baselines.SparseHaar(dim, lipschitz=1.0, horizon=10**9)
        ),
        "Hedge": gradients(
            lambda: sp.lab.baselines.Hedge(
                [sp.lab.baselines.OGD(dim, step=0.1), sp.lab.baselines.KT(dim, lipschitz=1.0)]
            )
        ),
        "TrackingForecaster": contexts(lambda: sp.TrackingForecaster(dim)) if dim == few else None,
        "TrackingProbabilities": contexts(
            lambda: TrackingProbabilities(dim, classes=3), lambda t: t % 3
        )
        if dim == few
        else None,
        "TrackingVAW": contexts(lambda: sp.TrackingVAW(dim, kernel=OU(0.1)))
        if dim == few
        else None,
        "Fleet of Tracker": fleet(sp.Tracker),
        "Fleet of MultiScale": fleet(sp.MultiScale),
    }


@pytest.mark.parametrize("dim", [1, 300, 1000, 20_000])
def test_what_was_saved_is_loaded_whatever_its_size_and_age(dim):
    for case in wide(dim).values():
        if case is None:
            continue
        learner = case.build()
        for t in range(3 if dim == 1 else 1):  # large ones grow older as small ones do
            comes_back(learner)
            case.open(learner, t)
            comes_back(learner)
            case.close(learner, t)
        comes_back(learner)


@pytest.mark.parametrize("name", NAMES)
def test_new_learners_and_open_rounds_are_loaded(name):
    case = case_of(name)
    learner = case.build()
    for t in range(2):
        comes_back(learner)
        case.open(learner, t)
        comes_back(learner)
        case.close(learner, t)


def spoilt(value):
    """A state's number or array with something that is not finite in it."""
    for bad in (np.nan, np.inf, -np.inf):
        if isinstance(value, float):
            yield bad
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
            for at in range(0, value.size, max(1, value.size // 4)):
                other = value.copy()
                other.reshape(-1)[at] = bad
                yield other


@pytest.mark.parametrize("name", NAMES)
def test_infinities_and_nan_that_no_running_learner_has_are_refused(name):
    case = case_of(name)
    learner = case.build()
    play(case, learner, 0, PLAYED)
    case.open(learner, PLAYED)
    original = Original(persist.pack(learner))
    header, arrays = original.header, original.arrays
    new = decode(encode(learner)).arrays()
    tried = 0
    for turn, (key, value) in enumerate(learner.arrays().items()):
        is_array = isinstance(value, np.ndarray)
        for other in some_in_turn(spoilt(value), turn, every=4 if is_array else 3):
            if key in learner._not_finite or (np.ndim(other) == 0 and other == new.get(key)):
                continue
            tried += 1
            scalars = header["scalars"] if is_array else {**header["scalars"], key: encode(other)}
            with pytest.raises(
                ValueError,
                match=f"infinite or NaN at {key!r}, where that of such a learner is finite; ",
            ):
                original.unpack(
                    {**header, "scalars": scalars},
                    {**arrays, key: other} if is_array else arrays,
                )
    assert tried


HOSTILE = {
    "nothing": lambda s: 0.0 * s,
    "constant": lambda s: 0.0 * s + 0.7,
    "tiny": lambda s: 1e-160 * s,
    "small": lambda s: 1e-60 * s,
    "large": lambda s: 1e60 * s,
    "huge": lambda s: 1e149 * s,
    "spikes": lambda s: np.where(np.arange(s.size) % 5 == 0, 1e140, 1e-150) * s,
    "growing": lambda s: 10.0 ** (np.arange(s.size) - 150.0).clip(-150.0, 148.0) * s,
}


@contextlib.contextmanager
def streaming(kind):
    """The stream of all cases as one of these: in its place, since others have imported it."""
    before = persisted.STREAM.copy()
    persisted.STREAM[:] = HOSTILE[kind](before)
    try:
        yield
    finally:
        persisted.STREAM[:] = before


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_whatever_a_stream_makes_of_a_learner_is_loaded_again(name):
    for kind in some_in_turn(HOSTILE, [*CASES, *OPTIONAL].index(name), every=4):
        loads_whatever_comes(case_of(name), kind)


def loads_whatever_comes(case, kind):
    learner = case.build()
    with streaming(kind):
        for t in range(41):
            for step in (case.open, case.close):
                # what a learner refuses leaves it as it was
                with contextlib.suppress(ValueError), np.errstate(all="ignore"):
                    step(learner, t)
                if t % 20 == 0:
                    comes_back(learner)


def test_missing_features_and_new_streams_of_a_fleet_are_loaded():
    fleet, bands = sp.Fleet(sp.MultiScale, dim=2), sp.Fleet(sp.IntervalTracker, coverage=0.5)
    fleet.adopt("new", sp.MultiScale(2))
    for t in range(60):
        bands.predict(["a"], [0.0])
        bands.update(["a"], [10.0**t])
        bands.predict(["a"], [0.0])
        comes_back(bands)
        bands.skip(["a"])
    learners = [
        fleet,
        sp.TrackingForecaster(2, missing=True),
        TrackingProbabilities(2, missing=True),
    ]
    for learner in learners[1:]:
        learner.predict([np.nan, 1.0])
    for learner in learners:
        comes_back(learner)


def test_checkpoints_of_track_with_nan_are_refused(tmp_path):
    learner = sp.TrackingForecaster(2)
    play(CASES["TrackingForecaster"], learner, 0, PLAYED)
    state, checkpoint = learner.arrays(), Checkpoint(tmp_path)
    checkpoint.hand(
        sp.TrackingForecaster(2), "core.", {f"core.{key}": value for key, value in state.items()}
    )
    for key, value in state.items():
        for other in spoilt(value):
            with pytest.raises(
                InputError, match=f"must be whole: got .*NaN at {key!r}.*; delete .* to begin anew"
            ):
                checkpoint.hand(
                    sp.TrackingForecaster(2),
                    "core.",
                    {f"core.{k}": v for k, v in {**state, key: other}.items()},
                )
    checkpoint.close()


def test_rows_of_a_fleet_with_sizes_made_up_are_refused():
    player = RowPlayer(sp.Tracker, dim=1, loss="squared")
    player.play(["a", "b"], [1.0, 2.0])
    data = player.pack()
    length = struct.calcsize("<Q")
    size = struct.unpack_from("<Q", data)[0]
    header, arrays = parts(data[length : length + size])
    for written in writings(10**9):
        fleet = craft(put(header, ("config", "dim"), written), arrays)
        tracemalloc.start()
        with pytest.raises(
            ValueError, match=r"it asks for 1000000000 numbers, far more than it holds|dim must be"
        ):
            player.unpack(struct.pack("<Q", len(fleet)) + fleet + data[length + size :])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1 << 22

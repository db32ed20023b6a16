import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import extras
import persisted
import stillpoint as sp
from cases import DENSE, MARKOV
from persisted import CORE, FIRST_FORMAT, FURTHER, LATER, PLAYED, all_cases, parameters, play
from stillpoint import forecasters, intervals, learners
from stillpoint.core import codec, container, persist, registry
from stillpoint.domains import Ball, Box, HalfSpace, Projection, Simplex
from stillpoint.kernels import OU, SpectralDensity
from stillpoint.lab import baselines
from stillpoint.lab.baselines import conformal
from stillpoint.potentials import Erfi, ParameterFree
from stillpoint.series import gains
from thorough import THOROUGH, some_in_turn, some_of

DATA = Path(__file__).parents[1] / "data" / "format1"
# results, parts of KernelFTRL and base classes
STATIC = {"GradientDescent", "LossLearner", "ProximalDescent", "StaticLearner", "Sums"}
NOT_LEARNERS = {"Run", "HindsightOGD", "GradientLearner", "RadiusTracker", *STATIC}
# what comes before the dot in their names -> the package that they need, the module they are in
OPTIONAL = {
    "gpu": ("torch", "stillpoint.fleet.gpu.fleet"),
    "river": ("river", "stillpoint.estimators.river"),
    "sklearn": ("sklearn", "stillpoint.estimators.sklearn"),
}
NAMES = [
    *parameters(CORE),
    *(
        pytest.param(name, marks=pytest.mark.extra)
        for name in sorted(registry.saved_names())
        if name.partition(".")[0] in OPTIONAL
    ),
]


def case_of(name):
    face = name.partition(".")[0]
    if face in OPTIONAL:
        extras.package(OPTIONAL[face][0])
    return all_cases([name])[name]


def header_of(data):
    return container.read("learner", persist.FORMAT, data)[0]


def assert_goes_on_alike(case, learner, other, first=PLAYED):
    last = first + FURTHER
    assert play(case, learner, first, last).tobytes() == play(case, other, first, last).tobytes()
    assert persist.pack(learner) == persist.pack(other)


def test_every_public_learner_can_be_saved_and_has_a_case():
    homes = {
        "": (sp, forecasters, learners, intervals),
        "baselines.": (baselines,),
        "conformal.": (conformal,),
    }
    for prefix, modules in homes.items():
        for module in modules:
            classes = {
                name for name in module.__all__ if isinstance(getattr(module, name), type)
            } - NOT_LEARNERS
            names = {registry._IN_FILES.get(name, name) for name in classes}
            assert names <= {name.removeprefix(prefix) for name in registry.saved_names()}, module
    optional = {name for name in registry.saved_names() if name.partition(".")[0] in OPTIONAL}
    assert set(CORE) == set(registry.saved_names()) - optional


@pytest.mark.extra
def test_every_estimator_of_the_optional_faces_can_be_saved_and_has_a_case():
    for face, (package, home) in OPTIONAL.items():
        extras.package(package)
        module = __import__(home, fromlist=["x"])
        classes = {
            registry._IN_FILES.get(name, name)
            for name, kind in vars(module).items()
            if isinstance(kind, type) and kind.__module__.startswith(module.__name__)
            # what is around another library's model is saved by that library
            if not name.startswith("Conformal")
        }
        mine = {name for name in registry.saved_names() if name.startswith(f"{face}.")}
        assert (
            {f"{face}.{name}" for name in classes}
            == mine
            == set(getattr(persisted, f"{face}_faces")())
        )


@pytest.mark.parametrize("name", NAMES)
def test_futures_are_the_same_bit_for_bit(name, tmp_path):
    case = case_of(name)
    new = case.build()
    sp.save(new, tmp_path / "new")
    assert_goes_on_alike(case, new, sp.load(tmp_path / "new"), first=1)
    learner = case.build()
    play(case, learner, 0, PLAYED)
    sp.save(learner, tmp_path / "closed")
    case.open(learner, PLAYED)
    sp.save(learner, tmp_path / "open")
    last = PLAYED + FURTHER
    future = play(case, learner, PLAYED, last)
    for kind in ("closed", "open"):
        loaded = sp.load(tmp_path / kind)
        assert type(loaded) is type(learner)
        assert play(case, loaded, PLAYED, last).tobytes() == future.tobytes()
        assert persist.pack(loaded) == persist.pack(learner)


def futures_elsewhere(python, names, folder):
    """What another process plays on from here, and what this one does.

    Some are saved between rounds and some within one, thorough all are in both ways.
    """
    files, out = folder / "files", folder / "plays.npz"
    files.mkdir()
    here = {}
    for turn, (name, case) in enumerate(all_cases(names).items()):
        for opened in some_in_turn([False, True], turn, every=2):
            learner, first = case.build(), PLAYED + opened
            play(case, learner, 0, first)
            if opened:
                case.open(learner, first)
            sp.save(learner, files / f"{name}.{first}")
            here[f"{name}.{first}"] = play(case, learner, first, PLAYED + FURTHER)
    source = str(Path(sp.__file__).parents[1])
    subprocess.run(
        [python, persisted.__file__, str(files), str(out)],
        check=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": source},
    )
    with np.load(out) as there:
        assert set(there.files) == set(here)
        return {name: (here[name], there[name]) for name in here}


def test_futures_are_the_same_in_another_process(tmp_path):
    names = [name for name in CORE if THOROUGH or name not in LATER]
    for name, (here, there) in futures_elsewhere(sys.executable, names, tmp_path).items():
        assert here.tobytes() == there.tobytes(), name


@pytest.mark.extra
@pytest.mark.slow  # in this process, they are compared each time
def test_futures_of_the_optional_faces_are_the_same_in_another_process(tmp_path):
    names = [name for name in registry.saved_names() if name.partition(".")[0] in OPTIONAL]
    for package, _ in OPTIONAL.values():
        extras.package(package)
    for name, (here, there) in futures_elsewhere(sys.executable, names, tmp_path).items():
        assert here.tobytes() == there.tobytes(), name


@pytest.mark.parametrize("name", FIRST_FORMAT)
def test_files_of_format_1_go_on_as_recorded(name, tmp_path):
    recorded = [float.fromhex(play) for play in json.loads((DATA / "plays.json").read_text())[name]]
    learner = sp.load(DATA / f"{name}.npz")
    sp.save(learner, tmp_path / "now")
    assert (tmp_path / "now").read_bytes().startswith(b"stillpoint learner 2 ")
    for each in (learner, sp.load(tmp_path / "now")):
        plays = play(CORE[name], each, PLAYED, PLAYED + 20)
        if tuple(map(int, numba.__version__.split(".")[:2])) > (0, 60):
            assert plays.tobytes() == np.array(recorded).tobytes()
        # the compiler in the oldest Numba rounds some last bits otherwise
        else:
            np.testing.assert_allclose(plays, recorded, rtol=1e-12)


def test_a_tracker_of_0_1_keeps_guard_and_radius_and_begins_its_bank_at_the_last_play():
    """What 0.1 saved of the guard, by the places of its scalars; `step` and trace are gone."""
    with np.load(DATA / "Tracker.npz") as file:
        stats, rows, losses = (file[f"array.{name}"] for name in ("stats", "rows", "losses"))
    learner = sp.load(DATA / "Tracker.npz")
    now = learner.arrays()
    assert learner.radius == stats[0] > 0.0
    assert now["stats"][:8].tolist() == stats[[0, 2, 4, 5, 6, 7, 8, 10]].tolist()
    assert np.array_equal(now["rows"][[0, 1]], rows[[0, 1]])
    assert np.array_equal(now["rows"][3:], rows[3:])
    assert np.array_equal(now["losses"], losses)
    assert np.array_equal(now["filters"], [[np.zeros(learner.dim), rows[0]]])
    assert now["bank"][2] == 2.0 * learner.radius  # the largest scale
    # K epochs, Γ and Σ‖g‖ are all that the bound takes from a run
    D, top, K, total = learner.radius, stats[2], stats[8], stats[7]
    a = 2 / 8 * np.log(len(losses) * (len(losses) - 1) / 1e-5) + 4
    bound = (7 * a / 3 + 1.4) * D * np.sqrt(K * (top * total + K * top**2))
    bound += 35 / 3 * np.sqrt(D * K * D * top * total) + K * D * top + top * D
    assert learner.bound(0.0, 0.0) == pytest.approx(bound, rel=1e-12)


@pytest.mark.parametrize("name", [*MARKOV, *DENSE])
def test_every_kernel_survives_saving(name, tmp_path):
    kernel = {**MARKOV, **DENSE}[name]
    learner = sp.KernelFTRL(2, kernel=kernel, potential=Erfi(0.5))
    gradients = np.random.default_rng(0).standard_normal((20, 2))
    for g in gradients[:10]:
        learner.update(g)
    sp.save(learner, tmp_path / "a")
    loaded = sp.load(tmp_path / "a")
    assert loaded.config == learner.config
    for g in gradients[10:]:
        assert np.array_equal(learner.predict(), loaded.predict())
        learner.update(g)
        loaded.update(g)


DENSE_ENGINES = {
    "Directional": lambda kernel: sp.Directional(2, lipschitz=1.0, kernel=kernel),
    "Directional, diagonal": lambda kernel: sp.Directional(
        2, lipschitz=1.0, kernel=kernel, norms="diagonal"
    ),
    "ExpConcave": lambda kernel: sp.ExpConcave(2, kernel=kernel, curvature=0.25),
    "StronglyConvex": lambda kernel: sp.StronglyConvex(2, kernel=kernel, curvature=1.0),
    "Tracker": lambda kernel: sp.Tracker(2, domain=Simplex(), certify=kernel),
    "MultiScale": lambda kernel: sp.MultiScale(2, domain=Ball(1.0), lipschitz=1.0),
}


@pytest.mark.parametrize("name", DENSE_ENGINES)
def test_dense_engines_ledgers_and_certificates_survive_saving(name):
    case = CORE["KernelFTRL"]
    learner = DENSE_ENGINES[name](sp.kernels.Gaussian(2.0))
    play(case, learner, 0, PLAYED)
    loaded = persist.unpack(persist.pack(learner))
    assert loaded.certificate(2.0) == learner.certificate(2.0)
    assert_goes_on_alike(case, learner, loaded)
    assert loaded.certificate(2.0) == learner.certificate(2.0)


def test_irregular_times_grids_and_missing_rounds_survive_saving():
    learner = sp.KernelVAW(kernel=sp.kernels.OUMixture((0.1, 0.2, 0.3), (1.0, 1.0, 1.0)))
    learner.track(np.sin(np.arange(40.0)))
    loaded = persist.unpack(persist.pack(learner))
    assert_goes_on_alike(CORE["KernelVAW"], learner, loaded)
    for build in (
        sp.KernelForecaster,
        lambda: sp.KernelForecaster(kernels=[OU(0.1), sp.kernels.Gaussian(3.0)], ridges=[1.0, 4.0]),
    ):
        model = build()
        for t in (0.5, 0.75, 11.0, 12.5):
            model.predict(t)
            model.update(t * t)
        model.skip()
        assert_goes_on_alike(CORE["Forecaster"], model, persist.unpack(persist.pack(model)))


def test_an_open_round_of_a_series_goes_on_where_its_tables_must_be_made_anew():
    model = sp.Forecaster(3, season=[7], pool="small")
    model.track(np.sin(np.arange(150.0)) + np.arange(150) % 7)
    model.predict(horizon=3)
    data = persist.pack(model)
    gains.shared.cache_clear()  # as in another process
    loaded = persist.unpack(data)
    for each in (model, loaded):
        each.update(2.0)
    assert loaded.predict(horizon=3).tobytes() == model.predict(horizon=3).tobytes()
    assert persist.pack(loaded) == persist.pack(model)


@pytest.mark.parametrize(
    ("dated", "rounds"), some_of([True, False], [100, 8192, 8193, 20_000], every=2)
)
def test_series_of_any_length_with_times_and_holes_survive_saving(rounds, dated):
    t = np.arange(rounds)
    y = np.where(t % 11 == 3, np.nan, np.cos(t * t) + t % 7)
    times = np.datetime64("2020-01-01") + t + t // 50 if dated else None
    model = sp.Forecaster(2, pool="small")
    model.track(y, times=times)
    loaded = persist.unpack(persist.pack(model))
    for each in (model, loaded):
        each.predict(horizon=2)
        each.update(1.0)
        each.skip()
    assert persist.pack(loaded) == persist.pack(model)


def test_priors_come_back_as_they_were_told():
    prior = [0.1, 0.7, 1.3]
    learner = baselines.Hedge(
        [baselines.OGD(2, step=step) for step in (0.1, 0.2, 0.3)], prior=prior
    )
    loaded = persist.unpack(persist.pack(learner))
    assert loaded.prior.tobytes() == learner.prior.tobytes()


@pytest.mark.parametrize(
    "domain",
    [Ball(1.0, center=(0.5, 0.0)), Box(-1.0, (1.0, float("inf"))), Simplex(), HalfSpace((1, 0), 1)],
)
def test_every_domain_survives_saving(domain, tmp_path):
    sp.save(
        sp.KernelFTRL(2, domain=domain, potential=ParameterFree(2.0), lipschitz=3.0), tmp_path / "a"
    )
    assert sp.load(tmp_path / "a").domain == domain


KEYS = [
    "plain",
    "über\u2028\U0001f600",
    "\ud800 alone",
    "",
    "\x00\n\\\"'",
    1 << 62,
    -(1 << 63),
    1 << 64,
    -(10**5000),
    7,
]


def test_keys_of_fleets_come_back_as_they_were(tmp_path):
    fleet = sp.Fleet(sp.Tracker, dim=1)
    fleet.update(KEYS, np.linspace(-1.0, 1.0, len(KEYS)))
    fleet.retire(["", 7])
    sp.save(fleet, tmp_path / "a")
    loaded = sp.load(tmp_path / "a")
    rest = [key for key in KEYS if key not in ("", 7)]
    assert list(loaded.keys()) == rest
    assert list(map(type, loaded.keys())) == list(map(type, rest))
    assert loaded.predict(rest).tobytes() == fleet.predict(rest).tobytes()
    empty = persist.unpack(persist.pack(sp.Fleet("MultiScale", dim=2, lipschitz=1.0)))
    assert len(empty) == 0
    fleet.update([("a", 1)], [0.5])
    with pytest.raises(ValueError, match="keys must be whole numbers or strings to be saved"):
        persist.pack(fleet)


def test_the_header_is_strict_json():
    def refuse(word):
        raise AssertionError(word)

    band = sp.IntervalTracker()
    data = persist.pack(
        sp.KernelFTRL(
            2, domain=Box(-1.0, (1.0, np.inf)), potential=ParameterFree(2.0), lipschitz=3.0
        )
    )
    for content in (data, persist.pack(band), persist.pack(sp.Tracker(1, certify=OU(0.1)))):
        body = content.partition(b"\n")[2]
        text = np.load(__import__("io").BytesIO(body), allow_pickle=False)["header"].tobytes()
        json.loads(text, parse_constant=refuse)
    assert header_of(data)["config"]["domain"]["fields"]["high"] == {
        "tuple": [1.0, {"float": "inf"}]
    }


VALUES = [
    None,
    True,
    0,
    -(1 << 63),
    1 << 63,
    -(1 << 200),
    0.1,
    -0.0,
    np.inf,
    -np.inf,
    "a",
    "\udfff",
    (),
    (1, (2.0, "x")),
    [1, [None]],
]
SCALARS = [
    np.float32(0.1),
    np.int8(-3),
    np.uint64(2**64 - 1),
    np.bool_(True),
    np.float64(-np.inf),
    np.str_("ß"),
    np.str_(""),
]


@pytest.mark.parametrize("value", [*VALUES, *SCALARS])
def test_values_come_back_equal_and_of_the_same_type(value):
    back = codec.decode(json.loads(json.dumps(codec.encode(value), allow_nan=False)))
    assert type(back) is type(value)
    assert repr(back) == repr(value)


def test_values_that_have_no_json_are_refused():
    for value in (
        object(),
        {1: 2},
        b"x",
        np.datetime64("2020-01-01"),
        np.longdouble(1),
        1j,
        np.zeros(2),
        sp.Tracker,
        len,
    ):
        with pytest.raises(ValueError, match="cannot be saved"):
            codec.encode(value)


def test_a_failed_save_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "learner"
    sp.save(sp.KernelFTRL(1, kernel=OU(0.1)), path)
    before = path.read_bytes()

    def full(*args, **kwargs):
        raise OSError("no space left on device")

    for name in ("fsync", "replace"):
        monkeypatch.setattr(os, name, full)
        with pytest.raises(OSError, match="no space"):
            sp.save(sp.KernelFTRL(3, kernel=OU(0.1)), path)
        monkeypatch.undo()
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]


def test_file_and_folder_are_brought_to_the_disk(tmp_path, monkeypatch):
    synced, fsync = [], os.fsync

    def note(descriptor):
        synced.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    sp.save(sp.Tracker(1), tmp_path / "a")
    assert [path == tmp_path for path in synced] == [False, True]
    assert synced[0].parent == tmp_path


def test_what_cannot_be_saved_says_so(tmp_path):
    for options in (
        {"domain": Projection(lambda w: w)},
        {"kernel": SpectralDensity(lambda w: np.exp(-w))},
    ):
        with pytest.raises(ValueError, match="cannot be saved"):
            sp.save(sp.KernelFTRL(1, **options), tmp_path / "a")
    with pytest.raises(ValueError, match="cannot be saved"):
        sp.save(sp.TrackingVAW(2, context=lambda A, B: A @ B.T), tmp_path / "a")

    class Mine(sp.Tracker):
        pass

    for learner in (Mine(1), object(), OU(0.1), sp.Tracker):
        with pytest.raises(ValueError, match="learner must have a name in files"):
            sp.save(learner, tmp_path / "a")
    for model in (lambda x: 0.0, Mine(1)):
        with pytest.raises(
            ValueError,
            match=r"the model must be one of this library|learner must have a name in files",
        ):
            sp.save(sp.IntervalTracker().wrap(model), tmp_path / "a")
    with pytest.raises(ValueError, match="learner must have a name in files"):
        sp.save(baselines.Hedge([Mine(1)]), tmp_path / "a")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match=r": got dict; give such a learner, or pickle") as refused:
        sp.save({}, tmp_path / "a")
    assert len(str(refused.value)) < 200


@pytest.mark.extra
def test_names_labels_and_times_of_river_models_survive_saving():
    extras.package("river")
    from stillpoint.estimators import river

    labels = ["yes", 3, False, 2.5, ("a", 1), np.int64(9), np.str_("no"), 1 << 80]
    names = ["x", 7, ("lag", 1), 2.5, None, True, "\ud800", np.str_("z")]
    model = river.TrackingClassifier(time="t")
    for t, label in enumerate(labels * 3):
        model.learn_one(
            {
                "t": float(t),
                **{name: float(t % (i + 2)) for i, name in enumerate(names) if (t + i) % 3},
            },
            label,
        )
    loaded = persist.unpack(persist.pack(model))
    row = {"t": 100.0, "x": 1.0, ("lag", 1): 2.0}
    assert repr(loaded.predict_proba_one(row)) == repr(model.predict_proba_one(row))
    assert repr(loaded._columns.names) == repr(model._columns.names)
    from datetime import date

    model.learn_one(row, date(2020, 1, 1))
    with pytest.raises(ValueError, match="cannot be saved"):
        persist.pack(model)
    one = river.TrackingClassifier()
    one.learn_one({"a": 1.0}, "only")
    assert persist.unpack(persist.pack(one)).predict_proba_one({"a": 2.0}) == {"only": 1.0}
    band = sp.IntervalTracker(two_sided=True).wrap(river.TrackingRegressor(time="t"))
    for t in range(30):
        band.update({"t": float(t), "a": t % 5}, float(t % 3))
    copy = persist.unpack(persist.pack(band))
    assert copy.predict({"t": 40.0, "a": 2}) == band.predict({"t": 40.0, "a": 2})
    with pytest.raises(ValueError, match="the model must be one of this library"):
        persist.pack(
            sp.IntervalTracker().wrap(
                __import__("river.linear_model", fromlist=["x"]).LinearRegression()
            )
        )


@pytest.mark.extra
def test_columns_and_classes_of_scikit_learn_models_survive_saving():
    extras.package("sklearn")
    pandas = extras.package("pandas")
    from stillpoint.estimators import sklearn

    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.standard_normal((30, 2)), columns=["a", "b"])
    kinds = [
        ["p", "q", "r"],
        [1, 2, 5],
        [True, False],
        [0.0, 1.0],
        np.array(["x", "yy"], dtype=object),
        ["one", "one"],
    ]
    for labels in kinds:
        y = np.array(labels, dtype=getattr(labels, "dtype", None))[rng.integers(0, len(labels), 30)]
        model = sklearn.TrackingClassifier().fit(frame, y)
        loaded = persist.unpack(persist.pack(model))
        assert loaded.classes_.dtype == model.classes_.dtype
        assert loaded.classes_.tolist() == model.classes_.tolist()
        assert loaded.feature_names_in_.tolist() == ["a", "b"]
        assert loaded.predict_proba(frame).tobytes() == model.predict_proba(frame).tobytes()
        assert loaded.predict(frame).tolist() == model.predict(frame).tolist()
        with pytest.raises(ValueError, match="feature names"):
            loaded.predict(frame[["b", "a"]])
    for model in (
        sklearn.TrackingClassifier(),
        sklearn.TrackingRegressor(loss=sp.losses.Huber(2.0)),
    ):
        loaded = persist.unpack(persist.pack(model))
        assert not hasattr(loaded, "core_")
        assert loaded.get_params() == model.get_params()
        loaded.fit(frame, [0, 1] * 15)


def test_a_file_that_needs_a_package_says_which(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError("No module named 'river'", name="river")

    data = b"".join(
        container.write(
            "learner", 2, {"learner": "river.TrackingRegressor", "config": {}, "scalars": {}}, {}
        )
    )
    monkeypatch.setattr(registry, "import_module", missing)
    with pytest.raises(ValueError, match=r"needs river; run: pip install 'stillpoint\[river\]'$"):
        persist.unpack(data)


def test_a_device_fleet_without_torch_says_so(monkeypatch):
    header = {"learner": "gpu.DeviceFleet", "config": {}, "scalars": {}}
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ValueError, match=r"needs torch; run: pip install 'stillpoint\[gpu\]'$"):
        persist.unpack(b"".join(container.write("learner", 2, header, {})))

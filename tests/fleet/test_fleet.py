"""Fleets: number for number as single learners, whatever keys come when; and nothing moves on bad
input.
"""

import copy
import pickle
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import stillpoint as sp
from stillpoint.fleet import Fleet
from stillpoint.fleet.batch import base
from stillpoint.fleet.batch.series import SeriesBatch
from stillpoint.fleet.keys import KeyIndex
from thorough import some, some_of


class NAType:
    """What pandas calls NA, without pandas."""


GRADIENT = {
    "tracker": (sp.Tracker, {"dim": 1}),
    "tracker d=17": (sp.Tracker, {"dim": 17}),
    "tracker box": (sp.Tracker, {"dim": 3, "domain": sp.domains.Box(-0.5, 0.8)}),
    "tracker ball": (sp.Tracker, {"dim": 2, "domain": sp.domains.Ball(0.7)}),
    "multiscale": (sp.MultiScale, {"dim": 1, "lipschitz": 200.0}),
    "multiscale free": (sp.MultiScale, {"dim": 5, "base": 6.0}),
    "multiscale box": (sp.MultiScale, {"dim": 3, "domain": sp.domains.Box(-0.5, 0.8)}),
}
SERIES = {
    "interval": (sp.IntervalTracker, {}),
    "intervals": (sp.IntervalTracker, {"coverage": (0.9, 0.5), "two_sided": True, "empty": False}),
    "quantile": (sp.QuantileTracker, {"level": 0.8}),
    "quantiles": (sp.QuantileTracker, {"level": (0.1, 0.5, 0.9)}),
    "forecaster": (sp.KernelForecaster, {}),
    "forecaster vovk": (
        sp.KernelForecaster,
        {"ridges": (1.0, 8.0, 64.0), "aggregation": "vovk", "share": 1e-3},
    ),
}
OBJECTS = {  # one object a key
    "variation": (sp.VariationForecaster, {}),
    "series": (sp.Forecaster, {"pool": "middle", "coverage": [0.5, 0.9]}),
}
LIGHT = {"small pool": (sp.Forecaster, {"season": 7, "pool": "middle", "coverage": [0.5, 0.9]})}
STACKED = GRADIENT | SERIES | LIGHT
ALL = STACKED | OBJECTS
TIMED = [
    name
    for name, (kind, _) in ALL.items()
    if not issubclass(kind, sp.IntervalTracker | sp.QuantileTracker) and name not in LIGHT
]
# what compiled fleets of Forecaster do not keep
KEPT = ("engine.history", "engine.nest", "engine.varied", "engine.builds", "engine.watch.")


def same(fleet, singles):
    """Every state of the fleet is that of the single learner, bit for bit."""
    assert len(fleet) == len(singles)
    for key, single in singles.items():
        ours, theirs = fleet.learner(key).arrays(), single.arrays()
        assert ours.keys() == theirs.keys()
        light = isinstance(fleet._batch, SeriesBatch)
        for name in theirs:
            if not (light and name.startswith(KEPT)):
                np.testing.assert_array_equal(ours[name], theirs[name], err_msg=f"{key}: {name}")


class Twins:
    """A fleet and a dict of single learners that meet the same."""

    def __init__(self, kind, config, seed, **options):
        self.fleet, self.kind, self.config, self.singles = (
            Fleet(kind, **options, **config),
            kind,
            config,
            {},
        )
        self.rng = np.random.default_rng(seed)
        self.gradient, self.dim = hasattr(kind, "certificate"), config.get("dim", 1)

    def single(self, key):
        return self.singles.setdefault(key, self.kind(**self.config))

    def predict(self, keys, times=None):
        """Predictions of both, held to each other; returns the fleet's."""
        centres = (
            self.rng.normal(size=len(keys)).cumsum()
            if issubclass(self.kind, sp.IntervalTracker)
            else None
        )
        ours = (
            self.fleet.predict(keys, centres)
            if times is None
            else self.fleet.predict(keys, centres, time=times)
        )
        for i, key in enumerate(keys):
            learner = self.single(key)
            extra = [] if centres is None else [centres[i]]
            theirs = learner.predict(*extra, **({} if times is None else {"time": times[i]}))
            for mine, other in (
                zip(ours, theirs, strict=True) if centres is not None else [(ours, theirs)]
            ):
                np.testing.assert_array_equal(mine[i], other)
        return ours

    def feedback(self, keys, plays, t):
        if self.gradient:
            targets = np.sin(np.arange(len(keys)) + 0.01 * t)[:, None] + 0.1 * self.rng.normal(
                size=(len(keys), self.dim)
            )
            return (plays - targets) * 10.0 ** self.rng.integers(-1, 2)
        return np.sin(0.02 * t) * 3.0 + self.rng.standard_t(3, size=len(keys))

    def update(self, keys, values):
        self.fleet.update(keys, values)
        for key, value in zip(keys, values, strict=True):
            self.single(key).update(value)


@pytest.mark.parametrize("name", some(ALL, every=2))
def test_random_subsets_give_the_numbers_of_single_learners(name):
    kind, config = ALL[name]
    twins = Twins(kind, config, seed=1)
    keys = np.array([3, -7, 10**12, 0, 5, 99, 12345, 2**62])
    # the first key comes to round 256, at which states grow, or 512, at which a Tracker's does
    few, many = name in OBJECTS | LIGHT, name == "tracker"
    rounds = 150 if few else 720 if many else 380 if name in GRADIENT else 240
    for t in range(rounds):
        chosen = twins.rng.permutation(keys)[: twins.rng.integers(1, 4)]
        if t % 3:
            chosen = keys[:1]  # one key that sees many rounds, others that sleep
        plays = twins.predict(chosen.tolist() if t % 7 == 0 else chosen)
        if t % 11 == 0:
            twins.predict(chosen[:1]) if kind is not sp.IntervalTracker else None
        if t % 13 == 0:
            twins.fleet.skip(chosen)
            for key in chosen:
                twins.single(key).skip()
        else:
            twins.update(chosen, twins.feedback(chosen, plays, t))
    twins.predict(keys[2:5])  # rounds that are left open
    same(twins.fleet, twins.singles)


@pytest.mark.parametrize("name", [name for name in ALL if "interval" not in name])
def test_update_predicts_first_where_no_round_is_open(name):
    twins = Twins(*ALL[name], seed=2)
    for _ in range(40):
        shape = (5, twins.dim) if twins.gradient else 5
        twins.update(twins.rng.permutation(9)[:5], twins.rng.normal(size=shape))
    same(twins.fleet, twins.singles)


@pytest.mark.parametrize("name", some(TIMED, every=2))
def test_gaps_in_time_are_the_learners_own(name):
    twins = Twins(*ALL[name], seed=3)
    clock = 0.0
    for t in range(60 if name in OBJECTS else 100):
        clock += 10.0 ** twins.rng.uniform(-2, 3)
        chosen = twins.rng.permutation(20 if name in OBJECTS else 10)[:6]
        times = clock + twins.rng.uniform(0, 1e-3, size=6)
        twins.update(chosen, twins.feedback(chosen, twins.predict(chosen, times), t))
    same(twins.fleet, twins.singles)
    one = twins.fleet.predict([100, 101], time=clock + 5.0)
    assert len(one) == 2
    assert twins.fleet.learner(100).time == clock + 5.0


@pytest.mark.parametrize("name", some(ALL, every=2))
def test_learner_and_adopt_are_inverse_and_go_on_alike(name):
    kind, config = ALL[name]
    twins = Twins(kind, config, seed=4)
    keys = np.arange(4)
    for t in range(40 if kind is sp.Forecaster else 100):
        twins.update(keys, twins.feedback(keys, twins.predict(keys), t))
    twins.predict(keys[:2])
    other = Fleet(kind, **config)
    for key in keys:
        other.adopt(f"stream {key}", twins.fleet.learner(key))
    twins.fleet = other
    twins.singles = {f"stream {key}": single for key, single in twins.singles.items()}
    same(other, twins.singles)
    names = [f"stream {key}" for key in keys[2:]]
    for t in range(30):  # a Tracker's state grows at round 128
        twins.update(names, twins.feedback(names, twins.predict(names), t))
    same(other, twins.singles)
    with pytest.raises(ValueError, match="key must be new"):
        other.adopt("stream 1", kind(**config))
    with pytest.raises(ValueError, match="learner must be a"):
        other.adopt("new", sp.KernelVAW(sp.kernels.Constant()))
    assert len(other) == 4


@pytest.mark.parametrize(("name", "strings"), some_of(ALL, [False, True], every=2))
def test_saved_and_loaded_it_goes_on_alike(name, strings, tmp_path):
    kind, config = ALL[name]
    twins = Twins(kind, config, seed=5, on_bad="skip")
    keys = [f"κ{i}" for i in range(5)] + [7] if strings else np.arange(0, 60, 10)
    for t in range(20):
        twins.update(keys, twins.feedback(keys, twins.predict(keys), t))
    twins.fleet.retire(keys[1:2])
    del twins.singles[keys[1]]
    twins.predict(keys[2:4])
    sp.save(twins.fleet, tmp_path / "fleet")
    loaded = sp.load(tmp_path / "fleet")
    assert loaded.config == twins.fleet.config
    assert list(loaded.keys()) == list(twins.fleet.keys())
    twins.fleet = loaded
    same(loaded, twins.singles)
    for t in range(15):  # a Tracker's state grows at round 32
        twins.update(keys[4:], twins.feedback(keys[4:], twins.predict(keys[4:]), t))
    same(loaded, twins.singles)


@pytest.mark.parametrize("name", STACKED)
def test_threads_change_no_number(name, monkeypatch):
    monkeypatch.setattr(base, "_LEAST", 100)  # rows a thread
    kind, config = ALL[name]
    rng, keys = np.random.default_rng(6), np.arange(300)
    fleets = Fleet(kind, **config), Fleet(kind, threads=2, **config)
    shape = (keys.size, config["dim"]) if "dim" in config else keys.size
    for _ in range(4):
        order, values = rng.permutation(keys), rng.normal(size=shape)
        extra = [order, values[:, None][:, 0]] if kind is sp.IntervalTracker else [order]
        one, two = (fleet.predict(*extra) for fleet in fleets)
        np.testing.assert_array_equal(one, two)
        for fleet in fleets:
            fleet.update(order, values + 1.0)
    one, two = (fleet.arrays() for fleet in fleets)
    for entry in one:
        np.testing.assert_array_equal(one[entry], two[entry])


def test_a_fleet_with_threads_is_copied_and_pickled():
    keys = np.arange(9000)
    fleet = Fleet(sp.QuantileTracker, threads=2)
    fleet.update(keys, np.sin(keys))
    others = copy.deepcopy(fleet), pickle.loads(pickle.dumps(fleet))
    for one in (fleet, *others):
        one.update(keys, np.cos(keys))
    for other in others:
        unmoved(other, fleet.arrays())


def frozen(fleet):
    return {name: np.array(value, copy=True) for name, value in fleet.arrays().items()}


def unmoved(fleet, before):
    after = fleet.arrays()
    assert after.keys() == before.keys()
    for name in before:
        np.testing.assert_array_equal(after[name], before[name])


@pytest.mark.parametrize("name", some(ALL, every=2))
def test_a_bad_value_raises_with_its_key_and_nothing_moves(name):
    kind, config = ALL[name]
    twins = Twins(kind, config, seed=7)
    keys = np.arange(100, 104)
    for t in range(20):
        twins.update(keys, twins.feedback(keys, twins.predict(keys), t))
    values = twins.feedback(keys, twins.predict(keys), 0)
    before = frozen(twins.fleet)
    for bad in (np.nan, np.inf, -np.inf, 1e200):
        broken = values.copy()
        broken[2] = bad
        with pytest.raises(ValueError, match=r"must .*: got .*; .*\(key 102\)"):
            twins.fleet.update(keys, broken)
        unmoved(twins.fleet, before)
        if kind is sp.IntervalTracker:
            with pytest.raises(ValueError, match=r"forecasts must .* \(key 7\)"):
                twins.fleet.predict([6, 7], [1.0, bad])
            with pytest.raises(ValueError, match=r"open round.* \(key 5\)"):
                twins.fleet.update([5], [1.0])
        else:
            with pytest.raises(ValueError, match=r"\(key 7\)"):  # a new key: it is not even made
                twins.fleet.update([6, 7], [values[0], broken[2]])
        unmoved(twins.fleet, before)
        assert len(twins.fleet) == 4
        assert 7 not in twins.fleet
    twins.update(keys, values)
    same(twins.fleet, twins.singles)


@pytest.mark.parametrize("name", some(ALL, every=2))
def test_on_bad_skip_touches_that_key_only(name):
    kind, config = ALL[name]
    twins = Twins(kind, config, seed=8, on_bad="skip")
    keys = np.arange(5)
    for t in range(25):
        values = twins.feedback(keys, twins.predict(keys), t)
        lost = int(twins.rng.integers(5))
        values[lost] = np.nan
        twins.fleet.update(keys, values)
        assert [key for key, _ in twins.fleet.rejected] == [lost]
        assert "must be finite: got nan" in twins.fleet.rejected[0][1]
        for key in keys:
            if key == lost:
                twins.single(key).skip()
            else:
                twins.single(key).update(values[key])
    same(twins.fleet, twins.singles)
    if name in TIMED:
        plays = twins.fleet.predict(keys, time=[1e6, np.nan, -5.0, 1e6, 1e6])
        assert np.isnan(plays).reshape(5, -1).all(axis=1).tolist() == [
            False,
            True,
            True,
            False,
            False,
        ]
        assert [key for key, _ in twins.fleet.rejected] == [1, 2]
    if kind is sp.IntervalTracker:
        low, high = twins.fleet.predict(keys, [0.0, np.nan, 1.0, 2.0, 3.0])
        assert np.isnan(low[1]).all()
        assert np.isnan(high[1]).all()
        assert not np.isnan(low[[0, 2, 3, 4]]).any()
        twins.fleet.update(keys, np.ones(5))
        assert [key for key, _ in twins.fleet.rejected] == [1]
    twins.fleet.skip(keys)
    assert twins.fleet.rejected == []


def test_a_refused_state_leaves_the_fleet_as_it_was():
    fleet = Fleet(sp.Tracker, dim=1)
    fleet.update([1, 2], [1.0, -1.0])
    before, state = frozen(fleet), fleet.arrays()
    for broken in (
        {"state.rows": state["state.rows"][:1]},
        {"keys": [1, 1]},
        {"state.experts": np.array([0, 9], np.int8)},
    ):
        with pytest.raises(ValueError, match=r"must .*: got .*; "):
            fleet.restore({**state, **broken})
        unmoved(fleet, before)
        assert 2 in fleet


def test_arguments_that_do_not_fit_are_refused():
    fleet = Fleet(sp.Tracker, dim=2)
    fleet.predict([1, 2])
    before = frozen(fleet)
    cases = [
        (lambda: fleet.predict([1, 1]), "keys must differ"),
        (lambda: fleet.predict([8, 9, 8]), "keys must differ"),
        (lambda: fleet.update(["a", "b", "a"], np.zeros((3, 2))), "keys must differ"),
        (lambda: fleet.predict(3), "keys must be a sequence"),
        (lambda: fleet.predict("abc"), "keys must be a sequence"),
        (lambda: fleet.predict(np.array([1.0, 2.0])), "keys must be a vector"),
        (lambda: fleet.predict(np.array([[1, 2]])), "keys must be a vector"),
        (lambda: fleet.predict([1, 2.0]), "keys must be whole numbers"),
        (lambda: fleet.predict(["a", Decimal(1)]), r"whole numbers.*: got Decimal\('1'\)"),
        (lambda: fleet.predict(["a", Fraction(1)]), "keys must be whole numbers"),
        (lambda: fleet.predict(["a", 1 + 0j]), "keys must be whole numbers"),
        (lambda: fleet.predict(["a", np.timedelta64(1, "s")]), "keys must be whole numbers"),
        (lambda: fleet.predict(["a", NAType()]), "keys must be whole numbers"),
        (lambda: fleet.predict([[1], [2]]), "keys must be hashable"),
        (lambda: fleet.update([1, 2], np.zeros(2)), "g must have shape"),
        (lambda: fleet.update([1, 2], np.zeros((3, 2))), "g must have shape"),
        (lambda: fleet.update([1, 2], [["x", "y"], ["z", "u"]]), "g must be numeric"),
        (lambda: fleet.update([1, 2], np.zeros((2, 2)) * 1j), "g must be plain real"),
        (lambda: fleet.predict([1, 2], time=[1.0, 2.0, 3.0]), "time must be as many"),
        (lambda: fleet.predict([1, 2], time=7.0), "time must be that of the open round"),
        (lambda: fleet.predict([1, 2], [0.0, 0.0]), "forecasts must be left out"),
        (
            lambda: Fleet(sp.Forecaster).track({"day": [1]}),
            "Y must be given, a row of values a key",
        ),
        (lambda: fleet.retire([1, 3]), "keys must be in the fleet: got 3"),
        (lambda: fleet.learner("x"), "keys must be in the fleet: got 'x'"),
        (lambda: Fleet(sp.Tracker(1)), "learner must be one of"),
        (lambda: Fleet(sp.KernelVAW), "learner must be one of"),
        (lambda: Fleet(["Tracker"]), "learner must be one of"),
        (lambda: Fleet(sp.Tracker, dim=1, on_bad="ignore"), "on_bad must be"),
        (lambda: Fleet(sp.Tracker, dim=1, threads=0), "threads must be"),
        (lambda: Fleet(sp.Tracker, dim=1, certify=sp.kernels.Constant()), "certify must be None"),
        (lambda: Fleet(sp.KernelForecaster, kernels=sp.kernels.Constant()), "kernels must be None"),
        (
            lambda: Fleet(sp.MultiScale, dim=1, lipschitz=2.0).update([1, 2], [1.0, 3.0]),
            r"norm at most lipschitz = 2.0.*\(key 2\)",
        ),
        (lambda: Fleet(sp.IntervalTracker).predict([1]), "forecasts must be given"),
        (lambda: Fleet(sp.QuantileTracker).predict([1], time=1.0), "time must be left out"),
        (lambda: Fleet(sp.KernelForecaster).update([1, 2], [1.0]), "y must be as many as keys"),
        (
            lambda: Fleet(sp.KernelForecaster).predict([1, 2], time=[1.0, -3.0]),
            "time must be at least",
        ),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()
    unmoved(fleet, before)
    assert list(fleet.keys()) == [1, 2]
    fleet.update([1, 2], np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"time must increase: got 1.0 after 1.0.*\(key 2\)"):
        fleet.predict([5, 2], time=1.0)
    assert len(fleet) == 2


def test_no_keys_are_a_batch_too():
    for kind, config in ALL.values():
        fleet = Fleet(kind, **config)
        none = (
            fleet.predict([], []) if kind is sp.IntervalTracker else fleet.predict(np.zeros(0, int))
        )
        assert len(none[0] if isinstance(none, tuple) else none) == 0
        fleet.update([], np.zeros((0, config["dim"])) if "dim" in config else [])
        assert len(fleet) == 0
        assert len(fleet.keys()) == 0


def test_keys_are_found_whatever_comes_and_goes():
    rng, fleet, model = np.random.default_rng(9), Fleet(sp.QuantileTracker), {}
    pool = (
        [int(k) for k in rng.integers(-(2**62), 2**62, 150)]
        + list(range(150))
        + [f"k{i}" for i in range(60)]
    )
    pool += [("a", i) for i in range(20)] + [2**70, -(2**80)]
    for _ in range(400):
        batch = [pool[i] for i in rng.permutation(len(pool))[: rng.integers(1, 40)]]
        if rng.random() < 0.4:
            known = [key for key in batch if key in model]
            fleet.retire(known)
            for key in known:
                del model[key]
        else:
            fleet.update(batch, np.zeros(len(batch)))
            for key in batch:
                model[key] = model.get(key, 0) + 1
        assert len(fleet) == len(model)
    assert set(fleet.keys()) == set(model)
    assert all(fleet.learner(key).rounds == count for key, count in model.items())
    with pytest.raises(ValueError, match="to be saved"):
        fleet.arrays()


def test_a_key_retired_begins_anew():
    fleet = Fleet("Tracker", dim=1)
    for _ in range(30):
        fleet.update(["a", "b"], [1.0, -1.0])
    fleet.retire(["a"])
    assert fleet.keys() == ["b"]
    assert fleet.predict(np.array(["a", "b"]))[0, 0] == 0.0
    assert fleet.learner("a").rounds == 0
    assert fleet.learner("b").rounds == 30


def test_index_holds_numbers_that_collide():
    index = KeyIndex()
    keys = np.arange(5000) << 50
    names, slots = index.find(keys)
    index.grow(5000)
    index.enter(names, slots)
    assert sorted(slots) == list(range(5000))
    np.testing.assert_array_equal(index.find(keys[::-1])[1], slots[::-1])
    index.remove(slots[1000:])
    found = index.find(keys)[1]
    assert (found[:1000] == slots[:1000]).all()
    assert (found[1000:] == -1).all()


@pytest.mark.parametrize("dim", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_experts_that_join_late_leave_sleeping_keys_alone(dim):
    twins = Twins(sp.Tracker, {"dim": dim}, seed=10)
    twins.update([3], np.ones((1, dim)))
    small = twins.fleet.bytes_per_key
    for _ in range(4100):  # expert 3 joins at round 4096
        twins.update([1, 2], twins.rng.normal(size=(2, dim)))
    assert twins.fleet.bytes_per_key > small
    twins.update([2, 3, 4], twins.rng.normal(size=(3, dim)))
    assert twins.fleet.learner(2).weights.size == 5
    same(twins.fleet, twins.singles)


@pytest.mark.parametrize("name", ALL)
def test_a_fleet_without_keys_is_restored(name):
    kind, config = ALL[name]
    fleet, other = Fleet(kind, **config), Fleet(kind, **config)
    other.update([], np.zeros((0, config["dim"])) if "dim" in config else [])
    fleet.restore(other.arrays())
    assert len(fleet) == 0
    assert fleet.bytes_per_key == other.bytes_per_key


def test_more_keys_than_memory_are_refused(monkeypatch):
    fleet = Fleet(sp.Tracker, dim=1)
    fleet.update([1, 2], [1.0, -1.0])
    before = fleet.arrays()
    monkeypatch.setattr("stillpoint.core.allocation.machine_memory", lambda: 1e5)
    with pytest.raises(ValueError, match="keys must fit in memory: got 1002, at 861 bytes each"):
        fleet.predict(np.arange(1000) + 10)
    for name, value in fleet.arrays().items():
        np.testing.assert_array_equal(value, before[name])
    assert len(fleet.predict(np.arange(14) + 10)) == 14


def test_where_twice_the_room_is_not_to_be_had_what_is_needed_is_made(monkeypatch):
    fleet = Fleet(sp.Tracker, dim=1)
    fleet.update(np.arange(100), np.ones(100))
    monkeypatch.setattr(
        "stillpoint.core.allocation.machine_memory", lambda: 150.0 * fleet.bytes_per_key
    )
    fleet.update(np.arange(110), np.ones(110))
    assert (len(fleet), fleet._index.capacity) == (110, 110)
    monkeypatch.undo()
    stack, grow = fleet._batch, fleet._batch.grow

    def short(capacity):
        if capacity > 150:  # memory lasts for one array
            name = next(iter(stack.data))
            stack.data[name] = np.append(
                stack.data[name], np.zeros((capacity - 110, *stack.data[name].shape[1:])), axis=0
            )
            raise MemoryError
        grow(capacity)

    monkeypatch.setattr(stack, "grow", short)
    fleet.update(np.arange(120), np.ones(120))
    alike = Fleet(sp.Tracker, dim=1)
    for n in (100, 110, 120):
        alike.update(np.arange(n), np.ones(n))
    np.testing.assert_array_equal(fleet.predict(np.arange(120)), alike.predict(np.arange(120)))


def test_memory_is_stated_and_small():
    fleet = Fleet(sp.Tracker, dim=1)
    fleet.update(np.arange(1000), np.ones(1000))
    assert fleet.bytes_per_key * 1000 <= fleet.nbytes <= 2 * (fleet.bytes_per_key + 64) * 1000
    assert fleet.bytes_per_key <= 900


def test_saturation_warns_once():
    fleet = Fleet(sp.Tracker, dim=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2500):
            fleet.update([1, 2], [-1.0, -1.0])
    assert [str(one.message).startswith("the plays of 2 keys saturated") for one in caught] == [
        True
    ]
    assert [one.filename for one in caught] == [__file__]

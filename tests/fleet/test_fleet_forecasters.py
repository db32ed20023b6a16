"""Fleets of forecasters: horizons, intervals, features, dates and whole series, as single ones."""

import copy
import pickle

import numpy as np
import pytest

import stillpoint as sp
from states import check_same
from stillpoint.core import persist
from stillpoint.fleet.batch import packed
from thorough import some

FORECASTERS = {
    "auto": {"horizon": 5},
    "told": {"horizon": 12, "season": [4, 12], "coverage": [0.5, 0.9]},
    "features": {"horizon": 3, "season": None, "features": ["price", "day"], "pool": "middle"},
    "median": {"horizon": 4, "season": 6, "loss": sp.losses.Absolute()},
}
KEYS = ["a", 7, "c", 10**12]


def same(fleet, singles):
    for key, single in singles.items():
        check_same(fleet.learner(key).arrays(), single.arrays())


def unmoved(fleet, before):
    check_same(fleet.arrays(), before)


def values(seed, keys, rounds):
    """Series with a season, of which some values are missing."""
    rng, t = np.random.default_rng(seed), np.arange(rounds)
    y = 8.0 + 3.0 * np.cos(t * 0.5) + np.arange(keys)[:, None] + rng.normal(size=(keys, rounds))
    return np.where(rng.random(y.shape) < 0.1, np.nan, y)


@pytest.mark.parametrize("name", some(FORECASTERS, every=2))
def test_forecasts_and_intervals_are_those_of_single_forecasters(name, tmp_path):
    config = FORECASTERS[name]
    fleet, singles = sp.Fleet(sp.Forecaster, **config), dict.fromkeys(KEYS)
    singles = {key: sp.Forecaster(**config) for key in KEYS}
    rng, features = np.random.default_rng(1), len(config.get("features", ()))
    for t, column in enumerate(values(0, len(KEYS), 50).T):
        some = rng.permutation(len(KEYS))[: rng.integers(1, 5)]
        keys, y = [KEYS[i] for i in some], column[some]
        ahead = int(rng.integers(1, config["horizon"] + 1))
        x = rng.normal(size=(some.size, ahead, features)) if features and t % 3 else None
        if x is not None and t % 2:
            x = x[:, 0]
        ours = fleet.predict(keys, x=x, horizon=ahead)
        next_ones, (lo, hi) = fleet.predict(keys), fleet.interval(keys, horizon=ahead)
        low, high = fleet.interval(keys)
        for i, key in enumerate(keys):
            single = singles[key]
            row = None if x is None else x[i]
            np.testing.assert_array_equal(ours[i], single.predict(row, horizon=ahead))
            assert next_ones[i] == single.predict()
            np.testing.assert_array_equal((lo[i], hi[i]), single.interval(horizon=ahead))
            np.testing.assert_array_equal((low[i], high[i]), single.interval())
            single.skip() if np.isnan(y[i]) else single.update(y[i])
        seen = ~np.isnan(y)
        fleet.update([key for key, is_in in zip(keys, seen, strict=True) if is_in], y[seen])
        fleet.skip([key for key, is_in in zip(keys, seen, strict=True) if not is_in])
        if t == 20:
            sp.save(fleet, tmp_path / "fleet")
            fleet = sp.load(tmp_path / "fleet")
        if t == 35:
            fleet, kept = sp.Fleet(sp.Forecaster, **config), fleet
            for key in KEYS:
                fleet.adopt(key, kept.learner(key))
    same(fleet, singles)
    assert fleet.config == {**fleet.config, **singles["a"].config}


def test_several_coverages_are_the_last_axis():
    fleet = sp.Fleet(sp.Forecaster, horizon=3, coverage=[0.5, 0.9], season=None)
    assert fleet.interval([1, 2])[0].shape == (2, 2)
    assert fleet.interval([1, 2], horizon=3)[1].shape == (2, 3, 2)
    out, lo, hi = fleet.track([1, 2], np.ones((2, 6)), intervals=True)
    assert (out.shape, lo.shape, hi.shape) == ((2, 6), (2, 6, 2), (2, 6, 2))
    out, lo, hi = fleet.track([1, 2], np.ones((2, 6)), horizon=2, intervals=True)
    assert (out.shape, lo.shape, hi.shape) == ((2, 6, 2), (2, 6, 2, 2), (2, 6, 2, 2))
    one = sp.Fleet(sp.Forecaster, coverage=[0.8], season=None)
    assert one.interval(["a"])[0].shape == (1, 1)
    plain = sp.Fleet(sp.Forecaster, season=None)
    assert plain.interval(["a"])[0].shape == (1,)
    assert plain.predict(["a"], horizon=1).shape == (1, 1)


@pytest.mark.parametrize("name", some(FORECASTERS, every=2))
@pytest.mark.parametrize("opened", [False, True])
def test_whole_series_are_those_of_predict_and_update(name, opened):
    config = FORECASTERS[name]
    fleet, Y = sp.Fleet(sp.Forecaster, **config), values(2, 3, 90)
    features, steps = len(config.get("features", ())), config["horizon"]
    X = np.random.default_rng(3).normal(size=(3, 95, features)) if features else None
    parts = []
    for first, last in ((0, 40), (40, 41), (41, 41), (41, 90)):
        if opened:
            fleet.predict(["x", "y", "z"], x=X[:, first : first + steps] if features else None)
        part = None if X is None else X[:, first:]
        parts.append(
            fleet.track(["x", "y", "z"], Y[:, first:last], part, horizon=steps, intervals=True)
        )
    out, lo, hi = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    for i, key in enumerate("xyz"):
        single = sp.Forecaster(**config)
        theirs = single.track(Y[i], None if X is None else X[i], horizon=steps, intervals=True)
        for ours, other in zip((out[i], lo[i], hi[i]), theirs, strict=True):
            np.testing.assert_array_equal(ours, other)
        if not (features or opened):
            check_same(fleet.learner(key).arrays(), single.arrays())
        assert fleet.predict([key])[0] == single.predict()


@pytest.mark.parametrize("kind", [sp.VariationForecaster, sp.KernelForecaster])
@pytest.mark.parametrize("opened", [False, True])
def test_whole_series_of_forecasters_without_horizons_are_theirs(kind, opened):
    fleet, Y = sp.Fleet(kind), values(4, 3, 200)
    if opened:
        fleet.predict([1, 2, 3])
    out = np.hstack([fleet.track([1, 2, 3], Y[:, :77]), fleet.track([1, 2, 3], Y[:, 77:])])
    for i, row in enumerate(Y):
        single = kind()
        np.testing.assert_array_equal(out[i], single.track(row))
        check_same(fleet.learner(i + 1).arrays(), single.arrays())
    np.testing.assert_array_equal(fleet.predict([2, 1], horizon=1), fleet.predict([2, 1])[:, None])


@pytest.mark.parametrize("config", [{}, {"missing": True}, {"loss": sp.losses.Absolute()}])
def test_regressions_are_those_of_single_ones(config, tmp_path):
    rng, fleet = np.random.default_rng(5), sp.Fleet(sp.TrackingForecaster, dim=3, **config)
    singles = {key: sp.TrackingForecaster(3, **config) for key in KEYS}
    for t in range(150):
        some = rng.permutation(len(KEYS))[: rng.integers(1, 5)]
        keys, y = [KEYS[i] for i in some], rng.normal(size=some.size)
        x, times = rng.normal(size=(some.size, 3)), t + rng.random(some.size) if t % 2 else None
        if "missing" in config:
            x[rng.random(x.shape) < 0.2] = np.nan
        when = [None] * some.size if times is None else times.tolist()
        rows = zip(keys, x, y, when, strict=True)
        if t % 3 == 0:
            fleet.update(keys, y, x=x, time=times)
            for key, row, target, time in rows:
                singles[key].update(row, target, time)
        elif t % 10 == 1:
            known = x if t % 20 == 1 else None
            fleet.skip(keys, x=known, time=times)
            for key, row, _, time in rows:
                singles[key].skip(None if known is None else row, time)
        else:
            ours = fleet.predict(keys, x=x, time=times)
            np.testing.assert_array_equal(fleet.predict(keys), ours)
            fleet.update(keys, y)
            for i, (key, row, target, time) in enumerate(rows):
                assert singles[key].predict(row, time) == ours[i]
                singles[key].update(row, target)
        if t == 70:
            sp.save(fleet, tmp_path / "fleet")
            fleet = sp.load(tmp_path / "fleet")
    same(fleet, singles)


@pytest.mark.parametrize("opened", [False, True])
def test_whole_regressions_are_those_of_predict_update_and_skip(opened):
    rng, Y = np.random.default_rng(6), values(7, 2, 60)
    X = rng.normal(size=(2, 60, 2))
    fleet = sp.Fleet(sp.TrackingForecaster, dim=2)
    singles = {key: sp.TrackingForecaster(2) for key in "ab"}
    if opened:
        fleet.predict(["a", "b"], x=X[:, 0])
    out = fleet.track(["a", "b"], Y, X)
    for key, own, x, y in zip("ab", out, X, Y, strict=True):
        for said, row, target in zip(own, x, y, strict=True):
            assert singles[key].predict(row) == said
            singles[key].skip() if np.isnan(target) else singles[key].update(row, target)
    same(fleet, singles)


def test_times_are_numbers_or_dates_of_each_key():
    fleet, singles = sp.Fleet(sp.Forecaster), {"n": sp.Forecaster(), "d": sp.Forecaster()}
    days = np.datetime64("2024-01-01") + np.cumsum(np.random.default_rng(8).integers(1, 3, 60))
    for t, day in enumerate(days):
        time = [0.5 * t + (t > 30), day.item() if t % 2 else str(day)]
        ours = fleet.predict(["n", "d"], time=time)
        for key, when, own in zip("nd", time, ours, strict=True):
            assert singles[key].predict(time=when) == own
            singles[key].update(float(t % 7))
        fleet.update(["n", "d"], [t % 7, t % 7], time=time)
    same(fleet, singles)
    assert fleet.learner("d").time == days[-1].astype("datetime64[s]").astype(float)
    other, twin = sp.Fleet(sp.Forecaster), sp.Fleet(sp.Forecaster)
    for day in days[:20]:
        other.update([1, 2], [1.0, 2.0], time=day)
        twin.update([1, 2], [1.0, 2.0], time=np.array([day, day], "datetime64[ns]"))
    unmoved(other, twin.arrays())
    other.predict([1])  # whose time was left out, and is given now
    assert other.predict([1], time=days[-1]).shape == (1,)


def test_what_is_refused_leaves_every_key_as_it_was():
    rng = np.random.default_rng(9)
    fleet = sp.Fleet(sp.Forecaster, horizon=3, season=4, features=2)
    for t in range(30):
        fleet.update([1, 2], rng.normal(size=2), x=rng.normal(size=(2, 2)), time=[t, 2.0 * t])
    fleet.predict([1], x=[[1.0, 2.0]])
    before = fleet.arrays()
    one, two = np.ones((1, 2)), np.ones((2, 2))
    cases = [
        (lambda: fleet.update([2, 1], [1.0, np.inf]), r"y must be finite.*\(key 1\)"),
        (lambda: fleet.update([2, 1], [1.0, 1e200]), r"y must be within.*\(key 1\)"),
        (lambda: fleet.update([2, 1], [1.0, 1.0], x=two), r"open round.*\(key 1\)"),
        (lambda: fleet.update([2, 1], [1.0]), "y must be as many as keys"),
        (lambda: fleet.update([2, 1], [1.0, 1.0], time=3.0), r"time must .*\(key 2\)"),
        (lambda: fleet.skip([2], time=np.nan), r"time must be finite.*\(key 2\)"),
        (lambda: fleet.predict([1], time=np.nan), r"time must be finite.*\(key 1\)"),
        (lambda: fleet.predict([2], time="2024-01-01"), r"time must be numbers.*\(key 2\)"),
        (lambda: fleet.predict([2, 3], time=[1.0, 2.0, 3.0]), "time must be as many as keys"),
        (lambda: fleet.predict([2], x=one * 1e101), r"x must be within.*\(key 2\)"),
        (lambda: fleet.predict([2], x=np.ones((1, 3))), "x must have shape"),
        (lambda: fleet.predict([2], x=np.ones(2)), "x must have shape"),
        (lambda: fleet.predict([2], x=np.ones((1, 4, 2))), r"x must have a row.*\(key 2\)"),
        (lambda: fleet.predict([2], x=[["a", "b"]]), "x must be numeric"),
        (lambda: fleet.predict([2], horizon=4), "horizon must be at most 3"),
        (lambda: fleet.predict([2], horizon=0), "horizon must be a positive whole number"),
        (lambda: fleet.interval([2], horizon=2.0), "horizon must be a positive whole number"),
        (lambda: fleet.predict([2], [1.0]), "forecasts must be left out"),
        (lambda: fleet.track([2, 5], [1.0, 2.0]), "Y must have one row a key"),
        (lambda: fleet.track([2, 5], [[1.0], [np.inf]]), r"Y must be finite.*\(key 5\)"),
        (lambda: fleet.track([2], [[1.0, 2.0]], np.ones((1, 1, 2))), r"X must have a row.*key 2"),
        (lambda: fleet.track([2], [[1.0]], one), "X must have shape"),
        (lambda: fleet.track([1], [[1.0]], np.ones((1, 1, 2))), r"X must begin.*\(key 1\)"),
        (lambda: fleet.track([2], [[1.0]], intervals=1), "intervals must be True or False"),
        (lambda: fleet.track([2], [[1.0]], horizon=9), "horizon must be at most 3"),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()
        unmoved(fleet, before)
    assert list(fleet.keys()) == [1, 2]


def test_regressions_refuse_bad_features_and_rounds_without_any():
    fleet = sp.Fleet(sp.TrackingForecaster, dim=2)
    fleet.update([1, 2], [1.0, 2.0], x=np.ones((2, 2)), time=5.0)
    before = fleet.arrays()
    for call, message in (
        (lambda: fleet.predict([1, 2]), r"x must be given.*\(key 1\)"),
        (lambda: fleet.update([3], [1.0]), r"x must be given.*\(key 3\)"),
        (lambda: fleet.predict([1], x=[[1.0, np.nan]]), r"x must be finite.*missing=True.*key 1"),
        (lambda: fleet.predict([1, 2], x=np.ones((2, 2)), time=[6.0, 4.0]), r"go back.*\(key 2\)"),
        (lambda: fleet.predict([1], x=np.ones((1, 2)), horizon=2), "use sp.Forecaster"),
        (lambda: fleet.track([1], [[1.0]]), "X must be given"),
        (lambda: fleet.track([1], [[1.0]], np.full((1, 1, 2), np.inf)), r"X must .*\(key 1\)"),
        (lambda: fleet.interval([1], x=np.ones((1, 2))), "learner must be Forecaster"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
        unmoved(fleet, before)


def test_learners_that_do_not_forecast_refuse_what_forecasters_take():
    cases = (sp.Tracker, {"dim": 1}), (sp.MultiScale, {"dim": 1}), (sp.QuantileTracker, {})
    for kind, config in (*cases, (sp.IntervalTracker, {})):
        fleet, around = sp.Fleet(kind, **config), [[0.0]] if kind is sp.IntervalTracker else []
        for call, message in (
            (lambda fleet=fleet, around=around: fleet.predict([1], *around, horizon=2), "horizon"),
            (lambda fleet=fleet, around=around: fleet.predict([1], *around, x=[[1.0]]), "x must"),
            (lambda fleet=fleet: fleet.update([1], [1.0], x=[[1.0]]), "x must be left out"),
            (lambda fleet=fleet: fleet.interval([1]), "learner must be Forecaster"),
            (lambda fleet=fleet: fleet.track([1], [[1.0]]), "learner must be a forecaster"),
        ):
            with pytest.raises(ValueError, match=message):
                call()
        assert len(fleet) == 0
        for name, arguments in (("path", [1]), ("ends", [1])):
            with pytest.raises(ValueError, match="must be a forecaster"):
                getattr(fleet._batch, name)(np.zeros(0, np.int64), *arguments)
    with pytest.raises(ValueError, match="X must be left out"):
        sp.Fleet(sp.KernelForecaster).track([1], [[1.0]], [[[1.0]]])
    with pytest.raises(ValueError, match="x must be left out for"):
        sp.Fleet(sp.Forecaster).predict([1], x=[[1.0]])


def test_states_are_float64_but_for_some():
    assert "dtype" not in sp.Fleet(sp.Tracker, dim=1, dtype="float64").config
    for kind, config in ((sp.Tracker, {"dim": 1}), (sp.VariationForecaster, {})):
        with pytest.raises(ValueError, match=r'dtype must be "float64".*pool="small"'):
            sp.Fleet(kind, dtype="float32", **config)
    for other in ("half", np.int64, None, 32, "single precision"):
        with pytest.raises(ValueError, match="dtype must be"):
            sp.Fleet(sp.Tracker, dim=1, dtype=other)


@pytest.mark.parametrize("dtype", ["float32", np.float32, np.dtype(np.float32)])
def test_a_type_may_be_given_by_name_or_as_numpy_has_it(dtype):
    fleet = sp.Fleet(sp.Forecaster, pool="small", season=[7], dtype=dtype)
    assert fleet.dtype == fleet.config["dtype"] == "float32"
    assert sp.Fleet(**fleet.config).dtype == "float32"
    assert sp.Fleet(sp.Tracker, dim=1, dtype=float).dtype == "float64"


def test_bad_rows_are_rejected_with_the_reason_and_the_others_go_on():
    rng, config = np.random.default_rng(10), {"horizon": 2, "season": 4, "features": 1}
    fleet = sp.Fleet(sp.Forecaster, on_bad="skip", **config)
    singles = [sp.Forecaster(**config) for _ in range(3)]
    for t in range(20):
        x, y = rng.normal(size=(3, 1)), rng.normal(size=3)
        x[t % 3], y[(t + 1) % 3] = 1e200, np.nan
        fleet.update([0, 1, 2], y, x=x, time=float(t))
        assert sorted(key for key, _ in fleet.rejected) == sorted([t % 3, (t + 1) % 3])
        for key, reason in fleet.rejected:
            assert ("x must be within" if key == t % 3 else "y must be finite") in reason
        singles[(t + 1) % 3].predict(x[(t + 1) % 3], time=float(t))
        singles[(t + 1) % 3].skip()
        singles[(t + 2) % 3].predict(x[(t + 2) % 3], time=float(t))
        singles[(t + 2) % 3].update(y[(t + 2) % 3])
    same(fleet, dict(enumerate(singles)))
    before = fleet.arrays()
    out = fleet.predict([0, 1, 2], time=[1.0, np.nan, 0.0], horizon=2)
    lo, hi = fleet.interval([0, 1, 2], time=np.nan)
    assert np.isnan([*out.flat, *lo, *hi]).all()
    assert [key for key, _ in fleet.rejected] == [0, 1, 2]
    fleet.skip([0, 1], time=-1.0)
    unmoved(fleet, before)
    Y, X = rng.normal(size=(3, 5)), rng.normal(size=(3, 5, 1))
    Y[0, 2], X[1, 3] = np.inf, np.inf
    out, lo, hi = fleet.track([0, 1, 2], Y, X, horizon=2, intervals=True)
    assert [key for key, _ in fleet.rejected] == [1, 0]
    assert np.isnan([out[1], lo[1], hi[1]]).all()
    Y[0, 2] = np.nan
    for i in (0, 2):
        np.testing.assert_array_equal(out[i], singles[i].track(Y[i], X[i], horizon=2))
    same(fleet, dict(enumerate(singles)))


def test_memory_is_measured_and_given_back(monkeypatch):
    fleet = sp.Fleet(sp.Forecaster, season=7, horizon=2)
    new = fleet.bytes_per_key
    fleet.track(np.arange(5), values(11, 5, 60))
    states = [fleet.learner(key).arrays().values() for key in range(5)]
    assert new < fleet.bytes_per_key
    assert sum(np.asarray(v).nbytes for state in states for v in state) // 5 == fleet.bytes_per_key
    full = fleet.nbytes
    assert full >= 5 * fleet.bytes_per_key
    fleet.retire([0, 1, 2])
    assert fleet.nbytes < 0.5 * full
    monkeypatch.setattr(
        "stillpoint.core.allocation.machine_memory", lambda: 20.0 * fleet.bytes_per_key
    )
    with pytest.raises(ValueError, match="keys must fit in memory"):
        fleet.predict(np.arange(1000))
    assert len(fleet) == 2


def test_a_fleet_of_objects_is_copied_and_pickled():
    fleet = sp.Fleet(sp.Forecaster, season=7)
    fleet.track([1, 2], values(12, 2, 30))
    for other in (copy.deepcopy(fleet), pickle.loads(pickle.dumps(fleet))):
        other.update([1, 2], [5.0, 6.0])
        assert other.learner(1).rounds == fleet.learner(1).rounds + 1


def test_many_young_series_are_loaded_and_a_file_with_keys_alone_is_not():
    for rounds in (0, 1, 4):
        fleet = sp.Fleet(sp.Forecaster, season=None)
        keys = np.arange(60)
        fleet.track(keys, values(13, 60, rounds))
        again = persist.unpack(persist.pack(fleet))
        unmoved(again, fleet.arrays())
        assert len(again) == 60
    state = fleet.arrays()
    for broken in (
        {"keys": np.arange(10**6)},
        {"state.rounds|shapes": state["state.rounds|shapes"][:-1]},
        {"state.engine.history": state["state.engine.history"][:-1]},
        {"state.rounds": state["state.rounds"].astype(float)},
    ):
        with pytest.raises(ValueError, match=r"state .*must .*; "):
            fleet.restore({**state, **broken})
        unmoved(fleet, state)
    with pytest.raises(ValueError, match="must have shapes for each name"):
        fleet.restore({"keys": state["keys"]})
    unmoved(fleet, state)


def test_states_are_packed_in_a_few_arrays_and_come_back():
    states = [
        {"n": 3, "x": 1.5, "open": True, "w": np.arange(6.0).reshape(2, 3)},
        {"n": -1, "x": np.inf, "open": False, "w": np.empty((0, 4)), "more": np.array(["a"])},
    ]
    flat = packed.pack(states)
    assert len(flat) == 10
    for ours, theirs in zip(packed.unpack(flat, 2), states, strict=True):
        assert ours.keys() == theirs.keys()
        for name, value in theirs.items():
            assert type(ours[name]) is type(value)
            np.testing.assert_array_equal(ours[name], value)
    for name, bad in (("w", [5, 1, 1]), ("w", [2, -1, 3]), ("n", [-5]), ("w", [2, 9, 9])):
        shapes = flat[f"{name}|shapes"].copy()
        shapes[0] = bad
        with pytest.raises(ValueError, match="save the fleet again"):
            packed.unpack({**flat, f"{name}|shapes": shapes}, 2)
    assert packed.unpack(packed.pack([]), 0) == []

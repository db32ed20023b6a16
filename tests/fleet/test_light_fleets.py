"""Fleets of forecasters with small pools: compiled batches with the numbers of single ones."""

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import numpy as np
import pytest

import stillpoint as sp
from states import check_same
from stillpoint.core import persist
from stillpoint.fleet.batch import base
from stillpoint.fleet.batch import series as batches
from stillpoint.fleet.batch.series import SeriesBatch
from thorough import some

SMALL = {"horizon": 6, "season": [7], "pool": "small"}
CONFIGS = {
    "small, a day and a week": {
        "horizon": 24,
        "season": [24, 168],
        "pool": "small",
        "coverage": [0.9, 0.5],
    },
    "small, a week": SMALL,
    "small, no season": {"horizon": 1, "season": None, "pool": "small", "coverage": [0.8]},
    "small, quantile": {**SMALL, "loss": sp.losses.Pinball(0.9)},
    "middle, a day and a week": {"horizon": 24, "season": [24, 168], "pool": "middle"},
    "middle, no season": {"horizon": 3, "season": None, "pool": "middle"},
    "middle, median": {
        "horizon": 12,
        "season": 12,
        "pool": "middle",
        "loss": sp.losses.Absolute(),
        "coverage": [0.5, 0.9],
    },
    "middle, a day and a year": {"horizon": 2, "season": [24, 365.25], "pool": "middle"},
}
KEYS = ["a", 7, "c", 10**12, "é", 0, -3, "h", "i"]


def series(seed, rounds):
    """A series a key, each awkward in a way of its own."""
    rng, t = np.random.default_rng(seed), np.arange(rounds)
    wave = 100.0 + 10.0 * np.sin(2.0 * np.pi * t / 24.0) + 5.0 * np.cos(2.0 * np.pi * t / 7.0)
    y = np.stack([wave + np.cumsum(rng.normal(0.0, 0.5, rounds)) for _ in KEYS])
    y += rng.normal(size=y.shape)
    y[1, :5], y[1, rng.random(rounds) < 0.2] = np.nan, np.nan
    y[2] = rng.poisson(np.exp(np.sin(2.0 * np.pi * t / 7.0)))
    y[3, :30] = 7.0
    y[4, rounds // 2], y[4, 20:30] = -3.0, np.nan
    y[5] = 1e6 + rng.normal(size=rounds)
    y[6, 6] = -1.0
    y[7] *= 1e30
    y[8, :4], y[8, 5:] = 5.0, np.nan
    return y


def fleet_of(config, **more):
    fleet = sp.Fleet(sp.Forecaster, **config, **more)
    assert isinstance(fleet._batch, SeriesBatch)
    return fleet


def close(fleet, keys, y):
    """Update those that have a value, skip the others."""
    seen = ~np.isnan(y)
    fleet.update([key for key, good in zip(keys, seen, strict=True) if good], y[seen])
    fleet.skip([key for key, good in zip(keys, seen, strict=True) if not good])


@pytest.mark.parametrize("name", some(CONFIGS, every=2))
def test_any_order_of_keys_gives_the_numbers_of_single_forecasters(name):
    config, rng = CONFIGS[name], np.random.default_rng(1)
    fleet, singles = fleet_of(config), {key: sp.Forecaster(**config) for key in KEYS}
    ahead = config["horizon"]
    for column in series(0, 65).T:
        some = rng.permutation(len(KEYS))[: rng.integers(1, len(KEYS) + 1)]
        keys, y = [KEYS[i] for i in some], column[some]
        opens = rng.random() < 0.5
        if opens:
            ours = fleet.predict(keys, horizon=ahead)
            next_ones, (lo, hi) = fleet.predict(keys), fleet.interval(keys, horizon=ahead)
        for i, key in enumerate(keys):
            single = singles[key]
            if opens:
                np.testing.assert_array_equal(ours[i], single.predict(horizon=ahead))
                assert next_ones[i] == single.predict()
                np.testing.assert_array_equal((lo[i], hi[i]), single.interval(horizon=ahead))
            single.skip() if np.isnan(y[i]) else single.update(y[i])
        close(fleet, keys, y)
    for key, single in singles.items():
        learner = fleet.learner(key)
        assert (learner.rounds, learner.time) == (single.rounds, single.time)
        np.testing.assert_array_equal(learner.predict(horizon=ahead), single.predict(horizon=ahead))
        assert learner.seasons == single.seasons
        assert learner.weights == single.weights


@pytest.mark.parametrize("name", ["small, a day and a week", "middle, median"])
def test_whole_series_are_those_of_single_forecasters(name):
    config, Y = CONFIGS[name], series(2, 200)
    fleet, steps, parts = fleet_of(config), config["horizon"], []
    for first, last in ((0, 3), (3, 77), (77, 77), (77, 78), (78, 200)):
        if first == 78:
            fleet.predict(KEYS)  # which is the first of those to come
        parts.append(fleet.track(KEYS, Y[:, first:last], horizon=steps, intervals=True))
    out = [np.concatenate(part, axis=1) for part in zip(*parts, strict=True)]
    for i, y in enumerate(Y):
        single = sp.Forecaster(**config)
        for ours, theirs in zip(out, single.track(y, horizon=steps, intervals=True), strict=True):
            np.testing.assert_array_equal(ours[i], theirs)


def test_rounds_in_step_are_those_of_whole_series_also_without_values_to_begin_with():
    fleet, other, Y = fleet_of(SMALL), fleet_of(SMALL), series(3, 60)
    Y[:, :2] = np.nan
    whole = fleet.track(KEYS, Y, horizon=6, intervals=True)
    for t, y in enumerate(Y.T):
        parts = other.predict(KEYS, horizon=6), *other.interval(KEYS, horizon=6)
        for ours, theirs in zip(parts, whole, strict=True):
            np.testing.assert_array_equal(ours, theirs[:, t])
        close(other, KEYS, y)
    check_same(other.arrays(), fleet.arrays())


def test_any_number_of_threads_gives_the_same_numbers():
    rng = np.random.default_rng(4)
    Y = 10.0 + rng.normal(size=(1000, 20)).cumsum(axis=1)
    one, many = fleet_of(SMALL), fleet_of(SMALL, threads=3)
    for first, last in ((0, 9), (9, 20)):
        parts = (fleet.track(np.arange(1000), Y[:, first:last]) for fleet in (one, many))
        np.testing.assert_array_equal(*parts)
    for fleet in (one, many):
        fleet.predict(np.arange(999, -1, -1))
    check_same(one.arrays(), many.arrays())


@pytest.mark.slow  # half a minute of compiling
@pytest.mark.parametrize("name", ["small, a day and a week", "middle, median"])
def test_float32_differs_by_a_ten_thousandth_of_the_deviation(name):
    config, Y = CONFIGS[name], series(5, 250)
    Y[7] = 1e8 + Y[0]
    exact, fleet = fleet_of(config), fleet_of(config, dtype="float32")
    steps = config["horizon"]
    said, lo, hi = exact.track(KEYS, Y, horizon=steps, intervals=True)
    late = []
    for t, y in enumerate(Y.T):
        ours, (low, high) = fleet.predict(KEYS, horizon=steps), fleet.interval(KEYS, horizon=steps)
        error = np.abs(ours - said[:, t]).max(axis=1) / np.nanstd(Y, axis=1)
        assert np.delete(error, 3).max() < 1e-4
        late.append(error[3])
        wide = [np.nan_to_num(high - low), np.nan_to_num(hi[:, t] - lo[:, t])]
        np.testing.assert_allclose(*(np.delete(w, 3, axis=0) for w in wide), rtol=1e-3, atol=1e-9)
        close(fleet, KEYS, y)
    # where experts are level after a constant start, rounding decides between them for a while
    assert np.median(late) < 1e-4
    assert max(late) < 0.5
    assert fleet.bytes_per_key < 0.6 * exact.bytes_per_key
    again = persist.unpack(persist.pack(fleet))
    assert again.dtype == again.config["dtype"] == "float32"
    check_same(again.arrays(), fleet.arrays())


@pytest.mark.slow  # half a minute of compiling
def test_float32_refuses_values_whose_squares_it_cannot_keep():
    fleet = fleet_of(SMALL, dtype="float32")
    with pytest.raises(ValueError, match=r"y must be within ±1e\+15.*\(key 1\)"):
        fleet.update([0, 1], [1.0, 1e16])
    big = sp.Forecaster(**SMALL)
    big.track(1e20 * series(6, 30)[0])
    with pytest.raises(ValueError, match=r'within ±1e\+15.*dtype="float64"'):
        fleet.adopt("a", big)
    assert len(fleet) == 0
    Y = 1e15 * (series(6, 60)[:1] / 200.0)
    assert np.isfinite(np.hstack([fleet.track(["a"], y) for y in Y.T[..., None].copy()])).all()
    assert np.isfinite(fleet.interval(["a"])).all()


def test_saved_at_any_time_and_taken_out_they_go_on(tmp_path):
    Y = series(7, 70)
    for config in (SMALL, CONFIGS["middle, median"]):
        steps = config["horizon"]
        whole = fleet_of(config).track(KEYS, Y, horizon=steps, intervals=True)
        fleet = fleet_of(config)
        for t, y in enumerate(Y.T):
            parts = fleet.predict(KEYS, horizon=steps), *fleet.interval(KEYS, horizon=steps)
            for ours, theirs in zip(parts, whole, strict=True):
                np.testing.assert_array_equal(ours, theirs[:, t])
            if t in (0, 2, 5, 12, 40):  # with a round open
                sp.save(fleet, tmp_path / "fleet")
                before, fleet = fleet, sp.load(tmp_path / "fleet")
                check_same(fleet.arrays(), before.arrays())
            if t in (1, 3, 8, 17, 50):
                kept, fleet = fleet, fleet_of(config)
                for key in KEYS:
                    fleet.adopt(key, kept.learner(key))
                check_same(fleet.arrays(), kept.arrays())
            if t in (4, 30):
                fleet = pickle.loads(pickle.dumps(copy.deepcopy(fleet)))
            close(fleet, KEYS, y)


def test_a_learner_taken_out_can_be_saved_and_told_times(tmp_path):
    fleet = fleet_of(SMALL)
    y = series(8, 90)[0]
    fleet.track(["a"], y[None, :80])
    learner = fleet.learner("a")
    assert learner.rounds == 80
    assert learner.changes == []
    sp.save(learner, tmp_path / "a")
    again = sp.load(tmp_path / "a")
    np.testing.assert_array_equal(again.track(y[80:]), fleet.track(["a"], y[None, 80:])[0])
    assert np.isfinite(learner.predict(time=95.0))
    with pytest.raises(ValueError, match="learner must have had no times"):
        fleet.adopt("b", learner)
    assert "b" not in fleet


def test_retired_keys_begin_anew_and_their_places_are_used_again():
    fleet, Y = fleet_of(SMALL), series(9, 40)
    first = fleet.track(KEYS, Y)
    fleet.retire(KEYS[:4])
    fleet.track(["x", "y"], Y[:2, :5])  # young where others were
    np.testing.assert_array_equal(fleet.track(KEYS[:4], Y[:4]), first[:4])
    np.testing.assert_array_equal(fleet.track(["x", "y"], Y[:2, 5:]), first[:2, 5:])
    nests = fleet._batch._nursery
    young = fleet._batch.data["counts"][fleet._index.slots(), 6]
    assert sorted([*nests._free, *young[young >= 0]]) == list(range(len(nests.values)))


def test_slots_left_out_are_rounds_without_a_value():
    rng, config = np.random.default_rng(10), SMALL
    fleet, singles = fleet_of(config), [sp.Forecaster(**config) for _ in range(3)]
    times = np.array([5, -100, 10**12])
    for t in range(40):
        steps = rng.integers(1, 4, 3) if t else np.ones(3, int)
        steps[1] += 50 * (t == 20)
        times, y = times + steps, rng.normal(size=3) + t % 7
        if t % 3:
            ours = fleet.predict([0, 1, 2], time=times)
        for i, single in enumerate(singles):
            for _ in range(steps[i] - 1):
                single.skip()
            if t % 3:
                assert single.predict() == ours[i]
            single.update(y[i])
        fleet.update([0, 1, 2], y, time=times)
    np.testing.assert_array_equal(
        fleet.predict([2, 0]), [singles[2].predict(), singles[0].predict()]
    )
    assert fleet.learner(2).time == times[2] + 1
    fleet.skip([2], time=times[2] + 1)
    assert fleet.learner(2).rounds == singles[2].rounds + 1


def test_a_gap_of_any_length_ends_in_its_phase():
    wave = np.tile([1.0, 2.0, 9.0, 4.0, 5.0, 6.0, 7.0], 30)
    fleet = fleet_of(SMALL)
    fleet.track([1], wave[None])
    for time in (7 * 10**6 + 3, 7 * 10**9 + 3, 7 * 10**12 + 3):
        assert fleet.predict([1], time=time)[0] == pytest.approx(9.0, abs=0.5)
        fleet.update([1], [9.0])
    assert fleet.learner(1).rounds < 1000


def test_what_is_refused_leaves_every_key_as_it_was():
    fleet = fleet_of(SMALL)
    fleet.track([1, 2], series(11, 20)[:2])
    fleet.predict([1])
    before = fleet.arrays()
    cases = [
        (lambda: fleet.update([2, 1], [1.0, np.nan]), r"y must be finite.*\(key 1\)"),
        (lambda: fleet.update([2, 5], [1.0, 1e80]), r"y must be within.*\(key 5\)"),
        (lambda: fleet.predict([2], time=25.5), r"time must be a whole number.*\(key 2\)"),
        (lambda: fleet.predict([2], time=2.0**53), r"time must be a whole number.*\(key 2\)"),
        (lambda: fleet.predict([2], time=np.nan), r"time must be finite.*\(key 2\)"),
        (lambda: fleet.predict([2], time=20), r"time must increase.*\(key 2\)"),
        (lambda: fleet.update([1], [1.0], time=30), r"that of the open round.*\(key 1\)"),
        (lambda: fleet.predict([3], time=np.datetime64("2024-01-01")), "convert dates"),
        (lambda: fleet.predict([3], x=[[1.0]]), "x must be left out"),
        (lambda: fleet.predict([3], horizon=7), "horizon must be at most 6"),
        (lambda: fleet.track([3, 2], [[1.0], [np.inf]]), r"Y must be finite.*\(key 2\)"),
        (lambda: fleet.adopt(4, sp.Forecaster(pool="small")), "learner must be a Forecaster with"),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()
        check_same(fleet.arrays(), before)
    late = fleet_of(SMALL)
    late.predict([1], time=2.0**53 - 2.0)
    with pytest.raises(ValueError, match=r"time must increase.*\(key 1\)"):
        late.track([1], [[1.0, 2.0, 3.0]])


def test_bad_rows_are_rejected_and_the_others_go_on():
    fleet, single = fleet_of(SMALL, on_bad="skip"), sp.Forecaster(**SMALL)
    fleet.update([1, 2], [1.0, np.nan], time=[3, 3])
    fleet.update([1, 2], [2.0, 5.0], time=[4, 3.5])
    assert [key for key, _ in fleet.rejected] == [2]
    out = fleet.track([1, 2], [[3.0, np.inf], [4.0, 2.0]])
    single.skip()
    np.testing.assert_array_equal(out[1], single.track([4.0, 2.0]))
    assert fleet.learner(1).rounds == 4


def test_which_forecasters_are_compiled():
    fleet_of({"pool": "small", "season": None})
    fleet_of({"pool": "middle", "season": 7})
    for other in (
        {"season": 7},
        {"pool": "small"},
        {"pool": "small", "season": 7, "features": 1},
    ):
        fleet = sp.Fleet(sp.Forecaster, **other)
        assert not isinstance(fleet._batch, SeriesBatch)
        with pytest.raises(ValueError, match='float32 is for a Forecaster with pool="small"'):
            sp.Fleet(sp.Forecaster, dtype="float32", **other)


def test_memory_goes_with_the_keys_and_is_limited(monkeypatch):
    fleet = fleet_of(SMALL)
    fleet.track(np.arange(100), np.ones((100, 3)))
    assert fleet.nbytes >= 100 * fleet.bytes_per_key
    room = 500.0 * fleet.bytes_per_key
    monkeypatch.setattr("stillpoint.core.allocation.machine_memory", lambda: room)
    with pytest.raises(ValueError, match="keys must fit in memory"):
        fleet.predict(np.arange(1000))
    assert len(fleet) == 100


@pytest.mark.parametrize("opened", [False, True])
def test_files_with_states_that_no_fleet_comes_to_are_refused(opened):
    fleet = fleet_of(SMALL)
    fleet.track([1, 2, 3], series(12, 40)[:3])
    fleet.track([4, 5], [[1.0, 2.0], [np.nan, 3.0]])
    if opened:
        fleet.predict([1, 4])
    state = fleet.arrays()
    restored = fleet_of(SMALL)
    restored.restore(copy.deepcopy(state))
    check_same(restored.arrays(), state)
    counts, inf = state["state.counts"], np.full_like(state["state.rows"], np.inf)
    broken = [{"state.rows": inf}, {"state.rows": state["state.rows"][:, 1:]}]
    broken += [{"state.rows": state["state.rows"].astype(np.float32)}]
    broken += [{"state.nests": state["state.nests"][:-1]}, {"state.exact": inf[:, :23]}]
    broken += [{"state.time": state["state.time"] + 0.5}, {"keys": np.arange(4)}]
    for column in range(8):
        for value in (-7, 10**9):
            if (column, value) != (7, 10**9):  # so many rounds may have come before the first value
                wrong = counts.copy()
                wrong[:, column] = value
                broken.append({"state.counts": wrong})
    swapped = counts.copy()
    swapped[[3, 4], 6] = swapped[[4, 3], 6]
    broken.append({"state.counts": swapped})
    for part in broken:
        with pytest.raises(ValueError, match="must"):
            restored.restore({**state, **part})
        check_same(restored.arrays(), state)


def test_an_interrupted_fleet_has_played_its_rounds_and_goes_on(monkeypatch):
    Y, play = series(3, 60), batches.play
    whole, cut = fleet_of(SMALL), fleet_of(SMALL)
    whole.track(KEYS, Y[:, :40])

    def interrupted(*args):
        play(*args)  # compiled: Ctrl-C is met when it is over
        raise KeyboardInterrupt

    monkeypatch.setattr(batches, "play", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cut.track(KEYS, Y[:, :40])
    monkeypatch.setattr(batches, "play", play)
    again = persist.unpack(persist.pack(cut))
    expected = whole.track(KEYS, Y[:, 40:])
    for fleet in (cut, again):
        np.testing.assert_array_equal(fleet.track(KEYS, Y[:, 40:]), expected)


def test_an_interrupt_waits_for_the_threads_that_write_states(monkeypatch):
    go, over, wait = threading.Event(), [], base.wait

    def work():
        go.wait()
        sleep(0.01)
        over.append(True)

    def interrupted(jobs):
        if not go.is_set():
            go.set()
            raise KeyboardInterrupt
        return wait(jobs)

    monkeypatch.setattr(base, "wait", interrupted)
    with ThreadPoolExecutor(1) as pool:
        jobs = [pool.submit(work) for _ in range(2)]
        with pytest.raises(KeyboardInterrupt):
            base.finished(jobs)
        assert len(over) == 2


@pytest.mark.parametrize("pool", ["small", "middle"])
def test_jumps_that_are_confirmed_after_missing_values_are_those_of_single_forecasters(pool):
    rng, t, config = np.random.default_rng(5), np.arange(120), {**SMALL, "pool": pool}
    Y = 50.0 + np.cos(2.0 * np.pi * t / 7.0) + 0.3 * rng.normal(size=(len(KEYS), t.size))
    for i, y in enumerate(Y):  # at a round, and with so many missing values, of its own
        y[80 + i // 3 :] += 40.0
        y[81 + i // 3 : 82 + i // 3 + i % 3] = np.nan
    said = fleet_of(config).track(KEYS, Y, horizon=6)
    for y, ours in zip(Y, said, strict=True):
        bulk, single = sp.Forecaster(**config), sp.Forecaster(**config)
        np.testing.assert_array_equal(ours, bulk.track(y, horizon=6))
        for value, row in zip(y, ours, strict=True):
            np.testing.assert_array_equal(single.predict(horizon=6), row)
            single.skip() if np.isnan(value) else single.update(value)

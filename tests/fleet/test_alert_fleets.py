"""Fleets of detectors: the numbers of single ones, one bound on alarms over all keys, saving."""

import copy
import math
import sys
from pathlib import Path

import numpy as np
import pytest

import stillpoint as sp
from stillpoint.alerts.anomaly import bound
from stillpoint.fleet.batch import base
from stillpoint.fleet.batch.alerts import AlertBatch
from thorough import some_of

sys.path.insert(0, str(Path(__file__).parents[1] / "alerts"))
from naive_small import NaiveSmall


class Last:
    """A forecaster that is not of this library."""

    def predict(self):
        return 0.0

    def update(self, y):
        pass


def small(rate=0.001, **more):
    return sp.Fleet(sp.Anomalies, rate=rate, memory="small", **more)


def streams(keys=5, rows=600, seed=0):
    """Values with gaps and spikes, and forecasts with gaps."""
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(keys, rows)) * np.exp(rng.normal(size=(keys, 1)))
    for own in Y:
        own[rng.integers(200, rows, 3)] += 50.0
    F = np.zeros_like(Y)
    Y[rng.random(Y.shape) < 0.05] = np.nan
    F[rng.random(Y.shape) < 0.05] = np.nan
    return Y, F


def raising(rng, keys, rows):
    """Streams made to raise alarms: each rare value is far beyond all others."""
    Y = 1e-60 * rng.normal(size=(keys, rows))
    for own in Y:
        at = np.arange(int(rng.integers(101, 250)), rows, int(rng.integers(101, 140)))[:8]
        own[at] = 1e-60 * np.exp(7.0 + 45.0 * np.arange(at.size))
    return Y


def same_state(fleet, other):
    assert set(fleet.keys()) == set(other.keys())
    np.testing.assert_array_equal(fleet._batch.totals, other._batch.totals)
    for key in list(fleet.keys()):
        ours, theirs = fleet.learner(key).arrays(), other.learner(key).arrays()
        for name in ours:
            np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)


def test_a_fleet_has_the_numbers_of_single_detectors_whatever_keys_come_when():
    Y, F = streams()
    fleet, singles, rng = small(0.05), {}, np.random.default_rng(1)
    seen = np.zeros(len(Y), int)
    for _ in range(400):
        keys = rng.permutation(len(Y))[: rng.integers(1, len(Y) + 1)]
        y, f = Y[keys, seen[keys]], F[keys, seen[keys]]
        told, expected = fleet.update([f"k{key}" for key in keys], y, f), []
        for key, value, forecast in zip(keys.tolist(), y.tolist(), f.tolist(), strict=True):
            single = singles.setdefault(f"k{key}", sp.Anomalies(0.05, memory="small"))
            if math.isnan(value):
                single.skip()
            elif (record := single.update(value, forecast=forecast)) is not None:
                expected.append((f"k{key}", record))
        assert fleet.found == expected
        assert told.sum() == len(expected)
        seen[keys] += 1
    assert fleet.alarms == sum(single.alarms for single in singles.values()) > 4
    for key, single in singles.items():
        ours, theirs = fleet.learner(key).arrays(), single.arrays()
        for name in theirs:
            np.testing.assert_array_equal(ours[name], theirs[name])
        assert fleet.learner(key).records == single.records


def test_whole_arrays_are_rows_time_by_time_on_any_threads(monkeypatch):
    monkeypatch.setattr(base, "_LEAST", 1)
    Y = raising(np.random.default_rng(2), 7, 900)
    Y[:, ::13] = np.nan
    keys, rows, found = list("abcdefg"), small(), []
    told = np.array([rows.update(keys, y, np.zeros(7)) for y in Y.T]).T
    for threads in (1, 3):
        whole = small(threads=threads)
        alarms = [whole.track(keys, Y[:, :400], forecasts=np.zeros((7, 400)))]
        found = whole.found
        alarms.append(whole.track(keys, Y[:, 400:], forecasts=np.zeros((7, 500))))
        found = found + whole.found
        np.testing.assert_array_equal(np.hstack(alarms), told)
        same_state(whole, rows)
        assert [record.row for _, record in found] == np.nonzero(told.T)[0].tolist()
        assert [key for key, _ in found] == [keys[i] for i in np.nonzero(told.T)[1]]


def test_a_plain_loop_admits_the_same_alarms():
    rate, keys, rows = 1e-3, 6, 600
    Y = raising(np.random.default_rng(3), keys, rows)
    fleet, twins = small(rate), [NaiveSmall(rate) for _ in range(keys)]
    told = fleet.track(np.arange(keys), Y, forecasts=np.zeros_like(Y))
    values = alarms = candidates = 0
    for t in range(rows):
        for key in range(keys):
            values += 1
            may = twins[key].update(Y[key, t], 0.0)[3] is not None
            room = rate * values + 3.0 * math.sqrt(rate * (1.0 - rate) * (values + 100))
            raised = may and alarms <= room
            assert told[key, t] == raised
            alarms, candidates = alarms + raised, candidates + may
    assert fleet.alarms == alarms < candidates  # the bound binds


@pytest.mark.parametrize(("seed", "rate"), some_of(range(3), [1e-4, 1e-3, 0.02]))
def test_alarms_of_all_keys_stay_within_the_bound_on_streams_made_to_raise_them(seed, rate):
    rng, fleet, told, values = np.random.default_rng(seed), small(rate), 0, 0
    for _ in range(4):
        keys = np.arange(int(rng.integers(1, 200)))  # some are new, some stay away
        Y = raising(rng, keys.size, int(rng.integers(100, 1500)))
        Y[rng.random(Y.shape) < rng.choice([0.0, 0.3])] = np.nan
        told += fleet.track(keys, Y, forecasts=np.zeros_like(Y)).sum()
        values += (~np.isnan(Y)).sum()
        assert fleet.alarms == told <= fleet.alarm_bound() == bound(rate, values)


def test_missing_rows_and_constants_are_no_alarms_and_missing_rows_do_not_count():
    fleet = small(0.01)
    assert not fleet.track(
        list("ab"), np.full((2, 300), 4.0), forecasts=np.full((2, 300), 4.0)
    ).any()
    before = fleet.alarm_bound()
    assert not fleet.update(list("ab"), [np.nan, np.nan], [4.0, np.nan]).any()
    fleet.skip(["a"])
    assert fleet.alarm_bound() == before == bound(0.01, 600)
    assert fleet.learner("a").rounds == 302


@pytest.mark.parametrize("kind", ["small", "full", "own forecaster", "changes"])
def test_a_saved_fleet_goes_on_bit_for_bit_and_counts_keys_that_are_gone(kind, tmp_path):
    own = {"rate": 0.01}
    fleet, given = {
        "small": (small(0.01), True),
        "full": (sp.Fleet(sp.Anomalies, **own), True),
        "own forecaster": (
            sp.Fleet(sp.Anomalies, forecaster=sp.VariationForecaster(), memory="small", **own),
            False,
        ),
        "changes": (sp.Fleet(sp.Changes, every=200), False),
    }[kind]
    Y, F = streams(3, 500)
    Y[:, 250:] += 20.0
    forecasts = {"forecasts": F} if given else {}
    fleet.track(list("abc"), Y, **forecasts)
    fleet.retire(["b"])
    sp.save(fleet, tmp_path / "fleet")
    again = sp.load(tmp_path / "fleet")
    assert again.alarms == fleet.alarms > 0
    Z, G = streams(3, 300, seed=9)
    more = {"forecasts": G} if given else {}
    told = [each.track(list("acd"), Z, **more) for each in (fleet, again, copy.deepcopy(fleet))]
    assert told[0].any()
    for each in told[1:]:
        np.testing.assert_array_equal(each, told[0])
    same_state(fleet, again)
    assert fleet.found == again.found


@pytest.mark.parametrize("rows", [0, 1, 40])
def test_a_fleet_whose_forecasters_are_built_when_asked_is_saved(rows, tmp_path):
    fleet, Y = sp.Fleet(sp.Anomalies, rate=0.02), streams(2, 300)[0][:, :60]
    fleet.track(list("ab"), Y[:, :rows])
    sp.save(fleet, tmp_path / "fleet")
    again = sp.load(tmp_path / "fleet")
    told = [each.track(list("ab"), Y[:, rows:]) for each in (fleet, again)]
    np.testing.assert_array_equal(*told)
    same_state(fleet, again)


def test_a_key_leaves_and_another_joins_with_its_state():
    Y, F = streams(1)
    fleet, single = small(0.02), sp.Anomalies(0.02, memory="small")
    single.track(Y[0], F[0])
    fleet.adopt("a", single)
    np.testing.assert_array_equal(fleet.learner("a").arrays()["row"], single.arrays()["row"])
    assert fleet.alarms == 0  # of this fleet
    own = sp.Anomalies(0.02, memory="small")
    own.update(1.0)
    with pytest.raises(ValueError, match="must have been given forecasts"):
        fleet.adopt("b", own)
    assert "b" not in fleet


def test_bad_values_move_nothing_or_are_left_out():
    fleet = small()
    fleet.update(list("ab"), [1.0, 2.0], [0.0, 0.0])
    before = fleet.arrays()
    for keys, y, forecasts, match in (
        ("abc", [1.0, np.inf, 2.0], [0.0] * 3, r"y must be finite.*'b'"),
        ("ab", [1.0, 2.0], [0.0, -np.inf], r"forecasts must be finite.*'b'"),
        ("ab", [1.0], [0.0], "y must be as many as keys"),
        ("ab", [1.0, 2.0], [0.0], "forecasts must be as many as keys"),
        ("ab", [1.0, 2.0], None, "forecasts must be given"),
        ("aa", [1.0, 2.0], [0.0, 0.0], "keys"),
    ):
        with pytest.raises(ValueError, match=match):
            fleet.update(list(keys), y, forecasts)
    for call in (
        lambda: fleet.predict(list("xy")),
        lambda: fleet.interval(list("xy")),
        lambda: fleet.track(list("ab"), np.zeros((2, 3)), forecasts=np.zeros((2, 4))),
        lambda: fleet.update(list("ab"), [1.0, 2.0], [0.0, 0.0], time=3.0),
        lambda: fleet.update(list("ab"), [1.0, 2.0], [0.0, 0.0], x=[[1.0], [2.0]]),
    ):
        with pytest.raises(ValueError, match="must"):
            call()
    assert all(
        np.array_equal(before[name], now)
        for name, now in fleet.arrays().items()
        if name != "state.rows"
    )
    np.testing.assert_array_equal(before["state.rows"], fleet.arrays()["state.rows"])

    own = {"forecaster": sp.VariationForecaster()}  # takes no value above 1e75
    strict, single = sp.Fleet(sp.Anomalies, **own), sp.Anomalies(**own)
    with pytest.raises(ValueError, match=r"y must be .*1e\+75.*'b'"):
        strict.update(list("ab"), [1.0, 1e80])
    with pytest.raises(ValueError, match=r"1e\+75"):
        single.update(1e80)
    assert len(strict) == 0
    strict.update(list("ab"), [1.0, 1e80], [0.0, 0.0])  # who brings forecasts may have such values
    lenient = sp.Fleet(sp.Anomalies, on_bad="skip", **own)
    lenient.update(list("ab"), [1.0, 1e80])
    assert [key for key, _ in lenient.rejected] == ["b"]
    with pytest.raises(ValueError, match="forecaster must be one of this library in a fleet"):
        sp.Fleet(sp.Anomalies, forecaster=Last())

    lenient = small(on_bad="skip")
    lenient.update(list("abc"), [1.0, np.inf, 2.0], [0.0, 0.0, np.inf])
    assert [key for key, _ in lenient.rejected] == ["b", "c"]
    assert [lenient.learner(key).rounds for key in "abc"] == [1, 1, 0]
    assert lenient.alarm_bound() == bound(0.001, 1)


def test_other_learners_have_no_alarms_and_take_no_forecasts_in_update():
    fleet = sp.Fleet(sp.QuantileTracker)
    with pytest.raises(ValueError, match="learner must be Anomalies or Changes"):
        _ = fleet.alarms
    with pytest.raises(ValueError, match="forecasts must be left out of update"):
        fleet.update(["a"], [1.0], [1.0])
    with pytest.raises(ValueError, match="forecasts must be left out of track"):
        sp.Fleet(sp.VariationForecaster).track(["a"], [[1.0]], forecasts=[[1.0]])


def test_objects_have_the_numbers_of_single_detectors():
    Y, F = streams(3, 700)
    fleet = sp.Fleet(sp.Anomalies, rate=0.02)
    told = fleet.track(list("abc"), Y, forecasts=F)
    for own, y, f, key in zip(told, Y, F, "abc", strict=True):
        single = sp.Anomalies(0.02)
        _, found = single.track(y, f)
        assert np.flatnonzero(own).tolist() == [record.row for record in found]
        assert fleet.learner(key).records == found
    assert fleet.alarms == told.sum() <= fleet.alarm_bound()
    with pytest.raises(ValueError, match="every row or in none"):
        fleet.update(list("ab"), [1.0, 2.0])


def test_a_fleet_of_changes_says_which_keys_changed():
    rng = np.random.default_rng(4)
    Y = rng.normal(size=(3, 600))
    Y[1, 300:] += 5.0
    Y[:, 50] = np.nan
    fleet = sp.Fleet(sp.Changes, every=10_000)
    found = []
    for y in Y.T:
        told = fleet.update(["a", "b", "c"], y)
        assert told.tolist() == [key in [name for name, _ in fleet.found] for key in "abc"]
        found += fleet.found
    assert [key for key, _ in found] == ["b"]
    assert found[0][1].kind == "level up"
    assert abs(found[0][1].start - 300) <= 3
    assert fleet.alarms == 1
    whole = sp.Fleet(sp.Changes, every=10_000)
    assert np.argwhere(whole.track(list("abc"), Y)).tolist() == [[1, found[0][1].row]]
    with pytest.raises(ValueError, match="must be Anomalies to have a bound"):
        fleet.alarm_bound()
    with pytest.raises(ValueError, match="forecasts must be left out"):
        fleet.update(["a"], [1.0], [1.0])


def test_states_that_no_fleet_has_are_refused():
    fleet = small()
    fleet.track(list("ab"), *[np.zeros((2, 5))], forecasts=np.zeros((2, 5)))
    good = fleet.arrays()
    for name, value in (
        ("state.totals", np.array([5, 6])),
        ("state.totals", np.array([-1, 0])),
        ("state.rows", good["state.rows"] - 1.0),
        ("state.rows", good["state.rows"][:, :-1]),
    ):
        with pytest.raises(ValueError, match="save"):
            small().restore({**good, name: value})
    small().restore(good)


def test_a_key_takes_three_kilobytes_in_one_array():
    fleet = small()
    assert isinstance(fleet._batch, AlertBatch)
    assert fleet.bytes_per_key == 3360
    assert small(period=24).bytes_per_key == 3360 + 23 * 16


def test_a_skipped_round_has_no_alarms():
    fleet = small(0.01)
    Y = np.r_[np.random.default_rng(0).normal(size=300), 1e6][None]
    fleet.track(["a"], Y, forecasts=np.zeros_like(Y))
    assert fleet.found
    fleet.skip(["a"])
    assert fleet.found == []


def test_detectors_with_a_forecaster_are_adopted_and_it_must_be_new():
    """Its rounds would be in no file of the fleet, and new keys would begin otherwise there."""
    fleet = sp.Fleet(sp.Anomalies, rate=0.01, forecaster=sp.VariationForecaster())
    fleet.update(["a"], [1.0])
    fleet.adopt("b", fleet.learner("a"))
    assert len(fleet) == 2
    other = sp.Anomalies(0.01, forecaster=sp.KernelForecaster())
    with pytest.raises(ValueError, match="learner must be a Anomalies"):
        fleet.adopt("c", other)
    seen = sp.VariationForecaster()
    seen.update(1.0)
    with pytest.raises(ValueError, match=r"forecaster must be new: got .* after 1 rounds"):
        sp.Fleet(sp.Anomalies, forecaster=seen)

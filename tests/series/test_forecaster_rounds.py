"""Rounds of Forecaster: in bulk and one by one, split, saved, copied, refused."""

import copy
import math
import subprocess
import sys

import numpy as np
import pytest
from rounds_cases import CASES, LONG, H, assert_same_state, build, interactive, step
from series_twins import wavy

import stillpoint as sp
from stillpoint.core import persist
from stillpoint.series import gains
from thorough import some


@pytest.fixture(scope="module")
def bulk():
    """Each case played at once: the model and its forecasts."""
    found = {}
    for name, case in CASES.items():
        model = build(case)
        found[name] = model, model.track(case[1], horizon=H)
    return found


@pytest.mark.parametrize("name", some(CASES, every=2))
def test_rounds_in_bulk_are_rounds_one_by_one_to_the_bit(bulk, name):
    model = build(CASES[name])
    np.testing.assert_array_equal(interactive(model, CASES[name][1]), bulk[name][1])
    assert_same_state(model, bulk[name][0])
    assert model.rounds == CASES[name][1].size


def test_the_cases_see_what_they_are_for(bulk):
    assert {name: model.seasons for name, (model, _) in bulk.items()} == {
        "told": [4.0, 12.0],
        "found": [12.0],
        "logs end": [6.0],
        "late start": [5.0],
        "jumps": [],
        "not whole": [7.5],
        "small": [7.0],
    }
    builds = {name: model._engine.builds for name, (model, _) in bulk.items()}
    assert builds["told"] == 4  # at the start, after 10 rounds, after 4 and 12 were seen twice
    assert builds["found"] >= 2
    assert builds["logs end"] == 4
    assert all(np.isfinite(said).all() for _, said in bulk.values())


# rounds in which a forecaster of LONG is built anew, and its last ones
DECISIVE = [(0, 100), (6400, 6500), (9070, 9170), (10_200, 10_500)]


@pytest.mark.parametrize(
    "single", [DECISIVE, pytest.param([(0, 10_500)], marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_a_long_series_is_trimmed_and_built_anew_alike_in_bulk_and_one_by_one(single):
    case, last = LONG, 0
    one, two, three = build(case), build(case), build(case)
    said = one.track(case[1])
    for first, end in single:
        builds = two._engine.builds
        np.testing.assert_array_equal(two.track(case[1][last:first]), said[last:first])
        assert two._engine.builds == builds  # what is built anew is so in single rounds
        np.testing.assert_array_equal(
            interactive(two, case[1][first:end], 1)[:, 0], said[first:end]
        )
        last = end
    rng, at = np.random.default_rng(0), 0
    while at < case[1].size:
        n = int(rng.integers(1, 3000))
        np.testing.assert_array_equal(three.track(case[1][at : at + n]), said[at : at + n])
        at += n
    assert_same_state(one, two)
    assert_same_state(one, three)
    assert one._engine.builds == 4
    assert one._engine.history.size <= 16_384
    # its unit fits what it sees
    assert one._engine.state.scalars[1] > 8.0


def test_units_are_renewed_where_no_season_is_looked_for():
    y = wavy(13_000, ())
    y[6000:] *= 200.0
    model = sp.Forecaster(1, season=None, pool="full")
    model.track(y)
    assert model._engine.builds == 3  # with 3 and 10 values, and in its new unit


@pytest.mark.parametrize("name", some(CASES, every=2))
def test_any_split_of_a_series_gives_the_same_bits(bulk, name):
    y, rng = CASES[name][1], np.random.default_rng(3)
    for most in (3, 60):
        model, at, parts = build(CASES[name]), 0, []
        while at < y.size:
            n = int(rng.integers(0, most))
            if rng.uniform() < 0.2:
                parts.append(interactive(model, y[at : at + 1]))
                n = 1
            else:
                if rng.uniform() < 0.3:
                    model.predict()  # an open round is the first of the coming ones
                parts.append(model.track(y[at : at + n], horizon=H).reshape(-1, H))
            at += n
        np.testing.assert_array_equal(np.concatenate(parts), bulk[name][1])
        assert_same_state(model, bulk[name][0])


@pytest.mark.parametrize("name", some(CASES, every=2))
def test_saved_and_loaded_at_any_round_it_goes_on_to_the_bit(bulk, name, tmp_path):
    y, said = CASES[name][1], bulk[name][1]
    rng, model = np.random.default_rng(11), build(CASES[name])
    stops = rng.choice(np.arange(70, y.size), size=4, replace=False)
    for t, value in enumerate(y):
        if t in stops:
            opened = bool(rng.integers(2))
            if opened:
                model.predict()
            sp.save(model, tmp_path / "model")
            loaded = sp.load(tmp_path / "model")
            assert_same_state(model, loaded, but=())
            end = min(t + 40, y.size)
            np.testing.assert_array_equal(
                loaded.track(y[t:end], horizon=H).reshape(-1, H), said[t:end]
            )
            again = sp.load(tmp_path / "model")
            np.testing.assert_array_equal(interactive(again, y[t:end]), said[t:end])
            assert_same_state(loaded, again)
        step(model, value)


@pytest.mark.parametrize("name", ["told", "late start", "not whole"])
def test_saved_and_loaded_in_its_first_rounds_it_goes_on_to_the_bit(bulk, name):
    y, said, model = CASES[name][1], bulk[name][1], build(CASES[name])
    for t in range(40):
        for _ in range(2 if t < 13 or t % 4 == 0 else 0):
            loaded = persist.unpack(persist.pack(model))
            np.testing.assert_array_equal(interactive(loaded, y[t : t + 3]), said[t : t + 3])
            model.predict()  # and while a round is open
        step(model, y[t])


def test_a_round_left_open_in_a_file_is_closed_with_the_gains_of_its_age():
    # another process has no tables yet
    model = sp.Forecaster(2, season=[12])
    y = wavy(260, (12.0,), level=9.0)
    model.track(y[:250])
    model.predict()
    file = persist.pack(model)
    gains.shared.cache_clear()
    loaded = persist.unpack(file)
    np.testing.assert_array_equal(interactive(loaded, y[250:], 2), interactive(model, y[250:], 2))


PROGRAM = """
import sys
import numpy as np
import stillpoint as sp
y, said = np.load(sys.argv[1]), []
for file in sys.argv[3:]:
    model = sp.load(file)
    said.append(model.predict())
    for value in y:
        model.update(value)
        said.append(model.predict())
np.save(sys.argv[2], said)
"""


def test_another_process_goes_on_to_the_bit_also_with_a_round_left_open(tmp_path):
    y = wavy(420, (12.0,), level=9.0)
    model = sp.Forecaster(3, season=[12], pool="middle")
    model.track(y[:400])
    sp.save(model, tmp_path / "closed")
    said = [model.predict()]
    sp.save(model, tmp_path / "open")
    np.save(tmp_path / "y.npy", y[400:])
    files = [str(tmp_path / name) for name in ("y.npy", "out.npy", "open", "closed")]
    subprocess.run([sys.executable, "-c", PROGRAM, *files], check=True)
    for value in y[400:]:
        model.update(value)
        said.append(model.predict())
    np.testing.assert_array_equal(np.load(files[1]), said + said)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("opened", [False, True])
def test_copies_go_on_alike_and_by_themselves(copied, opened):
    case = CASES["told"]
    y, model = case[1], build(case)
    model.track(y[:150])
    if opened:
        model.predict()
    before, other = model.arrays(), copied(model)
    what_if = interactive(other, y[150:220] + 5.0)
    for name, value in model.arrays().items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)
    third = copied(model)
    truth = interactive(model, y[150:220])
    np.testing.assert_array_equal(interactive(third, y[150:220]), truth)
    assert not np.array_equal(what_if[1:], truth[1:])


def test_the_path_begins_with_the_forecast_and_longer_paths_begin_with_shorter_ones():
    model = build(CASES["found"])
    for value in CASES["found"][1][:200]:
        one, path = model.predict(), model.predict(horizon=H)
        assert isinstance(one, float)
        assert path.shape == (H,)
        assert path[0] == one == model.predict(horizon=1)[0] == model.predict()
        np.testing.assert_array_equal(model.predict(horizon=2), path[:2])
        if math.isnan(value):
            model.skip()
        else:
            model.update(value)


def test_asking_for_paths_changes_nothing():
    y = CASES["told"][1]
    asked, not_asked = build(CASES["told"]), build(CASES["told"])
    for value in y:
        asked.predict(horizon=H)
        step(asked, value, 2)
        if math.isnan(value):
            not_asked.skip()
        else:
            not_asked.update(value)
    # places among the lags that lie ahead hold what was asked for last
    assert_same_state(asked, not_asked, but=("history", "lags"))
    np.testing.assert_array_equal(asked.predict(horizon=H), not_asked.predict(horizon=H))


def test_before_there_is_anything_to_learn_it_says_the_last_value():
    model = sp.Forecaster(3)
    np.testing.assert_array_equal(model.predict(horizon=3), [0.0, 0.0, 0.0])
    model.skip()
    assert model.predict() == 0.0
    model.update(7.5)
    np.testing.assert_array_equal(model.predict(horizon=3), [7.5, 7.5, 7.5])
    said = sp.Forecaster(2).track(np.full(500, 4.0), horizon=2)
    np.testing.assert_array_equal(said[1:], np.full((499, 2), 4.0))
    assert sp.Forecaster(1).track([]).shape == (0,)

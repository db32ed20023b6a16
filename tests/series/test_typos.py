"""A gross error among the first values does not tell units, range and weights."""

import numpy as np
import pytest
from series_twins import noise, wavy

import stillpoint as sp
from stillpoint.core import persist
from stillpoint.series._typos import believable, believed, upset
from thorough import some

T, NONE = 150, (-np.inf, np.inf)
TYPOS = {"too large": 1e6, "too large and negative": -1e6, "0": 0.0, "a point missed": 100.0}


def steady(T):
    """Near 10,000, with a week."""
    return 1e4 + 200.0 * wavy(T, (7.0,))


@pytest.mark.parametrize("at", some([0, 2, 5, 9], every=2))
@pytest.mark.parametrize("typo", TYPOS)
@pytest.mark.parametrize(("pool", "season"), [("small", [7]), ("small", "auto"), ("full", None)])
def test_forecasts_after_a_typo_are_those_without_it(pool, season, typo, at):
    y = steady(T)
    wrong = y.copy()
    wrong[at] *= TYPOS[typo]
    said, right = (sp.Forecaster(1, season=season, pool=pool).track(v) for v in (wrong, y))
    error, usual = (np.sqrt(np.mean((f - y)[14:] ** 2)) for f in (said, right))
    assert error < 1.2 * usual


@pytest.mark.parametrize("at", [15, 20, 45])
@pytest.mark.parametrize("size", [1e6, -1e6])
@pytest.mark.parametrize("season", [None, [7]])
def test_so_are_those_after_a_later_typo(season, size, at):
    y = steady(T)
    wrong = y.copy()
    wrong[at] *= size
    said, right = (sp.Forecaster(1, season=season, pool="small").track(v) for v in (wrong, y))
    error, usual = (np.sqrt(np.mean((f - y)[at + 5 :] ** 2)) for f in (said, right))
    assert error < 2.0 * usual


@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
def test_so_are_those_of_fleets(dtype):
    y = steady(T)
    wrong = np.tile(y, (6, 1))
    wrong[np.arange(6), [0, 1, 2, 4, 7, 9]] *= [1e6, -1e6, 0.0, 1e6, -1e6, 0.0]
    fleet = sp.Fleet(sp.Forecaster, pool="small", season=[7], horizon=7, dtype=dtype)
    said = np.empty_like(wrong)
    for t in range(T):
        said[:, t] = np.ravel(fleet.predict(list(range(6))))
        fleet.update(list(range(6)), wrong[:, t])
    usual = np.sqrt(np.mean((sp.Forecaster(7, season=[7], pool="small").track(y) - y)[14:] ** 2))
    assert np.sqrt(np.mean((said - y)[:, 14:] ** 2, axis=1)).max() < 1.2 * usual


@pytest.mark.parametrize("at", [1, 2, 5])
@pytest.mark.parametrize("pool", ["small", "full"])
def test_intervals_are_narrow_again_soon(pool, at):
    y = steady(T)
    wrong = y.copy()
    wrong[at] *= 1e6
    widths = []
    for values in (wrong, y):
        model = sp.Forecaster(3, season=None, pool=pool)
        _, low, high = model.track(values, horizon=3, intervals=True)
        widths.append((high - low)[at + 25 :].mean(axis=0))
    assert (widths[0] < 1.5 * widths[1]).all()


@pytest.mark.parametrize("pool", ["small", "full"])
def test_rounds_in_bulk_one_by_one_and_from_files_are_the_same(pool):
    y = steady(60)
    y[[3, 20]] *= [1e6, -1e6]
    bulk, single = (sp.Forecaster(2, season="auto", pool=pool) for _ in range(2))
    said = bulk.track(y)
    for t, value in enumerate(y):
        assert single.predict() == said[t]
        single.update(value)
        if t == 22:
            single = persist.unpack(persist.pack(single))
    np.testing.assert_array_equal(single.predict(horizon=2), bulk.predict(horizon=2))


@pytest.mark.parametrize("pool", ["small", "full"])
def test_a_jump_among_the_first_values_is_believed_when_it_stays(pool):
    y = 10.0 + noise(60)
    y[12:] += 1e7
    said = sp.Forecaster(1, season=None, pool=pool).track(y)
    assert np.abs(said[13] - y[13]) > 1e6  # one value is a typo,
    assert np.abs(said - y)[14] < 1e6  # two are a jump


@pytest.mark.parametrize(
    "values",
    [
        [1.0, 2.0, 1e9],  # too few
        [3.0, 3.0, 3.0, 3.0, 1e9],  # the others do not vary
        [5.0, 7.0, 6.0, 0.0, 8.0, 0.0],  # two of them
        [1.0, 9.0, 5.0, 0.0, 3.0],  # others are as far apart
        [1.0, 2.0, 1e9, 1.5, 2e9],
        np.exp(np.arange(20.0)),
    ],
)
def test_what_may_be_the_series_is_believed(values):
    assert believable(np.array(values)) == NONE


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_single_values_far_from_all_others_are_not_believed(sign):
    y = sign * np.array([101.0, np.nan, 98.0, 1e6, 100.0, 103.0, 0.0, 99.0])
    kept = sign * believed(y)
    np.testing.assert_array_equal(kept, [101, np.nan, 98, np.nan, 100, 103, np.nan, 99])
    assert upset(y, 3) == 5  # the fourth value tells
    assert upset(y, 6) == 7


def test_a_second_zero_is_believed_with_the_first():
    y = np.array([101.0, 98.0, 0.0, 100.0, 103.0, 99.0, 0.0])
    assert believable(y[:6]) == (98.0, np.inf)
    assert upset(y, 6) == 7
    assert believed(y).min() == 0.0

"""Intervals, features and times: in bulk, one by one, split, and from files."""

import math

import numpy as np
import pytest
from rounds_cases import H
from series_twins import noise, wavy

import stillpoint as sp
from stillpoint.core import persist

T = 260
X = noise(2 * T, 40).reshape(T, 2)
X[40:45, 1] = np.nan
Y = wavy(T, (6.0,), level=10.0) + np.nan_to_num(X[:, 0])
Y[100:103] = np.nan
# rows that are late or missing, two in a slot, a break
GAPS = np.array([1.0, 1.02, 0.98, 2.0, 1.0, 0.3, 1.0, 3.0, 1.0, 1.0])
TIMES = 3600.0 * np.cumsum(np.append(np.tile(GAPS, T // 10)[:-1], 50.0))
GIVEN = {
    "plain": ({}, {}),
    "several coverages": ({"coverage": [0.5, 0.9]}, {}),
    "features": ({"features": 2}, {"X": X}),
    "times": ({}, {"times": TIMES}),
    "times and features": ({"features": ["a", "b"]}, {"X": X, "times": TIMES}),
}


def build(name):
    return sp.Forecaster(H, season=[6], pool="middle", **GIVEN[name][0])


def track(model, name, start, end):
    """Rounds in bulk: forecasts, and both ends of their intervals."""
    given = GIVEN[name][1]
    more = {"X": X[start:]} if "X" in given else {}
    more |= {"times": TIMES[start:end]} if "times" in given else {}
    return model.track(Y[start:end], horizon=H, intervals=True, **more)


def one_by_one(model, name, start, end):
    given, rows = GIVEN[name][1], []
    for t in range(start, end):
        x = X[t : t + H] if "X" in given else None
        time = TIMES[t] if "times" in given else None
        said = model.predict(x, horizon=H, time=time)
        rows.append((said, *model.interval(x, horizon=H, time=time)))
        if math.isnan(Y[t]):
            model.skip()
        else:
            model.update(Y[t])
    return [np.array(part) for part in zip(*rows, strict=True)]


def assert_alike(one, two):
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module")
def bulk():
    return {name: track(build(name), name, 0, T) for name in GIVEN}


@pytest.mark.parametrize("name", ["plain", "several coverages", "features", "times"])
def test_what_is_given_in_bulk_may_be_given_one_by_one(bulk, name):
    assert_alike(one_by_one(build(name), name, 0, T), bulk[name])


# of slots between rows of different calls no features are known ahead
@pytest.mark.parametrize("name", ["plain", "several coverages", "features", "times"])
def test_any_split_gives_the_same_forecasts_and_intervals(bulk, name):
    model, parts, at, rng = build(name), [], 0, np.random.default_rng(5)
    while at < T:
        end = min(T, at + int(rng.integers(1, 60)))
        parts.append(track(model, name, at, end))
        at = end
    assert_alike([np.concatenate(part) for part in zip(*parts, strict=True)], bulk[name])


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("stop", [15, 16, 17, 60, 101, 200])
def test_files_hold_all_that_was_given(bulk, name, stop):
    model = build(name)
    track(model, name, 0, stop)
    loaded = persist.unpack(persist.pack(model))
    assert_alike(track(loaded, name, stop, T), track(model, name, stop, T))


def test_features_are_worth_something():
    plain = sp.Forecaster(1, season=[6]).track(Y)
    told = sp.Forecaster(1, season=[6], features=2).track(Y, X)
    late = slice(130, None)
    errors = [np.nanmean((said[late] - Y[late]) ** 2) for said in (told, plain)]
    assert errors[0] < 0.5 * errors[1]


def test_regular_times_are_no_times():
    plain = sp.Forecaster(H, season=[6])
    timed = sp.Forecaster(H, season=[6])
    said = plain.track(Y, horizon=H)
    at = 1e9 + 300.0 * np.arange(T)
    np.testing.assert_array_equal(timed.track(Y, times=at, horizon=H), said)


def test_after_a_long_break_the_season_is_where_it_was_in_bulk_too():
    y = wavy(T, (6.0,), level=10.0)
    times = np.arange(float(T))
    times[200:] += 1000.0  # not a multiple of the season
    one, two = sp.Forecaster(1, season=[6]), sp.Forecaster(1, season=[6])
    said = []
    for t, value in zip(times, y, strict=True):
        said.append(two.predict(time=t))
        two.update(value)
    np.testing.assert_array_equal(one.track(y, times=times), said)


@pytest.mark.parametrize("saved", [False, True])
def test_a_time_that_was_left_out_may_still_be_given(saved):
    months = np.arange("2000-01", "2004-01", dtype="datetime64[M]").astype("datetime64[D]")
    y = wavy(months.size, (12.0,), level=10.0)
    asked, plain = (sp.Forecaster(3, pool="small") for _ in range(2))
    for t, (month, value) in enumerate(zip(months, y, strict=True)):
        if t not in (0, 7, 15):  # before the first there is no gap, and the 16th settles it
            asked.predict(horizon=3)  # a month later, or 31 days
            if saved:
                asked = persist.unpack(persist.pack(asked))
        np.testing.assert_array_equal(asked.predict(time=month), plain.predict(time=month))
        asked.update(value)
        plain.update(value)
    np.testing.assert_array_equal(asked.predict(horizon=3), plain.predict(horizon=3))
    with pytest.raises(ValueError, match="time must increase"):
        asked.predict(time=months[-1])
    later = np.datetime64("2004-03-01")  # the slot that was asked about stays empty
    np.testing.assert_array_equal(asked.predict(time=later), plain.predict(time=later))

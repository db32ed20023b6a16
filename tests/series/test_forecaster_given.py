"""Intervals, features and times: in bulk, one by one, split, and from files."""

import math

import numpy as np
import pytest
from rounds_cases import H
from series_twins import noise, wavy

import stillpoint as sp
from stillpoint.core import persist
from thorough import some_of

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


@pytest.mark.parametrize(("name", "stop"), some_of(GIVEN, [15, 16, 17, 60, 101, 200], every=2))
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


def places():
    """Slots of the times, from their definition."""
    gap, anchor, place = np.median(np.diff(TIMES[:16])), TIMES[0], [0]
    for time in TIMES[1:]:
        step = max(np.floor((time - anchor) / gap + 0.5), 0.0)
        anchor += step * gap
        anchor += 0.1 * (time - anchor)
        place.append(place[-1] + int(step))
    return np.array(place)


SLOTS = places()


def ahead(t, end):
    """Features of row t and of the slots after it as far as their rows are known."""
    near = [i for i in range(t + 1, end) if 0 < SLOTS[i] - SLOTS[t] < H]
    rows = np.full((min(H, SLOTS[end - 1] - SLOTS[t] + 1), 2), np.nan)
    for i in near:
        rows[SLOTS[i] - SLOTS[t]] = X[i]  # of several in a slot the last
    rows[0] = X[t]
    return rows


@pytest.mark.parametrize("horizon", [1, H])
def test_rows_of_one_slot_are_forecast_with_their_own_features_in_bulk_too(horizon):
    end = 150
    bulk, single = (sp.Forecaster(horizon, season=[6], pool="middle", features=2) for _ in "ab")
    said = bulk.track(Y[:end], X[:end], TIMES[:end], horizon, intervals=True)
    rows = []
    for t in range(end):
        x = ahead(t, end)[:horizon] if t > 14 else X[t : min(t + horizon, end)]
        forecast = single.predict(x, horizon=horizon, time=TIMES[t])
        rows.append((forecast, *single.interval(x, horizon=horizon)))
        if math.isnan(Y[t]):
            single.skip()
        else:
            single.update(Y[t])
    together = np.flatnonzero(np.diff(SLOTS[:end]) == 0)
    together = together[together > 15]
    first = said[0].reshape(end, -1)[:, 0]
    assert (first[together] != first[together + 1]).any()
    assert_alike([np.squeeze(part) for part in zip(*rows, strict=True)], said)


def test_rows_of_features_after_the_last_time_are_of_the_slots_after_it():
    times, steps = 60.0 * np.arange(T), {"horizon": H, "intervals": True}
    timed, plain = build("features"), build("features")
    assert_alike(timed.track(Y[:200], X, times[:200], **steps), plain.track(Y[:200], X, **steps))


@pytest.mark.parametrize("times", [None, TIMES])
@pytest.mark.parametrize("stop", [7, 60])
def test_features_of_an_open_round_stay_those_of_the_first_round_in_bulk(times, stop):
    part = (lambda a, b: None) if times is None else (lambda a, b: times[a:b])
    at = None if times is None else times[stop]
    models = [build("features") for _ in range(3)]
    for model in models:
        model.track(Y[:stop], X[:stop], part(0, stop))
        said = model.predict(X[stop], time=at, horizon=H)
    before = models[0].arrays()
    for wrong in (X[stop + 1 :], np.full((T, 2), np.nan)):
        with pytest.raises(ValueError, match="X must begin with the features of the open round"):
            models[0].track(Y[stop:90], wrong, part(stop, 90))
    for name, value in models[0].arrays().items():
        np.testing.assert_array_equal(value, before[name])
    one = models[0].track(Y[stop:90], X[stop:], part(stop, 90), horizon=H)
    np.testing.assert_array_equal(one[0], said)
    models[1].update(Y[stop])
    two = models[1].track(Y[stop + 1 : 90], X[stop + 1 :], part(stop + 1, 90), horizon=H)
    np.testing.assert_array_equal(one[1:], two)
    # without X only the open round has its features
    three = models[2].track(Y[stop : stop + 1], times=part(stop, stop + 1), horizon=H)
    np.testing.assert_array_equal(three[0], said)
    with pytest.raises(ValueError, match="x must"):
        models[2].predict([1.0, 2.0, 3.0])


def test_a_round_opened_without_features_takes_none_in_bulk():
    model = build("features")
    model.predict()
    with pytest.raises(ValueError, match=r"X must begin .*, open \[\]; call update or skip first"):
        model.track(Y, X)

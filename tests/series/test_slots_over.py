"""Times in a slot that is over: the row counts as the next slot, and no later row is moved."""

import numpy as np
import pytest
from rounds_cases import assert_same_state

import stillpoint as sp
from stillpoint.core import persist
from stillpoint.series.slots import Slots, shortened
from stillpoint.series.weeks import Week

T, STOP = 160, 121
Y = 10.0 * (np.arange(T) % 7) + np.random.default_rng(0).normal(0.0, 0.5, T)
X = np.random.default_rng(1).normal(size=(T, 1))
LATE = np.append(STOP + 0.4, np.arange(STOP + 2.0, T + 1.0))  # the first in a slot that is over


def build(**options):
    return sp.Forecaster(2, season=[7], pool="small", **options)


def one_by_one(model, times, first=STOP):
    said = []
    for t, time in enumerate(times, first):
        said.append(model.predict(time=time, horizon=2))
        model.update(Y[t])
    return np.array(said)


@pytest.mark.parametrize("saved", [False, True])
def test_a_time_in_the_slot_before_an_open_round_moves_no_later_row(saved):
    asked, plain = build(), build()
    for model in (asked, plain):
        model.track(Y[:STOP], times=np.arange(float(STOP)))
    asked.predict()
    asked = persist.unpack(persist.pack(asked)) if saved else asked
    for model in (asked, plain):
        model.predict(time=STOP - 0.7)
        model.update(Y[STOP - 1])
    off = [abs(one_by_one(m, np.arange(STOP, float(T)))[:, 0] - Y[STOP:]) for m in (asked, plain)]
    assert off[0].mean() < 1.2 * off[1].mean()
    assert np.nanmax(off) < 10.0


@pytest.mark.parametrize("features", [0, 1])
def test_a_first_time_soon_after_rounds_without_moves_no_later_row_in_bulk_too(features):
    bulk, single = build(features=features), build()
    rows = (X,) if features else ()
    bulk.track(Y[:STOP], *(part[:STOP] for part in rows))
    said = bulk.track(Y[STOP:], *(part[STOP:] for part in rows), times=LATE, horizon=2)
    assert abs(said[:, 0] - Y[STOP:]).mean() < 1.0
    assert bulk._timing.steps.tolist() == [1] * LATE.size
    if not features:
        single.track(Y[:STOP])
        np.testing.assert_array_equal(one_by_one(single, LATE), said)
        assert_same_state(bulk, single)


def test_a_time_left_out_is_one_slot_after_a_row_that_counts_as_the_next():
    bulk, single = build(), build()
    for model in (bulk, single):
        model.track(Y[:STOP])
        model.predict(time=LATE[0])
        model.update(Y[STOP])
    said = one_by_one(single, [None] * (T - STOP - 1), STOP + 1)
    np.testing.assert_array_equal(bulk.track(Y[STOP + 1 :], horizon=2), said)
    assert abs(said[:, 0] - Y[STOP + 1 :]).mean() < 1.0
    assert bulk.time == single.time


def test_a_day_of_business_that_is_over_counts_as_the_next():
    days = np.datetime64("2024-01-01") + np.array([7 * (t // 5) + t % 5 for t in range(T)])
    y = 10.0 * (np.arange(T) % 5) + np.random.default_rng(2).normal(0.0, 0.5, T)
    days, soon = days.astype("datetime64[s]"), np.timedelta64(1, "h")
    model = sp.Forecaster(1, pool="small")
    model.track(y[:120], times=days[:120])  # up to a Friday
    assert model._timing._grid.slots.week is not None
    model.predict()
    model.predict(time=days[119] + soon)  # counts as the Monday
    model.update(y[120])
    model.predict()
    assert model.time == (days[121] + soon).astype(float)  # a Tuesday
    said = []
    for t in range(121, T):
        said.append(model.predict(time=days[t]))
        model.update(y[t])
    assert abs(np.array(said) - y[121:]).mean() < 1.0


def test_after_a_day_of_business_that_is_over_steps_in_bulk_are_those_one_by_one():
    day = 86_400.0
    bulk, single = (Slots(day, Week(0.0, np.arange(7) < 5)) for _ in "ab")
    for slots in (bulk, single):
        slots.start(0.0)
        slots.push()
    times = np.array([0.1, 1.0, 2.0]) * day
    steps = bulk.take(times).tolist()
    assert steps == [int(single.take(times[i : i + 1])[0]) for i in range(3)] == [0, 0, 1]


@pytest.mark.parametrize(
    ("periods", "meet"), [((7,), 7), ((5, 21), 105), ((24, 168), 168), ((7, 365), 2555)]
)
def test_a_long_break_is_shortened_by_what_whole_seasons_repeat_in(periods, meet):
    steps = np.array([3, 64, 65, 200, 20_000, 10**9 + 3])
    taken = shortened(steps, tuple(float(m) for m in periods))
    assert ((steps - taken) % meet == 0).all()
    assert taken[-1] <= 64 + 4 * max(periods) + meet
    assert (taken >= np.minimum(steps, 64 - 7)).all()


def test_of_seasons_that_hardly_ever_meet_the_longest_keeps_its_phase():
    taken = shortened(np.array([10**6 + 7]), (24.0, 365.0))
    assert (10**6 + 7 - taken) % 365 == 0
    assert taken < 4 * 365


@pytest.mark.parametrize("season", [None, "auto"])
def test_of_a_break_no_more_is_played_than_seasons_that_may_come_to_be_used_ask_for(season):
    model = sp.Forecaster(1, season=season, pool="small")
    # a day and a week of milliseconds or seconds are longer than all that is kept
    unit = "ms" if season is None else "s"
    times = np.datetime64("2024-01-01", unit) + np.arange(41)
    times[40] += 3600
    model.track(np.random.default_rng(3).normal(size=40), times=times[:40])
    model.predict(time=times[40])
    assert model.rounds == 40
    assert model._engine.history.rounds < 150

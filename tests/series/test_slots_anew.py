"""Slots that the first times told wrongly, and weeks that are not full, are learnt anew."""

import math

import numpy as np
import pytest
from series_twins import noise, wavy

import stillpoint as sp
from stillpoint.core import persist
from stillpoint.series.slots import usual
from thorough import some

H = 3
MONDAY = np.datetime64("2024-01-01T09:00:00")


def hours_of_business(weeks, *, without=(), more=()):
    """Hours 9 to 16 from Monday to Friday; some days left out, some hours added."""
    days = [d for d in range(7 * weeks) if d % 7 < 5 and d not in without]
    at = sorted({24 * d + h for d in days for h in range(8)} | set(more))
    return MONDAY + np.array(at).astype("timedelta64[h]")


def series(T, period, level=20.0):
    return wavy(T, (period,), level=level)


GAPS = {
    "dense first": np.append(np.full(20, 1.0), np.full(240, 3600.0)),
    "sparse first": np.append(np.full(20, 3600.0), np.full(240, 60.0)),
    "sparser later": np.append(np.full(150, 60.0), np.full(150, 3600.0)),
    "denser later": np.append(np.full(150, 3600.0), np.full(150, 60.0)),
    "twice as dense first": np.append(np.full(18, 1800.0), np.full(200, 3600.0)),
    "bursts": np.tile(np.append(np.full(70, 1.0), np.full(30, 500.0)), 5),
}
TIMES = {name: np.cumsum(gaps * (1.0 + 0.02 * noise(gaps.size))) for name, gaps in GAPS.items()}
TIMES |= {
    "business hours": hours_of_business(6),
    "a holiday and overtime": hours_of_business(8, without=(15, 30), more=(24 * 19 + 20, 24 * 26)),
    "Saturdays from some week on": hours_of_business(
        12, more=[24 * (7 * w + 5) + h for w in range(6, 12) for h in range(8)]
    ),
    "trading days": MONDAY
    + np.array([7 * (t // 5) + t % 5 for t in range(150)]).astype("timedelta64[D]"),
}
CASES = {name: (times, series(times.size, 8.0)) for name, times in TIMES.items()}


def build(features=0):
    return sp.Forecaster(H, pool="small", features=features)


def steps(model, times, y, X=None):
    said = []
    for t, (time, value) in enumerate(zip(times, y, strict=True)):
        x = None if X is None else X[t]
        said.append((model.predict(x, time=time, horizon=H), *model.interval(horizon=H)))
        if math.isnan(value):
            model.skip()
        else:
            model.update(value)
    return [np.array(part) for part in zip(*said, strict=True)]


@pytest.mark.parametrize("name", some(CASES))
def test_bulk_single_rounds_and_any_cut_give_the_same_bits(name):
    times, y = CASES[name]
    y = np.where(noise(y.size, 9) > 1.6, np.nan, y)
    wanted = build().track(y, times=times, horizon=H, intervals=True)
    for one, two in zip(steps(build(), times, y), wanted, strict=True):
        np.testing.assert_array_equal(one, two)
    model, at, rng = build(), 0, np.random.default_rng(3)
    while at < y.size:
        end = min(y.size, at + int(rng.integers(1, 50)))
        parts = model.track(y[at:end], times=times[at:end], horizon=H, intervals=True)
        for one, two in zip(parts, wanted, strict=True):
            np.testing.assert_array_equal(one, two[at:end])
        at, model = end, persist.unpack(persist.pack(model))


@pytest.mark.parametrize("name", ["sparse first", "a holiday and overtime"])
def test_features_are_replayed_with_their_rows(name):
    times, y = CASES[name]
    X = noise(y.size, 70)[:, None]
    y = y + 2.0 * X[:, 0]
    one, two = (sp.Forecaster(1, pool="small", features=1) for _ in "ab")
    said = []
    for t, time in enumerate(times):
        said.append(one.predict(X[t], time=time))
        one.update(y[t])
    np.testing.assert_array_equal(two.track(y, X, times), said)
    plain = sp.Forecaster(1, pool="small").track(y, times=times)
    late = slice(-60, None)
    assert np.mean((said - y)[late] ** 2) < 0.5 * np.mean((plain - y)[late] ** 2)


@pytest.mark.parametrize("name", some(GAPS, every=2))
def test_few_slots_are_empty_and_few_rows_share_one_in_the_end(name):
    times, y = CASES[name]
    model = build()
    model.track(y, times=times)
    values = model._engine.history.values
    if name != "bursts":
        gaps = GAPS[name]
        assert model._timing._grid.slots.gap == pytest.approx(gaps[-1], rel=0.05)
        late = np.isnan(values[-40:])
        assert not late.any()
    assert model._engine.history.rounds < 64 * times.size


def test_a_dense_beginning_costs_no_accuracy_later():
    times, y = CASES["dense first"]
    plain = sp.Forecaster(1).track(y)
    said = sp.Forecaster(1).track(y, times=times)
    late = slice(120, None)
    assert np.mean((said - y)[late] ** 2) < 1.1 * np.mean((plain - y)[late] ** 2)


def test_a_sparse_beginning_loses_no_row_later():
    times, y = CASES["sparse first"]
    model = build()
    model.track(y, times=times)
    assert np.isin(y[21:-1], model._engine.history.values).all()


@pytest.mark.parametrize("row", [15, 22])
def test_a_row_that_shares_its_slot_as_slots_are_told_moves_no_later_one(row):
    # the 16th row tells the gap, and the 23rd tells it anew where the first ones misled
    y, times = 10.0 + noise(80, 4), np.arange(80.0)
    if row == 22:
        times[:10] = np.arange(10.0) / 1e3 + 9.0 - 0.01
    times[row:] -= 0.9
    model = build()
    model.track(y, times=times)
    values = model._engine.history.values
    assert values.size == (79 if row == 15 else 70) - 1  # the last slot is not over
    assert np.array_equal(values[-20:], y[-21:-1])
    assert y[row] in values
    assert y[row - 1] not in values


def test_slots_that_fit_are_left_alone():
    times = np.cumsum(1.0 + 0.05 * noise(600)) * 60.0
    times[300:] += 1e5
    model = build()
    model.track(series(600, 8.0), times=times)
    assert model._timing._grid._rest == 0


def test_the_gap_in_use_stays_unless_times_differ_clearly_from_it():
    even = np.arange(200.0)
    assert usual(even, None) == 1.0
    assert usual(1.15 * even, 1.0) == 1.0
    assert usual(1.25 * even, 1.0) == pytest.approx(1.25)
    turned = np.append(even, 200.0 + 3.0 * np.arange(70.0))
    assert usual(turned, 1.0) == 1.0
    turned = np.append(even, 200.0 + 5.0 * np.arange(70.0))
    assert usual(turned, 1.0) == 5.0


@pytest.mark.parametrize("name", ["business hours", "a holiday and overtime"])
def test_nights_and_weekends_are_no_rounds(name):
    times, y = CASES[name]
    model = sp.Forecaster(40)
    y = y + 3.0 * np.isin(np.arange(y.size) // 8 % 5, [0])
    model.track(y, times=times)
    week = model._timing._grid.slots.week
    assert week.active.sum() == 40
    assert model._engine.calendar == (8.0, 40.0)
    missing = np.isnan(model._engine.history.values).sum()
    assert missing == (0 if name == "business hours" else 16)  # two holidays of 8 hours
    ahead = model._timing.coming_times(model.time, 9)
    hours = (ahead.astype("datetime64[s]") - MONDAY) / np.timedelta64(1, "h")
    last = (times[-1] - MONDAY) / np.timedelta64(1, "h")
    assert hours[0] == last + 24 * 2 + 17  # the Friday ends at 16, the Monday begins at 9
    assert hours[8] == hours[0] + 24


def test_with_dates_business_hours_are_forecast_as_well_as_without():
    times = hours_of_business(20)
    t = np.arange(times.size)
    y = 10.0 + np.cos(2.0 * np.pi * t / 8) + 3.0 * (t // 8 % 5 == 2) + 0.3 * noise(t.size)
    plain, dated = (sp.Forecaster(8, pool="middle") for _ in "ab")
    one, two = plain.track(y, horizon=8), dated.track(y, times=times, horizon=8)
    assert dated.seasons == [8.0, 40.0]
    late = range(400, t.size - 8)
    errors = [np.mean([(said[o] - y[o : o + 8]) ** 2 for o in late]) for said in (two, one)]
    assert errors[0] < 1.05 * errors[1]


def test_a_holiday_does_not_move_the_week():
    times = hours_of_business(30, without=(72, 100, 101))
    hours = ((times - MONDAY) / np.timedelta64(1, "h")).astype(int)
    y = 10.0 + 5.0 * (hours // 24 % 7 == 1) + 0.2 * noise(hours.size)
    dated = sp.Forecaster(1, pool="small").track(y, times=times)
    plain = sp.Forecaster(1, pool="small").track(y)
    after = slice(int(np.searchsorted(hours, 24 * 102)), int(np.searchsorted(hours, 24 * 120)))
    errors = [np.mean((said - y)[after] ** 2) for said in (dated, plain)]
    assert errors[0] < 0.7 * errors[1]


@pytest.mark.parametrize("season", [[24, 168], [24]])
def test_seasons_told_in_rounds_of_the_clock_keep_nights_as_rounds(season):
    times, y = CASES["business hours"]
    model = sp.Forecaster(1, season=season, pool="small")
    model.track(y, times=times)
    assert model._timing._grid.slots.week is None
    told = sp.Forecaster(1, season=[8, 40], pool="small")
    told.track(y, times=times)
    assert told._timing._grid.slots.week is not None


def test_trading_days_without_a_season_are_rows_to_the_bit():
    times, _ = CASES["trading days"]
    y = 100.0 + np.cumsum(noise(times.size))
    plain = sp.Forecaster(2, pool="small").track(y, horizon=2)
    dated = sp.Forecaster(2, pool="small")
    np.testing.assert_array_equal(dated.track(y, times=times, horizon=2)[40:], plain[40:])
    assert dated.seasons == []


def test_rows_that_are_missing_at_random_are_no_hours_of_business():
    kept = noise(24 * 7 * 6, 3) > 0.3
    times = (MONDAY + np.arange(kept.size).astype("timedelta64[h]"))[kept]
    model = build()
    model.track(series(times.size, 24.0), times=times)
    assert model._timing._grid.slots.week is None


def test_phases_that_come_to_be_filled_become_slots():
    times, y = CASES["Saturdays from some week on"]
    model = build()
    model.track(y, times=times)
    assert model._timing._grid.slots.week.active.sum() == 48


def test_rounds_before_the_first_time_are_told_anew_with_the_others():
    y = series(200, 8.0)
    bulk, single = build(), build()
    bulk.track(y[:60])
    single.track(y[:60])
    times = 60.0 + 100.0 * np.arange(1, 141)
    said = bulk.track(y[60:], times=times, horizon=H)
    np.testing.assert_array_equal(steps(single, times, y[60:])[0], said)
    assert bulk._timing._grid.slots.gap == 100.0


def test_a_range_of_positive_values_is_not_lowered_by_what_stands_for_missing_ones():
    y = np.full(2000, np.nan)
    y[:30], y[1990:] = 10.0 - 0.3 * np.arange(30.0), 1.0 + 0.1 * np.arange(10.0)
    model = build()
    assert np.isfinite(model.track(y)).all()
    loaded = persist.unpack(persist.pack(model))
    assert loaded.predict() == model.predict()


def test_rows_of_changes_count_rounds_without_values_that_came_before_the_first_time():
    y = series(300, 8.0) + 40.0 * (np.arange(300) > 200)
    times, models = np.cumsum(np.full(240, 0.4)) + 60.0, [build(), build(), build()]
    for model, missing in zip(models, (0, 5, 5), strict=True):
        model.track(np.append(np.full(missing, np.nan), y[:60]))
        model.track(y[60:70], times=times[:10] + missing)
    models[2] = persist.unpack(persist.pack(models[2]))
    for model, missing in zip(models, (0, 5, 5), strict=True):
        model.track(y[70:], times=times[10:] + missing)
        assert model._timing._grid.slots.gap == pytest.approx(0.4)
    found = [[change.start for change in model.changes] for model in models]
    assert found[0]
    assert found[1] == found[2] == [row + 5 for row in found[0]]


def test_seasons_are_gone_with_the_experts_where_rows_in_new_slots_do_not_vary():
    model = build()
    model.track(series(200, 8.0))
    assert model.seasons == [8.0]
    engine, new = model._engine, build()._engine
    engine.begin_anew(np.full(5, 3.0), np.empty((5, 0)), np.zeros(5, dtype=np.int64), 195)
    assert model.seasons == []
    new.restore(engine.arrays())
    assert new.active == ()

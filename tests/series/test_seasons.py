"""Which seasons are found in a series, borne out by it, or refused."""

import math

import numpy as np
import pytest
from series_twins import noise, wavy

import stillpoint as sp
from stillpoint.series import seasons
from stillpoint.series.layout import standardised
from thorough import some

T = 2000


def hourly(rng, deviation=0.2):
    """A day, and a week whose weekend is lower."""
    t = np.arange(T)
    day = 3.0 * np.sin(2.0 * np.pi * t / 24.0) + np.cos(4.0 * np.pi * t / 24.0)
    weekend = (t // 24) % 7 >= 5
    y = 20.0 + day * np.where(weekend, 0.8, 1.0) - 1.5 * weekend
    return y + deviation * rng.normal(size=T)


def monthly(rng, deviation=1.0):
    t = np.arange(240)
    y = 100.0 + 0.3 * t + 9.0 * np.sin(2.0 * np.pi * t / 12.0)
    return y + deviation * rng.normal(size=240)


def business(rng):
    """Rows of five minutes, 169 of them a day, some always busier than others."""
    return np.tile(100.0 + 10.0 * noise(169), 14) + 10.0 * rng.normal(size=169 * 14)


def smooth_hours(rng):
    """The same with a day that has no edges but one."""
    phase = np.arange(169 * 14) % 169
    shape = np.exp(-phase / 60.0) * (1.0 + 0.5 * np.sin(phase / 20.0))
    return 200.0 * shape + 10.0 * rng.normal(size=phase.size)


def sales(rng):
    t = np.arange(400)
    return rng.poisson(20.0 + 25.0 * np.isin(t % 7, (5, 6))).astype(float)


def square(rng):
    return np.where(np.arange(400) % 8 < 4, 1.0, 0.0) + 0.05 * rng.normal(size=400)


def promoted(rng, effect):
    """A trading week, and days of promotions, which are known: values, promotions."""
    t, promotions = np.arange(300), (rng.random(300) < 0.1).astype(float)
    y = 100.0 + np.array([0.0, 3.0, 6.0, 4.0, -5.0])[t % 5] + effect * promotions
    return y + 2.0 * rng.normal(size=300), promotions


FOUND = {
    "day and week": (hourly, (24.0, 168.0)),
    "months": (monthly, (12.0,)),
    "business hours": (business, (169.0,)),
    "sales of a shop": (sales, (7.0,)),
    "on and off": (square, (8.0,)),
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", FOUND)
def test_a_season_is_found(name, seed):
    make, want = FOUND[name]
    found = seasons.detect(make(np.random.default_rng(seed)))
    assert found == want


@pytest.mark.parametrize(
    ("make", "want"),
    [
        (lambda rng: hourly(rng, 0.5), 24.0),
        (lambda rng: monthly(rng, 2.0), 12.0),
        (smooth_hours, 169.0),
    ],
    ids=["hours", "months", "business hours"],
)
def test_of_a_smooth_season_in_noise_the_exact_period_is_found(make, want):
    found = [seasons.detect(make(np.random.default_rng(seed)))[0] for seed in range(20)]
    assert sum(m == want for m in found) >= 19


def walk(rng):
    return np.cumsum(rng.normal(size=T))


def garch(rng):
    y, h = np.empty(T), 1.0
    for t in range(T):
        e = math.sqrt(h) * rng.normal()
        y[t], h = e, 0.02 + 0.1 * e * e + 0.88 * h
    return np.cumsum(y)


def autoregression(rng):
    y = np.zeros(T)
    for t in range(1, T):
        y[t] = 0.95 * y[t - 1] + rng.normal()
    return y


NOT_THERE = {
    "a random walk": walk,
    "prices": garch,
    "an autoregression": autoregression,
    "noise": lambda rng: rng.normal(size=T),
    "noise with outliers": lambda rng: rng.standard_t(1.5, size=T),
    "a line": lambda rng: np.arange(T) * 0.5 + rng.normal(size=T),
    "a curve": lambda rng: (np.arange(T) / T) ** 2 * 50.0 + rng.normal(size=T),
    "one step": lambda rng: np.where(np.arange(T) < T // 3, 0.0, 8.0) + rng.normal(size=T),
    "a constant": lambda rng: np.full(T, 3.0),
    "a line without noise": lambda rng: 2.0 + 0.25 * np.arange(T),
}


@pytest.mark.parametrize("name", some(NOT_THERE, every=2))
def test_a_season_that_is_not_there_is_hardly_ever_found(name):
    found = [seasons.detect(NOT_THERE[name](np.random.default_rng(seed))) for seed in range(20)]
    assert sum(map(bool, found)) <= 1


def test_short_series_have_no_season():
    y = np.tile([0.0, 1.0, 5.0, 2.0], 10)
    assert seasons.detect(y[:23]) == ()
    assert seasons.detect(y) == (4.0,)
    assert all(2.0 * m + 8.0 <= 40 for m in seasons.detect(y))


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_units_and_origin_do_not_matter(factor):
    y = hourly(np.random.default_rng(0))
    assert seasons.detect(factor * (y - 17.0)) == (24.0, 168.0)


def test_a_few_missing_values_hide_no_season():
    y, rng = hourly(np.random.default_rng(0)), np.random.default_rng(1)
    y[rng.uniform(size=T) < 0.2] = np.nan
    assert seasons.detect(seasons.filled(y)) == (24.0, 168.0)
    model = sp.Forecaster(1, pool="small")
    model.track(y)
    assert model.seasons == [24.0, 168.0]


def test_a_calendar_is_kept_where_the_series_bears_it_out():
    y = hourly(np.random.default_rng(0))
    assert seasons.confirmed((24.0, 168.0), y) == (24.0, 168.0)
    # seen once only so far
    assert seasons.confirmed((24.0, 168.0), y[:200]) == (24.0,)
    assert seasons.confirmed((24.0, 168.0), y[:47]) == ()


def test_a_calendar_seen_just_twice_counts_where_it_is_clear():
    y, t = wavy(60, (12.0,), level=9.0), np.arange(60)
    for scale in 1e-9, 1.0, 1e60:
        assert seasons.early((12.0,), scale * (y[:24] + t[:24])) == (12.0,)
    assert seasons.early((12.0,), y[:23]) == ()
    assert seasons.early((365.25 / 7.0,), wavy(105, (365.25 / 7.0,))) == (365.25 / 7.0,)
    for nothing in np.ones(60), 3.0 * t, 0.1 + 0.7 * t:
        assert seasons.early((12.0,), nothing) == ()


def test_a_week_of_trading_days_that_was_clear_early_stays():
    for seed in range(10):
        y, _ = promoted(np.random.default_rng(seed), 0.0)
        for n in 17, 24, 34, 49, 120:
            assert seasons.confirmed((5.0,), y[:n], False) == (5.0,)
    found = 0
    for seed in range(40):
        for n in 24, 34, 49, 120:
            found += seasons.confirmed((5.0,), noise(n, seed), False) != ()
    assert found <= 8


@pytest.mark.parametrize(("m", "n"), [(4, 12), (7, 16), (12, 24), (24, 48)])
def test_noise_and_walks_bear_out_no_calendar_early(m, n):
    seen = np.zeros(2)
    for seed in range(200):
        values = np.random.default_rng(seed).normal(size=n)
        for i, y in enumerate([values, values.cumsum()]):
            seen[i] += seasons.early((float(m),), y + 0.5 * np.arange(n)) != ()
    assert (seen <= (0.2 if m == 4 else 0.12) * 200).all()


@pytest.mark.parametrize(
    ("rows", "apart", "season"),
    [(16, "M8[D]", 7), (17, "M8[D]", 7), (24, "M8[M]", 12), (31, "M8[M]", 12), (48, "M8[h]", 24)],
)
def test_two_seasons_of_dates_are_enough(rows, apart, season):
    pattern = 5.0 * noise(season)
    y = 50.0 + pattern[np.arange(rows + season) % season] + 0.5 * noise(rows + season, 40)
    times = np.datetime64("2023-01-01", "D").astype(apart) + np.arange(rows)
    model, single = sp.Forecaster(season), sp.Forecaster(season)
    model.track(y[:rows], times=times)
    for value, time in zip(y[:rows], times, strict=True):
        single.predict(time=time)
        single.update(value)
    said = model.predict(horizon=season)
    assert model.seasons == [season]
    assert np.array_equal(single.predict(horizon=season), said)
    assert np.abs(said - y[rows:]).mean() < 1.0  # 4 for the mean


def test_quarters_have_a_year_as_soon_as_their_dates_are_told_apart():
    y = 50.0 + np.tile([0.0, 3.0, 1.0, 8.0], 4) + 0.3 * noise(16)
    model = sp.Forecaster(4)
    model.track(y, times=np.datetime64("2020-01", "M") + 3 * np.arange(16))
    model.predict()
    assert model.seasons == [4.0]


def test_a_trend_alone_gets_no_season_before_its_calendar_is_due():
    y = 50.0 + 0.3 * np.arange(25) + noise(25)
    model = sp.Forecaster(12)
    model.track(y[:24], times=np.datetime64("2022-01", "M") + np.arange(24))
    assert model.predict() == sp.Forecaster(12, season=None).track(y[:25])[-1]
    assert model.seasons == []


def test_business_hours_stand_for_a_calendar_of_whole_days():
    for seed in range(10):
        y = business(np.random.default_rng(seed))
        assert seasons.confirmed((288.0, 2016.0), y) == (169.0,)


def test_trading_days_have_a_week_of_five_and_a_year_of_261():
    days = np.datetime64("2024-01-01") + np.arange(100)
    model = sp.Forecaster(5, pool="small")
    model.track(noise(100)[np.is_busday(days)], times=days[np.is_busday(days)])
    assert model._engine.calendar == pytest.approx((5.0, 365.25 * 5.0 / 7.0))


def test_noise_bears_out_no_calendar():
    kept = 0
    for seed in range(20):
        y = smooth_hours(np.random.default_rng(seed))
        kept += seasons.confirmed((288.0, 2016.0), y) == (288.0,)
    assert kept <= 4


def test_a_calendar_that_nothing_contradicts_is_kept():
    # a random walk: neither is it borne out nor is anything else found
    assert seasons.confirmed((7.0,), walk(np.random.default_rng(4))) == (7.0,)


@pytest.mark.parametrize("effect", [30.0, 60.0])
def test_effects_of_features_hide_no_season(effect):
    hidden = 0
    for seed in range(5):
        y, promotions = promoted(np.random.default_rng(seed), effect)
        Z = standardised(promotions[:, None])
        assert seasons.confirmed((5.0,), y[:48], False, Z[:48]) == (5.0,)
        hidden += seasons.confirmed((5.0,), y[:48], False) != (5.0,)
    assert hidden >= 3  # where they are not known


def test_features_that_have_a_season_but_no_effect_bring_none():
    t, found = np.arange(136), 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        Z = standardised(np.sin(2.0 * np.pi * t / 24.0)[:, None] + 0.1 * rng.normal(size=(136, 3)))
        for y in rng.normal(size=136), np.cumsum(rng.normal(size=136)):
            found += seasons.confirmed((), y, False, Z) != ()
    assert found <= 1


def test_seasons_beside_known_promotions_are_found_in_trading_days():
    y, promotions = promoted(np.random.default_rng(0), 40.0)
    days = np.busday_offset("2023-01-02", np.arange(300)).astype("datetime64[s]")
    model, rest = sp.Forecaster(1, features=1, pool="small"), slice(60, None)
    forecasts = model.track(y, promotions[:, None], times=days)
    assert model.seasons == [5.0]
    assert np.abs(y - forecasts)[rest].mean() < 2.0  # 1.6 is noise; 3.5 without the week


@pytest.mark.parametrize(
    ("spacing", "want"),
    [
        (300.0, (288.0, 2016.0)),
        (3600.0, (24.0, 168.0)),
        (43_200.0, (14.0,)),
        (64_800.0, (28.0 / 3.0,)),
        (86_400.0, (7.0, 365.25)),
        (7 * 86_400.0, (365.25 / 7.0,)),
        (30.4 * 86_400.0, (12.0,)),
        (91.0 * 86_400.0, (4.0,)),
        (365.25 * 86_400.0, ()),
        (3 * 86_400.0, ()),
    ],
)
def test_spacings_suggest_seasons(spacing, want):
    assert seasons.calendar(spacing) == pytest.approx(want)


def test_told_periods_are_sorted_numbers():
    assert seasons.told([168, 24]) == (24.0, 168.0)
    assert seasons.told(np.float32(7.5)) == (7.5,)
    assert seasons.told(()) == ()


@pytest.mark.parametrize(
    "bad", ["week", b"week", [1.5], [0], [-24], [math.nan], [7, 7.0], [None], [[24]], 1j, {"m": 1}]
)
def test_told_refuses_what_is_no_period(bad):
    with pytest.raises(ValueError, match=r"^season must .*; give periods in rounds"):
        seasons.told(bad)


def test_a_told_season_is_used_at_once_others_when_they_were_seen_twice():
    assert seasons.admitted((24.0, 168.0), 55) == ()
    assert seasons.admitted((24.0, 168.0), 56) == (24.0,)
    assert seasons.admitted((24.0, 168.0), 344) == (24.0, 168.0)
    model = sp.Forecaster(1, season=[12], pool="small")
    y = wavy(40, (12.0,), level=9.0)
    model.track(y[:2])
    assert model.seasons == []
    model.update(y[2])
    assert model.seasons == [12.0]


@pytest.mark.parametrize("n", [300, 1000, 3000, 8000])
def test_of_a_sine_in_noise_the_period_is_found_and_no_multiple_of_it(n):
    wave = 3.0 * np.sin(np.arange(n) * np.pi / 12)
    found = [
        seasons.detect(wave + np.random.default_rng(seed).normal(size=n))[:1] for seed in range(20)
    ]
    assert found.count((24.0,)) >= 18


def smooth(period, times, seed, deviation):
    """A wave with two harmonics, at any phase."""
    rng = np.random.default_rng(seed)
    x = 2.0 * np.pi * (np.arange(times * period) / period + rng.random())
    wave = np.sin(x) + 0.4 * np.cos(2.0 * x) + 0.2 * np.sin(4.0 * x)
    return 50.0 + wave + deviation * rng.normal(size=x.size)


@pytest.mark.parametrize("deviation", [0.1, 0.3, 1.0])
@pytest.mark.parametrize("period", [37, 60, 96, 100, 150, 288, 365, 500])
def test_a_long_smooth_season_that_has_come_ten_times_is_found_to_the_round(period, deviation):
    """Noise moves the top of its autocorrelations by some hundredths."""
    found = [seasons.detect(smooth(period, 10, seed, deviation))[0] for seed in range(10)]
    off = sorted(abs(m - period) for m in found)
    assert off[-2:] == [0, 0] if deviation < 1.0 else off[-2] <= 1


@pytest.mark.parametrize("period", [96, 150, 288])
def test_forecasts_and_changes_of_a_long_season_that_nobody_told_are_those_told(period):
    told, untold = sp.Forecaster(period, season=period), sp.Forecaster(period)
    for model in (told, untold):
        model.track(smooth(period, 10, 3, 0.2))
    assert untold.seasons == [period]
    ahead = untold.predict(horizon=period) - told.predict(horizon=period)
    assert np.sqrt(np.mean(ahead**2)) < 0.02
    assert untold.changes == told.changes == []

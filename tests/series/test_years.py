"""Daily dates suggest a week, and a year once two have been seen."""

import numpy as np

import stillpoint as sp


def test_a_year_joins_the_week_of_daily_dates_when_it_has_been_seen_twice():
    T, rng = 760, np.random.default_rng(0)
    t = np.arange(T)
    y = 100.0 + 20.0 * np.cos(2.0 * np.pi * t / 365.25) + 8.0 * (t % 7 < 5) + rng.normal(size=T)
    days = np.datetime64("2021-01-01") + t
    model = sp.Forecaster(1, pool="small")
    model.track(y[:738], times=days[:738])
    assert model.seasons == [7.0]
    model.track(y[738:], times=days[738:])
    assert model.seasons == [7.0, 365.25]


def test_the_year_helps_where_there_is_one():
    T, rng = 1400, np.random.default_rng(1)
    t = np.arange(T)
    y = 100.0 + 20.0 * np.cos(2.0 * np.pi * t / 365.25) + 8.0 * (t % 7 < 5) + rng.normal(size=T)
    days = np.datetime64("2020-01-01") + t
    H, losses = 28, []
    for season in ("auto", [7]):
        said = sp.Forecaster(H, season=season, pool="small").track(y, times=days, horizon=H)
        ahead = y[np.arange(1000, T - H)[:, None] + np.arange(H)]
        losses.append(np.mean((said[1000 : T - H] - ahead) ** 2))
    assert losses[0] < 0.9 * losses[1]

"""Short series: what is told of seasons is used at once, and naive forecasts are the fallback."""

import numpy as np
import pytest

import stillpoint as sp


def series(kind, m, T, rng):
    """A season of any shape and size, or none."""
    t, shape = np.arange(T), np.cumsum(rng.normal(size=m))
    shape = ((shape - shape.mean()) / shape.std())[t % m]
    return {
        "strong": 100.0 + 10.0 * shape + rng.normal(size=T),
        "weak": 100.0 + shape + rng.normal(size=T),
        "trend": 100.0 + 5.0 * shape + 0.5 * t + rng.normal(size=T),
        "growth": np.exp(4.0 + 0.3 * shape + 0.05 * np.cumsum(rng.normal(size=T))),
        "noise": 100.0 + rng.normal(size=T),
    }[kind]


def errors(y, said):
    """Mean squared errors: of the next value, and of all horizons."""
    T, H = said.shape
    own = [(y[t + h] - said[t, h]) ** 2 for t in range(1, T) for h in range(min(H, T - t))]
    return float(np.mean((y[1:] - said[1:, 0]) ** 2)), float(np.mean(own))


def naive(y, m, H):
    """The last value, and that of a season ago where there is one."""
    last, season = (np.empty((y.size, H)) for _ in range(2))
    for t in range(y.size):
        last[t] = season[t] = y[max(t - 1, 0)]
        for h in range(H):
            if t and t + h >= m:
                season[t, h] = y[t + h - m]
    return last, season


@pytest.mark.parametrize("kind", ["strong", "weak", "trend", "growth", "noise"])
@pytest.mark.parametrize(("m", "T"), [(7, 12), (12, 15), (12, 24), (12, 48), (24, 36)])
def test_short_series_are_forecast_about_as_well_as_the_better_naive_forecast(kind, m, T):
    ratios = []
    for seed in range(4):
        y = series(kind, m, T, np.random.default_rng([seed, m, T]))
        H = min(m, T // 2)
        ours = errors(y, sp.Forecaster(H, season=[m]).track(y, horizon=H))
        others = np.array([errors(y, said) for said in naive(y, m, H)])
        ratios.append(np.log(np.array(ours) / others.min(axis=0)))
    assert np.exp(np.mean(ratios, axis=0)).max() < 1.5


def test_before_a_season_has_passed_its_values_are_what_is_repeated():
    rng = np.random.default_rng(0)
    y = series("strong", 12, 16, rng)
    model = sp.Forecaster(12, season=[12])
    model.track(y[:12])
    said = model.predict(horizon=12)
    assert np.corrcoef(said, y[:12])[0, 1] > 0.9


def test_units_of_a_few_values_do_not_last():
    y = 5.0 + np.random.default_rng(0).normal(size=60)
    y[:3] = 5.0 + 1e-6 * np.arange(3)
    model = sp.Forecaster(1, season=None)
    model.track(y)
    assert model._engine.state.scalars[1] > 0.1

"""Series that grow by a multiple within the horizon."""

import numpy as np
import pytest
from series_twins import noise

import stillpoint as sp
from stillpoint.series._scale import AT, Scalars, extend, limits, log_limits


@pytest.mark.parametrize("pool", ["full", "middle", "small"])
def test_growth_by_more_than_twice_within_the_horizon_is_forecast(pool):
    t = np.arange(174.0)
    y = np.exp(0.05 * t + 0.01 * noise(174))
    model = sp.Forecaster(24, pool=pool)
    model.track(y[:150])
    assert np.abs(np.log(model.predict(horizon=24) / y[150:])).max() < 0.15


def test_values_that_double_each_round_are_forecast_twelve_rounds_ahead():
    y = 2.0 ** np.arange(42.0)
    model = sp.Forecaster(12)
    model.track(y[:30])
    assert np.abs(model.predict(horizon=12) / y[30:] - 1.0).max() < 0.05


@pytest.mark.parametrize("factor", [1e3, 1e6])
def test_after_a_jump_forecasts_reach_no_further_than_the_range_of_values(factor):
    y = 10.0 + noise(300)
    y[150:] += factor
    y[100] = -factor
    said = sp.Forecaster(12, season=None).track(y, horizon=12)
    width = 2.0 * factor + 10.0
    assert np.abs(said[101:]).max() < 1.7 * width


def widened(widths, H, apart):
    s = np.zeros(len(Scalars()))
    s[AT.reach], s[AT.log_unit] = 1.0, 1.0
    for i, width in enumerate(widths):
        s[AT.low], s[AT.high] = 1.0, 1.0 + width
        for now in range(i * apart, (i + 1) * apart):
            extend(s, now, H)
    return s


@pytest.mark.parametrize(("H", "apart"), [(1, 4), (12, 4), (24, 8)])
def test_a_range_that_grows_steadily_reaches_as_far_as_it_will(H, apart):
    s = widened([1.0, 2.0, 4.0, 8.0], H, apart)
    assert s[AT.reach] == pytest.approx(2.0 ** (H / apart + 1.0))
    low, high = limits(s)
    assert high == pytest.approx(9.0 + 8.0 * s[AT.reach])
    assert low == pytest.approx(1.0 - 8.0 * s[AT.reach])
    assert log_limits(s)[1] == pytest.approx(np.log(9.0) + 1.0 + np.log(s[AT.reach]))


@pytest.mark.parametrize("widths", [[0.0, 2.0, 4.0], [1.0, 1.0, 9.0], [1.0, 1e9, 1e9], [5.0] * 4])
def test_a_range_that_jumps_or_stays_reaches_once_beyond_itself(widths):
    assert widened(widths, 24, 8)[AT.reach] == 1.0

"""Spikes go back at once, jumps stay: the series tells which of the two it has."""

import numpy as np
import pytest

import stillpoint as sp
from stillpoint.series._scale import AT


def autoregression(T, seed, phi=0.9):
    rng, y = np.random.default_rng(seed), np.zeros(T)
    for t in range(1, T):
        y[t] = phi * y[t - 1] + rng.normal()
    return 50.0 + y


def test_spikes_that_always_go_back_are_no_longer_carried_forward():
    y = autoregression(520, 1)
    spiked = y.copy()
    spiked[[150, 210, 270, 330, 390, 450]] += 40.0
    spiked[500] += 40.0
    model = sp.Forecaster(8, season=None)
    model.track(spiked[:501])
    calm = sp.Forecaster(8, season=None)
    calm.track(y[:501])
    assert model._engine.state.scalars[AT.returned] > 1.5
    # a spike of forty deviations moves the coming forecasts by a few, and not for long
    moved = np.abs(model.predict(horizon=8) - calm.predict(horizon=8))
    assert moved.max() < 8.0
    assert moved[-1] < 4.0


def test_jumps_are_followed_where_they_stay():
    y = autoregression(600, 2, phi=0.3)
    for at in (150, 250, 350, 450):
        y[at:] += 30.0
    model = sp.Forecaster(1, season=None)
    said = model.track(y)
    assert model._engine.state.scalars[AT.returned] < 1.5
    after = np.concatenate([np.arange(at + 5, at + 20) for at in (250, 350, 450)])
    assert np.sqrt(np.mean((said - y)[after] ** 2)) < 3.0


@pytest.mark.parametrize("size", [1e6, -1e6])
def test_errors_are_small_again_soon_after_a_huge_jump(size):
    y = autoregression(1000, 3, phi=0.5) - 50.0
    y[600:] += size
    said = sp.Forecaster(1, season=None).track(y)
    assert np.sqrt(np.mean((said - y)[800:900] ** 2)) < 1.5

"""Collinear features that grow without end: filters stay finite, and can be saved."""

import numpy as np
import pytest

import stillpoint as sp
from stillpoint.forecasters import TrackingForecaster, TrackingProbabilities
from thorough import some


@pytest.mark.parametrize("growth", some([1.5, 2.0, 10.0], every=2))
@pytest.mark.parametrize("labels", [False, True])
def test_collinear_features_that_grow_leave_a_state_that_can_be_loaded(labels, growth, tmp_path):
    rng = np.random.default_rng(0)
    rounds = int(np.log(1e109) / np.log(growth))  # from 1e-20 to 1e89
    size = 1e-20 * growth ** np.arange(rounds)
    X = np.column_stack([size, 2.0 * size])
    y = rng.integers(2, size=rounds) if labels else rng.normal(size=rounds)
    model = TrackingProbabilities(2) if labels else TrackingForecaster(2)
    for part in np.array_split(np.arange(rounds), 20):
        forecasts = model.track(X[part], y[part])
        assert np.isfinite(forecasts).all()
        if not labels:
            assert np.abs(forecasts).max() < 3.0 * np.abs(y).max()
        sp.save(model, tmp_path / "model")
        twin = sp.load(tmp_path / "model")
    rest = X[-1] * rng.normal(size=(50, 2))
    then = np.arange(50) % 2 if labels else rng.normal(size=50)
    np.testing.assert_array_equal(twin.track(rest, then), model.track(rest, then))


def test_a_filter_that_began_anew_learns_again():
    """Log-odds that rounding has thrown far off would take a label at a time for ever."""
    rng = np.random.default_rng(1)
    size = 1e-20 * 2.0 ** np.arange(80)
    model = TrackingProbabilities(2)
    model.track(np.column_stack([size, 2.0 * size]), rng.integers(2, size=80))
    X = size[-1] * rng.normal(size=(3000, 2))
    y = (X[:, 0] > 0.0).astype(int)
    probabilities = model.track(X, y)[2000:]
    assert -np.log(probabilities[np.arange(1000), y[2000:]]).mean() < 0.2

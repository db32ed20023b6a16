"""Series of any shape and size: forecasts stay finite, intervals hold them, files can be read."""

import numpy as np
import pytest
from series_twins import noise, wavy

import stillpoint as sp
from stillpoint.core import persist
from thorough import some

T, H = 200, 8
BASE, ROUND = wavy(T, (6.0,)), np.arange(T)
SERIES = {
    "huge": 1e74 * BASE / 6.0,
    "huge and positive": 1e74 * np.exp(BASE / 3.0) / 60.0,
    "over many magnitudes": np.exp(20.0 * BASE),
    "a level of 1e15": 1e15 + BASE,
    "changes of the last bits": 1.0 + 1e-15 * np.round(10.0 * BASE),
    "on and off": np.where(ROUND % 50 < 25, 0.0, 1.0),
    "one change": np.append(np.zeros(T - 1), 1.0),
    "in turn": ROUND % 2.0,
    "counts": np.round(3.0 * np.abs(BASE)),
    "a line": 3.0 * ROUND + 2.0,
    "growth": np.exp(ROUND / 2.0),
    "decay": np.exp(-ROUND / 2.0),
    "nothing, then something": np.append(np.zeros(150), BASE[:50]),
    "nothing at all": np.full(T, np.nan),
    "hardly anything": np.where(ROUND % 29 == 0, BASE, np.nan),
    "heavy tails": np.tan(1.5 * noise(T) / 1.74),
    "subnormal": 5e-324 * np.round(np.abs(10.0 * BASE)),
}
TINY = {"tiny": 1e-200 * BASE, "tiny and positive": 1e-200 * np.exp(BASE)}


def assert_sound(y, pool):
    """Play a series; returns the model."""
    model = sp.Forecaster(H, season=[6], pool=pool)
    said, lo, hi = model.track(y, horizon=H, intervals=True)
    assert np.isfinite(said).all()
    assert (lo <= said).all()
    assert (said <= hi).all()
    seen = y[~np.isnan(y)]
    if seen.size:  # forecasts go one range beyond what was seen, the stack three deviations more
        beyond = 100.0 if y is SERIES["growth"] else 20.0  # exp(4) is 55
        width = np.ptp(seen) + 1e-9 * np.abs(seen).max()
        assert said[1:].max() <= max(seen.max(), 0.0) + beyond * width
        assert said[1:].min() >= min(seen.min(), 0.0) - beyond * width
    return model


def assert_read(model):
    loaded = persist.unpack(persist.pack(model))
    np.testing.assert_array_equal(loaded.predict(horizon=H), model.predict(horizon=H))


@pytest.mark.parametrize("pool", ["full", "small"])
@pytest.mark.parametrize("name", some(SERIES, every=2))
def test_forecasts_are_finite_and_intervals_hold_them(name, pool):
    assert_read(assert_sound(SERIES[name], pool))


@pytest.mark.parametrize("name", TINY)
def test_tiny_values_are_forecast(name):
    assert_sound(TINY[name], "small")


@pytest.mark.parametrize("name", TINY)
def test_forecasters_of_tiny_values_can_be_read_from_files(name):
    assert_read(assert_sound(TINY[name], "small"))

"""Series of small pools, in rows: their twin is made of the parts of large pools."""

import numpy as np
import pytest
from light_twin import Twin
from series_twins import noise, wavy

import stillpoint as sp
from thorough import some_of

T = 240


def counts(T):
    """Whole numbers, many of them 0."""
    return np.maximum(np.round(wavy(T, (7.0,)) + 0.5), 0.0)


def gaps(T):
    y = wavy(T, (7.0, 30.5), level=20.0)
    y[:3], y[9:14], y[80:110] = np.nan, np.nan, np.nan
    y[np.arange(T) % 11 == 4] = np.nan
    return y


SERIES = {
    "positive": lambda T: wavy(T, (7.0, 30.5), level=20.0),
    "whole numbers with zeros": counts,
    "a zero late": lambda T: np.where(np.arange(T) == 150, -1.0, wavy(T, (7.0,), level=20.0)),
    "a zero early": lambda T: np.where(np.arange(T) == 8, -1.0, wavy(T, (7.0,), level=20.0)),
    "gaps": gaps,
    "a constant, then not": lambda T: np.where(np.arange(T) < 90, 3.0, 3.0 + noise(T)),
    "spikes and a jump": lambda T: (
        wavy(T, (7.0,), level=50.0)
        + 500.0 * (np.arange(T) % 60 == 59)
        + 40.0 * (np.arange(T) > 180)
    ),
    "a jump before missing values": lambda T: np.where(
        np.isin(np.arange(T), (151, 152, 171, 192)),
        np.nan,
        wavy(T, (7.0,), level=50.0) + 40.0 * ((np.arange(T) > 149) & (np.arange(T) != 170)),
    ),
    "far from 0": lambda T: 1e6 + wavy(T, (7.0,)),
    "a typo first": lambda T: np.where(np.arange(T) == 0, 1e7, wavy(T, (7.0,), level=20.0)),
    "two typos": lambda T: np.where(
        np.isin(np.arange(T), (4, 12)), 1e4 * (np.arange(T) - 8), wavy(T, (7.0,), level=20.0)
    ),
}
SEASONS = {"two": (7.0, 30.5), "one": (7.0,), "none": ()}


# of a constant, errors are rounding, and so is all that is made of them: the error variance grows
# from there when the series begins to vary
CONSTANT = "a constant, then not"
CASES = [(name, pool) for name in SERIES for pool in ("small", "middle") if name != CONSTANT]


@pytest.mark.parametrize(("case", "season"), some_of(CASES, SEASONS, every=3))
def test_forecasts_and_intervals_are_those_of_the_twin(case, season):
    name, pool = case
    y, periods, H = SERIES[name](T), SEASONS[season], 9
    model = sp.Forecaster(H, season=list(periods) or None, pool=pool, coverage=[0.5, 0.9])
    said, lo, hi = model.track(y, horizon=H, intervals=True)
    own, low, high = Twin(pool, periods, H, [0.5, 0.9]).track(y)
    size = 1e-9 * np.nanmax(np.abs(y))
    np.testing.assert_allclose(said, own, rtol=0, atol=size)
    for mine, theirs in ((lo, low), (hi, high)):
        np.testing.assert_array_equal(np.isfinite(mine), np.isfinite(theirs))
        good = np.isfinite(mine)
        np.testing.assert_allclose(mine[good], theirs[good], rtol=0, atol=10.0 * size)


@pytest.mark.parametrize("season", SEASONS)
def test_after_a_constant_forecasts_are_as_good_as_those_of_the_twin(season):
    y, periods = SERIES[CONSTANT](T), SEASONS[season]
    said = sp.Forecaster(9, season=list(periods) or None, pool="small").track(y, horizon=9)
    own = Twin("small", periods, 9).track(y)[0]
    np.testing.assert_allclose(said[:91], own[:91], rtol=0, atol=1e-9)
    errors = [np.mean(np.abs(each[91:, 0] - y[91:])) for each in (said, own)]
    assert errors[0] == pytest.approx(errors[1], rel=0.05)


@pytest.mark.parametrize("horizon", [1, 2, 3])
def test_so_are_those_of_short_horizons(horizon):
    y = SERIES["positive"](T)
    model = sp.Forecaster(horizon, season=[7], pool="small")
    said = model.track(y, horizon=horizon).reshape(T, -1)
    own = Twin("small", (7.0,), horizon).track(y)[0]
    np.testing.assert_allclose(said, own, rtol=0, atol=1e-8)


def test_so_are_quantiles():
    y = SERIES["positive"](T)
    model = sp.Forecaster(4, season=[7], pool="small", loss=sp.losses.Pinball(0.8))
    _, lo, hi = model.track(y, horizon=4, intervals=True)
    _, low, high = Twin("small", (7.0,), 4, 0.9, 0.8).track(y)
    good = np.isfinite(lo)
    np.testing.assert_array_equal(good, np.isfinite(low[..., 0]))
    np.testing.assert_allclose(lo[good], low[..., 0][good], rtol=0, atol=1e-7)
    np.testing.assert_allclose(hi[good], high[..., 0][good], rtol=0, atol=1e-7)


def test_totals_have_intervals_that_hold_about_their_share():
    y, H, held = wavy(3000, (7.0,), level=20.0), 7, []
    model = sp.Forecaster(H, season=[7], pool="small", coverage=0.8)
    model.track(y[:300])
    for t in range(300, 2900):
        _, lo, hi = model.total()
        held.append(lo <= y[t : t + H].sum() <= hi)
        model.update(y[t])
    assert 0.7 < np.mean(held) < 0.9


def test_a_small_pool_says_what_it_relies_on():
    y = SERIES["positive"](T)
    model = sp.Forecaster(9, season=[7], pool="small")
    model.track(y)
    assert list(model.weights) == [1, 4]
    assert sum(model.weights[1].values()) == pytest.approx(1.0)
    assert sum(model.components().values()) == pytest.approx(model.predict())


@pytest.mark.parametrize("pool", ["small", "middle"])
def test_a_season_of_no_whole_number_is_told_apart_from_memory(pool):
    t = np.arange(T + 8)
    wave = 4.0 * np.sin(2.0 * np.pi * t / 12.5)
    y, model = 50.0 + wave + 0.1 * noise(t.size), sp.Forecaster(3, season=[12.5], pool=pool)
    model.track(y[:T])
    for i in range(T, T + 8):
        assert model.components()["season 12.5"] == pytest.approx(wave[i], abs=0.3)
        model.update(y[i])

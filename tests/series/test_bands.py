"""Intervals of Forecaster: the promise holds at every tracked horizon, whatever the series."""

import numpy as np
import pytest

import stillpoint as sp

T = 1200
ROUND = np.arange(T)
RNG = np.random.default_rng(4)
SERIES = {
    "noise": RNG.normal(size=T),
    "a walk": np.cumsum(RNG.normal(size=T)),
    "wilder and wilder": RNG.normal(size=T) * np.exp(ROUND / 100.0),
    "quiet, then not": np.where(ROUND < T // 2, 1e-3, 1e3) * RNG.normal(size=T),
    "spikes": np.where(ROUND % 9 == 0, 100.0, 0.0) + 0.1 * RNG.normal(size=T),
    "with holes": np.where(ROUND % 5 == 2, np.nan, np.cos(ROUND / 4.0) + RNG.normal(size=T)),
}


def against(model, rounds):
    """A series that leaves the last horizon's interval, or the next one's, wherever it can."""
    values = []
    for t in range(rounds):
        lo, hi = model.interval(horizon=model.horizon)
        at = -1 if t % 2 else 0
        far = hi[at] + 1.0 if np.isfinite(hi[at]) else lo[at] - 1.0
        values.append(far if np.isfinite(far) and abs(far) < 1e60 else float(t % 3))
        model.update(values[-1])
    return values


def assert_kept(model):
    s = model._bands.state
    tracked = s.horizons[: s.totals].tolist()
    assert tracked[0] == 1
    if model.pool == "full":
        assert tracked[-1] == model.horizon
    for h in tracked if model.pool == "full" else [1]:
        account = model._bands.account(h)
        assert (account["missed"] <= account["most"]).all(), h
        assert (account["seen"] > 0.7 * T / (s.strides[1] if h > 1 else 1)).all()


@pytest.mark.parametrize("pool", ["full", "middle", "small"])
@pytest.mark.parametrize("name", SERIES)
def test_misses_are_bounded_at_every_promised_horizon_whatever_the_series(name, pool):
    model = sp.Forecaster(6, season=None, coverage=[0.5, 0.9], pool=pool)
    model.track(SERIES[name])
    assert_kept(model)


@pytest.mark.parametrize("pool", ["full", "small"])
def test_misses_are_bounded_on_a_series_that_knows_the_intervals(pool):
    model = sp.Forecaster(4, season=None, coverage=0.8, pool=pool)
    against(model, T)
    assert_kept(model)


@pytest.mark.parametrize("pool", ["full", "small"])
def test_the_account_is_that_of_the_intervals_as_they_were_issued(pool):
    model, y = sp.Forecaster(3, season=None, pool=pool), SERIES["noise"]
    _, lo, hi = model.track(y, horizon=3, intervals=True)
    for h in (1, 3) if pool == "full" else (1, 2):
        said = slice(1, T - h + 1)  # the first round's are issued before there is a value
        truth = y[h - 1 :][1 : T - h + 2][: T - h]
        missed = (truth < lo[said, h - 1]) | (truth > hi[said, h - 1])
        assert model._bands.account(h)["missed"][0] == missed.sum()

"""Intervals of Forecaster: the promise holds at every tracked horizon, whatever the series."""

import copy

import numpy as np
import pytest

import stillpoint as sp
from thorough import some

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
@pytest.mark.parametrize("name", some(SERIES, every=2))
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


@pytest.mark.parametrize(("pool", "loss"), [("full", None), ("small", None), ("full", "median")])
def test_steps_whose_features_are_not_known_are_covered_where_the_next_alone_are(pool, loss):
    rng = np.random.default_rng(0)
    x, hits = rng.normal(0.0, 10.0, 160), []
    y = 100.0 + x + rng.normal(0.0, 0.5, 160)
    loss = sp.losses.Absolute() if loss else None
    model = sp.Forecaster(7, season=None, features=1, pool=pool, loss=loss)
    for t in range(150):
        given = np.full((1 + 6 * (t % 2), 1), np.nan)  # rows without a number tell nothing
        given[0] = x[t]
        if t >= 60:
            lo, hi = copy.copy(model).interval(horizon=2)  # nothing is known
            hits.append((lo <= y[t : t + 2]) & (y[t : t + 2] <= hi))
            lo, hi = model.interval(given, horizon=2)
            hits[-1] = np.append(hits[-1], lo[1] <= y[t + 1] <= hi[1])
        model.predict(given)
        if t < 149:
            model.update(y[t])
    # 0.06 of the first and 0.4 of the others on a line from the first interval to the next tracked
    assert (np.mean(hits, axis=0) > 0.8).all()
    assert hi[0] - lo[0] < 4.0
    _, least, most = model.total(2)
    assert most - least > 0.9 * (hi[1] - lo[1])
    model.update(y[149])
    in_bulk = copy.copy(model).track(y[150:151], x[150:151, None], None, 7, intervals=True)
    np.testing.assert_array_equal(
        np.ravel(in_bulk[1:]), np.ravel(model.interval(x[150:151], horizon=7))
    )

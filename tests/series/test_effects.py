"""Effects of features beside a drifting level: the filters, and what they are worth."""

import numpy as np
import pytest

import stillpoint as sp
from stillpoint.series import _effects
from stillpoint.series.harmonics import harmonics
from stillpoint.series.pool import POOLS


def shop(seed, T=500, growth=0.0):
    """Sales by day of the week with promotions and prices: values, features, effects of these."""
    rng, t = np.random.default_rng(seed), np.arange(T)
    base = 100.0 + 15.0 * np.sin(2.0 * np.pi * t / 7.0) + np.cumsum(rng.normal(0.0, 0.5, T))
    promo, price = (rng.random(T) < 0.15).astype(float), 1.0 + 0.2 * rng.random(T)
    effect = 50.0 * promo - 60.0 * (price - 1.0)
    return base + effect + rng.normal(0.0, 5.0, T), np.column_stack([promo, price]), effect


@pytest.mark.parametrize("q", [0.1, 1e-3])
def test_a_filter_is_ridge_regression_in_the_space_of_its_kernel(q):
    """Against the dense posterior of k on times and features, 1 and 5 steps ahead."""
    rng, T, H = np.random.default_rng(3), 60, 5
    h = harmonics((7.0,))
    smooth, rows = h.smooth[: h.few], h.rows(T + H, 0)
    X = rng.normal(size=(T + H, 2))
    y = 3.0 + 0.5 * X[:T, 0] + np.sin(2.0 * np.pi * np.arange(T) / 7.0) + rng.normal(size=T)
    missing = np.arange(T) % 9 == 4
    B = np.array([rows[t % rows.shape[0]][: smooth.size] for t in range(T + H)])
    prior = np.concatenate([[_effects.LEVEL], _effects.SEASON * smooth, [_effects.EFFECT] * 2])
    drift = np.concatenate([[q], _effects.SLOW * smooth, [_effects.SLOW] * 2])
    P = prior.size
    e = _effects.Effects(
        np.zeros(1, dtype=np.int64), drift[None], np.zeros((1, P)), np.diag(prior)[None].copy()
    )
    z, g = np.empty(P + 3), np.empty(P + 3)
    for t in range(T):
        _effects.close_round(y[t], 0.0, not missing[t], rows[t % len(rows)], X[t], e, z, g)
    out, knots = np.empty(2), np.array([1, H])
    _effects.forecast(e.means[0], rows, X[T:], T, knots, z, out)
    Z = np.column_stack([np.ones(T + H), B, X])
    time = np.minimum.outer(np.arange(T + H), np.arange(T + H))
    K = (Z * prior) @ Z.T + (Z * drift) @ Z.T * time
    seen, ahead = np.flatnonzero(~missing), [T, T + H - 1]
    # a level ahead has drifted further, which no value before it knows of
    dense = K[np.ix_(ahead, seen)] @ np.linalg.solve(
        K[np.ix_(seen, seen)] + np.eye(seen.size), y[seen]
    )
    np.testing.assert_allclose(out, dense, rtol=1e-7)


@pytest.mark.parametrize("pool", ["full", "small"])
def test_features_are_worth_what_they_are_to_who_knows_their_effects(pool):
    H, ours, told = 7, [], []
    for seed in range(2):
        y, X, effect = shop(seed)
        f = sp.Forecaster(H, season=[7], features=2, pool=pool).track(y, X, horizon=H)
        g = sp.Forecaster(H, season=[7], pool=pool).track(y - effect, horizon=H)
        for h in (1, H):
            at = np.arange(150, y.size - h) + h - 1
            ours.append(np.mean((f[at - h + 1, h - 1] - y[at]) ** 2))
            told.append(np.mean((g[at - h + 1, h - 1] + effect[at] - y[at]) ** 2))
    assert np.mean(ours) < 1.1 * np.mean(told)


def test_without_features_there_are_no_effects():
    model = sp.Forecaster(3)
    model.track(np.random.default_rng(0).normal(size=40) + 9.0)
    assert not [name for name in model.weights[1] if "effects" in name]


def test_effects_are_among_what_a_forecast_relies_on_and_is_made_of():
    y, X, _ = shop(0, 300)
    model = sp.Forecaster(2, season=[7], features=["promo", "price"])
    model.track(y, X)
    weights = model.weights[1]
    assert sum(w for name, w in weights.items() if name.startswith("effects of features")) > 0.3
    names = [name for name in weights if name.startswith("effects of features")]
    assert len(names) == len(POOLS["full"].effects)
    model.predict([1.0, 1.1])
    with_promotion = model.components()
    assert sum(with_promotion.values()) == pytest.approx(model.predict([1.0, 1.1]))
    other = sp.Forecaster(2, season=[7], features=["promo", "price"])
    other.track(y, X)
    other.predict([0.0, 1.1])
    assert with_promotion["features"] - other.components()["features"] == pytest.approx(
        50.0, rel=0.1
    )

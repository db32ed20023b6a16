"""What Forecaster answers: coverage by horizon, totals, quantiles, components, changes."""

import copy

import numpy as np
import pytest

import stillpoint as sp
from stillpoint.core import persist

T, H, SEASON = 2500, 12, 12


def seasonal(seed=0, skewed=False):
    """A season, errors that last, and noise."""
    rng, t = np.random.default_rng(seed), np.arange(T)
    noise = rng.exponential(size=T) - 1.0 if skewed else rng.normal(size=T)
    errors = np.empty(T)
    last = 0.0
    for i in range(T):
        errors[i] = last = 0.7 * last * (not skewed) + noise[i]
    return 50.0 + 4.0 * np.sin(2.0 * np.pi * t / SEASON) + errors


@pytest.fixture(scope="module")
def played():
    """Forecasts and intervals of a series, for every horizon."""
    y, model = seasonal(), sp.Forecaster(H, season=SEASON, coverage=[0.5, 0.9], pool="middle")
    return y, model, *model.track(y, horizon=H, intervals=True)


def late(values, h, first=500):
    """Rows of horizon h whose value has come, from the first that counts."""
    return values[first : T - h + 1, h - 1]


@pytest.mark.parametrize("h", [1, 2, 5, 9, H])
def test_intervals_cover_their_share_at_every_horizon(played, h):
    y, _, _, lo, hi = played
    target = y[h - 1 :][500:]
    for j, coverage in enumerate((0.5, 0.9)):
        inside = (late(lo, h)[:, j] <= target) & (target <= late(hi, h)[:, j])
        assert abs(inside.mean() - coverage) < 0.035


def test_intervals_are_nested_and_widen_with_the_horizon(played):
    _, _, _, lo, hi = played
    assert (lo[200:, :, 1] <= lo[200:, :, 0]).all()
    assert (hi[200:, :, 0] <= hi[200:, :, 1]).all()
    width = np.median((hi - lo)[500:, :, 1], axis=0)
    # errors of AR(1) with 0.7: one step 1, far ahead 1/√(1 − 0.49)
    assert 1.2 < width[-1] / width[0] < 1.7


def test_seasonal_forecasts_are_near_the_best_that_can_be_had(played):
    y, _, forecasts, _, _ = played
    assert np.mean((late(forecasts, 1) - y[500:]) ** 2) < 1.12
    far = np.mean((late(forecasts, H) - y[H - 1 :][500:]) ** 2)
    assert far < 1.15 / (1.0 - 0.49)


def test_totals_have_intervals_of_their_own_that_cover():
    y, model = seasonal(seed=1), sp.Forecaster(H, season=SEASON, pool="small")
    model.track(y[:500])
    inside, widths, sums = [], [], []
    for t in range(500, 1500):
        total, lo, hi = model.total()
        path = model.predict(horizon=H)
        assert total == pytest.approx(path.sum(), rel=1e-12)
        inside.append(lo <= y[t : t + H].sum() <= hi)
        low, high = model.interval(horizon=H)
        widths.append(hi - lo)
        sums.append((high - low).sum())
        model.update(y[t])
    assert 0.84 < np.mean(inside) < 0.96
    # errors cancel in part: narrower than the intervals' widths together, wider than one of them
    assert sums[-1] / H < np.mean(widths) < 0.8 * np.mean(sums)


def test_a_total_of_one_value_is_that_value():
    model = sp.Forecaster(H, season=SEASON, coverage=[0.8, 0.95], pool="small")
    model.track(seasonal(seed=2)[:300])
    total, lo, hi = model.total(1)
    assert total == model.predict()
    np.testing.assert_array_equal((lo, hi), model.interval())
    assert np.shape(model.total()[1]) == (2,)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_quantile_forecasts_lie_above_their_share_of_values(level):
    y = seasonal(seed=3, skewed=True)
    loss = sp.losses.Absolute() if level == 0.5 else sp.losses.Pinball(level)
    model = sp.Forecaster(H, season=SEASON, loss=loss, pool="small")
    forecasts = model.track(y, horizon=H)
    mean = sp.Forecaster(H, season=SEASON, pool="small").track(y, horizon=H)
    for h in (1, 7, H):
        target = y[h - 1 :][500:]
        assert abs(np.mean(target <= late(forecasts, h)) - level) < 0.035
        own, other = (
            np.mean(np.maximum(level * (target - p), (level - 1.0) * (target - p)))
            for p in (late(forecasts, h), late(mean, h))
        )
        assert own < (0.995 if level == 0.5 else 0.8) * other


def test_quantiles_one_by_one_are_those_of_the_whole_series():
    y, loss = seasonal(seed=4, skewed=True)[:150], sp.losses.Pinball(0.8)
    bulk, single = (sp.Forecaster(4, season=SEASON, loss=loss, pool="small") for _ in range(2))
    forecasts, lo, hi = bulk.track(y, horizon=4, intervals=True)
    for t, value in enumerate(y):
        np.testing.assert_array_equal(single.predict(horizon=4), forecasts[t])
        np.testing.assert_array_equal(single.interval(horizon=4), (lo[t], hi[t]))
        single.update(value)


def test_other_losses_are_refused():
    with pytest.raises(ValueError, match="loss must be None, Squared, Absolute or Pinball"):
        sp.Forecaster(loss=sp.losses.Huber(1.0))


@pytest.mark.parametrize("features", [0, 2])
def test_components_sum_to_the_forecast(features):
    rng, y = np.random.default_rng(5), seasonal(seed=5)
    X = rng.normal(size=(T, features)) if features else None
    if features:
        y = y + 3.0 * X[:, 0]
    model = sp.Forecaster(4, season=SEASON, features=features, pool="middle")
    model.track(y[:600], None if X is None else X[:600])
    forecast = model.predict(None if X is None else X[600])
    parts = model.components()
    assert sum(parts.values()) == pytest.approx(forecast, rel=1e-12)
    assert abs(parts["level"] - 50.0) < 2.0
    assert abs(parts["season 12"] - 4.0 * np.sin(2.0 * np.pi * 600 / SEASON)) < 1.2
    if features:
        assert abs(parts["features"] - 3.0 * X[600, 0]) < 1.0


def test_a_change_of_level_is_found_where_it_was_beside_a_season():
    y = seasonal(seed=6)
    y[1500:] += 15.0
    model = sp.Forecaster(1, season=SEASON, pool="small")
    model.track(y)
    found = [change for change in model.changes if change.kind == "level up"]
    assert any(1498 <= change.start <= 1502 for change in found)
    change = min(found, key=lambda each: abs(each.start - 1500))
    assert 10.0 < change.after - change.before < 20.0
    assert len(model.changes) <= 3
    # the same one by one, from a copy in the middle
    again = sp.Forecaster(1, season=SEASON, pool="small")
    again.track(y[:1400])
    again = copy.copy(again)
    for value in y[1400:]:
        again.update(value)
    assert again.changes == model.changes


def test_weights_are_shares_and_regrets_name_the_same_experts():
    model = sp.Forecaster(H, season=SEASON, pool="full")
    assert model.weights == {}
    model.track(seasonal(seed=7)[:200])
    assert set(model.weights) == set(model.regrets)
    assert min(model.weights) == 1
    for knot, weights in model.weights.items():
        assert sum(weights.values()) == pytest.approx(1.0)
        assert min(weights.values()) >= 0.0
        assert weights.keys() == model.regrets[knot].keys()
        assert len(weights) == 23


def test_a_copy_forecasts_what_would_be_and_leaves_its_original_alone():
    y, model = seasonal(seed=8)[:300], sp.Forecaster(4, season=SEASON, pool="small")
    model.track(y)
    before = model.predict(horizon=4)
    other = copy.copy(model)
    other.update(y[-1] + 20.0)
    assert other.predict() > before[0] + 1.0
    np.testing.assert_array_equal(model.predict(horizon=4), before)


def test_changes_are_the_same_whether_values_came_one_by_one_or_at_once():
    y = np.where(np.arange(300) < 150, 5.0, 9.0) + np.random.default_rng(5).normal(size=300)
    models = [sp.Forecaster(season=None) for _ in range(3)]
    models[0].track(y)
    for model in models[1:]:
        for value in y:
            model.update(value)
    assert models[1]._engine.watch._detector is None  # nobody has asked: no memory for it
    models[2] = persist.unpack(persist.pack(models[2]))
    assert [model.changes for model in models] == 3 * [models[0].changes] != 3 * [[]]

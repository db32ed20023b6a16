"""FLH over VAW equals its slow twin, keeps its bound, saves and refuses."""

import numpy as np
import pytest

import naive_online as naive
import stillpoint as sp
from stillpoint.lab.baselines import FLHVAW

pytestmark = pytest.mark.slow  # compiles two learners for itself

REACH = 1.5


def stream(dim, rounds=150, seed=0):
    """Features and targets whose coefficients jump."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rounds, dim)) if dim > 1 else np.ones((rounds, 1))
    u = np.repeat(rng.uniform(-0.5, 0.5, (3, dim)), rounds // 3, axis=0)
    return X, np.clip((X * u).sum(axis=1) + 0.3 * rng.standard_normal(rounds), -REACH, REACH)


@pytest.mark.parametrize("ridge", [0.1, 5.0])
@pytest.mark.parametrize("dim", [1, 3])
def test_equals_the_slow_twin(dim, ridge):
    X, y = stream(dim)
    forecasts = FLHVAW(dim, reach=REACH, ridge=ridge).track(X, y)
    assert np.allclose(forecasts, naive.flh_vaw(X, y, REACH, ridge), rtol=1e-9, atol=1e-11)
    assert np.ptp(forecasts) > 0.1


def test_forecasts_stay_within_reach():
    X, y = np.append(np.full(100, 1e-3), 5e-3)[:, None], np.full(101, REACH)
    forecasts = FLHVAW(1, reach=REACH, ridge=1e-9).track(X, y)
    assert np.allclose(forecasts, naive.flh_vaw(X, y, REACH, 1e-9))
    assert 0.5 * REACH < forecasts[100] <= REACH
    x = X[:, 0]
    assert x[100] * (x[:100] @ y[:100]) / (x @ x) > 2 * REACH  # of the oldest, if it might


def test_bulk_gives_the_numbers_of_single_rounds_and_missing_targets_teach_nothing():
    X, y = stream(3)
    bulk, single = FLHVAW(3, reach=REACH), FLHVAW(3, reach=REACH)
    forecasts = bulk.track(X, y)
    for row, target, expected in zip(X, y, forecasts, strict=True):
        single.skip()
        single.predict(row + 1.0)
        single.skip()
        assert single.predict(row) == expected
        assert single.predict(row) == expected
        single.update(row, target)
    assert (single.observed, single.rounds) == (150, 450)
    assert np.array_equal(single.weights, bulk.weights)
    assert bulk.weights.sum() == pytest.approx(1.0)
    assert np.array_equal(bulk.track(X[:9], y[:9]), single.track(X[:9], y[:9]))


@pytest.mark.parametrize("dim", [1, 2])
def test_keeps_its_bound_on_every_interval(dim):
    rounds = 90
    X, y = stream(dim, rounds)
    turning = REACH * np.where(np.arange(rounds) // 30 % 2, 1.0, -1.0)
    for targets in (y, turning, REACH * np.sign(y)):
        model = FLHVAW(dim, reach=REACH)
        losses = 0.5 * (targets - model.track(X, targets)) ** 2
        for a in range(1, rounds + 1):
            for b in range(a, rounds + 1, 7):
                part, wanted = X[a - 1 : b], targets[a - 1 : b]
                u = np.linalg.lstsq(part, wanted, rcond=None)[0]
                regret = losses[a - 1 : b].sum() - 0.5 * ((wanted - part @ u) ** 2).sum()
                assert regret <= model.interval_bound(a, b, float(np.linalg.norm(u)))


def test_what_a_base_learner_loses_at_most_is_nearly_lost():
    # VAW alone on signs: half the logarithm would be too little
    n, ridge, rng = 4000, 1.0, np.random.default_rng(0)
    shares = []
    for _ in range(40):
        y = rng.choice([-1.0, 1.0], n)
        means = np.append(0.0, np.cumsum(y)[:-1]) / (np.arange(1, n + 1) + ridge)
        u = y.sum() / (n + ridge)
        regret = 0.5 * ((y - means) ** 2).sum() - 0.5 * ((y - u) ** 2).sum() - 0.5 * ridge * u**2
        shares.append(regret / (0.5 * np.log1p(n / ridge)))
    assert 0.8 <= np.mean(shares) <= np.max(shares) <= 1.0


@pytest.mark.parametrize("opened", [True, False])
def test_saves_and_resumes(opened, tmp_path):
    X, y = stream(3)
    model = FLHVAW(3, reach=REACH, ridge=0.3)
    model.track(X[:70], y[:70])
    if opened:
        model.predict(X[70])
    sp.save(model, tmp_path / "model")
    loaded = sp.load(tmp_path / "model")
    assert loaded.config == model.config
    assert loaded.predict(X[70]) == model.predict(X[70])
    for each in (model, loaded):
        each.update(X[70], y[70])
    assert np.array_equal(loaded.track(X[71:], y[71:]), model.track(X[71:], y[71:]))
    assert loaded.interval_bound(3, 9, 1.0) == model.interval_bound(3, 9, 1.0)


def test_refusals_are_named_and_change_nothing():
    model = FLHVAW(2, reach=1.0)
    model.update([1.0, 2.0], 0.5)
    before = model.arrays()
    for call, word in (
        (lambda: model.update([1.0, 2.0], 1.1), "y"),
        (lambda: model.update([1.0, 2.0], np.nan), "y"),
        (lambda: model.update([1.0], 0.5), "x"),
        (lambda: model.update([1e9, 0.0], 0.5), "x"),
        (lambda: model.track(np.ones((3, 1)), np.zeros(3)), "X"),
        (lambda: model.track(np.ones((3, 2)), np.full(3, 2.0)), "y"),
        (lambda: model.track(np.ones((2, 2)), np.zeros(2), times=[0.0, 1.0]), "time"),
        (lambda: model.interval_bound(2, 1, 1.0), "first"),
        (lambda: model.interval_bound(1, 2, -1.0), "norm"),
        (lambda: FLHVAW(0, reach=1.0), "dim"),
        (lambda: FLHVAW(1, reach=0.0), "reach"),
        (lambda: FLHVAW(1, reach=1e200), "reach"),
        (lambda: FLHVAW(1, reach=1.0, ridge=-1.0), "ridge"),
    ):
        with pytest.raises(ValueError, match=word):
            call()
        np.testing.assert_equal(model.arrays(), before)
    model.predict([1.0, 2.0])
    for call in (
        lambda: model.predict([2.0, 1.0]),
        lambda: model.track(np.ones((1, 2)), np.zeros(1)),
    ):
        with pytest.raises(ValueError, match="open"):
            call()


def test_it_follows_jumps_and_variation_forecaster_does_better_told_nothing():
    rng = np.random.default_rng(1)
    u = np.repeat(rng.uniform(-1, 1, 5), 600)
    y = u + 0.5 * rng.standard_normal(u.size)

    def regret(forecasts):
        return 0.5 * ((forecasts - y) ** 2 - (u - y) ** 2).sum()

    theirs = regret(FLHVAW(1, reach=float(np.abs(y).max())).track(np.ones((u.size, 1)), y))
    still = regret(np.cumsum(y) / np.arange(1, u.size + 1))
    assert regret(sp.VariationForecaster().track(y)) < theirs < still

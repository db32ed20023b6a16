"""TrackingForecaster against a slow twin; guarantees."""

import functools

import numpy as np
import pytest

from states import copy, same
from stillpoint.forecasters._linear import RATES
from stillpoint.forecasters.regression import TrackingForecaster
from stillpoint.lab.streams import stagewise
from thorough import some
from tracking_cases import CASES, LOSSES, STREAMS, drifting, slow_twin


@functools.cache
def twin(name, loss=None):
    """The slow twin of a case, which several tests look at."""
    return slow_twin(*CASES[name], loss=loss and LOSSES[loss])


@pytest.mark.parametrize("name", some(CASES, every=2))
def test_forecaster_is_its_slow_twin(name):
    X, y = CASES[name]
    expected = twin(name)
    model = TrackingForecaster(X.shape[1])
    forecasts = model.track(X, y)
    np.testing.assert_allclose(
        forecasts, expected["forecast"], rtol=1e-9, atol=1e-9 * np.abs(y).max()
    )


@pytest.mark.parametrize("name", CASES)
def test_bulk_and_single_rounds_agree_bit_for_bit(name):
    X, y = CASES[name]
    bulk, single, forecasts = TrackingForecaster(X.shape[1]), TrackingForecaster(X.shape[1]), []
    for row, target in zip(X, y, strict=True):
        forecasts.append(single.predict(row))
        single.update(row, target)
    np.testing.assert_array_equal(bulk.track(X, y), forecasts)
    assert same(bulk, single)
    assert (
        single.arrays()["covariances"] == single.arrays()["covariances"].transpose(0, 2, 1)
    ).all()


@pytest.mark.parametrize("seed", range(3))
def test_units_and_origins_do_not_matter(seed):
    X, y = drifting(4, seed=seed)
    plain = TrackingForecaster(4).track(X, y)[1:]
    rng = np.random.default_rng(seed)
    moved = X * 10.0 ** rng.uniform(-6, 6, 4)
    moved += moved.std(0) * rng.uniform(-10, 10, 4)
    np.testing.assert_allclose(
        TrackingForecaster(4).track(moved, y)[1:], plain, rtol=1e-8, atol=1e-8
    )
    for scale, shift in ((1e12, 3.0), (1e-12, 3.0), (-2.0, 100.0)):
        forecasts = TrackingForecaster(4).track(X, scale * (y + shift))[1:]
        np.testing.assert_allclose(forecasts / scale - shift, plain, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("name", "loss"), [*((name, None) for name in CASES), *(("drift 5", loss) for loss in LOSSES)]
)
def test_aggregation_guarantee(name, loss):
    """R_i ≤ √((B + V_i)·(2Σ ln(1 + V/B) + what rounds with a new record B add)), and R_i bounds the
    excess loss of ML-Poly.
    """
    X, y = CASES[name]
    own = None if loss in (None, "squared") else LOSSES[loss]
    measure = own.value if own else lambda p, target: (p - target) ** 2
    run = twin(name, loss if own else None)
    model = TrackingForecaster(X.shape[1], loss=loss and LOSSES[loss])
    model.track(X, y)
    R, V = model.arrays()["books"][:2]
    np.testing.assert_allclose(R, run["r"].sum(0), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(V, run["V"][-1], rtol=1e-6)
    r, B = run["r"], run["B"]
    began = np.argmax(B > 0)
    paid = 2 * np.log1p(V / B[began]).sum()
    for t in range(len(y)):
        # at the first such round nothing came before: (r)₊²/(B + V) ≤ 1 a filter
        if (r[t] ** 2).max() > B[t]:
            paid += (
                r[t] ** 2 / (B[t] + run["V"][t] if B[t] > 0 else B[t + 1] + run["V"][t + 1])
            ).sum()
    bound = np.sqrt((B[-1] + V) * paid)
    assert (R <= bound).all()
    excess = run["scale"][:, None] * (
        measure(run["pm"], y)[:, None] - measure(run["p"], y[:, None])
    )
    assert (excess.sum(0) <= R + 1e-6).all()
    mixture = np.random.default_rng(0).dirichlet(np.ones(15))
    extra = run["scale"] * (measure(run["pm"], y) - measure(run["p"] @ mixture, y))
    assert extra.sum() <= mixture @ (R + run["withheld"].sum(0)) + 1e-6
    assert mixture @ R <= bound.max()


@pytest.mark.parametrize("name", STREAMS)
def test_forecasts_stay_finite(name):
    X, y = STREAMS[name]
    model = TrackingForecaster(3)
    forecasts = model.track(X, y)
    assert np.isfinite(forecasts).all()
    assert all(np.isfinite(value).all() for value in model.arrays().values())
    assert model.weights.sum() == pytest.approx(1.0)
    assert (model.weights >= 0.0).all()
    assert 0.0 <= model.variance < np.inf
    if name == "constant targets":
        assert (forecasts[1:] == 4.2).all()
    if name == "constant, then not":
        assert model.noise > 0.01


def test_missing_targets():
    X, y = drifting(3)
    model, blind = TrackingForecaster(3), TrackingForecaster(3)
    for t in range(200):
        model.update(X[t], y[t])
        blind.update(X[t], y[t])
    before, variance = model.arrays()["means"].copy(), model.variance
    for t in range(200, 220):
        model.skip(X[t])
        blind.skip()
    # only their coordinates may have changed
    np.testing.assert_allclose(model.arrays()["means"], before, rtol=0.1, atol=0.5)
    assert model.rounds == blind.rounds == 220
    model.predict(X[219])
    assert model.variance > variance
    model.skip()
    assert np.isfinite(blind.predict(X[220]))
    unseen = TrackingForecaster(3)
    unseen.skip()
    unseen.skip(X[0])
    assert unseen.predict(X[1]) == 0.0
    np.testing.assert_allclose(unseen.weights, np.full(len(RATES), 1 / 15))


@pytest.mark.parametrize("opened", [False, True])
def test_forecaster_refuses_bad_input_unchanged(opened):
    X, y = drifting(2)
    model = TrackingForecaster(2)
    model.track(X[:20], y[:20])
    if opened:
        first = model.predict(X[20])
        assert model.predict(X[20]) == first
    before = copy(model)
    calls = [
        (lambda: model.update(X[20], np.nan), "y must be finite"),
        (lambda: model.update(X[20], -1e101), "y must be within"),
        (lambda: model.predict([np.nan, 1.0]), r"x must be finite: got nan at index \(0,\)"),
        (lambda: model.predict([1e101, 1.0]), "x must be within"),
        (lambda: model.predict([1.0]), r"x must have shape \(2,\)"),
        (lambda: model.skip([np.inf, 1.0]), "x must be finite"),
        (
            lambda: model.track(X[:3], [0.0, np.nan, 1.0]),
            "y must be finite|X must begin with a new round",
        ),
        (lambda: model.track(X[:3], y[:2]), "X must have shape|X must begin with a new round"),
        (
            lambda: model.track(X[:3], y[:3, None]),
            "y must be one-dim|X must begin with a new round",
        ),
    ]
    if opened:
        calls.append((lambda: model.update(X[21], 0.0), "x must be that of the open round"))
        calls.append((lambda: model.skip(X[21]), "x must be that of the open round"))
    for call, message in calls:
        with pytest.raises(ValueError, match=message):
            call()
        assert same(model, before)
    with pytest.raises(ValueError, match="dim must be"):
        TrackingForecaster(0)


def test_still_coefficients_cost_little_over_full_regression():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 3))
    y = X @ [1.0, -1.0, 0.5] + 0.1 * rng.standard_normal(3000)
    errors = TrackingForecaster(3).track(X, y) - y
    assert np.mean(errors[100:] ** 2) < 0.01 * 1.05


@pytest.mark.parametrize(("rounds", "goal"), [(1000, 10.1), (10_000, 16.8), (30_000, 22.0)])
def test_stagewise_regression(rounds, goal):
    """Regret of the loss (⟨w, x⟩ − y)²/4 against the coefficients in force, mean of six seeds that
    chose nothing.
    """
    regrets = []
    for seed in range(100, 106):
        stream = stagewise(rounds, seed)
        x, y = stream.losses.x * np.sqrt(2), stream.losses.y[:, 0] * np.sqrt(2)
        truth = (x * stream.target).sum(1)
        regrets.append(((TrackingForecaster(3).track(x, y) - y) ** 2 - (truth - y) ** 2).sum() / 4)
    assert np.mean(regrets) <= goal

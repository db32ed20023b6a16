"""TrackingForecaster with other losses, times, missing features and more of them."""

from statistics import NormalDist

import numpy as np
import pytest

from states import copy, same
from stillpoint.forecasters.regression import TrackingForecaster
from stillpoint.losses import Absolute, Hinge, Huber, Pinball
from thorough import some
from tracking_cases import CASES, LOSSES, STREAMS, drifting, slow_twin


def holes(X, seed=0, share=0.3):
    X = np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)
    X[:50, 0] = np.nan  # one that starts late
    X[60:, -1] = np.nan  # and one that ends
    return X


@pytest.mark.parametrize("loss", some(LOSSES, every=2))
def test_losses_are_their_slow_twins(loss):
    X, y = CASES["outliers"]
    forecasts = TrackingForecaster(5, loss=LOSSES[loss]).track(X, y)
    expected = slow_twin(X, y, loss=None if loss == "squared" else LOSSES[loss])["forecast"]
    np.testing.assert_allclose(forecasts, expected, rtol=1e-9, atol=1e-9 * np.abs(y).max())
    if loss == "squared":
        np.testing.assert_array_equal(forecasts, TrackingForecaster(5).track(X, y))


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_follow_the_units_of_targets(loss):
    X, y = drifting(4, seed=3)
    plain = TrackingForecaster(4, loss=LOSSES[loss]).track(X, y)[1:]
    for scale in (1e12, 1e-12, 3.0):
        kind = Huber(0.5 * scale) if loss == "huber" else LOSSES[loss]
        forecasts = TrackingForecaster(4, loss=kind).track(X, scale * y + 7.0 * scale)[1:]
        np.testing.assert_allclose(forecasts / scale - 7.0, plain, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_units_and_origins_cost_no_digits(seed):
    X, y = drifting(4, seed=seed)
    plain, size = TrackingForecaster(4).track(X, y)[1:], np.abs(y).max()
    rng = np.random.default_rng(seed)
    moved = X * 10.0 ** rng.uniform(-6, 6, 4)
    moved += moved.std(0) * rng.uniform(-10, 10, 4)
    np.testing.assert_allclose(
        TrackingForecaster(4).track(moved, y)[1:], plain, rtol=0, atol=1e-12 * size
    )
    np.testing.assert_allclose(
        TrackingForecaster(4).track(X, 1e12 * y)[1:] / 1e12,
        plain,
        rtol=0,
        atol=1e-12 * size,
    )


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("loss", ["absolute", "huber", "low"])
def test_losses_stay_finite(loss, name):
    X, y = STREAMS[name]
    model = TrackingForecaster(3, loss=LOSSES[loss])
    assert np.isfinite(model.track(X, y)).all()
    assert all(np.isfinite(value).all() for value in model.arrays().values())
    assert model.weights.sum() == pytest.approx(1.0)


def noisy(kind, seed, rounds=3000):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rounds, 3))
    signal = (np.cumsum(0.02 * rng.standard_normal((rounds, 3)), axis=0) * X).sum(1) + np.cumsum(
        0.03 * rng.standard_normal(rounds)
    )
    outliers = np.where(rng.random(rounds) < 0.03, 50.0, 1.0) * rng.standard_normal(rounds)
    noise = {
        "normal": rng.standard_normal(rounds),
        "skew": rng.exponential(size=rounds),
        "outliers": outliers,
    }
    return X, signal, signal + noise[kind]


@pytest.mark.parametrize(
    ("loss", "kind", "goal"),
    [
        (Absolute(), "skew", 0.98),
        (Absolute(), "outliers", 0.98),
        (Huber(1.0), "outliers", 0.995),
        (Pinball(0.9), "normal", 0.6),
    ],
)
def test_losses_beat_the_squared_one_at_their_own(loss, kind, goal):
    ratios = []
    for seed in range(300, 304):
        X, _, y = noisy(kind, seed)
        ours, squared = (
            TrackingForecaster(3, loss=each).track(X, y)[500:] for each in (loss, None)
        )
        ratios.append(loss.value(ours, y[500:]).mean() / loss.value(squared, y[500:]).mean())
    assert np.mean(ratios) < goal
    assert max(ratios) < 1.005


@pytest.mark.parametrize("level", [0.05, 0.5, 0.9])
def test_quantiles_are_those_of_the_noise(level):
    for seed in range(300, 303):
        X, signal, y = noisy("normal", seed)
        forecasts = TrackingForecaster(3, loss=Pinball(level)).track(X, y)
        assert abs((y <= forecasts)[500:].mean() - level) < 0.02
        truth = signal + NormalDist().inv_cdf(level)
        excess = (
            Pinball(level).value(forecasts, y)[500:].mean()
            / Pinball(level).value(truth, y)[500:].mean()
        )
        assert excess < 1.12


PEEKS = [
    *((name, None, False) for name in CASES),
    ("drift 5", "high", False),
    ("outliers", "absolute", False),
    ("late", None, True),
]


@pytest.mark.parametrize(("name", "loss", "missing"), some(PEEKS, every=2))
def test_peek_is_predict_and_changes_nothing(name, loss, missing):
    X, y = CASES[name]
    X = holes(X) if missing else X
    model = TrackingForecaster(X.shape[1], loss=loss and LOSSES[loss], missing=missing)
    for t in range(len(y)):
        before = copy(model) if t % 9 == 0 or t < 20 else None
        peeked = model.peek(X[t])
        assert before is None or same(model, before)
        assert peeked == pytest.approx(model.predict(X[t]), rel=1e-9, abs=1e-9 * np.abs(y).max())
        if t % 9 == 0:
            before = copy(model)
            # its own forecast while the round is open
            assert model.peek(X[t]) == model.predict(X[t])
            other = model.peek(X[t - 1])
            assert same(model, before)
            before.skip()
            assert other == pytest.approx(
                before.predict(X[t - 1]), rel=1e-9, abs=1e-9 * np.abs(y).max()
            )
        model.update(X[t], y[t])
    before = copy(model)
    rows = model.peek_rows(X)
    assert same(model, before)
    np.testing.assert_array_equal(rows, [model.peek(row) for row in X])
    assert model.peek_rows(X[:0]).shape == (0,)
    for value in model.arrays().values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    np.testing.assert_array_equal(model.peek_rows(X), rows)


def test_missing_features():
    X, y = CASES["drift 5"]
    np.testing.assert_array_equal(
        TrackingForecaster(5, missing=True).track(X, y),
        TrackingForecaster(5).track(X, y),
    )
    X = holes(X)
    model = TrackingForecaster(5, missing=True)
    np.testing.assert_allclose(model.track(X, y), slow_twin(X, y)["forecast"], rtol=1e-9, atol=1e-9)
    mean, squares, _, _, count = model.arrays()["features"]
    np.testing.assert_array_equal(count, (~np.isnan(X)).sum(0))
    np.testing.assert_allclose(mean, np.nanmean(X, axis=0), rtol=1e-12)
    np.testing.assert_allclose(squares / count, np.nanvar(X, axis=0), rtol=1e-12)
    never = TrackingForecaster(6, missing=True)
    without = TrackingForecaster(5, missing=True).track(X, y)
    np.testing.assert_array_equal(never.track(np.insert(X, 2, np.nan, axis=1), y), without)
    nothing = TrackingForecaster(2, missing=True).track(np.full((200, 2), np.nan), y)
    np.testing.assert_array_equal(nothing, TrackingForecaster(2).track(np.zeros((200, 2)), y))


def test_features_join():
    X, y = drifting(4, seed=7)
    X[:100, 2:] = 0.0  # constant: as if not there
    model, wide = TrackingForecaster(2), TrackingForecaster(4)
    np.testing.assert_array_equal(model.track(X[:100, :2], y[:100]), wide.track(X[:100], y[:100]))
    peeked = model.peek(X[100, :2])
    model.grow(2)
    model.grow(4)
    assert model.peek([*X[100, :2], 5.0, -1e9]) == peeked
    assert model.config["dim"] == 4
    assert model.rounds == 100
    twin = copy(model)
    forecasts = model.track(X[100:], y[100:])
    np.testing.assert_array_equal(twin.track(X[100:], y[100:]), forecasts)
    narrow = TrackingForecaster(2).track(X[:, :2], y)[100:]
    assert np.mean((forecasts - y[100:]) ** 2) < 0.7 * np.mean((narrow - y[100:]) ** 2)
    model.predict(X[0])
    before = copy(model)
    for dim, message in (
        (3, "dim must be 4 or more"),
        (0, "dim must be a positive"),
        (6, "dim must begin with a new round"),
    ):
        with pytest.raises(ValueError, match=message):
            model.grow(dim)
        assert same(model, before)


def test_times():
    X, y = drifting(3, seed=8)
    plain = TrackingForecaster(3).track(X, y)
    for times in (
        np.arange(300.0),
        5.0 + 0.25 * np.arange(300.0),
        86_400.0 * np.arange(300.0) - 1e6,
    ):
        np.testing.assert_array_equal(TrackingForecaster(3).track(X, y, times), plain)
    times = np.cumsum(np.random.default_rng(0).exponential(size=300))
    irregular = TrackingForecaster(3).track(X, y, times)
    np.testing.assert_allclose(irregular, slow_twin(X, y, times)["forecast"], rtol=1e-9, atol=1e-9)
    assert (irregular != plain).any()
    np.testing.assert_allclose(
        TrackingForecaster(3).track(X, y, 3e7 * times + 1.0),
        irregular,
        rtol=1e-7,
        atol=1e-7,
    )
    single = TrackingForecaster(3)
    for t in range(300):
        assert single.peek(X[t], times[t]) == pytest.approx(irregular[t], rel=1e-9, abs=1e-9)
        assert single.predict(X[t], time=times[t]) == irregular[t]
        single.update(X[t], y[t], *([times[t]] if t % 2 else []))
    near, far = copy(single), copy(single)
    near.predict(X[0], time=times[-1] + 1.0)
    far.predict(X[0], time=times[-1] + 1000.0)
    assert far.variance > 1.5 * near.variance
    # rounds without a time are one mean gap each, and a time after them covers them too
    mixed, regular = TrackingForecaster(3), TrackingForecaster(3)
    for t in range(300):
        mixed.skip(X[t], float(t)) if t % 5 == 0 else mixed.update(
            X[t], y[t], None if t % 3 == 0 and t > 9 else float(t)
        )
        regular.skip(X[t]) if t % 5 == 0 else regular.update(X[t], y[t])
    np.testing.assert_array_equal(mixed.arrays()["means"], regular.arrays()["means"])
    mixed.skip(time=300.0)
    mixed.skip()
    assert mixed.rounds == 302


def test_rounds_may_share_a_time():
    """A tie is a gap of 0: nothing drifts between its rounds."""
    X, y = drifting(3, seed=9)
    times = np.sort(np.random.default_rng(2).integers(0, 90, 300)).astype(float)
    forecasts = TrackingForecaster(3).track(X, y, times)
    first = int(np.argmax(times > times[0])) + 1  # until then there is no mean gap
    assert first < 10
    times[:first] = np.linspace(0.0, times[first], first, endpoint=False)
    forecasts, single = TrackingForecaster(3).track(X, y, times), TrackingForecaster(3)
    np.testing.assert_allclose(forecasts, slow_twin(X, y, times)["forecast"], rtol=1e-9, atol=1e-9)
    for t in range(300):
        assert single.predict(X[t], times[t]) == forecasts[t]
        single.update(X[t], y[t], times[t])
    same_time = TrackingForecaster(3).track(X, y, np.full(300, 5.0))
    # no gap known: rounds count
    np.testing.assert_array_equal(same_time, TrackingForecaster(3).track(X, y))


@pytest.mark.parametrize(("loss", "goal"), [(None, 10.0), (Huber(1.0), 2.0)])
def test_an_outlier_is_not_remembered(loss, goal):
    """A target 1000 sd out, then a jump of 20 sd: before regrets were limited the squared loss
    after it was 36, Huber's 2.6.
    """
    losses = []
    for seed in range(700, 706):
        rng = np.random.default_rng(seed)
        X = rng.normal(2.0, 3.0, (2000, 3))
        y = (
            X @ rng.standard_normal(3)
            + rng.standard_normal(2000)
            + 20.0 * (np.arange(2000) >= 1500)
        )
        y[1000] += 1000.0 * rng.choice([-1.0, 1.0])
        forecasts = TrackingForecaster(3, loss=loss).track(X, y)
        losses.append(np.mean((loss.value(forecasts, y) if loss else (forecasts - y) ** 2)[1010:]))
    assert np.exp(np.mean(np.log(losses))) < goal


def test_long_gaps_widen_where_they_should():
    """Coefficients that move with time, seen in bursts: knowing the times pays."""
    ratios = []
    for seed in range(400, 406):
        rng = np.random.default_rng(seed)
        gaps = np.where(np.arange(2000) % 20 == 0, 200.0, 1.0)
        w = np.cumsum(np.sqrt(1e-3 * gaps)[:, None] * rng.standard_normal((2000, 2)), axis=0)
        X = rng.standard_normal((2000, 2))
        y = (w * X).sum(1) + 0.3 * rng.standard_normal(2000)
        timed = TrackingForecaster(2).track(X, y, np.cumsum(gaps)) - y
        ratios.append(np.mean(timed**2) / np.mean((TrackingForecaster(2).track(X, y) - y) ** 2))
    assert np.mean(ratios) < 0.97


@pytest.mark.parametrize("loss", LOSSES)
def test_variants_in_bulk_saved_and_by_call_agree_bit_for_bit(loss):
    X, y = CASES["outliers"]
    X, times = holes(X), np.cumsum(np.random.default_rng(1).exponential(size=len(y)))
    bulk, single = (TrackingForecaster(5, loss=LOSSES[loss], missing=True) for _ in range(2))
    forecasts = bulk.track(X, y, times)
    for t in range(len(y)):
        assert single.predict(X[t], times[t]) == forecasts[t]
        if t % 50 == 0:
            single = copy(single)
        single.update(X[t], y[t], times[t])
    assert same(bulk, single)
    assert single.config == {"dim": 5, "loss": LOSSES[loss], "missing": True}


def test_variants_refuse_bad_input_unchanged():
    X, y = drifting(2)
    model = TrackingForecaster(2, loss=Absolute(), missing=True)
    model.track(X[:20], y[:20], np.arange(20.0))
    before = copy(model)
    calls = [
        (
            lambda: model.predict(X[20], time=18.0),
            "time must not go back: got 18.0 after 19.0; sort",
        ),
        (lambda: model.update(X[20], y[20], time=3), "time must not go back"),
        (
            lambda: model.update(X[20], "1.5", time=21.0),
            "y must be a number: got '1.5'; convert it",
        ),
        (lambda: model.update(X[20], y[20], time=np.nan), "time must be finite"),
        (lambda: model.update(X[20], np.nan, time=21.0), "y must be finite"),
        (lambda: model.update([np.inf, 0.0], y[20], time=21.0), "x must be finite"),
        (lambda: model.update([1e101, np.nan], y[20], time=21.0), "x must be within"),
        (lambda: model.skip(time=1e101), "time must be within"),
        (lambda: model.skip(X[20], time=0.0), "time must not go back"),
        (lambda: model.peek(X[20], time=0.0), "time must not go back"),
        (lambda: model.peek([0.0]), r"x must have shape \(2,\)"),
        (lambda: model.peek_rows(X[:, :1]), r"X must have shape \(T, 2\)"),
        (
            lambda: model.track(X[:3], y[:3], [18.0, 20.0, 21.0]),
            "times must not go back: got 18.0 after 19.0",
        ),
        (lambda: model.track(X[:3], y[:3], [20.0, 22.0, 21.0]), "times must not go back"),
        (
            lambda: model.track(X[:3], y[:3], [20.0, 22.0]),
            r"times must have shape \(3,\)",
        ),
    ]
    for call, message in calls:
        with pytest.raises(ValueError, match=message):
            call()
        assert same(model, before)
    model.predict(X[20], time=20.0)
    before = copy(model)
    for call in (lambda: model.update(X[20], 0.0, time=21.0), lambda: model.skip(time=19.0)):
        with pytest.raises(
            ValueError, match=r"time must be that of the open round: got .*, open at 20.0"
        ):
            call()
        assert same(model, before)
    model.update(X[20], 0.0)
    model.predict(X[21])
    with pytest.raises(
        ValueError, match=r"time must be that of the open round: got 30.0, open without a time"
    ):
        model.update(X[21], 0.0, time=30.0)
    with pytest.raises(ValueError, match=r"x must be finite: got nan .* missing=True"):
        TrackingForecaster(2).predict([np.nan, 0.0])
    for arguments, message in (
        ({"loss": Hinge()}, "loss must be None, Squared, Absolute, Huber or Pinball: got Hinge"),
        ({"loss": "absolute"}, "loss must be None, Squared"),
        ({"missing": 1}, "missing must be True or False"),
    ):
        with pytest.raises(ValueError, match=message):
            TrackingForecaster(2, **arguments)

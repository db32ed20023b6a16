"""TrackingProbabilities against a slow twin; bound, units, purity of peek,
growth, classes, saving.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import expit

from states import copy, same
from stillpoint.forecasters._logistic import RATES, mode
from stillpoint.forecasters.classification import TrackingProbabilities
from thorough import some
from tracking_cases import awkward, standardised


def mode_gap(x, f, v, y):
    return x + v * (expit(x) - y) - f


def slow_twin(X, y, times=None):
    """TrackingProbabilities line by line, for labels 0 and 1: (p (T,), read-outs (T, 20))."""
    T, d = X.shape
    grid = [(0, 0)] + [(0, q) for q in (1e-4, 1e-2, 1)]
    grid += [(q, q) for q in (1e-6, 1e-4, 1e-2)] + [(q, 100 * q) for q in (1e-6, 1e-4, 1e-2)]
    K = len(grid)
    entered, base = [[] for _ in range(d)], [None] * d
    theta, C = np.zeros((K, d + 1)), [np.diag([1.0] * d + [4.0]) for _ in range(K)]
    w = np.full(2 * K, 1 / (2 * K))
    forecasts, reads = [], []
    for t in range(T):
        z = standardised(X[t], entered, base, theta, C, 1)
        pace = (
            1.0 if times is None or t < 2 else (times[t] - times[t - 1]) / np.diff(times[:t]).mean()
        )
        C = [C[k] + pace * np.diag([grid[k][0]] * d + [grid[k][1]]) for k in range(K)]
        f, v = theta @ z, np.array([z @ C[k] @ z for k in range(K)])
        p = np.clip(
            np.concatenate([expit(f), expit(f / np.sqrt(1 + np.pi * v / 8))]), 1e-4, 1 - 1e-4
        )
        forecasts.append(w @ p)
        reads.append(p)
        w = w * np.where(y[t], p, 1 - p)
        w = (1 - 1e-3) * w / w.sum() + 1e-3 / (2 * K)
        for k in range(K):
            g = C[k] @ z
            x = brentq(
                mode_gap,
                f[k] - v[k] - 1,
                f[k] + v[k] + 1,
                args=(f[k], v[k], y[t]),
                xtol=1e-14,
                rtol=1e-14,
            )
            h = max(expit(x) * (1 - expit(x)), 1e-6)
            theta[k] = theta[k] + g * (y[t] - expit(x))
            C[k] = C[k] - np.outer(g, g) * h / (1 + h * v[k])
    return np.array(forecasts), np.array(reads)


def drifting(dim, rounds=250, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rounds, dim)) + rng.standard_normal(dim)
    w = np.cumsum(0.1 * rng.standard_normal((rounds, dim)), axis=0) + rng.standard_normal(dim)
    w[rounds // 2 :] *= -1.0
    return X, (rng.random(rounds) < expit((w * X).sum(1))).astype(int)


def several(classes, dim=3, rounds=250, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rounds, dim))
    w = rng.standard_normal((classes, dim)) + np.cumsum(
        0.05 * rng.standard_normal((rounds, classes, dim)), axis=0
    )
    return X, ((w * X[:, None]).sum(2) + rng.gumbel(size=(rounds, classes))).argmax(1)


def cases():
    yield "one feature", *drifting(1, 150)
    X, y = drifting(4, 150, seed=1)
    yield "drift", X, y
    yield "constant", np.where(np.arange(4) == 2, 7.3, X), y
    late = X.copy()
    late[:80, 1] = -0.1
    yield "late", late, y
    yield from ((name, features, y) for name, features in awkward(X))
    yield "separable", X, (X[:, 0] > 0.3).astype(int)
    yield "one label", X, np.ones(len(y), dtype=int)
    holes = np.where(np.random.default_rng(2).random(X.shape) < 0.3, np.nan, X)
    holes[:40, 0] = np.nan
    yield "missing", holes, y


CASES = {name: (X, y) for name, X, y in cases()}


@pytest.mark.parametrize("name", some(CASES, every=2))
def test_model_is_its_slow_twin(name):
    X, y = CASES[name]
    times = (
        np.cumsum(np.random.default_rng(3).exponential(size=len(y))) if name == "drift" else None
    )
    model = TrackingProbabilities(X.shape[1], missing=name == "missing")
    ours = model.track(X, y.astype(bool), times)
    expected, reads = slow_twin(X, y, times)
    np.testing.assert_allclose(ours[:, 1], expected, rtol=1e-10)
    np.testing.assert_allclose(ours.sum(1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(model.arrays()["reads"][0], reads[-1], rtol=1e-10)


@pytest.mark.parametrize("f", [-40.0, -3.0, 0.0, 2.0, 35.0, 300.0, -700.0])
@pytest.mark.parametrize("v", [0.0, 1e-9, 0.5, 30.0, 1e4, 1e9])
def test_mode_solves_its_equation(f, v):
    x = mode(f, v)
    assert x - f == pytest.approx(v * expit(-x), rel=1e-9, abs=1e-12 * (1 + abs(f)))


@pytest.mark.parametrize(("classes", "missing"), [(2, False), (2, True), (4, False), (4, True)])
def test_bulk_calls_and_restored_models_agree_bit_for_bit(classes, missing):
    X, y = several(classes)
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X) if missing else X
    times = np.cumsum(np.random.default_rng(2).exponential(size=len(y)))
    bulk, single = (
        TrackingProbabilities(3, classes=classes, missing=missing),
        TrackingProbabilities(3, classes=classes, missing=missing),
    )
    expected = bulk.track(X, y, times)
    assert expected.shape == (len(y), classes)
    for t in range(len(y)):
        np.testing.assert_array_equal(single.predict(X[t], times[t]), expected[t])
        if t % 50 == 0:
            single = copy(single)
        single.update(
            X[t],
            [y[t], int(y[t]), float(y[t]), np.uint8(y[t])][t % 4],
            *([times[t]] if t % 2 else []),
        )
    assert same(bulk, single)
    assert single.rounds == len(y)
    covariances = single.arrays()["covariances"]
    assert (covariances == covariances.transpose(0, 2, 1)).all()
    assert single.config == {"dim": 3, "classes": classes, "missing": missing}


@pytest.mark.parametrize("name", [*CASES, "four classes"])
def test_peek_is_predict_and_changes_nothing(name):
    X, y = CASES[name] if name in CASES else several(4)
    model = TrackingProbabilities(
        X.shape[1], classes=2 if name in CASES else 4, missing=name == "missing"
    )
    times = np.cumsum(np.random.default_rng(3).exponential(size=len(y)))
    for t in range(len(y)):
        before = copy(model) if t % 9 == 0 or t < 20 else None
        peeked = model.peek(X[t], times[t])
        assert before is None or same(model, before)
        np.testing.assert_allclose(peeked, model.predict(X[t], times[t]), rtol=1e-9)
        if t % 9 == 0:
            before = copy(model)
            np.testing.assert_array_equal(model.peek(X[t]), model.predict(X[t]))
            other = model.peek(X[t - 1])
            assert same(model, before)
            before.skip()
            np.testing.assert_allclose(other, before.predict(X[t - 1]), rtol=1e-9)
        model.update(X[t], y[t])
    before = copy(model)
    rows = model.peek_rows(X)
    assert same(model, before)
    np.testing.assert_array_equal(rows, [model.peek(row) for row in X])
    assert model.peek_rows(X[:0]).shape == (0, model.classes)
    for value in model.arrays().values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    np.testing.assert_array_equal(model.peek_rows(X), rows)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("classes", [2, 3])
def test_units_and_origins_do_not_matter(classes, seed):
    X, y = several(classes, 4, seed=seed)
    plain = TrackingProbabilities(4, classes=classes).track(X, y)
    rng = np.random.default_rng(seed)
    scaled = X * 10.0 ** rng.uniform(-6, 6, 4)
    np.testing.assert_allclose(
        TrackingProbabilities(4, classes=classes).track(scaled, y), plain, rtol=1e-12
    )
    moved = scaled + scaled.std(0) * rng.uniform(-10, 10, 4)
    np.testing.assert_allclose(
        TrackingProbabilities(4, classes=classes).track(moved, y), plain, rtol=1e-11
    )


@pytest.mark.parametrize("classes", [2, 4])
def test_features_join(classes):
    X, y = several(classes, 4, seed=7)
    X[:100, 2:] = 0.0  # constant: as if not there
    model, narrow = (
        TrackingProbabilities(2, classes=classes),
        TrackingProbabilities(2, classes=classes),
    )
    wide = TrackingProbabilities(4, classes=classes).track(X[:100], y[:100])
    np.testing.assert_array_equal(model.track(X[:100, :2], y[:100]), wide)
    peeked = model.peek(X[100, :2])
    model.grow(4)
    np.testing.assert_array_equal(model.peek([*X[100, :2], 5.0, -1e9]), peeked)
    twin = copy(model)
    ours = model.track(X[100:], y[100:])
    np.testing.assert_array_equal(twin.track(X[100:], y[100:]), ours)
    theirs = narrow.track(X[:, :2], y)[100:]
    assert log_loss(ours, y[100:]) < log_loss(theirs, y[100:])
    with pytest.raises(ValueError, match="dim must be 4 or more"):
        model.grow(3)


def log_loss(probabilities, y):
    return -np.log(probabilities[np.arange(len(y)), y]).sum()


def test_third_class_finds_two_sets_that_are_mirror_images():
    X, y = several(3, seed=5)
    first = y[:100] % 2
    model = TrackingProbabilities(3)
    two = model.track(X[:100], first)[-1]
    peeked = model.peek(X[100])
    model.add_class()
    assert model.classes == model.config["classes"] == 3
    three, sets = model.peek(X[100]), np.append(peeked, 0.5)
    odds = sets / (1 - sets)
    np.testing.assert_allclose(three, 0.5 * (sets / sets.sum() + odds / odds.sum()), rtol=1e-12)
    assert two.shape == (2,)
    # what a set of its own for class 0 would have come to
    own = TrackingProbabilities(3)
    own.track(X[:100], 1 - first)
    np.testing.assert_allclose(
        model.arrays()["means"][:10], own.arrays()["means"], rtol=1e-12, atol=1e-13
    )
    np.testing.assert_allclose(model.arrays()["weights"][0], own.arrays()["weights"][0], rtol=1e-11)
    twin = copy(model)
    ours = model.track(X[100:], y[100:])
    np.testing.assert_array_equal(twin.track(X[100:], y[100:]), ours)
    assert log_loss(ours[50:], y[150:]) / 100 < np.log(3)
    model.add_class()
    assert model.weights.shape == (4, 20)
    np.testing.assert_allclose(model.weights.sum(1), 1.0)
    np.testing.assert_array_equal(model.arrays()["scalars"], [250, 250, 150, 0])
    model.update(X[0], 3)
    model.predict(X[0])
    with pytest.raises(ValueError, match="must begin with a new round"):
        model.add_class()


def test_sets_of_several_classes_are_binary_models():
    X, y = several(3)
    model = TrackingProbabilities(3, classes=3)
    sets = np.column_stack([TrackingProbabilities(3).track(X, y == c)[:, 1] for c in range(3)])
    rules = np.stack([sets / sets.sum(1, keepdims=True), sets / (1 - sets)])
    rules[1] /= rules[1].sum(1, keepdims=True)
    w, expected = np.full(2, 0.5), []
    for t in range(len(y)):
        expected.append(w @ rules[:, t])
        w = w * rules[:, t, y[t]]
        w = (1 - 1e-3) * w / w.sum() + 1e-3 / 2
    np.testing.assert_allclose(model.track(X, y), expected, rtol=1e-12)
    binary = -np.log(np.where(np.arange(3) == y[:, None], sets, 1 - sets))
    assert (-np.log(rules[0, np.arange(250), y]) <= binary.sum(1)).all()


ADVERSARIES = {
    "random": lambda p, rng: rng.integers(2),
    "opposite": lambda p, rng: int(p < 0.5),
    "same": lambda p, rng: int(p >= 0.5),
    "ones": lambda p, rng: 1,
    "runs": lambda p, rng: int(rng.random() < 0.95) if p > 0.5 else int(rng.random() < 0.05),
}


@given(
    seed=st.integers(0, 2**32 - 1),
    rounds=st.integers(1, 150),
    dim=st.integers(1, 3),
    adversary=st.sampled_from(sorted(ADVERSARIES)),
    exponent=st.integers(-90, 90),
    flip=st.integers(1, 150),
)
def test_log_loss_stays_under_its_bound(seed, rounds, dim, adversary, exponent, flip):
    rng = np.random.default_rng(seed)
    model, own, each = TrackingProbabilities(dim), 0.0, []
    for t in range(rounds):
        x = 10.0**exponent * rng.standard_cauchy(dim)
        p = model.predict(x)
        y = ADVERSARIES[adversary](p[1], rng) ^ (t >= flip)
        reads = model.arrays()["reads"][0]
        own -= np.log(p[y])
        each.append(-np.log(reads if y else 1 - reads))
        model.update(x, y)
        assert own - np.sum(each, axis=0).min() <= model.bound() + 1e-9
    assert 0.0 < p.min()
    assert p.max() < 1.0
    each = np.array(each)
    cut = rng.integers(0, rounds + 1)
    if 0 < cut < rounds:
        best = each[:cut].sum(0).min() + each[cut:].sum(0).min()
        assert own - best <= model.bound(switches=1) + 1e-9
    assert model.bound() <= np.log(20) + 1e-3 * rounds + 1e-9


def test_bound_of_several_classes():
    X, y = several(4)
    model = TrackingProbabilities(3, classes=4)
    ours = log_loss(model.track(X, y), y)
    best = 0.0
    for c in range(4):
        _, reads = slow_twin(X, y == c)
        best += -np.log(np.where((y == c)[:, None], reads, 1 - reads)).sum(0).min()
    assert ours - best <= model.bound()
    assert model.bound() == pytest.approx(
        4 * np.log(20) + np.log(2) - 249 * (4 * np.log1p(-0.95e-3) + np.log1p(-0.5e-3))
    )


STREAMS = {
    "zeros": np.zeros((300, 3)),
    "collinear": np.repeat(drifting(1, 300)[0], 3, axis=1),
    "cauchy": np.random.default_rng(0).standard_cauchy((300, 3)) ** 3,
    "rounding noise": np.sin(np.pi * np.arange(900).reshape(300, 3)) * [1, 0, 1],
    "huge": 1e99 * np.tanh(drifting(3, 300)[0]),
    "denormal": 1e-310 * drifting(3, 300)[0],
    "squares underflow": 1e-160 * drifting(3, 300)[0],
    "from noise to huge": np.where(np.arange(300)[:, None] < 50, 1e-15, 1e15) * drifting(3, 300)[0],
}


@pytest.mark.parametrize("labels", ["drift", "one", "separable", "opposite", "classes"])
@pytest.mark.parametrize("name", STREAMS)
def test_probabilities_stay_inside(name, labels):
    X = STREAMS[name]
    y = {
        "drift": drifting(3, 300)[1],
        "one": np.zeros(300, int),
        "separable": (X[:, 0] > 0).astype(int),
    }.get(labels)
    model = TrackingProbabilities(3, classes=5 if labels == "classes" else 2)
    if labels == "classes":
        y = np.repeat([0, 3, 3, 1, 4], 60)
    if labels == "opposite":
        p = []
        for x in X:
            p.append(model.predict(x))
            model.update(x, bool(p[-1][1] < 0.5))
        p = np.array(p)
    else:
        p = model.track(X, y)
    assert np.isfinite(p).all()
    assert p.min() >= 1e-8
    assert p.max() < 1.0
    np.testing.assert_allclose(p.sum(1), 1.0, rtol=1e-12)
    assert all(np.isfinite(value).all() for value in model.arrays().values())
    if labels == "separable" and name in ("collinear", "huge"):
        assert log_loss(p[150:], y[150:]) / 150 < 0.1


def test_missing_labels_times_and_gaps():
    X, y = drifting(3)
    plain = TrackingProbabilities(3).track(X, y)
    np.testing.assert_array_equal(
        TrackingProbabilities(3).track(X, y, 60.0 * np.arange(250)), plain
    )
    model = TrackingProbabilities(3)
    model.track(X, y, np.arange(250.0))
    near, far = model.peek(X[0], time=250.0), model.peek(X[0], time=5000.0)
    assert abs(far[1] - 0.5) < abs(near[1] - 0.5)  # less is known after a long gap
    model.skip(time=260.0)
    model.skip(X[0])
    model.skip()
    assert model.rounds == 253
    assert model.bound() == pytest.approx(np.log(20) - 249 * np.log1p(-0.95e-3))
    unseen = TrackingProbabilities(3)
    unseen.skip()
    np.testing.assert_allclose(unseen.predict(X[0]), [0.5, 0.5], rtol=1e-15)


@pytest.mark.parametrize("opened", [False, True])
def test_model_refuses_bad_input_unchanged(opened):
    X, y = drifting(2)
    model = TrackingProbabilities(2)
    model.track(X[:20], y[:20], np.arange(20.0))
    if opened:
        model.predict(X[20], time=20.0)
    before = copy(model)
    calls = [
        (
            lambda: model.update(X[20], 2),
            r"y must be a class: got 2; give whole numbers 0 to 1, or call add_class\(\)",
        ),
        (lambda: model.update(X[20], -1), "y must be a class: got -1"),
        (lambda: model.update(X[20], 0.5), "y must be a class: got 0.5"),
        (lambda: model.update(X[20], np.nan), "y must be a class: got nan"),
        (lambda: model.update(X[20], "yes"), "y must be whole numbers: got 'yes'"),
        (lambda: model.update(X[20], None), "y must be whole numbers"),
        (
            lambda: model.update(X[20], [[1], [1, 0]]),
            r"y must be one-dimensional: got \[\[1\], \[1, 0\]\]",
        ),
        (lambda: model.update(X[20], [1]), "y must be one label"),
        (lambda: model.update([np.nan, 1.0], 1), "x must be finite: got nan"),
        (lambda: model.predict([1e101, 1.0]), "x must be within"),
        (lambda: model.predict([1.0]), r"x must have shape \(2,\)"),
        (lambda: model.update(X[20], 1, time=3.0), "time must"),
        (lambda: model.skip([np.inf, 1.0]), "x must be finite"),
        (lambda: model.bound(-1), "switches must not be negative"),
        (lambda: model.peek([np.nan, 1.0]), "x must be finite"),
        (
            lambda: model.track(X[:3], [0, 1, 2]),
            "y must be a class|X must begin with a new round",
        ),
        (lambda: model.track(X[:3], y[:2]), "X must have shape|X must begin with a new round"),
        (
            lambda: model.track(X[:3], y[:3, None]),
            "y must be one-dim|X must begin with a new round",
        ),
        (
            lambda: model.track(X[:3], y[:3], [1.0, 2.0, 3.0]),
            "times must not go back|X must begin with a new round",
        ),
    ]
    if opened:
        calls.append((lambda: model.update(X[21], 0), "x must be that of the open round"))
    for call, message in calls:
        with pytest.raises(ValueError, match=message):
            call()
        assert same(model, before)
    for arguments, message in (
        ({"dim": 0}, "dim must be"),
        ({"dim": 2, "classes": 1}, "classes must be 2 or more"),
        ({"dim": 2, "missing": "no"}, "missing must be"),
    ):
        with pytest.raises(ValueError, match=message):
            TrackingProbabilities(**arguments)


def test_still_log_odds_cost_little_and_drift_is_followed():
    rng = np.random.default_rng(11)
    X = rng.standard_normal((4000, 3))
    for w, goal in (
        (np.tile([1.0, -1.0, 0.5], (4000, 1)), 1.01),
        (2.0 * np.cos(np.arange(4000)[:, None] / 300 + np.arange(3)), 1.12),
    ):
        truth = expit((w * X).sum(1))
        y = (rng.random(4000) < truth).astype(int)
        p = TrackingProbabilities(3).track(X, y)
        best = log_loss(np.column_stack([1 - truth, truth])[200:], y[200:])
        assert log_loss(p[200:], y[200:]) < goal * best
    assert len(RATES) == 10

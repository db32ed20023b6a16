"""TrackingVAW with kernels on contexts and with feature maps: formulas, tracking, budgets,
certificates, refusals.
"""

import numpy as np
import pytest

import naive
import stillpoint as sp
from cases import TIMES, certified
from extras import package
from stillpoint.kernels import OU, Constant, Gaussian, GaussianContext, Matern32, Spline
from thorough import some


def stream(rounds=40, dim=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rounds, dim)), rng.standard_normal(rounds)


def run(model, X, y, times=None):
    forecasts = []
    for t, (x, v) in enumerate(zip(X, y, strict=True)):
        forecasts.append(model.predict(x, None if times is None else times[t]))
        model.update(x, v)
    return np.array(forecasts)


class Cosines:
    """A feature map of one's own: the transformer protocol without scikit-learn."""

    def transform(self, X):
        return np.hstack([X, np.cos(3.0 * X), np.sin(3.0 * X)])


@pytest.mark.parametrize("ridge", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("times", some(TIMES, every=2))
@pytest.mark.parametrize(
    "kernel", [Constant(), OU(0.05), Spline(1.0), Matern32(0.1), Gaussian(4.0)]
)
def test_product_kernels_equal_the_formula(kernel, times, ridge):
    """ŷ_t = k_t'(K_t + λI)⁻¹[y_1..y_{t−1}, 0] with K = k(s, t)κ(x_s, x_t), literally; certificate
    exact at the ridge optimum.
    """
    when = TIMES[times]
    X, y = stream(when.size, 3)
    context = GaussianContext(1.5)
    model = sp.TrackingVAW(3, kernel=kernel, ridge=ridge, context=context)
    forecasts = run(model, X, y, when)
    squares = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    K = kernel.gram(when) * np.exp(-squares / (2 * 1.5**2))
    np.testing.assert_allclose(context(X, X), np.exp(-squares / (2 * 1.5**2)), rtol=1e-13)
    twin = naive.vaw(K, y[:, None], ridge)[:, 0]
    assert np.abs(forecasts - twin).max() <= 1e-9 * np.abs(twin).max()
    certified(model, K, y, forecasts, rel=1e-8)


def test_a_dot_product_as_context_is_the_linear_model():
    X, y = stream()
    linear = run(sp.TrackingVAW(2, kernel=OU(0.1)), X, y)
    kernelised = run(sp.TrackingVAW(2, kernel=OU(0.1), context=lambda a, b: a @ b.T), X, y)
    np.testing.assert_allclose(kernelised, linear, rtol=1e-9, atol=1e-12)


def drifting(rounds=300):
    """y = sin(2x + t/100), x uniform: no line follows it."""
    rng = np.random.default_rng(2)
    x = rng.uniform(-2, 2, (rounds, 1))
    return x, np.sin(2 * x[:, 0] + np.arange(rounds) / 100) + 0.05 * rng.standard_normal(rounds)


def test_a_gaussian_context_tracks_what_no_line_can():
    X, y = drifting()

    def late_error(**options):
        model = sp.TrackingVAW(1, ridge=0.3, **options)
        return np.sqrt(((run(model, X, y) - y)[100:] ** 2).mean())

    kernelised = late_error(kernel=Gaussian(100.0), context=GaussianContext(0.7))
    linear = late_error(kernel=Gaussian(100.0))
    still = late_error(kernel=Constant(), context=GaussianContext(0.7))
    assert kernelised < 0.2
    assert linear > 3 * kernelised
    assert still > 2 * kernelised


@pytest.mark.parametrize("kernel", [OU(0.05), Gaussian(5.0)])
def test_transformed_contexts_are_the_linear_model_on_features(kernel):
    X, y = stream()
    features = Cosines().transform(X)
    model = sp.TrackingVAW(2, kernel=kernel, context=Cosines())
    plain = sp.TrackingVAW(6, kernel=kernel)
    assert np.array_equal(run(model, X, y), run(plain, features, y))
    assert np.array_equal(model.coefficients, plain.coefficients)
    assert model.certificate(1.0) == plain.certificate(1.0)
    assert model.coefficients.shape == (6,)


@pytest.mark.parametrize("width", [1e-200, 5e-324, 1e300])
def test_widths_at_the_ends_of_the_floats_make_a_matrix(width):
    X = np.array([[0.0, 0.0], [1.0, 2.0], [1e-210, 0.0]])
    with np.errstate(all="raise", under="ignore"):
        gram = GaussianContext(width)(X, X)
    assert np.isfinite(gram).all()
    assert (np.diag(gram) == 1.0).all()
    assert gram[0, 1] == (1.0 if width > 1.0 else 0.0)


def sizes(model):
    return sum(np.size(value) for value in model.arrays().values())


def test_the_state_of_a_budget_does_not_grow():
    X, y = stream(60)
    budget, exact = (
        sp.TrackingVAW(2, kernel=OU(0.1), context=Cosines()),
        sp.TrackingVAW(2, context=GaussianContext(1.0)),
    )
    first = {}
    for name, model in (("budget", budget), ("exact", exact)):
        run(model, X[:20], y[:20])
        first[name] = sizes(model)
        run(model, X[20:], y[20:])
    assert sizes(budget) == first["budget"]
    assert sizes(exact) > 5 * first["exact"]


@pytest.mark.extra
def test_scikit_learn_kernels_are_kernels_on_contexts():
    kernels = package("sklearn.gaussian_process.kernels")
    X, y = stream()
    ours = run(sp.TrackingVAW(2, kernel=OU(0.1), context=GaussianContext(0.8)), X, y)
    theirs = run(sp.TrackingVAW(2, kernel=OU(0.1), context=kernels.RBF(0.8)), X, y)
    np.testing.assert_allclose(theirs, ours, rtol=1e-9, atol=1e-12)
    mixed = 2.0 * kernels.Matern(1.0, nu=1.5) + kernels.DotProduct(1.0)
    K = OU(0.1).gram(np.arange(1.0, 41.0)) * mixed(X)
    forecasts = run(sp.TrackingVAW(2, kernel=OU(0.1), context=mixed), X, y)
    np.testing.assert_allclose(
        forecasts, naive.vaw(K, y[:, None], 1.0)[:, 0], rtol=1e-8, atol=1e-10
    )


@pytest.mark.extra
def test_nystroem_with_every_landmark_is_the_kernel():
    approximation = package("sklearn.kernel_approximation")
    X, y = stream()
    exact = run(sp.TrackingVAW(2, kernel=OU(0.05), context=GaussianContext(1.0)), X, y)
    features = approximation.Nystroem(gamma=0.5, n_components=len(X), random_state=0).fit(X)
    budget = run(sp.TrackingVAW(2, kernel=OU(0.05), context=features), X, y)
    assert np.abs(budget - exact).max() <= 1e-6 * np.abs(exact).max()


@pytest.mark.extra
def test_random_features_approach_the_kernel():
    approximation = package("sklearn.kernel_approximation")
    X, y = stream()
    exact, errors = (
        run(sp.TrackingVAW(2, kernel=Gaussian(6.0), context=GaussianContext(1.0)), X, y),
        [],
    )
    for count in (20, 200, 2000):
        features = approximation.RBFSampler(gamma=0.5, n_components=count, random_state=0).fit(X)
        # dense: cheap with many features
        model = sp.TrackingVAW(2, kernel=Gaussian(6.0), context=features)
        errors.append(np.abs(run(model, X, y) - exact).max() / np.abs(exact).max())
    assert errors[0] > 2 * errors[1] > 4 * errors[2]
    assert errors[2] < 0.1


@pytest.mark.extra
def test_pipelines_transform_contexts_and_are_not_touched():
    pipeline = package("sklearn.pipeline")
    preprocessing = package("sklearn.preprocessing")
    approximation = package("sklearn.kernel_approximation")
    X, y = stream()
    maps = pipeline.make_pipeline(
        preprocessing.StandardScaler(copy=False),
        approximation.PolynomialCountSketch(n_components=16, random_state=0),
    ).fit(X.copy())
    model = sp.TrackingVAW(2, context=maps)
    kept = X.copy()
    run(model, X, y)
    assert np.array_equal(X, kept)
    assert model.coefficients.shape == (16,)
    assert np.array_equal(model._x, X[-1])


@pytest.mark.extra
def test_unfitted_transformers_and_other_widths_are_refused():
    approximation = package("sklearn.kernel_approximation")
    with pytest.raises(
        ValueError,
        match=r"context must be a transformer fitted on rows of dim = 2.*call its fit first",
    ):
        sp.TrackingVAW(2, context=approximation.Nystroem())
    with pytest.raises(ValueError, match="fitted on rows of dim = 3"):
        sp.TrackingVAW(
            3,
            context=approximation.Nystroem(n_components=5).fit(
                np.random.default_rng(0).random((10, 2))
            ),
        )


def test_gaussian_contexts_save_and_other_code_does_not(tmp_path):
    X, y = stream()
    model = sp.TrackingVAW(2, kernel=OU(0.1), context=GaussianContext(0.9))
    run(model, X[:20], y[:20])
    model.predict(X[20])
    sp.save(model, tmp_path / "model")
    loaded = sp.load(tmp_path / "model")
    assert loaded.config == model.config
    assert np.array_equal(run(model, X[20:], y[20:]), run(loaded, X[20:], y[20:]))
    for foreign in (Cosines(), lambda a, b: a @ b.T):
        with pytest.raises(
            ValueError, match=r"cannot be saved: got context=.*transform contexts outside"
        ):
            sp.save(sp.TrackingVAW(2, context=foreign), tmp_path / "other")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: GaussianContext(0.0), "width must be positive"),
        (lambda: GaussianContext(float("nan")), "width must be finite"),
        (
            lambda: sp.TrackingVAW(2, context="rbf"),
            "context must be None, a kernel on contexts or a fitted transformer",
        ),
        (
            lambda: sp.TrackingVAW(2, context=GaussianContext),
            r"use an object such as sp\.kernels\.GaussianContext",
        ),
        (
            lambda: sp.TrackingVAW(2, context=GaussianContext(1.0)).coefficients,
            "linear and transformed contexts only",
        ),
        (
            lambda: sp.TrackingVAW(2, context=lambda a, b: 1.0).predict([0.0, 0.0]),
            r"\(n, m\) Gram matrix",
        ),
    ],
)
def test_bad_arguments_are_named(call, word):
    with pytest.raises(ValueError, match=word):
        call()


class Failing:
    """A kernel, or a transformer, that gives NaN for contexts above 5."""

    def __call__(self, a, b):
        return np.where(
            (np.abs(a).max(axis=1) > 5)[:, None] | (np.abs(b).max(axis=1) > 5)[None, :],
            np.nan,
            a @ b.T,
        )


class FailingMap:
    def transform(self, X):
        return (
            np.hstack([X, X])
            if np.abs(X).max() <= 5
            else X
            if np.abs(X).max() <= 50
            else np.full((1, 4), np.nan)
        )


@pytest.mark.parametrize("bad", [0, 1, 17, 39])
@pytest.mark.parametrize("kernel", [OU(0.1), Matern32(0.1)], ids=["compiled", "step by step"])
def test_rows_before_a_refused_one_are_played(kernel, bad):
    X, y = stream()
    X = np.clip(X, -4, 4)
    model, twin = (sp.TrackingVAW(2, kernel=kernel, context=FailingMap()) for _ in range(2))
    expected = twin.track(X, y)
    with pytest.raises(ValueError, match="context must give features"):
        model.track(np.vstack([X[:bad], [[9.0, 0.0]], X[bad + 1 :]]), y)
    assert model.rounds == bad
    np.testing.assert_allclose(model.track(X[bad:], y[bad:]), expected[bad:], rtol=1e-12)


@pytest.mark.parametrize("context", [Failing(), FailingMap()])
@pytest.mark.parametrize("kernel", [OU(0.1), Gaussian(3.0)])
def test_refused_contexts_move_nothing(context, kernel):
    X, y = stream()
    X = np.clip(X, -4, 4)
    model, twin = (sp.TrackingVAW(2, kernel=kernel, context=context) for _ in range(2))
    for each in (model, twin):
        run(each, X[:10], y[:10])
    for bad in ([9.0, 0.0], [99.0, 0.0]):
        with pytest.raises(ValueError, match="context"):
            model.predict(bad, time=17.0)
        with pytest.raises(ValueError, match="context"):
            model.update(bad, 1.0)
    left, right = model.arrays(), twin.arrays()
    assert all(np.array_equal(left[key], right[key]) for key in left)
    assert np.array_equal(run(model, X[10:], y[10:]), run(twin, X[10:], y[10:]))

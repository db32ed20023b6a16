import json
from pathlib import Path

import numpy as np
import pytest

import stillpoint as sp
from cases import CONSISTENT, DENSE, IRREGULAR, MARKOV, REGULAR
from stillpoint.kernels import (
    OU,
    Constant,
    Gaussian,
    HorizonFree,
    Matern32,
    Matern52,
    OUMixture,
    Spline,
)
from thorough import some

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "data" / "horizon_free_kernel.json").read_text()
)


@pytest.mark.parametrize("name", [*MARKOV, *DENSE])
@pytest.mark.parametrize("times", [REGULAR, IRREGULAR], ids=["regular", "irregular"])
def test_gram_is_symmetric_positive_and_matches_the_diagonal(name, times):
    kernel = {**MARKOV, **DENSE}[name]
    gram = kernel.gram(times)
    assert np.array_equal(gram, gram.T)
    assert np.linalg.eigvalsh(gram).min() > -1e-10 * gram.max()
    assert np.allclose(np.diag(gram), kernel.diagonal(times), rtol=1e-14)
    assert kernel.diagonal(times).max() <= kernel.bound * (1 + 1e-14)


@pytest.mark.parametrize("name", some(MARKOV, every=2))
@pytest.mark.parametrize("times", [REGULAR, IRREGULAR], ids=["regular", "irregular"])
def test_state_space_has_the_kernel_as_covariance(name, times):
    kernel = MARKOV[name].markov()
    space = MARKOV[name].state_space()
    for i, s in enumerate(times[:8]):
        assert space.h @ space.covariance(s) @ space.h + space.nugget(s) == pytest.approx(
            float(kernel(s, s)), rel=1e-13
        )
        assert np.allclose(space.gain(s), space.covariance(s) @ space.h, rtol=1e-14)
        for t in times[i + 1 : 20]:
            # Cov(x_s, x_t) = P(s) F(t − s)'
            value = space.h @ space.matrix(t - s) @ space.covariance(s) @ space.h
            assert value == pytest.approx(float(kernel(s, t)), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("name", MARKOV)
@pytest.mark.parametrize("gap", [1e-3, 1.0, 30.0])
def test_process_noise_closes_the_covariance(name, gap):
    space = MARKOV[name].state_space()
    start = 2.0
    f = space.matrix(gap)
    moved = f @ space.covariance(start) @ f.T + space.noise(gap, start)
    assert np.allclose(moved, space.covariance(start + gap), rtol=1e-12, atol=1e-14)
    if space.size:
        assert np.linalg.eigvalsh(space.noise(gap, start)).min() >= -1e-13


def test_matern_noise_keeps_its_digits_at_tiny_gaps():
    # P − F P F' loses all digits here; the leading term is exact: Q11 = q x^3/3,
    # q = 4
    x = 1e-5
    assert Matern32(rate=1.0).state_space().noise(x, 0.0)[0, 0] == pytest.approx(
        4 * x**3 / 3, rel=1e-4
    )
    assert Matern52(rate=1.0).state_space().noise(x, 0.0)[0, 0] == pytest.approx(
        16 / 3 * x**5 / 20, rel=1e-4
    )


def test_matern_kernels_are_0_at_extreme_lags():
    lags = np.array([800.0, 2e3, 1e155, 1e300])
    for kernel in (OU(1.0), Matern32(1.0), Matern52(1.0)):
        assert kernel(0.0, lags).tolist() == [0.0] * 4
    with np.errstate(over="ignore"):
        for kernel in (OU(1e200), Matern32(1e200), Matern52(1e200)):
            assert kernel(0.0, 1e200) == 0.0
    x = np.linspace(0.0, 700.0, 50)
    assert (Matern52(1.0)(0.0, x) == (1.0 + x + x * x / 3.0) * np.exp(-x)).all()


@pytest.mark.parametrize(
    ("key", "taper"),
    [("literal_taper_2pi", 2 * np.pi), ("consistent_taper_1_over_2pi", CONSISTENT)],
)
def test_horizon_free_reference_values(key, taper):
    kernel = HorizonFree(taper=taper)
    for tau, value in zip(REFERENCE["tau"], REFERENCE[key], strict=True):
        assert float(kernel(0.0, tau)) == pytest.approx(value, abs=1e-12)


def test_horizon_free_reference_values_at_fractional_lags():
    for tau, value in REFERENCE["more_literal"].items():
        assert float(HorizonFree()(float(tau), 0.0)) == pytest.approx(value, abs=1e-12)


def test_horizon_free_table_and_contour_agree():
    kernel = HorizonFree()
    lags = np.arange(0.0, 100.0)
    assert np.abs(kernel(lags, 0.0) - kernel._contour(lags)).max() < 1e-13
    assert kernel(5.0, [2.0, 3.5]).shape == (2,)


@pytest.mark.parametrize("taper", [2 * np.pi, 1.0, CONSISTENT])
@pytest.mark.parametrize("accuracy", [2e-3, 1e-4, 5e-6, 1e-9])
@pytest.mark.parametrize("gap", [1.0, 0.1])
def test_mixture_is_positive_and_as_accurate_as_stated(taper, accuracy, gap):
    kernel = HorizonFree(taper=taper, accuracy=accuracy, min_gap=gap)
    lags = gap * np.unique(np.concatenate([np.arange(1, 40), np.logspace(1.6, 8, 40)]))
    mixture = kernel.mixture()
    assert np.abs(mixture(lags, 0.0) / kernel._contour(lags) - 1).max() < accuracy
    assert float(mixture(0.0, 0.0)) == pytest.approx(float(kernel(0.0, 0.0)), rel=1e-14)
    space = kernel.state_space()
    assert space.weights.min() > 0
    assert space.dirac > 0
    assert space.rates[0] == 0


@pytest.mark.parametrize(("accuracy", "terms"), [(2e-3, 35), (1e-4, 51), (5e-6, 68)])
def test_mixture_sizes(accuracy, terms):
    assert HorizonFree(accuracy=accuracy).state_space().size == terms


def test_low_frequency_constant_is_exact():
    # the constant decides all of k at lags beyond any horizon; at 1e12 only it and the slowest
    # nodes are left
    kernel = HorizonFree(accuracy=1e-9)
    assert float(kernel.mixture()(1e12, 0.0)) == pytest.approx(float(kernel(1e12, 0.0)), rel=1e-9)


@pytest.mark.parametrize(("accuracy", "excess"), [(2e-3, 1.5e-3), (1e-4, 5e-5), (5e-6, 2e-6)])
def test_approximation_ratio_certifies_the_norm(accuracy, excess):
    kernel = HorizonFree(accuracy=accuracy)
    times = np.arange(1.0, 201.0)
    ratio = kernel.approximation_ratio(times)
    assert 1.0 <= ratio < 1.0 + excess
    exact, mixture = kernel.gram(times), kernel.mixture().gram(times)
    rng = np.random.default_rng(0)
    for u in (
        np.ones(200),
        np.sin(times / 9),
        rng.standard_normal(200),
        np.cumsum(rng.standard_normal(200)),
    ):
        assert u @ np.linalg.solve(mixture, u) <= ratio * (u @ np.linalg.solve(exact, u)) * (
            1 + 1e-9
        )


def test_spectral_density_recovers_known_kernels():
    lags = np.array([0.0, 0.1, 1.0, 5.0, 30.0])
    ou = sp.kernels.SpectralDensity(lambda w: 2 * 0.3 / (0.09 + (2 * np.pi * w) ** 2))
    assert np.abs(ou(lags, 0.0) - OU(0.3)(lags, 0.0)).max() < 1e-10
    bell = sp.kernels.SpectralDensity(
        lambda w: 2 * np.sqrt(2 * np.pi) * np.exp(-2 * (2 * np.pi * w) ** 2)
    )
    assert np.abs(bell(lags, 0.0) - Gaussian(2.0)(lags, 0.0)).max() < 1e-10


def test_horizon_free_density_integrates_to_the_diagonal():
    # E8: k(0) = 5.2934 exactly, against the paper's 8π²; mass below the floats is about 0.02
    conditions = HorizonFree().path_length_conditions(10)
    assert conditions.q_integral == pytest.approx(5.2934, abs=0.04)
    assert HorizonFree().bound == pytest.approx(5.293362460314400)


def test_horizon_free_density_is_infinite_at_0_and_finite_elsewhere():
    with np.errstate(all="raise", under="ignore"):
        values = HorizonFree().density([0.0, 1e-300, 1e-3, 1.0, 1e300])
    assert values[0] == HorizonFree().density(0.0) == np.inf
    assert np.isfinite(values[1:]).all()
    assert (np.diff(values) < 0.0).all()


@pytest.mark.parametrize("smoothness", [1, 2])
def test_a_lag_has_the_same_bits_whatever_was_asked_before(smoothness):
    """A learner in dense memory that is saved and loaded asks a fresh kernel for all lags
    at once.
    """
    grown, fresh = HorizonFree(smoothness=smoothness), HorizonFree(smoothness=smoothness)
    for far in (0.0, 1.0, 2.0, 3.0, 9.0, 40.0, 700.0):
        grown(far, 0.0)
    lags = np.arange(701.0)
    assert np.array_equal(grown(lags, 0.0), fresh(lags, 0.0))


def test_gram_matrices_are_of_lists_of_times():
    for bad in (1.0, [[1.0, 2.0]]):
        with pytest.raises(ValueError, match="times must be one-dimensional: got shape"):
            OU(0.1).gram(bad)


def test_algebra_broadcasts_and_merges():
    kernel = 2.0 * OU(0.1) + OU(0.2) * Constant(3.0)
    s, t = np.arange(3.0)[:, None], np.arange(4.0)[None, :]
    assert np.allclose(kernel(s, t), 2 * np.exp(-0.1 * abs(s - t)) + 3 * np.exp(-0.2 * abs(s - t)))
    assert kernel.bound == pytest.approx(5.0)
    merged = OUMixture([0.1, 0.1, 0.5], [1.0, 2.0, 3.0])
    assert merged == OUMixture([0.5, 0.1], [3.0, 3.0])
    assert merged.state_space().size == 2
    assert (OU(0.1) + Gaussian(1.0)).state_space() is None


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: OU(rate=-1.0), "rate"),
        (lambda: OU(rate=0.1, weight=0.0), "weight"),
        (lambda: Spline(offset=-1.0), "offset"),
        (lambda: Matern32(rate=0.0), "rate"),
        (lambda: Gaussian(width=float("nan")), "width"),
        (lambda: OUMixture([0.1, 0.2], [1.0, -1.0]), "weights"),
        (lambda: OUMixture([0.1], [1.0, 1.0]), "rates"),
        (lambda: -1.0 * OU(0.1), "weight"),
        (lambda: HorizonFree(taper=0.0), "taper"),
        (lambda: HorizonFree(accuracy=0.5), "accuracy"),
        (lambda: Spline()(-1.0, 2.0), "time"),
        (
            lambda: sp.kernels.SpectralDensity(lambda w: -np.ones_like(w)),
            "q must be finite and not negative",
        ),
        (lambda: sp.kernels.SpectralDensity(lambda w: 1 / w), "integrable"),
        (lambda: sp.kernels.SpectralDensity(lambda w: 1 / (w * np.log(3 + 1 / w))), "integrable"),
        (lambda: sp.kernels.SpectralDensity(3.0), "q must be a function"),
        (lambda: OU(0.1)(np.nan, 1.0), "s must be finite"),
    ],
)
def test_bad_parameters_are_named(build, word):
    with pytest.raises(ValueError, match=word):
        build()

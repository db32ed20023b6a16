"""Theorem rkhs-to-pl at every order: which densities it covers, and c_m(T) beside other ways to
compute it.
"""

import numpy as np
import pytest
from scipy.integrate import quad

from cases import CONSISTENT
from stillpoint.kernels import HorizonFree, SpectralDensity
from stillpoint.kernels.path_length import integrable, path_length_conditions, transform_norm

PAPER = HorizonFree().density


def power(low, high):
    """A density like ω^{−low} at 0 and ω^{−high} at ∞."""
    return lambda w: w**-low * (1 + w) ** (low - high)


@pytest.mark.parametrize(
    ("density", "orders"),
    [
        pytest.param(PAPER, {1, 2, 3}, id="the paper's"),
        pytest.param(HorizonFree(taper=CONSISTENT).density, {1, 2, 3}, id="taper 1/2pi"),
        pytest.param(lambda w: PAPER(w) * (1 + w * w) ** -0.75, {2, 3}, id="falls like w^-3"),
        pytest.param(lambda w: PAPER(w) * (1 + w * w) ** -1.75, {3}, id="falls like w^-5"),
        pytest.param(lambda w: PAPER(w) * (1 + w * w) ** -2.75, set(), id="falls like w^-7"),
        pytest.param(
            HorizonFree(taper=CONSISTENT, smoothness=2).density, {2, 3}, id="smoothness 2"
        ),
        pytest.param(HorizonFree(smoothness=3).density, {3}, id="smoothness 3"),
        pytest.param(power(0.9, 1.01), {1, 2, 3}, id="just integrable at infinity"),
        pytest.param(power(0.9, 1.99), {1, 2, 3}, id="w^-1.99"),
        pytest.param(power(0.9, 2.0), {2, 3}, id="w^-2: R is 1/w at order 1"),
        pytest.param(lambda w: PAPER(w) * (1 + w * w) ** -1.245, {2, 3}, id="w^-3.99"),
        pytest.param(power(0.5, 4.0), {3}, id="w^-4: R is 1/w at order 2"),
        pytest.param(
            lambda w: w**-0.5 * (1 / (1 + w**4)) ** 0.5,
            {2, 3},
            id="a formula that overflows half way",
        ),
        pytest.param(
            lambda w: 1 / (w * np.log(3 + 1 / w) ** 2 * np.log(3 + w) ** 2),
            {1, 2, 3},
            id="logarithms at both ends",
        ),
        pytest.param(lambda w: np.exp(-(w**0.3)) * w**-0.5, set(), id="lighter than every power"),
        pytest.param(lambda w: 1 / (1 + w * w), set(), id="finite at 0: R is 1/w there"),
        pytest.param(lambda w: np.exp(-(w**2)), set(), id="bell"),
        pytest.param(lambda w: np.exp(-((1e4 * w) ** 2)), set(), id="narrow bell"),
        pytest.param(lambda w: PAPER(w) * (w < 1e6), set(), id="0 beyond a frequency"),
        pytest.param(lambda w: PAPER(w) * ((w < 1.0) | (w > 2.0)), set(), id="0 in between"),
    ],
)
def test_which_orders_cover_a_density(density, orders):
    kernel = SpectralDensity(density)  # all of them are integrable
    found = {m: kernel.path_length_conditions(50, order=m) for m in (1, 2, 3)}
    assert {m for m, conditions in found.items() if conditions.holds} == orders
    assert {m for m, conditions in found.items() if np.isfinite(conditions.constant)} == orders


@pytest.mark.parametrize(
    ("density", "finite"),
    [
        pytest.param(lambda w: 1 / w, False, id="1/w"),
        pytest.param(power(0.9, 0.99), False, id="w^-0.99 at infinity"),
        pytest.param(power(1.01, 2.0), False, id="w^-1.01 at 0"),
        pytest.param(lambda w: 1 / (w * (1 + w) * np.log(3 + 1 / w)), False, id="1/(w log) at 0"),
        pytest.param(
            lambda w: w**-0.5 / ((1 + w) ** 0.5 * np.log(3 + w)), False, id="1/(w log) at infinity"
        ),
        pytest.param(
            lambda w: 1 / (w * (1 + w) * np.log(9 + 1 / w) * np.log(np.log(9 + 1 / w))),
            False,
            id="1/(w log loglog) at 0",
        ),
        pytest.param(
            lambda w: 1 / (w * (1 + w) * np.log(3 + 1 / w) ** 1.2), True, id="1/(w log^1.2) at 0"
        ),
        pytest.param(
            lambda w: 1 / (w * (1 + w) * np.log(3 + 1 / w) ** 0.8), False, id="1/(w log^0.8) at 0"
        ),
        pytest.param(lambda w: 1.0 * (w < 1.0), True, id="a box"),
        pytest.param(PAPER, True, id="the paper's"),
    ],
)
def test_which_densities_are_integrable(density, finite):
    assert integrable(density) == finite


def test_a_box_has_its_mass():
    assert path_length_conditions(lambda w: 1.0 * (w < 1.0), 5).q_integral == pytest.approx(
        2.0, rel=1e-3
    )


def test_standard_kernels_are_refused():
    ou = SpectralDensity(lambda w: 2 * 0.3 / (0.09 + (2 * np.pi * w) ** 2)).path_length_conditions(
        10
    )
    assert ou.q_integrable
    assert ou.q_integral == pytest.approx(1.0, rel=1e-9)
    assert not ou.r_integrable
    assert not ou.holds
    assert ou.constant == np.inf


@pytest.mark.parametrize("tau", [2.0, 11.0, 1001.0, 1e6])
def test_the_constant_of_known_transforms(tau):
    """R = e^{−x} has c = (1/π) log(1 + 4π²τ²) (E6); R = x^{−1/2} e^{−x} has c = (4/√π)(Re √(1 +
    2πiτ) − 1).
    """
    value = transform_norm(lambda x: np.exp(-np.exp(np.minimum(x, 700.0))), tau)
    assert value == pytest.approx(np.log1p(4 * np.pi**2 * tau**2) / np.pi, rel=1e-10)
    value = transform_norm(lambda x: np.exp(-0.5 * x - np.exp(np.minimum(x, 700.0))), tau)
    assert value == pytest.approx(
        4 / np.sqrt(np.pi) * (np.sqrt(1 + 2j * np.pi * tau).real - 1), rel=1e-10
    )


def constant_twin(density, horizon, m):
    """c_m(T) by adaptive quadrature, QUADPACK's Fourier rule beyond the first period."""
    tau = horizon + 1.0

    def g(x):  # R/(πx)
        return 1 / (
            2 * np.pi * x * (1 + (2 * np.pi * x) ** (2 * m)) * float(density(x)) * np.pi * x
        )

    def head(v):
        return np.exp(v) * g(np.exp(v)) * np.sin(np.pi * tau * np.exp(v)) ** 2

    def tail(v):
        return np.exp(v) * g(np.exp(v))

    start = np.log(1 / tau)
    low = sum(
        quad(head, start + a, start + a + 5, epsabs=0, epsrel=1e-12)[0] for a in range(-40, 0, 5)
    )
    high = sum(
        quad(tail, start + a, start + a + 5, epsabs=0, epsrel=1e-12)[0] for a in range(0, 40, 5)
    )
    wave = quad(
        g, 1 / tau, np.inf, weight="cos", wvar=2 * np.pi * tau, epsabs=1e-11 * low, limlst=200
    )[0]
    return 4 * (low + 0.5 * (high - wave))


@pytest.mark.parametrize("horizon", [1, 30, 1000])
@pytest.mark.parametrize(
    ("kernel", "m"),
    [
        pytest.param(HorizonFree(), 1, id="order 1"),
        pytest.param(HorizonFree(), 2, id="paper's at order 2"),
        pytest.param(HorizonFree(taper=CONSISTENT, smoothness=2), 2, id="order 2"),
        pytest.param(HorizonFree(smoothness=3), 3, id="order 3"),
    ],
)
def test_the_constant_equals_adaptive_quadrature(kernel, m, horizon):
    constant = kernel.path_length_conditions(horizon, order=m).constant
    assert constant == pytest.approx(constant_twin(kernel.density, horizon, m), rel=1e-9)


@pytest.mark.parametrize(
    ("horizon", "value"),
    [(2, 3.34), (3, 4.51), (5, 6.52), (10, 10.36), (100, 36.6), (1e3, 93.6), (1e4, 192.9)],
)
def test_the_constant_of_the_papers_density(horizon, value):
    conditions = HorizonFree().path_length_conditions(horizon)
    assert conditions.holds
    assert conditions.constant == pytest.approx(value, abs=0.06)
    # Proposition horizon-free-density's own constant, c = (2πe)², is far above it
    assert (
        conditions.constant
        < ((2 * np.pi * np.e) ** 2) ** 2 * (np.log(1 + horizon) * np.log(np.log(1 + horizon))) ** 2
    )


def test_bad_orders_are_named():
    for bad in (0, -1, 1.5, "two"):
        with pytest.raises(ValueError, match="order must be a positive whole number"):
            HorizonFree().path_length_conditions(10, order=bad)


@pytest.mark.parametrize("taper", [2 * np.pi, CONSISTENT], ids=["paper", "consistent"])
def test_smoothness_2_is_the_transform_of_its_density(taper):
    """By the Fourier rule, which starts e^{−600} below the first quarter period: 2S of that
    frequency is what it leaves out.
    """
    kernel = HorizonFree(taper=taper, smoothness=2)
    lags = np.array([0.0, 0.1, 1.0, 2.0])
    lost = kernel(lags, 0.0) - SpectralDensity(kernel.density)(lags, 0.0)
    start = np.array([1.0, 2.5, 0.25, 0.125]) * np.exp(-600.0)
    assert lost == pytest.approx(
        np.log(np.log(np.pi)) / np.log(np.log(np.pi + start**-0.5)), abs=1e-10
    )
    assert kernel.path_length_conditions(10, order=2).q_integral == pytest.approx(
        kernel.bound, abs=0.03
    )


def test_smoothness_changes_tails_only():
    w = np.logspace(-8, 3, 50)
    ratio = HorizonFree(smoothness=3, taper=0.5).density(w) / HorizonFree(taper=0.5).density(w)
    assert ratio == pytest.approx((1 + (w / 0.5) ** 2) ** -1.75, rel=1e-12)
    far = [float(HorizonFree(smoothness=m)(1e6, 0.0)) for m in (1, 2, 8)]
    assert far == pytest.approx([0.0644436024829103842] * 3, rel=1e-9)


def test_smooth_kernels_have_no_mixture():
    kernel = HorizonFree(smoothness=2)
    assert kernel.state_space() is None
    assert kernel.markov() is kernel
    with pytest.raises(ValueError, match="smoothness must be 1 for a mixture: got 2"):
        kernel.mixture()
    for bad in (0, 9, 1.5):
        with pytest.raises(ValueError, match="smoothness must"):
            HorizonFree(smoothness=bad)

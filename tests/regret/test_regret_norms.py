"""Comparator quantities, RKHS norms and minimum-norm interpolants."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stillpoint.kernels import (
    OU,
    Constant,
    Dirac,
    Gaussian,
    HorizonFree,
    IntegratedBrownian,
    Kernel,
    Matern32,
    Matern52,
    OUMixture,
    Periodic,
    Spline,
    StateSpace,
)
from stillpoint.regret import (
    interpolate,
    magnitude,
    norms,
    path_length,
    rkhs_norm,
    squared_path_length,
    switches,
)
from thorough import THOROUGH, some

T = 120 if THOROUGH else 60
REGULAR = np.arange(1.0, T + 1.0)
IRREGULAR = np.cumsum(0.2 + np.random.default_rng(7).exponential(size=T))
STREAMING = [
    OU(rate=0.1),
    OU(rate=3.0, weight=0.2),
    Spline(),
    Spline(offset=5.0),
    Matern32(rate=0.3),
    Matern52(rate=0.6, weight=2.0),
    OUMixture([0.0, 0.01, 0.3, 2.0], [1.0, 0.5, 0.2, 0.1]),
    HorizonFree().mixture(),
    IntegratedBrownian(offset=2.0, slope=0.5) + Dirac(0.1),
    Periodic(9.7, harmonics=3) * OU(rate=0.1),
    Spline(1.0) + Periodic(24.0) + Periodic(30.5, harmonics=2) * Spline(0.3),
    OU(rate=0.1) + Dirac(0.3),
    Constant() + Matern32(rate=0.2),
    Dirac(2.0),
    OU(rate=0.1) * Spline(offset=1.0) + Dirac(0.1),
    0.5 * (Matern32(rate=0.1) * OU(rate=0.3)),
    Dirac() * Spline(offset=1.0),
]


def test_how_much_a_comparator_moves():
    u = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0], [0.0, 0.0]])
    assert path_length(u) == 10.0
    assert squared_path_length(u) == 50.0
    assert magnitude(u) == 5.0
    assert switches(u) == 2
    assert switches([0.0, 1e-3, 1.0], tolerance=0.01) == 1
    assert path_length([2.0]) == 0.0
    assert switches([2.0]) == 0


@pytest.mark.parametrize("u", [np.zeros((2, 2, 2)), np.zeros(0), 3.0, [1.0, math.nan]])
def test_bad_sequences_are_named(u):
    for measure in (
        path_length,
        squared_path_length,
        magnitude,
        switches,
        lambda u: rkhs_norm(OU(1.0), u),
    ):
        with pytest.raises(ValueError, match="u must"):
            measure(u)
    with pytest.raises(ValueError, match="tolerance"):
        switches([1.0], tolerance=-1.0)


@pytest.mark.parametrize("times", [REGULAR, IRREGULAR], ids=["regular", "irregular"])
@pytest.mark.parametrize("kernel", some(STREAMING, every=2))
@pytest.mark.parametrize("shape", [(T,), (T, 3)])
def test_streaming_norm_is_the_dense_norm(kernel, times, shape):
    u = np.random.default_rng(3).standard_normal(shape)
    k = kernel.gram(times)
    naive = math.sqrt(np.sum(u * np.linalg.solve(k, u)))
    streaming = rkhs_norm(kernel, u, times, method="streaming")
    assert streaming == rkhs_norm(kernel, u, times)
    assert streaming == pytest.approx(rkhs_norm(kernel, u, times, method="dense"), rel=1e-8)
    assert streaming == pytest.approx(naive, rel=1e-8)


def test_closed_forms():
    rng = np.random.default_rng(11)
    u, tau = rng.standard_normal(50), np.cumsum(rng.exponential(size=50))
    steps, gaps = np.diff(u), np.diff(tau)
    spline = u[0] ** 2 / (2.0 + tau[0]) + np.sum(steps**2 / gaps)
    assert rkhs_norm(Spline(offset=2.0), u, tau) ** 2 == pytest.approx(spline, rel=1e-13)
    # at 1e-13 the Gram matrix is singular to rounding, the filter is not
    for rate in (10.0, 0.1, 1e-6, 1e-13):
        rho = np.exp(-rate * gaps)
        ou = u[0] ** 2 / 0.7 + np.sum(
            (u[1:] - rho * u[:-1]) ** 2 / (-0.7 * np.expm1(-2 * rate * gaps))
        )
        assert rkhs_norm(OU(rate, 0.7), u, tau) ** 2 == pytest.approx(ou, rel=1e-12)


def test_slow_mixtures_keep_their_digits():
    """Against an extended-precision Cholesky factor; in float64 the dense norm keeps seven digits
    here.
    """
    rates, weights = np.array([1e-9, 3e-9, 2e-8]), np.array([1.0, 0.5, 0.2])
    tau = np.arange(1.0, 41.0)
    u = np.sin(tau)
    lag = np.abs(tau[:, None] - tau).astype(np.longdouble)
    k = np.sum(
        weights.astype(np.longdouble) * np.exp(-rates.astype(np.longdouble) * lag[..., None]),
        axis=-1,
    )
    lower, e = np.zeros((40, 40), dtype=np.longdouble), u.astype(np.longdouble)
    for i in range(40):
        for j in range(i + 1):
            rest = k[i, j] - lower[i, :j] @ lower[j, :j]
            lower[i, j] = np.sqrt(rest) if i == j else rest / lower[j, j]
        e[i] = (e[i] - lower[i, :i] @ e[:i]) / lower[i, i]
    tolerance = 1e-10 if np.finfo(np.longdouble).eps < 1e-18 else 1e-6
    assert rkhs_norm(OUMixture(rates, weights), u) == pytest.approx(
        float(np.sqrt(e @ e)), rel=tolerance
    )


def test_golden_values():
    assert rkhs_norm(OU(0.1), np.ones(6)) ** 2 == pytest.approx(1.2497918747893997, rel=1e-14)
    v = np.random.default_rng(5).standard_normal(30)  # E5, for the paper's spline
    assert rkhs_norm(Spline(), v) ** 2 == pytest.approx(
        v[0] ** 2 + squared_path_length(v), rel=1e-14
    )


@pytest.mark.parametrize("method", ["dense", "streaming"])
def test_the_papers_kernel_charges_constants_dearly(method):
    """The table of E7: k(0)‖u‖² at T = 1000, literal and unit-consistent taper."""
    rounds = np.arange(1000)
    printed = {2 * math.pi: (51.0, 464, 1051), 1 / (2 * math.pi): (14.2, 200, 1260)}
    for taper, (constant, switch, alternating) in printed.items():
        kernel = HorizonFree(taper=taper)
        for u, value, digits in (
            (np.ones(1000), constant, 1),
            (np.where(rounds < 500, 1.0, -1.0), switch, 0),
            ((-1.0) ** rounds, alternating, 0),
        ):
            assert round(kernel.bound * rkhs_norm(kernel, u, method=method) ** 2, digits) == value


class Line(StateSpace):
    """f(t) = a + bt with independent standard normal a and b: two observations determine every
    later one.
    """

    stationary = False
    h = np.array([1.0, 0.0])

    def transition(self, gap):
        return np.array([[1.0, gap], [0.0, 1.0]])

    def noise(self, gap, start):
        return np.zeros((2, 2))

    def covariance(self, time):
        return np.array([[1.0 + time**2, time], [time, 1.0]])


class LineKernel(Kernel):
    def _value(self, s, t):
        return 1.0 + s * t

    def state_space(self):
        return Line()


def test_sequences_outside_the_space_have_no_norm():
    for kernel in (
        Constant(0.3),
        0.1 * Constant(0.7) + Constant(1 / 3),
        Constant(0.3) * Constant(1.7),
        OU(rate=0.0),
    ):
        weight = kernel.bound
        assert rkhs_norm(kernel, np.full(1000, 0.7)) == pytest.approx(
            0.7 / math.sqrt(weight), rel=1e-13
        )
        assert rkhs_norm(kernel, [0.7] * 9 + [0.7 + 1e-16]) < math.inf
        assert rkhs_norm(kernel, [0.7] * 9 + [0.7 + 1e-9]) == math.inf
        assert rkhs_norm(kernel, [0.0, 0.0, 1e-200]) == math.inf
        assert rkhs_norm(kernel, np.zeros((5, 2))) == 0.0
    assert rkhs_norm(Spline(), [0.0, 1.0], times=[0.0, 1.0]) == 1.0
    assert rkhs_norm(Spline(), [1.0, 1.0], times=[0.0, 1.0]) == math.inf


def test_rounding_is_not_variance():
    """For lines the filter's variance is 0 from the third round on, but only up to rounding."""
    times = np.cumsum(np.random.default_rng(2).exponential(size=200))
    line = 0.3 - 0.7 * times
    assert rkhs_norm(LineKernel(), line, times) == pytest.approx(math.hypot(0.3, 0.7), rel=1e-9)
    assert rkhs_norm(LineKernel(), np.sin(times), times) == math.inf


def test_tiny_variance_is_not_rounding():
    """Matérn-5/2 far below its scale: S_t falls to 2e-10 of the prior variance, and to 2e-20, yet
    norms are finite.
    """
    tau = np.arange(1.0, 31.0)
    u = np.exp(-0.01 * tau)
    streaming = rkhs_norm(Matern52(rate=0.01), u, tau)
    assert streaming == pytest.approx(
        rkhs_norm(Matern52(rate=0.01) + Dirac(1e-13), u, tau), rel=1e-2
    )
    assert rkhs_norm(Matern52(rate=1e-4), np.sin(tau), tau) < math.inf


@given(st.integers(1, 12), st.integers(0, 2**32 - 1), st.sampled_from(STREAMING))
def test_norm_is_a_norm_that_grows_with_the_sequence(rounds, seed, kernel):
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.exponential(size=rounds) + 0.01)
    u, v = rng.standard_normal((2, rounds))
    assert rkhs_norm(kernel, -2.0 * u, times) == pytest.approx(
        2.0 * rkhs_norm(kernel, u, times), rel=1e-12
    )
    total = rkhs_norm(kernel, u + v, times)
    assert total <= (rkhs_norm(kernel, u, times) + rkhs_norm(kernel, v, times)) * (1 + 1e-9)
    assert (
        rkhs_norm(kernel, u[:-1], times[:-1]) <= rkhs_norm(kernel, u, times) if rounds > 1 else True
    )
    assert u[-1] ** 2 <= kernel.diagonal(times)[-1] * rkhs_norm(kernel, u, times) ** 2 * (1 + 1e-9)


def test_blocks_do_not_show(monkeypatch):
    u = np.random.default_rng(1).standard_normal((T, 2))
    for kernel in STREAMING:
        whole, curve = rkhs_norm(kernel, u, IRREGULAR), interpolate(kernel, u, IRREGULAR)
        with monkeypatch.context() as patch:
            patch.setattr(norms, "_BLOCK", 7)
            assert rkhs_norm(kernel, u, IRREGULAR) == whole
            assert np.array_equal(
                interpolate(kernel, u, IRREGULAR).coefficients, curve.coefficients
            )


def test_long_streams_are_quick():
    u = np.cumsum(np.random.default_rng(0).standard_normal(100_000))
    assert rkhs_norm(Spline(), u) ** 2 == pytest.approx(
        u[0] ** 2 + squared_path_length(u), rel=1e-12
    )
    assert rkhs_norm(HorizonFree(), u if THOROUGH else u[:20_000]) < math.inf


def test_methods_and_errors():
    u = np.ones(4)
    with pytest.raises(ValueError, match="method must be 'auto', 'dense' or 'streaming'"):
        rkhs_norm(OU(1.0), u, method="fast")
    for what in (rkhs_norm, interpolate):
        with pytest.raises(ValueError, match="kernel must be a kernel: got 'OU'"):
            what("OU", u)
    with pytest.raises(ValueError, match="no state space"):
        rkhs_norm(Gaussian(1.0), u, method="streaming")
    with pytest.raises(ValueError, match=r"positive definite.*Dirac"):
        rkhs_norm(Gaussian(1e4), u)
    # `interpolate` has no method="streaming" to offer
    with pytest.raises(ValueError, match=r"spread the times$"):
        interpolate(Gaussian(1e4), u)
    with pytest.raises(ValueError, match="positive definite"):
        rkhs_norm(Constant(), u, method="dense")
    with pytest.raises(ValueError, match="times must have 4 values"):
        rkhs_norm(OU(1.0), u, times=[1.0, 2.0])
    with pytest.raises(ValueError, match="times must increase"):
        rkhs_norm(OU(1.0), u, times=[1.0, 3.0, 2.0, 4.0])
    with pytest.raises(ValueError, match="at least −offset"):
        rkhs_norm(Spline(), u, times=[-1.0, 1.0, 2.0, 3.0])
    # the paper's kernel streams as its mixture at any gap, and that is the space its learners are
    # measured in
    close, kernel = [1.0, 1.5, 2.0, 3.0], HorizonFree()
    assert rkhs_norm(kernel, u, close) == pytest.approx(
        rkhs_norm(kernel.markov(), u, close, method="dense"), rel=1e-9
    )


@pytest.mark.parametrize(
    "kernel", [*STREAMING, HorizonFree(), Gaussian(0.8), Constant() + Gaussian(0.5)]
)
@pytest.mark.parametrize("shape", [(40,), (40, 2)])
def test_interpolants_pass_through_and_have_the_norm(kernel, shape):
    rng = np.random.default_rng(9)
    times, u = np.arange(1.0, 41.0), rng.standard_normal(shape)
    curve = interpolate(kernel, u)
    assert np.allclose(
        curve(times), u, rtol=0, atol=1e-9 * max(1.0, np.abs(curve.coefficients).max())
    )
    exact = kernel if isinstance(kernel, HorizonFree) else None
    assert curve.norm == pytest.approx(
        rkhs_norm(kernel, u, method="dense" if exact else "auto"), rel=1e-9
    )
    assert curve.norm**2 == pytest.approx(float(np.sum(u * curve.coefficients)), rel=1e-7)
    assert curve(3.0).shape == shape[1:]
    assert curve(np.zeros((5, 2)) + 3.3).shape == (5, 2, *shape[1:])
    # at no point of time could the norm be kept while passing through a different value
    longer = np.concatenate([u, [curve(41.5)]])
    assert rkhs_norm(kernel, longer, np.append(times, 41.5), "dense") == pytest.approx(
        rkhs_norm(kernel, u, times, "dense"), rel=1e-8
    )


@pytest.mark.parametrize("kernel", STREAMING)
def test_interpolants_through_uneven_times(kernel):
    u, times = np.random.default_rng(10).standard_normal((30, 2)), IRREGULAR[:30]
    exact = np.linalg.solve(kernel.gram(times), u)
    assert np.allclose(
        interpolate(kernel, u, times).coefficients, exact, rtol=0, atol=1e-9 * np.abs(exact).max()
    )


def test_spline_interpolant_is_piecewise_linear():
    u = np.random.default_rng(4).standard_normal(10)
    t = np.linspace(1.0, 10.0, 200)
    assert np.allclose(
        interpolate(Spline(), u)(t), np.interp(t, np.arange(1.0, 11.0), u), atol=1e-12
    )


def test_interpolating_what_cannot_be():
    assert np.allclose(interpolate(Constant(), [2.0, 2.0, 2.0])([0.0, 7.0]), 2.0)
    line = interpolate(LineKernel(), [1.0, 2.0, 3.0, 4.0])
    assert line(100.0) == pytest.approx(100.0)
    with pytest.raises(ValueError, match="u must lie in the kernel's space"):
        interpolate(Constant(), [1.0, 2.0])
    with pytest.raises(ValueError, match="method must be 'minimum-norm' or 'sinc-bump'"):
        interpolate(OU(1.0), [1.0], method="cubic")
    with pytest.raises(ValueError, match=r"times must be 1\.\.T"):
        interpolate(OU(1.0), [1.0, 2.0], times=[1.0, 2.5], method="sinc-bump")
    smooth = interpolate(OU(1.0), [1.0, 2.0], method="sinc-bump")
    assert np.allclose(smooth([1.0, 2.0, -3.0]), [1.0, 2.0, 0.0])
    assert smooth.derivative(0.0) == 0.0


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e160, 1e300])
def test_sequences_of_any_size_are_measured(size):
    u = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0], [0.0, 4.0]])
    assert path_length(size * u) == pytest.approx(8.0 * size)
    assert magnitude(size * u) == pytest.approx(5.0 * size)
    assert switches(size * u) == 2
    for kernel in (OU(0.1), Gaussian(1.0)):
        assert rkhs_norm(kernel, size * u) == pytest.approx(size * rkhs_norm(kernel, u))
        found = interpolate(kernel, size * u)
        np.testing.assert_allclose(found(np.arange(1.0, 5.0)) / size, u, atol=1e-9)
        assert found.norm == pytest.approx(size * rkhs_norm(kernel, u))


def test_an_interpolant_that_would_miss_its_points_is_refused():
    u = np.array([0.0, 1.0, 0.0, 1.0, 0.0])
    with pytest.raises(
        ValueError,
        match=r"got values missed by .* Gram matrix is singular to rounding; use a rougher kernel",
    ):
        interpolate(Matern52(1e-3), u)
    np.testing.assert_allclose(interpolate(Matern52(0.5), u)(np.arange(1.0, 6.0)), u, atol=1e-9)

"""The interpolant of Theorem discrete-pl at every order m: bump, derivatives, and the two
constants.
"""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from cases import CONSISTENT
from stillpoint.kernels import HorizonFree
from stillpoint.lab.reproduce.orders import _wave, printed_constant
from stillpoint.regret import (
    PATH_CONSTANT,
    SincBump,
    bump,
    curvature_constant,
    magnitude,
    optimal_path_length,
    path_length,
    path_length_norm,
    rkhs_norm,
)
from stillpoint.regret.sinc import _bump, _product
from thorough import some

ORDERS = range(1, 9)
PI = np.longdouble("3.14159265358979323846264338327950288")


def beta_polynomial(m):
    """Coefficients, exact: ∫_0^x (y(1 − y))^{2m} dy over its value at 1."""
    n = 2 * m
    terms = {n + k + 1: Fraction((-1) ** k * math.comb(n, k), n + k + 1) for k in range(n + 1)}
    whole = sum(terms.values())
    return {power: value / whole for power, value in terms.items()}


@pytest.mark.parametrize("m", some(ORDERS, every=2))
def test_bump_and_its_derivatives_equal_exact_fractions(m):
    points = [Fraction(i, 16) for i in range(17)]
    found = _bump(np.array([float(x) for x in points]), 5, m, 2 * m)
    mirrored = _bump(np.array([float(6 - x) for x in points]), 5, m, 2 * m)
    polynomial = beta_polynomial(m)
    for n in range(2 * m + 1):
        exact = np.array(
            [
                float(
                    sum(c * math.perm(p, n) * x ** (p - n) for p, c in polynomial.items() if p >= n)
                )
                for x in points
            ]
        )
        assert found[n] == pytest.approx(exact, rel=0.0, abs=1e-11 * np.abs(exact).max())
        assert mirrored[n] == pytest.approx((-1) ** n * found[n], abs=1e-12 * np.abs(exact).max())
        if n:
            assert found[n][0] == found[n][-1] == 0.0  # all 2m derivatives are continuous
    assert bump([-1.0, 0.0, 0.5, 1.0, 3.3, 5.0, 6.0, 9.0], 5, m) == pytest.approx(
        [0, 0, 0.5, 1, 1, 1, 0, 0], abs=1e-15
    )


def test_order_1_is_the_polynomial_it_was():
    t = np.linspace(-0.5, 8.5, 4001)
    x = np.clip(4.0 - np.abs(t - 4.0), 0.0, 1.0)
    b, db, ddb = _bump(t, 7, 1, 2)
    assert (b == x**3 * (10.0 - 15.0 * x + 6.0 * x * x)).all()
    assert (db == np.sign(4.0 - t) * 30.0 * (x * (1.0 - x)) ** 2).all()
    assert np.abs(ddb - 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x)).max() <= 1e-15 * 10 / math.sqrt(3)


def fourier_twin(x, n):
    """S^(n)(x) = ∫ Ŝ(ω)(2πω)^n cos(2πωx + nπ/2) dω over the trapezoid Ŝ, in long double."""
    nodes, weights = (a.astype(np.longdouble) for a in np.polynomial.legendre.leggauss(60))
    at, total = np.asarray(x, dtype=np.longdouble)[:, None], 0.0
    for low, high in ((0, 0.25), (0.25, 0.75)):
        w = (low + high) / np.longdouble(2) + (high - low) / np.longdouble(2) * nodes
        height = np.minimum(1, 2 * (np.longdouble(0.75) - w))
        total = total + (high - low) * (
            weights * height * (2 * PI * w) ** n * np.cos(2 * PI * w * at + n * PI / 2)
        ).sum(axis=1)
    return total


def test_derivatives_of_the_product_equal_their_fourier_integrals():
    """Across 0 and the places where series give way to quotients, |x| = max(½, n/2π) and twice
    that.
    """
    joints = [
        s * f * max(0.5, n / (2 * math.pi))
        for n in range(17)
        for f in (1, 2)
        for s in (-1 - 1e-9, -1 + 1e-9, 1 - 1e-9)
    ]
    x = np.concatenate([np.linspace(-8.0, 8.0, 801), joints, [1e-300, 1e-9, 1e-3]])
    found = _product(x, 16)
    for n in range(17):
        twin = fourier_twin(x, n)
        assert float(np.abs(found[n] - twin).max()) <= 1e-13 * float(np.abs(twin).max())


def closed_twin(t, at, m):
    """w + (−1)^m w^(2m) at t, w = b_T(t)S(t − at), for t in [0, 1]: exact polynomial, Fourier
    integrals.
    """
    n, total = 2 * m, np.longdouble(0)
    for k in range(n + 1):
        x = Fraction(t)
        edge = sum(
            c * math.perm(p, n - k) * x ** (p - n + k)
            for p, c in beta_polynomial(m).items()
            if p >= n - k
        )
        s = fourier_twin([t - at], k)[0]
        total = total + (-1) ** m * math.comb(n, k) * float(edge) * s
        if k == 0:
            plain = sum(c * x**p for p, c in beta_polynomial(m).items())
            total = total + float(plain) * s
    return float(total)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_interpolant_bends_as_the_formula_says(m):
    basis = SincBump(np.eye(6), m)
    for t in (0.125, 0.625, 0.71875, 0.875):
        row = basis(t) + (-1) ** m * basis.derivative(t, 2 * m)
        twin = np.array([closed_twin(t, at, m) for at in range(1, 7)])
        assert np.abs(row - twin).max() <= 1e-9 * np.abs(twin).max()


def bends(t, horizon, m):
    """Row t: what each u_l contributes to u + (−1)^m u^(2m), near the first end of a long
    sequence.
    """
    n = 2 * m
    s, b = _product(t[:, None] - np.arange(1.0, horizon + 1.0), n), _bump(t, 2 * horizon, m, n)
    return b[0][:, None] * s[0] + (-1) ** m * sum(
        math.comb(n, k) * b[n - k][:, None] * s[k] for k in range(n + 1)
    )


def to_infinity(values):
    """Richardson: values at horizons that double, whose error is a series in 1/T."""
    values = list(values)
    for k in range(1, len(values)):
        values = [(2**k * b - a) / (2**k - 1) for a, b in pairwise(values)]
    return values[0]


@pytest.mark.parametrize("m", some(ORDERS, every=2))
def test_curvature_constants_are_the_least_ones_rounded_up(m):
    """Σ_l grows with T and is largest between 0 and 1, where the bump rises; inside it is far
    smaller, but for m = 1.
    """
    inside = _product(np.linspace(0.0, 1.0, 51)[:, None] - np.arange(-300.0, 301.0), 2 * m)
    assert np.abs(inside[0] + (-1) ** m * inside[2 * m]).sum(
        axis=1
    ).max() < 0.95 * curvature_constant(m)
    t, width, largest = np.linspace(0.0, 1.0, 201), 1 / 200, 0.0
    for _ in range(4):
        sums = np.cumsum(np.abs(bends(t, 256, m)), axis=1)
        limits = to_infinity(sums[:, T - 1] for T in (16, 32, 64, 128, 256))
        best, largest = t[int(limits.argmax())], float(limits.max())
        t, width = np.clip(np.linspace(best - width, best + width, 17), 0.0, 1.0), width / 6
    digits = 10.0 ** (math.floor(math.log10(largest)) - 3)
    assert (
        largest
        < curvature_constant(m)
        == pytest.approx(digits * math.ceil(largest / digits), rel=1e-12)
    )


@pytest.mark.parametrize("m", [1, 2, 3])
def test_curvature_constants_are_attained(m):
    t, horizon = np.linspace(0.5, 1.0, 101), 200
    rows = bends(t, horizon, m)
    worst = int(np.abs(rows).sum(axis=1).argmax())
    u = SincBump(np.sign(rows[worst]), m)
    reached = np.abs(u(t) + (-1) ** m * u.derivative(t, 2 * m)).max()
    assert 0.99 * curvature_constant(m) <= reached <= curvature_constant(m)


def variation(v, m):
    """‖u'‖_{L1} as the sum of rises and falls between the zeros of u'."""
    u = SincBump(v, m)
    t = np.concatenate([[0.0], (np.arange((len(v) + 1) * 16) + 0.5) / 16 + 1e-4, [len(v) + 1.0]])
    slope = u.derivative(t)
    i = np.flatnonzero(slope[:-1] * slope[1:] < 0)
    roots = t[i] - slope[i] * (t[i + 1] - t[i]) / (slope[i + 1] - slope[i])
    roots = roots - u.derivative(roots) / u.derivative(roots, 2)
    return float(np.abs(np.diff(np.concatenate([[0.0], u(roots), [0.0]]))).sum())


@pytest.mark.parametrize("m", [1, 2, 3, 8])
def test_one_path_constant_serves_every_order(m):
    """‖u'‖₁ is convex in v, so steps 1[l ≥ j] are the worst; the longer, the worse, and the bump
    does not matter.
    """
    steps = [variation(np.arange(T) >= j, m) for T in (1, 2, 3, 9, 30) for j in range(T)]
    far = [variation(np.arange(T) >= T // 2, m) for T in (32, 64, 128)]
    assert max(*steps, far[0], far[1]) < far[2] < PATH_CONSTANT
    assert far[2] >= 0.99 * PATH_CONSTANT
    assert to_infinity(far) == pytest.approx(2.8780, abs=1e-3)


def test_the_path_constant_is_three_halves_of_a_norm():
    """C = (3‖D‖₁ + 1)/2 with D the slope of Σ_{l≥0} S(t − l): once for the step, half and ½ more
    for the end at T.

    D(y) = 2∫Ŝ(ω)(πω/sin πω) cos(2πωy) dω about the middle of the step; it is positive on the step,
    so the fall at the end is monotone and costs 1, and what comes before it costs what D has beyond
    the step, on one side.
    """
    nodes, weights = np.polynomial.legendre.leggauss(300)
    y, wave = (np.arange(96 * 64) + 0.5) / 64, 0.0
    for low, high in ((0.0, 0.25), (0.25, 0.75)):
        w = 0.5 * (low + high) + 0.5 * (high - low) * nodes
        height = np.minimum(1.0, 2 * (0.75 - w)) * np.pi * w / np.sin(np.pi * w)
        wave = wave + (high - low) * (
            np.cos(2 * np.pi * np.multiply.outer(y, w)) @ (weights * height)
        )
    assert (wave[y < 0.5] > 0.5).all()
    assert 2 * wave[y < 0.5].sum() / 64 == pytest.approx(1.0, abs=1e-4)
    norm = to_infinity([2 * np.abs(wave[y < T]).sum() / 64 for T in (24, 48, 96)])
    assert (3 * norm + 1) / 2 == pytest.approx(2.8780, abs=1e-3)


@pytest.mark.parametrize("m", [1, 2, 4])
def test_derivatives_of_the_interpolant(m):
    v = np.random.default_rng(3).standard_normal((12, 2))
    u, t, h = SincBump(v, m), np.random.default_rng(4).uniform(0.0, 13.0, 200), 1e-5
    t = t[np.abs(t[:, None] - [0.0, 1.0, 12.0, 13.0]).min(axis=1) > 1e-3]
    assert np.abs(u(np.arange(1.0, 13.0)) - v).max() <= 1e-12
    for n in range(1, 2 * m + 1):
        before = u.derivative if n > 1 else lambda t, _: u(t)
        difference = (before(t + h, n - 1) - before(t - h, n - 1)) / (2 * h)
        scale = np.abs(u.derivative(t, n)).max()
        assert np.abs(difference - u.derivative(t, n)).max() <= 1e-6 * scale * 4**m
        assert not u.derivative(np.array([-3.0, 0.0, 13.0, 20.0]), n).any()
        assert u.derivative(np.full((4, 3), 0.7), n).shape == (4, 3, 2)


def test_bad_orders_are_named():
    with pytest.raises(
        ValueError, match="n must be at most 2·order = 4: got 5; give SincBump a higher order"
    ):
        SincBump([1.0, 2.0], 2).derivative(0.5, 5)
    for call in (lambda m: bump(0.5, 3, m), lambda m: SincBump([1.0], m), curvature_constant):
        with pytest.raises(ValueError, match="order must be a positive whole number: got 0"):
            call(0)
        with pytest.raises(ValueError, match="order must be at most 8: got 9"):
            call(9)
    with pytest.raises(ValueError, match="order must be a positive whole number"):
        path_length([1.0, 2.0], order=0)
    with pytest.raises(ValueError, match="order must be at most 8"):
        path_length_norm(1.0, 1.0, 10, order=9)


def test_path_length_of_higher_order_is_of_differences_of_differences():
    u = np.array([[0.0, 1.0], [3.0, 1.0], [3.0, 5.0], [0.0, 5.0]])
    assert path_length(u, order=1) == path_length(u) == 3.0 + 4.0 + 3.0
    assert path_length(u, order=2) == pytest.approx(5.0 + 5.0)
    assert path_length(u, order=3) == 8.0  # (−3, 4) after (−3, −4), over one step
    t = np.arange(20.0)
    assert path_length(3 * t**2 - t, order=3) == 0.0
    assert path_length(t**3, order=3) == pytest.approx(6.0 * 17)
    assert path_length([1.0, 2.0], order=2) == path_length([1.0, 2.0], order=7) == 0.0


@pytest.mark.parametrize("m", [2, 3])
def test_path_length_norm_dominates_the_true_norm_at_order_m(m):
    rng, rounds = np.random.default_rng(0), 40
    kernel = HorizonFree(smoothness=m)
    with pytest.raises(ValueError, match=f"Theorem rkhs-to-pl at order {m - 1}"):
        path_length_norm(1.0, 1.0, rounds, order=m - 1, kernel=kernel)
    for dim in (1, 3):
        for u in (
            np.ones((rounds, dim)),
            rng.standard_normal((rounds, dim)),
            np.cumsum(rng.standard_normal((rounds, dim)), axis=0),
        ):
            limit = path_length_norm(path_length(u), magnitude(u), rounds, order=m, kernel=kernel)
            assert rkhs_norm(kernel, u) <= limit
    assert optimal_path_length(5.0, 1.0, rounds, order=m, kernel=kernel) > 0.0


def test_the_norm_of_the_interpolant_itself_obeys_the_theorem_at_order_2():
    """uᵀK⁻¹u on the integers and on a finer grid, both below ‖u‖² ≤ c_2(T)‖u'‖₁‖u + u''''‖_∞."""
    kernel, horizon = HorizonFree(taper=CONSISTENT, smoothness=2), 12
    t = (np.arange(100 * (horizon + 1)) + 0.5) / 100
    for v in (np.ones(horizon), (-1.0) ** np.arange(horizon)):
        u = SincBump(v, 2)
        bend = np.abs(u(t) + u.derivative(t, 4)).max()
        limit = (
            kernel.path_length_conditions(horizon, 2).constant
            * np.abs(u.derivative(t)).sum()
            / 100
            * bend
        )
        fine = np.arange(-2.0, horizon + 3.0, 0.25)
        coarse, finer = rkhs_norm(kernel, u(fine[::4]), fine[::4]), rkhs_norm(kernel, u(fine), fine)
        assert coarse <= finer * (1 + 1e-9)
        assert finer**2 <= limit


def test_the_printed_sign_is_false_at_order_2():
    """E6: f = sin⁶(πt/(T+1)) cos t has f'''' ≈ f, so ‖f − f''''‖_∞ falls like 1/T, while ‖f‖² grows
    like T.
    """
    kernel, horizon = HorizonFree(smoothness=2), 200_000
    f, (slope, minus, plus) = _wave(horizon, 4)
    frequency = np.arange(1, f.size // 2 + 1) * 4 / f.size
    square = float(
        2 * (np.abs(np.fft.rfft(f)[1:] / 4) ** 2 / kernel.density(frequency)).sum() * 4 / f.size
    )
    # one frequency
    assert square == pytest.approx(
        (f**2).sum() / 4 / float(kernel.density(1 / (2 * np.pi))), rel=1e-3
    )
    c = kernel.path_length_conditions(horizon, 2).constant
    assert square <= c * slope.sum() / 4 * plus.max()
    printed = printed_constant(kernel, horizon, 2)
    assert printed == pytest.approx(19.87 * c, rel=1e-3)  # larger R, half the factor
    assert square > 1.5 * printed * slope.sum() / 4 * minus.max()

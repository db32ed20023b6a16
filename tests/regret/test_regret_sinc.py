"""The paper's interpolant: its values, derivatives, and the constants of erratum E16."""

import math

import numpy as np
import pytest

from stillpoint.regret import (
    PATH_CONSTANT,
    SincBump,
    bump,
    curvature_constant,
    path_length,
    sinc_product,
)
from stillpoint.regret.sinc import _product

RNG_SEED = 12


def basis(t, horizon, order):
    """Row t: what each u_l contributes to the order-th derivative of the interpolant at t."""
    u = SincBump(np.eye(horizon))
    return u.derivative(t, order) if order else u(t)


def grid(low, high, per_unit):
    """Midpoints, for sums that stand for integrals."""
    n = round((high - low) * per_unit)
    return low + (np.arange(n) + 0.5) / per_unit


def test_bump():
    t = np.array([-1.0, 0.0, 0.5, 1.0, 2.5, 4.0, 4.5, 5.0, 6.0])
    assert bump(t, 4) == pytest.approx([0.0, 0.0, 0.5, 1.0, 1.0, 1.0, 0.5, 0.0, 0.0])
    x = np.linspace(0.0, 1.0, 50)
    assert bump(x, 3) == pytest.approx(10 * x**3 - 15 * x**4 + 6 * x**5)
    assert bump(x, 3) == pytest.approx(bump(4.0 - x, 3))
    fine = grid(0.0, 1.0, 100_000)
    slope = np.gradient(bump(fine, 1), fine)
    assert slope.max() == pytest.approx(15 / 8, rel=1e-8)
    assert np.abs(np.gradient(slope, fine)[2:-2]).max() == pytest.approx(
        10 / math.sqrt(3), rel=1e-6
    )
    with pytest.raises(ValueError, match="horizon"):
        bump(0.5, 0)


def test_sinc_product():
    x = np.linspace(-30.3, 30.3, 1000)
    closed = (np.cos(math.pi * x / 2) - np.cos(3 * math.pi * x / 2)) / (math.pi * x) ** 2
    assert sinc_product(x) == pytest.approx(closed, abs=1e-14)
    assert sinc_product(np.arange(-5, 6)) == pytest.approx(np.eye(11)[5], abs=1e-16)
    assert (np.abs(sinc_product(x)) <= 1 / (1 + 2 * x**2) + 1e-15).all()
    tiny = np.array([0.0, 1e-300, 1e-9, 1e-4])
    assert sinc_product(tiny) == pytest.approx(1 - 5 * math.pi**2 * tiny**2 / 24, abs=1e-15)


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_of_the_product(order):
    """Central differences; across the switch from series to quotient at |x| = ½ and 1 too."""
    x = np.concatenate(
        [np.linspace(-8.0, 8.0, 401), 0.5 + np.linspace(-1e-3, 1e-3, 21), [1.0, -1.0, 1e-8]]
    )
    h = 1e-3
    values = [_product(x + k * h, order)[order - 1] for k in (-2, -1, 1, 2)]
    difference = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
    assert _product(x, order)[order] == pytest.approx(difference, abs=1e-9)


@pytest.mark.parametrize("shape", [(1,), (2,), (25,), (200,), (25, 3)])
def test_interpolation_and_derivatives(shape):
    v = np.random.default_rng(RNG_SEED).standard_normal(shape)
    horizon, u = shape[0], SincBump(v)
    assert np.abs(u(np.arange(1.0, horizon + 1.0)) - v).max() <= 1e-12
    outside = np.array([-3.0, 0.0, horizon + 1.0, horizon + 7.5])
    for function in (u, u.derivative, lambda t: u.derivative(t, 2)):
        assert not function(outside).any()
        assert function(0.7).shape == shape[1:]
        assert function(np.full((4, 2), 0.7)).shape == (4, 2, *shape[1:])
    t = np.random.default_rng(RNG_SEED).uniform(0.0, horizon + 1.0, 300)
    h = 1e-5
    assert np.abs((u(t + h) - u(t - h)) / (2 * h) - u.derivative(t)).max() <= 1e-7
    slope = (u.derivative(t + h) - u.derivative(t - h)) / (2 * h)
    # u'' has kinks at the four ends of the bump's sides
    assert np.abs(slope - u.derivative(t, 2)).max() <= 2e-3
    smooth = np.abs(t[:, None] - [0.0, 1.0, horizon, horizon + 1.0]).min(axis=1) > 2 * h
    assert np.abs(slope - u.derivative(t, 2))[smooth].max() <= 1e-6


def test_lebesgue_constants():
    """sup_t Σ_l |S^(k)(t − l)| of E16e."""
    t = np.linspace(0.0, 1.0, 201)
    rows = _product(t[:, None] - np.arange(-4000.0, 4001.0), 2)
    for row, constant in zip(rows, (math.sqrt(2), 3.3478, 11.114), strict=True):
        assert np.abs(row).sum(axis=1).max() == pytest.approx(constant, rel=2e-4)


@pytest.mark.parametrize(
    ("horizon", "path", "curvature"), [(5, 2.592, 12.53), (20, 2.814, 12.84), (100, 2.867, 12.91)]
)
def test_least_constants(horizon, path, curvature):
    """E16f. ‖u'‖_1 is convex in v, so its largest value on ‖v_1‖ + P_T ≤ 1 is at a step, v = 1[l ≥
    k].
    """
    t = grid(0.0, horizon + 1.0, 400)
    steps = np.cumsum(basis(t, horizon, 1)[:, ::-1], axis=1)
    largest = np.abs(steps).mean(axis=0).max() * (horizon + 1)
    assert round(largest, 3) == path
    assert largest <= PATH_CONSTANT
    ends = np.linspace(0.0, min(horizon + 1.0, 4.0), 4001)
    largest = np.abs(basis(ends, horizon, 0) - basis(ends, horizon, 2)).sum(axis=1).max()
    assert largest == pytest.approx(curvature, abs=0.01)
    assert largest <= curvature_constant()


def test_the_curvature_constant_is_above_that_of_the_errata():
    """E16f prints 12.93, the value at T = 400; the least constant keeps growing, to 12.9346."""
    t = np.linspace(0.865, 0.88, 16)
    short, long = (np.abs(basis_rows(t, horizon)).sum(axis=1).max() for horizon in (2_000, 100_000))
    assert 12.93 < short < long < 12.935 < curvature_constant()


def basis_rows(t, horizon):
    """u − u'' at t < 1, a row a time, without the identity matrix that `basis` needs."""
    s, ds, dds = _product(t[:, None] - np.arange(1.0, horizon + 1.0), 2)
    b, db, ddb = (
        10 * t**3 - 15 * t**4 + 6 * t**5,
        30 * t**2 * (1 - t) ** 2,
        60 * t * (1 - t) * (1 - 2 * t),
    )
    return b[:, None] * (s - dds) - 2 * db[:, None] * ds - ddb[:, None] * s


@pytest.mark.parametrize("dim", [1, 3])
def test_constants_on_random_sequences(dim):
    rng = np.random.default_rng(RNG_SEED)
    for horizon in (1, 2, 7, 40):
        t = grid(0.0, horizon + 1.0, 100)
        for scale in (0.01, 1.0):
            v = 1.0 + np.cumsum(scale * rng.standard_normal((horizon, dim)), axis=0)
            u = SincBump(v)
            length = np.linalg.norm(u.derivative(t), axis=1).mean() * (horizon + 1)
            assert length <= PATH_CONSTANT * (np.linalg.norm(v[0]) + path_length(v))
            most = np.linalg.norm(u(t) - u.derivative(t, 2), axis=1).max()
            assert most <= curvature_constant() * np.linalg.norm(v, axis=1).max()


def test_what_the_paper_claims_and_is_false():
    """E16c: ‖f'‖_1 ≤ 2|v_1| + 2P_T fails for a constant sequence. E16e: |f''| ≤ 12 max|v|, but not
    |f'''|.
    """
    t = np.arange(-2000.0, 2051.0, 0.01)
    f = sum(sinc_product(t - at) for at in range(1, 51))
    variation = np.abs(np.diff(f)).sum()
    assert variation > 2.0
    assert variation == pytest.approx(3.17, abs=0.01)
    assert variation <= 1.586 * (1.0 + 0.0 + 1.0)  # with the end term that the proof dropped
    x = np.arange(-3.0, 3.0, 0.01)
    alternating = (-1.0) ** np.arange(-2000, 2001)
    second = _product(x[:, None] - np.arange(-2000.0, 2001.0), 2)[2] @ alternating
    assert np.abs(second).max() <= 12.0
    assert np.abs(np.gradient(second, x)).max() == pytest.approx(math.pi**3, rel=1e-2)
    assert math.pi**3 > 12.0


def test_bad_sequences_are_named():
    with pytest.raises(ValueError, match="u must"):
        SincBump([[[1.0]]])
    with pytest.raises(ValueError, match="t must be finite"):
        SincBump([1.0])(math.nan)

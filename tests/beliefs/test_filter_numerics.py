"""The filter core at long range and tiny ridges, against the same recursion in extended
precision.
"""

import tracemalloc

import numpy as np
import pytest

import stillpoint as sp
from cases import MARKOV
from stillpoint.beliefs import _kalman
from stillpoint.beliefs.belief import Belief, SharedBelief
from stillpoint.forecasters.uniform_grid import UniformGrid
from stillpoint.kernels import (
    OU,
    Constant,
    HorizonFree,
    Matern32,
    Matern52,
    OUMixture,
    Periodic,
    Spline,
)
from stillpoint.kernels.state_space import Exponentials
from stillpoint.kernels.sum_coordinates import SumCoordinates, merged
from thorough import THOROUGH

Long = np.longdouble
SPREAD = OUMixture(tuple(np.logspace(-6, 0, 6)), (1.0,) * 6)
EXTENDED = np.finfo(Long).eps < 1e-18
needs_extended = pytest.mark.skipif(
    not EXTENDED, reason="needs 80-bit floats, which this platform has not"
)


def extended(rates, weights, ridges, y, gaps):
    """KernelVAW of a mixture in sum coordinates and extended precision, one column a ridge:
    forecasts, (log det, d_eff).
    """
    order = np.argsort(rates)
    a, c = np.asarray(rates, Long)[order], np.asarray(weights, Long)[order]
    R = np.asarray(ridges, Long)
    J, K = a.size, R.size
    C = np.zeros((K, J, J), Long)
    C[:] = np.diag(c)
    C[:, 0, :] = C[:, :, 0] = c
    C[:, 0, 0] = c.sum()
    D, x = C.copy(), np.zeros((K, J), Long)
    out, logs, dims = np.empty((y.size, K), Long), np.zeros(K, Long), np.zeros(K, Long)
    eye = np.eye(J, dtype=Long)
    for t, (target, gap) in enumerate(zip(y, gaps, strict=True)):
        if t:
            f, q = np.exp(-a * gap), -c * np.expm1(-2 * a * gap)
            F, Q = np.diag(f), np.diag(q)
            F[0, 1:] = f[0] * np.expm1((a[0] - a[1:]) * gap)
            Q[0] = Q[:, 0] = q
            Q[0, 0] = q.sum()
            C, D, x = F @ C @ F.T + Q, F @ D @ F.T + Q, x @ F.T
        p = C[:, 0, 0]
        S = p + R
        out[t] = R / S * x[:, 0]
        logs += np.log1p(p / R)
        dims += D[:, 0, 0] / S
        gain = C[:, :, 0] / S[:, None]
        left = eye - gain[:, :, None] * eye[0]
        left[:, 0, 0] = R / S
        x = x + gain * (Long(target) - x[:, :1])
        D = left @ D @ left.transpose(0, 2, 1)
        fresh = C - gain[:, :, None] * C[:, None, 0, :]
        fresh[:, 0, :] = fresh[:, :, 0] = (R / S)[:, None] * C[:, :, 0]
        C = fresh
    return out, logs, dims


def error(ours, reference):
    return float(np.abs(ours - reference).max() / np.abs(reference).max())


def compare(kernel, ridges, y, times, tolerance):
    """Hold bulk forecasts, log det and d_eff of each ridge to the extended filter."""
    space = merged(kernel.state_space())
    reference, logs, dims = extended(
        space.rates, space.weights, ridges, y, np.diff(times, prepend=0.0)
    )
    for k, ridge in enumerate(ridges):
        model = sp.KernelVAW(kernel=kernel, ridge=ridge)
        assert error(model.track(y, times), reference[:, k]) < tolerance, ridge
        assert model.log_det == pytest.approx(float(logs[k]), rel=1e-10)
        assert model.effective_dimension == pytest.approx(float(dims[k]), rel=1e-9)


def signal(rounds, seed=0):
    return np.sin(np.arange(rounds) / 300) + np.random.default_rng(seed).standard_normal(rounds)


@needs_extended
@pytest.mark.parametrize("gaps", ["equal", "mixed"])
def test_filters_agree_with_extended_precision(gaps):
    y = signal(4_000 if THOROUGH else 1_500)
    times = np.cumsum(
        np.ones(y.size)
        if gaps == "equal"
        else np.random.default_rng(1).choice([0.25, 1.0, 3.0], y.size)
    )
    compare(SPREAD, [1e-8, 1e-2, 1.0, 1e4], y, times, 1e-11)


@needs_extended
@pytest.mark.slow
def test_a_million_rounds_agree_with_extended_precision():
    rounds = 1_000_000
    compare(
        OUMixture((0.0, 1e-9, 1e-4, 1e-1), (1.0,) * 4),
        [1e-8, 1e-2, 1.0, 1e4],
        signal(rounds),
        np.arange(1.0, rounds + 1),
        1e-10,
    )


@needs_extended
def test_nearly_still_components_and_a_tiny_ridge():
    """The one regime where the standard form fails: sum coordinates are chosen
    for it, and hold.
    """
    rates = tuple(1e-9 * np.arange(1, 9))
    kernel, y = OUMixture(rates, (1.0,) * 8), signal(3_000)
    assert isinstance(SharedBelief(kernel, 1, 1e-8).space, SumCoordinates)
    assert isinstance(SharedBelief(kernel, 1, 1e-2).space, Exponentials)
    compare(kernel, [1e-8], y, np.arange(1.0, y.size + 1), 1e-9)


def test_sum_coordinates_are_the_same_kernel():
    space = SPREAD.state_space()
    other = SumCoordinates(space)
    change = np.eye(6)
    change[0] = 1.0  # rates are in order, so that x_1 is the slowest
    for gap in (0.3, 7.0):
        full = change @ np.diag(space.transition(gap)[0]) @ np.linalg.inv(change)
        assert np.allclose(other.matrix(gap), full, atol=1e-15)
        assert np.allclose(
            other.noise(gap, 0.0), change @ space.noise(gap, 0.0) @ change.T, atol=1e-15
        )
    assert np.allclose(other.covariance(0.0), change @ space.covariance(0.0) @ change.T)


@pytest.mark.parametrize("kernel", [SPREAD, HorizonFree(), OU(0.1) + OU(0.01) * 2.0 + Constant()])
def test_tiny_ridges_give_the_numbers_of_calls_in_bulk(kernel):
    y = signal(60)
    bulk, single = (sp.KernelVAW(kernel=kernel, ridge=1e-9) for _ in range(2))
    forecasts = bulk.track(y)
    for t, target in enumerate(y):
        assert single.predict() == pytest.approx(forecasts[t], rel=1e-10, abs=1e-12)
        single.update(target)
    assert bulk.effective_dimension == pytest.approx(single.effective_dimension, rel=1e-12)


def test_equal_rates_are_merged():
    kernel = OU(0.1) + 2.0 * OU(0.1) + OU(0.05) * OU(0.05) + OU(0.3)
    space = Belief(kernel, 1, 1).space
    assert np.allclose(space.rates, [0.1, 0.3])
    assert np.allclose(space.weights, [4.0, 1.0])
    assert merged(Spline(1.0).state_space()).size == 1
    assert merged((OU(0.1) + Matern32(0.1)).state_space()).size == 3


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("times", ["default", "tenths"])
def test_the_grid_is_left_without_a_trace(outputs, times, tmp_path):
    """Bulk rounds on the uniform grid, saved on it, then calls, a gap, more rounds: the numbers of
    calls alone.
    """
    rng = np.random.default_rng(2)
    y = rng.standard_normal((90, outputs)) if outputs > 1 else rng.standard_normal(90)
    when = 0.1 * np.arange(1, 91) if times == "tenths" else np.arange(1.0, 91.0)
    when[70:] += 2.5
    model, twin = (sp.KernelVAW(kernel=SPREAD, ridge=0.3, outputs=outputs) for _ in range(2))
    forecasts = [
        *model.track(y[:20], when[:20]),
        *model.track(y[20:50], when[20:50]),
    ]
    assert isinstance(model._grid, UniformGrid)
    sp.save(model, tmp_path / "model")
    copy = sp.load(tmp_path / "model")
    rest = model.track(y[50:60], when[50:60])
    assert np.array_equal(copy.track(y[50:60], when[50:60]), rest)
    forecasts += [*rest]
    for t in range(60, 65):
        forecasts.append(model.predict(time=when[t]))
        model.update(y[t])
    assert model._grid is None
    forecasts += [*model.track(y[65:], when[65:])]
    for t, target in enumerate(y):
        assert np.allclose(twin.predict(time=when[t]), forecasts[t], rtol=1e-10, atol=1e-13)
        twin.update(target)
    for value in ("log_det", "effective_dimension", "rounds", "time"):
        assert getattr(model, value) == pytest.approx(getattr(twin, value), rel=1e-11)
    assert model.certificate(2.0) == pytest.approx(twin.certificate(2.0), rel=1e-11)


def test_the_grid_is_for_what_it_holds_for():
    def fits(kernel, ridge):
        return UniformGrid.fits(SharedBelief(kernel, 1, ridge), ridge)

    assert fits(SPREAD, 1.0)
    assert fits(HorizonFree(), 1.0)
    assert not fits(SPREAD, 1e-9)  # sum coordinates
    assert not fits(Spline(1.0), 1.0)  # grows
    assert not fits(Matern32(0.1) + SPREAD, 1.0)  # F is not diagonal
    model = sp.KernelVAW(kernel=SPREAD)
    model.track(signal(10), np.cumsum(np.linspace(1, 2, 10)))
    assert model._grid is None


@pytest.mark.parametrize(("start", "gap"), [(1e9, 1e-6), (1e9, 1e-3), (1.7e9, 0.1), (0.0, 0.1)])
def test_times_whose_rounding_shows_are_not_a_grid(start, gap):
    """Seconds since 1970 tell microseconds apart, but no two of their gaps are equal: bulk gives
    the numbers of calls.
    """
    kernel, y = OUMixture((0.1 / gap, 0.3 / gap, 1.0 / gap), (1.0,) * 3), signal(300) + 1.0
    times = start + gap * np.arange(1, 301)
    bulk, single = sp.KernelVAW(kernel=kernel), sp.KernelVAW(kernel=kernel)
    forecasts = bulk.track(y, times)
    for t, target in enumerate(y):
        assert single.predict(time=times[t]) == pytest.approx(forecasts[t], abs=1e-9)
        single.update(target)
    assert bulk.log_det == pytest.approx(single.log_det, rel=1e-9)


@pytest.mark.parametrize(
    "kernel", [Matern52(0.1), Matern52(1e-3) + Constant(), Matern32(1e-2) + OU(0.1)]
)
@pytest.mark.parametrize("ridge", [1e-100, 1e-40, 1e-20])
def test_variances_that_rounding_makes_negative_are_zero(kernel, ridge):
    rng = np.random.default_rng(0)
    y, times = rng.standard_normal(200), np.cumsum(rng.choice([1e-9, 1.0, 100.0], 200))
    bulk, single = (
        sp.KernelVAW(kernel=kernel, ridge=ridge),
        sp.KernelVAW(kernel=kernel, ridge=ridge),
    )
    learner = sp.StronglyConvex(1, kernel=kernel, curvature=1.0, ridge=ridge)
    forecasts = bulk.track(y, times)
    for t, target in enumerate(y):
        assert single.predict(time=times[t]) == pytest.approx(forecasts[t], rel=1e-9, abs=1e-12)
        assert single.variance >= 0.0
        single.update(target)
        learner.update(learner.predict(time=times[t]) - target)
    for model in (bulk, single):
        assert np.isfinite(
            [model.certificate(1.0), model.bound(1.0), model.effective_dimension]
        ).all()
    assert np.isfinite(learner.certificate(1.0))


def test_log_determinants_of_huge_variances_are_finite():
    """v/λ is 1e40 and then 1e300: the product that logarithms are taken of must not overflow on the
    way.
    """
    kernel, times = 1e200 * Spline(), np.append(1e-260, np.cumsum(np.ones(5)))
    bulk, single = (
        sp.KernelVAW(kernel=kernel, ridge=1e-100),
        sp.KernelVAW(kernel=kernel, ridge=1e-100),
    )
    bulk.track(np.ones(6), times)
    for time in times:
        single.predict(time=time)
        single.update(1.0)
    assert np.isfinite(single.log_det)
    assert bulk.log_det == pytest.approx(single.log_det, rel=1e-12)


@pytest.mark.parametrize("name", MARKOV)
def test_many_gaps_at_once_are_each_of_them(name):
    space, gaps, starts = (
        MARKOV[name].state_space(),
        np.array([0.0, 1e-9, 0.3, 7.0]),
        np.array([1.0, 0.5, 2.0, 4.0]),
    )
    transitions, noises = space.moves(gaps, starts)
    for i, (gap, start) in enumerate(zip(gaps, starts, strict=True)):
        np.testing.assert_allclose(transitions[i], space.transition(gap), rtol=1e-15)
        np.testing.assert_allclose(noises[i], space.noise(gap, start), rtol=1e-15)
    if space.diagonal:
        falls, kicks = space.diagonal_moves(gaps, starts)
        np.testing.assert_allclose(falls, transitions[:, 0], rtol=1e-15)
        np.testing.assert_allclose(kicks, np.diagonal(noises, axis1=1, axis2=2), rtol=1e-15)


def test_gaps_that_all_differ_take_no_matrix_each():
    P, rng = 200, np.random.default_rng(3)
    model, times = (
        sp.KernelVAW(kernel=OUMixture(tuple(np.logspace(-4, 0, P)), (1.0,) * P)),
        np.cumsum(rng.random(500) + 0.1),
    )
    model.track(signal(2), times[:2] - 10.0)
    tracemalloc.start()
    model.track(signal(500), times)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6  # 500 matrices of 200 × 200 are 160e6


def test_gaps_below_the_smallest_are_mentioned():
    y, times = signal(6), 1e-3 * np.arange(1, 7)
    with pytest.warns(
        RuntimeWarning, match=r"time gaps go below the kernel's min_gap 1, .* min_gap=0\.00097656"
    ):
        sp.KernelVAW(kernel=HorizonFree()).track(y, times)
    model = sp.TrackingVAW(1, kernel=HorizonFree())
    model.update([1.0], 1.0)
    with pytest.warns(RuntimeWarning, match=r"build the kernel with min_gap=0\.5"):
        model.predict([1.0], time=1.5)


@pytest.mark.parametrize(
    "kernel", [Matern32(1.0), Matern52(1.0), OU(1.0), SPREAD, Matern52(1.0) * OU(0.1)]
)
def test_after_a_gap_of_any_length_the_prior_is_back(kernel):
    bulk, single = sp.KernelVAW(kernel=kernel), sp.KernelVAW(kernel=kernel)
    forecasts = bulk.track(np.ones(3), [1.0, 2.0, 1e200])
    for t, time in enumerate((1.0, 2.0, 1e200)):
        assert single.predict(time=time) == pytest.approx(forecasts[t], rel=1e-12)
        single.update(1.0)
    assert forecasts[2] == 0.0


@pytest.mark.parametrize("blocks", [1, 3])
def test_moves_that_skip_zeros_have_the_same_bits(blocks):
    space = (OU(0.1) + Periodic(24.0) + Matern52(0.3)).state_space()
    rng, F, Q = np.random.default_rng(4), space.matrix(1.3), space.noise(1.3, 0.0)
    factor = rng.standard_normal((blocks * space.size, blocks * space.size))
    full = factor @ factor.T
    full = 0.5 * (full + full.T)
    sparse, scratch = full.copy(), np.empty(full.shape)
    _kalman._propagate_full(full, F, Q, scratch)
    _kalman._propagate_sparse(sparse, F, Q, scratch)
    assert np.array_equal(full, sparse)
    assert not np.array_equal(full, factor @ factor.T)

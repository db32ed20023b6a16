"""Bounds, prior variances and beliefs at the edge of their scope, each against its formula."""

import numpy as np
import pytest

import stillpoint as sp
from cases import TIMES, Opaque
from stillpoint.beliefs.belief import SharedBelief
from stillpoint.beliefs.dense import DenseBelief
from stillpoint.beliefs.directions import directions
from stillpoint.forecasters.aggregation import ExponentialWeights, MLPoly, Vovk
from stillpoint.forecasters.kernel_forecaster import KernelForecaster
from stillpoint.forecasters.uniform_grid import UniformGrid
from stillpoint.forecasters.variation import VariationForecaster
from stillpoint.kernels import OU, Dirac, Gaussian, OUMixture, Spline
from stillpoint.kernels.sum_coordinates import SumCoordinates

MIXTURE = OUMixture([0.3, 0.05, 0.01], [1.0, 0.5, 2.0])


@pytest.mark.parametrize("ridge", [0.3, 1.0, 4.0])
def test_newton_bounds_are_their_formulas(ridge):
    kernel, rng, curvature = OU(0.1), np.random.default_rng(0), 0.7
    strongly = sp.StronglyConvex(2, kernel=kernel, curvature=curvature, ridge=ridge)
    directed = sp.ExpConcave(2, kernel=kernel, curvature=curvature, ridge=ridge)
    g = rng.standard_normal((25, 2))
    for row in g:
        strongly.update(row)
        directed.update(row)
    gram, norm = kernel.gram(np.arange(1.0, 26.0)), 3.0
    plain, weighted = (
        np.linalg.slogdet(np.eye(25) + curvature / ridge * k)[1] for k in (gram, gram * (g @ g.T))
    )
    top = (g * g).sum(axis=1).max()
    assert strongly.bound(norm) == pytest.approx(
        0.5 * ridge * norm**2 + top * plain / (2 * curvature), rel=1e-10
    )
    assert directed.bound(norm) == pytest.approx(
        0.5 * ridge * norm**2 + weighted / (2 * curvature), rel=1e-10
    )
    for learner in (strongly, directed):
        assert learner.certificate(norm) - learner.certificate(0.0) == pytest.approx(
            0.5 * ridge * norm**2
        )


@pytest.mark.parametrize(
    "kernel", [OU(0.1), Spline(1.0), Spline(1.0) + Dirac(0.5), MIXTURE + Dirac(0.3), Gaussian(2.0)]
)
def test_prior_variances_are_the_kernels(kernel):
    belief, a = directions(kernel, 2, 1.0), np.array([1.0, -2.0])
    for time in (1.0, 3.5, 20.0):
        belief.advance(time)
        assert belief.prior(a) == pytest.approx(5.0 * float(kernel.diagonal(time)), rel=1e-12)
        belief.observe(belief.look(a)[1] + 1.0, 0.3)


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("noise", [1e-7, 1e-5])
def test_tiny_noises_agree_with_dense_beliefs(noise, times):
    streaming, dense = SharedBelief(MIXTURE, 1, noise), DenseBelief(MIXTURE, 1, noise)
    assert isinstance(streaming.space, SumCoordinates) == (noise == 1e-7)
    for time, y in zip(
        TIMES[times], np.random.default_rng(1).standard_normal((40, 1)), strict=True
    ):
        for belief in (streaming, dense):
            belief.advance(time)
        assert streaming.mean == pytest.approx(dense.mean, rel=1e-6, abs=1e-6)
        assert streaming.variance == pytest.approx(dense.variance, rel=1e-6)
        for belief in (streaming, dense):
            belief.observe(belief.variance + noise, y - belief.mean)
    assert streaming.effective_dimension() == pytest.approx(dense.effective_dimension(), rel=1e-6)


def test_the_grid_ends_where_digits_would_go():
    belief = SharedBelief(MIXTURE, 1, 1.0)  # k(t, t) = 3.5
    assert UniformGrid.fits(belief, 3.6e-6)
    assert not UniformGrid.fits(belief, 3.4e-6)
    assert not UniformGrid.fits(SharedBelief(OUMixture([0.1, 0.2], [1.0, 1.0]), 1, 1.0), 1.0)


@pytest.mark.parametrize("kernel", [MIXTURE, MIXTURE + Dirac(0.3)])
def test_rounds_on_a_grid_are_dense_ones(kernel):
    y = np.random.default_rng(2).standard_normal(60)
    ours, dense = (
        sp.KernelVAW(kernel=kernel, ridge=0.5),
        sp.KernelVAW(kernel=Opaque(kernel), ridge=0.5),
    )
    assert np.allclose(ours.track(y), dense.track(y), rtol=1e-9, atol=1e-12)
    assert ours.certificate(2.0) == pytest.approx(dense.certificate(2.0), rel=1e-10)
    assert ours.effective_dimension == pytest.approx(dense.effective_dimension, rel=1e-9)


def test_dense_forecasters_save_before_their_first_round():
    for make in (
        lambda: sp.KernelVAW(kernel=Gaussian(2.0)),
        lambda: sp.StronglyConvex(2, kernel=Gaussian(2.0), curvature=1.0),
    ):
        fresh, restored = make(), make()
        restored.restore(fresh.arrays())
        assert np.array_equal(restored.predict(), fresh.predict())


@pytest.mark.parametrize("kind", [Vovk, ExponentialWeights, MLPoly])
@pytest.mark.parametrize("index", [-1, True, 1.0, 0])
def test_experts_are_counted_from_the_first(kind, index):
    with pytest.raises(ValueError, match="index must be that of an expert"):
        kind().bound(index)


def surprise(r, level):
    """ln 1/π of the specialist that starts in round r·2^level, as the class states it."""
    return np.log(2.109743 * (r + 1) * np.log(r + 1) ** 2 * (level + 1) * (level + 2) / 0.01)


def test_variation_bounds_are_their_formulas():
    y = 3.0 * np.random.default_rng(3).standard_normal(45)
    model = VariationForecaster()
    model.track(y)
    before = np.array([np.ptp(y[:t]) for t in range(1, 45)])
    W, first, widening = (
        np.ptp(y),
        0.5 * y[0] ** 2,
        (before * np.diff(np.append(before, np.ptp(y)))).sum(),
    )
    for start, end in ((1, 1), (1, 45), (2, 3), (8, 45), (13, 29), (24, 26), (45, 45)):
        total, a = widening, start
        while a <= end:
            level = (a & -a).bit_length() - 1
            n = min(2**level, end + 1 - a)
            total += (
                first
                if a == 1
                else W * W * (0.25 * surprise(a >> level, level) + 0.5 * (1 + np.log(1 + n)))
            )
            a += 2**level
        assert model.interval_bound(start, end) == pytest.approx(total, rel=1e-12)
    piece = (
        W * W * sum(0.25 * surprise(45 >> k, k) + 0.5 * (1 + np.log(1 + 2**k)) for k in range(6))
    )
    for pieces in (1, 4):
        assert model.bound(pieces) == pytest.approx(pieces * piece + widening + first, rel=1e-12)
    for variation in (0.0, 0.7, 20.0, 1e6):
        M = min(1 + (90.0 * (variation / W) ** 2) ** (1 / 3), 45.0)
        assert model.variation_bound(variation) == pytest.approx(
            M * (piece + 0.5 * W * W) + widening + first, rel=1e-12
        )


@pytest.mark.parametrize("gap", [0.01, 1.0, 3.0])
def test_ridges_join_by_rounds_or_by_time_whichever_is_more(gap):
    model = KernelForecaster()
    for t in range(1, 40):
        model.predict(time=gap * t)
        model.update(np.sin(t))
        assert model.weights.size == 1 + np.ceil(np.log2(max(t, gap * (t - 1) + 1.0)))

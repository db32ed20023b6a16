"""Bounds by the effective dimension: each the formula from the Gram matrix, above the log-det bound
it comes from, and sharp.
"""

import numpy as np
import pytest

import stillpoint as sp
from cases import TIMES, respond
from stillpoint import checks
from stillpoint.core import container
from stillpoint.core.persist import pack, unpack
from stillpoint.domains import Ball
from stillpoint.kernels import OU, Constant, Gaussian, Matern32, Spline
from stillpoint.learners._constrained import AT
from stillpoint.regret import log_det_bound, rkhs_norm
from thorough import some

KERNELS = {"ou": OU(0.1), "spline": Spline(1.0), "matern": Matern32(0.2), "gaussian": Gaussian(3.0)}


def spectrum(gram, ridge):
    """log det(I + K/λ), d_eff(λ), λ_max and Tr K."""
    values = np.maximum(np.linalg.eigvalsh(gram), 0.0)
    return (
        np.log1p(values / ridge).sum(),
        (values / (values + ridge)).sum(),
        values.max(),
        values.sum(),
    )


def formula(gram, ridge):
    """The dimension's form of log det(I + K/λ), once it is seen to be above, with the largest
    eigenvalue and with the trace.
    """
    log_det, dimension, largest, trace = spectrum(gram, ridge)
    exact = dimension * np.log(np.e + np.e * largest / ridge)
    assert log_det <= exact <= dimension * np.log(np.e + np.e * trace / ridge)
    return dimension * np.log(np.e + np.e * trace / ridge)


@pytest.mark.parametrize("seed", range(5))
def test_the_lemma_holds_for_every_spectrum_and_is_sharp_for_small_ones(seed):
    rng = np.random.default_rng(seed)
    for size in 10.0 ** np.arange(-8, 9.0):
        values = size * rng.exponential(size=20) ** 3
        log_det, dimension = np.log1p(values).sum(), (values / (1 + values)).sum()
        for largest in (values.max(), values.sum()):
            assert log_det <= log_det_bound(dimension, largest, 1.0)
        if size <= 1e-5:
            assert log_det_bound(dimension, values.max(), 1.0) <= log_det * (1 + 1e-2)
    assert log_det_bound(0.0, 0.0, 1.0) == 0.0
    assert log_det_bound(2.0, np.inf, 1.0) == np.inf
    assert log_det_bound(2.0, 3.0, 0.5) == pytest.approx(2.0 * np.log(np.e + np.e * 6.0))
    with pytest.raises(ValueError, match="ridge must be positive"):
        log_det_bound(1.0, 1.0, 0.0)


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("ridge", [0.1, 2.0])
@pytest.mark.parametrize("name", KERNELS)
def test_forecasters_state_it(name, ridge, times):
    kernel, when, rng = KERNELS[name], TIMES[times], np.random.default_rng(0)
    y, x = rng.standard_normal(when.size), rng.standard_normal((when.size, 2))
    gram = kernel.gram(when)
    alone, rows = sp.KernelVAW(kernel=kernel, ridge=ridge), sp.KernelVAW(kernel=kernel, ridge=ridge)
    contexts, bulk = (sp.TrackingVAW(2, kernel=kernel, ridge=ridge) for _ in "ab")
    alone.track(y, when)
    bulk.track(x, y, when)
    for t, time in enumerate(when):
        rows.predict(time=time)
        rows.update(y[t])
        contexts.predict(x[t], time=time)
        contexts.update(x[t], y[t])
    for models, K in (((alone, rows), gram), ((contexts, bulk), gram * (x @ x.T))):
        for model in models:
            expected = ridge / 2 * 9.0 + np.max(y**2) / 2 * formula(K, ridge)
            assert model.dimension_bound(3.0) == pytest.approx(expected, rel=1e-7)
            assert model.certificate(3.0) <= model.bound(3.0) <= model.dimension_bound(3.0)


@pytest.mark.parametrize("times", some(TIMES, every=2))
@pytest.mark.parametrize("name", KERNELS)
def test_newton_learners_state_it(name, times):
    kernel, when, rng = KERNELS[name], TIMES[times], np.random.default_rng(1)
    y = np.sin(when / 5.0)[:, None] + 0.3 * rng.standard_normal((when.size, 2))
    gram, beta, ridge = kernel.gram(when), 0.5, 0.7
    strong = sp.StronglyConvex(2, kernel=kernel, curvature=beta, ridge=ridge)
    _, gradients = respond(strong, lambda t, w: beta * (w - y[t]), when)
    top = (gradients**2).sum(axis=1).max()
    expected = ridge / 2 * 4.0 + top / (2 * beta) * formula(gram, ridge / beta)
    assert strong.dimension_bound(2.0) == pytest.approx(expected, rel=1e-7)
    assert strong.certificate(2.0) <= strong.bound(2.0) <= strong.dimension_bound(2.0)
    concave = sp.ExpConcave(
        2, kernel=kernel, curvature=beta, ridge=ridge, domain=Ball(0.8), track_dimension=True
    )
    _, gradients = respond(concave, lambda t, w: w - y[t], when)
    expected = ridge / 2 * 4.0 + formula(gram * (gradients @ gradients.T), ridge / beta) / (
        2 * beta
    )
    assert concave.dimension_bound(2.0) == pytest.approx(expected, rel=1e-7)
    assert concave.certificate(2.0) <= concave.bound(2.0) <= concave.dimension_bound(2.0)


@pytest.mark.parametrize("lipschitz", [2.0, None])
@pytest.mark.parametrize("domain", [None, Ball(0.05)], ids=["everywhere", "ball"])
@pytest.mark.parametrize("kernel", [OU(0.1), Gaussian(3.0)], ids=["ou", "gaussian"])
def test_full_matrix_learning_states_it(kernel, domain, lipschitz):
    when, rng = TIMES["irregular"], np.random.default_rng(2)
    g = rng.standard_normal((when.size, 2)) + np.array([0.5, -0.5])
    g *= np.minimum(1.0, 2.0 / np.linalg.norm(g, axis=1))[:, None]
    learner = sp.Directional(
        2,
        lipschitz=lipschitz,
        kernel=kernel,
        ridge=0.5,
        scale=2e3,
        domain=domain,
        track_dimension=True,
    )
    fed = []
    for t, time in enumerate(when):
        learner.predict(time=time)
        learner.update(g[t])
        fed.append(learner.fed)
    fed = np.array(fed)
    floor = 0.5 + (4.0 if lipschitz else 1.0)
    q = (floor - 0.5) / floor
    K = kernel.gram(when) * (fed @ fed.T)
    duals = (
        learner.variance if lipschitz else 4.0 + learner._scalars[AT.scaled]
    ) - 4.0  # Σ‖G/unit‖²_{s,*}
    log_det = spectrum(K, floor)[0]
    assert duals <= q / np.log1p(q) * log_det
    assert duals > 0.9 * log_det  # so that a constant below 1 would not do
    most = 4.0 + q / np.log1p(q) * formula(K, floor)
    assert learner.effective_dimension == pytest.approx(spectrum(K, floor)[1], rel=1e-8)
    for norm, alignment in ((0.0, 0.0), (1.0, 2.0), (50.0, 10.0)):
        weighted, top = np.sqrt(floor * norm**2 + alignment), 1.0 if lipschitz else learner.hint
        scale = 2e3 * (2.0 if lipschitz else 1.0)
        alpha = scale / (
            np.sqrt(most) * np.log(most) ** 2 if lipschitz else most * np.log(most) ** 2
        )
        log = np.log1p(weighted / alpha)
        expected = (
            4 * scale * top
            + 6 * weighted * top * max(np.sqrt(most * log), log)
            + learner.cost_of_scale(1.0)
        )
        assert learner.dimension_bound(norm, alignment, 1.0) == pytest.approx(expected, rel=1e-7)
        assert learner.bound(norm, alignment, 1.0) <= learner.dimension_bound(norm, alignment, 1.0)


def test_they_are_sharp_where_the_ridge_is_large():
    """d_eff·log(e + e·Tr K/λ) is log det(I + K/λ) in the limit: half of the stated constant would
    be below the log-det bound.
    """
    rng, ridge = np.random.default_rng(3), 1e5
    vaw, strong = (
        sp.KernelVAW(kernel=OU(0.1), ridge=ridge),
        sp.StronglyConvex(1, kernel=OU(0.1), curvature=1.0, ridge=ridge),
    )
    concave = sp.ExpConcave(1, kernel=OU(0.1), curvature=1.0, ridge=ridge, track_dimension=True)
    for y in rng.standard_normal(50):
        vaw.update(y)
        strong.update(strong.predict() - y)
        concave.update(concave.predict() - y)
    for model in (vaw, strong, concave):
        assert model.bound(0.0) <= model.dimension_bound(0.0) <= model.bound(0.0) * 1.001
        assert model.bound(0.0) > 0.0


def test_without_its_tracking_the_dimension_is_refused_by_name():
    for learner in (
        sp.ExpConcave(1, kernel=OU(0.1), curvature=1.0),
        sp.Directional(1, lipschitz=1.0, kernel=OU(0.1)),
    ):
        learner.update(0.5)
        with pytest.raises(ValueError, match="track_dimension must be True"):
            _ = learner.effective_dimension
    with pytest.raises(ValueError, match="norms must be 'full'"):
        sp.Directional(1, lipschitz=1.0, kernel=OU(0.1), norms="diagonal", track_dimension=True)
    with pytest.raises(ValueError, match="norms must be 'full'"):
        sp.Directional(1, lipschitz=1.0, kernel=OU(0.1), norms="diagonal").dimension_bound(1.0, 1.0)


@pytest.mark.parametrize("kernel", [OU(0.1), Gaussian(3.0)], ids=["ou", "gaussian"])
def test_learners_that_track_it_conform(kernel):
    checks.check_learner(
        lambda dim: sp.ExpConcave(dim, kernel=kernel, curvature=0.5, track_dimension=True)
    )
    checks.check_learner(
        lambda dim: sp.Directional(dim, lipschitz=1.0, kernel=kernel, track_dimension=True)
    )


def test_states_of_before_are_read_and_know_no_dimension_bound():
    """Learners saved without the trace of their Gram matrix go on; their dimension bound is
    infinite, which holds.
    """
    for build, keys in (
        (lambda: sp.KernelVAW(kernel=OU(0.1)), ("_trace",)),
        (lambda: sp.Directional(1, kernel=OU(0.1), lipschitz=1.0), ("norms.trace",)),
        (lambda: sp.StronglyConvex(1, kernel=OU(0.1), curvature=1.0), ("trace",)),
        (
            lambda: sp.KernelForecaster([OU(0.1)], ridges=[1.0, 10.0]),
            ("member0._trace", "member1._trace"),
        ),
        (
            lambda: sp.lab.baselines.Hedge(
                [sp.StronglyConvex(1, kernel=Constant(), curvature=1.0)]
            ),
            ("0.trace",),
        ),
    ):
        learner = build()
        for y in (0.3, -0.2, 0.5):
            learner.update(y)
        header, arrays = container.read("learner", 2, pack(learner))
        for key in keys:
            (header["scalars"] if key in header["scalars"] else arrays).pop(key)
        again = unpack(b"".join(container.write("learner", 2, header, arrays)))
        assert unpack(pack(again)).arrays().keys() == learner.arrays().keys()
        assert np.array_equal(again.predict(), learner.predict())
        if isinstance(again, sp.KernelVAW | sp.StronglyConvex):
            assert again.dimension_bound(1.0) == np.inf


def test_regret_is_below_them():
    t = np.arange(150)
    y, target = (
        0.5 * np.sin(t / 20) + 0.1 * np.random.default_rng(4).standard_normal(150),
        0.5 * np.sin(t / 20),
    )
    model = sp.KernelVAW(kernel=Spline(1.0), ridge=1.0)
    regret = 0.5 * ((model.track(y) - y) ** 2).sum() - 0.5 * ((target - y) ** 2).sum()
    assert regret <= model.dimension_bound(rkhs_norm(Spline(1.0), target))

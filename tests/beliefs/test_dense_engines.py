"""Learners that observe directions on kernels without a state space: dense engines against literal
twins and streaming ones.
"""

import numpy as np
import pytest

import naive
import stillpoint as sp
from cases import TIMES, G, Opaque, drive, newton_steps, targets
from stillpoint import checks
from stillpoint.beliefs import directions as engines
from stillpoint.domains import Ball, Box
from stillpoint.kernels import (
    OU,
    Dirac,
    Gaussian,
    HorizonFree,
    InverseMultiquadric,
    Matern32,
    OUMixture,
    Periodic,
    Spline,
)
from stillpoint.regret import rkhs_norm
from thorough import some, some_of

DENSE = [Gaussian(2.0), InverseMultiquadric(3.0), OU(0.1) + Gaussian(5.0)]
LEARNERS = {
    "exp-concave": lambda dim, kernel: sp.ExpConcave(dim, kernel=kernel, curvature=0.5),
    "exp-concave ball": lambda dim, kernel: sp.ExpConcave(
        dim, kernel=kernel, curvature=0.5, domain=Ball(0.3)
    ),
    "exp-concave box": lambda dim, kernel: sp.ExpConcave(
        dim, kernel=kernel, curvature=0.5, domain=Box(-0.1, 0.4)
    ),
    "directional": lambda dim, kernel: sp.Directional(
        dim, lipschitz=1.0, kernel=kernel, scale=20.0, kernel_bound=50.0
    ),
}


def drive_with_gaps(learner, when, y):
    """Play ½‖w − y‖², gradients shortened to norm 1; every seventh round goes without feedback."""
    plays = []
    for t, time in enumerate(when):
        plays.append(learner.predict(time=time))
        if t % 7 == 3:
            learner.skip()
        else:
            g = plays[-1] - y[t]
            learner.update(g / max(np.linalg.norm(g), 1.0))
    return np.array(plays)


@pytest.mark.parametrize(
    ("name", "kernel", "times"),
    some_of(
        LEARNERS,
        [
            OU(0.1),
            Spline(1.0),
            Matern32(0.2),
            OUMixture([0.1, 0.01], [1.0, 0.5]) + Dirac(0.3),
            Spline(1.0) + Periodic(9.0, harmonics=2) * OU(0.1),
        ],
        TIMES,
        every=4,
    ),
)
def test_dense_and_streaming_directions_agree(name, kernel, times):
    when = TIMES[times]
    y = targets(when.size, 3)
    streaming, dense = LEARNERS[name](3, kernel), LEARNERS[name](3, Opaque(kernel))
    a, b = drive_with_gaps(streaming, when, y), drive_with_gaps(dense, when, y)
    assert np.abs(a - b).max() <= 1e-7 * np.abs(a).max()
    assert streaming.certificate(2.0) == pytest.approx(dense.certificate(2.0), rel=1e-8)
    arguments = (2.0, 1.0) if name == "directional" else (2.0,)
    assert streaming.bound(*arguments) == pytest.approx(dense.bound(*arguments), rel=1e-8)


@pytest.mark.parametrize(
    ("case", "domain", "times"),
    some_of(
        [(DENSE[0], 1), *((kernel, 2) for kernel in DENSE)],
        [None, Ball(0.25), Box(-0.1, 0.3)],
        TIMES,
        every=4,
    ),
)
def test_dense_exp_concave_equals_the_newton_step(case, domain, times):
    (kernel, dim), when = case, TIMES[times]
    newton_steps(kernel, when, targets(when.size, dim, 1), domain)


@pytest.mark.parametrize("times", some(TIMES, every=2))
@pytest.mark.parametrize("kernel", DENSE)
@pytest.mark.parametrize("dim", [1, 3])
def test_dense_directional_equals_its_twin(kernel, dim, times):
    when = TIMES[times]
    gradients = targets(when.size, dim, 2) + 0.5
    gradients /= np.linalg.norm(gradients, axis=1, keepdims=True)
    learner = sp.Directional(dim, lipschitz=1.0, kernel=kernel, ridge=0.5, scale=20.0)
    plays = drive(learner, gradients, when)
    twin, variance = naive.directional(kernel.gram(when), gradients, 1.0, 0.5, 20.0, kernel.bound)
    assert np.abs(plays - twin).max() <= 1e-9 * np.abs(twin).max()
    assert learner.variance == pytest.approx(variance, rel=1e-12)


def test_golden_full_matrix_of_the_horizon_free_kernel_itself():
    golden = [
        0,
        -3.237473360353959e-5,
        -2.514679742838808e-6,
        -1.891224310122886e-5,
        1.441953994395879e-5,
        -1.513098586732777e-5,
    ]
    learner = sp.Directional(1, lipschitz=1.0, kernel=Opaque(HorizonFree()), ridge=1.0)
    for g, play in zip(G, golden, strict=True):
        assert learner.predict()[0] == pytest.approx(play, rel=1e-9)
        learner.update(g)


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("kernel", DENSE)
def test_dense_tracking_vaw_equals_the_formula(kernel, times):
    when, rng = TIMES[times], np.random.default_rng(3)
    X, y, ridge = rng.standard_normal((when.size, 3)), rng.standard_normal(when.size), 0.5
    model = sp.TrackingVAW(3, kernel=kernel, ridge=ridge)
    forecasts = []
    for time, x, v in zip(when, X, y, strict=True):
        forecasts.append(model.predict(x, time))
        model.update(x, v)
    K = kernel.gram(when) * (X @ X.T)
    twin = naive.vaw(K, y[:, None], ridge)[:, 0]
    assert np.abs(np.array(forecasts) - twin).max() <= 1e-9 * np.abs(twin).max()
    lead = np.linalg.eigvalsh(K)
    assert model.effective_dimension == pytest.approx((lead / (lead + ridge)).sum(), rel=1e-9)
    assert model.log_det == pytest.approx(np.log1p(lead / ridge).sum(), rel=1e-9)
    # the coefficients: mean at the d points (t, e_i)
    w = np.array(
        [
            (kernel(when, when[-1]) * X[:, i]) @ np.linalg.solve(K + ridge * np.eye(len(y)), y)
            for i in range(3)
        ]
    )
    np.testing.assert_allclose(model.coefficients, w, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kernel", [Matern32(0.2), Spline(1.0) + Dirac(0.2)])
def test_values_covariances_and_shifts_agree(kernel):
    rng, dim, noise = np.random.default_rng(4), 3, 0.7
    pair = (
        engines.StreamingDirections(kernel, dim, track=True),
        engines.DenseDirections(kernel, dim, noise),
    )
    for t in range(1, 30):
        a, c = rng.standard_normal(dim), 0.1 * rng.standard_normal(dim)
        seen = []
        for belief in pair:
            belief.advance(0.7 * t)
            before, covariance = belief.values(), belief.value_covariance()
            belief.shift(c)
            moved = belief.values() - before
            mean, variance = belief.look(a)
            assert variance == pytest.approx(a @ covariance @ a, rel=1e-9)
            nugget = 0.2 if "Dirac" in repr(kernel) else 0.0
            if isinstance(belief, engines.DenseDirections) or nugget == 0.0:
                np.testing.assert_allclose(moved, covariance @ c, atol=1e-12)
            mean -= nugget * (a @ c) * isinstance(belief, engines.DenseDirections)
            belief.observe(variance + noise, 0.3 - mean)
            seen.append(
                np.concatenate(
                    [before, covariance.ravel(), [mean, variance, belief.effective_dimension()]]
                )
            )
        np.testing.assert_allclose(*seen, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["exp-concave", "directional"])
def test_dense_learners_conform(name):
    checks.check_learner(lambda dim: LEARNERS[name](dim, Gaussian(3.0)))


def test_dense_forecasters_save_in_the_middle_of_a_round(tmp_path):
    X, y = targets(30, 2, 5), targets(30, 1, 6)[:, 0]
    model = sp.TrackingVAW(2, kernel=Gaussian(4.0), ridge=0.3)
    for x, v in zip(X[:15], y, strict=False):
        model.update(x, v)
    model.predict(X[15])
    sp.save(model, tmp_path / "model")
    loaded = sp.load(tmp_path / "model")
    for x, v in zip(X[15:], y[15:], strict=True):
        assert model.predict(x) == loaded.predict(x)
        model.update(x, v)
        loaded.update(x, v)
    assert model.certificate(1.0) == loaded.certificate(1.0)


@pytest.mark.parametrize("kernel", DENSE)
def test_dense_certificates_dominate_regret(kernel):
    # ½(w − y)² on |w|, |y| ≤ 1: |g| ≤ 2, so β = 1/4 of the quadratic inequality (E11)
    y = np.clip(np.sin(np.arange(80) / 12) + 0.2 * targets(80, 1, 7)[:, 0], -1, 1)
    learner, losses = sp.ExpConcave(1, kernel=kernel, curvature=0.25, domain=Ball(1.0)), 0.0
    for v in y:
        w = learner.predict()[0]
        losses += 0.5 * (w - v) ** 2
        learner.update(w - v)
    gram = kernel.gram(np.arange(1.0, 81.0))
    for ridge in (0.1, 1.0, 10.0):
        u = gram @ np.linalg.solve(gram + ridge * np.eye(80), y)
        norm = rkhs_norm(kernel, u, method="dense")
        assert np.abs(u).max() <= 1.0
        assert (
            losses - 0.5 * ((u - y) ** 2).sum()
            <= learner.certificate(norm) + 1e-9
            <= learner.bound(norm) + 2e-9
        )


def test_learners_choose_the_engine_by_kernel():
    for kernel, engine in (
        (OU(0.1), engines.StreamingDirections),
        (Gaussian(1.0), engines.DenseDirections),
    ):
        for learner in (
            sp.ExpConcave(2, kernel=kernel, curvature=1.0),
            sp.Directional(2, lipschitz=1.0, kernel=kernel),
            sp.TrackingVAW(2, kernel=kernel),
        ):
            assert isinstance(getattr(learner, "_belief", None) or learner.norms._belief, engine)

"""Curved losses: every streaming learner against its literal twin, golden vectors, certificates and
bounds.
"""

import numpy as np
import pytest

import naive
import stillpoint as sp
from cases import MARKOV, TIMES, G, drive, features, newton_steps, respond
from stillpoint.domains import Ball, Box, HalfSpace
from stillpoint.kernels import (
    OU,
    Gaussian,
    HorizonFree,
    IntegratedBrownian,
    Matern32,
    Periodic,
    Spline,
)
from stillpoint.regret import effective_dimension, log_det, rkhs_norm
from thorough import some, some_of

Y = np.array([1, 0.5, -0.5, 0.25, 0, 1])
GOLDEN = {  # kernel, bound, VAW, SC-KONS, KONS, full matrix, V_7
    "exp": (
        OU(0.1),
        None,
        [
            0,
            0.284426544188744,
            0.286378203847038,
            0.076829673023165,
            0.097282671410546,
            0.061581450035515,
        ],
        [
            0,
            1.206449890714613,
            0.483114701277982,
            -0.326641851821713,
            0.139154768104169,
            0.021906550702309,
        ],
        [
            0,
            0.723869934428768,
            0.487344591120766,
            -0.193504477130983,
            0.119924899867822,
            0.02376864073398,
        ],
        [
            0,
            -2.242197739763592e-4,
            -4.175802065462475e-5,
            -8.791921740002258e-5,
            6.033623439968902e-5,
            -2.675465914574136e-5,
        ],
        5.176516572081806,
    ),
    "spline": (
        Spline(),
        6.0,
        [0, 0.2, 0.192307692307692, -0.044117647058823, 0.042134831460674, 0.016094420600858],
        [0, 4 / 3, 0.121212121212122, -0.787878787878788, 0.731630025747673, -0.339548085504612],
        [0, 0.8, 0.281018740989909, -1.224396122981788, 0.441495617424933, -0.410418707088937],
        [
            0,
            -1.765819643614273e-4,
            8.256560474205153e-6,
            -9.720551094421844e-5,
            4.323489414782602e-4,
            -5.531558153483668e-5,
        ],
        5.041553526172914,
    ),
}
KERNELS = [
    "spline",
    "spline offset",
    "ou",
    "mixture",
    "matern32",
    "matern52",
    "periodic",
    "quasi-periodic",
    "integrated",
    "integrated offset",
    "structural",
    "sum",
    "product",
    "growing product",
    "dirac product",
]
SEASONAL = ["periodic", "quasi-periodic", "integrated offset", "structural"]
TREND = 1e-4 * IntegratedBrownian(offset=1e4, slope=1.0)
QUASI = Spline(1.0) + Periodic(30.0, harmonics=3) * OU(0.01)


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_vectors(name):
    kernel, bound, vaw, strong, concave, full, variance = GOLDEN[name]
    model = sp.KernelVAW(kernel=kernel, ridge=1.0)
    strongly = sp.StronglyConvex(1, kernel=kernel, curvature=1.0, ridge=0.5)
    exponential = sp.ExpConcave(1, kernel=kernel, curvature=0.25, ridge=1.0)
    directional = sp.Directional(
        1, lipschitz=1.0, kernel=kernel, ridge=1.0, scale=1.0, kernel_bound=bound
    )
    rows = []
    for y, g in zip(Y, G, strict=True):
        plays = (
            model.predict(),
            strongly.predict()[0],
            exponential.predict()[0],
            directional.predict()[0],
        )
        model.update(y)
        strongly.update(2 * (plays[1] - y))
        exponential.update(plays[2] - y)
        directional.update(g)
        rows.append(plays)
    for ours, golden in zip(np.array(rows).T, (vaw, strong, concave, full), strict=True):
        assert np.allclose(ours, golden, rtol=1e-11, atol=1e-15)
    assert directional.variance == pytest.approx(variance, rel=1e-13)


def test_golden_vectors_of_the_horizon_free_kernel():
    vaw = [
        0,
        0.005809260740691,
        0.007447470046191,
        0.003551789632947,
        0.004869439791901,
        0.004423805194267,
    ]
    model = sp.KernelVAW(kernel=HorizonFree(accuracy=1e-9), ridge=1.0)
    for y, golden in zip(Y, vaw, strict=True):
        assert model.predict() == pytest.approx(golden, abs=1e-11)
        model.update(y)
    assert model.effective_dimension == pytest.approx(5.042448466870032, rel=1e-9)
    assert model.log_det == pytest.approx(11.02339838739577, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "ridge", "times"), some_of(KERNELS, [0.01, 1.0, 100.0], TIMES, every=6)
)
def test_vaw_equals_its_dense_twin(name, ridge, times):
    kernel, when = MARKOV[name], TIMES[times]
    y = np.random.default_rng(0).standard_normal((when.size, 3))
    model = sp.KernelVAW(kernel=kernel, ridge=ridge, outputs=3)
    forecasts = []
    for t, row in zip(when, y, strict=True):
        forecasts.append(model.predict(time=t))
        model.update(row)
    twin = naive.vaw(kernel.gram(when), y, ridge)
    assert np.abs(np.array(forecasts) - twin).max() <= 1e-9 * np.abs(twin).max()
    assert model.effective_dimension == pytest.approx(
        effective_dimension(kernel, when, ridge, method="dense"), rel=1e-8
    )
    assert model.log_det == pytest.approx(log_det(kernel, when, ridge, method="dense"), rel=1e-8)


@pytest.mark.parametrize("kernel", [OU(0.05), Spline(1.0), Matern32(0.1), TREND, QUASI])
def test_vaw_certificate_is_exact_at_the_ridge_optimum_and_below_the_bound(kernel):
    rng = np.random.default_rng(1)
    y = np.sin(np.arange(120) / 15) + 0.3 * rng.standard_normal(120)
    model, ridge = sp.KernelVAW(kernel=kernel, ridge=2.0), 2.0
    loss = 0.0
    for v in y:
        loss += 0.5 * (model.predict() - v) ** 2
        model.update(v)
    gram = kernel.gram(np.arange(1.0, 121.0))
    best = gram @ np.linalg.solve(gram + ridge * np.eye(120), y)
    regret = loss - 0.5 * ((y - best) ** 2).sum()
    assert regret == pytest.approx(
        model.certificate(rkhs_norm(kernel, best, method="dense")), rel=1e-8
    )
    for u in (np.sin(np.arange(120) / 15), np.zeros(120), 0.5 * best):
        norm = rkhs_norm(kernel, u)
        assert loss - 0.5 * ((y - u) ** 2).sum() <= model.certificate(norm) + 1e-9
        assert model.certificate(norm) <= model.bound(norm) + 1e-9


@pytest.mark.parametrize("times", some(TIMES, every=2))
@pytest.mark.parametrize("name", [*KERNELS, "horizon-free"])
@pytest.mark.filterwarnings("ignore:time gap")
def test_vaw_streams_give_the_same_numbers(name, times):
    y, when = np.random.default_rng(8).standard_normal((40, 2)), TIMES[times]
    bulk, single = (sp.KernelVAW(kernel=MARKOV[name], ridge=0.5, outputs=2) for _ in range(2))
    forecasts = np.vstack([bulk.track(y[:15], when[:15]), bulk.track(y[15:], when[15:])])
    for t, row in enumerate(y):
        assert np.allclose(single.predict(time=when[t]), forecasts[t], rtol=1e-12, atol=1e-14)
        single.update(row)
    for value in ("log_det", "effective_dimension", "rounds", "time", "variance"):
        assert getattr(bulk, value) == pytest.approx(getattr(single, value), rel=1e-11)
    assert bulk.certificate(1.0) == pytest.approx(single.certificate(1.0), rel=1e-11)
    assert np.allclose(bulk.predict(), single.predict(), rtol=1e-11)


@pytest.mark.parametrize(
    "kernel", [Gaussian(2.0), sp.kernels.InverseMultiquadric(3.0), OU(0.1) + Gaussian(5.0)]
)
@pytest.mark.parametrize("times", some(TIMES, every=2))
def test_kernels_without_a_state_space_run_dense(kernel, times, tmp_path):
    when, y = TIMES[times], np.random.default_rng(9).standard_normal((40, 2))
    model = sp.KernelVAW(kernel=kernel, ridge=0.5, outputs=2)
    first = model.track(y[:20], when[:20])
    sp.save(model, tmp_path / "model")
    model = sp.load(tmp_path / "model")
    forecasts = np.vstack([first, model.track(y[20:], when[20:])])
    assert np.abs(forecasts - naive.vaw(kernel.gram(when), y, 0.5)).max() < 1e-9
    assert model.effective_dimension == pytest.approx(
        effective_dimension(kernel, when, 0.5), rel=1e-9
    )
    assert model.log_det == pytest.approx(log_det(kernel, when, 0.5), rel=1e-9)

    def gradient(t, w):
        return np.zeros(2) if w is None else w - y[t]

    for domain in (None, Ball(0.3)):
        learner = sp.StronglyConvex(2, kernel=kernel, curvature=1.0, ridge=0.5, domain=domain)
        plays, _ = respond(learner, gradient, when)
        project = (lambda w: w) if domain is None else domain.project
        twin = naive.strongly_convex(features(kernel, when), gradient, 1.0, 0.5, project)
        assert np.abs(plays - twin).max() <= 1e-6 * np.abs(twin).max()


def test_dense_and_streaming_beliefs_agree(monkeypatch):
    from stillpoint.beliefs.dense import DenseBelief
    from stillpoint.forecasters import vaw
    from stillpoint.learners import newton

    y = np.random.default_rng(10).standard_normal(60)
    streaming = sp.KernelVAW(kernel=Matern32(0.2)).track(y), _strong(y)
    for module in (vaw, newton):
        monkeypatch.setattr(module, "shared_belief", DenseBelief)
    dense = sp.KernelVAW(kernel=Matern32(0.2)).track(y), _strong(y)
    for ours, other in zip(streaming, dense, strict=True):
        assert np.allclose(ours, other, rtol=1e-8, atol=1e-11)


def _strong(y):
    learner, plays = (
        sp.StronglyConvex(1, kernel=OU(0.1), curvature=1.0, ridge=0.3, domain=Ball(0.4)),
        [],
    )
    for t, v in enumerate(y):
        plays.append(learner.predict()[0])
        if t % 7 == 3:
            learner.skip()  # a projected round without feedback keeps its shift
        else:
            learner.update(plays[-1] - v)
    return np.array(plays)


@pytest.mark.parametrize(
    ("name", "domain", "times"),
    some_of(
        ["spline offset", "ou", "mixture", "matern52", "sum", "growing product", *SEASONAL],
        [None, Ball(0.3), HalfSpace([1.0, 1.0, 0.0], 0.1)],
        TIMES,
    ),
)
def test_strongly_convex_equals_mirror_descent(name, domain, times):
    kernel, when = MARKOV[name], TIMES[times]
    y = np.random.default_rng(2).standard_normal((when.size, 3))
    learner = sp.StronglyConvex(3, kernel=kernel, curvature=2.0, ridge=0.7, domain=domain)

    def gradient(t, w):
        return np.zeros(3) if w is None else 2.0 * (w - y[t])

    plays, _ = respond(learner, gradient, when)
    project = (lambda w: w) if domain is None else domain.project
    twin = naive.strongly_convex(features(kernel, when), gradient, 2.0, 0.7, project)
    assert np.abs(plays - twin).max() <= 1e-7 * np.abs(twin).max()


STEPPED = [("ou", 1), ("spline offset", 1), ("ou", 3), ("mixture", 2), ("matern32", 2), ("sum", 2)]
STEPPED = {f"{name}, {dim}": (name, dim) for name, dim in STEPPED + [(n, 2) for n in SEASONAL]}


@pytest.mark.parametrize(
    ("of", "domain", "times"), some_of(STEPPED, [None, Ball(0.25), Box(-0.1, 0.3)], TIMES, every=6)
)
def test_exp_concave_equals_the_newton_step(of, domain, times):
    name, dim = STEPPED[of]
    kernel, when = MARKOV[name], TIMES[times]
    y = np.random.default_rng(3).standard_normal((when.size, dim))
    plays = newton_steps(kernel, when, y, domain)
    if domain is not None:
        assert all(domain.contains(w) for w in plays)


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize(
    ("name", "dim"),
    [
        ("ou", 1),
        ("ou", 3),
        ("mixture", 2),
        ("matern32", 2),
        ("periodic", 2),
        ("quasi-periodic", 1),
        ("sum", 1),
        ("horizon-free", 2),
    ],
)
@pytest.mark.filterwarnings("ignore:time gap")
def test_directional_equals_its_dense_twin(name, dim, times):
    kernel, when = MARKOV[name], TIMES[times]
    rng = np.random.default_rng(5)
    gradients = rng.standard_normal((when.size, dim)) + 0.5
    gradients /= np.linalg.norm(gradients, axis=1, keepdims=True)
    learner = sp.Directional(dim, lipschitz=1.0, kernel=kernel, ridge=0.5, scale=20.0)
    plays = drive(learner, gradients, when)
    twin, variance = naive.directional(
        kernel.markov().gram(when), gradients, 1.0, 0.5, 20.0, kernel.bound
    )
    assert np.abs(plays - twin).max() <= 1e-9 * np.abs(twin).max()
    assert learner.variance == pytest.approx(variance, rel=1e-10)


def test_directional_bound_holds_against_ridge_comparators():
    rng = np.random.default_rng(6)
    for kernel in (OU(0.05), HorizonFree(), 1e-4 * OU(0.1)):
        for kind in range(3):
            learner = sp.Directional(2, lipschitz=1.0, kernel=kernel)
            plays, gradients = [], []
            for t in range(150):
                w = learner.predict()
                g = [
                    rng.standard_normal(2),
                    np.sin(t / 20) * np.ones(2),
                    np.where(w >= 0, 1.0, -1.0),
                ][kind]
                g = g / max(np.linalg.norm(g), 1.0)
                learner.update(g)
                plays.append(w)
                gradients.append(g)
            plays, gradients = np.array(plays), np.array(gradients)
            gram = learner.ledger.memory.kernel.gram(np.arange(1.0, 151.0))
            for size in 10.0 ** np.arange(-2, 5.0):
                theta = gram @ gradients
                u = -size * theta / np.sqrt((gradients * theta).sum())
                limit = learner.bound(size, ((gradients * u).sum(axis=1) ** 2).sum())
                regret = (gradients * (plays - u)).sum()
                assert regret <= limit
                assert regret == pytest.approx(learner.certificate(size), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("kernel", [OU(0.05), Spline(2.0), Matern32(0.1), TREND, QUASI])
def test_newton_certificates_dominate_regret(kernel):
    rng = np.random.default_rng(7)
    y = 0.5 * np.sin(np.arange(150) / 20)[:, None] * np.ones(2) + 0.1 * rng.standard_normal(
        (150, 2)
    )
    strongly = sp.StronglyConvex(2, kernel=kernel, curvature=1.0, ridge=1.0)
    losses = 0.0
    for row in y:
        w = strongly.predict()
        losses += 0.5 * ((w - row) ** 2).sum()
        strongly.update(w - row)
    for u in (
        0.5 * np.sin(np.arange(150) / 20)[:, None] * np.ones(2),
        np.zeros((150, 2)),
        0.3 * np.ones((150, 2)),
    ):
        norm = rkhs_norm(kernel, u)
        assert (
            losses - 0.5 * ((u - y) ** 2).sum()
            <= strongly.certificate(norm) + 1e-9
            <= strongly.bound(norm) + 2e-9
        )
    # ½(w − y)² on |w|, |y| ≤ 1: |g| ≤ 2, so β = 1/4 of the quadratic inequality (E11)
    series = np.clip(y[:, 0], -1, 1)
    learner, losses = (
        sp.ExpConcave(1, kernel=kernel, curvature=0.25, ridge=1.0, domain=Ball(1.0)),
        0.0,
    )
    for v in series:
        w = learner.predict()[0]
        losses += 0.5 * (w - v) ** 2
        learner.update(w - v)
    for u in (0.5 * np.sin(np.arange(150) / 20), np.zeros(150), np.full(150, 0.3)):
        norm = rkhs_norm(kernel, u)
        assert (
            losses - 0.5 * ((u - series) ** 2).sum()
            <= learner.certificate(norm) + 1e-9
            <= learner.bound(norm) + 2e-9
        )

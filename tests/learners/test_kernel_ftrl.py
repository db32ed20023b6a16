import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import stillpoint as sp
from cases import IRREGULAR, MARKOV, REGULAR, drive
from stillpoint.domains import Ball, Box, Everywhere, HalfSpace, Projection, Simplex
from stillpoint.kernels import OU, Constant, Dirac, Gaussian, HorizonFree, OUMixture, Spline
from stillpoint.learners import GradientDescent
from stillpoint.potentials import (
    CAP,
    AdaptiveQuadratic,
    Erfi,
    FreeGrad,
    ParameterFree,
    Potential,
    Quadratic,
)
from thorough import some_of

GOLDEN_G = np.array([1, -0.5, 0.25, -1, 0.75, 0.1])
GOLDEN = {
    "exp": (
        OU(0.1),
        None,
        [
            0,
            -8.703050862160320e-4,
            -1.808963047504326e-4,
            -3.491828457965314e-4,
            1.425335451943467e-4,
            -8.687523781270042e-5,
        ],
        0.7147887912145295,
        6.885,
    ),
    "spline": (
        Spline(),
        6.0,
        [
            0,
            -2.674149244183943e-4,
            0,
            -1.537355319010404e-4,
            9.560709969011901e-4,
            -6.826478580951911e-5,
        ],
        1.1335784048754634,
        32.56,
    ),
    "horizon-free": (
        HorizonFree(),
        None,
        [
            0,
            -9.605991279787225e-5,
            -3.058174183364865e-5,
            -5.451072446226498e-5,
            3.533026068675019e-5,
            -3.007657876232054e-5,
        ],
        3.8301228429596788,
        36.444800539263625,
    ),
}
SCALE_FREE_G = np.array([0, 1, -0.5, 0.25, -3, 0.75, 0.1, 2])
SCALE_FREE_W = [
    0,
    0,
    0,
    1.663016793422828e-4,
    3.763178654074426e-5,
    6.486338056648888e-5,
    8.953387301368767e-6,
    4.983604942359131e-6,
]
SCALE_FREE_D = [
    0,
    0,
    1,
    1.224744871391589,
    1.322875655532295,
    1.322875655532295,
    1.35400640077266,
    1.366260102127946,
]


@pytest.mark.parametrize("name", GOLDEN)
@pytest.mark.parametrize("memory", ["dense", "streaming"])
def test_golden_vectors_of_algorithm_2(name, memory):
    kernel, bound, plays, size, variance = GOLDEN[name]
    tolerance = 1e-12
    if (name, memory) == ("horizon-free", "streaming"):
        kernel, tolerance = HorizonFree(accuracy=1e-9), 1e-7  # streaming runs the mixture
    learner = sp.KernelFTRL(
        dim=1,
        lipschitz=1.0,
        kernel=kernel,
        potential=ParameterFree(1.0),
        kernel_bound=bound,
        memory=memory,
    )
    assert np.allclose(drive(learner, GOLDEN_G)[:, 0], plays, rtol=tolerance, atol=1e-17)
    assert learner.memory.norm == pytest.approx(size, rel=tolerance)
    assert learner.variance == pytest.approx(variance, rel=1e-12)


@pytest.mark.parametrize("domain", [Ball(2.0), None], ids=["ball", "unbounded"])
def test_golden_vectors_of_scale_free(domain):
    learner = sp.KernelFTRL(dim=1, kernel=OU(0.1), potential=ParameterFree(1.0), domain=domain)
    plays, radii = [], []
    for g in SCALE_FREE_G:
        plays.append(learner.predict()[0])
        radii.append(learner.radius)
        learner.update(g)
    assert np.allclose(plays, SCALE_FREE_W, rtol=1e-12, atol=1e-18)
    assert np.allclose(radii, [2.0] * 8 if domain else SCALE_FREE_D, rtol=1e-12)


@pytest.mark.parametrize("kernel", [OU(0.1), Gaussian(5.0), OUMixture([0, 0.3], [1, 1])])
@pytest.mark.parametrize("times", [REGULAR, IRREGULAR], ids=["regular", "irregular"])
def test_equals_the_naive_twins(kernel, times):
    rng = np.random.default_rng(5)
    gradients = rng.standard_normal((times.size, 3)) + 1.0
    gradients *= (rng.random(times.size) * 1.2 / np.linalg.norm(gradients, axis=1))[:, None]
    gram = kernel.gram(times)
    ours = drive(
        sp.KernelFTRL(3, lipschitz=1.2, kernel=kernel, potential=ParameterFree(50.0)),
        gradients,
        times,
    )
    assert np.allclose(
        ours, naive.algorithm_2(gram, gradients, 1.2, 50.0, kernel.bound), rtol=1e-9, atol=1e-14
    )
    for domain, radius in ((None, None), (Ball(0.05), 0.05)):
        learner = sp.KernelFTRL(
            3, kernel=kernel, potential=ParameterFree(1e4), domain=domain, radius_scale=0.02
        )
        plays, _ = naive.scale_free(gram, gradients, 1e4, radius, 0.02)
        assert np.allclose(drive(learner, gradients, times), plays, rtol=1e-8, atol=1e-12)
        assert np.linalg.norm(plays, axis=1).max() > 0.04  # the constraint was active


@pytest.mark.filterwarnings("ignore:time gap")
@pytest.mark.parametrize(("name", "dim"), some_of(MARKOV, [1, 3, 50], every=6))
@pytest.mark.parametrize("times", [REGULAR, IRREGULAR], ids=["regular", "irregular"])
def test_streaming_and_dense_learners_agree(name, times, dim):
    rng = np.random.default_rng(6)
    gradients = rng.standard_normal((times.size, dim)) + 0.5
    gradients /= np.linalg.norm(gradients, axis=1, keepdims=True)
    kernel = MARKOV[name]
    for potential in (ParameterFree(1.0), Erfi(0.5)):
        options = {
            "lipschitz": 1.0,
            "potential": potential,
            "kernel_bound": None if np.isfinite(kernel.bound) else kernel.diagonal(times).max(),
        }
        streaming = drive(
            sp.KernelFTRL(dim, kernel=kernel, memory="streaming", **options), gradients, times
        )
        dense = drive(
            sp.KernelFTRL(dim, kernel=kernel.markov(), memory="dense", **options), gradients, times
        )
        assert np.abs(streaming - dense).max() <= 1e-9 * (1e-3 + np.abs(dense).max())


def test_dirac_kernel_is_the_stacked_reduction():
    rounds, dim = 30, 3
    gradients = np.random.default_rng(7).uniform(-0.5, 0.5, (rounds, dim))
    stacked = naive.StackedParameterFree(dim, rounds, 1.0, 1.0)
    learner = sp.KernelFTRL(dim, lipschitz=1.0, kernel=Dirac(), potential=ParameterFree(1.0))
    for g in gradients:
        assert np.allclose(learner.predict(), stacked.predict(), atol=1e-15)
        learner.update(g)
        stacked.update(g)
    # and its certificate is the stacked one: the comparator may be anything of total squared size
    # B²
    assert learner.ledger.memory.norm == pytest.approx(np.linalg.norm(stacked.total), rel=1e-12)


def test_constant_kernel_is_static_learning():
    gradients = np.random.default_rng(8).uniform(-0.4, 0.6, (60, 2))
    static = naive.StaticParameterFree(2, 1.0, 3.0)
    learner = sp.KernelFTRL(2, lipschitz=1.0, kernel=Constant(), potential=ParameterFree(3.0))
    for g in gradients:
        assert np.allclose(learner.predict(), static.predict(), rtol=1e-10, atol=1e-15)
        learner.update(g)
        static.update(g)
    assert learner.certificate(2.0) == pytest.approx(
        learner.ledger.linear_loss + 2.0 * np.linalg.norm(gradients.sum(axis=0))
    )


@dataclass
class FollowSigns:
    """A user's own static learner: moves a fixed distance against the sum of past gradients."""

    distance: float

    def play(self, sums):
        return -self.distance * sums.pull / sums.size if sums.size > 0 else 0.0 * sums.pull

    def store(self, g, memory, sums):
        memory.add(g)

    def bound(self, norm, V, h, count=0.0):
        return np.inf


class Halved(Potential):
    """A user's own potential: Python only."""

    def magnitude(self, S, V, h, count=0.0):
        return 0.5 * S

    def bound(self, norm, V, h, count=0.0):
        return norm**2 + 0.25 * V


def test_any_static_learner_runs_in_the_reduction():
    gradients = np.random.default_rng(9).uniform(-1, 1, (50, 2)) / np.sqrt(2)
    ogd = sp.KernelFTRL(2, lipschitz=1.0, kernel=OU(0.1), potential=Quadratic(0.5))
    mine = sp.KernelFTRL(2, lipschitz=1.0, kernel=OU(0.1), potential=Halved())
    assert np.allclose(drive(ogd, gradients), drive(mine, gradients), rtol=1e-12)
    assert mine.bound(2.0) == pytest.approx(ogd.bound(2.0))
    signs = sp.KernelFTRL(2, lipschitz=1.0, kernel=Gaussian(4.0), potential=FollowSigns(0.3))
    plays = drive(signs, gradients)
    assert np.linalg.norm(plays, axis=1).max() <= 0.3 + 1e-12
    assert np.linalg.norm(plays, axis=1).max() > 0.1


class Careful(Quadratic):
    """A potential of the library with a magnitude of one's own."""

    magnitude = Halved.magnitude


def test_a_magnitude_of_ones_own_is_asked_though_its_potential_has_a_compiled_form():
    gradients = np.random.default_rng(9).uniform(-1, 1, (50, 2)) / np.sqrt(2)
    runs = [
        sp.play(sp.KernelFTRL(2, lipschitz=1.0, kernel=OU(0.1), potential=potential), gradients)
        for potential in (Careful(2.0), Halved())
    ]
    np.testing.assert_array_equal(runs[0].plays, runs[1].plays)


@pytest.mark.parametrize("memory", ["dense", "streaming"])
def test_projected_gradient_descent_in_the_rkhs_ball(memory):
    # twin: keep W = Σ a_s φ(s) explicitly through the Gram matrix
    kernel, radius = OU(0.05), 1.5
    gradients = np.random.default_rng(10).standard_normal((60, 1)) + 0.8
    gram = kernel.gram(np.arange(1.0, 61.0))
    weights, V = np.zeros(60), 0.0
    learner = sp.KernelFTRL(
        1, lipschitz=10.0, kernel=kernel, potential=GradientDescent(radius), memory=memory
    )
    for t, g in enumerate(gradients[:, 0]):
        assert learner.predict()[0] == pytest.approx(gram[t] @ weights, rel=1e-9, abs=1e-12)
        learner.update(g)
        V += gram[t, t] * g * g
        weights[t] -= np.sqrt(2) * radius / np.sqrt(V) * g
        weights *= min(1.0, radius / np.sqrt(weights @ gram @ weights))
    assert learner.certificate(radius) <= learner.bound(radius)
    with pytest.raises(ValueError, match="norm must be at most the radius"):
        learner.bound(2 * radius)


@pytest.mark.parametrize("potential", [ParameterFree(), Erfi(), AdaptiveQuadratic(1.0)])
@pytest.mark.parametrize("unit", [1e-7, 1e7])
def test_scale_free_plays_ignore_the_unit_of_gradients(potential, unit):
    gradients = np.random.default_rng(11).standard_normal((80, 2)) + 0.3
    plays = drive(sp.KernelFTRL(2, kernel=OU(0.1), potential=potential), gradients)
    scaled = drive(sp.KernelFTRL(2, kernel=OU(0.1), potential=potential), unit * gradients)
    assert np.abs(plays - scaled).max() <= 1e-9 * np.abs(plays).max()


DOMAINS = [
    Ball(0.3),
    Ball(0.5, center=(1.0, 1.0)),
    Box(-0.1, 0.2),
    Simplex(),
    HalfSpace([1.0, 1.0], 0.1),
]


@pytest.mark.parametrize(
    "domain", [*DOMAINS, Projection(lambda w: np.clip(w, 0, None))], ids=lambda d: type(d).__name__
)
@pytest.mark.parametrize("lipschitz", [1.0, None])
def test_plays_stay_in_the_domain(domain, lipschitz):
    gradients = np.random.default_rng(12).standard_normal((120, 2)) - 0.7
    gradients /= np.linalg.norm(gradients, axis=1, keepdims=True)
    learner = sp.KernelFTRL(
        2, lipschitz=lipschitz, kernel=OU(0.01), potential=Erfi(1.0), domain=domain
    )
    plays = drive(learner, gradients)
    assert all(domain.contains(w, tolerance=1e-12) for w in plays)
    assert np.abs(np.diff(plays, axis=0)).max() > 1e-3


def test_loose_domain_changes_nothing():
    gradients = np.random.default_rng(13).uniform(-1, 1, (50, 2)) / np.sqrt(2)
    free = drive(sp.KernelFTRL(2, lipschitz=1.0, kernel=OU(0.1), potential=Erfi()), gradients)
    loose = drive(
        sp.KernelFTRL(2, lipschitz=1.0, kernel=OU(0.1), potential=Erfi(), domain=Ball(1e6)),
        gradients,
    )
    assert np.array_equal(free, loose)


@pytest.mark.parametrize("potential", [ParameterFree(), Erfi(), FreeGrad(), Quadratic(1e149)])
def test_gradients_that_never_turn_saturate_with_advice(potential):
    learner = sp.KernelFTRL(1, lipschitz=1.0, kernel=Constant(), potential=potential)
    losses = sp.losses.Linear().on(np.full(40000, -1.0))
    with pytest.warns(RuntimeWarning, match="give a bounded domain"):
        run = sp.play(learner, losses)
    assert np.isfinite(run.plays).all()
    assert run.plays.max() == pytest.approx(CAP)
    assert np.isfinite(run.linear).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # said once
        learner.predict()
        learner.update(-1.0)
        capped = sp.KernelFTRL(
            1, lipschitz=1.0, kernel=Constant(), potential=potential, domain=Ball(3.0)
        )
        run = sp.play(capped, losses)
    assert run.plays.max() == pytest.approx(3.0)


def test_all_zero_and_late_gradients():
    for lipschitz in (1.0, None):
        learner = sp.KernelFTRL(3, lipschitz=lipschitz)
        assert (drive(learner, np.zeros((20, 3))) == 0).all()
        assert (drive(learner, np.full((20, 3), 0.3)) != 0).any()
        assert learner.certificate(1.0) >= 0


def test_large_dimension():
    learner = sp.KernelFTRL(10_000, lipschitz=1.0, kernel=OU(0.1), potential=Erfi())
    rng = np.random.default_rng(14)
    for _ in range(5):
        g = rng.standard_normal(10_000)
        learner.update(g / np.linalg.norm(g))
    assert learner.predict().shape == (10_000,)
    assert np.isfinite(learner.predict()).all()


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: sp.KernelFTRL(0), "dim"),
        (lambda: sp.KernelFTRL(1.5), "dim"),
        (lambda: sp.KernelFTRL(1, lipschitz=0.0), "lipschitz"),
        (lambda: sp.KernelFTRL(1, lipschitz=-1.0), "lipschitz"),
        (lambda: sp.KernelFTRL(1, kernel_bound=0.0), "kernel_bound"),
        (lambda: sp.KernelFTRL(1, radius_scale=float("nan")), "radius_scale"),
        (lambda: sp.KernelFTRL(1, kernel="ou"), "kernel"),
        (lambda: sp.KernelFTRL(1, potential=3), "potential"),
        (lambda: sp.KernelFTRL(1, domain=2.0), "domain"),
        (lambda: sp.KernelFTRL(1, memory="fast"), "memory"),
        (lambda: sp.KernelFTRL(2, domain=Ball(1.0, center=(0.0, 0.0, 0.0))), "cent"),
        (lambda: sp.KernelFTRL(1).certificate(-1.0), "radius"),
        (lambda: sp.KernelFTRL(1).bound(-1.0, 1.0), "norm"),
        (lambda: sp.KernelFTRL(1).bound(1.0), "magnitude"),
        (lambda: sp.KernelFTRL(1, potential=FreeGrad()).bound(1.0, 1.0), "running hints"),
    ],
)
def test_bad_arguments_are_named(build, word):
    with pytest.raises(ValueError, match=word):
        build()


def test_gradient_above_the_lipschitz_bound_is_refused_and_changes_nothing():
    learner = sp.KernelFTRL(2, lipschitz=1.0, kernel=OU(0.1))
    learner.update([1.0, 1e-12])  # rounding is forgiven
    before = {key: np.copy(value) for key, value in learner.arrays().items()}
    with pytest.raises(
        ValueError,
        match=r"g must have norm at most lipschitz = 1.0: got norm 1\.41.*raise lipschitz",
    ):
        learner.update([1.0, 1.0])
    after = learner.arrays()
    assert all(np.array_equal(before[key], after[key]) for key in before)
    learner.update([0.5, 0.5])


def test_times_and_rounds():
    learner = sp.KernelFTRL(1, lipschitz=1.0, kernel=OU(0.5), potential=Erfi())
    learner.predict(time=12.5)
    learner.predict(time=12.5)
    with pytest.raises(ValueError, match=r"open at 12\.5"):
        learner.predict(time=13.0)
    with pytest.raises(ValueError, match="takes feedback in order"):
        learner.update(0.5, time=11.0)
    learner.update(0.5, time=12.5)
    learner.update(-0.25, time=14.0)
    with pytest.raises(
        ValueError, match=r"time must increase: got 13.0 after 14.0; sort the stream"
    ):
        learner.predict(time=13.0)
    learner.skip()
    assert (learner.rounds, learner.time) == (3, 15.0)
    negative = sp.KernelFTRL(1, lipschitz=1.0, kernel=OU(0.5))
    negative.predict(time=-100.0)
    negative.update(1.0)
    spline = sp.KernelFTRL(1, lipschitz=1.0, kernel=Spline(), kernel_bound=3.0)
    with pytest.raises(ValueError, match="shift the times"):
        spline.predict(time=-1.0)
    spline.update(1.0)
    with pytest.raises(ValueError, match="kernel_bound"):
        spline.predict(time=4.0)
    assert spline.predict(time=3.0).shape == (1,)


def test_skipped_rounds_only_move_time():
    plain, skipping = (
        sp.KernelFTRL(1, lipschitz=1.0, kernel=OU(0.1), potential=Erfi()) for _ in range(2)
    )
    drive(plain, [1.0, -0.5, 1.0], times=[1.0, 2.0, 6.0])
    drive(skipping, [1.0, -0.5])
    for _ in range(3):
        skipping.skip()
    skipping.update(1.0)
    assert np.allclose(plain.predict(), skipping.predict(), rtol=1e-13)


@given(
    st.integers(0, 10_000),
    st.floats(0.1, 3.0),
    st.sampled_from(
        [
            "ou",
            "mixture",
            "matern32",
            "spline offset",
            "quasi-periodic",
            "integrated offset",
            "structural",
            "sum",
        ]
    ),
)
def test_certificate_dominates_and_is_attained(seed, radius, name):
    rng = np.random.default_rng(seed)
    rounds, dim = 30, 2
    kernel = MARKOV[name]
    times = np.cumsum(rng.exponential(size=rounds) + 1.0)
    gradients = rng.standard_normal((rounds, dim)) * np.exp(rng.standard_normal((rounds, 1)))
    learner = sp.KernelFTRL(
        dim, kernel=kernel, potential=Erfi(), domain=[Everywhere(), Ball(0.4)][seed % 2]
    )
    plays = drive(learner, gradients, times)
    certificate, gram = learner.certificate(radius), kernel.gram(times)
    linear = (gradients * plays).sum()
    for _ in range(5):
        alpha = rng.standard_normal((rounds, dim))
        u = gram @ alpha * (radius * rng.random() / np.sqrt((alpha * (gram @ alpha)).sum()))
        assert linear - (gradients * u).sum() <= certificate + 1e-9 * (1 + abs(certificate))
    theta = gram @ gradients
    worst = -radius * theta / np.sqrt((gradients * theta).sum())
    assert linear - (gradients * worst).sum() == pytest.approx(certificate, rel=1e-9, abs=1e-9)
    assert sp.regret.rkhs_norm(kernel, worst, times) == pytest.approx(radius, rel=1e-6)


def test_a_kernel_bound_below_the_kernel_is_refused():
    with pytest.raises(
        ValueError,
        match=r"kernel_bound must be at least max k\(t, t\) = 1.0: got 0.04; leave it out",
    ):
        sp.KernelFTRL(1, lipschitz=1.0, kernel=Constant(), kernel_bound=0.04)
    sp.KernelFTRL(1, lipschitz=1.0, kernel=Constant(), kernel_bound=1.0)


@pytest.mark.parametrize(("lipschitz", "weight"), [(1e-148, 1e-30), (1e148, 1e30)])
@pytest.mark.parametrize("potential", [ParameterFree(), Erfi(), FreeGrad(), AdaptiveQuadratic(1.0)])
def test_what_leaves_the_floats_in_the_kernels_space_is_refused_or_counts_as_nothing(
    lipschitz, weight, potential
):
    kernel = OU(0.1, weight=weight)
    with pytest.raises(
        ValueError, match=r"lipschitz·√max k\(t, t\) must be between 1e-150 and 1e\+150"
    ):
        sp.KernelFTRL(1, lipschitz=lipschitz, kernel=kernel, potential=potential)
    if lipschitz < 1.0:
        learner = sp.KernelFTRL(1, kernel=kernel, potential=potential)
        learner.update([lipschitz])
        assert learner.predict() == 0.0

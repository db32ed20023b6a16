import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import stillpoint as sp
from cases import drive
from stillpoint.domains import Ball, Box, Projection, Simplex
from stillpoint.kernels import OU, Constant
from stillpoint.losses import Absolute, Linear
from stillpoint.potentials import CAP, Erfi
from thorough import some_of

T = np.arange(300)
REGULAR = T + 1.0
IRREGULAR = 5.0 + np.cumsum(np.random.default_rng(0).exponential(size=300) + 0.01)


def gradients_for(dim, seed=0):
    rng = np.random.default_rng(seed)
    g = rng.standard_normal((300, dim)) + np.sin(T / 40)[:, None]
    return g / np.linalg.norm(g, axis=1, keepdims=True) * rng.random((300, 1))


@pytest.mark.parametrize("times", [REGULAR, IRREGULAR], ids=["regular", "irregular"])
@pytest.mark.parametrize(
    ("dim", "bounds"),
    some_of([1, 3], [(1.0, None), (None, None), (None, 0.3), (1.0, 0.2)], every=4),
)
def test_equals_the_dense_twin(times, dim, bounds):
    lipschitz, radius = bounds
    gradients = gradients_for(dim)
    domain = None if radius is None else Ball(radius)
    learner = sp.MultiScale(dim, lipschitz=lipschitz, budget=0.3, domain=domain, radius_scale=0.1)
    plays, sizes = naive.multi_scale(times, gradients, 0.3, 4.0, lipschitz, radius, 0.1)
    ours = drive(learner, gradients, times)
    assert np.abs(ours - plays).max() <= 1e-9 * np.abs(plays).max()
    assert np.allclose(learner.ledger.memory.norms, sizes, rtol=1e-9)
    if radius is not None:
        assert np.linalg.norm(plays, axis=1).max() == pytest.approx(radius)


def test_is_a_sum_of_kernel_learners():
    gradients = gradients_for(2)
    kernels = [Constant()] + [OU(4.0**-j) for j in range(5)]
    parts = [
        sp.KernelFTRL(2, lipschitz=1.0, kernel=k, potential=Erfi(0.1), memory="dense")
        for k in kernels
    ]
    learner = sp.MultiScale(2, lipschitz=1.0)
    for t, g in zip(REGULAR, gradients, strict=True):
        running = [part for j, part in enumerate(parts) if t >= 4.0 ** (j - 1)]
        expected = sum(part.predict(time=t) for part in running)
        assert np.allclose(learner.predict(), expected, rtol=1e-9, atol=1e-14)
        learner.update(g)
        for part in running:
            part.update(g)


STREAMS = {
    "absolute": Absolute().on(
        np.sin(np.arange(6000) / 300) + 0.3 * np.random.default_rng(1).standard_normal(6000)
    ),
    "vectors": Absolute().on(np.stack([np.sin(T / 50), np.cos(T / 70), T / 100], axis=1)),
    "irregular": Absolute().on(np.sin(T / 20), times=IRREGULAR),
}


@pytest.mark.parametrize(
    ("name", "lipschitz", "domain"),
    some_of(STREAMS, [1.0, None], [None, Ball(0.4), Box(-0.3, 0.5), Simplex(1.0)], every=4),
)
def test_bulk_equals_interactive_bit_for_bit(name, lipschitz, domain):
    losses = STREAMS[name]
    compiled, interactive = (
        sp.MultiScale(losses.dim, lipschitz=lipschitz, domain=domain) for _ in range(2)
    )
    a, b = sp.play(compiled, losses), sp.play(interactive, list(losses), times=losses.times)
    for curve in ("plays", "losses", "gradients", "linear", "norms"):
        assert np.array_equal(getattr(a, curve), getattr(b, curve)), curve
    left, right = compiled.arrays(), interactive.arrays()
    assert left.keys() == right.keys()
    assert all(
        np.array_equal(left[key], right[key])
        for key in left
        if key != "ledger.memory.pull" and key != "memory.pull"
    )


@given(
    st.integers(0, 10_000),
    st.sampled_from(["random", "against", "with", "drift", "push then noise"]),
    st.sampled_from([0.01, 0.1, 3.0]),
)
def test_the_theorem_holds_against_every_split(seed, kind, budget):
    """Per-level radii: the certificate is the exact supremum over all splits, so bound ≥
    certificate is the theorem.
    """
    rng = np.random.default_rng(seed)
    learner = sp.MultiScale(1, lipschitz=1.0, budget=budget)
    for t in range(250):
        w = learner.predict()
        learner.update(
            {
                "random": rng.choice([-1.0, 1.0], 1),
                "against": np.where(w >= 0, 1.0, -1.0),
                "with": np.where(w >= 0, -1.0, 1.0) * rng.random(),
                "drift": np.array([np.sin(t / 25)]),
                "push then noise": -np.ones(1) if t < 60 else rng.choice([-1.0, 1.0], 1),
            }[kind]
        )
    count = len(learner.levels())
    for _ in range(20):
        radii = 10.0 ** rng.uniform(-3, 4, count) * (rng.random(count) < 0.5)
        assert learner.certificate(radii) <= learner.bound(radii) * (1 + 1e-9) + 1e-9
    assert learner.certificate(0.0) <= learner.bound([])


def closed_form(norms, variances, budget, lipschitz):
    """Σ_j [ε√(¾(V_j + G²)) + ‖u^j‖(√(6(V_j + 4G²)ℓ_j) + 12Gℓ_j)], ℓ_j = log(2 + ‖u^j‖/ε)."""
    n, V, square = np.asarray(norms), np.asarray(variances), lipschitz**2
    log = np.log(2 + n / budget)
    slope = np.sqrt(6 * (V + 4 * square) * log) + 12 * lipschitz * log
    return float((budget * np.sqrt(0.75 * (V + square)) + n * slope).sum())


def test_the_theorem_holds_as_printed_where_the_root_alone_does_not():
    y = np.full(50, 10.0)
    learner = sp.MultiScale(1, lipschitz=1.0)
    regret = float(sp.play(learner, Absolute().on(y)).regret(y)[-1])
    V = np.array([level.variance for level in learner.levels()])
    norms = np.append(10.0, np.zeros(V.size - 1))  # a constant lives in the static level
    root = float((0.1 * np.sqrt(0.75 * V)).sum() + 10 * np.sqrt(3 * V[0] * np.log(1 + 10 / 0.1)))
    assert regret > 1.7 * root
    assert regret <= learner.certificate(norms) + 1e-9 <= learner.bound(norms)
    assert learner.bound(norms) <= closed_form(norms, V, 0.1, 1.0) <= 2 * learner.bound(norms)


def test_the_closed_form_is_above_the_bound_for_every_norm_and_variance():
    for budget, lipschitz in ((0.1, 1.0), (3.0, 1e-3)):
        for v in (0.0, *np.logspace(-6, 8, 29)):
            for n in (0.0, *np.logspace(-8, 12, 41)):
                V, size = v * lipschitz**2, n * budget
                limit = closed_form([size], [V], budget, lipschitz)
                assert Erfi(budget).bound(size, V, lipschitz) <= limit * (1 + 1e-12)


@pytest.mark.parametrize("budget", [0.1, 3.0])
def test_hostile_runs_keep_the_theorem_as_printed(budget):
    rng = np.random.default_rng(0)
    streams = {
        "never turns": lambda t, w: -np.ones(1),
        "small": lambda t, w: -np.full(1, 0.01),
        "with the play": lambda t, w: np.where(w >= 0, -1.0, 1.0),
        "against the play": lambda t, w: np.where(w >= 0, 1.0, -1.0),
        "push, then noise": lambda t, w: -np.ones(1) if t < 60 else rng.choice([-1.0, 1.0], 1),
    }
    for gradient in streams.values():
        learner = sp.MultiScale(1, lipschitz=1.0, budget=budget)
        for t in range(200):
            learner.update(gradient(t, learner.predict()))
        V = [level.variance for level in learner.levels()]
        for scale in (0.0, *np.logspace(-3, 6, 19)):
            norms = scale * rng.dirichlet(np.full(len(V), 0.3))
            assert learner.certificate(norms) <= closed_form(norms, V, budget, 1.0)


def test_it_loses_at_most_its_budget_to_zero():
    """R(0) ≤ Σ_j ε√(¾(V_j + G²)), whatever happens: pure noise after a push, which lifts Tracker's
    radius, does not hurt it.
    """
    rng = np.random.default_rng(0)
    g = np.concatenate([-np.ones(20), rng.choice([-1.0, 1.0], 20_000)])
    run = sp.play(sp.MultiScale(1, lipschitz=1.0, budget=0.1), Linear().on(g[:, None]))
    limit = 10 * 0.1 * np.sqrt(0.75 * (len(g) + 1))  # at most ten levels run by then
    assert run.linear[-1] <= limit


def test_scale_free_bound():
    for domain in (None, Ball(2.0)):
        for seed in range(3):
            rng = np.random.default_rng(seed)
            y = 1.5 * np.sin(np.arange(600) / 60) + 0.2 * rng.standard_normal(600)
            learner = sp.MultiScale(1, domain=domain)
            run = sp.play(learner, list(Absolute().on(y)))
            # constants live in the static level; the growing balls hold 1 from the first gradient
            # that is fed on
            for u in (1.0, -1.0, 0.3):
                assert run.linear_regret([u])[-1] <= learner.bound([abs(u)], magnitude=abs(u))


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_scale_free_plays_ignore_the_unit(unit):
    gradients = gradients_for(2)
    plain, scaled = sp.MultiScale(2), sp.MultiScale(2)
    a, b = drive(plain, gradients, REGULAR), drive(scaled, unit * gradients, REGULAR)
    assert np.abs(a - b).max() <= 1e-9 * np.abs(a).max()


def test_levels_start_as_time_passes():
    learner = sp.MultiScale(1, lipschitz=1.0)
    counts = []
    for _ in range(70):
        learner.update(0.5)
        counts.append(len(learner.levels()))
    assert [counts[0], counts[2], counts[3], counts[14], counts[15], counts[63]] == [
        2,
        2,
        3,
        3,
        4,
        5,
    ]
    levels = learner.levels()
    assert [level.rate for level in levels] == [0.0, 1.0, 0.25, 0.0625, 0.015625]
    assert [level.variance for level in levels] == pytest.approx([17.5, 17.5, 16.75, 13.75, 1.75])
    # elapsed time, not rounds, starts levels: one round after a gap of 1000, all scales up to 4^4
    # run
    late = sp.MultiScale(1, lipschitz=1.0)
    late.update(0.5, time=-7.0)
    late.update(0.5, time=993.0)
    assert len(late.levels()) == 6


def test_certificates_of_three_kinds():
    learner = sp.MultiScale(1, lipschitz=1.0)
    drive(learner, gradients_for(1), REGULAR)
    sizes = np.array([level.size for level in learner.levels()])
    linear = learner.ledger.linear_loss
    assert learner.certificate(2.0) == pytest.approx(linear + 2.0 * np.sqrt((sizes**2).sum()))
    assert learner.certificate(2.0, group=True) == pytest.approx(linear + 2.0 * sizes.max())
    radii = np.arange(sizes.size, dtype=float)
    assert learner.certificate(radii) == pytest.approx(linear + radii @ sizes)
    shares = [level.share for level in learner.levels()]
    assert max(shares) > 0.0


@pytest.mark.filterwarnings("ignore:the play saturated")
def test_gradients_that_never_turn_saturate():
    learner = sp.MultiScale(1, lipschitz=1.0)
    run = sp.play(learner, Linear().on(np.full((30_000, 1), -1.0)))
    assert np.isfinite(run.plays).all()
    assert run.plays.max() >= CAP
    assert not sp.MultiScale(1, domain=Projection(lambda w: w))._can_compile()


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: sp.MultiScale(1, budget=0.0), "budget"),
        (lambda: sp.MultiScale(1, base=1.0), "base"),
        (lambda: sp.MultiScale(1, lipschitz=-2.0), "lipschitz"),
        (lambda: sp.MultiScale(1, domain=1.0), "domain"),
        (
            lambda: sp.MultiScale(1, lipschitz=1.0).certificate([1.0, 2.0]),
            "radius must hold 0 numbers",
        ),
        (lambda: sp.MultiScale(1, lipschitz=1.0).bound([1.0]), "norms must hold at most 0"),
        (lambda: sp.MultiScale(1).bound([]), "magnitude"),
    ],
)
def test_bad_arguments_are_named(build, word):
    with pytest.raises(ValueError, match=word):
        build()

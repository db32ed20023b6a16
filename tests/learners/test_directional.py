"""Directional on domains and without a bound on gradients: against its formula written out, and
held to its bound.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import stillpoint as sp
from cases import TIMES
from stillpoint import checks
from stillpoint.domains import Ball, Box, HalfSpace, Projection, Simplex
from stillpoint.kernels import OU, Constant, Gaussian, Spline
from thorough import some_of

NORMS = ["full", "diagonal"]
DOMAINS = {
    "everywhere": None,
    "ball": Ball(0.05),
    "ball off centre": Ball(0.3, center=[0.1, -0.2]),
    "box": Box(-0.02, 0.05),
    "simplex": Simplex(),
    "half-space": HalfSpace([1.0, 2.0], 0.01),
    "projection": Projection(Ball(0.05).project),
}


def turned(g, z, w):
    """The gradient without its part along z − w where that would reward leaving the domain."""
    n = z - w
    size = np.linalg.norm(n)
    return g - min(0.0, g @ n / size) * n / size if size > 1e-12 * np.linalg.norm(z) else g


def literal(gram, gradients, ridge, scale, norms, domain):
    """lipschitz=None on a domain (projection, clipping and running hints, in norms that grow):
    plays, the gradients fed, the hints, and V after the run.
    """
    rounds, dim = gradients.shape
    plays, fed, hints = np.zeros((rounds, dim)), np.zeros((rounds, dim)), np.zeros(rounds)
    top, hint, total, reach, duals = 0.0, 0.0, 0.0, 0.0, []
    for t in range(rounds):
        hints[t] = hint = max(hint, top * np.sqrt(gram[t, t]))
        unit, past = np.where(hints[:t] > 0, hints[:t], 1.0), fed[:t]
        direct = past / unit[:, None]
        if norms == "full":
            K = (direct @ direct.T) * gram[:t, :t]
            c = np.linalg.solve((1 + ridge) * np.eye(t) + K, hints[:t])
            values, square = -(c * gram[t, :t]) @ direct, hints[:t] @ K @ c
        else:
            weights = 1 + ridge + np.diag(gram)[:t] @ direct**2
            values = -(gram[t, :t] @ past) / weights
            square = (np.einsum("si,sr,ri->i", past, gram[:t, :t], past) / weights).sum()
        V, A, N = (
            4 * hint**2 + np.sum(duals),
            4 + np.sum(np.array(duals) / unit**2),
            np.sqrt(max(square, 0.0)),
        )
        z = naive.psi(N, V, hint, scale, A) / N * values if N > 0 else np.zeros(dim)
        inner = z
        if domain is None or np.isinf(domain.reach(dim)):
            inner = Ball(np.sqrt(reach)).project(z) if reach > 0 else np.zeros(dim)
        plays[t] = inner if domain is None else domain.project(inner)
        g = gradients[t]
        size = np.linalg.norm(g)
        clipped = g * min(1.0, top / size)
        fed[t] = turned(turned(clipped, inner, plays[t]), z, inner)
        a = fed[t] / (hint if hint > 0 else 1.0)
        if norms == "full":
            q = (direct @ a) * gram[:t, t]
            solved = np.linalg.solve((1 + ridge) * np.eye(t) + K, q)
            duals.append(hint**2 * (gram[t, t] * (a @ a) - q @ solved) / (1 + ridge))
        else:
            duals.append(hint**2 * (gram[t, t] * a**2 / weights).sum())
        top, total = max(top, size), total + size
        reach = max(reach, total / top)
    return plays, fed, hints, 4 * hint**2 + np.sum(duals)


@pytest.mark.parametrize(
    ("norms", "kernel", "name", "times"),
    some_of(
        NORMS,
        [OU(0.1), Spline(1.0), Gaussian(3.0)],
        [name for name in DOMAINS if name != "projection"],
        TIMES,
        every=6,
    ),
)
def test_scale_free_plays_are_those_of_the_formula(norms, kernel, name, times):
    when, domain = TIMES[times], DOMAINS[name]
    rng = np.random.default_rng(0)
    gradients = (rng.standard_normal((when.size, 2)) + np.array([0.5, -1.0])) * rng.choice(
        [0.1, 1.0, 10.0], (when.size, 1)
    )
    learner = sp.Directional(2, kernel=kernel, ridge=0.5, scale=3e4, norms=norms, domain=domain)
    twin, fed, hints, V = literal(kernel.gram(when), gradients, 0.5, 3e4, norms, domain)
    plays, ours = [], []
    for t, g in enumerate(gradients):
        plays.append(learner.predict(time=when[t]))
        learner.update(g)
        ours.append(learner.fed * (hints[t] if hints[t] > 0 else 1.0))
    assert np.abs(np.array(plays) - twin).max() <= 1e-9 * np.abs(twin).max()
    assert np.abs(np.array(ours) - fed).max() <= 1e-8 * np.abs(fed).max()
    assert learner.variance == pytest.approx(V, rel=1e-9)
    assert np.abs(twin).max() > 1e-3
    if domain is not None:
        sizes = np.linalg.norm(gradients, axis=1)
        before = np.append(0.0, np.maximum.accumulate(sizes)[:-1])
        # the domain had its say
        assert np.abs(fed - gradients * np.minimum(1.0, before / sizes)[:, None]).max() > 1e-3


@pytest.mark.parametrize("name", [name for name in DOMAINS if name != "everywhere"])
@pytest.mark.parametrize("norms", NORMS)
def test_with_a_lipschitz_bound_the_plays_are_those_of_the_learner_on_the_turned_gradients(
    norms, name
):
    """Projection and turned gradients, around the learner without a domain."""
    rng, domain = np.random.default_rng(1), DOMAINS[name]
    learner = sp.Directional(
        2, lipschitz=2.0, kernel=OU(0.1), scale=300.0, norms=norms, domain=domain
    )
    inside = sp.Directional(2, lipschitz=2.0, kernel=OU(0.1), scale=300.0, norms=norms)
    changed = 0
    for _ in range(60):
        g = rng.standard_normal(2) + np.array([0.3, -0.6])
        g *= min(1.0, 2.0 / np.linalg.norm(g))
        z, w = inside.predict(), learner.predict()
        assert np.allclose(w, domain.project(z), rtol=1e-9, atol=1e-12)
        fed = turned(g, z, w)
        changed += np.abs(fed - g).max() > 1e-6
        learner.update(g)
        inside.update(learner.fed)
        assert np.allclose(learner.fed, fed, rtol=1e-6, atol=1e-9)
    assert changed > 3


def hostile(kind, t, w, lean, rng, dim):
    return {
        "random": rng.standard_normal(dim),
        "drift": lean + 0.3 * rng.standard_normal(dim),
        "adversary": np.where(w >= 0, 1.0, -1.0),
        "coordinates": np.eye(dim)[t % dim] * rng.choice([-1.0, 1.0]),
        "spike": 1e-3 * lean if t % 30 else -1e3 * lean,
        "growing": lean * 1.1**t,
    }[kind]


KINDS = ["random", "drift", "adversary", "coordinates", "spike", "growing"]


@pytest.mark.parametrize("lipschitz", [None, 1.0])
@pytest.mark.parametrize("norms", NORMS)
@given(
    seed=st.integers(0, 2**31),
    kind=st.sampled_from(KINDS),
    name=st.sampled_from(list(DOMAINS)),
    rounds=st.integers(2, 80),
    ridge=st.sampled_from([1e-3, 1.0, 100.0]),
    scale=st.sampled_from([0.01, 1.0, 100.0]),
)
def test_the_bound_holds_on_domains(norms, lipschitz, seed, kind, name, rounds, ridge, scale):
    """Against fixed comparators in the domain, from near to far; with artificial balls, those that
    have always been in them.
    """
    rng, domain = np.random.default_rng(seed), DOMAINS[name]
    learner = sp.Directional(
        2,
        lipschitz=lipschitz,
        kernel=Constant(),
        ridge=ridge,
        scale=scale,
        norms=norms,
        domain=domain,
    )
    plays, gradients, fed, radii, lean = [], [], [], [], rng.standard_normal(2)
    for t in range(rounds):
        w = learner.predict()
        g = hostile(kind, t, w, lean, rng, 2)
        if lipschitz is not None:
            g = lipschitz * g / max(np.linalg.norm(g), 1.0)
        radii.append(learner.radius)
        learner.update(g)
        plays.append(w)
        gradients.append(g)
        fed.append(learner.fed)
    plays, gradients, fed = np.array(plays), np.array(gradients), np.array(fed)
    for size in (0.0, 1e-3, 0.1, 1.0, 30.0):
        for direction in (-gradients.sum(axis=0), lean, np.array([1.0, 0.0])):
            u = size * direction / max(np.linalg.norm(direction), 1e-300)
            u = u if domain is None else domain.project(u)
            regret = (gradients * (plays - u)).sum()
            assert (
                regret
                <= limit(learner, u, fed, radii, norms) * (1 + 1e-9)
                + 1e-9 * np.abs(gradients).sum()
            )


def limit(learner, u, fed, radii, norms):
    if np.linalg.norm(u) > min(radii):
        # on an artificial ball its shadow moves, which the constant kernel does not know: see the
        # test below
        return np.inf
    full = norms == "full"
    alignment = (
        ((fed @ u) ** 2).sum() if full else ((learner.norms.weights - learner._floor) * u * u).sum()
    )
    return learner.bound(np.linalg.norm(u), alignment, np.linalg.norm(u))


@pytest.mark.parametrize("norms", NORMS)
@pytest.mark.parametrize("kernel", [OU(0.05), Spline(1.0)], ids=["ou", "spline"])
def test_the_scale_free_bound_holds_for_moving_comparators_and_their_shadows(kernel, norms):
    """On the whole space: regret against u is at most the bound of u projected on the balls, and
    the costs for M = max‖u_t‖.
    """
    gram = kernel.gram(np.arange(1.0, 121.0))
    for kind in KINDS:
        rng = np.random.default_rng(5)
        lean = rng.standard_normal(2)
        learner = sp.Directional(2, kernel=kernel, scale=3.0, norms=norms)
        plays, gradients, fed, radii = [], [], [], []
        for t in range(120):
            plays.append(learner.predict())
            radii.append(learner.radius)
            gradients.append(hostile(kind, t, plays[-1], lean, rng, 2))
            learner.update(gradients[-1])
            fed.append(learner.fed)
        plays, gradients, fed = np.array(plays), np.array(gradients), np.array(fed)
        for size in (0.0, 0.1, 1.0, 5.0):
            for c in (-gradients, rng.standard_normal((120, 2)), -np.sign(gradients)):
                u = gram @ c
                u *= size / np.abs(u).max()
                shadow = (
                    u
                    * np.minimum(
                        1.0, np.array(radii) / np.maximum(np.linalg.norm(u, axis=1), 1e-300)
                    )[:, None]
                )
                k = np.linalg.solve(gram, shadow)
                sizes = (shadow * k).sum(axis=0)
                if norms == "full":
                    alignment = ((fed * shadow).sum(axis=1) ** 2).sum()
                else:
                    alignment = ((learner.norms.weights - learner._floor) * sizes).sum()
                most = learner.bound(
                    np.sqrt(sizes.sum()), alignment, np.linalg.norm(u, axis=1).max()
                )
                assert (gradients * (plays - u)).sum() <= most


@pytest.mark.parametrize("norms", NORMS)
def test_what_clipping_costs_is_real(norms):
    """One gradient far larger than all before it: the bound without its cost would be broken."""
    learner = sp.Directional(1, kernel=Constant(), scale=1e-3, norms=norms, domain=Ball(1.0))
    linear = 0.0
    for g in (*[-1.0] * 3000, 1e6):
        linear += g * learner.predict()[0]
        learner.update(g)
    base = learner.bound(0.0, 0.0) - learner.cost_of_scale(None)
    assert base < linear <= learner.bound(0.0, 0.0, 0.0)


@pytest.mark.parametrize("norms", NORMS)
@pytest.mark.parametrize("unit", [1e-7, 1e7])
def test_scale_free_plays_ignore_the_unit_of_gradients(norms, unit):
    gradients = np.random.default_rng(2).standard_normal((80, 2)) + 0.5
    plays = [[], []]
    learners = [sp.Directional(2, kernel=OU(0.1), scale=5.0, norms=norms) for _ in "ab"]
    for g in gradients:
        for each, learner, factor in zip(plays, learners, (1.0, unit), strict=True):
            each.append(learner.predict())
            learner.update(factor * g)
    assert np.allclose(*plays, rtol=1e-9, atol=1e-15)
    assert np.abs(plays[0]).max() > 1e-4


@pytest.mark.parametrize("norms", NORMS)
@pytest.mark.parametrize(
    "domain", [None, Ball(0.5), Simplex()], ids=["everywhere", "ball", "simplex"]
)
@pytest.mark.parametrize("lipschitz", [1.0, None])
def test_directional_learners_conform(lipschitz, domain, norms):
    checks.check_learner(
        lambda dim: sp.Directional(
            dim, lipschitz=lipschitz, kernel=OU(0.1), norms=norms, domain=domain
        )
    )


def test_a_state_saved_before_there_were_domains_is_read():
    learner, twin = (sp.Directional(2, lipschitz=1.0, kernel=OU(0.1)) for _ in "ab")
    for g in np.random.default_rng(3).uniform(-0.7, 0.7, (20, 2)):
        learner.update(g)
    for new in (("fed",), ("fed", "norms.trace"), ("fed", "stats", "proposal", "inner")):
        old = {name: value for name, value in learner.arrays().items() if name not in new}
        twin.restore(twin.migrated(old))
        assert set(twin.migrated(old)) == set(learner.arrays())
        assert np.array_equal(learner.predict(), twin.predict())
        assert learner.bound(1.0, 2.0) == twin.bound(1.0, 2.0)


@pytest.mark.parametrize("norms", NORMS)
@pytest.mark.parametrize("lipschitz", [3.0, None])
def test_a_loaded_learner_goes_on_as_the_one_that_was_saved(tmp_path, lipschitz, norms):
    arguments = {"lipschitz": lipschitz, "kernel": OU(0.1), "norms": norms, "domain": Ball(0.3)}
    learner = sp.Directional(2, **arguments)
    for g in np.random.default_rng(4).uniform(-2.0, 2.0, (15, 2)):
        sp.save(learner, tmp_path / "learner")
        again = sp.load(tmp_path / "learner")
        assert np.array_equal(again.fed, learner.fed)
        for each in (learner, again):
            each.update(g)
        for name, value in learner.arrays().items():
            assert np.array_equal(again.arrays()[name], value), name
    assert learner.fed.any()


def test_a_file_without_what_the_norms_were_fed_is_read(tmp_path, monkeypatch):
    learner = sp.Directional(2, kernel=OU(0.1))
    for g in np.random.default_rng(5).uniform(-2.0, 2.0, (20, 2)):
        learner.update(g)
    kept = {name: value for name, value in learner.arrays().items() if name != "fed"}
    with monkeypatch.context() as older:
        older.setattr(sp.Directional, "arrays", lambda _: kept)
        sp.save(learner, tmp_path / "learner")
    again = sp.load(tmp_path / "learner")
    assert not again.fed.any()
    for g in ([1.0, 0.5], [-1.0, 2.0]):
        for each in (learner, again):
            each.update(g)
        assert np.array_equal(again.fed, learner.fed)
        assert np.array_equal(again.predict(), learner.predict())


def test_growing_kernels_need_a_bound_only_with_a_lipschitz_bound():
    with pytest.raises(ValueError, match="kernel_bound must be given"):
        sp.Directional(1, lipschitz=1.0, kernel=Spline())
    learner = sp.Directional(1, kernel=Spline())
    for g in (1.0, -2.0, 0.5, 0.0, 3.0):
        learner.update(g)
    assert learner.hint == pytest.approx(2.0 * np.sqrt(5.0))  # of round 5; the next will have 3√6
    with pytest.raises(ValueError, match="magnitude must be given"):
        learner.bound(1.0, 1.0)

"""Theorem static-full-matrix: parameter-free FTRL in increasing norms, against its literal formula,
its argmin and its bound.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stillpoint as sp
from cases import TIMES, drive
from stillpoint import checks
from stillpoint.kernels import OU, Constant, Gaussian, HorizonFree, Matern32, Spline
from stillpoint.learners.norms import Diagonal
from thorough import THOROUGH

NORMS = ["full", "diagonal"]


def grow(norms, g, weight=1.0):
    return weight * (np.outer(g, g) if norms == "full" else np.diag(g * g))


def literal(gradients, lipschitz, ridge, scale, norms):
    """The theorem on R^d with G = 1 (E14): plays, Σ and V after the run, every matrix
    solved anew.
    """
    dim = gradients.shape[1]
    floor = ridge + lipschitz**2
    sigma, theta, V, plays, steps = floor * np.eye(dim), np.zeros(dim), 4.0, [], []
    for g in gradients:
        direction = np.linalg.solve(sigma, theta)
        N = np.sqrt(max(theta @ direction, 0.0))
        alpha = scale * lipschitz / (np.sqrt(V) * np.log(V) ** 2)
        x = alpha * np.expm1(N**2 / (36 * V) if N <= 6 * V else N / 3 - V)
        plays.append(x / N * direction if N > 0 else np.zeros(dim))
        steps.append((sigma.copy(), theta.copy(), V, alpha))
        V += g @ np.linalg.solve(sigma, g)
        sigma = sigma + grow(norms, g)
        theta = theta - g
    return np.array(plays), sigma, V, steps


def unit(gradients, lipschitz=1.0):
    return lipschitz * gradients / np.maximum(np.linalg.norm(gradients, axis=1, keepdims=True), 1.0)


def streams(rounds, dim):
    rng = np.random.default_rng(0)
    yield rng.standard_normal((rounds, dim))
    yield rng.standard_normal((rounds, dim)) * 10.0 ** -np.arange(dim) + 0.3 * 10.0 ** -np.arange(
        dim
    )
    yield -np.ones((rounds, dim)) * (np.arange(dim) == 0)


@pytest.mark.parametrize("norms", NORMS)
@pytest.mark.parametrize(
    ("dim", "lipschitz", "ridge"),
    [(1, 1.0, 1.0), (3, 1.0, 0.01), (5, 20.0, 3.0), (3, 0.01, 1e-4)],
)
def test_plays_are_the_theorems(norms, dim, lipschitz, ridge):
    for stream in streams(800 if THOROUGH else 200, dim):
        gradients = unit(stream, lipschitz)
        learner = sp.Directional(
            dim, lipschitz=lipschitz, kernel=Constant(), ridge=ridge, scale=2.0, norms=norms
        )
        plays = drive(learner, gradients)
        twin, sigma, V, _ = literal(gradients, lipschitz, ridge, 2.0, norms)
        assert np.abs(plays - twin).max() <= 1e-12 * np.abs(twin).max()
        assert learner.variance == pytest.approx(V, rel=1e-12)
        if norms == "diagonal":
            np.testing.assert_allclose(learner.norms.weights, np.diag(sigma), rtol=1e-12)


@pytest.mark.parametrize("norms", NORMS)
def test_the_second_branch_of_the_potential(norms):
    """N > 6V: gradients that never turn, the E1 side of Ψ."""
    gradients = np.column_stack([-np.ones(7000), np.zeros(7000)])
    learner = sp.Directional(2, lipschitz=1.0, kernel=Constant(), ridge=1.0, norms=norms)
    plays = drive(learner, gradients)
    twin, _, V, steps = literal(gradients, 1.0, 1.0, 1.0, norms)
    sigma, theta = steps[-1][:2]
    assert np.sqrt(theta @ np.linalg.solve(sigma, theta)) > 6 * V
    assert np.abs(plays - twin).max() <= 1e-10 * np.abs(twin).max()
    for regret, limit in worst(learner, gradients, plays, norms):
        assert regret <= limit


@pytest.mark.parametrize("norms", NORMS)
def test_the_formula_is_the_argmin(norms):
    """∇(⟨Σg, w⟩ + Ψ_t(‖w‖_t)) = 0 at the play; Ψ' = 6√(V l) if l ≤ V, else 3(l + V), l = log(1 +
    x/α).
    """
    gradients = unit(next(streams(60, 3)) + 0.5)
    plays, _, _, steps = literal(gradients, 1.0, 0.5, 5.0, norms)
    for w, (sigma, theta, V, alpha) in zip(plays[1:], steps[1:], strict=True):
        size = np.sqrt(w @ sigma @ w)
        log = np.log1p(size / alpha)
        slope = 6 * np.sqrt(V * log) if log <= V else 3 * (log + V)
        np.testing.assert_allclose(slope * sigma @ w / size, theta, atol=1e-10)


def worst(learner, gradients, plays, norms):
    """Regret of the worst u with ‖u‖_{T+1} = ρ against what the bound says of it, over many ρ."""
    dim = gradients.shape[1]
    floor, excess = learner._floor, sum(grow(norms, g) for g in gradients)
    theta = -gradients.sum(axis=0)
    direction = np.linalg.solve(floor * np.eye(dim) + excess, theta)
    dual = np.sqrt(max(theta @ direction, 0.0))
    for rho in 10.0 ** np.arange(-6, 7.0):
        u = rho / dual * direction if dual > 0 else rho / np.sqrt(floor) * np.eye(dim)[0]
        regret = (gradients * (plays - u)).sum()
        yield regret, learner.bound(np.linalg.norm(u), u @ excess @ u)


@pytest.mark.parametrize("norms", NORMS)
@given(
    seed=st.integers(0, 2**31),
    kind=st.sampled_from(["random", "drift", "adversary", "coordinates", "spike", "turn"]),
    dim=st.integers(1, 4),
    rounds=st.integers(1, 120),
    lipschitz=st.sampled_from([0.01, 1.0, 50.0]),
    ridge=st.sampled_from([1e-4, 1.0, 100.0]),
    scale=st.sampled_from([0.01, 1.0, 100.0]),
)
def test_the_bound_holds(norms, seed, kind, dim, rounds, lipschitz, ridge, scale):
    rng = np.random.default_rng(seed)
    learner = sp.Directional(
        dim, lipschitz=lipschitz, kernel=Constant(), ridge=ridge, scale=scale, norms=norms
    )
    plays, gradients, lean = [], [], rng.standard_normal(dim)
    for t in range(rounds):
        w = learner.predict()
        g = {
            "random": rng.standard_normal(dim),
            "drift": lean + 0.3 * rng.standard_normal(dim),
            "adversary": np.where(w >= 0, 1.0, -1.0),
            "coordinates": np.eye(dim)[t % dim] * rng.choice([-1.0, 1.0]),
            "spike": 1e-3 * lean if t % 30 else -1e3 * lean,
            "turn": lean if t < rounds // 2 else -lean,
        }[kind]
        g = lipschitz * g / max(np.linalg.norm(g), 1.0)
        learner.update(g)
        plays.append(w)
        gradients.append(g)
    for regret, limit in worst(learner, np.array(gradients), np.array(plays), norms):
        assert regret <= limit * (1 + 1e-12)


@pytest.mark.parametrize("norms", NORMS)
def test_dual_norms_are_at_most_one(norms):
    """E14: Σ_t ≥ (λ + G0²)I, so ‖G_t‖_{t,*} ≤ 1 whatever the scales, and V ≤ 4 + t."""
    for lipschitz, weight in ((1e-3, 1e-6), (1e3, 1e6), (1.0, 1e-4)):
        learner = sp.Directional(
            2, lipschitz=lipschitz, kernel=Constant(weight), ridge=1e-12, norms=norms
        )
        for t, g in enumerate(unit(10 * next(streams(30, 2)), lipschitz)):
            before = learner.variance
            learner.update(g)
            assert 0.0 <= learner.variance - before <= 1.0
            assert learner.variance <= 5.0 + t


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize(
    "kernel", [OU(0.1), Spline(1.0), Matern32(0.2), Gaussian(3.0), HorizonFree(accuracy=1e-9)]
)
@pytest.mark.filterwarnings("ignore:time gap")
def test_diagonal_norms_in_an_rkhs(kernel, times):
    """The same on W = R^d ⊗ H: ‖θ_i‖² = g_i'K g_i by coordinate; plays, V and the bound against the
    worst U of each size.
    """
    when, dim, top = TIMES[times], 3, 100.0
    gram = kernel.markov().gram(when)
    gradients = unit(
        next(streams(when.size, dim)) * np.array([1.0, 0.1, 0.01]) + np.array([0.5, -0.05, 0.0])
    )
    learner = sp.Directional(
        dim, lipschitz=1.0, kernel=kernel, ridge=0.5, scale=9.0, kernel_bound=top, norms="diagonal"
    )
    plays = drive(learner, gradients, when)
    V, floor, twin = 4.0, 0.5 + top, np.zeros_like(plays)
    diagonal = np.diag(gram)
    for t in range(when.size):
        past = gradients[:t]
        weights = floor + diagonal[:t] @ past**2
        N = np.sqrt((np.einsum("si,sr,ri->i", past, gram[:t, :t], past) / weights).sum())
        if N > 0:
            alpha = 9.0 * np.sqrt(top) / (np.sqrt(V) * np.log(V) ** 2)
            twin[t] = -alpha * np.expm1(N**2 / (36 * V)) / N * (gram[t, :t] @ past) / weights
        V += diagonal[t] * (gradients[t] ** 2 / weights).sum()
    assert np.abs(plays - twin).max() <= 1e-9 * np.abs(twin).max()
    assert learner.variance == pytest.approx(V, rel=1e-10)
    weights = learner.norms.weights
    squares = np.einsum("si,sr,ri->i", gradients, gram, gradients)
    dual = np.sqrt((squares / weights).sum())
    for rho in 10.0 ** np.arange(-3, 6.0):
        c = rho / dual / weights  # U = −Σ⁻¹ΣG·ρ/‖ΣG‖_*, coordinate i is −c_i θ_i
        sizes = c**2 * squares
        regret = (gradients * (plays + (gram @ gradients) * c)).sum()
        assert regret <= learner.bound(np.sqrt(sizes.sum()), ((weights - floor) * sizes).sum())
        assert regret <= learner.certificate(np.sqrt(sizes.sum())) + 1e-9


def test_full_and_diagonal_agree_in_one_dimension():
    gradients = unit(next(streams(50, 1)))
    a, b = (
        drive(
            sp.Directional(1, lipschitz=1.0, kernel=Constant(), scale=5.0, norms=norms), gradients
        )
        for norms in NORMS
    )
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-16)


def test_diagonal_norms_do_not_mind_small_coordinates():
    """‖u‖_{T+1} counts each coordinate at its own scale: a far comparator along a quiet coordinate
    stays cheap.
    """
    gradients = unit(next(streams(400, 2)) * np.array([1.0, 1e-3]))
    bounds = {}
    for norms in NORMS:
        learner = sp.Directional(2, lipschitz=1.0, kernel=Constant(), norms=norms)
        drive(learner, gradients)
        u = np.array([0.0, 100.0])
        bounds[norms] = [
            learner.bound(np.linalg.norm(v), v @ sum(grow(norms, g) for g in gradients) @ v)
            for v in (u, u[::-1])
        ]
    for quiet, loud in bounds.values():
        assert quiet < 0.2 * loud


def test_norms_of_ones_own():
    """Any increasing norms: here a fixed one, which makes the learner Algorithm 2 with G = 1 in
    units of the floor.
    """

    class Fixed(Diagonal):
        def add(self, g):
            own = self.memory.diagonal * g * g
            floor = self.weights.copy()
            dual = super().add(g)
            self.weights = floor
            assert dual == pytest.approx((own / floor).sum())
            return dual

    gradients = unit(next(streams(80, 2)) + 0.4)
    learner = sp.Directional(2, lipschitz=1.0, kernel=OU(0.1), ridge=1.0, norms=Fixed)
    scaled = sp.KernelFTRL(
        2,
        lipschitz=1.0,
        kernel=OU(0.1, 0.5),
        kernel_bound=1.0,
        potential=sp.potentials.ParameterFree(1.0),
    )
    np.testing.assert_allclose(
        drive(learner, gradients), drive(scaled, gradients), rtol=1e-10, atol=1e-18
    )
    with pytest.raises(ValueError, match="cannot be saved"):
        sp.save(learner, "nowhere")
    with pytest.raises(ValueError, match="norms must be 'full'"):
        sp.Directional(1, lipschitz=1.0, kernel=Constant(), norms="spectral")


@pytest.mark.parametrize("kernel", [Constant(), OU(0.1), Gaussian(3.0)])
def test_diagonal_learners_conform(kernel):
    checks.check_learner(
        lambda dim: sp.Directional(dim, lipschitz=1.0, kernel=kernel, norms="diagonal")
    )

"""The paper's lemmas and the reduction itself, checked in an explicit finite-dimensional feature
space.
"""

import numpy as np
import pytest
from scipy.integrate import quad

import stillpoint as sp
from cases import MARKOV
from stillpoint.kernels import OU, Gaussian, HorizonFree
from stillpoint.losses import Absolute, Huber, Squared
from stillpoint.potentials import Erfi, ParameterFree

ROUNDS, DIM = 25, 2
TIMES = np.arange(1.0, ROUNDS + 1.0)


def features(kernel):
    """Rows φ(t) with ⟨φ(s), φ(t)⟩ = k(s, t)."""
    values, vectors = np.linalg.eigh(kernel.gram(TIMES))
    return vectors * np.sqrt(np.maximum(values, 0.0))


def outer(g, phi):
    """g ⊗ φ as a DIM × ROUNDS matrix."""
    return np.outer(g, phi)


@pytest.mark.parametrize("loss", [Squared(), Absolute(), Huber(0.3)])
@pytest.mark.parametrize("kernel", [OU(0.1), Gaussian(1.0), HorizonFree()])
def test_dynamic_regret_is_static_regret_in_the_rkhs(kernel, loss):
    """Theorem RKHS-SR-solves-DR and Example kernel-ftrl: W_t held explicitly, any loss, not only
    linear ones.
    """
    rng = np.random.default_rng(0)
    phi = features(kernel)
    losses = loss.on(rng.standard_normal((ROUNDS, DIM)))
    learner = sp.KernelFTRL(
        DIM, lipschitz=20.0, kernel=kernel, potential=ParameterFree(1e3), memory="dense"
    )
    theta, V, operators = np.zeros((DIM, ROUNDS)), 4 * learner.hint**2, []
    for t in range(ROUNDS):
        S = np.linalg.norm(theta)
        W = theta / S * learner.potential.magnitude(S, V, learner.hint) if S > 0 else 0 * theta
        operators.append(W)
        w = learner.predict()
        assert np.allclose(w, W @ phi[t], rtol=1e-8, atol=1e-12)
        g = losses[t].gradient(w)
        learner.update(g)
        theta = theta - outer(g, phi[t])
        V += np.linalg.norm(outer(g, phi[t])) ** 2
    U = rng.standard_normal((DIM, ROUNDS))
    u = (U @ phi.T).T
    static = sum(
        losses[t].value(operators[t] @ phi[t]) - losses[t].value(U @ phi[t]) for t in range(ROUNDS)
    )
    dynamic = sum(
        losses[t].value(operators[t] @ phi[t]) - losses[t].value(u[t]) for t in range(ROUNDS)
    )
    assert static == pytest.approx(dynamic, rel=1e-12)
    # the minimum-norm interpolant is no larger than the comparator it interpolates
    assert sp.regret.rkhs_norm(kernel, u, method="dense") <= np.linalg.norm(U) * (1 + 1e-6)


@pytest.mark.parametrize("name", ["ou", "matern52", "spline", "periodic", "integrated", "sum"])
def test_hs_norms(name):
    """Lemmas hs-norm, hs-sum-norm and feature-covariance-norm."""
    rng = np.random.default_rng(1)
    kernel, g = MARKOV[name], rng.standard_normal((ROUNDS, DIM))
    phi, gram = features(kernel), kernel.gram(TIMES)
    for t in range(ROUNDS):
        assert np.linalg.norm(outer(g[t], phi[t])) ** 2 == pytest.approx(
            (g[t] @ g[t]) * gram[t, t], rel=1e-10
        )
    total = sum(outer(g[t], phi[t]) for t in range(ROUNDS))
    assert np.linalg.norm(total) ** 2 == pytest.approx(((g @ g.T) * gram).sum(), rel=1e-10)
    X = rng.standard_normal((DIM, ROUNDS))
    assert np.linalg.norm(X @ phi[3]) ** 2 == pytest.approx(
        np.trace((X @ np.outer(phi[3], phi[3])).T @ X), rel=1e-10
    )


def test_subgradients_lift():
    """Lemma subgradients: g ∈ ∂ℓ(Wφ) makes g ⊗ φ a subgradient of W ↦ ℓ(Wφ)."""
    rng = np.random.default_rng(2)
    phi = features(OU(0.1))
    losses = Absolute().on(rng.standard_normal((ROUNDS, DIM)))
    for t in range(ROUNDS):
        W, V = rng.standard_normal((2, DIM, ROUNDS))
        G = outer(losses[t].gradient(W @ phi[t]), phi[t])
        assert (
            losses[t].value(V @ phi[t]) >= losses[t].value(W @ phi[t]) + np.sum(G * (V - W)) - 1e-12
        )


def test_log_determinants():
    """Lemmas log-det and log-det-sum."""
    rng = np.random.default_rng(3)
    v, A, ridge = rng.standard_normal((40, 6)), np.eye(6), 0.7
    S, total = ridge * np.eye(6), 0.0
    for x in v:
        B = A + np.outer(x, x)
        assert x @ np.linalg.solve(B, x) == pytest.approx(
            1 - np.linalg.det(A) / np.linalg.det(B), rel=1e-8
        )
        A = B
        S = S + np.outer(x, x)
        total += x @ np.linalg.solve(S, x)
    K = v @ v.T
    dimension = np.trace(K @ np.linalg.inv(K + ridge * np.eye(40)))
    assert total <= dimension * np.log(np.e + np.e * np.linalg.eigvalsh(K).max() / ridge)


def test_sine_transform_of_a_decreasing_function_is_positive():
    """Lemma bound-R, on the R of the paper's density."""
    kernel = HorizonFree()
    for lag in (0.1, 1.0, 7.3, 100.0):

        def ratio(x):
            return 1.0 / (2 * np.pi * x * (1 + (2 * np.pi * x) ** 2) * float(kernel.density(x)))

        low = quad(
            lambda x, s=lag: np.exp(x) * ratio(np.exp(x)) * np.sin(2 * np.pi * s * np.exp(x)),
            -60,
            np.log(0.5 / lag),
            limit=400,
        )[0]
        high = quad(ratio, 0.5 / lag, np.inf, weight="sin", wvar=2 * np.pi * lag)[0]
        assert low + high > 0


def test_the_intuition_of_path_length_loses_a_logarithm():
    """Equation ideal-ti-kernel-norm: of 1 on [0, 1], with edges of time δ, M‖u'‖₁ is 2 whatever δ,
    and ∫|ω||û|² grows as (1/π²)log(1/δ).
    """
    w = 0.02 * np.arange(1.0, 500_001.0)

    def energy(edge):  # û(ω) = sinc(ω)sinc(δω), but for its phase
        return 2 * 0.02 * float((w * (np.sinc(w) * np.sinc(edge * w)) ** 2).sum())

    found = [energy(edge) for edge in (0.1, 0.01, 0.001)]
    assert np.diff(found) == pytest.approx(np.log(10) / np.pi**2, rel=0.01)


def test_l1_norm_by_the_fourier_transform():
    """Lemma bound-L1-norm-with-fourier: ‖f‖₁ ≤ (2/√π)‖f̂‖^{1/2}‖f̂'‖^{1/2}, on Gaussians of any
    width.
    """
    for width in (0.2, 1.0, 5.0):
        l1 = width * np.sqrt(2 * np.pi)
        # f̂(ω) = √(2π)·width·exp(−2π²width²ω²)
        hat = quad(
            lambda w, s=width: 2 * np.pi * s**2 * np.exp(-4 * np.pi**2 * s**2 * w**2),
            -np.inf,
            np.inf,
        )[0]
        slope = quad(
            lambda w, s=width: (
                2
                * np.pi
                * s**2
                * (4 * np.pi**2 * s**2 * w) ** 2
                * np.exp(-4 * np.pi**2 * s**2 * w**2)
            ),
            -np.inf,
            np.inf,
        )[0]
        assert l1 <= 2 / np.sqrt(np.pi) * hat**0.25 * slope**0.25


def test_hessians_of_elliptic_functions():
    """Lemmas tedious-hessian and elliptically-symmetric-bound, for Ψ' concave and non-negative."""
    rng = np.random.default_rng(4)
    root = rng.standard_normal((4, 4))
    M = root @ root.T + np.eye(4)

    def psi(w):  # Ψ(x) = (1 + x)log(1 + x) − x, Ψ' = log(1 + x), Ψ'' = 1/(1 + x)
        x = np.sqrt(w @ M @ w)
        return (1 + x) * np.log1p(x) - x

    for _ in range(20):
        w, u = rng.standard_normal((2, 4))
        step = 1e-4
        second = (psi(w + step * u) - 2 * psi(w) + psi(w - step * u)) / step**2
        x = np.sqrt(w @ M @ w)
        assert second >= (u @ M @ u) / (1 + x) - 1e-4
        beta, gamma = 1 / (1 + x) / x**2 - np.log1p(x) / x**3, np.log1p(x) / x
        assert second == pytest.approx(
            beta * (u @ M @ w) ** 2 + gamma * (u @ M @ u), rel=1e-4, abs=1e-5
        )


def test_spline_inverse():
    """Lemma spline-inverse."""
    K = sp.kernels.Spline().gram(TIMES)
    inverse = 2 * np.eye(ROUNDS) - np.eye(ROUNDS, k=1) - np.eye(ROUNDS, k=-1)
    inverse[-1, -1] = 1.0
    assert np.allclose(K @ inverse, np.eye(ROUNDS), atol=1e-12)


def test_weighted_norms_are_a_change_of_variables():
    """Remark dual-norms: a learner in the norm of M is the plain one on kernel φ' M⁻¹ φ."""
    phi = features(OU(0.1))
    M = np.diag(np.linspace(1.0, 3.0, ROUNDS))
    gram = phi @ np.linalg.inv(M) @ phi.T
    moved = phi @ np.linalg.inv(np.sqrt(M))
    assert np.allclose(moved @ moved.T, gram)
    g = np.random.default_rng(5).standard_normal((ROUNDS, 1))
    G = sum(outer(g[t], phi[t]) for t in range(ROUNDS))
    assert np.sqrt(np.trace(G @ np.linalg.inv(M) @ G.T)) == pytest.approx(
        np.sqrt(((g @ g.T) * gram).sum()), rel=1e-10
    )


def test_parameter_free_rate():
    """Proposition pf-static-olo: over a static target, regret grows like √V, not like V."""
    totals = []
    for rounds in (2000, 8000):
        y = 1.0 + 0.5 * np.random.default_rng(6).standard_normal(rounds)
        learner = sp.KernelFTRL(1, lipschitz=1.0, kernel=sp.kernels.Constant(), potential=Erfi())
        totals.append(sp.play(learner, Absolute().on(y)).linear_regret([1.0])[-1])
        assert totals[-1] <= learner.bound(1.0)
    assert totals[1] < 3.0 * totals[0]

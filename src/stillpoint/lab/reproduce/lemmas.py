"""The supporting lemmas, checked in explicit finite-dimensional spaces."""

import math
from collections.abc import Callable

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.kernels import OU, HorizonFree, Kernel, Matern52, Spline
from stillpoint.lab.reproduce import runs
from stillpoint.lab.reproduce.curvature import dimension_bound
from stillpoint.lab.reproduce.registry import Case, Evidence, claim
from stillpoint.losses import Absolute, Huber, Squared

SECTION = "Supporting lemmas"
ROUNDS, DIM = 25, 2
KERNELS: dict[str, Kernel] = {
    "OU": OU(0.1),
    "spline": Spline(1.0),
    "Matérn-5/2": Matern52(0.3),
    "horizon-free": HorizonFree(),
}


def psi(x: float) -> tuple[float, float, float]:
    """Ψ(x) = (1 + x) log(1 + x) − x with Ψ' = log(1 + x), concave and non-negative, and Ψ''."""
    return (1 + x) * math.log1p(x) - x, math.log1p(x), 1 / (1 + x)


def metric() -> Array:
    """A positive definite matrix."""
    root = np.random.default_rng(4).standard_normal((4, 4))
    return np.asarray(root @ root.T + np.eye(4))


def second_difference(f: Callable[[Array], float], w: Array, u: Array, step: float = 1e-3) -> float:
    """⟨u, ∇²f(w)u⟩, fourth order."""
    values = [f(w + k * step * u) for k in (-2, -1, 0, 1, 2)]
    return (-values[0] + 16 * values[1] - 30 * values[2] + 16 * values[3] - values[4]) / (
        12 * step**2
    )


@claim(
    "Lemma tedious-hessian",
    SECTION,
    on="g = ⟨x, Mx⟩ and g = 1 + ‖x‖⁴ on R⁴ by differences, twenty points each",
)
def tedious_hessian(quick: bool) -> Evidence:
    """f = √g: ∇²f = ∇²g/(2f) − ∇g⊗∇g/(4f³)."""
    rng, M, worst, wrong = np.random.default_rng(4), metric(), [0.0, 0.0], 0.0
    for _ in range(20):
        x, u = rng.standard_normal((2, 4))
        n = float(x @ x)
        parts = [
            (x @ M @ x, 2 * M @ x, 2 * M),
            (1 + n * n, 4 * n * x, 4 * n * np.eye(4) + 8 * np.outer(x, x)),
        ]
        functions = [lambda z: math.sqrt(z @ M @ z), lambda z: math.sqrt(1 + float(z @ z) ** 2)]
        for i, ((g, slope, hessian), f) in enumerate(zip(parts, functions, strict=True)):
            root = math.sqrt(g)
            formula = float(u @ hessian @ u / (2 * root) - (slope @ u) ** 2 / (4 * root**3))
            worst[i] = max(worst[i], abs(second_difference(f, x, u) - formula) / (1 + abs(formula)))
            wrong = max(wrong, float(slope @ u) ** 2 / (4 * root**3) / (1 + abs(formula)))
    cases = [Case("g = ⟨x, Mx⟩", worst[0], 1e-6, "="), Case("g = 1 + ‖x‖⁴", worst[1], 1e-6, "=")]
    return Evidence(cases, control=[Case("without ∇g⊗∇g/(4f³)", wrong, 1e-6, "=")])


@claim(
    "Lemma elliptically-symmetric-bound",
    SECTION,
    on=(
        "Ψ = (1+x)log(1+x) − x on R⁴, a hundred points and directions; the least ratio of the two"
        " sides"
    ),
)
def elliptically_symmetric(quick: bool) -> Evidence:
    """⟨u, ∇²Ψ(‖w‖_M)u⟩ ≥ Ψ''(‖w‖_M)‖u‖²_M for Ψ' concave, ≥ 0."""
    rng, M = np.random.default_rng(5), metric()
    ratios, gaps = [], []
    for _ in range(100):
        w, u = rng.standard_normal((2, 4))
        size, slope, curve = math.sqrt(w @ M @ w), *psi(math.sqrt(w @ M @ w))[1:]
        along = float(u @ M @ w) ** 2
        second = (curve / size**2 - slope / size**3) * along + slope / size * float(u @ M @ u)
        numeric = second_difference(lambda z: psi(math.sqrt(z @ M @ z))[0], w, u)
        gaps.append(abs(numeric - second) / (1 + abs(second)))
        ratios.append(second / (curve * float(u @ M @ u)))
    cases = [
        Case("least ratio", float(min(ratios)), 1.0, "≥"),
        Case("Hessian by differences", max(gaps), 1e-6, "="),
    ]
    # Ψ = x⁴ has a convex derivative: across w its second derivative is Ψ'/x = 4x², a third of Ψ'' =
    # 12x²
    return Evidence(
        cases, control=[Case("Ψ = x⁴, Ψ' not concave, across w", 1.0 / 3.0, 1.0, "≥")], lead="least"
    )


@claim(
    "Lemma log-det",
    SECTION,
    on="forty random vectors in R⁶",
)
def log_det_lemma(quick: bool) -> Evidence:
    """⟨v_t, A_t⁻¹v_t⟩ = 1 − det A_{t−1}/det A_t."""
    rng, A, worst, wrong = np.random.default_rng(3), np.eye(6), 0.0, 0.0
    for x in rng.standard_normal((40, 6)):
        B = A + np.outer(x, x)
        ratio = math.exp(np.linalg.slogdet(A)[1] - np.linalg.slogdet(B)[1])
        worst = max(worst, abs(float(x @ np.linalg.solve(B, x)) - (1 - ratio)))
        wrong = max(wrong, abs(float(x @ np.linalg.solve(A, x)) - (1 - ratio)))
        A = B
    return Evidence(
        [Case("largest deviation", worst, 1e-10, "=")],
        control=[Case("A_{t−1} for A_t", wrong, 1e-10, "=")],
    )


@claim(
    "Lemma log-det-sum",
    SECTION,
    on="random G_t = g_t⊗φ(t) in the spaces of four kernels, λ = 10⁻³ to 10³; T = 25, d = 2",
)
def log_det_sum(quick: bool) -> Evidence:
    """Σ⟨G_t, S_t⁻¹G_t⟩ ≤ d_eff(λ) log(e + eλ_max(K_T)/λ)."""
    cases, control = [], []
    for name, kernel in KERNELS.items():
        phi = runs.features(kernel, ROUNDS)
        g = np.random.default_rng(3).standard_normal((ROUNDS, DIM))
        G = np.einsum("ti,tj->tij", g, phi).reshape(ROUNDS, -1)
        for ridge in (1e-3, 0.1, 1.0, 10.0, 1e3):
            S, total = ridge * np.eye(G.shape[1]), 0.0
            for row in G:
                S = S + np.outer(row, row)
                total += float(row @ np.linalg.solve(S, row))
            limit = dimension_bound(G @ G.T, ridge)
            cases.append(Case(f"{name}, λ = {ridge:g}", total, limit))
            control.append(Case(f"10% less, {name}, λ = {ridge:g}", total, 0.9 * limit))
    return Evidence(cases, control=control)


def _spaces() -> list[tuple[str, Array, Array, Array]]:
    """(name, φ, Gram, g) of each kernel."""
    g = np.random.default_rng(1).standard_normal((ROUNDS, DIM))
    return [
        (name, runs.features(k, ROUNDS), k.gram(runs.times(ROUNDS)), g)
        for name, k in KERNELS.items()
    ]


@claim(
    "Lemma hs-norm",
    SECTION,
    on="random g, four kernels; T = 25, d = 2",
    erratum="the last line of the proof lacks a square",
)
def hs_norm(quick: bool) -> Evidence:
    """‖g⊗φ(t)‖² = ‖g‖²k(t,t)."""
    cases, control = [], []
    for name, phi, gram, g in _spaces():
        ours = np.array([np.linalg.norm(np.outer(g[t], phi[t])) ** 2 for t in range(ROUNDS)])
        cases.append(
            Case(name, runs.deviation(ours, (g * g).sum(axis=1) * np.diag(gram)), 1e-10, "=")
        )
        unsquared = np.sqrt((g * g).sum(axis=1)) * np.diag(gram)
        control.append(
            Case(f"without the square, {name}", runs.deviation(ours, unsquared), 1e-10, "=")
        )
    return Evidence(cases, control=control)


@claim(
    "Lemma hs-sum-norm",
    SECTION,
    on="random g, four kernels; T = 25, d = 2",
    erratum="E3: its use in Appendix pf lacks the root",
)
def hs_sum_norm(quick: bool) -> Evidence:
    """‖Σ_s g_s⊗φ(s)‖² = Σ_{s,s'} k(s,s')⟨g_s, g_{s'}⟩."""
    cases, control = [], []
    for name, phi, gram, g in _spaces():
        total = np.linalg.norm(np.einsum("ti,tj->ij", g, phi)) ** 2
        cases.append(
            Case(name, abs(float(total) / float(((g @ g.T) * gram).sum()) - 1), 1e-10, "=")
        )
        own = float(((g * g).sum(axis=1) * np.diag(gram)).sum())
        control.append(Case(f"s = s' only, {name}", abs(float(total) / own - 1), 1e-10, "="))
    return Evidence(cases, control=control)


@claim(
    "Lemma feature-covariance-norm",
    SECTION,
    on="random X, four kernels, every t; T = 25, d = 2",
)
def feature_covariance_norm(quick: bool) -> Evidence:
    """‖Xφ(t)‖² = ⟨X(φ(t)⊗φ(t)), X⟩."""
    cases, control = [], []
    for name, phi, _, _ in _spaces():
        X = np.random.default_rng(2).standard_normal((DIM, ROUNDS))
        left = np.array([float(((X @ f) ** 2).sum()) for f in phi])
        right = np.array([float(((X @ np.outer(f, f)) * X).sum()) for f in phi])
        cases.append(Case(name, runs.deviation(left, right), 1e-10, "="))
        sizes = (phi**2).sum(axis=1) * float((X * X).sum())
        control.append(Case(f"‖X‖²‖φ(t)‖², {name}", runs.deviation(left, sizes), 1e-10, "="))
    return Evidence(cases, control=control)


@claim(
    "Lemma subgradients",
    SECTION,
    on="absolute, Huber and squared loss at random operators, 500 pairs each: largest violation",
)
def subgradients(quick: bool) -> Evidence:
    """g ∈ ∂ℓ(Wφ) makes g⊗φ a subgradient of W ↦ ℓ(Wφ)."""
    cases, control, phi = [], [], runs.features(OU(0.1), ROUNDS)
    for name, loss in (("absolute", Absolute()), ("Huber", Huber(0.3)), ("squared", Squared())):
        rng, worst, wrong = np.random.default_rng(2), -math.inf, -math.inf
        losses = loss.on(rng.standard_normal((ROUNDS, DIM)))
        for _ in range(500):
            t, (W, V) = int(rng.integers(ROUNDS)), rng.standard_normal((2, DIM, ROUNDS))
            G = np.outer(losses[t].gradient(W @ phi[t]), phi[t])
            right = losses[t].value(W @ phi[t]) + float((G * (V - W)).sum())
            worst = max(worst, right - losses[t].value(V @ phi[t]))
            wrong = max(
                wrong, right + 0.1 * float((G * (V - W)).sum()) - losses[t].value(V @ phi[t])
            )
        cases.append(Case(name, worst, 1e-12))
        control.append(Case(f"1.1·g, {name}", wrong, 1e-12))
    return Evidence(cases, control=control)


@claim(
    "Lemma spline-inverse",
    SECTION,
    on="K·K⁻¹ − I at T = 1, 2, 25, 400",
)
def spline_inverse(quick: bool) -> Evidence:
    """(min(s,t))⁻¹ is tridiagonal: 2 and −1, last entry 1."""
    cases, control = [], []
    for rounds in (1, 2, 25, 400):
        inverse = 2 * np.eye(rounds) - np.eye(rounds, k=1) - np.eye(rounds, k=-1)
        gram = Spline().gram(runs.times(rounds))
        control.append(
            Case(
                f"last entry 2, T = {rounds}",
                float(np.abs(gram @ inverse - np.eye(rounds)).max()),
                1e-9,
                "=",
            )
        )
        inverse[-1, -1] = 1.0
        cases.append(
            Case(f"T = {rounds}", float(np.abs(gram @ inverse - np.eye(rounds)).max()), 1e-9, "=")
        )
    return Evidence(cases, control=control)

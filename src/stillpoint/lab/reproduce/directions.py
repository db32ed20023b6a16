"""Section 5 with its appendix: regret that adapts to directions, in increasing norms."""

import math

import numpy as np

import stillpoint as sp
from stillpoint.core.validation import Array
from stillpoint.kernels import OU, Constant, HorizonFree, Kernel, Spline
from stillpoint.lab.reproduce import runs
from stillpoint.lab.reproduce.curvature import dimension_bound
from stillpoint.lab.reproduce.registry import Case, Evidence, claim
from stillpoint.potentials import ParameterFree

SECTION = "Directional adaptivity"
SIZES: Array = 10.0 ** np.arange(-6, 7.0)
KERNELS: dict[str, Kernel] = {
    "OU": OU(0.05),
    "spline": Spline(1.0),
    "horizon-free": HorizonFree(),
    "1e-4·OU": 1e-4 * OU(0.1),
}

KINDS: dict[str, runs.Gradient] = {
    "random": lambda t, w, rng: rng.standard_normal(w.size),
    "drift": lambda t, w, rng: 0.7 * np.sin(t / 20) + 0.3 * rng.standard_normal(w.size),
    "against the play": lambda t, w, rng: np.where(w >= 0, 1.0, -1.0),
    "coordinates": lambda t, w, rng: np.eye(w.size)[t % w.size] * rng.choice([-1.0, 1.0]),
    "never turns": lambda t, w, rng: -np.eye(w.size)[0],
}


def unit(gradient: runs.Gradient, size: float = 1.0) -> runs.Gradient:
    """The same with norms at most `size`."""

    def scaled(t: int, w: Array, rng: np.random.Generator) -> Array:
        g = gradient(t, w, rng)
        return np.asarray(size * g / max(float(np.linalg.norm(g)), 1.0))

    return scaled


def worst_case(
    where: str,
    learner: sp.Directional,
    plays: Array,
    gradients: Array,
    gram: Array,
    V: float | None = None,
) -> tuple[Case, Case]:
    """Regret and bound of the worst U with ‖U‖_{T+1} = ρ, over many ρ.

    U = −(ρ/N)Σ⁻¹ΣG, held by its coefficients on the G_s.

    V: take this in place of the learner's own in the bound. Returns the case and its control, plays
    of 0.
    """
    floor = learner.ridge + learner.hint**2
    Kg = (gradients @ gradients.T) * gram
    c = np.linalg.solve(floor * np.eye(len(Kg)) + Kg, np.ones(len(Kg)))
    N = math.sqrt(max(float((Kg @ c).sum()), 0.0))
    linear, pairs, still = float((gradients * plays).sum()), [], []
    for rho in SIZES:
        scale = (rho / N) ** 2 if N > 0 else 0.0
        norm = math.sqrt(max(scale * float(c @ Kg @ c), 0.0))
        alignment = scale * float(((Kg @ c) ** 2).sum())
        limit = _limit(learner, norm, alignment, V)
        pairs.append((linear + rho * N, limit))
        still.append((rho * N, limit))
    return runs.worst(where, pairs), runs.worst(f"plays of 0, {where}", still)


def _limit(learner: sp.Directional, norm: float, alignment: float, V: float | None) -> float:
    """The learner's bound, or that with another V."""
    if V is None:
        return learner.bound(norm, alignment)
    top = learner.hint  # G₀
    weighted = math.sqrt((learner.ridge + top**2) * norm**2 + alignment)
    return ParameterFree(learner.scale * top).bound(weighted, V, 1.0)


def _steady(dim: int, rounds: int = 4000) -> tuple[sp.Directional, Array, Array]:
    """A run so long, on gradients that never turn, that plays of 0 lose more than the bound."""
    learner = sp.Directional(dim, lipschitz=1.0, kernel=Constant())
    return learner, *runs.drive(learner, KINDS["never turns"], rounds)


def _add(pair: tuple[Case, Case], cases: list[Case], control: list[Case]) -> None:
    cases.append(pair[0])
    control.append(pair[1])


@claim(
    "Theorem static-full-matrix",
    SECTION,
    on=(
        "full and diagonal norms on R³, the worst u of every size; five streams, G = 1 and 0.01; T"
        " = 400 and 4000"
    ),
    erratum=(
        "E14: sums over s < t, ‖u‖_{T+1} and V_{T+1} (printed ‖u‖, V_T), and G = 1 in the weighted"
        " geometry"
    ),
)
def static_full_matrix(quick: bool) -> Evidence:
    """R_T(u) ≤ 4εG + 6‖u‖_{T+1} max(√(V l), l) in any increasing norms."""
    rounds, dim, cases, control = 100 if quick else 400, 3, list[Case](), list[Case]()
    for stream, gradient in KINDS.items():
        for G in (1.0, 0.01):
            for norms in ("full", "diagonal"):
                learner = sp.Directional(
                    dim, lipschitz=G, kernel=Constant(), ridge=G * G, norms=norms
                )
                plays, gradients = runs.drive(learner, unit(gradient, G), rounds)
                where = f"{norms}, {stream}, G = {G:g}"
                if norms == "full":
                    _add(
                        worst_case(where, learner, plays, gradients, np.ones((rounds, rounds))),
                        cases,
                        control,
                    )
                    continue
                floor, excess, theta = 2 * G * G, (gradients**2).sum(axis=0), -gradients.sum(axis=0)
                direction = theta / (floor + excess)
                dual = math.sqrt(float(theta @ direction))
                pairs = []
                for rho in SIZES if dual > 0 else ():
                    u = rho / dual * direction
                    limit = learner.bound(float(np.linalg.norm(u)), float((excess * u * u).sum()))
                    pairs.append((float((gradients * (plays - u)).sum()), limit))
                if pairs:
                    cases.append(runs.worst(where, pairs))
    _add(_along("full, never turns, T = 4000", *_steady(dim)), cases, control)
    return Evidence(cases, control=control)


def _along(
    where: str, learner: sp.Directional, plays: Array, gradients: Array, V: float | None = None
) -> tuple[Case, Case]:
    """`worst_case` for a constant kernel and gradients along one axis, without a Gram matrix."""
    total, excess = abs(float(gradients.sum())), float((gradients**2).sum())
    floor = learner.ridge + learner.hint**2
    N, linear = total / math.sqrt(floor + excess), float((gradients * plays).sum())
    limits = [
        _limit(learner, rho / math.sqrt(floor + excess), rho**2 * excess / (floor + excess), V)
        for rho in SIZES
    ]
    pairs, still = (
        [(part + rho * N, limit) for rho, limit in zip(SIZES, limits, strict=True)]
        for part in (linear, 0.0)
    )
    return runs.worst(where, pairs), runs.worst(f"plays of 0, {where}", still)


def _kernels(quick: bool, explicit: bool) -> tuple[list[Case], list[Case]]:
    """Runs in RKHSs, and their controls.

    With `explicit`, V ≤ 4 + d_eff(λ) log(e + eλ_max/λ) replaces V.
    """
    rounds, cases, control = 80 if quick else 200, list[Case](), list[Case]()
    for name, kernel in KERNELS.items():
        told = rounds + 1.0 if name == "spline" else None
        for stream, gradient in KINDS.items():
            learner = sp.Directional(2, lipschitz=1.0, kernel=kernel, kernel_bound=told)
            plays, gradients = runs.drive(learner, unit(gradient), rounds)
            gram = kernel.markov().gram(runs.times(rounds))
            over = dimension_bound((gradients @ gradients.T) * gram, learner.ridge)
            V = 4.0 + over if explicit else None
            _add(
                worst_case(f"regret, {name}, {stream}", learner, plays, gradients, gram, V),
                cases,
                control,
            )
            if explicit:
                cases.append(
                    Case(
                        f"Σ‖G_t‖²_{{t,*}} ≤ d_eff log(…), {name}, {stream}",
                        learner.variance - 4.0,
                        over,
                    )
                )
    return cases, control


@claim(
    "Proposition full-matrix-bound",
    SECTION,
    on=(
        "Directional, four kernels × five streams, the worst U of every size in ‖·‖_Σ; d = 2, T ="
        " 200, and 4000 at k = 1"
    ),
    erratum=(
        "E14: G = 1 in the weighted norms (printed G₀, too small where λ + G₀² < 1); ‖U‖_{T+1},"
        " V_{T+1}; k = 3"
    ),
)
def full_matrix_bound(quick: bool) -> Evidence:
    """R_T ≤ 4εG₀ + 6‖U‖_Σ max(√(V l), l), ‖U‖_Σ² = (λ + G₀²)‖U‖² + Σ⟨g_t, u_t⟩²."""
    cases, control = _kernels(quick, explicit=False)
    _add(_along("regret, constant, never turns, T = 4000", *_steady(2)), cases, control)
    kernel = 1e-4 * OU(0.1)
    learner = sp.Directional(1, lipschitz=1.0, kernel=kernel, ridge=1e-12)
    before = learner.variance
    learner.predict()
    learner.update(np.ones(1))
    dual = Case("‖G_1‖_{1,*} ≤ G₀, k = 1e-4, λ = 1e-12", math.sqrt(learner.variance - before), 0.01)
    return Evidence(cases, [dual], control)


@claim(
    "Proposition simple-full-matrix",
    SECTION,
    on=(
        "the same runs with V ≤ 4 + d_eff log(e + eλ_max/λ) put in, so that the bound is the stated"
        " one with constants"
    ),
    erratum=(
        "E14: the term L_k d_eff(λ) does not appear in the proof; the second branch of the max,"
        " l·‖U‖_Σ, does"
    ),
)
def simple_full_matrix(quick: bool) -> Evidence:
    """R_T = Õ(L_k d_eff(λ) + √(d_eff(λ)[(λ + L_k²)‖U‖² + Σ⟨g_t, u_t⟩²] ln(e + eλ_max/λ)))."""
    cases, control = _kernels(quick, explicit=True)
    rounds = 200
    learner = sp.Directional(2, lipschitz=1.0, kernel=OU(0.05))
    plain = sp.KernelFTRL(2, lipschitz=1.0, kernel=OU(0.05), potential=ParameterFree(1.0))
    for each in (learner, plain):
        runs.drive(each, lambda t, w, rng: np.array([rng.choice([-1.0, 1.0]), 0.0]), rounds)
    numbers = {
        "u ⟂ g, ‖U‖ = 10⁴: bound over Algorithm 2's": learner.bound(1e4, 0.0) / plain.bound(1e4)
    }
    steady, plays, gradients = _steady(2, 10_000)
    # λ_max/λ for the constant kernel and g = −e_1, where d_eff = T/(T + λ)
    ratio = len(plays) / steady.ridge
    V = 4.0 + ratio / (1.0 + ratio) * math.log(math.e + math.e * ratio)
    _add(
        _along("regret, constant, never turns, T = 10 000", steady, plays, gradients, V),
        cases,
        control,
    )
    return Evidence(cases, control=control, numbers=numbers, lead="regret")

"""Sections 2 and 3: the reduction of dynamic to static regret, and kernel FTRL."""

import math

import numpy as np

import stillpoint as sp
from stillpoint.kernels import OU, Gaussian, HorizonFree, Kernel, Spline
from stillpoint.lab.reproduce import runs
from stillpoint.lab.reproduce.operators import DIM, SMALL, explicit_run
from stillpoint.lab.reproduce.registry import Case, Evidence, claim
from stillpoint.learners import GradientDescent
from stillpoint.losses import Absolute, Huber, Squared
from stillpoint.losses.base import Loss
from stillpoint.potentials import (
    AdaptiveQuadratic,
    ParameterFree,
    Potential,
    Quadratic,
)

SECTION = "The reduction and linear losses"
EXPLICIT: dict[str, Kernel] = {
    "OU": OU(0.1),
    "Gaussian": Gaussian(1.0),
    "horizon-free": HorizonFree(),
}
LOSSES: dict[str, Loss] = {"squared": Squared(), "absolute": Absolute(), "Huber": Huber(0.3)}


@claim(
    "Algorithm 1, kernel-oco",
    SECTION,
    on=(
        "projected gradient descent in an RKHS ball, against the same on explicit operators; T ="
        " 25, d = 2"
    ),
)
def algorithm_1(quick: bool) -> Evidence:
    """play W_tφ(t), send W ↦ ℓ_t(Wφ(t)) to any static learner."""
    cases, control = [], []
    for name, kernel in EXPLICIT.items():
        phi, rng = runs.features(kernel, SMALL), np.random.default_rng(1)
        y = rng.standard_normal((SMALL, DIM))
        learner = sp.KernelFTRL(
            DIM, lipschitz=2.0, kernel=kernel, potential=GradientDescent(2.0), memory="dense"
        )
        W, total, plays, twin = np.zeros((DIM, SMALL)), 0.0, [], []
        for t in range(SMALL):
            plays.append(learner.predict().copy())
            twin.append(W @ phi[t])
            g = np.sign(plays[-1] - y[t])
            learner.update(g)
            G = np.outer(g, phi[t])
            total += float((G * G).sum())
            W = W - math.sqrt(2.0) * 2.0 / math.sqrt(total) * G
            W *= min(1.0, 2.0 / max(float(np.linalg.norm(W)), 1e-300))
        cases.append(
            Case(
                f"plays, {name} kernel", runs.deviation(np.array(plays), np.array(twin)), 1e-9, "="
            )
        )
        control.append(
            Case(
                f"plays of 0, {name} kernel",
                runs.deviation(0.0 * np.array(plays), np.array(twin)),
                1e-9,
                "=",
            )
        )
    return Evidence(cases, control=control)


@claim(
    "Theorem RKHS-SR-solves-DR",
    SECTION,
    on="squared, absolute and Huber losses × three kernels; random U; T = 25, d = 2",
)
def reduction(quick: bool) -> Evidence:
    """R_T(u_1..u_T) = static regret of any U with u_t = Uφ(t), any losses."""
    cases, control = [], []
    for name, kernel in EXPLICIT.items():
        for what, loss in LOSSES.items():
            run, rng = explicit_run(kernel, loss), np.random.default_rng(2)
            losses = loss.on(np.random.default_rng(0).standard_normal((SMALL, DIM)))
            U = rng.standard_normal((DIM, SMALL))
            u = (U @ run.phi.T).T
            dynamic, still = (
                sum(losses[t].value(w[t]) - losses[t].value(u[t]) for t in range(SMALL))
                for w in (run.plays, 0.0 * run.plays)
            )
            static = sum(
                losses[t].value(run.operators[t] @ run.phi[t]) - losses[t].value(U @ run.phi[t])
                for t in range(SMALL)
            )
            cases.append(
                Case(f"{what} loss, {name} kernel", abs(dynamic - static) / abs(static), 1e-8, "=")
            )
            control.append(
                Case(
                    f"plays of 0, {what} loss, {name} kernel",
                    abs(still - static) / abs(static),
                    1e-8,
                    "=",
                )
            )
    return Evidence(cases, control=control)


@claim(
    "Example kernel-ftrl",
    SECTION,
    on="the objective's gradient at W_t, plays and S against explicit operators; T = 25, d = 2",
    erratum=(
        "E2: argmin −⟨θ, W⟩ + Ψ (printed +), V_t = Σ‖g_s‖²k(s,s) (printed k(t,t)). E3: ‖ΣG‖ has a"
        " root."
    ),
)
def kernel_ftrl(quick: bool) -> Evidence:
    """w_t = −(m(S, V)/S) Σ_{s<t} k(s,t) g_s is the FTRL argmin."""
    cases, printed, control = [], [], []
    for name, kernel in EXPLICIT.items():
        run = explicit_run(kernel, Absolute())
        valued = np.array([W @ f for W, f in zip(run.operators, run.phi, strict=True)])
        cases.append(Case(f"plays, {name}", runs.deviation(run.plays, valued), 1e-8, "="))
        control.append(
            Case(f"plays of 0, {name}", runs.deviation(0.0 * run.plays, valued), 1e-8, "=")
        )
        sizes = np.array([np.linalg.norm(theta) for theta in run.thetas])
        cases.append(
            Case(f"‖θ‖ from k alone, {name}", runs.deviation(np.array(run.sizes), sizes), 1e-8, "=")
        )
        right, wrong = [], []
        for W, theta, V in zip(run.operators[1:], run.thetas[1:], run.variances[1:], strict=True):
            x, h = float(np.linalg.norm(W)), run.hint
            log = math.log1p(x / (1e3 * h / (math.sqrt(V) * math.log(V / h**2) ** 2)))
            slope = (
                (6.0 * math.sqrt(V * log) if log <= V / h**2 else 3.0 * (h * log + V / h)) * W / x
            )
            right.append(float(np.linalg.norm(slope - theta) / np.linalg.norm(theta)))
            wrong.append(float(np.linalg.norm(slope + theta) / np.linalg.norm(theta)))
        cases.append(Case(f"∇(−⟨θ, W⟩ + Ψ) at W_t, {name}", max(right), 1e-8, "="))
        printed.append(Case(f"∇(⟨θ, W⟩ + Ψ) at W_t, {name}", max(wrong), 1e-8, "="))
    k = Spline().diagonal(runs.times(SMALL))
    printed.append(
        Case(
            "V_t with k(t,t), spline kernel, over Σ‖G_s‖²",
            float(SMALL * k[-1] / k.sum()) - 1.0,
            1e-8,
            "=",
        )
    )
    return Evidence(cases, printed, control)


@claim(
    "Theorem olo-reduction",
    SECTION,
    on=(
        "gradient descent ‖U‖²/2η + (η/2)Σ‖g‖²k and two more, against every U; nine kernels × nine"
        " streams"
    ),
)
def olo_reduction(quick: bool) -> Evidence:
    """R_T(u) ≤ B_T(‖U‖, ‖g_1‖√k(1,1), …, ‖g_T‖√k(T,T))."""
    learners: dict[str, Potential | GradientDescent] = {
        "step 0.1": Quadratic(0.1),
        "adaptive": AdaptiveQuadratic(2.0),
        "projected": GradientDescent(2.0),
    }
    rounds, cases, control = 100 if quick else 500, [], []
    for kernel, stream in pairs(quick):
        for name, static in learners.items():
            known = runs.tuned_for(kernel, rounds)
            learner = runs.kernel_run(kernel, stream, rounds, static, known)
            radii = np.linspace(0.0, 2.0, 9) if name == "projected" else runs.RADII
            cases.append(runs.against_all(f"{name}, {kernel}, {stream}", learner, radii))
            control.append(runs.standing_still(f"{name}, {kernel}, {stream}", learner, radii))
    return Evidence(cases, control=control)


def pairs(quick: bool) -> list[tuple[str, str]]:
    """Kernels × streams; a quick run takes each stream once and each kernel once."""
    kernels, streams = list(runs.KERNELS), list(runs.STREAMS)
    return (
        list(zip(kernels, streams, strict=True))
        if quick
        else [(k, s) for k in kernels for s in streams]
    )


@claim(
    "Remark dual-norms",
    SECTION,
    on=(
        "FTRL in ‖·‖_M on explicit operators against the formula of Example kernel-ftrl with that"
        " kernel; T = 25, d = 2"
    ),
)
def dual_norms(quick: bool) -> Evidence:
    """‖·‖_M is a change of variables: kernel φ(s)'M⁻¹φ(t)."""
    phi, inverse = runs.features(OU(0.1), SMALL), np.diag(1.0 / np.linspace(1.0, 3.0, SMALL))
    gram = phi @ inverse @ phi.T
    g, psi = 0.5 * np.random.default_rng(5).standard_normal((SMALL, DIM)), ParameterFree(1e3)
    theta, V, weighted, plain, unweighted = np.zeros((DIM, SMALL)), 100.0, [], [], []
    for t in range(SMALL):
        # the dual norm of ‖W‖_M² = ⟨W, WM⟩
        N = math.sqrt(float(np.trace(theta @ inverse @ theta.T)))
        S = math.sqrt(max(float(((g[:t] @ g[:t].T) * gram[:t, :t]).sum()), 0.0))
        weighted.append(
            psi.magnitude(N, V, 5.0) / N * (theta @ inverse @ phi[t]) if t else np.zeros(DIM)
        )
        plain.append(-psi.magnitude(S, V, 5.0) / S * (gram[t, :t] @ g[:t]) if t else np.zeros(DIM))
        unweighted.append(
            -psi.magnitude(S, V, 5.0) / S * (phi[:t] @ phi[t] @ g[:t]) if t else np.zeros(DIM)
        )
        theta = theta - np.outer(g[t], phi[t])
        V += float(g[t] @ g[t]) * gram[t, t]
    other = runs.deviation(np.array(unweighted), np.array(weighted))
    control = [Case("plays with the kernel φ(s)'φ(t)", other, 1e-9, "=")]
    return Evidence(
        [Case("plays", runs.deviation(np.array(weighted), np.array(plain)), 1e-9, "=")],
        control=control,
    )

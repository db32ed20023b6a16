"""Appendix scale-free: gradients of unknown size, on a ball and without a domain."""

import numpy as np

import stillpoint as sp
from stillpoint.core.validation import Array
from stillpoint.domains import Ball
from stillpoint.kernels import OU, Constant, HorizonFree, Kernel, Spline
from stillpoint.lab.reproduce import runs
from stillpoint.lab.reproduce.reduction import SECTION
from stillpoint.lab.reproduce.registry import Case, Evidence, claim
from stillpoint.potentials import Erfi, ParameterFree
from stillpoint.regret import magnitude, rkhs_norm

KERNELS: dict[str, Kernel] = {"OU": OU(0.05), "spline": Spline(1.0), "horizon-free": HorizonFree()}
LONG = 4000


def _noting(gradient: runs.Gradient, learner: sp.KernelFTRL, radii: list[float]) -> runs.Gradient:
    """The same gradients; the learner's radius at each play goes to `radii`."""

    def noted(t: int, w: Array, rng: np.random.Generator) -> Array:
        radii.append(learner.radius)
        return gradient(t, w, rng)

    return noted


def _scale_free(reach: float | None, quick: bool) -> tuple[list[Case], list[Case]]:
    """The run beside its bound against seven comparators.

    They lie within `reach`, or anywhere and are projected on the growing balls.

    And the control, plays of 0 under the same gradients. The last stream is long and never turns,
    so that 0 loses there.
    """
    cases, control = [], []
    games = [(k, s, 300) for k in list(KERNELS)[: 1 if quick else 3] for s in runs.UNSCALED]
    for kernel, stream, rounds in [*games, ("constant", "never turns", LONG)]:
        gradient = runs.UNSCALED.get(stream, lambda t, w, rng: -3.0 * np.ones(w.size))
        for dim, potential in ((1, ParameterFree(1.0)), (2, Erfi(1.0))):
            k = KERNELS.get(kernel, Constant())
            learner = sp.KernelFTRL(
                dim, kernel=k, potential=potential, domain=Ball(reach) if reach else None
            )
            radii: list[float] = []
            plays, gradients = runs.drive(learner, _noting(gradient, learner, radii), rounds)
            pairs, still = [], []
            ones = np.full((rounds, dim), 1.0 / np.sqrt(dim))
            for u in runs.reachable(gradients, reach or 3.0) if rounds < LONG else [ones]:
                sizes = np.linalg.norm(u, axis=1, keepdims=True)
                kept = (
                    u
                    if reach
                    else u * np.minimum(1.0, np.array(radii)[:, None] / np.maximum(sizes, 1e-300))
                )
                norm = (
                    1.0
                    if kernel == "constant"
                    else rkhs_norm(learner.memory.kernel, kept, runs.times(rounds))
                )
                limit = learner.bound(norm, magnitude=magnitude(u))
                pairs.append((float((gradients * (plays - u)).sum()), limit))
                still.append((float(-(gradients * u).sum()), limit))
            cases.append(runs.worst(f"d = {dim}, {kernel}, {stream}", pairs))
            control.append(runs.worst(f"plays of 0, d = {dim}, {kernel}, {stream}", still))
    return cases, control


def _late(last: int) -> runs.Gradient:
    """−1 again and again, then 10⁶ against the play."""
    return lambda t, w, rng: 1e6 * np.sign(w) if t == last else -np.ones(1)


@claim(
    "Proposition scale-free-olo",
    SECTION,
    on=(
        "five streams of changing scale × three kernels, d = 1 and 2, seven comparators each, and a"
        " long one; gradients clipped at running hints"
    ),
)
def scale_free(quick: bool) -> Evidence:
    """R_T = Õ(L_T(M + D) + ‖U‖√(L_T² + Σ‖g_t‖²k(t,t))) on a ball, G unknown."""
    cases, control = _scale_free(1.0, quick)
    return Evidence(cases, control=control)


@claim(
    "Proposition unconstrained-scale-free",
    SECTION,
    on="the same streams without a domain, and one gradient of 10⁶ after T − 1 equal ones",
    erratum=(
        "E15: radius √max_k(Σ‖g‖/max‖g‖) (printed √Σ‖g‖, not scale-free); the clipping cost L_T·D_T"
        " was left out"
    ),
)
def unconstrained_scale_free(quick: bool) -> Evidence:
    """R_T = Õ(L_T M³ + ‖Û‖√(Σ‖g_t‖²k(t,t)) + L_T(D_T + min(D_T, M))), nothing known."""
    (cases, control), printed = _scale_free(None, quick), []
    for rounds in (800, 1600):
        learner = sp.KernelFTRL(1, kernel=Constant(), potential=ParameterFree(1.0))
        plays, gradients = runs.drive(learner, _late(rounds), rounds)
        regret = float((gradients * plays).sum())
        where = f"regret against 0, last gradient 10⁶, T = {rounds}"
        cases.append(Case(where, regret, learner.bound(0.0, magnitude=0.0)))
        printed.append(
            Case(where, regret, learner.bound(0.0, magnitude=0.0) - learner.cost_of_scale(0.0))
        )
    return Evidence(cases, printed, control)

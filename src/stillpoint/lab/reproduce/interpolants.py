"""Theorem discrete-pl: a function through any sequence, no longer than the sequence."""

import math
from collections.abc import Callable

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.lab.reproduce import runs
from stillpoint.lab.reproduce.registry import Case, Evidence, claim
from stillpoint.regret import (
    PATH_CONSTANT,
    SincBump,
    bump,
    curvature_constant,
    magnitude,
    path_length,
    sinc_product,
)

SECTION = "Path length"
Function = Callable[[Array], Array]


def shapes(horizon: int) -> dict[str, SincBump]:
    """Interpolants of sequences, by name."""
    rng, t = np.random.default_rng(3), np.arange(horizon)
    return {
        "constant": SincBump(np.ones(horizon)),
        "random": SincBump(rng.standard_normal(horizon)),
        "alternating": SincBump((-1.0) ** t),
        "step": SincBump(np.where(t < horizon // 2, 1.0, -1.0)),
        "walk": SincBump(np.cumsum(rng.standard_normal(horizon))),
    }


def sizes(u: SincBump, horizon: int, per_unit: int = 200) -> tuple[float, float]:
    """‖u'‖_{L1} and ‖u − u''‖_∞ on a fine grid."""
    n = (horizon + 1) * per_unit
    t = (np.arange(n) + 0.5) / per_unit
    return float(np.abs(u.derivative(t)).sum() / per_unit), float(
        np.abs(u(t) - u.derivative(t, 2)).max()
    )


@claim(
    "Lemma construction-of-bT",
    SECTION,
    on="f = 1, sines and exponentials on [0, T+1], T = 5, L∞ and L1, k = 0, 1, 2",
    erratum=(
        "E16: C_0 = 1, C_1 = 2.875, C_2 = 10.52 (printed C_0 = 0.509 is impossible; 14.3 and 399"
        " are too large)"
    ),
)
def construction_of_bt(quick: bool) -> Evidence:
    """b_T = 1 on [1, T], 0 off (0, T+1), twice differentiable; ‖(f b_T)^(k)‖ ≤ C_k max_h‖f^(h)‖."""
    T, per_unit = 5, 4000
    t = (np.arange((T + 1) * per_unit) + 0.5) / per_unit
    x = np.clip(3.0 - np.abs(t - 3.0), 0.0, 1.0)
    b = [bump(t, T), np.sign(3.0 - t) * 30 * (x * (1 - x)) ** 2, 60 * x * (1 - x) * (1 - 2 * x)]
    families: dict[str, tuple[Array, Array, Array]] = {"1": (np.ones_like(t), 0 * t, 0 * t)}
    for w in (0.5, 1.0, 3.0):
        families[f"sin {w:g}t"] = (np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t))
    families["e^(t−6)"] = (np.exp(t - 6),) * 3
    constants = (1.0, 1 + 15 / 8, 1 + 2 * 15 / 8 + 10 / math.sqrt(3))
    off = float(
        np.abs(bump(np.array([-1.0, 0.0, 6.0, 7.5]), T)).max()
        + np.abs(bump(np.linspace(1, 5, 99), T) - 1).max()
    )
    norms: dict[str, Callable[[Array], float]] = {
        "L∞": lambda v: float(np.abs(v).max()),
        "L1": lambda v: float(np.abs(v).mean() * (T + 1)),
    }
    cases, printed, control = [Case("values off (0, T+1) and on [1, T]", off, 1e-14, "=")], [], []
    for name, f in families.items():
        derivatives = [
            f[0] * b[0],
            f[1] * b[0] + f[0] * b[1],
            f[2] * b[0] + 2 * f[1] * b[1] + f[0] * b[2],
        ]
        for norm, size in norms.items():
            for k in range(3):
                largest = max(size(f[h]) for h in range(k + 1))
                where = f"f = {name}, k = {k}, {norm}"
                cases.append(Case(where, size(derivatives[k]), constants[k] * largest))
                control.append(Case(f"C_k = 1, {where}", size(derivatives[k]), largest))
                printed.append(
                    Case(where, size(derivatives[k]), 28.0 ** (k + 1) / math.pi**3.5 * largest)
                )
    return Evidence(cases, printed, control)


@claim(
    "Lemma bound-L1-norm-with-fourier",
    SECTION,
    on="Gaussians, e^{−|x|}, a triangle, S(x) = sinc(x)sinc(x/2); f̂' is the transform of −2πi·x·f",
)
def l1_by_fourier(quick: bool) -> Evidence:
    """‖f‖₁ ≤ (2/√π)‖f̂‖₂^½‖f̂'‖₂^½."""
    functions: dict[str, Function] = {
        "Gaussian, width 0.2": lambda x: np.exp(-(x**2) / 0.08),
        "Gaussian, width 5": lambda x: np.exp(-(x**2) / 50),
        "e^(−|x|)": lambda x: np.exp(-np.abs(x)),
        "triangle": lambda x: np.maximum(1 - np.abs(x), 0.0),
        "S": sinc_product,
    }
    step, cases, control = 1e-3, [], []
    x: Array = np.arange(-200_000.0, 200_000.0) * step + step / 2
    for name, f in functions.items():
        y = f(x)
        l1, l2, slope = (np.abs(y).sum(), (y**2).sum(), (2 * np.pi * x * y) ** 2 @ np.ones_like(x))
        # off the grid |S| ≤ 2/(πx)²: its tails add at most 4/(π²·200) to ‖f‖₁, and lengthen the
        # right side
        tail = 4 / (math.pi**2 * 200) if name == "S" else 0.0
        bound = 2 / math.sqrt(math.pi) * (l2 * step) ** 0.25 * (slope * step) ** 0.25
        cases.append(Case(name, float(l1 * step + tail), float(bound)))
        control.append(Case(f"1/√π for 2/√π, {name}", float(l1 * step), 0.5 * float(bound)))
    return Evidence(cases, control=control)


@claim(
    "Theorem discrete-pl",
    SECTION,
    on=(
        "least constants over all v (the extreme points) at T = 5, 20, 100; five sequences; |u(t) −"
        " v_t|"
    ),
    erratum=(
        "E16: C = 2.88, C' = 12.94 (printed 28.5, 4805: true); the step ‖f'‖₁ ≤ 2|v_1| + 2P_T of"
        " the proof is false"
    ),
)
def discrete_pl(quick: bool) -> Evidence:
    """u(t) = v_t with ‖u'‖₁ ≤ C(‖v_1‖ + P_T), ‖u − u''‖_∞ ≤ C'M, whatever v."""
    cases = []
    for horizon in (5, 20) if quick else (5, 20, 100):
        basis, per_unit = SincBump(np.eye(horizon)), 400
        t = (np.arange((horizon + 1) * per_unit) + 0.5) / per_unit
        # ‖u'‖₁ is convex in v: largest on ‖v_1‖ + P_T ≤ 1 at a step, v = 1[l ≥ k]
        steps = np.cumsum(basis.derivative(t)[:, ::-1], axis=1)
        cases.append(
            Case(
                f"least C, T = {horizon}",
                float(np.abs(steps).sum(axis=0).max() / per_unit),
                PATH_CONSTANT,
            )
        )
        ends = np.linspace(0.0, min(horizon + 1.0, 4.0), 4001)
        curve = float(np.abs(basis(ends) - basis.derivative(ends, 2)).sum(axis=1).max())
        cases.append(Case(f"least C', T = {horizon}", curve, curvature_constant()))
        for name, u in shapes(horizon).items():
            v = u(runs.times(horizon))
            first, second = sizes(u, horizon)
            cases.append(
                Case(
                    f"‖u'‖₁, {name}, T = {horizon}",
                    first,
                    PATH_CONSTANT * (abs(float(v[0])) + path_length(v)),
                )
            )
            cases.append(
                Case(
                    f"‖u − u''‖_∞, {name}, T = {horizon}",
                    second,
                    curvature_constant() * magnitude(v),
                )
            )
        v = np.random.default_rng(4).standard_normal(horizon)
        cases.append(
            Case(
                f"|u(t) − v_t|, T = {horizon}",
                float(np.abs(SincBump(v)(runs.times(horizon)) - v).max()),
                1e-12,
                "=",
            )
        )
    t = np.arange(-500.0, 551.0, 0.01)
    variation = float(
        np.abs(np.diff(sum((sinc_product(t - at) for at in range(1, 51)), np.zeros_like(t)))).sum()
    )
    tight = [
        Case(f"{case.where}, 10% less", case.measured, 0.9 * case.bound)
        for case in cases
        if case.where.startswith("least")
    ]
    return Evidence(cases, [Case("‖f'‖₁ for v = 1, T = 50, in the proof", variation, 2.0)], tight)

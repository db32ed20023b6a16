"""Theorems rkhs-to-pl and discrete-pl beyond order 1, and what a kernel of order 2 is good for."""

import math
from functools import cache

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from stillpoint.core.validation import Array
from stillpoint.kernels import HorizonFree
from stillpoint.kernels.path_length import transform_norm
from stillpoint.lab.reproduce import runs
from stillpoint.lab.reproduce.interpolants import SECTION
from stillpoint.lab.reproduce.path_length import spectral_norm
from stillpoint.lab.reproduce.registry import Case, Evidence, claim
from stillpoint.regret import PATH_CONSTANT, SincBump, curvature_constant, magnitude, path_length

ROUGH, SMOOTH = "HorizonFree(taper=1/2π)", "HorizonFree(taper=1/2π, smoothness=2)"
KERNELS: dict[str, HorizonFree] = {
    ROUGH: runs.CONSISTENT,
    SMOOTH: HorizonFree(taper=1 / (2 * math.pi), smoothness=2),
    "HorizonFree()": runs.PAPER,
    "HorizonFree(smoothness=2)": HorizonFree(smoothness=2),
}
PERIODS = (1, 2, 4, 8, 16, 32, 64, 128, 250)


def comparators(rounds: int) -> dict[str, Array]:
    """Sequences in [−1, 1], the slow ones first."""
    t, rng = runs.times(rounds), np.random.default_rng(5)
    noise = rng.standard_normal(rounds)
    twice = np.cumsum(np.cumsum(noise))
    return {
        "constant": np.ones(rounds),
        "line": t / rounds,
        "twice integrated noise": twice / np.abs(twice).max(),
        "sine, period T": np.sin(2 * math.pi * t / rounds),
        "sine, period 100": np.sin(2 * math.pi * t / 100),
        "one switch": runs.switching(rounds, 1),
        "ten switches": runs.switching(rounds, 10),
        "walk": np.cumsum(noise) / np.abs(np.cumsum(noise)).max(),
        "a switch every 20 rounds": runs.switching(rounds, rounds // 20 - 1),
        "a switch every 4 rounds": runs.switching(rounds, rounds // 4 - 1),
        "sine, period 5": np.sin(2 * math.pi * t / 5),
        "noise": noise / np.abs(noise).max(),
        "alternating": (-1.0) ** t,
    }


def sines(rounds: int) -> dict[str, Array]:
    """Sines of amplitude 1, by how many periods they have."""
    return {
        str(n): np.sin(2 * math.pi * n * runs.times(rounds) / rounds)
        for n in PERIODS
        if 4 * n <= rounds
    }


@cache
def costs(kernel: str, rounds: int) -> dict[str, float]:
    """k(0)‖u‖², which enters the regret, of comparators and sines.

    One factorisation, which check and figure share.
    """
    k, sequences = KERNELS[kernel], {**comparators(rounds), **sines(rounds)}
    columns = np.array(list(sequences.values())).T
    squares = (columns * cho_solve(cho_factor(k.gram(runs.times(rounds))), columns)).sum(axis=0)
    return dict(zip(sequences, (k.bound * squares).tolist(), strict=True))


def _wave(horizon: int, per_unit: int) -> tuple[Array, list[Array]]:
    """f(t) = sin⁶(πt/(T + 1)) cos t on a grid, with |f'|, |f − f''''| and |f + f''''|.

    The first two terms all but cancel.
    """
    t = np.arange((horizon + 1) * per_unit + 1) / per_unit
    f, rest = np.zeros_like(t), [np.zeros_like(t) for _ in range(3)]
    for k, weight in enumerate((10 / 32, -15 / 32, 6 / 32, -1 / 32)):
        for rate in (1 + 2 * k * math.pi / (horizon + 1), 1 - 2 * k * math.pi / (horizon + 1)):
            part = 0.5 * weight * np.cos(rate * t)
            f += part
            rest[0] -= 0.5 * weight * rate * np.sin(rate * t)
            rest[1] += (1 - rate**4) * part
            rest[2] += (1 + rate**4) * part
    return f, [np.abs(values) for values in rest]


def printed_constant(kernel: HorizonFree, horizon: int, m: int) -> float:
    """c(T) as printed: R(x) = 2π/(x(1 + (x/2π)^{2m})Q(x)), and half of ‖R̂‖_{L1} (E6)."""

    def ratio(x: Array) -> Array:
        w = np.exp(np.minimum(x, 50.0))  # beyond, nothing is left of it
        return np.asarray(
            2.0
            * math.pi
            / (w * (1.0 + (w / (2.0 * math.pi)) ** (2 * m)) * kernel.density(w))
            * (x <= 50.0)
        )

    return 0.5 * transform_norm(ratio, horizon + 1.0)


@claim(
    "Theorems rkhs-to-pl and discrete-pl, order m",
    SECTION,
    on=(
        "m = 2, 3 and kernels of that smoothness: four interpolants at T = 5, 40; least constants"
        " over all v at T = 20, 60; as printed: sin⁶(πt/(T + 1)) cos t, T = 2·10⁵"
    ),
    erratum=(
        "E6: f + (−1)^m f^(2m); with the printed minus it is false for even m. E16: C = 2.88 at"
        " every m, C'_m = 12.94, 866.7, 293 800, … for m = 1, 2, 3"
    ),
)
def every_order(quick: bool) -> Evidence:
    """‖u‖² ≤ c(T)‖u'‖₁‖u + (−1)^m u^(2m)‖_∞, ‖u'‖₁ ≤ C(‖v_1‖ + P_T), ‖u + (−1)^m u^(2m)‖_∞ ≤
    C'_m·M.
    """
    cases, numbers = [], {}
    for m in (2, 3):
        kernel, sign = HorizonFree(smoothness=m), (-1.0) ** m
        lower = float(kernel.path_length_conditions(40, m - 1).holds)
        cases.append(Case(f"m = {m}: density accepted at order {m - 1} (0 if not)", lower, 0.0))
        for horizon in (5, 40):
            t, rng = (np.arange(200 * (horizon + 1)) + 0.5) / 200, np.random.default_rng(3)
            c = kernel.path_length_conditions(horizon, m).constant
            numbers[f"c({horizon}), m = {m}"] = c
            sequences = {
                "constant": np.ones(horizon),
                "random": rng.standard_normal(horizon),
                "alternating": (-1.0) ** np.arange(horizon),
                "walk": np.cumsum(rng.standard_normal(horizon)),
            }
            for name, v in sequences.items():
                u, where = SincBump(v, m), f"{name}, m = {m}, T = {horizon}"
                first = float(np.abs(u.derivative(t)).sum() / 200)
                bend = float(np.abs(u(t) + sign * u.derivative(t, 2 * m)).max())
                cases.append(
                    Case(f"‖u‖², {where}", spectral_norm(u, horizon, kernel), c * first * bend)
                )
                cases.append(
                    Case(
                        f"‖u'‖₁, {where}",
                        first,
                        PATH_CONSTANT * (abs(float(v[0])) + path_length(v)),
                    )
                )
                cases.append(
                    Case(f"‖u ± u^(2m)‖_∞, {where}", bend, curvature_constant(m) * magnitude(v))
                )
        for horizon in (20,) if quick else (20, 60):
            basis, t = SincBump(np.eye(horizon), m), (np.arange(100 * (horizon + 1)) + 0.5) / 100
            # ‖u'‖₁ is convex in v: largest at a step
            steps = np.cumsum(basis.derivative(t)[:, ::-1], axis=1)
            cases.append(
                Case(
                    f"least C, m = {m}, T = {horizon}",
                    float(np.abs(steps).sum(axis=0).max() / 100),
                    PATH_CONSTANT,
                )
            )
            ends = np.linspace(0.0, 1.0, 1001)
            least = float(
                np.abs(basis(ends) + sign * basis.derivative(ends, 2 * m)).sum(axis=1).max()
            )
            cases.append(Case(f"least C'_m, m = {m}, T = {horizon}", least, curvature_constant(m)))
    horizon, kernel = 200_000, HorizonFree(smoothness=2)
    f, (slope, minus, plus) = _wave(horizon, 4)
    spectrum = np.abs(np.fft.rfft(f)[1:] / 4) ** 2 / kernel.density(
        np.arange(1, f.size // 2 + 1) * 4 / f.size
    )
    square, length = float(2.0 * spectrum.sum() * 4 / f.size), float(slope.sum() / 4)
    c = kernel.path_length_conditions(horizon, 2).constant
    cases.append(Case("sin⁶·cos, m = 2", square, c * length * float(plus.max())))
    as_printed = printed_constant(kernel, horizon, 2)
    printed = Case("sin⁶·cos, f − f'''', m = 2", square, as_printed * length * float(minus.max()))
    less = [
        Case(f"{case.where}, 10% less", case.measured, 0.9 * case.bound)
        for case in cases
        if case.where.startswith("least")
    ]
    return Evidence(cases, [printed], less, numbers=numbers)

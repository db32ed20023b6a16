"""Example spline-kernel with its appendix: squared path length by the spline kernel."""

import math

import numpy as np

import stillpoint as sp
from stillpoint.kernels import Spline
from stillpoint.lab.reproduce import runs
from stillpoint.lab.reproduce.curvature import SECTION, signals, worst_of_each
from stillpoint.lab.reproduce.registry import Case, Evidence, claim
from stillpoint.lab.reproduce.result import number
from stillpoint.regret import (
    effective_dimension,
    log_det,
    rkhs_norm,
    spline_dimension_bound,
    spline_effective_dimension,
    spline_eigenvalues,
    squared_path_length,
)


def spline_example(
    rounds: int, seeds: int, exponent: float = 2 / 3
) -> tuple[float, float, float, float]:
    """Means over seeds of regret, two bounds, and the regret of forecasts of 0.

    The bounds are by log det and by d_eff ≤ πT/2√λ.

    C'_T = 1 and λ = (y_max²T)^exponent. The sine's periods grow as √T, so that u_1² + Σ(u_t −
    u_{t−1})² stays. Noise is uniform: Gaussian y_max² grows with T.
    """
    u = np.sin(np.sqrt(2.0 / rounds) * np.arange(1, rounds + 1))
    u /= math.sqrt(u[0] ** 2 + squared_path_length(u))
    rows = []
    for seed in range(seeds):
        y = u + 0.5 * np.random.default_rng(100 + seed).uniform(-math.sqrt(3), math.sqrt(3), rounds)
        top = float((y**2).max())
        ridge = (top * rounds) ** exponent
        model = sp.KernelVAW(Spline(), ridge=ridge)
        regret = runs.half_squared(runs.forecast(model, y), y) - runs.half_squared(u, y)
        log = math.log(math.e + math.e * rounds**2 / ridge)
        closed = 0.5 * ridge + 0.5 * top * spline_dimension_bound(rounds, ridge) * log
        rows.append(
            (
                regret,
                model.bound(1.0),
                closed,
                runs.half_squared(0.0 * y, y) - runs.half_squared(u, y),
            )
        )
    mean = np.mean(rows, axis=0)
    return float(mean[0]), float(mean[1]), float(mean[2]), float(mean[3])


@claim(
    "Example spline-kernel",
    SECTION,
    on=(
        "KernelVAW, λ = (y_max²T)^{2/3}, C'_T = 1, noise ½; regret ≤ bound ≤ πT/2√λ form; growth"
        " beside that of T^{2/3} log T; T = 10³ to 2·10⁵"
    ),
    erratum="E10 for the bound, E4 and E5 for d_eff and the norm",
)
def spline_kernel(quick: bool) -> Evidence:
    """with λ tuned, R_T = Õ(T^{2/3}C'_T^{2/3}), C'_T² = Σ(u_t − u_{t−1})²."""
    grid = (500, 2000, 8000) if quick else (1000, 5000, 20_000, 50_000, 200_000)
    rows = np.array([spline_example(rounds, 2 if quick else 5) for rounds in grid])
    cases, control = [], []
    for rounds, (regret, tight, closed, still) in zip(grid, rows, strict=True):
        cases.append(Case(f"regret, T = {number(rounds)}", regret, tight))
        cases.append(Case(f"bound by log det, T = {rounds}", tight, closed))
        control.append(Case(f"forecasts of 0, T = {number(rounds)}", still, tight))
    T = np.array(grid, dtype=np.float64)
    rate = T ** (2 / 3) * np.log(T)
    slopes = [runs.slope(grid, rows[:, i]) for i in range(3)]
    upper = runs.upper_slope(grid, rows[:, 0])
    yardstick = runs.slope(grid, rate)
    cases.append(Case("slope of regret over T, beside that of T^{2/3} log T", slopes[0], yardstick))
    cases.append(Case("the same over the upper half of T", upper, runs.upper_slope(grid, rate)))
    growth = rows[:, 0] / rate
    cases.append(
        Case(
            "regret over T^{2/3} log T, from the first T to the last",
            float(growth[-1] / growth[0]),
            1.0,
        )
    )
    untuned = np.array([spline_example(rounds, 1, exponent=0.2)[0] for rounds in grid])
    control.append(
        Case("slope with λ = (y_max²T)^{1/5}, too small", runs.slope(grid, untuned), yardstick)
    )
    names = ("slope of regret", "slope of the bound by log det", "slope of the bound by d_eff")
    numbers = {
        **dict(zip(names, slopes, strict=True)),
        "slope of regret, upper half": upper,
        "slope of T^{2/3} log T": yardstick,
    }
    note = (
        f"Here T^{{2/3}} log T is as steep as T^{{{yardstick:.2f}}}: rates up to that power cannot"
        " be told from it."
    )
    return Evidence(cases, control=control, numbers=numbers, note=note, lead="regret")


@claim(
    "Example spline-kernel, tuning λ by experts",
    SECTION,
    on=(
        "KernelForecaster against each of its ridges since it joined, five targets with noise ½; T"
        " = 5000"
    ),
)
def tuning(quick: bool) -> Evidence:
    """λ needs no prior knowledge: mix ridges by experts."""
    rounds, cases, control = 500 if quick else 5000, [], []
    for name, u in runs.targets(rounds).items():
        y = u + 0.5 * np.random.default_rng(5).standard_normal(rounds)
        model = sp.KernelForecaster()
        ours, experts = np.zeros(rounds), []
        joined: list[int] = []
        for t, value in enumerate(y):
            ours[t] = 0.5 * (float(model.predict()) - value) ** 2
            forecasts = np.atleast_1d(model.forecasts)
            joined += [t] * (forecasts.size - len(joined))
            experts.append(0.5 * (forecasts - value) ** 2)
            model.update(value)
        for index, start in enumerate(joined):
            theirs = sum(float(row[index]) for row in experts[start:])
            where, limit = f"{name}, ridge {model.ridges[index]:.3g}", model.bound(index)
            cases.append(Case(where, float(ours[start:].sum()) - theirs, limit))
            control.append(
                Case(
                    f"forecasts of 0, {where}",
                    runs.half_squared(0.0 * y[start:], y[start:]) - theirs,
                    limit,
                )
            )
    return Evidence(worst_of_each(cases), control=worst_of_each(control))


@claim(
    "Theorem discrete-squared-pl",
    SECTION,
    on=(
        "six sequences at T = 50 and 1000; the printed sinc interpolant on the alternating"
        " sequence, T = 50"
    ),
    erratum=(
        "E5: the minimum-norm interpolant is piecewise linear, C = 1 (printed C ≤ 5/4 by a sinc,"
        " whose ratio is up to π²/4)"
    ),
)
def discrete_squared_pl(quick: bool) -> Evidence:
    """‖u‖² = v_1² + Σ(v_t − v_{t−1})², exactly (C = 1)."""
    cases, control = [], []
    for rounds in (50,) if quick else (50, 1000):
        for name, v in signals(rounds).items():
            square = v[0] ** 2 + squared_path_length(v)
            found = rkhs_norm(Spline(), v) ** 2
            cases.append(Case(f"{name}, T = {rounds}", abs(found / square - 1), 1e-9, "="))
            control.append(
                Case(
                    f"without v_1², {name}, T = {rounds}",
                    abs(found / squared_path_length(v) - 1),
                    1e-9,
                    "=",
                )
            )
    v, step = np.where(np.arange(50) % 2 == 0, 1.0, -1.0), 0.01
    t = np.arange(-300.0, 351.0, step) + step / 2
    slope = np.zeros_like(t)
    for i, value in enumerate(v, start=1):
        x = t - i
        slope += value * (np.cos(np.pi * x) - np.sinc(x)) / x
    ratio = float((slope**2).sum() * step / (v[0] ** 2 + squared_path_length(v)))
    printed = Case(
        "∫|u'|² of the proof's sinc interpolant over Σ|Δv|² + v_1², alternating", ratio, 1.25
    )
    return Evidence(cases, [printed], control)


@claim(
    "Theorem spline-deff",
    SECTION,
    on=(
        "T from 1 to 10⁵, λ from 10⁻⁶ to 10¹²; eigenvalues and closed form against the Gram matrix"
        " at T = 1, 5, 40"
    ),
    erratum="E4: eigenvalues 4 sin²((2k−1)π/(2(2T+1))) (printed 4 sin²(kπ/(2T+1)))",
)
def spline_deff(quick: bool) -> Evidence:
    """d_eff(λ) ≤ πT/(2√λ)."""
    cases, printed = [], []
    for rounds in (1, 2, 5, 17, 100, 1000, 10**4, 10**5):
        pairs = [
            (spline_effective_dimension(rounds, r), spline_dimension_bound(rounds, r))
            for r in np.logspace(-6, 12, 73)
        ]
        cases.append(runs.worst(f"d_eff, T = {rounds}, worst λ", pairs))
    for rounds in (1, 5, 40):
        inverse = np.linalg.eigvalsh(np.linalg.inv(Spline().gram(runs.times(rounds))))
        k = np.arange(1, rounds + 1)
        cases.append(
            Case(
                f"eigenvalues, T = {rounds}",
                float(np.abs(inverse - spline_eigenvalues(rounds)).max()),
                1e-9,
                "=",
            )
        )
        wrong = 4 * np.sin(k * np.pi / (2 * rounds + 1)) ** 2
        printed.append(
            Case(
                f"eigenvalues in the proof, T = {rounds}",
                float(np.abs(inverse - wrong).max()),
                1e-9,
                "=",
            )
        )
        exact = effective_dimension(Spline(), runs.times(rounds), 2.0, method="dense")
        cases.append(
            Case(
                f"closed form, T = {rounds}",
                abs(spline_effective_dimension(rounds, 2.0) / exact - 1),
                1e-10,
                "=",
            )
        )
        dense = log_det(Spline(), runs.times(rounds), 2.0, method="dense")
        cases.append(
            Case(
                f"log det streamed, T = {rounds}",
                abs(log_det(Spline(), runs.times(rounds), 2.0) / dense - 1),
                1e-10,
                "=",
            )
        )
    less = [
        Case(f"{case.where}, bound/4", case.measured, 0.25 * case.bound)
        for case in cases
        if case.sense == "≤"
    ]
    return Evidence(cases, printed, less, lead="d_eff")

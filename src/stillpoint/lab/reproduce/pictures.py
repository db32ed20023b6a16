"""Figures: what each one measures, and the register they are drawn from."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

import stillpoint as sp
from stillpoint.core.validation import Array
from stillpoint.kernels import OU, Gaussian, HorizonFree, Kernel, Matern32, Spline
from stillpoint.lab.reproduce import orders, runs
from stillpoint.lab.reproduce.path_length import TARGETS, TRADEOFFS, product
from stillpoint.lab.reproduce.runs import CONSISTENT, PAPER, upper_slope
from stillpoint.losses import Absolute
from stillpoint.potentials import Erfi, ParameterFree
from stillpoint.regret import (
    bump,
    interpolate,
    path_length,
    rkhs_norm,
    spline_dimension_bound,
    spline_effective_dimension,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Data = dict[str, Any]
SIX = np.array([0.0, 2.0, 1.0, 3.0, 0.0, 2.0])  # the sequence of the paper's first figure


@dataclass(frozen=True)
class Picture:
    """A figure to be: `measure(quick)` gives its numbers, `draw(data)` the figure; `says` and
    `found(data)` are the caption.
    """

    name: str
    title: str
    says: str
    measure: Callable[[bool], Data]
    draw: Callable[[Data], Figure]
    found: Callable[[Data], str] = lambda data: ""


def interpolation(quick: bool) -> Data:
    """Functions through the six points of figure transform."""
    t = np.linspace(0.0, 7.0, 281 if quick else 1401)
    curves = {
        "spline kernel: piecewise linear": interpolate(Spline(), SIX)(t),
        "paper's interpolant: sinc·bump": interpolate(Spline(), SIX, method="sinc-bump")(t),
        "horizon-free, minimum norm": interpolate(PAPER, SIX)(t),
        "horizon-free, taper 1/2π": interpolate(CONSISTENT, SIX)(t),
    }
    return {
        "u": SIX.tolist(),
        "t": t.tolist(),
        "curves": {name: values.tolist() for name, values in curves.items()},
    }


def bump_parts(quick: bool) -> Data:
    """B, the two bumps that cancel, and b_T: figure bump, T = 5 and m = 1."""
    x, t = np.linspace(-1.0, 1.0, 401), np.linspace(-1.0, 7.0, 801)

    def B(v: Array) -> Array:
        return np.asarray(15.0 / 8.0 * np.maximum(1.0 - 4.0 * v * v, 0.0) ** 2)

    pair = B(t - 0.5) - B(t - 5.5)
    return {
        "x": x.tolist(),
        "B": B(x).tolist(),
        "t": t.tolist(),
        "pair": pair.tolist(),
        "b": bump(t, 5).tolist(),
    }


def kernel_and_density(quick: bool) -> Data:
    """The horizon-free kernel over lags, and its density over frequencies, for both tapers."""
    lags, w = np.logspace(-2, 6, 60 if quick else 200), np.logspace(-8, 3, 300)
    kernels: dict[str, HorizonFree] = {
        "paper, taper 2π": PAPER,
        "unit-consistent taper 1/2π": CONSISTENT,
    }
    return {
        "lag": lags.tolist(),
        "kernel": {name: (k(0.0, lags) / k.bound).tolist() for name, k in kernels.items()},
        "ou": np.exp(-0.1 * lags).tolist(),
        "frequency": w.tolist(),
        "density": {name: k.density(w).tolist() for name, k in kernels.items()},
        "k(0)": {name: k.bound for name, k in kernels.items()},
    }


LEARNERS: dict[str, Callable[[], Any]] = {
    "Algorithm 2, ε = 1 (paper)": lambda: sp.KernelFTRL(
        1, lipschitz=1.0, kernel=PAPER, potential=ParameterFree(1.0)
    ),
    "same kernel, Erfi potential": lambda: sp.KernelFTRL(
        1, lipschitz=1.0, kernel=PAPER, potential=Erfi(1.0)
    ),
    "MultiScale": lambda: sp.MultiScale(1, lipschitz=1.0),
    "Tracker": lambda: sp.Tracker(1),
}


def _regrets(rounds: int, switches: int, seeds: int) -> dict[str, float]:
    """Mean regret of each learner, and of playing 0, against ±1 that switches, absolute loss, noise
    0.3.
    """
    u, totals = runs.switching(rounds, switches), dict.fromkeys([*LEARNERS, "play 0"], 0.0)
    for seed in range(seeds):
        y = u + 0.3 * np.random.default_rng(seed).standard_normal(rounds)
        stream = Absolute().on(y)
        for name, build in LEARNERS.items():
            totals[name] += float(sp.play(build(), stream).regret(u)[-1]) / seeds
        totals["play 0"] += float((np.abs(y) - np.abs(y - u)).sum()) / seeds
    return totals


def regret(quick: bool) -> Data:
    """Regret against √((M² + M·P_T)T) over T at P_T = 8, and over P_T at a fixed T."""
    seeds = 1 if quick else 2
    horizons = [1000 * 4**i for i in range(3 if quick else 7)]
    switches, fixed = (
        ([1, 4, 16] if quick else [1, 4, 16, 64, 256, 1024]),
        (16_000 if quick else 512_000),
    )
    data: Data = {"panels": {}}
    for name, grid in (("T", [(T, 4) for T in horizons]), ("P", [(fixed, k) for k in switches])):
        rows = [_regrets(T, k, seeds) for T, k in grid]
        across = [math.sqrt((1.0 + 2.0 * k) * T) for T, k in grid]
        varied = [float(T) if name == "T" else 2.0 * k for T, k in grid]
        values = {who: [row[who] for row in rows] for who in rows[0]}
        data["panels"][name] = {
            "x": across,
            name: varied,
            "regret": values,
            "slope over the rate": {who: upper_slope(across, y) for who, y in values.items()},
            f"slope over {'T' if name == 'T' else 'P_T'}": {
                who: upper_slope(varied, y) for who, y in values.items()
            },
        }
    data["settings"] = {
        "seeds": seeds,
        "T at fixed P_T = 8": horizons,
        "P_T at fixed T": [2 * k for k in switches],
        "fixed T": fixed,
    }
    return data


def dimension(quick: bool) -> Data:
    """Effective dimension of the spline kernel over λ, and its bound."""
    ridges = np.logspace(-2, 10, 97)
    rows = {
        str(T): {
            "d_eff": [spline_effective_dimension(T, r) for r in ridges],
            "bound": [spline_dimension_bound(T, r) for r in ridges],
        }
        for T in (100, 10_000, 1_000_000)
    }
    return {"ridge": ridges.tolist(), "rows": rows}


def tradeoff(quick: bool) -> Data:
    """‖u‖²·max k(t,t) over T, kernel by kernel, for three targets."""
    horizons = [100, 300] if quick else [100, 300, 1000, 3000, 10_000, 100_000]

    def paid(name: str, target: str) -> list[float | None]:
        # no state space: its Gram matrix stops at a few thousand rounds
        dense = name.startswith("Gaussian")
        return [None if dense and T > 3000 else product(name, target, T) for T in horizons]

    rows = {target: {name: paid(name, target) for name in TRADEOFFS} for target in TARGETS}
    ideal = {
        target: [1.0 + path_length(make(np.arange(float(T)))) for T in horizons]
        for target, make in TARGETS.items()
    }
    return {"T": horizons, "rows": rows, "ideal": ideal}


def tradeoff_found(data: Data) -> str:
    """How fast the horizon-free kernel's product still grows at the last two lengths."""
    (a, b), rows = data["T"][-2:], data["rows"]
    powers = {
        t: math.log(row["HorizonFree()"][-1] / row["HorizonFree()"][-2]) / math.log(b / a)
        for t, row in rows.items()
    }
    return (
        f"From T = {a} to {b} HorizonFree() grows as T to the power "
        + ", ".join(f"{p:.2f} ({t})" for t, p in powers.items())
        + "."
    )


def regret_found(data: Data) -> str:
    """Slopes over T and over P_T."""
    panels, fixed = data["panels"], data["settings"]["fixed T"]
    over = {
        "T at P_T = 8": panels["T"]["slope over T"],
        f"P_T at T = {fixed}": panels["P"]["slope over P_T"],
    }
    lines = (
        f"over {name}: " + ", ".join(f"{who} {value:.2f}" for who, value in row.items())
        for name, row in over.items()
    )
    return "Slopes " + "; ".join(lines) + "; the rate has ½ in both."


def spectrum(quick: bool) -> Data:
    """What frequencies cost, k_max/Q(ω), and what sines cost: k_max‖u‖² beside path length and
    energy.
    """
    w, T = np.logspace(-5, math.log10(0.5), 200), 500 if quick else 2000
    angle = 2 * math.pi * w
    cost = {
        "spline, T rounds": T * angle**2,
        "OU(0.1)": (0.1**2 + angle**2) / 0.2,
        "Matérn-3/2(0.1)": (0.1**2 + angle**2) ** 2 / (4 * 0.1**3),
        "horizon-free (paper)": PAPER.bound / PAPER.density(w),
        "horizon-free, taper 1/2π": CONSISTENT.bound / CONSISTENT.density(w),
    }
    kernels: dict[str, Kernel] = {
        "spline, T rounds": Spline(1.0),
        "OU(0.1)": OU(0.1),
        "Matérn-3/2(0.1)": Matern32(0.1),
        "horizon-free (paper)": PAPER,
        "horizon-free, taper 1/2π": CONSISTENT,
    }
    periods = [1, 2, 4, 8, 16, 32, 64] + ([] if quick else [128, 256])
    sines = [np.sin(2 * math.pi * n * runs.times(T) / T) for n in periods]
    paid = {
        name: [rkhs_norm(k, u) ** 2 * float(k.diagonal(runs.times(T)).max()) for u in sines]
        for name, k in kernels.items()
    }
    return {
        "frequency": w.tolist(),
        "cost": {name: values.tolist() for name, values in cost.items()},
        "T": T,
        "periods": periods,
        "paid": paid,
        "path": [1.0 + path_length(u) for u in sines],
        "energy": [float((u**2).sum()) for u in sines],
    }


def order_two(quick: bool) -> Data:
    """k(0)‖u‖² of kernels of order 1 and 2: sines over their periods, and comparators by name."""
    T = 300 if quick else 1000
    waves = orders.sines(T)
    rows = {name: orders.costs(name, T) for name in orders.KERNELS}
    named = {name: {u: row[u] for u in orders.comparators(T)} for name, row in rows.items()}
    return {
        "T": T,
        "periods": [int(n) for n in waves],
        "sines": {name: [row[n] for n in waves] for name, row in rows.items()},
        "path": [1.0 + path_length(u) for u in waves.values()],
        "comparators": named,
    }


def cost(quick: bool) -> Data:
    """µs a round against t: memories that stream beside dense ones, for the same learner and for
    the forecaster.
    """
    # past 10⁴ threads join in, and wait for each other
    ages = [100, 300, 1000] if quick else [100, 300, 1000, 2000, 4000, 8000]
    makers: dict[str, tuple[Callable[[], Any], int]] = {
        "Algorithm 2, dense": (lambda: _algorithm_2("dense"), ages[-1]),
        "Algorithm 2, streaming": (lambda: _algorithm_2("streaming"), ages[-1]),
        "KernelVAW, dense": (lambda: sp.KernelVAW(Gaussian(10.0)), 300 if quick else 2000),
        "KernelVAW, streaming": (lambda: sp.KernelVAW(OU(0.1)), ages[-1]),
    }
    values = np.random.default_rng(0).uniform(-1, 1, ages[-1] + 100)
    rows: dict[str, list[float | None]] = {}
    for name, (build, oldest) in makers.items():
        learner, done = build(), 0
        row: list[float | None] = []
        for age in ages:
            if age > oldest:
                row.append(None)
                continue
            while done < age:
                learner.predict()
                learner.update(values[done])
                done += 1
            laps = []
            for _ in range(5):
                begun = process_time()  # others may be using the machine
                for _ in range(10):
                    learner.predict()
                    learner.update(values[done])
                    done += 1
                laps.append((process_time() - begun) / 10)
            row.append(1e6 * min(laps))
        rows[name] = row
    return {"t": ages, "us": rows}


def _algorithm_2(memory: str) -> sp.KernelFTRL:
    return sp.KernelFTRL(
        1, lipschitz=1.0, kernel=PAPER, potential=ParameterFree(1.0), memory=memory
    )

"""Figures of norms: what targets, frequencies and sines cost under each kernel."""

import math

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FormatStrFormatter

from stillpoint.kernels import OU, Kernel, Matern32, Spline
from stillpoint.lab.reproduce import orders, runs
from stillpoint.lab.reproduce.drawing import (
    AMBER,
    BLUE,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PINK,
    SKY,
    below,
    curve,
    finish,
    rate,
    sheet,
)
from stillpoint.lab.reproduce.path_length import TARGETS, TRADEOFFS, product
from stillpoint.lab.reproduce.pictures import Data, Picture
from stillpoint.lab.reproduce.runs import CONSISTENT, PAPER
from stillpoint.regret import path_length, rkhs_norm

_KERNELS = {
    "Spline(offset=1)": PINK,
    "OU(rate=0.1)": ORANGE,
    "Matern32(rate=0.1)": AMBER,
    "Gaussian(width=1)": SKY,
    "HorizonFree()": BLUE,
    "HorizonFree(taper=1/2π)": GREEN,
}


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


def draw_tradeoff(data: Data) -> Figure:
    """A panel a target."""
    figure, panels = sheet(3, height=4.6)
    for axes, (target, rows) in zip(panels, data["rows"].items(), strict=True):
        for name, values in rows.items():
            known = [value if value is not None else np.nan for value in values]
            curve(axes, data["T"], known, (_KERNELS[name], "-", "o"), label=name, width=1.9)
        rate(axes, data["T"], data["ideal"][target], r"$M^2 + M\,P_T$")
        finish(
            axes, "$T$", r"$\|u\|^2\,\max\,k(t,t)$" if axes is panels[0] else "", target, log="xy"
        )
    below(figure, panels[0], 4)
    return figure


TRADEOFF = Picture(
    "tradeoff",
    "Why standard kernels are sub-optimal (the example of section 3.1)",
    "‖u‖²·max k(t,t) enters the regret. For the optimal rate it may only grow like M² + M·P_T"
    " up to logarithms: the spline pays T for its diagonal, the others pay T for a constant,"
    " the horizon-free kernel pays logarithms for it. For switches and waves it still grows as"
    " a power of T at these lengths, a falling one, well below the theorem's ceiling.",
    tradeoff,
    draw_tradeoff,
    tradeoff_found,
)


_COSTS = {
    "spline, T rounds": PINK,
    "OU(0.1)": ORANGE,
    "Matérn-3/2(0.1)": AMBER,
    "horizon-free (paper)": BLUE,
    "horizon-free, taper 1/2π": GREEN,
}


def spectrum(quick: bool) -> Data:
    """What frequencies and sines cost: k_max/Q(ω), and k_max‖u‖² beside path length and energy."""
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


def draw_spectrum(data: Data) -> Figure:
    """What a frequency costs, and what a sine costs."""
    figure, (left, right) = sheet(2, height=4.9)
    w = np.array(data["frequency"])
    for name, colour in _COSTS.items():
        curve(left, w, data["cost"][name], (colour, "-", ""), label=name, width=2.0)
        curve(right, data["periods"], data["paid"][name], (colour, "-", "o"), width=2.0)
    rate(left, w, 2 * np.pi * w, "path length")
    left.plot(w, np.ones_like(w), color=FAINT, linewidth=1.2, linestyle=":", label="energy")
    rate(right, data["periods"], data["path"], "")
    right.plot(data["periods"], data["energy"], color=FAINT, linewidth=1.2, linestyle=":")
    left.set_ylim(1e-5, 1e5)
    finish(
        left,
        r"frequency $\omega$ (cycles a round)",
        r"$k_{\max}/Q(\omega)$",
        "what a frequency costs",
        log="xy",
    )
    title = f"what a sine costs, $T = {data['T']}$"
    finish(right, "periods", r"$k_{\max}\,\|u\|^2$", title, log="xy")
    below(figure, left, 4)
    return figure


SPECTRUM = Picture(
    "spectrum",
    "The spectral density's intuition (appendix spectral-intuition)",
    "A kernel charges frequency ω by 1/Q(ω). Charging ω itself gives path length, a constant"
    " gives energy, ω² gives squared differences; the horizon-free kernel charges ω times"
    " logarithms, which are large. Right, sines of amplitude 1: dashed M² + M·P_T, dotted Σu².",
    spectrum,
    draw_spectrum,
)


_ORDERS = {
    "HorizonFree()": (SKY, "-", "o"),
    "HorizonFree(smoothness=2)": (AMBER, "--", "o"),
    "HorizonFree(taper=1/2π)": (BLUE, "-", "o"),
    "HorizonFree(taper=1/2π, smoothness=2)": (ORANGE, "--", "o"),
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


def draw_order_two(data: Data) -> Figure:
    """Sines over their periods; order 2 over order 1 for each comparator."""
    figure, (left, right) = sheet(2, height=5.2)
    for name, style in _ORDERS.items():
        curve(left, data["periods"], data["sines"][name], style, label=name)
    rate(left, data["periods"], data["path"], r"$M^2 + M\,P_T$")
    pairs = list(zip(*[iter(_ORDERS)] * 2, strict=True))
    names = list(data["comparators"][pairs[0][0]])
    for rough, smooth in pairs:
        ratio = [data["comparators"][smooth][u] / data["comparators"][rough][u] for u in names]
        right.plot(ratio, range(len(names)), "o", color=_ORDERS[smooth][0], markersize=7)
    right.axvline(1.0, color=INK, linewidth=1.0)
    finish(left, "periods", r"$k(0)\,\|u\|^2$", f"what a sine costs, $T = {data['T']}$", log="xy")
    finish(right, "order 2 over order 1", "", "what comparators cost", log="x")
    right.xaxis.set_major_locator(FixedLocator([0.25, 0.5, 1, 2, 4]))
    right.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    right.set_yticks(range(len(names)), names)
    right.invert_yaxis()
    below(figure, left, 3)
    return figure


ORDER = Picture(
    "order",
    "What order 2 buys (Theorem rkhs-to-pl with m = 2)",
    "HorizonFree(smoothness=2) has a density that falls like ω⁻³, which the theorem covers at"
    " order 2 and not at order 1. Its k(0) is smaller, since less of it lies where whole rounds"
    " do not see it, and it charges fast turns more: slow targets gain, steps too, and what"
    " turns within some five rounds loses.",
    order_two,
    draw_order_two,
)

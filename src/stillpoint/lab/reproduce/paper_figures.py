"""Figures of the paper: interpolation, the bump, the kernel and the effective dimension."""

import numpy as np
from matplotlib.figure import Figure

from stillpoint.core.validation import Array
from stillpoint.kernels import HorizonFree, Spline
from stillpoint.lab.reproduce.drawing import (
    BLUE,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    TEXT,
    below,
    finish,
    sheet,
)
from stillpoint.lab.reproduce.pictures import Data, Picture
from stillpoint.lab.reproduce.runs import CONSISTENT, PAPER
from stillpoint.regret import bump, interpolate, spline_dimension_bound, spline_effective_dimension

SIX = np.array([0.0, 2.0, 1.0, 3.0, 0.0, 2.0])  # the sequence of the paper's first figure


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


def draw_interpolation(data: Data) -> Figure:
    """Left the sequence, right functions through it."""
    figure, (left, right) = sheet(2)
    when = np.arange(1, 7)
    styles = [(BLUE, "-", 2.2), (ORANGE, "-", 2.2), (FAINT, "-", 1.1), (GREEN, "--", 1.6)]
    for (name, curve), (colour, line, width) in zip(data["curves"].items(), styles, strict=True):
        right.plot(data["t"], curve, color=colour, linestyle=line, linewidth=width, label=name)
    for axes in (left, right):
        axes.plot(when, data["u"], "o", color=INK, markersize=7, zorder=5)
        axes.set_xlim(0, 7)
        axes.set_ylim(-0.7, 3.7)
    finish(left, "$t$", "$u_t$", "a moving target …")
    finish(right, "$t$", "$u(t)$", "… is one fixed function")
    below(figure, right, 2)
    return figure


INTERPOLATION = Picture(
    "interpolation",
    "A sequence becomes a function (figure transform)",
    "Many functions pass through a sequence; regret is charged by the norm of the cheapest one"
    " in the kernel's space. The printed kernel is nearly white (E7): its cheapest function is"
    " a row of spikes.",
    interpolation,
    draw_interpolation,
)


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


def draw_bump(data: Data) -> Figure:
    """B, the pair, and their integral."""
    figure, panels = sheet(3, height=3.3)
    curves = [
        ("x", "B", "$x$", "$B(x)$", BLUE),
        ("t", "pair", "$x$", "$B(x-½)-B(x-T-½)$", ORANGE),
        ("t", "b", "$t$", "$b_T(t)$", GREEN),
    ]
    for axes, (x, y, across, up, colour) in zip(panels, curves, strict=True):
        axes.plot(data[x], data[y], color=colour, linewidth=2.2)
        axes.fill_between(data[x], 0, data[y], color=colour, alpha=0.12)
        finish(axes, across, "", up)
    return figure


BUMP = Picture(
    "bump",
    "The bump b_T (figure bump)",
    "A bump B of mass 1, a pair that cancels, and their integral: 1 on [1, T], 0 outside (0, T"
    " + 1), here T = 5 and m = 1.",
    bump_parts,
    draw_bump,
)


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


def draw_kernel(data: Data) -> Figure:
    """k over lags, Q over frequencies."""
    figure, (left, right) = sheet(2)
    for (name, values), colour in zip(data["kernel"].items(), (BLUE, ORANGE), strict=True):
        left.plot(
            data["lag"],
            values,
            color=colour,
            linewidth=2.2,
            label=f"{name}, k(0) = {data['k(0)'][name]:.2f}",
        )
        right.plot(data["frequency"], data["density"][name], color=colour, linewidth=2.2)
    left.plot(
        data["lag"],
        data["ou"],
        color=FAINT,
        linewidth=1.6,
        linestyle="-.",
        label="OU(0.1), for comparison",
    )
    left.axvline(1.0, color=FAINT, linewidth=1.0, linestyle=":")
    left.annotate(
        "one round",
        (1.0, 0.96),
        xytext=(7, 0),
        textcoords="offset points",
        fontsize=TEXT - 1.5,
        color=INK,
        va="center",
    )
    w = np.array(data["frequency"])
    right.plot(w, 0.03 / w, color=FAINT, linewidth=1.4, linestyle="--")
    right.annotate(r"$\propto 1/\omega$", (1e-6, 1.5e5), fontsize=TEXT, color=INK)
    right.axvspan(0.5, w[-1], color=FAINT, alpha=0.15, linewidth=0)
    right.annotate(
        "unseen at\nwhole rounds", (0.7, 3e5), fontsize=TEXT - 1.5, color=INK, va="center"
    )
    right.set_xlim(w[0], w[-1])
    left.set_ylim(-0.03, 1.02)
    left.set_xlim(0.01, 1e6)
    finish(left, r"lag $\tau$ (rounds)", r"$k(\tau)/k(0)$", "the kernel", log="x")
    finish(
        right,
        r"frequency $\omega$ (cycles a round)",
        r"$Q(\omega)$",
        "its spectral density",
        log="xy",
    )
    below(figure, left, 3)
    return figure


KERNEL = Picture(
    "kernel",
    "The horizon-free kernel and its density (Proposition horizon-free-density)",
    "1/ω over logarithms, tamed at both ends so that the integral is finite. With the printed"
    " taper 96% of k(0) is gone after one round; the unit-consistent one keeps 18%.",
    kernel_and_density,
    draw_kernel,
)


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


def draw_dimension(data: Data) -> Figure:
    """d_eff over λ for three T, with the bound."""
    figure, (axes,) = sheet(1, width=7.5)
    for (T, row), colour in zip(data["rows"].items(), (BLUE, ORANGE, GREEN), strict=True):
        axes.plot(
            data["ridge"],
            row["d_eff"],
            color=colour,
            linewidth=2.2,
            label=f"$T = 10^{{{len(T) - 1}}}$",
        )
        axes.plot(data["ridge"], row["bound"], color=colour, linewidth=1.3, linestyle="--")
    axes.plot(
        [], [], color=FAINT, linewidth=1.3, linestyle="--", label=r"bound $\pi T/2\sqrt{\lambda}$"
    )
    axes.set_ylim(1e-3, 1e7)
    finish(
        axes,
        r"ridge $\lambda$",
        r"$d_{\rm eff}(\lambda)$",
        "effective dimension of the spline kernel",
        log="xy",
        legend="lower left",
    )
    return figure


DIMENSION = Picture(
    "dimension",
    "Effective dimension of the spline kernel (Theorem spline-deff)",
    "d_eff against its bound πT/(2√λ), a factor of 3 to 4 apart in between: T/√(1 + 4λ) is the"
    " limit of long runs.",
    dimension,
    draw_dimension,
)

"""Drawings of what `pictures` measures."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FormatStrFormatter

from stillpoint.lab.reproduce import pictures
from stillpoint.lab.reproduce.drawing import (
    AMBER,
    BLUE,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PINK,
    SKY,
    TEXT,
    below,
    finish,
    sheet,
)
from stillpoint.lab.reproduce.pictures import Data, Picture


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


_LEARNERS = {
    "play 0": (FAINT, ":", ""),
    "Algorithm 2, ε = 1 (paper)": (ORANGE, "-", "o"),
    "same kernel, Erfi potential": (AMBER, "-", "s"),
    "MultiScale": (BLUE, "-", "D"),
    "Tracker": (GREEN, "-", "^"),
}


def draw_regret(data: Data) -> Figure:
    """Regret against the rate, over T and over P_T; slope 1 is the optimal rate."""
    figure, panels = sheet(2, height=6.0)
    fixed = data["settings"]["fixed T"]
    titles = {"T": "$T$ grows, $P_T = 8$", "P": f"$P_T$ grows, $T = {fixed // 1000}\\,000$"}
    for axes, (name, panel) in zip(panels, data["panels"].items(), strict=True):
        x = np.array(panel["x"])
        for who, (colour, line, marker) in _LEARNERS.items():
            over = panel["slope over the rate"][who]
            label = f"{who}: {over:.2f}" if np.isfinite(over) else who
            axes.plot(
                x,
                panel["regret"][who],
                color=colour,
                linestyle=line,
                marker=marker,
                markersize=5.5,
                linewidth=1.8,
                label=label,
            )
        axes.plot(x, x, color=INK, linewidth=1.0, linestyle=(0, (6, 3)), label="the rate itself: 1")
        finish(
            axes,
            r"$\sqrt{(M^2+M\,P_T)\,T}$",
            "regret" if name == "T" else "",
            titles[name],
            log="xy",
        )
        box = axes.legend(
            frameon=False,
            fontsize=TEXT - 1,
            loc="upper left",
            bbox_to_anchor=(-0.04, -0.16),
            labelcolor=INK,
            title="slope over the upper half",
            title_fontproperties={"size": TEXT - 1},
            alignment="left",
            handlelength=2.4,
        )
        box.get_title().set_color(INK)
    return figure


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


_KERNELS = {
    "Spline(offset=1)": (PINK, "-"),
    "OU(rate=0.1)": (ORANGE, "-"),
    "Matern32(rate=0.1)": (AMBER, "-"),
    "Gaussian(width=1)": (SKY, "-"),
    "HorizonFree()": (BLUE, "-"),
    "HorizonFree(taper=1/2π)": (GREEN, "-"),
}


def draw_tradeoff(data: Data) -> Figure:
    """A panel a target."""
    figure, panels = sheet(3, height=4.6)
    for axes, (target, rows) in zip(panels, data["rows"].items(), strict=True):
        for name, values in rows.items():
            colour, line = _KERNELS[name]
            known = [value if value is not None else np.nan for value in values]
            axes.plot(
                data["T"],
                known,
                color=colour,
                linestyle=line,
                marker="o",
                markersize=4,
                linewidth=1.9,
                label=name,
            )
        axes.plot(
            data["T"],
            data["ideal"][target],
            color=INK,
            linewidth=1.2,
            linestyle=(0, (6, 3)),
            label=r"$M^2 + M\,P_T$",
        )
        finish(
            axes, "$T$", r"$\|u\|^2\,\max\,k(t,t)$" if axes is panels[0] else "", target, log="xy"
        )
    below(figure, panels[0], 4)
    return figure


_COSTS = {
    "spline, T rounds": (PINK, "-"),
    "OU(0.1)": (ORANGE, "-"),
    "Matérn-3/2(0.1)": (AMBER, "-"),
    "horizon-free (paper)": (BLUE, "-"),
    "horizon-free, taper 1/2π": (GREEN, "-"),
}


def draw_spectrum(data: Data) -> Figure:
    """What a frequency costs, and what a sine costs."""
    figure, (left, right) = sheet(2, height=4.9)
    w = np.array(data["frequency"])
    for name, (colour, line) in _COSTS.items():
        left.plot(w, data["cost"][name], color=colour, linestyle=line, linewidth=2.0, label=name)
        right.plot(
            data["periods"],
            data["paid"][name],
            color=colour,
            linestyle=line,
            linewidth=2.0,
            marker="o",
            markersize=4,
        )
    left.plot(
        w, 2 * np.pi * w, color=INK, linewidth=1.2, linestyle=(0, (6, 3)), label="path length"
    )
    left.plot(w, np.ones_like(w), color=FAINT, linewidth=1.2, linestyle=":", label="energy")
    right.plot(data["periods"], data["path"], color=INK, linewidth=1.2, linestyle=(0, (6, 3)))
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


_ORDERS = {
    "HorizonFree()": (SKY, "-"),
    "HorizonFree(smoothness=2)": (AMBER, "--"),
    "HorizonFree(taper=1/2π)": (BLUE, "-"),
    "HorizonFree(taper=1/2π, smoothness=2)": (ORANGE, "--"),
}


def draw_order_two(data: Data) -> Figure:
    """Sines over their periods; order 2 over order 1 for each comparator."""
    figure, (left, right) = sheet(2, height=5.2)
    for name, (colour, line) in _ORDERS.items():
        left.plot(
            data["periods"],
            data["sines"][name],
            color=colour,
            linestyle=line,
            marker="o",
            markersize=4,
            label=name,
        )
    left.plot(
        data["periods"],
        data["path"],
        color=INK,
        linewidth=1.2,
        linestyle=(0, (6, 3)),
        label=r"$M^2 + M\,P_T$",
    )
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


def draw_cost(data: Data) -> Figure:
    """µs a round over t, log-log."""
    figure, (axes,) = sheet(1, width=7.5)
    styles = {
        "Algorithm 2, dense": (ORANGE, "--", "o"),
        "Algorithm 2, streaming": (BLUE, "-", "o"),
        "KernelVAW, dense": (AMBER, "--", "s"),
        "KernelVAW, streaming": (GREEN, "-", "s"),
    }
    for name, (colour, line, marker) in styles.items():
        pairs = [
            (t, us) for t, us in zip(data["t"], data["us"][name], strict=True) if us is not None
        ]
        axes.plot(
            *zip(*pairs, strict=True),
            color=colour,
            linestyle=line,
            marker=marker,
            markersize=5.5,
            linewidth=2.0,
            label=name,
        )
    finish(
        axes,
        "rounds seen $t$",
        "CPU µs a round",
        "dense memory grows, streaming does not",
        log="xy",
        legend="upper left",
    )
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.35)
    return figure


PICTURES: list[Picture] = [
    Picture(
        "interpolation",
        "A sequence becomes a function (figure transform)",
        "Many functions pass through a sequence; regret is charged by the norm of the cheapest one"
        " in the kernel's space. The printed kernel is nearly white (E7): its cheapest function is"
        " a row of spikes.",
        pictures.interpolation,
        draw_interpolation,
    ),
    Picture(
        "bump",
        "The bump b_T (figure bump)",
        "A bump B of mass 1, a pair that cancels, and their integral: 1 on [1, T], 0 outside (0, T"
        " + 1), here T = 5 and m = 1.",
        pictures.bump_parts,
        draw_bump,
    ),
    Picture(
        "kernel",
        "The horizon-free kernel and its density (Proposition horizon-free-density)",
        "1/ω over logarithms, tamed at both ends so that the integral is finite. With the printed"
        " taper 96% of k(0) is gone after one round; the unit-consistent one keeps 18%.",
        pictures.kernel_and_density,
        draw_kernel,
    ),
    Picture(
        "regret",
        "Regret against √((M² + M·P_T)T) (Theorem optimal-pl)",
        "Targets ±1 that switch, absolute loss, noise 0.3. Slope 1 is the optimal rate, fitted over"
        " the upper half of the points. Algorithm 2 with ε = 1 hardly leaves 0 before T = 10⁵,"
        " which its bound allows: with its constants it exceeds T until about 10¹⁰. The same kernel"
        " with the Erfi potential reaches the rate over T; over P_T it meets the ceiling of playing"
        " 0. Tracker starts far below the rate and meets it at the most switches, hence its steeper"
        " slope.",
        pictures.regret,
        draw_regret,
        pictures.regret_found,
    ),
    Picture(
        "dimension",
        "Effective dimension of the spline kernel (Theorem spline-deff)",
        "d_eff against its bound πT/(2√λ), a factor of 3 to 4 apart in between: T/√(1 + 4λ) is the"
        " limit of long runs.",
        pictures.dimension,
        draw_dimension,
    ),
    Picture(
        "tradeoff",
        "Why standard kernels are sub-optimal (the example of section 3.1)",
        "‖u‖²·max k(t,t) enters the regret. For the optimal rate it may only grow like M² + M·P_T"
        " up to logarithms: the spline pays T for its diagonal, the others pay T for a constant,"
        " the horizon-free kernel pays logarithms for it. For switches and waves it still grows as"
        " a power of T at these lengths, a falling one, well below the theorem's ceiling.",
        pictures.tradeoff,
        draw_tradeoff,
        pictures.tradeoff_found,
    ),
    Picture(
        "spectrum",
        "The spectral density's intuition (appendix spectral-intuition)",
        "A kernel charges frequency ω by 1/Q(ω). Charging ω itself gives path length, a constant"
        " gives energy, ω² gives squared differences; the horizon-free kernel charges ω times"
        " logarithms, which are large. Right, sines of amplitude 1: dashed M² + M·P_T, dotted Σu².",
        pictures.spectrum,
        draw_spectrum,
    ),
    Picture(
        "order",
        "What order 2 buys (Theorem rkhs-to-pl with m = 2)",
        "HorizonFree(smoothness=2) has a density that falls like ω⁻³, which the theorem covers at"
        " order 2 and not at order 1. Its k(0) is smaller, since less of it lies where whole rounds"
        " do not see it, and it charges fast turns more: slow targets gain, steps too, and what"
        " turns within some five rounds loses.",
        pictures.order_two,
        draw_order_two,
    ),
    Picture(
        "cost",
        "Streaming beside dense",
        "CPU time of a round, predict and update from Python, least of five laps. Algorithm 2 with"
        " the horizon-free kernel in both memories (51 exponentials when streaming); KernelVAW with"
        " a Gaussian kernel (dense) and OU (streaming).",
        pictures.cost,
        draw_cost,
    ),
]

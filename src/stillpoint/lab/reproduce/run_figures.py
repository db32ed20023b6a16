"""Figures of runs: regret beside the optimal rate, and the cost of a round."""

import math
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import stillpoint as sp
from stillpoint.kernels import OU, Gaussian
from stillpoint.lab.reproduce import runs
from stillpoint.lab.reproduce.drawing import (
    AMBER,
    BLUE,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    TEXT,
    curve,
    finish,
    sheet,
)
from stillpoint.lab.reproduce.pictures import Data, Picture
from stillpoint.lab.reproduce.runs import PAPER, upper_slope
from stillpoint.losses import Absolute
from stillpoint.potentials import Erfi, ParameterFree

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


_LEARNERS = {
    "play 0": (FAINT, ":", ""),
    "Algorithm 2, ε = 1 (paper)": (ORANGE, "-", "o"),
    "same kernel, Erfi potential": (AMBER, "-", "s"),
    "MultiScale": (BLUE, "-", "D"),
    "Tracker": (GREEN, "-", "^"),
}


def _regrets(rounds: int, switches: int, seeds: int) -> dict[str, float]:
    """Mean regret of each learner, and of playing 0, against ±1 that switches.

    Absolute loss, noise 0.3.
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
    switches = [1, 4, 16] if quick else [1, 4, 16, 64, 256, 1024]
    fixed = 16_000 if quick else 512_000
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


def regret_found(data: Data) -> str:
    """Slopes over T and over P_T, in which the rate has ½ each."""
    panels, fixed = data["panels"], data["settings"]["fixed T"]
    over = {
        "T at P_T = 8": panels["T"]["slope over T"],
        f"P_T at T = {fixed}": panels["P"]["slope over P_T"],
    }
    lines = (
        f"over {name}: " + ", ".join(f"{who} {value:.2f}" for who, value in row.items())
        for name, row in over.items()
    )
    return "Over T and P_T themselves the optimal slope is ½; found " + "; ".join(lines) + "."


def draw_regret(data: Data) -> Figure:
    """Regret against the rate, over T and over P_T; slope 1 is the optimal rate."""
    figure, panels = sheet(2, height=6.0)
    fixed = data["settings"]["fixed T"]
    titles = {"T": "$T$ grows, $P_T = 8$", "P": f"$P_T$ grows, $T = {fixed // 1000}\\,000$"}
    for axes, (name, panel) in zip(panels, data["panels"].items(), strict=True):
        x = np.array(panel["x"])
        for who, style in _LEARNERS.items():
            over = panel["slope over the rate"][who]
            label = f"{who}: {over:.2f}" if np.isfinite(over) else who
            curve(axes, x, panel["regret"][who], style, label=label, width=1.8, size=5.5)
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


REGRET = Picture(
    "regret",
    "Regret against √((M² + M·P_T)T) (Theorem optimal-pl)",
    "Targets ±1 that switch, absolute loss, noise 0.3. The axis is the rate itself, so that in"
    " the legend the optimal slope is 1, over T and over P_T alike; slopes are fitted over the"
    " upper half of the points. In the full run, to T = 4·10⁶ and P_T = 2048: Algorithm 2 with ε"
    " = 1 hardly leaves 0 before T = 10⁵, which its bound allows, as with its constants it"
    " exceeds T until about 10¹⁰; the same kernel with the Erfi potential reaches the rate over"
    " T, and over P_T it meets the ceiling of playing 0; Tracker stays below the rate, far below"
    " over T, whose growth it hardly feels between few switches, and near it at the most"
    " switches, hence its steep slope over P_T. A quick run ends before this shows.",
    regret,
    draw_regret,
    regret_found,
)


def cost(quick: bool) -> Data:
    """µs per round against t: streaming memories beside dense ones."""
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


def draw_cost(data: Data) -> Figure:
    """µs a round over t, log-log."""
    figure, (axes,) = sheet(1, width=7.5)
    styles = {
        "Algorithm 2, dense": (ORANGE, "--", "o"),
        "Algorithm 2, streaming": (BLUE, "-", "o"),
        "KernelVAW, dense": (AMBER, "--", "s"),
        "KernelVAW, streaming": (GREEN, "-", "s"),
    }
    for name, style in styles.items():
        known = [us for us in data["us"][name] if us is not None]  # the oldest may be left out
        curve(axes, data["t"][: len(known)], known, style, label=name, width=2.0, size=5.5)
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


COST = Picture(
    "cost",
    "Streaming beside dense",
    "CPU time of a round, predict and update from Python, least of five laps. Algorithm 2 with"
    " the horizon-free kernel in both memories (51 exponentials when streaming); KernelVAW with"
    " a Gaussian kernel (dense) and OU (streaming).",
    cost,
    draw_cost,
)

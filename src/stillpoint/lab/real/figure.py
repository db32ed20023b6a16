"""Figure of the benchmark on real streams: ratios to the best filter in hindsight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stillpoint.lab.bench.ratios import ratio
from stillpoint.lab.real.players import HINDSIGHT, OURS
from stillpoint.lab.real.report import TITLES, players_of, streams_of
from stillpoint.lab.streams.real import REGRESSION
from stillpoint.report.figures import CERTIFICATE, COLOURS, PLAY

if TYPE_CHECKING:
    from stillpoint.lab.real.bench import RealBench

_LEFT, _RIGHT = 0.05, 30.0  # ends of the figure's axis; what lies beyond is counted at the edge
# the simplest are grey
_FAMILIES = {"river": COLOURS[0], "VW": COLOURS[1], "RLS": COLOURS[3], "logistic": COLOURS[3]}
_MARKERS = "sD^vPXo*<>hd"


def figure(bench: RealBench) -> Figure:
    """Draw losses over that of the best filter in hindsight, one row per stream; ours in front."""
    tasks = [task for task in TITLES if streams_of(bench, task)]
    heights = [len(streams_of(bench, task)) for task in tasks]
    sheet = Figure(
        figsize=(9.5, 2.2 + 0.27 * sum(heights) + 0.5 * len(tasks)), layout="constrained"
    )
    panels = np.atleast_1d(sheet.subplots(len(tasks), 1, sharex=True, height_ratios=heights))
    for axes, task in zip(panels, tasks, strict=True):
        _panel(axes, bench, task)
    panels[-1].set_xlabel("loss / that of the best filter in hindsight; less is better")
    handles: dict[str, Any] = {}
    for axes in panels:
        handles |= {
            label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
    sheet.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower center",
        ncols=4,
        frameon=False,
        fontsize=8,
    )
    return sheet


def _style(player: str, bench: RealBench) -> dict[str, Any]:
    """One colour per family, and one marker per player within it."""
    if player == OURS:
        return {"color": PLAY, "marker": "o", "ms": 8, "zorder": 5}
    family = player.split()[0].strip(",")
    members = [
        p
        for p in dict.fromkeys(score.player for score in bench.scores)
        if p not in HINDSIGHT and p != OURS
    ]
    alike = [p for p in members if _FAMILIES.get(p.split()[0].strip(",")) == _FAMILIES.get(family)]
    marker = _MARKERS[alike.index(player) % len(_MARKERS)]
    return {
        "color": _FAMILIES.get(family, CERTIFICATE),
        "marker": marker,
        "ms": 4.8,
        "mfc": "none",
        "mew": 1.1,
    }


def _panel(axes: Axes, bench: RealBench, task: str) -> None:
    streams = streams_of(bench, task)
    below, above = [0] * len(streams), [0] * len(streams)
    for player in (p for p in players_of(bench, task) if p not in HINDSIGHT):
        x, y = [], []
        for row, stream in enumerate(streams):
            loss, best = bench.loss(stream.name, player), bench.hindsight(stream.name)
            if loss is None or best is None:
                continue
            share = ratio(loss, best)
            below[row] += share < _LEFT
            above[row] += share > _RIGHT
            if _LEFT <= share <= _RIGHT:
                x.append(share)
                y.append(float(row))
        axes.plot(x, y, label=player, ls="", **_style(player, bench))
    for row in range(len(streams)):
        # left of the axis are the names
        for off, x_edge in ((below[row], _LEFT * 1.06), (above[row], _RIGHT * 1.06)):
            if off:
                axes.text(x_edge, row, f"+{off}", fontsize=7, va="center", color="#5b6b75")
        if row % 2 == 0:
            axes.axhspan(row - 0.5, row + 0.5, color="#f3f1ec", zorder=-1)
    axes.axvline(1.0, color="#5b6b75", linewidth=1.0, zorder=0)
    axes.set_xscale("log")
    axes.set_xlim(_LEFT, _RIGHT)
    ticks = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(streams)), [s.name for s in streams], fontsize=8)
    axes.set_ylim(len(streams) - 0.5, -0.5)
    axes.grid(axis="x", color="#d9d6cd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    kind = "squared loss" if task == REGRESSION else "log loss"
    axes.set_title(f"{TITLES[task]}: {kind}; +n lie beyond an edge", fontsize=9, loc="left")

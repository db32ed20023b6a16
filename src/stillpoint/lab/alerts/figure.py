"""Figure of the benchmark of alerts: false alarms against delay, a point a law and method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from stillpoint.lab.alerts.changes import WITHIN
from stillpoint.lab.alerts.peers import OURS
from stillpoint.report.figures import COLOURS, PLAY

if TYPE_CHECKING:
    from stillpoint.lab.alerts.bench import AlertsBench

SHOWN = ("level +1", "level +2", "spread ×2")
_MARKERS = "oXD^vPs*<>hdp8"


def figure(bench: AlertsBench) -> Figure:
    """Draw mean delays over false alarms, one panel a kind of change; a marker a law."""
    methods = list(dict.fromkeys(each.method for each in bench.false_alarms))
    names = list(dict.fromkeys(each.law for each in bench.false_alarms))
    colours = dict(zip([m for m in methods if m != OURS], COLOURS, strict=False)) | {OURS: PLAY}
    sheet = Figure(figsize=(10.5, 4.6), layout="constrained")
    panels = sheet.subplots(1, len(SHOWN), sharey=True)
    for axes, kind in zip(panels, SHOWN, strict=True):
        for each in bench.false_alarms:
            cell = bench.delay(each.law, each.method, kind)
            if cell is None:
                continue
            axes.plot(
                each.alarms,
                cell.wait,
                marker=_MARKERS[names.index(each.law) % len(_MARKERS)],
                color=colours[each.method],
                ls="",
                ms=6,
                alpha=0.85,
                mew=0,
                zorder=3 if each.method == OURS else 2,
            )
        axes.axvline(1e4 / bench.settings["every"], color="#5b6b75", linewidth=0.8, zorder=0)
        axes.set_xscale("symlog", linthresh=1.0)
        axes.set_xlim(-0.1, 150.0)
        axes.set_xticks([0, 1, 10, 100], ["0", "1", "10", "100"])
        axes.set_yscale("log")
        axes.set_yticks([5, 10, 30, 100, 300, 1000], ["5", "10", "30", "100", "300", "1000"])
        axes.minorticks_off()
        axes.grid(color="#d9d6cd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_title(kind, fontsize=9, loc="left")
        axes.set_xlabel("false alarms in 10 000 rows", fontsize=9)
    panels[0].set_ylabel(f"rows to the alarm, mean; a miss counts {WITHIN}", fontsize=9)
    for method in methods:
        panels[0].plot([], [], "o", color=colours[method], mew=0, label=method)
    for place, law in enumerate(names):
        marker = _MARKERS[place % len(_MARKERS)]
        panels[0].plot([], [], marker, color="#9a9a9a", mew=0, label=law)
    sheet.legend(loc="outside lower center", ncols=6, frameon=False, fontsize=8)
    return sheet

"""Figure of the regret benchmark: ratios to OGD*."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from stillpoint.lab.bench.ratios import FLOOR, geometric_mean
from stillpoint.lab.bench.tables import TITLES, learners_of, ordered

if TYPE_CHECKING:
    from stillpoint.lab.bench.regret import RegretBench, Row

_COLOURS = ("#1b4965", "#ca6702", "#0a9396", "#9b2226", "#6a4c93", "#588157", "#bb9457", "#3d3d3d")
_MARKERS = "osD^vPX*"


def ratio_figure(bench: RegretBench, group: str) -> Figure:
    """Draw ratios to OGD* on a log axis, one row per stream and one panel per horizon.

    Marks are geometric means over seeds; lines reach from the best seed to the worst.
    """
    rated = [row for row in bench.rows if row.group == group and row.ratio is not None]
    streams = ordered(row.stream for row in rated)
    horizons = ordered(row.horizon for row in bench.rows)
    learners = [learner for learner, _ in learners_of(bench)]
    height = 1.8 + max(3, len(streams)) * max(0.25, 0.065 * len(learners))
    figure = Figure(figsize=(2.6 + 4.6 * len(horizons), height), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(horizons), sharex=True, sharey=True))
    offsets = (np.arange(len(learners)) - (len(learners) - 1) / 2) * min(0.12, 0.8 / len(learners))
    for axes, horizon in zip(panels, horizons, strict=True):
        for i, learner in enumerate(learners):
            points = _spans(
                [row for row in rated if row.horizon == horizon and row.learner == learner], streams
            )
            y = points[:, 0] + offsets[i]
            colour, marker, face = style(i)
            axes.hlines(y, points[:, 1], points[:, 3], color=colour, linewidth=0.9, alpha=0.55)
            axes.plot(
                points[:, 2],
                y,
                marker,
                markersize=4.5,
                color=colour,
                markerfacecolor=face,
                label=learner,
            )
        axes.axvline(1.0, color="#5b6b75", linewidth=1.0, zorder=0)
        for row in range(0, len(streams), 2):
            axes.axhspan(row - 0.5, row + 0.5, color="#f3f1ec", zorder=-1)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xlabel("regret / OGD*'s regret")
        axes.set_title(f"T = {horizon}", fontsize=10)
        axes.grid(axis="x", color="#d9d6cd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
    panels[0].set_yticks(range(len(streams)), streams, fontsize=8)
    panels[0].set_ylim(max(len(streams), 1) - 0.5, -0.5)
    handles = panels[0].get_legend_handles_labels()
    columns = min(len(learners), 2 + 2 * len(horizons))
    figure.legend(*handles, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)
    figure.suptitle(
        f"{TITLES.get(group, group)}\nmean over seeds, with a line from the best to the worst of"
        " them",
        fontsize=10,
    )
    return figure


def style(i: int) -> tuple[str, str, str]:
    """Return colour, marker and the marker's inside of the i-th learner, unlike those of others.

    After one turn of the colours markers are hollow, and in each later turn other ones.
    """
    turn, colour = divmod(i, len(_COLOURS))
    marker = _MARKERS[(i + 3 * max(0, turn - 1)) % len(_MARKERS)]
    return _COLOURS[colour], marker, "white" if turn else _COLOURS[colour]


def _spans(
    rows: Sequence[Row], streams: Sequence[str]
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Row number, least, geometric mean and largest ratio of each stream that has one, (n, 4)."""
    spans = []
    for i, stream in enumerate(streams):
        ratios = np.array(
            [
                max(row.ratio, FLOOR)
                for row in rows
                if row.stream == stream and row.ratio is not None
            ]
        )
        if ratios.size:
            spans.append((float(i), ratios.min(), geometric_mean(ratios), ratios.max()))
    return np.array(spans, dtype=np.float64).reshape(-1, 4)

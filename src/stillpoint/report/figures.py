"""Matplotlib figures of finished runs: no global state, and nothing is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from stillpoint.run import Run

PLAY, CERTIFICATE = "#1b4965", "#9a9a9a"
COLOURS = ("#ca6702", "#0a9396", "#9b2226", "#6a4c93", "#588157", "#bb9457")
_POINTS = 4000  # more than a page can show; longer curves are thinned


def run_figure(run: Run, comparators: Mapping[str, ArrayLike], radius: float | None) -> Figure:
    """Draw plays and comparators over time, and below them regret with its certificate."""
    figure = Figure(figsize=(9.0, 6.0), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True)
    keep = slice(None, None, max(1, len(run) // _POINTS))
    times = run.times[keep]
    for (name, u), colour in zip(comparators.items(), _cycle(len(comparators)), strict=True):
        path = run.sequence(u)[:, 0]
        top.plot(times, path[keep], color=colour, linewidth=1.2, label=name)
        bottom.plot(
            times, run.regret(u)[keep], color=colour, linewidth=1.4, label=f"regret against {name}"
        )
    top.plot(times, run.plays[keep, 0], color=PLAY, linewidth=1.0, label="play", zorder=1)
    if radius is not None:
        label = f"certificate at radius {radius:.3g}"
        bottom.plot(
            times,
            run.certificate(radius)[keep],
            color=CERTIFICATE,
            linewidth=1.2,
            linestyle="--",
            label=label,
        )
    if not comparators and radius is None:
        bottom.plot(
            times, np.cumsum(run.losses)[keep], color=PLAY, linewidth=1.4, label="cumulative loss"
        )
    top.set_ylabel("play" if run.plays.shape[1] == 1 else "first coordinate")
    bottom.set_ylabel("running total")
    bottom.set_xlabel("time")
    for axes in (top, bottom):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#e6e6e6", linewidth=0.7)
        axes.set_axisbelow(True)
        axes.legend(frameon=False, fontsize=9, loc="best")
    return figure


def _cycle(n: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(n)]

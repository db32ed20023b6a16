"""Matplotlib figures of finished runs: no global state, and nothing is left open.

Figures and axes made here show themselves where a notebook displays them, pyplot or not.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array

if TYPE_CHECKING:
    from stillpoint.run import Run

PLAY, CERTIFICATE = "#1b4965", "#9a9a9a"
COLOURS = ("#ca6702", "#0a9396", "#9b2226", "#6a4c93", "#588157", "#bb9457")
_POINTS = 4000  # more than a page can show; longer curves are thinned
_DECADES = 1000.0
_INSIDE = 6  # entries of a legend that leave room for curves


class ShownAxes(Axes):
    """Axes that a notebook shows as their figure."""

    def _repr_png_(self) -> bytes:
        return _png(self.figure)


class ShownFigure(Figure):
    """A figure that a notebook shows, though no pyplot knows it."""

    def _repr_png_(self) -> bytes:
        return _png(self)


def new_axes(rows: int = 1, *, width: float = 7.0, height: float = 4.3) -> Any:
    """Axes of a new figure, outside pyplot: one, or a column of `rows` that share time."""
    figure = ShownFigure(figsize=(width, height), layout="constrained")
    return figure.subplots(rows, 1, sharex=True, subplot_kw={"axes_class": ShownAxes})


def run_figure(run: Run, comparators: Mapping[str, ArrayLike], radius: float | None) -> Figure:
    """Draw plays and comparators over time, and below them regret with its certificate."""
    top, bottom = new_axes(2, width=9.0, height=6.0)
    keep = _kept(len(run))
    for (name, u), colour in zip(comparators.items(), _cycle(len(comparators)), strict=True):
        path = run.sequence(u)[:, 0]
        top.plot(run.times[keep], path[keep], color=colour, linewidth=1.2, label=_plain(name))
    top.plot(run.times[keep], run.plays[keep, 0], color=PLAY, linewidth=1.0, label="play", zorder=1)
    top.set_ylabel("play" if run.plays.shape[1] == 1 else "first coordinate")
    _style_axes(top)
    draw_regret(bottom, run, comparators, radius)
    bottom.set_ylabel("running total")
    figure: Figure = top.figure
    return figure


def draw_regret(
    axes: Axes, run: Run, comparators: Mapping[str, ArrayLike], radius: float | None
) -> None:
    """Draw regret against each comparator and the certificate; without them, cumulative loss."""
    keep = _kept(len(run))
    times = run.times[keep]
    for (name, u), colour in zip(comparators.items(), _cycle(len(comparators)), strict=True):
        label = _plain(f"regret against {name}")
        axes.plot(times, run.regret(u)[keep], color=colour, linewidth=1.4, label=label)
    if radius is not None:
        axes.plot(
            times,
            run.certificate(radius)[keep],
            color=CERTIFICATE,
            linewidth=1.2,
            linestyle="--",
            label=f"certificate at radius {radius:.3g}",
        )
    if not comparators and radius is None:
        total = np.cumsum(run.losses)[keep]
        axes.plot(times, total, color=PLAY, linewidth=1.4, label="cumulative loss")
    axes.set_xlabel("time")
    _style_axes(axes)


def draw_groups(
    axes: Axes,
    groups: Mapping[str, Array],
    *,
    says: str,
    log_x: bool,
    log_y: bool,
    slopes: Sequence[float],
    at: Array | None = None,
    over: str = "rounds",
    band: tuple[float, float] | None = None,
) -> None:
    """Draw the mean of each group's curves, shape (runs, T), and one standard deviation around it.

    `says` names what the curves are; slopes p add lines that grow as T^p. Curves that were thinned
    are known `at` these rounds, or whatever they are `over`. With a `band` of two quantiles it is
    between these, around the median.
    """
    means = {label: centre(curves, band) for label, curves in groups.items()}
    if log_y:
        _positive(means, says)
        axes.set_yscale("log")
    if log_x:
        axes.set_xscale("log")
    colours = _cycle(len(means), PLAY)
    for i, (label, mean) in enumerate(means.items()):
        curves, keep = groups[label], _kept(mean.size, log_x)
        rounds = _positions(mean.size, at)[keep]
        shown = np.where(mean > 0.0, mean, np.nan)[keep] if log_y else mean[keep]
        style = "-" if i <= len(COLOURS) else "--"  # colours come again
        name = _plain(label)
        axes.plot(rounds, shown, style, color=colours[i], linewidth=1.6, label=name, zorder=3)
        if len(curves) > 1:
            low, high = (edge[keep] for edge in edges(curves, band))
            if log_y:  # a band that reaches below 0 ends at a tenth of its mean
                low = np.maximum(low, shown / 10.0)
            axes.fill_between(rounds, low, high, color=colours[i], alpha=0.18, linewidth=0)
    _draw_slopes(axes, means, slopes, log_x, at)
    _cut_decades(axes, means, log_x, log_y, at)
    axes.set_xlabel(over)
    axes.set_ylabel(says)
    _style_axes(axes)


def centre(curves: Array, band: tuple[float, float] | None) -> Array:
    """The mean of curves, or their median where bands are quantiles; shape (runs, n) to (n,)."""
    return np.asarray(curves.mean(axis=0) if band is None else np.median(curves, axis=0))


def edges(curves: Array, band: tuple[float, float] | None) -> tuple[Array, Array]:
    """Mean ± one standard deviation of curves, or two quantiles; 0 apart for a single curve."""
    if band is not None:
        low, high = np.quantile(curves, band, axis=0)
        return low, high
    mean = curves.mean(axis=0)
    spread = curves.std(axis=0, ddof=1) if len(curves) > 1 else np.zeros_like(mean)
    return mean - spread, mean + spread


def _positions(rounds: int, at: Array | None) -> Array:
    return np.arange(1.0, rounds + 1.0) if at is None else at


def _cut_decades(
    axes: Axes, means: Mapping[str, Array], log_x: bool, log_y: bool, at: Array | None
) -> None:
    """Show three decades at most: before them a few rounds would fill half of the figure."""
    if log_x:
        rounds = max(float(_positions(mean.size, at)[-1]) for mean in means.values())
        first = 1.0 if at is None else float(at[0])
        axes.set_xlim(left=max(first, rounds / _DECADES))
    if log_y:
        least = min(mean[mean > 0.0].min() for mean in means.values())
        top = max(mean.max() for mean in means.values())
        axes.set_ylim(bottom=max(least / 1.5, top / _DECADES))


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure, in the format of its suffix; fonts in a PDF are TrueType, as journals ask."""
    known = figure.canvas.get_supported_filetypes()
    if path.suffix[1:].lower() not in known:
        raise ValueError(
            f"path must end in a format that can be written: got {str(path)!r}; use one of"
            f" {', '.join(sorted('.' + each for each in known))}"
        )
    undated = {"metadata": {"CreationDate": None}} if path.suffix.lower() == ".pdf" else {}
    with matplotlib.rc_context({"pdf.fonttype": 42}):
        figure.savefig(path, dpi=200, **undated)


def _draw_slopes(
    axes: Axes,
    means: Mapping[str, Array],
    slopes: Sequence[float],
    log_x: bool,
    at: Array | None,
) -> None:
    """Dashed lines c·T^p, all ending where the curves end, in their geometric mean."""
    ends = [mean[-1] for mean in means.values() if mean[-1] > 0.0]
    if not ends:
        return
    size = max(mean.size for mean in means.values())
    rounds = _positions(size, at)[_kept(size, log_x)]
    last = rounds[-1]
    for power, style in zip(slopes, _styles(len(slopes)), strict=True):
        line = np.exp(np.mean(np.log(ends))) * (rounds / last) ** power
        label = "∝ " + power_of_rounds(power)
        axes.plot(rounds, line, color="#7a7a7a", linewidth=1.1, linestyle=style, label=label)


def power_of_rounds(power: float) -> str:
    """T to a power, as papers write it."""
    if power == 0.5:
        return "√T"
    if power in (0.0, 1.0):
        return "T" if power else "1"
    share = Fraction(power).limit_denominator(12)
    near = abs(float(share) - power) < 1e-9 and share.denominator > 1
    return f"$T^{{{share if near else f'{power:g}'}}}$"


def _positive(means: Mapping[str, Array], says: str) -> None:
    for label, mean in means.items():
        if not (mean > 0.0).any():
            raise ValueError(
                f"log needs {says} above 0: got none for {label!r}; draw it with log=False or"
                " log='x'"
            )


def _style_axes(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.7)
    axes.set_axisbelow(True)
    entries = len(axes.get_legend_handles_labels()[0])
    if entries <= _INSIDE:
        axes.legend(frameon=False, fontsize=9, loc="best")
    else:  # below, where it hides no curve
        axes.legend(
            frameon=False, fontsize=9, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.13)
        )


def _plain(label: str) -> str:
    """A name for the legend as it is: no formula between $, and none hidden for its underscore."""
    text = label.replace("$", r"\$")
    return r"$\_$" + text[1:] if text.startswith("_") else text


def _kept(rounds: int, log: bool = False) -> Any:
    """Which of the rounds to draw; the last is among them."""
    if rounds <= _POINTS:
        return slice(None)
    if log:
        return np.unique(np.geomspace(1.0, rounds, _POINTS).astype(int)) - 1
    return np.unique(np.linspace(0, rounds - 1, _POINTS).astype(int))


def _cycle(n: int, *first: str) -> list[str]:
    colours = (*first, *COLOURS)
    return [colours[i % len(colours)] for i in range(n)]


def _styles(n: int) -> list[Any]:
    styles = ["--", ":", "-.", (0, (6, 2))]
    return [styles[i % len(styles)] for i in range(n)]


def _png(figure: Any) -> bytes:
    """The figure as a notebook shows it."""
    held = io.BytesIO()
    figure.savefig(held, format="png", dpi=100)
    return held.getvalue()

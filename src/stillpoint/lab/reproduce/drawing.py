"""What all figures share: size, labels, scales, legends.

The colours are those of Okabe and Ito, which colour-blind readers can tell apart.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Literal

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from stillpoint.core.validation import Array

Corner = Literal["upper left", "lower left"]
INK, FAINT = "#222629", "#8a9299"
BLUE, ORANGE, GREEN, PINK, AMBER, SKY = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
)
TEXT = 11.0  # readable when the figure is shown at half its size


def sheet(columns: int, width: float = 10.0, height: float = 4.2) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels side by side."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, list(np.atleast_1d(figure.subplots(1, columns)))


def finish(
    axes: Axes, x: str, y: str, title: str = "", *, log: str = "", legend: Corner | None = None
) -> None:
    """Labels, scales, a light grid and a legend."""
    axes.set_xlabel(x, fontsize=TEXT, color=INK)
    axes.set_ylabel(y, fontsize=TEXT, color=INK)
    axes.set_title(title, fontsize=TEXT + 1, color=INK, loc="left")
    if "x" in log:
        axes.set_xscale("log")
    if "y" in log:
        axes.set_yscale("log")
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(labelsize=TEXT - 1, colors=INK, which="major", color=FAINT)
    axes.tick_params(which="minor", color=FAINT)
    for axis in (axes.xaxis, axes.yaxis) if log else ():
        axis.set_minor_formatter(NullFormatter())
    axes.grid(color=FAINT, alpha=0.22, linewidth=0.7)
    axes.set_axisbelow(True)
    if legend:
        axes.legend(frameon=False, fontsize=TEXT - 1, loc=legend, labelcolor=INK, handlelength=1.8)


def curve(
    axes: Axes,
    x: Sequence[float] | Array,
    y: Sequence[float] | Array,
    style: tuple[str, str, str],
    *,
    label: str = "",
    width: float = 1.5,
    size: float = 4.0,
) -> None:
    """A line, with the style (colour, line, marker)."""
    colour, line, marker = style
    axes.plot(
        x,
        y,
        color=colour,
        linestyle=line,
        marker=marker,
        markersize=size,
        linewidth=width,
        label=label or None,
    )


def rate(axes: Axes, x: Sequence[float] | Array, y: Sequence[float] | Array, label: str) -> None:
    """What curves are compared with: a thin dashed line in ink."""
    axes.plot(x, y, color=INK, linewidth=1.2, linestyle=(0, (6, 3)), label=label or None)


def below(figure: Figure, axes: Axes, columns: int) -> None:
    """One legend for all panels, under them."""
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=TEXT - 0.5,
        labelcolor=INK,
    )


def svg(figure: Figure, name: str) -> str:
    """The figure as SVG that takes its ink from the page, so that it reads on light and on dark."""
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
        figure.savefig(
            buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None}
        )
    text = buffer.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # glyphs and clips are numbered anew in every figure: keep those of one page apart
    text = re.sub(r'(id="|url\(#|xlink:href="#)', rf"\g<1>{name}-", text)
    return re.sub(
        r'<svg ([^>]*?)width="[^"]*" height="[^"]*"|<svg height="[^"]*" ([^>]*?)width="[^"]*"',
        _bare,
        text,
        count=1,
    )


def _bare(match: re.Match[str]) -> str:
    return f"<svg {match.group(1) or match.group(2) or ''}"

"""Figures by matplotlib: no global state, and nothing is left open."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import ConciseDateFormatter
from matplotlib.ticker import MaxNLocator

from stillpoint.core.validation import Array
from stillpoint.frames.view import View
from stillpoint.report.figures import new_axes

PAST, OURS, CHANGE, ALERT = "#4a4a4a", "#0a7e8c", "#ca6702", "#9b2226"
COLOURS = ("#ca6702", "#6a4c93", "#9b2226", "#588157", "#bb9457")


def axes(ax: Axes | None) -> Axes:
    """Return axes to draw on, of a figure of their own where none are given."""
    ax = new_axes(width=9.0, height=3.6) if ax is None else ax
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#e6e6e6", linewidth=0.7)
    ax.set_axisbelow(True)
    return ax


def plot_view(view: View, ax: Axes | None) -> Axes:
    """Draw the last rows of a run and what is ahead."""
    ax, target = axes(ax), view.target.replace("$", r"\$")  # no formula
    fan_x, fan = view.fan()
    x, ahead_x = (_places(view, part) for part in (view.x, fan_x))
    low, high = view.ends()
    for at, lo, hi, label in ((x, view.lo, view.hi, None), (ahead_x, fan[1], fan[2], "interval")):
        if np.isfinite(lo[1:]).any():  # a quantile has no interval
            least, most = (np.clip(np.nan_to_num(e, nan=low), low, high) for e in (lo, hi))
            alpha = 0.13 if label is None else 0.28
            ax.fill_between(at, least, most, color=OURS, alpha=alpha, linewidth=0.0, label=label)
    said = np.where(np.isfinite(view.lo) | (view.x > view.x[0]), view.forecast, np.nan)
    ax.plot(x, said, color=OURS, linewidth=1.0, alpha=0.8, label="forecast one row ahead")
    ax.plot(x, view.y, color=PAST, linewidth=1.1, label=target)
    if view.ahead_x.size:
        mark = "o" if fan_x.size == 1 else None
        ax.plot(ahead_x, fan[0], color=OURS, linewidth=2.0, marker=mark, label="forecast ahead")
    _lines(ax, _places(view, np.array([at for at, _ in view.marks])), CHANGE, "--", "change")
    _lines(ax, _places(view, view.changed), ALERT, ":", "alert: change")
    if view.unusual.size:
        at, values = _places(view, view.unusual[0]), view.unusual[1]
        ax.plot(at, values, "o", color=ALERT, fillstyle="none", label="alert: unusual row")
    ax.set_ylim(low, high)
    ax.set_ylabel(target)
    if view.kind == "date":
        locator = ax.xaxis.get_major_locator()
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    else:
        ax.set_xlabel("row" if view.kind == "row" else "time")
    return _legend(ax)


def _lines(ax: Axes, at: Any, colour: str, style: str, label: str) -> None:
    """Draw lines across, of which the legend has one."""
    for i, place in enumerate(at):
        own = label if i == 0 else None
        ax.axvline(place, color=colour, linewidth=1.1, linestyle=style, label=own)


def _legend(ax: Axes) -> Axes:
    if not ax.get_legend_handles_labels()[0]:
        return ax
    ax.legend(
        frameon=False,
        fontsize=9,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=5,
        borderpad=0.2,
    )
    return ax


def _places(view: View, x: Array) -> Any:
    if view.kind != "date":
        return x
    return ((x + view.zone) * 1e6).round().astype("datetime64[us]")


def plot_errors(
    steps: Sequence[int], errors: Mapping[str, Array], ours: str, what: str, ax: Axes | None
) -> Axes:
    """Draw errors by steps ahead, a curve a method."""
    ax = axes(ax)
    others = iter(COLOURS * len(errors))
    for name, values in errors.items():
        own = name == ours
        colour, width = (OURS, 2.2) if own else (next(others), 1.2)
        mark = "o" if len(steps) < 13 else None
        ax.plot(
            steps, values, color=colour, linewidth=width, marker=mark, markersize=3.5, label=name
        )
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("steps ahead")
    ax.set_ylabel(what)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return _legend(ax)

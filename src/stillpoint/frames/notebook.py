"""A run as a notebook shows it: a few numbers and a chart in SVG, which need nothing else."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from typing import Any

import numpy as np

from stillpoint.commands.summary import OURS
from stillpoint.core.validation import Array
from stillpoint.frames.view import View
from stillpoint.frames.words import alarms, counted

_WIDTH, _HEIGHT = 760, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 10, 10, 24
_BLUE, _ORANGE, _RED = "#1491a1", "#ca6702", "#c0392b"
# a notebook may be light or dark: text and lines take its colour
_TEXT = 'font-family="sans-serif" font-size="11" fill="currentColor" fill-opacity="0.7"'


def page(view: View, summary: dict[str, Any]) -> str:
    """Return the numbers of a run and its chart."""
    rows = [counted(summary["rows"], "row")]
    if "seasons" in summary:
        seasons = ", ".join(f"{m:g}" for m in summary["seasons"])
        rows.append(f"seasons: {seasons or 'none found'}")
    if "alerts" in summary:
        rows.append(alarms(summary["alerts"]))
    head = f"<b>{escape(str(summary['target']))}</b> · " + " · ".join(rows)
    changes = summary.get("changes", [])[-3:]
    told = "".join(f"<div>{escape(change['words'])}</div>" for change in changes)
    notes = "".join(f"<div>note: {escape(note)}</div>" for note in summary["notes"])
    return (
        f'<div style="max-width:{_WIDTH}px"><div>{head}</div>{table(_facts(summary))}'
        f"{chart(view)}{told}{notes}</div>"
    )


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return a small table; the first row is its head."""
    style = "text-align:right;white-space:nowrap;padding:2px 12px 2px 0"
    cells = [
        "".join(f'<{tag} style="{style}">{escape(cell)}</{tag}>' for cell in row)
        for tag, row in zip(["th", *["td"] * len(rows)], rows, strict=False)
    ]
    lines = "".join(f"<tr>{row}</tr>" for row in cells)
    return f'<table style="color:inherit;font-size:90%">{lines}</table>'


def figure(value: float | None, digits: int = 4) -> str:
    """Return a number as people write it."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:#,.{digits}g}".rstrip(".")


def between(part: dict[str, Any]) -> str:
    """Return a forecast and its interval, as finely as that is wide."""
    ends = [part["lo"], part["hi"]]
    if not all(end is not None and math.isfinite(end) for end in ends) or ends[0] >= ends[1]:
        return figure(part["forecast"])
    finest = max(0, 1 - math.floor(math.log10((ends[1] - ends[0]) / 2.0)))
    told = (f"{value:,.{min(finest, 12)}f}" for value in (part["forecast"], *ends))
    return "{} ({} to {})".format(*told)


def _facts(summary: dict[str, Any]) -> list[list[str]]:
    """Return our error beside the best other, coverage, and what comes next."""
    squared = summary["loss_name"] == "squared error"
    losses = {name: loss for name, loss in summary["loss"].items() if loss is not None}
    others = {name: loss for name, loss in losses.items() if name != OURS}
    best = min(others, key=lambda name: others[name], default=None)
    facts = {}
    for name in filter(None, (OURS if OURS in losses else None, best)):
        what = "RMSE" if squared else summary["loss_name"]
        loss = math.sqrt(losses[name]) if squared else losses[name]
        facts[what if name == OURS else name] = figure(loss)
    coverage = summary.get("coverage", {})
    if coverage.get("achieved") is not None:
        facts[f"coverage of {coverage['target']:.0%}"] = f"{coverage['achieved']:.1%}"
    if summary.get("forecast"):
        facts["next"] = between(summary["forecast"][0])
        facts[f"next {summary['horizon']} together"] = between(summary["total"])
    return [list(facts), list(facts.values())]


def chart(view: View) -> str:
    """Return the last rows and what is ahead as SVG."""
    low, high = view.ends()
    places = np.concatenate([view.x, view.ahead_x])
    first, last = float(places.min()), float(places.max())
    span = (last - first) or 1.0

    def across(x: Array) -> Array:
        return np.asarray(_LEFT + (x - first) / span * (_WIDTH - _LEFT - _RIGHT))

    def down(y: Array) -> Array:
        tall = _HEIGHT - _TOP - _BOTTOM
        return np.asarray(_TOP + (high - np.clip(y, low, high)) / (high - low) * tall)

    parts = [
        f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
        f'stroke="currentColor" stroke-opacity="0.12"/><text x="{_LEFT - 6}" y="{y + 4:.1f}" '
        f'text-anchor="end" {_TEXT}>{escape(text)}</text>'
        for text, y in ((f"{value:,g}", float(down(np.array(value)))) for value in ticks(low, high))
    ]
    for fraction, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        at = first + fraction * span
        parts.append(
            f'<text x="{float(across(np.array(at))):.1f}" y="{_HEIGHT - 6}" text-anchor="{anchor}"'
            f" {_TEXT}>{escape(_label(view, at, span))}</text>"
        )
    fan_x, fan = view.fan()
    x, ahead_x = across(view.x), across(fan_x)
    bands = (x, view.lo, view.hi, 0.15), (ahead_x, fan[1], fan[2], 0.35)
    for along, lo, hi, opacity in bands:
        if np.isfinite(lo[1:]).any():
            parts.append(_band(along, down(lo), down(hi), opacity))
    if not np.isfinite(view.lo).any():  # a quantile, or a probability, has no interval
        parts.append(_line(x, down(view.forecast), _BLUE, 0.9))
    changes = [(at, _ORANGE, "4 3") for at, _ in view.marks]
    for at, colour, dashes in [*changes, *((at, _RED, "1 3") for at in view.changed.tolist())]:
        place = float(across(np.array(at)))
        parts.append(
            f'<line x1="{place:.1f}" x2="{place:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"'
            f' stroke="{colour}" stroke-dasharray="{dashes}"/>'
        )
    parts.append(_line(x, down(view.y), "currentColor", 1.1))
    parts.append(_line(ahead_x, down(fan[0]), _BLUE, 2.2))
    unusual = zip(across(view.unusual[0]).tolist(), down(view.unusual[1]).tolist(), strict=True)
    parts += [
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4" fill="none" stroke="{_RED}"/>' for a, b in unusual
    ]
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="100%" role="img" aria-label="'
        f'{escape(view.target)}, its last rows and what is forecast ahead with intervals">'
        f"{''.join(parts)}</svg>"
    )


def ticks(low: float, high: float) -> list[float]:
    """Return a few round numbers between two."""
    rough = (high - low) / 4.0
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * k for k in (1.0, 2.0, 5.0, 10.0) if size * k >= rough)
    numbers = range(math.ceil(low / step), math.floor(high / step) + 1)
    return [float(f"{k * step:.12g}") for k in numbers]


def _label(view: View, at: float, span: float) -> str:
    if view.kind != "date":
        return f"{at:,.6g}" if view.kind == "number" else f"row {at:,.0f}"
    when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=round(at + view.zone))
    return f"{when:%Y-%m-%d}" if span > 4 * 86_400 else f"{when:%Y-%m-%d %H:%M}"


def _line(x: Array, y: Array, colour: str, width: float) -> str:
    """Return a line, cut where there is no value."""
    gone = np.flatnonzero(np.isnan(y))
    found = []
    for part_x, part_y in zip(np.split(x, gone), np.split(y, gone), strict=True):
        good = ~np.isnan(part_y)
        points = [f"{a:.1f},{b:.1f}" for a, b in zip(part_x[good], part_y[good], strict=True)]
        if len(points) == 1:
            a, b = points[0].split(",")
            found.append(f'<circle cx="{a}" cy="{b}" r="2" fill="{colour}"/>')
        elif points:
            found.append(
                f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}"'
                f' stroke-width="{width}" stroke-linejoin="round"/>'
            )
    return "".join(found)


def _band(x: Array, lo: Array, hi: Array, opacity: float) -> str:
    good = ~(np.isnan(lo) | np.isnan(hi))
    if not good.any():
        return ""
    ends = np.concatenate([hi[good], lo[good][::-1]])
    across = np.concatenate([x[good], x[good][::-1]])
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, ends, strict=True))
    return f'<polygon points="{points}" fill="{_BLUE}" fill-opacity="{opacity}"/>'

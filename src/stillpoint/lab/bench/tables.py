"""Benchmarks as Markdown, terminal tables and a figure of ratios."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from stillpoint.lab.bench.ratios import FLOOR, geometric_mean
from stillpoint.report.grid import Grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from stillpoint.lab.bench.regret import RegretBench, Row, Summary
    from stillpoint.lab.bench.speed import SpeedBench
    from stillpoint.lab.sweep import Mean, Sweep

T = TypeVar("T")
_TITLES = {
    "chosen": "Streams on which constants were chosen",
    "reported": "Streams only reported on",
}
_COLOURS = ("#1b4965", "#ca6702", "#0a9396", "#9b2226", "#6a4c93", "#588157", "#bb9457", "#3d3d3d")
_MARKERS = "osD^vPX*"
_FIT = 6  # columns of figures that a terminal holds


def regret_markdown(bench: RegretBench) -> str:
    """The whole benchmark as Markdown."""
    seeds = bench.settings.get("seeds", [])
    intro = (
        "# Regret beside OGD*\n\nEach figure is regret against the true comparator, divided by"
        " that of OGD*: projected online gradient descent whose step was chosen in hindsight, anew"
        f" for each run. Geometric means over streams and {len(seeds)} seeds; the worst single run"
        " in brackets. Less is better, and 1 means as good as a learner that knew its step"
        " beforehand. What learners assume (T rounds, gradients at most G, comparator at most D)"
        " is the truth about each stream unless the table says otherwise; for learners that stay"
        f" in a ball, G is the bound inside it.\n\nA ratio below {FLOOR:g} (regret negative, 0, or"
        f" nearly) counts as {FLOOR:g}, and such runs are counted as floored. On noise alone, and"
        " where OGD* itself has no positive regret, there is no ratio: such runs are left out of"
        " means and counted as unrated. Streams on which constants were chosen are kept apart from"
        " those only reported on. Written by"
        f" `{bench.settings.get('command', 'stillpoint bench regret')} --out FOLDER`.\n"
    )
    tail = []
    for title, name in (("Refused", "error"), ("Warnings", "warning")):
        where: dict[tuple[str, str], list[str]] = {}
        for row in bench.rows:
            if text := getattr(row, name):
                where.setdefault((row.learner, text), []).append(row.stream)
        lines = [
            f"- {learner} on {', '.join(_ordered(streams))}: {text}"
            for (learner, text), streams in where.items()
        ]
        tail += [f"## {title}", "", *lines, ""] if lines else []
    return "\n".join([intro, *(grid.markdown() for grid in regret_grids(bench)), *tail])


def regret_grids(bench: RegretBench) -> list[Grid]:
    """Summaries by group, by set, and by stream."""
    horizons = _ordered(row.horizon for row in bench.rows)
    groups = _ordered(row.group for row in bench.rows)
    grids = [_group_grid(bench, group, horizons) for group in groups]
    for group in groups:
        kinds = _ordered(row.kind for row in bench.rows if row.group == group)
        if len(kinds) > 1:
            grids.append(_kind_grid(bench, group, kinds, horizons))
    return grids + [_stream_grid(bench, group, horizon) for group in groups for horizon in horizons]


def _group_grid(bench: RegretBench, group: str, horizons: Sequence[int]) -> Grid:
    cells = {(s.learner, s.horizon): s for s in bench.summary("group") if s.label == group}
    rows = []
    for learner, assumes in _learners(bench):
        sums = [cells[learner, horizon] for horizon in horizons]
        speed = sums[-1].rounds_per_s
        rows.append(
            [
                learner,
                assumes,
                *map(_mean_and_worst, sums),
                f"{speed:,.0f}" if speed else "–",
                _counts(sums),
            ]
        )
    streams = len(_ordered(row.stream for row in bench.rows if row.group == group))
    title = f"{_TITLES.get(group, group)} ({streams})"
    return Grid(
        title,
        ["learner", "assumes", *(f"T = {horizon}" for horizon in horizons), "rounds/s", "left out"],
        rows,
    )


def _kind_grid(
    bench: RegretBench, group: str, kinds: Sequence[str], horizons: Sequence[int]
) -> Grid:
    inside = {(row.learner, row.kind) for row in bench.rows if row.group == group}
    cells = {
        (s.learner, s.label, s.horizon): _number(s.mean)
        for s in bench.summary("kind")
        if (s.learner, s.label) in inside
    }
    learners = [learner for learner, _ in _learners(bench)]
    rows = [
        [
            kind,
            *(
                " / ".join(cells.get((learner, kind, horizon), "–") for horizon in horizons)
                for learner in learners
            ),
        ]
        for kind in kinds
    ]
    title = f"{_TITLES.get(group, group)}, by set, T = {' / '.join(map(str, horizons))}"
    return Grid(title, ["set", *learners], rows, deep=len(learners) > _FIT)


def _stream_grid(bench: RegretBench, group: str, horizon: int) -> Grid:
    """Ratio and mean regret, a row a stream; mean and largest regret where there is no ratio."""
    rows = [row for row in bench.rows if row.group == group and row.horizon == horizon]
    ratios = {
        (s.learner, s.label): _number(s.mean)
        for s in bench.summary("stream")
        if s.horizon == horizon
    }
    regrets: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        regrets.setdefault(("OGD*", row.stream), []).append(row.ogd)
        if row.regret is not None:
            regrets.setdefault((row.learner, row.stream), []).append(row.regret)
    learners = [learner for learner, _ in _learners(bench)]
    body = []
    for stream in _ordered(row.stream for row in rows):
        cells = [_regret(regrets.get(("OGD*", stream)))]
        for learner in learners:
            values, ratio = regrets.get((learner, stream)), ratios.get((learner, stream), "–")
            most = f", at most {max(values):.4g}" if values and ratio == "–" else ""
            cells.append(f"{ratio} ({_regret(values)}{most})" if values else "–")
        body.append([stream, *cells])
    title = f"{_TITLES.get(group, group)}, T = {horizon}: ratio (mean regret)"
    return Grid(
        title, ["stream", "OGD*", *learners], body, deep=len(body) > 20 or len(learners) > _FIT
    )


def sweep_grids(sweep: Sweep) -> list[Grid]:
    """Mean regret over seeds, tables for each horizon: a row a stream and a column a learner, in
    blocks that a terminal holds.
    """
    means = {(mean.horizon, mean.stream, mean.learner): mean for mean in sweep.means()}
    learners, streams = _ordered(key[2] for key in means), _ordered(key[1] for key in means)
    grids = []
    for horizon in _ordered(key[0] for key in means):
        for first in range(0, len(learners), _FIT):
            block = learners[first : first + _FIT]
            body = [
                [stream, *(_mean(means[horizon, stream, learner]) for learner in block)]
                for stream in streams
            ]
            grids.append(Grid(f"Mean regret, T = {horizon}", ["stream", *block], body))
    return grids


def _mean(mean: Mean) -> str:
    failed = f" ({mean.failed} failed)" if mean.failed else ""
    return "failed" if mean.regret is None else f"{mean.regret:.4g}{failed}"


def ratio_figure(bench: RegretBench, group: str) -> Figure:
    """Ratios to OGD* on a log axis, a row a stream and a panel a horizon: geometric means over
    seeds, and their range.
    """
    from matplotlib.figure import Figure

    rated = [row for row in bench.rows if row.group == group and row.ratio is not None]
    streams, horizons = (
        _ordered(row.stream for row in rated),
        _ordered(row.horizon for row in bench.rows),
    )
    learners = [learner for learner, _ in _learners(bench)]
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
            colour, marker = _COLOURS[i % len(_COLOURS)], _MARKERS[i % len(_MARKERS)]
            face = colour if i < len(_COLOURS) else "white"
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
        f"{_TITLES.get(group, group)}\nmean over seeds, with a line from the best to the worst of"
        " them",
        fontsize=10,
    )
    return figure


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


def speed_markdown(bench: SpeedBench) -> str:
    """The speed benchmark as Markdown."""
    intro = (
        "# µs a round\n\nEvery learner in one run, absolute loss, least of several repeats."
        " Interactive: predict and update. Bulk: `sp.play` on a loss stream; in brackets the"
        " multiple of a bare compiled OGD loop that keeps nothing. Written by"
        f" `{bench.settings.get('command', 'stillpoint bench speed')} --out FOLDER`.\n"
    )
    return "\n".join([intro, *(grid.markdown() for grid in speed_grids(bench))])


def speed_grids(bench: SpeedBench) -> list[Grid]:
    """By dimension, and by age at d = 1."""
    dims, ages = bench.settings["dims"], bench.settings["ages"]
    names = _ordered(row.learner for row in bench.rows)
    assumes = {row.learner: row.assumes for row in bench.rows}
    grids = []
    for mode in ("interactive", "bulk"):
        body = []
        for name in names:
            found = [bench.find(name, mode, dim) for dim in dims]
            if any(found):
                body.append(
                    [
                        name,
                        assumes[name],
                        *("–" if row is None else _us(row.us, row.ratio) for row in found),
                    ]
                )
        grids.append(
            Grid(
                f"{mode.capitalize()}, µs a round",
                ["learner", "assumes", *(f"d = {d}" for d in dims)],
                body,
            )
        )
    for mode in ("interactive", "bulk"):
        body = []
        for name in names:
            aged = [bench.find(name, mode, 1, age) for age in ages]
            if any(aged):
                first, last = aged[0], aged[-1]
                growth = f"{last.us / first.us:.2f}×" if first and last else "–"
                body.append([name, *("–" if row is None else _us(row.us) for row in aged), growth])
        header = ["learner", *(f"t = {age:,}" for age in ages), "last / first"]
        grids.append(Grid(f"{mode.capitalize()} after t rounds, d = 1, µs a round", header, body))
    return grids


def _us(us: float, ratio: float | None = None) -> str:
    return f"{us:.3g}" + (
        "" if ratio is None else f" ({ratio:.1f}×)" if ratio < 10 else f" ({ratio:.0f}×)"
    )


def _learners(bench: RegretBench) -> list[tuple[str, str]]:
    return _ordered((row.learner, row.assumes) for row in bench.rows)


def _mean_and_worst(summary: Summary) -> str:
    if summary.mean is None:
        return "–"
    return f"{_number(summary.mean)} ({_number(summary.worst)} {summary.worst_stream})"


def _counts(summaries: Sequence[Summary]) -> str:
    totals = {
        name: sum(getattr(s, name) for s in summaries) for name in ("floored", "unrated", "failed")
    }
    return (
        ", ".join(
            f"{n} {'refused' if name == 'failed' else name}" for name, n in totals.items() if n
        )
        or "–"
    )


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return (
        f"{value:.2f}"
        if abs(value) < 10
        else f"{value:.0f}"
        if abs(value) < 1e5
        else f"{value:.1e}"
    )


def _regret(values: Sequence[float] | None) -> str:
    return "–" if not values else f"{np.mean(values):.4g}"


def _ordered(items: Iterable[T]) -> list[T]:
    return list(dict.fromkeys(items))

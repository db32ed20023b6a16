"""The regret benchmark and sweeps as Markdown and as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from stillpoint.lab.bench.ratios import FLOOR
from stillpoint.report.grid import Grid

if TYPE_CHECKING:
    from stillpoint.lab.bench.regret import RegretBench, Summary
    from stillpoint.lab.sweep import Mean, Sweep

T = TypeVar("T")
TITLES = {
    "chosen": "Streams on which constants were chosen",
    "reported": "Streams only reported on",
}
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
        f" `{bench.settings.get('command', 'stillpoint bench regret')} --out FOLDER`.\n\nRounds a"
        " second are those of a machine that plays several runs at once, and say which learners"
        " have compiled loops; `stillpoint bench speed` measures time by itself.\n"
    )
    tail = []
    for title, name in (("Refused", "error"), ("Warnings", "warning")):
        where: dict[tuple[str, str], list[str]] = {}
        for row in bench.rows:
            if text := getattr(row, name):
                where.setdefault((row.learner, text), []).append(row.stream)
        lines = [
            f"- {learner} on {', '.join(ordered(streams))}: {text}"
            for (learner, text), streams in where.items()
        ]
        tail += [f"## {title}", "", *lines, ""] if lines else []
    return "\n".join([intro, *(grid.markdown() for grid in regret_grids(bench)), *tail])


def regret_grids(bench: RegretBench) -> list[Grid]:
    """Summaries by group, by set, and by stream."""
    horizons = ordered(row.horizon for row in bench.rows)
    groups = ordered(row.group for row in bench.rows)
    grids = [_group_grid(bench, group, horizons) for group in groups]
    for group in groups:
        kinds = ordered(row.kind for row in bench.rows if row.group == group)
        if len(kinds) > 1:
            grids.append(_kind_grid(bench, group, kinds, horizons))
    return grids + [_stream_grid(bench, group, horizon) for group in groups for horizon in horizons]


def _group_grid(bench: RegretBench, group: str, horizons: Sequence[int]) -> Grid:
    cells = {(s.learner, s.horizon): s for s in bench.summary("group") if s.label == group}
    rows = []
    for learner, assumes in learners_of(bench):
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
    streams = len(ordered(row.stream for row in bench.rows if row.group == group))
    title = f"{TITLES.get(group, group)} ({streams})"
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
    learners = [learner for learner, _ in learners_of(bench)]
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
    title = f"{TITLES.get(group, group)}, by set, T = {' / '.join(map(str, horizons))}"
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
    learners = [learner for learner, _ in learners_of(bench)]
    body = []
    for stream in ordered(row.stream for row in rows):
        cells = [_regret(regrets.get(("OGD*", stream)))]
        for learner in learners:
            values, ratio = regrets.get((learner, stream)), ratios.get((learner, stream), "–")
            most = f", at most {max(values):.4g}" if values and ratio == "–" else ""
            cells.append(f"{ratio} ({_regret(values)}{most})" if values else "–")
        body.append([stream, *cells])
    title = f"{TITLES.get(group, group)}, T = {horizon}: ratio (mean regret)"
    return Grid(
        title, ["stream", "OGD*", *learners], body, deep=len(body) > 20 or len(learners) > _FIT
    )


def sweep_grids(sweep: Sweep) -> list[Grid]:
    """Mean regret over seeds, for each horizon one row per stream and one column per learner.

    In blocks that fit a terminal.
    """
    means = {(mean.horizon, mean.stream, mean.learner): mean for mean in sweep.means()}
    learners, streams = ordered(key[2] for key in means), ordered(key[1] for key in means)
    grids = []
    for horizon in ordered(key[0] for key in means):
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
    if mean.regret is None:
        return "failed" if mean.failed == mean.cells else "–"
    return f"{mean.regret:.4g}{failed}"


def learners_of(bench: RegretBench) -> list[tuple[str, str]]:
    """The learners and what they assume, in order of appearance."""
    return ordered((row.learner, row.assumes) for row in bench.rows)


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


def ordered(items: Iterable[T]) -> list[T]:
    """Each item once, in order of appearance."""
    return list(dict.fromkeys(items))

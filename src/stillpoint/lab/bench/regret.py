"""The regret benchmark: learners beside OGD whose step is chosen in hindsight (OGD*)."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stillpoint.core.extras import require
from stillpoint.core.validation import count
from stillpoint.lab.baselines import hindsight_ogd
from stillpoint.lab.bench.contenders import Contender, Learner, lineup, outcome
from stillpoint.lab.bench.pages import write_pages
from stillpoint.lab.bench.ratios import FLOOR, geometric_mean
from stillpoint.lab.bench.workers import play_all
from stillpoint.lab.streams.reactive import ReactiveStream
from stillpoint.lab.streams.registry import AnyStream, Spec

_RADIUS = 30.0  # OGD* stays in this ball, in units of the stream


@dataclass(frozen=True)
class Row:
    """One run.

    ratio: regret/ogd; None where ogd ≤ 0, on noise, or if the run failed. error: why the learner
    refused.
    """

    learner: str
    assumes: str
    stream: str
    kind: str
    group: str
    horizon: int
    seed: int
    rounds: int
    regret: float | None
    ogd: float
    ratio: float | None
    rounds_per_s: float | None
    error: str = ""
    warning: str = ""


@dataclass(frozen=True)
class Summary:
    """Geometric mean and worst ratio of a learner over the runs of a group or set at one horizon.

    floored: ratios below FLOOR, counted as FLOOR. unrated: runs without a ratio, on noise or where
    OGD*'s regret is not positive.
    """

    learner: str
    assumes: str
    label: str
    horizon: int
    runs: int
    mean: float | None
    worst: float | None
    worst_stream: str
    worst_seed: int | None
    floored: int
    unrated: int
    failed: int
    rounds_per_s: float | None


@dataclass(frozen=True)
class RegretBench:
    """All rows of a benchmark.

    `save(folder)` writes regret.md, regret.json and one figure per group.
    """

    rows: list[Row]
    settings: dict[str, Any] = field(default_factory=dict)

    def summary(self, by: str = "group") -> list[Summary]:
        """One `Summary` for each learner, horizon and value of `by`, in the order of the rows.

        by: "group", "kind" or "stream".
        """
        cells: dict[tuple[str, int, str], list[Row]] = {}
        for row in self.rows:
            cells.setdefault((getattr(row, by), row.horizon, row.learner), []).append(row)
        return [summarise(rows, label) for (label, _, _), rows in cells.items()]

    def save(self, folder: str | Path) -> list[Path]:
        """Write Markdown, JSON and figures into `folder`; returns the files."""
        require("matplotlib", "RegretBench.save", "lab")
        from stillpoint.lab.bench.figure import ratio_figure
        from stillpoint.lab.bench.tables import regret_markdown

        files = write_pages(folder, "regret", regret_markdown(self), self.to_dict())
        for group in dict.fromkeys(row.group for row in self.rows):
            figure = ratio_figure(self, group)
            for suffix in ("png", "svg"):
                files.append(files[0].with_name(f"regret-{group}.{suffix}"))
                figure.savefig(files[-1], dpi=150)
        return files

    def to_dict(self) -> dict[str, Any]:
        """Settings, summaries and raw rows, of plain types."""
        summaries = {
            by: [asdict(summary) for summary in self.summary(by)]
            for by in ("group", "kind", "stream")
        }
        return {
            "settings": self.settings,
            "summary": summaries,
            "rows": [asdict(row) for row in self.rows],
        }


def summarise(rows: Sequence[Row], label: str) -> Summary:
    """Sum up one learner's rows."""
    rated = [(row.ratio, row) for row in rows if row.ratio is not None]
    mean = geometric_mean(ratio for ratio, _ in rated) if rated else None
    worst, at = max(rated, key=lambda pair: pair[0]) if rated else (None, None)
    speeds = [row.rounds_per_s for row in rows if row.rounds_per_s is not None]
    return Summary(
        learner=rows[0].learner,
        assumes=rows[0].assumes,
        label=label,
        horizon=rows[0].horizon,
        runs=len(rows),
        mean=mean,
        worst=worst,
        worst_stream=at.stream if at else "",
        worst_seed=at.seed if at else None,
        floored=sum(ratio < FLOOR for ratio, _ in rated),
        unrated=sum(row.ratio is None and not row.error for row in rows),
        failed=sum(bool(row.error) for row in rows),
        rounds_per_s=float(np.median(speeds)) if speeds else None,
    )


def regret_bench(
    learners: str | Sequence[Learner] = (),
    streams: str | Sequence[str | Spec] = ("chosen",),
    *,
    seeds: Iterable[int] = range(10),
    horizons: Sequence[int] = (2000, 20000),
    jobs: int = 1,
    progress: bool = False,
) -> RegretBench:
    """Play every learner on every stream; regret is against the stream's true comparator.

    learners: what `contenders.choose` takes; none means those that are usual. streams: what
    `streams.find` takes, or specs. All of them must be there at every horizon: that is seen to
    before anybody plays. jobs: processes. A learner that refuses a stream (say, one without a
    gradient bound) leaves a row that says why.
    """
    entered = lineup(learners, streams, seeds, horizons)
    players, specs, starts, rounds = entered
    for spec in specs:
        spec.make(min(rounds), starts[0])  # refuses a horizon that is too short for it
    tasks = [
        (players, spec, horizon, seed) for horizon in rounds for spec in specs for seed in starts
    ]
    batches = play_all(_task, tasks, jobs=count("jobs", jobs), progress=progress)
    rows = [row for batch in batches for row in batch]
    ogd = {"radius": _RADIUS, "floor": FLOOR}
    return RegretBench(rows, {**entered.settings(), "ogd": ogd})


def _task(players: Sequence[Contender], spec: Spec, horizon: int, seed: int) -> list[Row]:
    """Every learner on one stream, and OGD* once."""
    stream = spec.make(horizon, seed)
    ogd = tuned_ogd(stream)
    rows = []
    for player in players:
        found = outcome(player, stream, seed)
        ratio = (
            found.regret / ogd if found.regret is not None and spec.rated and ogd > 0.0 else None
        )
        speed = None if found.error else len(stream) / found.seconds
        key = (
            player.name,
            player.assumes,
            spec.name,
            spec.kind,
            spec.group,
            horizon,
            seed,
            len(stream),
        )
        rows.append(Row(*key, found.regret, ogd, ratio, speed, found.error, found.warning))
    return rows


def tuned_ogd(stream: AnyStream) -> float:
    """Regret of projected OGD from 0 with the best of `stream.steps`.

    An adversary plays each step a game of its own.
    """
    radius = _RADIUS * stream.unit
    if isinstance(stream, ReactiveStream):
        return min(_regret_of_ogd(stream, step, radius) for step in stream.steps)
    return hindsight_ogd(stream.losses, steps=stream.steps, radius=radius).total - float(
        stream.losses.values(stream.target).sum()
    )


def _regret_of_ogd(stream: ReactiveStream, step: float, radius: float) -> float:
    w, total = np.zeros(stream.dim), 0.0
    for loss in stream:
        g = loss.gradient(w)
        total += loss.value(w)
        w = w - step * g
        w *= min(1.0, radius / max(float(np.linalg.norm(w)), 1e-300))
    return total - float(stream.game.losses.values(stream.target).sum())

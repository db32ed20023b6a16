"""The regret benchmark: learners × streams × seeds × horizons, beside OGD whose step is chosen in hindsight (OGD*)."""

import importlib
import json
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from stillpoint._validate import count
from stillpoint.baselines import hindsight_ogd
from stillpoint.domains import Ball
from stillpoint.experiments.play import Playable, play
from stillpoint.streams.reactive import ReactiveStream
from stillpoint.streams.registry import AnyStream, Spec, find

FLOOR = 0.01  # ratios below count as this in geometric means: a regret may be 0 or negative
_RADIUS = 30.0  # OGD* stays in this ball, in units of the stream


@dataclass(frozen=True)
class Facts:
    """What a contender may be told about a stream before it starts.

    lipschitz: bounds gradients at every play; infinite for squared losses. radius: the largest norm of the comparator.
    within: the gradient bound that holds inside a ball, from its radius, for those that stay in one.
    """

    dim: int
    horizon: int = 1000
    lipschitz: float = 1.0
    radius: float = 1.0
    within: Callable[[float], float] = lambda radius: 1.0


@dataclass(frozen=True)
class Contender:
    """A learner in the benchmark: `build(facts)` makes it, `told` says which facts it uses."""

    name: str
    told: str
    build: Callable[[Facts], Playable]


@dataclass(frozen=True)
class Row:
    """One run. ratio: regret/ogd, None where ogd ≤ 0, on noise, or if the run failed; error: why the learner refused."""

    learner: str
    told: str
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

    floored: ratios below FLOOR, counted as FLOOR. unrated: runs without a ratio, on noise or where OGD*'s regret is not positive.
    """

    learner: str
    told: str
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
    """All rows of a benchmark. `save(folder)` writes regret.md, regret.json and a figure a group."""

    rows: list[Row]
    settings: dict[str, Any] = field(default_factory=dict)

    def summary(self, by: str = "group") -> list[Summary]:
        """One `Summary` for each learner, horizon and value of `by`: "group", "kind" or "stream"; order as in the rows."""
        cells: dict[tuple[str, int, str], list[Row]] = {}
        for row in self.rows:
            cells.setdefault((getattr(row, by), row.horizon, row.learner), []).append(row)
        return [summarise(rows, label) for (label, _, _), rows in cells.items()]

    def save(self, folder: str | Path) -> list[Path]:
        """Write Markdown, JSON and figures into `folder`; returns the files."""
        from stillpoint.report import tables

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        files = [folder / "regret.md", folder / "regret.json"]
        files[0].write_text(tables.regret_markdown(self), encoding="utf-8")
        files[1].write_text(json.dumps(self.to_dict(), indent=1, allow_nan=False), encoding="utf-8")
        for group in dict.fromkeys(row.group for row in self.rows):
            figure = tables.ratio_figure(self, group)
            for suffix in ("png", "svg"):
                files.append(folder / f"regret-{group}.{suffix}")
                figure.savefig(files[-1], dpi=150)
        return files

    def to_dict(self) -> dict[str, Any]:
        """Settings, summaries and raw rows, of plain types."""
        summaries = {by: [asdict(summary) for summary in self.summary(by)] for by in ("group", "kind", "stream")}
        return {"settings": self.settings, "summary": summaries, "rows": [asdict(row) for row in self.rows]}


def summarise(rows: Sequence[Row], label: str) -> Summary:
    """Sum up one learner's rows."""
    rated = [(row.ratio, row) for row in rows if row.ratio is not None]
    mean = math.exp(sum(math.log(max(ratio, FLOOR)) for ratio, _ in rated) / len(rated)) if rated else None
    worst, at = max(rated, key=lambda pair: pair[0]) if rated else (None, None)
    speeds = [row.rounds_per_s for row in rows if row.rounds_per_s is not None]
    return Summary(
        learner=rows[0].learner,
        told=rows[0].told,
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
    learners: Sequence[str | Contender] = (),
    streams: Sequence[str | Spec] = ("chosen",),
    *,
    seeds: Iterable[int] = range(10),
    horizons: Sequence[int] = (2000, 20000),
    jobs: int = 1,
    progress: bool = False,
) -> RegretBench:
    """Play every learner on every stream; regret is against the stream's true comparator.

    learners: names from `contenders()`, or contenders; none means all. streams: what `streams.find` takes, or specs.
    jobs: processes. A learner that refuses a stream (say, one without a gradient bound) leaves a row that says why.
    """
    players = choose(learners)
    specs = [spec for entry in streams for spec in ([entry] if isinstance(entry, Spec) else find([entry]))]
    specs = list({spec.name: spec for spec in specs}.values())
    seeds, horizons = list(seeds), [count("horizons", horizon) for horizon in horizons]
    if not (specs and seeds and horizons):
        raise ValueError("streams, seeds and horizons must each have an entry; give at least one of each")
    tasks = [(players, spec, horizon, seed) for horizon in horizons for spec in specs for seed in seeds]
    rows = [row for batch in _run(tasks, count("jobs", jobs), progress) for row in batch]
    settings = {
        "learners": {player.name: player.told for player in players},
        "streams": [spec.name for spec in specs],
        "seeds": seeds,
        "horizons": horizons,
        "ogd": {"radius": _RADIUS, "floor": FLOOR},
    }
    return RegretBench(rows, settings)


def _run(tasks: list[Any], jobs: int, progress: bool) -> list[list[Row]]:
    from joblib import Parallel, delayed
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    results = Parallel(n_jobs=jobs, return_as="generator")(delayed(_task)(*task) for task in tasks)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns) if progress else nullcontext() as bar:
        return list(results if bar is None else bar.track(results, total=len(tasks), description="playing"))


def _task(players: Sequence[Contender], spec: Spec, horizon: int, seed: int) -> list[Row]:
    """Every learner on one stream, and OGD* once."""
    stream = spec.make(horizon, seed)
    ogd = tuned_ogd(stream)
    facts = Facts(stream.dim, len(stream), stream.lipschitz, stream.radius or stream.unit, stream.lipschitz_within)
    rows = []
    for player in players:
        regret = ratio = speed = None
        error = ""
        try:
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                learner = player.build(facts)
                start = perf_counter()
                run = play(learner, stream.losses)
                speed = len(stream) / (perf_counter() - start)
            regret = float(run.regret(stream.target)[-1])
            if not math.isfinite(regret):
                raise ValueError(f"regret must be finite: got {regret}")
            ratio = regret / ogd if spec.rated and ogd > 0.0 else None
        except Exception as refusal:  # one learner's fault must not cost the run of all others; the row keeps it
            regret, error = None, f"{type(refusal).__name__}: {refusal}"
        key = (player.name, player.told, spec.name, spec.kind, spec.group, horizon, seed, len(stream))
        rows.append(Row(*key, regret, ogd, ratio, speed, error, str(heard[0].message) if heard else ""))
    return rows


def tuned_ogd(stream: AnyStream) -> float:
    """Regret of projected OGD from 0 with the best of `stream.steps`; an adversary plays each step a game of its own."""
    radius = _RADIUS * stream.unit
    if isinstance(stream, ReactiveStream):
        return min(_game(stream, step, radius) for step in stream.steps)
    return hindsight_ogd(stream.losses, stream.steps, radius).total - float(stream.losses.values(stream.target).sum())


def _game(stream: ReactiveStream, step: float, radius: float) -> float:
    w, total = np.zeros(stream.dim), 0.0
    for loss in stream:
        g = loss.gradient(w)
        total += loss.value(w)
        w = w - step * g
        w *= min(1.0, radius / max(float(np.linalg.norm(w)), 1e-300))
    return total - float(stream.game.losses.values(stream.target).sum())


# name, class, what it is told, and how it is built; facts are true ones, D the largest norm of the comparator
_ENTRIES: list[tuple[str, str, str, Callable[[Any, Facts], Any]]] = [
    ("Tracker", "Tracker", "nothing", lambda new, f: new(f.dim)),
    ("MultiScale", "MultiScale", "G", lambda new, f: new(f.dim, lipschitz=f.lipschitz)),
    ("MultiScale-free", "MultiScale", "nothing", lambda new, f: new(f.dim)),
    ("Algorithm2", "KernelFTRL", "G", lambda new, f: new(f.dim, lipschitz=f.lipschitz)),
    ("Ader", "Ader", "T, G, D", lambda new, f: _ader(new, f, f.radius)),
    ("Ader-10D", "Ader", "T, G, D ten times too large", lambda new, f: _ader(new, f, 10 * f.radius)),
    ("Ader-D1", "Ader", "T, G, D = 1 whatever it is", lambda new, f: _ader(new, f, 1.0)),
    ("OGD-sqrt", "OGD", "G, D", lambda new, f: new(f.dim, f.radius / f.within(f.radius), schedule="sqrt", domain=Ball(f.radius))),
    ("OGD-scale-free", "OGD", "D", lambda new, f: new(f.dim, f.radius, schedule="scale-free", domain=Ball(f.radius))),
    ("DiscountedFTRL", "DiscountedFTRL", "D, discount 0.99", lambda new, f: new(f.dim, 0.99, f.radius)),
    ("SparseHaar", "SparseHaar", "T, G", lambda new, f: new(f.dim, f.lipschitz, f.horizon)),
    ("KT", "KT", "G", lambda new, f: new(f.dim, f.lipschitz)),
    ("COCOB", "COCOB", "G", lambda new, f: new(f.dim, f.lipschitz)),
    ("FreeGrad", "FreeGrad", "G", lambda new, f: new(f.dim, f.lipschitz)),
]


def _ader(new: Any, facts: Facts, radius: float) -> Any:
    return new(facts.dim, facts.horizon, facts.within(radius), radius)


def contenders() -> dict[str, Contender]:
    """Every learner that can be entered, by name; those that the library does not have are left out."""
    return {name: Contender(name, told, partial(_build, cls, make)) for name, cls, told, make in _ENTRIES if _class(cls)}


def choose(learners: Sequence[str | Contender]) -> list[Contender]:
    """Contenders by name; contenders given pass through; none means all."""
    known = contenders()
    players = []
    for learner in learners or known:
        if isinstance(learner, str) and learner not in known:
            near = get_close_matches(learner, known, 1, 0.5)
            hint = f"did you mean {near[0]}? " if near else ""
            raise ValueError(f"learner must be known: got {learner!r}; {hint}the known ones are {', '.join(known)}")
        players.append(known[learner] if isinstance(learner, str) else learner)
    return players


def _class(name: str) -> Any:
    homes = (importlib.import_module(module) for module in ("stillpoint", "stillpoint.baselines"))
    return next((getattr(home, name) for home in homes if hasattr(home, name)), None)


def _build(name: str, make: Callable[[Any, Facts], Any], facts: Facts) -> Any:
    return make(_class(name), facts)

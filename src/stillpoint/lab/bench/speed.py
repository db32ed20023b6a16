"""The speed benchmark: µs per round, beside a bare compiled OGD loop."""

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from stillpoint.core.validation import Array, count
from stillpoint.lab.bench._ogd import bare_ogd, recorded_ogd
from stillpoint.lab.bench.contenders import Contender, Facts, choose
from stillpoint.lab.bench.pages import write_pages
from stillpoint.losses import Absolute, Linear, LossStream
from stillpoint.play import Playable, play

BARE, RECORDED = "bare OGD loop", "bare OGD loop, plays and gradients kept"
_STEP = 0.05
_VALUES = 2_000_000  # rounds × dim of a bulk run, at most
_CHUNK = 2000
_SAME_COST = ("Ader-10D", "Ader-D1")  # left out unless asked for


@dataclass(frozen=True)
class SpeedRow:
    """µs per round of one learner.

    mode: "interactive" (predict and update) or "bulk" (`sp.play`). age: rounds already played.

    ratio: to the bare loop at that dimension, bulk only.
    """

    learner: str
    assumes: str
    mode: str
    dim: int
    age: int
    us: float
    ratio: float | None = None


@dataclass(frozen=True)
class SpeedBench:
    """All timings. `save(folder)` writes speed.md and speed.json."""

    rows: list[SpeedRow]
    settings: dict[str, Any] = field(default_factory=dict)

    def find(self, learner: str, mode: str, dim: int, age: int = 0) -> SpeedRow | None:
        """The row asked for, if it was measured."""
        key = learner, mode, dim, age
        return next(
            (row for row in self.rows if (row.learner, row.mode, row.dim, row.age) == key), None
        )

    def save(self, folder: str | Path) -> list[Path]:
        """Write Markdown and JSON into `folder`; returns the files."""
        from stillpoint.lab.bench.speed_tables import speed_markdown

        return write_pages(folder, "speed", speed_markdown(self), self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Settings and rows, of plain types."""
        return {"settings": self.settings, "rows": [asdict(row) for row in self.rows]}


def speed_bench(
    learners: Sequence[str | Contender] = (),
    *,
    dims: Sequence[int] = (1, 10, 100, 1000),
    ages: Sequence[int] = (1_000, 10_000, 100_000, 1_000_000),
    repeats: int = 5,
    patience: float = 60.0,
    progress: bool = False,
) -> SpeedBench:
    """Time every learner in one run, one after the other; each figure is the least of `repeats`.

    dims: for the cost by dimension, from round 0. ages: for growth at dim 1: the next rounds after
    that many.
    patience: seconds; a learner that would need more to reach an age is not timed there.
    """
    from rich.progress import Progress

    players = [p for p in choose(learners) if learners or p.name not in _SAME_COST]
    repeats = count("repeats", repeats)
    dims, ages = [count("dims", dim) for dim in dims], [count("ages", age) for age in ages]
    rows = []
    with Progress() if progress else nullcontext() as bar:
        work = [(dim, player) for dim in dims for player in players]
        for dim in dims:
            rows += _bare(dim, repeats)
        for dim, player in (
            work if bar is None else bar.track(work, description="timing by dimension")
        ):
            bare = next(row.us for row in rows if row.learner == BARE and row.dim == dim)
            rows += _by_dimension(player, dim, repeats, bare)
        for player in players if bar is None else bar.track(players, description="timing by age"):
            rows += _by_age(player, sorted(ages), repeats, patience)
    settings = {
        "dims": dims,
        "ages": ages,
        "repeats": repeats,
        "learners": {p.name: p.assumes for p in players},
    }
    return SpeedBench(rows, settings)


def _bare(dim: int, repeats: int) -> list[SpeedRow]:
    y = _data(dim).y
    kept = np.empty_like(y), np.empty_like(y), np.empty(len(y))
    bare = _least(lambda: bare_ogd(y, _STEP), repeats + 1) / len(y)
    recorded = _least(lambda: recorded_ogd(y, _STEP, *kept), repeats + 1) / len(y)
    assumes = "the step"
    return [
        SpeedRow(BARE, assumes, "bulk", dim, 0, bare, 1.0),
        SpeedRow(RECORDED, assumes, "bulk", dim, 0, recorded, recorded / bare),
    ]


def _by_dimension(player: Contender, dim: int, repeats: int, bare: float) -> list[SpeedRow]:
    losses, facts = _data(dim), Facts(dim, horizon=10**6)
    play(player.build(facts), Absolute().on(losses.y[:50]))  # compiles
    start = perf_counter()
    play(player.build(facts), Absolute().on(losses.y[:500]))
    slow = perf_counter() - start > 500 * 20e-6
    sample = Absolute().on(losses.y[:_CHUNK]) if slow else losses
    bulk = _timed(
        lambda: player.build(facts), lambda learner: play(learner, sample), repeats
    ) / len(sample)
    gradients = _gradients(dim)
    interactive = _timed(
        lambda: player.build(facts), lambda learner: _interact(learner, gradients), repeats
    ) / len(gradients)
    return [
        SpeedRow(player.name, player.assumes, "interactive", dim, 0, interactive),
        SpeedRow(player.name, player.assumes, "bulk", dim, 0, bulk, bulk / bare),
    ]


def _by_age(
    player: Contender, ages: Sequence[int], repeats: int, patience: float
) -> list[SpeedRow]:
    """Bulk and interactive µs over the next rounds, on copies of one learner as it grows old."""
    learner = player.build(Facts(1, horizon=10**6))
    losses = _data(1)
    gradients = _gradients(1)
    rows = []
    age = 0
    chunk, block = Absolute().on(losses.y[:_CHUNK]), Absolute().on(losses.y[:50_000])
    deadline, cost = perf_counter() + patience, 0.0
    for target in ages:
        if perf_counter() + cost * (target - age) > deadline:
            break
        start, old = perf_counter(), age
        while age < target:
            part = block if target - age >= len(block) else Absolute().on(losses.y[: target - age])
            play(learner, part)
            age += len(part)
        cost = (perf_counter() - start) / max(1, age - old)
        for mode, act in (
            ("interactive", lambda m: _interact(m, gradients)),
            ("bulk", lambda m: play(m, chunk)),
        ):
            us = _timed(lambda: deepcopy(learner), act, 4 * repeats) / _CHUNK
            rows.append(SpeedRow(player.name, player.assumes, mode, 1, target, us))
    return rows


def _interact(learner: Playable, gradients: list[Array]) -> None:
    shown = getattr(learner, "takes_losses", False)
    losses = list(Linear().on(np.stack(gradients))) if shown else []
    for i, g in enumerate(gradients):
        learner.predict()
        if shown:
            learner.update_loss(losses[i])  # type: ignore[attr-defined]
        else:
            learner.update(g)


def _timed(make: Callable[[], Any], act: Callable[[Any], Any], repeats: int) -> float:
    """Least µs that `act` takes on a fresh learner."""
    return min(_least(partial(act, make()), 1) for _ in range(repeats))


def _least(act: Callable[[], Any], repeats: int) -> float:
    best = math.inf
    for _ in range(repeats):
        start = perf_counter()
        act()
        best = min(best, perf_counter() - start)
    return 1e6 * best


def _data(dim: int) -> LossStream:
    """A slow wave through noise, of unit scale in any dimension."""
    rounds = min(50_000, max(_CHUNK, _VALUES // dim))
    rng, t = np.random.default_rng(0), np.arange(rounds)[:, None]
    return Absolute().on(
        (np.sin(t / 500) + 0.3 * rng.standard_normal((rounds, dim))) / math.sqrt(dim)
    )


def _gradients(dim: int) -> list[Array]:
    g = np.random.default_rng(1).standard_normal((_CHUNK, dim))
    return list(g / np.linalg.norm(g, axis=1, keepdims=True))

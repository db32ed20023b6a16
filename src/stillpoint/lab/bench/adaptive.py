"""The benchmark of adaptive regret: the worst interval of each length, beside its √length."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stillpoint.core.validation import count
from stillpoint.lab.bench.contenders import Contender, Learner, complaint, facts_of, lineup
from stillpoint.lab.bench.pages import write_pages
from stillpoint.lab.bench.workers import play_all
from stillpoint.lab.streams.registry import Spec
from stillpoint.losses import LossStream
from stillpoint.play import play
from stillpoint.report.grid import Grid

LENGTHS = (10, 100, 1000)
LEARNERS = (
    "Tracker", "SAOL", "CBCE", "SACS", "PSACS", "AFLH++", "Ader", "SwordPP", "OGD-sqrt",
)  # fmt: skip


@dataclass(frozen=True)
class AdaptiveRow:
    """One run: for each length the worst interval, and that over G·D·√length.

    error: why there is none.
    """

    learner: str
    assumes: str
    stream: str
    horizon: int
    seed: int
    worst: list[float]
    ratios: list[float]
    switching: float | None
    error: str = ""


@dataclass(frozen=True)
class AdaptiveBench:
    """All rows; `save(folder)` writes adaptive.md and adaptive.json."""

    rows: list[AdaptiveRow]
    settings: dict[str, Any] = field(default_factory=dict)

    def grids(self) -> list[Grid]:
        """A table a horizon: means over streams and seeds, and the largest in brackets."""
        grids, lengths = [], self.settings["lengths"]
        for horizon in self.settings["horizons"]:
            body = []
            for name, assumes in self.settings["learners"].items():
                rows = [r for r in self.rows if (r.learner, r.horizon) == (name, horizon)]
                good = [r for r in rows if not r.error]
                cells = [_cell([r.ratios[i] for r in good]) for i in range(len(lengths))]
                moves = f"{np.mean([r.switching for r in good]):.4g}" if good else "–"
                body.append([name, assumes, *cells, moves, str(len(rows) - len(good) or "–")])
            head = ["learner", "assumes", *(f"length {n}" for n in lengths), "switching", "refused"]
            grids.append(Grid(f"Worst interval over G·D·√length, T = {horizon}", head, body))
        return grids

    def markdown(self) -> str:
        """The tables, and what they mean."""
        return "\n".join(
            [
                "# Adaptive regret\n\nEach figure is the regret on the worst of all intervals of a"
                " length, against the best fixed play on it, divided by G·D·√length: what"
                " strongly adaptive learners keep below a constant, up to logarithms. Means over"
                f" {len(self.settings['streams'])} streams and {len(self.settings['seeds'])}"
                " seeds; the largest single run in brackets. Comparators are in the ball of radius"
                " D, the largest norm of the stream's own target, which learners in a ball are"
                " told. Switching is Σ‖w_t − w_{t−1}‖, the mean over runs. Written by"
                f" `{self.settings.get('command', 'stillpoint bench adaptive')} --out FOLDER`.\n",
                *(grid.markdown() for grid in self.grids()),
            ]
        )

    def save(self, folder: str | Path) -> list[Path]:
        """Write Markdown and JSON into `folder`; returns the files."""
        return write_pages(folder, "adaptive", self.markdown(), self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Settings and rows, of plain types."""
        return {"settings": self.settings, "rows": [asdict(row) for row in self.rows]}


def adaptive_bench(
    learners: str | Sequence[Learner] = LEARNERS,
    streams: str | Sequence[str | Spec] = ("families",),
    *,
    lengths: Sequence[int] = LENGTHS,
    seeds: Iterable[int] = range(3),
    horizons: Sequence[int] = (10000,),
    jobs: int = 1,
    progress: bool = False,
) -> AdaptiveBench:
    """Play every learner on every stream and look at all intervals of the given lengths.

    learners, streams: as for `regret_bench`; no learner means `LEARNERS`. Where losses have no best
    play in closed form, regret is linearised. A learner that refuses a stream leaves a row that
    says why.
    """
    entered = lineup(learners or LEARNERS, streams, seeds, horizons)
    players, specs, starts, rounds = entered
    asked = sorted({count("lengths", length) for length in lengths})
    if not asked or max(asked) > min(rounds):
        raise ValueError(
            f"lengths must be one or more, at most the horizon {min(rounds)}: got {lengths!r};"
            " drop the longest"
        )
    tasks = [
        (players, s, horizon, seed, asked) for horizon in rounds for s in specs for seed in starts
    ]
    batches = play_all(_task, tasks, jobs=count("jobs", jobs), progress=progress)
    rows = [row for batch in batches for row in batch]
    return AdaptiveBench(rows, {**entered.settings(), "lengths": asked})


def _task(
    players: Sequence[Contender], spec: Spec, horizon: int, seed: int, lengths: list[int]
) -> list[AdaptiveRow]:
    """Every learner on one stream."""
    rows = []
    for player in players:
        stream = spec.make(horizon, seed)
        facts = facts_of(stream, seed)
        name = (player.name, player.assumes, spec.name, horizon, seed)
        unit = facts.radius * facts.within(facts.radius)
        # a stream may drop the rest of rounds that do not fit its pieces
        fits = [min(length, len(stream)) for length in lengths]
        try:
            run = play(player.build(facts), stream.losses)
            exact = isinstance(run.stream, LossStream) and run.plays.shape[1] == 1
            found = run.adaptive_regret(fits, radius=facts.radius, linear=not exact)
            worst = dict(zip(found.lengths.tolist(), found.worst.tolist(), strict=True))
            own = [worst[length] for length in fits]
            ratios = [w / (unit * math.sqrt(n)) for w, n in zip(own, fits, strict=True)]
            rows.append(AdaptiveRow(*name, own, ratios, run.switching_cost))
        except Exception as refusal:
            rows.append(AdaptiveRow(*name, [], [], None, complaint(refusal)))
    return rows


def _cell(ratios: list[float]) -> str:
    return f"{np.mean(ratios):.2f} ({max(ratios):.2f})" if ratios else "–"

"""The benchmark on real streams: losses, intervals around our forecasts, and targets met."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from stillpoint.core.extras import require
from stillpoint.core.validation import count
from stillpoint.lab.bench.pages import write_pages
from stillpoint.lab.bench.ratios import geometric_mean, ratio
from stillpoint.lab.bench.workers import watched
from stillpoint.lab.real.intervals import SHORTEST, Band, bands
from stillpoint.lab.real.peers import LOGISTIC
from stillpoint.lab.real.players import BEST_SQUARES, HINDSIGHT, OURS, Entrant, entrants
from stillpoint.lab.real.prequential import Score, compete
from stillpoint.lab.streams import real
from stillpoint.lab.streams.real import BINARY, REGRESSION, RealStream

SQUARES_TARGET, LOG_TARGET = 1.02, 1.01
LONG = 200  # rounds from which the target for squared loss holds


@dataclass(frozen=True)
class StreamFacts:
    """What the tables say about a stream."""

    name: str
    task: str
    group: str
    package: str
    rounds: int
    dim: int
    classes: int
    description: str


@dataclass(frozen=True)
class Target:
    """A target, on how many streams it was met, and where it was not."""

    name: str
    met: int
    tried: int
    missed: tuple[str, ...] = ()


@dataclass(frozen=True)
class RealBench:
    """All scores. `save(folder)` writes real.md, real.json and real.png."""

    streams: list[StreamFacts]
    scores: list[Score]
    bands: list[Band]
    settings: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def best(self, stream: str, *players: str) -> Score | None:
        """The score with the least loss of these players on the stream."""
        found = [
            (s.loss, s)
            for s in self.scores
            if s.stream == stream and s.player in players and s.loss is not None
        ]
        return min(found, key=lambda pair: pair[0])[1] if found else None

    def loss(self, stream: str, *players: str) -> float | None:
        """The least loss of these players on the stream."""
        best = self.best(stream, *players)
        return None if best is None else best.loss

    def hindsight(self, stream: str) -> float | None:
        """The loss of the best filter with forgetting, chosen in hindsight."""
        return self.loss(stream, *HINDSIGHT)

    def targets(self) -> list[Target]:
        """What was to be reached, and whether it was."""
        long = [s.name for s in self.streams if s.task == REGRESSION and s.rounds >= LONG]
        pairs = [s.name for s in self.streams if s.task == BINARY]
        found = [
            self._target(
                f"squared loss ≤ {SQUARES_TARGET} × {BEST_SQUARES}, T ≥ {LONG}",
                long,
                self.hindsight,
                SQUARES_TARGET,
            ),
            self._target(
                f"log loss ≤ {LOG_TARGET} × best filter*, two classes",
                pairs,
                self.hindsight,
                LOG_TARGET,
            ),
            self._target(
                f"log loss below {LOGISTIC}'s, two classes",
                pairs,
                lambda name: self.loss(name, LOGISTIC),
                1.0,
            ),
        ]
        means = self.band_means()
        behind = [
            f"{name} {mean:.3f}" for name, mean in means.items() if name != OURS and mean <= 1.0
        ]
        peers = len(means) - 1
        if peers > 0:
            name = "pinball loss of intervals below every peer's*, on average"
            found.append(Target(name, peers - len(behind), peers, tuple(behind)))
        return [target for target in found if target.tried]

    def _target(
        self, name: str, streams: Sequence[str], other: Callable[[str], float | None], most: float
    ) -> Target:
        ratios = []
        for stream in streams:
            own, theirs = self.loss(stream, OURS), other(stream)
            if own is not None and theirs is not None:
                ratios.append((stream, ratio(own, theirs)))
        missed = tuple(f"{stream} {share:.3f}" for stream, share in ratios if share > most)
        return Target(name, len(ratios) - len(missed), len(ratios), missed)

    def band_means(self) -> dict[str, float]:
        """Geometric mean over streams of each method's pinball loss over ours."""
        own = {band.stream: band.pinball for band in self.bands if band.method == OURS}
        ratios: dict[str, list[float]] = {}
        for band in self.bands:
            ratios.setdefault(band.method, []).append(ratio(band.pinball, own[band.stream]))
        return {method: geometric_mean(values) for method, values in ratios.items()}

    def save(self, folder: str | Path) -> list[Path]:
        """Write Markdown, JSON and the figure into `folder`; returns the files."""
        require("matplotlib", "RealBench.save", "lab")
        from stillpoint.lab.real.figure import figure
        from stillpoint.lab.real.report import markdown

        files = write_pages(folder, "real", markdown(self), self.to_dict())
        files.append(files[0].with_suffix(".png"))
        figure(self).savefig(files[2], dpi=150)
        return files

    def to_dict(self) -> dict[str, Any]:
        """Settings, targets and all scores, of plain types."""
        return {
            "settings": self.settings,
            "notes": self.notes,
            "targets": [asdict(target) for target in self.targets()],
            "streams": [asdict(stream) for stream in self.streams],
            "scores": [asdict(score) for score in self.scores],
            "intervals": [asdict(band) for band in self.bands],
        }


def real_bench(
    streams: str | Iterable[str | RealStream] = (),
    *,
    task: str | None = None,
    rounds: int | None = 5000,
    players: Sequence[Entrant] = (),
    coverage: float = 0.9,
    progress: bool = False,
) -> RealBench:
    """Play every player over each stream.

    Parameters
    ----------
    streams
        Names, or streams; none means all that are installed.
    task
        Only streams of that task.
    rounds
        Cut streams to their first rounds, the same for all players; None for no cut.
    players
        None means `entrants()`.
    coverage
        Of the intervals around our forecasts.
    progress
        Whether to show a progress bar.
    """
    rounds = None if rounds is None else count("rounds", rounds)
    chosen, notes = _choose(streams, task)
    everybody = list(players) or entrants()
    facts: list[StreamFacts] = []
    scores: list[Score] = []
    found: list[Band] = []
    for each in watched(chosen, len(chosen), show=progress):
        stream = each if isinstance(each, RealStream) else real.load(each)
        own, forecasts = compete(stream, everybody, rounds)
        scores += own
        T = own[0].rounds if own else 0
        about = (
            stream.task,
            stream.group,
            stream.package,
            T,
            stream.dim,
            len(stream.classes),
            stream.description,
        )
        facts.append(StreamFacts(stream.name, *about))
        if stream.task == REGRESSION and OURS in forecasts and T >= SHORTEST:
            found += bands(stream.name, forecasts[OURS], stream.y[:T], coverage)
    if not any(score.loss is not None for score in scores):
        raise ValueError(
            "streams must have someone to play them: got no score at all; pip install"
            " 'stillpoint[real]'"
        )
    for score in scores:
        note = f"{score.player}: {score.note}"
        if score.missing and note not in notes:
            notes.append(note)
    settings = {
        "rounds": rounds,
        "coverage": coverage,
        "players": list(dict.fromkeys(score.player for score in scores)),
    }
    return RealBench(facts, scores, found, settings, notes)


def _choose(
    streams: str | Iterable[str | RealStream], task: str | None
) -> tuple[list[str | RealStream], list[str]]:
    asked = [streams] if isinstance(streams, str) else list(streams)
    names = real.names(task)
    if not asked:
        there = real.available(task)
        gone = sorted({real.entry(name).package for name in names if name not in there})
        return list(there), [
            f"{package} is not installed: its streams are left out" for package in gone
        ]
    wrong = [
        each
        for each in asked
        if task is not None and (real.entry(each) if isinstance(each, str) else each).task != task
    ]
    if wrong:
        raise ValueError(
            f"stream must be of task {task}: got {wrong[0]!r}; leave --task out, or name one of"
            f" {', '.join(names)}"
        )
    return [real.entry(each).name if isinstance(each, str) else each for each in asked], []

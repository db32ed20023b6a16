"""The benchmark of alerts: streams of known laws, with and without changes and anomalies."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from stillpoint.core.extras import require
from stillpoint.core.validation import count
from stillpoint.lab.alerts import anomalies, changes, laws, peers, scorers, summary
from stillpoint.lab.alerts.targets import Target, targets
from stillpoint.lab.bench.pages import write_pages
from stillpoint.lab.bench.workers import play_all

LATE, EARLY = 2000, 100  # rows of the changes
SHORTEST = LATE + changes.WITHIN  # rows that a stream must have
FEWER = 5  # anomalies are put into every fifth stream, several times
_PLACES = 10  # where anomalies are tried in a stream
_BLOCK = 10  # streams in a job
PARTS = CHANGES, ANOMALIES = "changes", "anomalies"


@dataclass(frozen=True)
class AlertsBench:
    """All streams. `save(folder)` writes alerts.md, alerts.json and alerts.png."""

    clean: list[changes.Clean]
    found: list[changes.Found]
    quiet: list[anomalies.Quiet]
    hits: list[anomalies.Hits]
    settings: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @cached_property
    def false_alarms(self) -> list[summary.FalseAlarms]:
        """Of detectors of changes, by law and method."""
        return summary.false_alarms(self.clean)

    @cached_property
    def delays(self) -> list[summary.Delays]:
        """By law, method, row and kind of the change."""
        return summary.delays(self.found)

    @cached_property
    def rates(self) -> list[summary.Rates]:
        """Of detectors of anomalies, by law, method and nominal rate."""
        return summary.rates(self.quiet)

    @cached_property
    def shares(self) -> list[summary.Shares]:
        """Anomalies found, by law, method, nominal rate and kind."""
        return summary.shares(self.hits)

    def delay(self, law: str, method: str, kind: str, start: int = LATE) -> summary.Delays | None:
        """The figures of one kind of change."""
        return self._delays.get((law, method, kind, start))

    @cached_property
    def _delays(self) -> dict[tuple[str, str, str, int], summary.Delays]:
        return {(each.law, each.method, each.kind, each.start): each for each in self.delays}

    def save(self, folder: str | Path) -> list[Path]:
        """Write Markdown, JSON and the figure into `folder`; returns the files."""
        require("matplotlib", "AlertsBench.save", "lab")
        from stillpoint.lab.alerts.figure import figure
        from stillpoint.lab.alerts.report import markdown

        files = write_pages(folder, "alerts", markdown(self), self.to_dict())
        if self.found:
            files.append(files[0].with_suffix(".png"))
            figure(self).savefig(files[2], dpi=150)
        return files

    def to_dict(self) -> dict[str, Any]:
        """Settings, targets and all figures, of plain types."""
        parts: dict[str, Sequence[Any]] = {
            "targets": self.targets(),
            "false_alarms": self.false_alarms,
            "changes": self.delays,
            "rates": self.rates,
            "anomalies": self.shares,
        }
        tables = {name: [asdict(each) for each in some] for name, some in parts.items()}
        return {"settings": self.settings, "notes": self.notes, **tables}

    def targets(self) -> list[Target]:
        """What was to be reached, and whether it was."""
        return targets(self)


def alerts_bench(
    law: Sequence[str] = (),
    *,
    parts: Sequence[str] = PARTS,
    seeds: Sequence[int] = range(100),
    rounds: int = 10_000,
    every: float = 10_000,
    jobs: int = 1,
    progress: bool = False,
) -> AlertsBench:
    """Play detectors of changes and of anomalies on streams of known laws.

    Parameters
    ----------
    law
        Names, or the groups known and unseen; none means all.
    parts
        "changes", "anomalies" or both.
    seeds
        A stream each; slow methods and anomalies play the first of them only.
    rounds
        Rows of streams without change.
    every
        Of `sp.Changes`.
    jobs
        Processes; timings are those of processes that run at once.
    """
    rounds = count("rounds", rounds)
    if rounds < SHORTEST:
        raise ValueError(f"rounds must be at least {SHORTEST}: got {rounds}; give 10000")
    for part in parts:
        if part not in PARTS:
            raise ValueError(f"only must be one of {', '.join(PARTS)}: got {part!r}; or give none")
    chosen, notes = laws.chosen(law), list[str]()
    tasks: list[tuple[Any, ...]] = []
    if ANOMALIES in parts:  # first, for the slowest are among them
        some = seeds[: _part(seeds, 1.0 / FEWER)]
        for scorer in _installed(scorers.scorers(), notes):
            tasks += [(_anomalies, *each, rounds) for each in _blocks(scorer, chosen, some, 1)]
    if CHANGES in parts:
        for method in _installed(peers.methods(every), notes):
            tasks += [(_changes, *each, rounds) for each in _blocks(method, chosen, seeds, _BLOCK)]
    results = play_all(_task, tasks, jobs=count("jobs", jobs), progress=progress)
    clean, found, quiet, hits = [], [], [], []
    for (function, *_), (free, put) in zip(tasks, results, strict=True):
        if function is _changes:
            clean += free
            found += put
        else:
            quiet += free
            hits += put
    order = {each.name: place for place, each in enumerate(chosen)}
    for table in (clean, found, quiet, hits):
        table.sort(key=lambda each: order[each.law])  # stable: methods stay in their order
    settings = {
        "laws": list(order),
        "parts": list(parts),
        "seeds": [int(seed) for seed in seeds],
        "rounds": rounds,
        "every": every,
        "starts": [EARLY, LATE],
        "places": _PLACES,
        "jobs": jobs,
    }
    return AlertsBench(clean, found, quiet, hits, settings, notes)


def _task(
    play: Callable[..., tuple[list[Any], list[Any]]], *arguments: Any
) -> tuple[list[Any], list[Any]]:
    return play(*arguments)


def _changes(
    law: laws.Law, method: peers.Method, seeds: Sequence[int], rounds: int
) -> tuple[list[Any], list[Any]]:
    clean, found = [], []
    for seed in seeds:
        free, put = changes.play(
            law,
            method.name,
            method.make,
            seed,
            rounds=rounds,
            starts=(EARLY, LATE),
            kinds=changes.kinds_of(law),
        )
        clean.append(free)
        found += put
    return clean, found


def _anomalies(
    law: laws.Law, method: scorers.Method, seeds: Sequence[int], rounds: int
) -> tuple[list[Any], list[Any]]:
    quiet, hits = [], []
    places = np.linspace(LATE, rounds - 100, _PLACES).astype(int).tolist()
    for seed in seeds:
        free, put = anomalies.play(
            law, method.name, method.make, seed, rounds=rounds, places=places
        )
        quiet += free
        hits += put
    return quiet, hits


def _part(seeds: Sequence[int], share: float) -> int:
    return max(1, round(share * len(seeds)))


def _blocks(
    method: Any, chosen: Sequence[laws.Law], seeds: Sequence[int], size: int
) -> list[tuple[Any, ...]]:
    """Jobs of a few streams each."""
    some = list(seeds[: _part(seeds, method.share)])
    return [
        (law, method, some[first : first + size])
        for law in chosen
        for first in range(0, len(some), size)
    ]


def _installed(methods: Sequence[Any], notes: list[str]) -> list[Any]:
    """Those whose package is installed; of the others there is a note."""
    gone = [each for each in methods if each.package and find_spec(each.package) is None]
    notes += [
        f"{each.name} is left out: {each.package} is not installed; pip install"
        f" 'stillpoint[{each.package}]'"
        for each in gone
    ]
    return [each for each in methods if each not in gone]

"""The benchmark on real series: scores by horizon, and ours over everybody's."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from stillpoint.core.validation import count
from stillpoint.core.words import suggest
from stillpoint.lab.bench.pages import write_pages
from stillpoint.lab.bench.ratios import geometric_mean, ratio
from stillpoint.lab.bench.workers import play_all
from stillpoint.lab.series import data
from stillpoint.lab.series.data import Series
from stillpoint.lab.series.peers import peers
from stillpoint.lab.series.rls import FORGETTING, AutoRegression
from stillpoint.lab.series.scoring import Entrant, Score, origins, score
from stillpoint.lab.series.simple import Ours, naive, seasonal_naive

OURS, TOLD = "stillpoint", "stillpoint, told"
BEST = "best of all others*"
REGRESSION = "AR-RLS"
MEASURES = ("mse1", "mae1", "winkler1", "mseh", "maeh", "winklerh")


def entrants(pool: str = "full") -> list[Entrant]:
    """Ours, told nothing and told the seasons, and everybody beside it."""
    return [
        Entrant(OURS, Ours(pool=pool), family=OURS),
        Entrant(TOLD, Ours(told=True, pool=pool), family=OURS),
        Entrant("last value", naive),
        Entrant("seasonal naive", seasonal_naive),
        *(
            Entrant(f"{REGRESSION} {rate:g}", AutoRegression(rate), family=REGRESSION)
            for rate in FORGETTING
        ),
        *peers(),
    ]


@dataclass(frozen=True)
class SeriesFacts:
    """What the tables say about a series."""

    name: str
    group: str
    every: str
    rounds: int
    missing: int
    seasons: tuple[int, ...]
    horizon: int
    package: str
    description: str


@dataclass(frozen=True)
class SeriesBench:
    """All scores. `save(folder)` writes series.md and series.json."""

    series: list[SeriesFacts]
    scores: list[Score]
    families: dict[str, str]
    settings: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def methods(self) -> list[str]:
        """Those that have a score, in the order they were given."""
        return [name for name in self.families if any(s.method == name for s in self.played())]

    def played(self) -> list[Score]:
        """The scores of methods that did play."""
        return [each for each in self.scores if not each.note]

    def find(self, series: str, method: str) -> Score | None:
        """The score of a method on a series."""
        return self._found.get((series, method))

    @cached_property
    def _found(self) -> dict[tuple[str, str], Score]:
        return {(each.series, each.method): each for each in self.played()}

    def others(self) -> list[str]:
        """Everybody but ours."""
        return [name for name in self.methods if self.families[name] != OURS]

    def figure(self, series: str, methods: Sequence[str], measure: str) -> float | None:
        """The least that any of these methods has on a series: for several, in hindsight."""
        found = [self.find(series, method) for method in methods]
        values = [getattr(each, measure) for each in found if each is not None]
        values = [value for value in values if value is not None]
        return min(values) if values else None

    def rivals(self) -> dict[str, list[str]]:
        """What ours is compared with: each other method, each family's best, the best of all.

        Those marked * are chosen in hindsight, series by series and measure by measure.
        """
        others = self.others()
        found = {name: [name] for name in others}
        for family in dict.fromkeys(self.families[name] for name in others):
            members = [name for name in others if self.families[name] == family]
            if family and len(members) > 1:
                found[f"best {family}*"] = members
        return found | ({BEST: others} if len(others) > 1 else {})

    def ratios(self, own: str, rival: Sequence[str], measure: str, group: str = "") -> list[float]:
        """`own` over a rival on each series of a group where both have the measure."""
        found = []
        for each in self.series:
            if group in ("", each.group):
                mine = self.figure(each.name, [own], measure)
                theirs = self.figure(each.name, rival, measure)
                if mine is not None and theirs is not None:
                    found.append(ratio(mine, theirs))
        return [value for value in found if math.isfinite(value)]

    def mean(self, own: str, rival: Sequence[str], measure: str, group: str = "") -> float | None:
        """The geometric mean of `ratios`."""
        found = self.ratios(own, rival, measure, group)
        return geometric_mean(found) if found else None

    def save(self, folder: str | Path) -> list[Path]:
        """Write Markdown and JSON into `folder`; returns the files."""
        from stillpoint.lab.series.report import markdown

        return write_pages(folder, "series", markdown(self), self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Settings, means and all scores, of plain types."""
        own = [name for name in self.methods if self.families[name] == OURS]
        means = [
            {"method": mine, "other": name, "group": group}
            | {measure: self.mean(mine, rival, measure, group) for measure in MEASURES}
            for mine in own
            for name, rival in self.rivals().items()
            for group in dict.fromkeys(each.group for each in self.series)
        ]
        return {
            "settings": self.settings,
            "notes": self.notes,
            "means": means,
            "series": [asdict(each) for each in self.series],
            "scores": [asdict(each) for each in self.scores],
        }


def series_bench(
    series: str | Iterable[str | Series] = (),
    methods: str | Iterable[str | Entrant] = (),
    *,
    rounds: int | None = None,
    pool: str = "full",
    jobs: int = 1,
    progress: bool = False,
) -> SeriesBench:
    """Let every method forecast every series, from rolling origins.

    Parameters
    ----------
    series
        Names, or series; none means all whose package is installed.
    methods
        Names, or entrants; none means all. One whose package is missing is left out with a note.
    rounds
        Cut series to their first rounds; None for whole ones.
    pool
        Of `sp.Forecaster`.
    jobs
        Processes; timings are those of processes that run at once.
    """
    rounds = None if rounds is None else count("rounds", rounds)
    played, notes = _entrants(methods, pool)
    chosen, gone = _series(series)
    notes = gone + notes
    loaded = [each.cut(rounds) for each in chosen]
    for each in loaded:
        origins(len(each), each.horizon)  # refuses what is too short before anybody plays
    pairs = [(each, entrant) for each in loaded for entrant in played]
    scores = play_all(_task, pairs, jobs=count("jobs", jobs), progress=progress)
    notes += [f"{each.method} on {each.series}: {each.note}" for each in scores if each.note]
    facts = [
        SeriesFacts(
            each.name,
            each.group,
            each.every,
            len(each),
            int(np.isnan(each.y).sum()),
            each.seasons,
            each.horizon,
            each.package,
            each.description,
        )
        for each in loaded
    ]
    settings = {"rounds": rounds, "pool": pool, "jobs": jobs}
    return SeriesBench(facts, scores, {e.name: e.family for e in played}, settings, notes)


def _task(series: Series, entrant: Entrant) -> Score:
    at = origins(len(series), series.horizon)
    try:
        return score(series, entrant.name, at, entrant.play(series, at))
    except Exception as error:  # of whatever package: one failure must not end hours of others
        line = " ".join(str(error).split())[:200]
        return Score(series.name, entrant.name, note=f"{type(error).__name__}: {line}")


def _entrants(methods: str | Iterable[str | Entrant], pool: str) -> tuple[list[Entrant], list[str]]:
    known = {each.name: each for each in entrants(pool)}
    asked = [methods] if isinstance(methods, str) else list(methods)
    found = []
    for each in asked or known.values():
        if isinstance(each, str) and each not in known:
            raise ValueError(
                f"method must be one of those there are: got {each!r};"
                f" {suggest(each, known, 3)}they are {'; '.join(known)}"
            )
        found.append(known[each] if isinstance(each, str) else each)
    gone = [each for each in found if each.package and find_spec(each.package) is None]
    notes = [
        f"{each.name} is left out: {each.package} is not installed; pip install"
        " 'stillpoint[series]'"
        for each in gone
    ]
    if len(gone) == len(found):
        raise ValueError(f"method must be installed: {notes[0]}")
    return [each for each in found if each not in gone], notes


def _series(series: str | Iterable[str | Series]) -> tuple[list[Series], list[str]]:
    asked = [series] if isinstance(series, str) else list(series)
    notes: list[str] = []
    if not asked:
        there = data.available()
        packages = {data.entry(name).package for name in data.names() if name not in there}
        notes = [f"{package} is not installed: its series are left out" for package in packages]
        if not there:
            raise ValueError(
                "series must be installed: got none of their packages; pip install"
                " 'stillpoint[series]'"
            )
        asked = list(there)
    return [data.load(each) if isinstance(each, str) else each for each in asked], sorted(notes)

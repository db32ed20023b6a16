"""`sp.Forecaster` on the M4 competition, beside the benchmarks that its OWA is measured in."""

import csv
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from stillpoint.core.validation import Array, count
from stillpoint.lab.bench.pages import write_pages
from stillpoint.lab.bench.workers import play_all
from stillpoint.lab.m4.files import Frequency, Task, frequency, read, there
from stillpoint.lab.m4.measures import mase, naive, naive2, seasonal_naive, smape
from stillpoint.lab.series.simple import Ours

OURS, BENCHMARK = "stillpoint", "Naive2"
TOLD, AUTO = "told", "auto"
TOTAL = "all"


@dataclass(frozen=True)
class Row:
    """The measures of one method on one series; mase is NaN where the series has no scale."""

    frequency: str
    series: str
    method: str
    smape: float
    mase: float
    seconds: float


@dataclass(frozen=True)
class Mean:
    """Means of a method over a frequency, or over all; owa: beside Naive2; ms: median a series."""

    frequency: str
    method: str
    series: int
    smape: float
    mase: float
    owa: float
    ms: float


@dataclass(frozen=True)
class M4Bench:
    """All rows. `save(folder)` writes m4.md, m4.json and m4.csv, a row a series and method."""

    rows: list[Row]
    settings: dict[str, Any] = field(default_factory=dict)

    def means(self) -> list[Mean]:
        """By frequency and method, then over all frequencies if there are several."""
        found = []
        kinds = list(dict.fromkeys(row.frequency for row in self.rows))
        for kind in [*kinds, *([TOTAL] if len(kinds) > 1 else [])]:
            some = [row for row in self.rows if kind in (TOTAL, row.frequency)]
            by: dict[str, list[Row]] = {}
            for row in some:
                by.setdefault(row.method, []).append(row)
            base = _mean(by[BENCHMARK])
            for method, rows in by.items():
                mean = _mean(rows)
                owa = 0.5 * float((mean / base).sum())
                # the median: the first series of each process also compiles
                ms = 1e3 * float(np.median([row.seconds for row in rows]))
                figures = float(mean[0]), float(mean[1]), owa, ms
                found.append(Mean(kind, method, len(rows), *figures))
        return found

    def save(self, folder: str | Path) -> list[Path]:
        """Write Markdown, JSON and CSV into `folder`; returns the files."""
        from stillpoint.lab.m4.report import markdown

        files = write_pages(folder, "m4", markdown(self), self.to_dict())
        files.append(files[0].with_suffix(".csv"))
        with files[2].open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow([each.name for each in fields(Row)])
            table.writerows(asdict(row).values() for row in self.rows)
        return files

    def to_dict(self) -> dict[str, Any]:
        """Settings and means, of plain types."""
        return {"settings": self.settings, "means": [asdict(mean) for mean in self.means()]}


def m4_bench(
    folder: str | Path,
    frequencies: str | Iterable[str] = (),
    *,
    season: str = AUTO,
    pool: str = "full",
    limit: int | None = None,
    jobs: int = 1,
    progress: bool = False,
    make: Callable[..., Any] | None = None,
) -> M4Bench:
    """Forecast the competition's series, each from its own training values alone.

    Parameters
    ----------
    folder
        Where its files are: Hourly-train.csv, Hourly-test.csv and so on, there or in the folders
        Train and Test.
    frequencies
        Names; none means all that are there.
    season
        "auto": told nothing. "told": the periods of the calendar, 24 and 168 hours, 7 days, 52
        weeks, 12 months, 4 quarters.
    pool
        Of `sp.Forecaster`.
    limit
        The first series of each frequency; None for all.
    make
        A class used in place of `sp.Forecaster`.
    """
    if season not in (TOLD, AUTO):
        raise ValueError(f"season must be told or auto: got {season!r}; auto is told nothing")
    ours = Ours(told=season == TOLD, pool=pool, make=make)
    limit = None if limit is None else count("limit", limit)
    asked = [frequencies] if isinstance(frequencies, str) else list(frequencies)
    kinds = [frequency(name) for name in asked] or there(folder)
    tasks = [(task, ours) for kind in kinds for task in read(folder, kind, limit)]
    batches = play_all(_task, tasks, jobs=count("jobs", jobs), progress=progress)
    rows = [row for batch in batches for row in batch]
    settings = {
        "frequencies": [kind.name for kind in kinds],
        "season": season,
        "pool": pool,
        "limit": limit,
    }
    return M4Bench(rows, settings)


def forecast(ours: Ours, train: Array, kind: Frequency) -> Array:
    """One pass of ours over the training values, then one path."""
    # of a season that was not seen twice nothing can be learnt
    model = ours.model(kind.horizon, tuple(m for m in kind.seasons if 2 * m < train.size))
    model.track(train)
    return np.asarray(model.predict(horizon=kind.horizon), dtype=np.float64)


def _task(task: Task, ours: Ours) -> list[Row]:
    """Everybody's measures on one series."""
    kind, train, rows = task.frequency, task.train, []
    methods: dict[str, Callable[[], Array]] = {
        OURS: lambda: forecast(ours, train, kind),
        BENCHMARK: lambda: naive2(train, kind.horizon, kind.period),
        "seasonal naive": lambda: seasonal_naive(train, kind.horizon, kind.period),
        "last value": lambda: naive(train, kind.horizon),
    }
    for name, method in methods.items():
        start = perf_counter()
        # as the competition's code has it: all its series are positive
        said = np.maximum(method(), 0.0)
        seconds = perf_counter() - start
        error = smape(task.test, said), mase(train, task.test, said, kind.period)
        rows.append(Row(kind.name, task.name, name, *error, seconds))
    return rows


def _mean(rows: list[Row]) -> Array:
    found: Array = np.nanmean([[row.smape, row.mase] for row in rows], axis=0)
    return found

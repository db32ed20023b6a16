"""Sweeps: learners × streams × seeds × horizons, on one machine or a cluster."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stillpoint.core.validation import count
from stillpoint.lab.bench.contenders import Contender, Learner, Outcome, complaint, lineup, outcome
from stillpoint.lab.cells import SweepStopped, settle
from stillpoint.lab.store import SweepRow
from stillpoint.lab.streams.registry import Spec

__all__ = ["Mean", "Sweep", "SweepStopped", "sweep"]


@dataclass(frozen=True)
class Mean:
    """Mean regret and loss of a learner on a stream at one horizon.

    Over the seeds that did not fail; None if all did.
    """

    learner: str
    stream: str
    horizon: int
    cells: int
    failed: int
    regret: float | None
    loss: float | None


@dataclass(frozen=True)
class Sweep:
    """The cells asked for, in order.

    Parameters
    ----------
    rows
        One per cell.
    folder
        Where they are kept.
    played
        How many of them were played now, not found in the folder.
    """

    rows: list[SweepRow]
    folder: Path
    played: int

    @property
    def failures(self) -> list[SweepRow]:
        """The cells that failed."""
        return [row for row in self.rows if row.error]

    def means(self) -> list[Mean]:
        """One `Mean` for each horizon, stream and learner."""
        cells: dict[tuple[str, str, int], list[SweepRow]] = {}
        for row in self.rows:
            cells.setdefault((row.learner, row.stream, row.horizon), []).append(row)
        means = []
        for key, rows in cells.items():
            regrets = [row.regret for row in rows if row.regret is not None]
            losses = [row.loss for row in rows if row.loss is not None]
            regret, loss = (
                float(np.mean(values)) if values else None for values in (regrets, losses)
            )
            means.append(Mean(*key, len(rows), len(rows) - len(regrets), regret, loss))
        return means

    def notes(self) -> list[str]:
        """Which cells failed, and which another version of the library played."""
        where: dict[tuple[str, str, str], int] = {}
        for row in self.failures:
            key = row.learner, row.stream, row.error
            where[key] = where.get(key, 0) + 1
        lines = [
            f"failed: {learner} on {stream} ({n}): {error}"
            for (learner, stream, error), n in where.items()
        ]
        if lines:
            lines.append("failed cells are kept as they are; retry (--retry) plays them again")
        for version in sorted({row.version for row in self.rows} - {_version()}):
            n = sum(row.version == version for row in self.rows)
            lines.append(
                f"{n} cells were played by stillpoint {version}; use a new folder to play them with"
                f" {_version()}"
            )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Counts, means and failures, of plain types."""
        counts = {"folder": str(self.folder), "cells": len(self.rows), "played": self.played}
        return {
            **counts,
            "means": [asdict(mean) for mean in self.means()],
            "failures": [asdict(row) for row in self.failures],
        }


def sweep(
    learners: str | Sequence[Learner],
    streams: str | Sequence[str | Spec],
    seeds: Iterable[int],
    horizons: Sequence[int],
    *,
    out: str | os.PathLike[str],
    backend: str = "loky",
    jobs: int | None = None,
    address: str | None = None,
    retry: bool = False,
    progress: bool = False,
) -> Sweep:
    """Play every learner on every stream, with every seed and horizon.

    Parameters
    ----------
    learners
        Names that `stillpoint bench regret` knows, (name, class, config) triples built as
        class(dim, **config), or contenders; none means all.
    streams
        What `streams.find` takes, or specs.
    out
        The folder: `cells.parquet` has the results, `cells.sqlite` what a later call needs.
    backend
        "loky" for processes here, "dask" or "ray".
    jobs
        How many cells at a time; None for one per core.
    address
        Of a running Dask scheduler or Ray head; without it they are started here.
    retry
        Play failed cells again.

    Notes
    -----
    A cell is known by its learner's name and what it assumes (a triple's class and config), stream,
    horizon and seed. Cells that the folder has are not played again, by whatever call or version
    they were played, so a sweep goes on after a kill, and grows when called with more. A cell that
    raises leaves a row with the error. A kill costs the cells in play.
    """
    players, specs, starts, rounds = lineup(learners, streams, seeds, horizons)
    jobs = None if jobs is None else count("jobs", jobs)
    cells = {
        (player.name, player.assumes, spec.name, horizon, seed): (player, spec, horizon, seed)
        for horizon in rounds
        for spec in specs
        for player in players
        for seed in starts
    }
    where: dict[str, Any] = {"out": out, "backend": backend, "jobs": jobs, "address": address}
    return Sweep(*settle(cells, _cell, SweepRow, **where, retry=retry, progress=progress))


def _cell(player: Contender, spec: Spec, horizon: int, seed: int) -> SweepRow:
    try:
        found = outcome(player, spec.make(horizon, seed), seed)
    # the stream's fault: no more reason to lose other cells than a learner's
    except Exception as error:
        found = Outcome(None, None, 0.0, complaint(error))
    result = found.regret, found.loss, found.seconds, _version(), found.error, found.warning
    return SweepRow(player.name, player.assumes, spec.name, horizon, seed, *result)


def _version() -> str:
    from stillpoint import __version__

    return __version__

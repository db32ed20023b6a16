"""Sweeps: learners × streams × seeds × horizons, on one machine or a cluster."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stillpoint.lab.bench.contenders import Contender, Learner, Outcome, complaint, outcome
from stillpoint.lab.cells import Named, SweepStopped, grouped, lay_out, settle
from stillpoint.lab.store import SweepRow
from stillpoint.lab.streams.own import as_stream
from stillpoint.lab.streams.registry import Spec

__all__ = ["Mean", "Sweep", "SweepStopped", "sweep"]


@dataclass(frozen=True)
class Mean:
    """Mean regret and loss of a learner on a stream at one horizon.

    Over the seeds that did not fail; None if all did, or if there is no comparator.
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
        means = []
        for key, rows in grouped(self.rows).items():
            regrets = [row.regret for row in rows if row.regret is not None]
            losses = [row.loss for row in rows if row.loss is not None]
            regret, loss = (
                float(np.mean(values)) if values else None for values in (regrets, losses)
            )
            failed = sum(bool(row.error) for row in rows)
            means.append(Mean(*key, len(rows), failed, regret, loss))
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
    streams: str | Sequence[str | Spec | Named],
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
        class(dim, **config), or contenders; none means the usual.
    streams
        What `streams.find` takes, specs, or (name, make) as `compare` takes them.
    seeds
        Seeds of the streams.
    horizons
        Rounds T of the runs, each in turn.
    out
        The folder: `cells.parquet` has the results, `cells.sqlite` what a later call needs. It
        needs the extras lab and parquet.
    backend
        "loky" for processes here, "dask" or "ray".
    jobs
        How many cells at a time; None for one per core.
    address
        The address of a running Dask scheduler or Ray head; without it they are started here.
    retry
        Play failed cells again.
    progress
        Show on stderr how many cells are finished.

    Returns
    -------
    Sweep
        The cells, in order, with their means.

    Notes
    -----
    A cell is known by its learner's name and what it assumes (a triple's class and config), stream,
    horizon and seed. Cells that the folder has are not played again, by whatever call or version
    they were played, so a sweep goes on after a kill, and grows when called with more. A cell that
    raises leaves a row with the error. A kill costs the cells in play.
    """
    cells = lay_out(learners, streams, seeds, horizons, jobs)
    where: dict[str, Any] = {"out": out, "backend": backend, "jobs": jobs, "address": address}
    return Sweep(*settle(cells, _cell, SweepRow, **where, retry=retry, progress=progress))


def _cell(player: Contender, spec: Spec, horizon: int, seed: int) -> SweepRow:
    try:
        found = outcome(player, as_stream(spec.make(horizon, seed)), seed)
    # the stream's fault: no more reason to lose other cells than a learner's
    except Exception as error:
        found = Outcome(None, None, 0.0, complaint(error))
    result = found.regret, found.loss, found.seconds, _version(), found.error, found.warning
    return SweepRow(player.name, player.assumes, spec.name, horizon, seed, *result)


def _version() -> str:
    from stillpoint import __version__

    return __version__

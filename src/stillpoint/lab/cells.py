"""Cells of an experiment: played once each, in parallel, kept in a folder as they are finished."""

import os
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from stillpoint.core.validation import count
from stillpoint.lab.bench.contenders import Contender, Learner, complaint, lineup
from stillpoint.lab.bench.workers import check_backend, watched, workers
from stillpoint.lab.store import Key, Store, SweepRow
from stillpoint.lab.streams.base import REPORTED
from stillpoint.lab.streams.registry import Spec

Named = tuple[str, Callable[[int, int], Any]]
Cell = tuple[Contender, Spec, int, int]
R = TypeVar("R", bound=SweepRow)


class SweepStopped(RuntimeError):
    """Workers were lost, or results could not be written; what is finished is kept."""


def lay_out(
    learners: str | Sequence[Learner],
    streams: str | Sequence[str | Spec | Named],
    seeds: Iterable[int],
    horizons: Sequence[int],
    jobs: int | None,
) -> dict[Key, Cell]:
    """The cells of an experiment by their keys, in order; bad arguments are refused."""
    entries = [streams] if isinstance(streams, str) else streams
    players, specs, starts, rounds = lineup(learners, [*map(_spec, entries)], seeds, horizons)
    if jobs is not None:
        count("jobs", jobs)
    return {
        (player.name, player.assumes, spec.name, horizon, seed): (player, spec, horizon, seed)
        for horizon in rounds
        for spec in specs
        for player in players
        for seed in starts
    }


def _spec(entry: Any) -> str | Spec:
    if isinstance(entry, str | Spec):
        return entry
    try:
        name, make = entry
        if not (isinstance(name, str) and callable(make)):
            raise TypeError
    except (TypeError, ValueError):
        raise ValueError(
            f"streams must be names, specs or (name, make): got {entry!r}; make(T, seed) returns a"
            " stream, or losses that sp.play takes"
        ) from None
    return Spec(name, "own", REPORTED, make)


def grouped(rows: Iterable[R]) -> dict[tuple[str, str, int], list[R]]:
    """The seeds of each learner, stream and horizon."""
    groups: dict[tuple[str, str, int], list[R]] = {}
    for row in rows:
        groups.setdefault((row.learner, row.stream, row.horizon), []).append(row)
    return groups


def settle(
    cells: Mapping[Key, tuple[Any, ...]],
    play: Callable[..., R],
    kind: type[R],
    *,
    out: str | os.PathLike[str],
    backend: str,
    jobs: int | None,
    address: str | None,
    retry: bool,
    progress: bool,
) -> tuple[list[R], Path, int]:
    """Play the cells that the folder `out` lacks; see `sweep`.

    Parameters
    ----------
    cells
        The arguments of `play` for each cell, by its key.
    play
        Plays one cell; it never raises.
    kind
        What it returns.

    Returns
    -------
    tuple
        All rows in the order of the cells, the folder, and how many were played now.
    """
    check_backend(backend, address)
    with Store(out, kind) as store:
        settled = {key for key, row in store.rows.items() if not (retry and row.error)}
        todo = [cell for key, cell in cells.items() if key not in settled]
        if todo:
            with workers(backend, jobs, address) as run:
                results = run(play, todo)
                try:
                    for row in watched(results, len(cells), len(cells) - len(todo), show=progress):
                        store.add(row)
                    store.export()
                except (Exception, KeyboardInterrupt) as error:
                    _drop(results)
                    done = len(cells.keys() & store.rows.keys())
                    kept = (
                        f"{done} of {len(cells)} cells are in {store.folder}; do the same again to"
                        " play the rest"
                    )
                    if isinstance(error, KeyboardInterrupt):
                        raise KeyboardInterrupt(f"interrupted: {kept}") from None
                    reason = complaint(error).splitlines()[0]
                    raise SweepStopped(f"the sweep stopped: {reason}; {kept}") from error
        return [store.rows[key] for key in cells], store.folder, len(todo)


def _drop(results: Generator[Any, None, None]) -> None:
    """Cancel what is still to come, without joblib's warning that results were not used."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results.close()

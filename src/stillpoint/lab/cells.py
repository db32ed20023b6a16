"""Cells of an experiment: played once each, in parallel, kept in a folder as they are finished."""

import os
import warnings
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from stillpoint.lab.bench.contenders import complaint
from stillpoint.lab.bench.workers import check_backend, watched, workers
from stillpoint.lab.store import Key, Store, SweepRow

R = TypeVar("R", bound=SweepRow)


class SweepStopped(RuntimeError):
    """Workers were lost, or results could not be written; what is finished is kept."""


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


def settle_in_memory(
    cells: Mapping[Key, tuple[Any, ...]],
    play: Callable[..., R],
    *,
    backend: str,
    jobs: int | None,
    address: str | None,
    progress: bool,
) -> list[R]:
    """Play all cells and keep them nowhere; rows are in the order of the cells."""
    with workers(backend, jobs, address) as run:
        results = run(play, list(cells.values()), ordered=True)
        return list(watched(results, len(cells), show=progress))


def _drop(results: Generator[Any, None, None]) -> None:
    """Cancel what is still to come, without joblib's warning that results were not used."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results.close()

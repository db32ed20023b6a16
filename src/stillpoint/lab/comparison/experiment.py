"""`compare`: learners × streams × seeds × horizons as one call, with curves kept."""

import os
from collections.abc import Iterable, Sequence
from typing import Any

from stillpoint.core.validation import count
from stillpoint.lab.bench.contenders import Learner
from stillpoint.lab.bench.workers import play_all
from stillpoint.lab.cells import Named, lay_out, settle
from stillpoint.lab.comparison.cell import CurveRow, play_cell
from stillpoint.lab.comparison.result import Comparison
from stillpoint.lab.streams.registry import Spec

# what papers call the arguments that learners are told by
_SYMBOLS = {
    "horizon": "T",
    "lipschitz": "G",
    "radius": "D",
    "smoothness": "L",
    "switching": "λ",
}


def compare(
    learners: str | Sequence[Learner],
    streams: str | Sequence[str | Spec | Named],
    *,
    seeds: int | Iterable[int] = 10,
    horizons: int | Sequence[int] = 1000,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = 1,
    backend: str = "loky",
    address: str | None = None,
    retry: bool = False,
    progress: bool = False,
) -> Comparison:
    """Play every learner on every stream with every seed, and keep what a paper reports of it.

    Parameters
    ----------
    learners
        Names that `stillpoint bench regret` knows, (name, class, config) triples built as
        class(dim, **config), or `Contender`s, which are built from the facts of a stream. Gradient
        learners are played; forecasters (`sp.TrackingForecaster`) track streams that have targets.
    streams
        What `streams.find` takes, specs, or (name, make), where make(T, seed) returns a `Stream`,
        losses that `sp.play` takes, or an `OwnStream`: such losses with a comparator, and with what
        learners may be told.
    seeds
        Seeds of the streams; a number n means 0, …, n − 1.
    horizons
        Rounds T, one or several.
    out
        A folder in which finished cells are kept, so that the same call goes on after a kill, and
        grows with more seeds. None keeps nothing. It needs the extras lab and parquet.
    jobs, backend, address, retry, progress
        As for `sweep`. Results do not depend on them, but for the time per round.

    Returns
    -------
    Comparison
        Tables (Markdown, LaTeX, CSV) and figures with their data.

    Notes
    -----
    A cell that raises leaves a row with the error, and the others go on; where all of them fail
    alike, that is a ValueError.

    Regret is against the stream's own comparator, where it has one. Adaptive regret is against the
    best fixed play on the worst interval: any play where one is best, those of at most the
    comparator's norm where none is, and linearised where no best play is computed. A learner's time
    is that of one play by whichever code `sp.play` has for it, once compiled; processes that share
    cores take longer.
    """
    starts = range(count("seeds", seeds)) if isinstance(seeds, int) else seeds
    rounds = [horizons] if isinstance(horizons, int) else list(horizons)
    entries = [learners] if isinstance(learners, str) else list(learners)
    cells = lay_out(entries, streams, starts, rounds, jobs)
    how: dict[str, Any] = {"backend": backend, "jobs": jobs, "address": address}
    if out is None:
        rows, played = play_all(play_cell, cells.values(), **how, progress=progress), len(cells)
    else:
        rows, _, played = settle(
            cells, play_cell, CurveRow, out=out, **how, retry=retry, progress=progress
        )
    _raise_if_all_failed(rows, kept=out is not None)
    told = {name: assumes for name, assumes, *_ in cells}
    told.update(
        {entry[0]: _config_in_words(entry[2]) for entry in entries if isinstance(entry, tuple)}
    )
    return Comparison(rows, told, played)


def _raise_if_all_failed(rows: Sequence[CurveRow], *, kept: bool) -> None:
    """Raise where no cell could be played and all failed alike: that is a mistake in the call."""
    reasons = {row.error for row in rows}
    if len(reasons) == 1 and (reason := reasons.pop()):
        again = "; then pass retry=True, as failed cells are kept" if kept else ""
        raise ValueError(
            f"learners must be able to play the streams: got in each of {len(rows)} cells {reason}"
            f"{again}"
        )


def _config_in_words(config: Any) -> str:
    """A configuration as tables have it: T, G, D, …, and values where there is no such letter."""
    parts = [_SYMBOLS.get(key) or f"{key} {_short(value)}" for key, value in dict(config).items()]
    return ", ".join(parts) or "nothing"


def _short(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= 24 else type(value).__name__

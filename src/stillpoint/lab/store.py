"""The folder of a sweep: rows in Parquet, one a cell, that survive a kill at any moment."""

import io
import os
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any

from stillpoint.core.container import lock, replace

WHOLE = "cells.parquet"
_PARTS = "part-{:06d}.parquet"
_MANY = 100  # parts are merged when there are so many
_UNSAVED = 1.0  # seconds of work, or of waiting, after which rows are written: what a kill may cost

Key = tuple[str, str, str, int, int]


@dataclass(frozen=True)
class SweepRow:
    """One cell. regret, loss: None if it failed, and `error` says why. seconds: of the play.
    version: stillpoint's.
    """

    learner: str
    told: str
    stream: str
    horizon: int
    seed: int
    regret: float | None
    loss: float | None
    seconds: float
    version: str
    error: str = ""
    warning: str = ""

    @property
    def key(self) -> Key:
        """What was played: the learner's name and what it was told, the stream's name, horizon and
        seed.
        """
        return self.learner, self.told, self.stream, self.horizon, self.seed


_COLUMNS = [field.name for field in fields(SweepRow)]
_TYPES = {
    "horizon": "int64",
    "seed": "int64",
    "regret": "float64",
    "loss": "float64",
    "seconds": "float64",
}


class Store:
    """Rows by key, in memory and in `folder`; a process has the folder to itself while the block
    lasts.

    New rows go into part files, each written whole under another name and then renamed. `merge`
    writes all rows into one file and then removes the parts; a kill in between leaves rows twice,
    with equal values, and reading takes the later one.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        from stillpoint.commands import parquet

        self.folder = Path(folder)
        self._arrow = parquet.load("a sweep")
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"out must be a folder: got the file {self.folder}; give another name")

    def __enter__(self) -> "Store":
        self.folder.mkdir(parents=True, exist_ok=True)
        taken = (
            f"out must be free: another sweep is writing {self.folder}; wait for it or use another"
            " folder"
        )
        self._lock = lock(self.folder / ".lock", taken)
        try:
            for path in self.folder.glob(".*.parquet.part"):
                path.unlink()  # half-written by a sweep that was killed
            parts = sorted(self.folder.glob(f"part-{6 * '[0-9]'}.parquet"))
            self.rows = {
                row.key: row
                for path in (self.folder / WHOLE, *parts)
                if path.exists()
                for row in self._read(path)
            }
        except BaseException:
            self._lock.close()
            raise
        self._next = 1 + max((int(path.stem[5:]) for path in parts), default=0)
        self._parts, self._seconds, self._last = parts, 0.0, perf_counter()
        self._pending: list[SweepRow] = []
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            # of the two errors, the first is the one to tell
            with suppress(OSError) if error is not None else nullcontext():
                self.merge()
        finally:
            self._lock.close()

    @property
    def unsaved(self) -> set[Key]:
        """The rows that are in memory alone."""
        return {row.key for row in self._pending}

    def add(self, row: SweepRow) -> None:
        """Keep a row. It is on disk at once, unless little work would be lost."""
        self.rows[row.key] = row
        self._pending.append(row)
        self._seconds += row.seconds
        if max(self._seconds, perf_counter() - self._last) >= _UNSAVED:
            path = self.folder / _PARTS.format(self._next)
            self._write(path, self._pending)
            self._parts.append(path)
            self._next, self._pending, self._seconds, self._last = (
                self._next + 1,
                [],
                0.0,
                perf_counter(),
            )
            if len(self._parts) >= _MANY:
                self.merge()

    def merge(self) -> None:
        """Write all rows into one file, then remove the parts."""
        if self._parts or self._pending:
            self._write(self.folder / WHOLE, self.rows.values())
            self._pending, self._seconds = [], 0.0
            for path in self._parts:
                path.unlink()
            self._parts = []

    def _write(self, path: Path, rows: Iterable[SweepRow]) -> None:
        kinds = [
            (name, self._arrow.type_for_alias(_TYPES.get(name, "string"))) for name in _COLUMNS
        ]
        table = self._arrow.Table.from_pylist(
            [vars(row) for row in rows], schema=self._arrow.schema(kinds)
        )
        body = io.BytesIO()
        self._arrow.parquet.write_table(table, body)
        replace(path, body.getvalue())

    def _read(self, path: Path) -> list[SweepRow]:
        remedy = "give a new folder, or move that file away"
        try:
            rows: list[dict[str, Any]] = self._arrow.parquet.read_table(path).to_pylist()
            return [SweepRow(**row) for row in rows]
        except (self._arrow.ArrowInvalid, TypeError) as error:
            reason = str(error).splitlines()[0]
            raise ValueError(
                f"out must hold a sweep's files only: got {path}, which is none ({reason});"
                f" {remedy}"
            ) from None

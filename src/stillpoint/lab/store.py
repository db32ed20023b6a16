"""The folder of a sweep: one row per cell, in a database that survives a kill at any moment."""

import errno
import io
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from stillpoint.core.container import replace
from stillpoint.core.extras import require

DATABASE, RESULTS = "cells.sqlite", "cells.parquet"

Key = tuple[str, str, str, int, int]


@dataclass(frozen=True)
class SweepRow:
    """One cell: a learner on a stream, with a horizon and a seed.

    Parameters
    ----------
    assumes
        What the learner assumes; for a class with its configuration, these.
    regret, loss
        None if the cell failed, and `error` says why; no regret where there is no comparator.
    seconds
        How long the play took.
    version
        The version of stillpoint that played it.
    """

    types: ClassVar[Mapping[str, str]] = {}

    learner: str
    assumes: str
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
        """What identifies the cell: learner, what it assumes, stream, horizon and seed."""
        return self.learner, self.assumes, self.stream, self.horizon, self.seed


_TYPES = {"horizon": "int64", "seed": "int64"} | dict.fromkeys(
    ("regret", "loss", "seconds"), "float64"
)
_SQL_TYPES = {"int64": "INTEGER", "float64": "REAL", "string": "TEXT", "curve": "BLOB"}
_RENAMED = {"told": "assumes"}  # columns of version 0.1

R = TypeVar("R", bound=SweepRow)


class Store(Generic[R]):
    """Rows by key, in memory and in a database in `folder`; a context manager.

    The database is locked while the block lasts, so that two sweeps never write one folder. Every
    row is a transaction of its own. At the end all rows are written to `cells.parquet`, from which
    a folder without a database is read, too.

    Parameters
    ----------
    folder
        Made where there is none.
    kind
        The class of the rows; fields that it adds to `SweepRow` are typed by its `types`, "float64"
        or "curve", a tuple of floats.
    """

    def __init__(self, folder: str | os.PathLike[str], kind: type[R]) -> None:
        self._kind = kind
        self._types = {
            field.name: {**_TYPES, **kind.types}.get(field.name, "string") for field in fields(kind)
        }
        self._create = (
            "CREATE TABLE IF NOT EXISTS cells ("
            + ", ".join(f"{name} {_SQL_TYPES[type_]}" for name, type_ in self._types.items())
            + ", PRIMARY KEY (learner, assumes, stream, horizon, seed))"
        )
        self._select = f"SELECT {', '.join(self._types)} FROM cells ORDER BY rowid"
        self._write = f"INSERT OR REPLACE INTO cells VALUES ({', '.join('?' * len(self._types))})"

        self.folder = Path(folder)
        self._arrow = require("pyarrow", "the folder out", "lab,parquet")
        require("pyarrow.parquet", "the folder out", "lab,parquet")
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"out must be a folder: got the file {self.folder}; give another name")

    def __enter__(self) -> "Store[R]":
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / DATABASE
        # of an earlier version, or copied without its database
        found = [] if path.exists() else sorted(self.folder.glob("*.parquet"))
        earlier = [row for each in found for row in self._read(each)]
        try:
            self._database = sqlite3.connect(path, timeout=0.0, isolation_level=None)
            try:
                self._open(earlier)
            except BaseException:
                self._database.close()
                raise
        except sqlite3.DatabaseError as error:
            raise self._refusal(error, path) from None
        return self

    def _open(self, earlier: list[R]) -> None:
        """Lock the database, make the table where there is none, and read all rows."""
        # in this mode the lock is kept from one transaction to the next
        self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
        # transactions are appended to a log: whole after a kill at any moment, and none waits
        # for the disk, so that a power cut may cost the last few
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.execute("BEGIN EXCLUSIVE")
        self._database.execute(self._create)
        self._database.executemany(self._write, map(self._values, earlier))
        self._database.execute("COMMIT")
        rows = [self._row(values) for values in self._database.execute(self._select)]
        self.rows = {row.key: row for row in rows}
        self._exported = False  # a kill may have left an older file

    def _refusal(self, error: sqlite3.DatabaseError, path: Path) -> Exception:
        """What to raise where the database cannot be opened."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without what extends it
        if code == sqlite3.SQLITE_BUSY:
            return ValueError(
                f"out must be free: another sweep is writing {self.folder}; wait for it or use"
                " another folder"
            )
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR):
            return _not_ours(path, error)
        return OSError(errno.EIO, str(error), str(path))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            # of the two errors, the first is the one to report
            with suppress(OSError) if error is not None else nullcontext():
                self.export()
        finally:
            self._database.close()

    def add(self, row: R) -> None:
        """Keep a row, in place of an earlier one of the same cell."""
        self._database.execute(self._write, self._values(row))
        self.rows[row.key] = row
        self._exported = False

    def export(self) -> None:
        """Write all rows to the Parquet file."""
        if self._exported or not self.rows:
            return
        kinds = [(name, self._arrow_type(type_)) for name, type_ in self._types.items()]
        table = self._arrow.Table.from_pylist(
            [vars(row) for row in self.rows.values()], schema=self._arrow.schema(kinds)
        )
        body = io.BytesIO()
        self._arrow.parquet.write_table(table, body)
        replace(self.folder / RESULTS, body.getvalue())
        self._exported = True

    def _read(self, path: Path) -> list[R]:
        try:
            rows: list[dict[str, Any]] = self._arrow.parquet.read_table(path).to_pylist()
            return [self._kind(**_named(row)) for row in rows]
        except (self._arrow.ArrowInvalid, TypeError) as error:
            raise _not_ours(path, error) from None

    def _arrow_type(self, type_: str) -> Any:
        if type_ == "curve":
            return self._arrow.list_(self._arrow.float64())
        return self._arrow.type_for_alias(type_)

    def _values(self, row: R) -> list[Any]:
        """A row as the database takes it."""
        return [
            np.asarray(value, "<f8").tobytes() if type_ == "curve" else value
            for type_, value in zip(self._types.values(), astuple(row), strict=True)
        ]

    def _row(self, values: Sequence[Any]) -> R:
        """Inverse of `_values`."""
        read: list[Any] = [
            tuple(np.frombuffer(value, "<f8").tolist()) if type_ == "curve" else value
            for type_, value in zip(self._types.values(), values, strict=True)
        ]
        return self._kind(*read)


def _named(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a Parquet file, by the names of fields."""
    return {_RENAMED.get(k, k): tuple(v) if isinstance(v, list) else v for k, v in row.items()}


def _not_ours(path: Path, error: Exception) -> ValueError:
    return ValueError(
        f"out must hold a sweep's files only: got {path}, which is none"
        f" ({str(error).splitlines()[0]}); give a new folder, or move that file away"
    )

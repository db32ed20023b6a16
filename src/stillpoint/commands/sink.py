"""predictions.csv and what grows beside it: whole rows only, whatever happens."""

import hashlib
import math
import os
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from stillpoint.commands.errors import InputError
from stillpoint.core.container import lock, places, sync_folder

_MARKS = ',"\n\r'
_END = 4096  # bytes by which a file is known again


class Sink:
    """A file of rows, written by one process at a time.

    Parameters
    ----------
    path
        The file.
    header
        Its first line.
    length
        Bytes to keep of what is there, from a checkpoint; None begins a new file.
    """

    def __init__(self, path: Path, header: bytes, length: int | None) -> None:
        self.path, self.length, self._new = path, 0, False
        if length is None:
            path.parent.mkdir(parents=True, exist_ok=True)
        else:
            check(path, length)
        # rows would mix
        taken = (
            f"--out must be free: another process is writing {path}; wait for it or use another"
            " folder"
        )
        real = places(path)[0]
        self._held = real.with_name(f".{real.name}.lock")
        self._lock = lock(self._held, taken)
        try:
            # none may be there of a file without a row yet
            self._fd = os.open(path, os.O_WRONLY | (0 if length else os.O_CREAT), 0o644)
        except BaseException:
            self._unlock()
            raise
        try:
            os.ftruncate(self._fd, length or 0)
            os.lseek(self._fd, length or 0, os.SEEK_SET)
            self.length = length or 0
            if length is None:
                self.write(header)
                self._new = True
        except BaseException:  # nobody else can: there is no sink to close
            self.close()
            raise

    def write(self, data: bytes) -> None:
        """Append rows: all of them, or none where that fails."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except BaseException:
            os.ftruncate(self._fd, self.length)  # a full disk, say: no half row stays behind
            os.lseek(self._fd, self.length, os.SEEK_SET)
            raise
        self.length += len(data)

    def sync(self) -> int:
        """Bring all to the disk; return the length."""
        os.fsync(self._fd)
        # the names, too: a checkpoint that a power cut left without its predictions could not go on
        if self._new:
            real = places(self.path)[0]
            for folder in (real.parent, real.parent.parent):
                sync_folder(folder)
            self._new = False
        return self.length

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)
        self._unlock()

    def _unlock(self) -> None:
        """Leave nothing beside the predictions; the file goes while it is still ours."""
        self._held.unlink(missing_ok=True)
        self._lock.close()


class Growing:
    """A file that grows with a run; it is not touched before there is something to write.

    Parameters
    ----------
    path
        The file.
    header
        Its first line.

    Attributes
    ----------
    length : int or None
        Bytes that are the run's; None while there is no file of it.
    """

    def __init__(self, path: Path, header: bytes = b"") -> None:
        self.path, self._header = path, header
        self.length: int | None = None
        self._sink: Sink | None = None
        self._synced: int | None = None

    def resume(self, length: int, end: str | None = None) -> None:
        """Go on from a checkpoint, which speaks of so many bytes; refuse a file without them."""
        check(self.path, length, end)
        self.length = length

    @property
    def end(self) -> str | None:
        """What tells its last bytes from those of another run; None while there is no file."""
        return None if self.length is None else end_of(self.path, self.length)

    def open(self) -> None:
        """Make the file, or cut it where the run goes on."""
        if self._sink is None:
            self._sink = Sink(self.path, self._header, self.length)
            self.length = self._sink.length

    def write(self, data: bytes) -> None:
        """Append rows."""
        self.open()
        assert self._sink is not None
        self._sink.write(data)
        self.length = self._sink.length

    def cut(self) -> None:
        """Cut off what nobody synced behind a checkpoint's length, where no row came to do that."""
        if self._sink is not None or self.length is None or not self.path.exists():
            return
        if self.path.stat().st_size > self.length:
            self.open()

    def sync(self) -> None:
        """Bring what is new to the disk."""
        if self._sink is not None and self._synced != self._sink.length:
            self._synced = self.length = self._sink.sync()

    def close(self) -> None:
        """Close the file."""
        if self._sink is not None:
            self._sink.close()


class Files:
    """The files of a run that grow with its rows: predictions, and what is beside them.

    Parameters
    ----------
    folder
        Where they are.
    first, header
        The name and the first line of the predictions.
    others
        Names of those beside.
    """

    def __init__(self, folder: Path, first: str, header: bytes, others: Sequence[str]) -> None:
        self.first = Growing(folder / first, header)
        self._others = [Growing(folder / name) for name in others]
        self._folder, self._names = folder, others

    def write(self, rows: bytes, beside: Sequence[bytes], stale: Sequence[str]) -> None:
        """Append to all of them, to the predictions first.

        stale: files of an earlier run that go when these begin.
        """
        new = self.first.length is None
        self.first.open()
        for name in stale if new else ():
            if name not in self._names:
                places(self._folder / name)[0].unlink(missing_ok=True)
        for file in self._others:
            file.open()
        self.first.write(rows)
        for file, more in zip(self._others, beside, strict=True):
            file.write(more)

    def each(self, act: Callable[[Growing], None]) -> None:
        """Do something with all of them, in order."""
        for file in (self.first, *self._others):
            act(file)

    def state(self) -> dict[str, Any]:
        """Return their lengths and how they end, for the header of a checkpoint."""
        others = [file.length for file in self._others]
        own = {"length": self.first.length, **({"lengths": others} if others else {})}
        return {**own, "ends": [file.end for file in (self.first, *self._others)]}

    def resume(self, header: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
        files, lengths = (self.first, *self._others), (header["length"], *header.get("lengths", ()))
        ends = header.get("ends", [None] * len(files))  # checkpoints of old have none
        for file, length, end in zip(files, lengths, ends, strict=True):
            file.resume(length, end)


def end_of(path: Path, length: int) -> str:
    """Return a hash of the last bytes of the first so many."""
    if not length:
        return hashlib.sha256().hexdigest()  # the file need not be there
    with path.open("rb") as file:
        file.seek(max(length - _END, 0))
        return hashlib.sha256(file.read(min(length, _END))).hexdigest()


def check(path: Path, length: int, end: str | None = None) -> None:
    """Refuse a file that is not the one a checkpoint speaks of.

    end: what `end_of` it was; None where that is not known.
    """
    size = path.stat().st_size if path.exists() else 0
    if size < length:
        raise InputError(
            f"{path} must be as the checkpoint left it: got {size} bytes of {length}; delete the"
            " checkpoint to begin anew"
        )
    if end is not None and end != end_of(path, length):
        raise InputError(
            f"{path} must be as the checkpoint left it: got other bytes, as another run writes"
            " them; put it back, or delete the checkpoint to begin anew"
        )


def lines(columns: Iterable[Sequence[str]], ends: Sequence[str] | str = "") -> bytes:
    """Return rows of CSV from columns of cells. ends: what each row, or every row, ends with."""
    if isinstance(ends, str):
        end = f"{ends}\n"
        return (end.join(map(",".join, zip(*columns, strict=True))) + end).encode()
    rows = zip(*chain(columns, [ends]), strict=True)
    return ("\n".join(map(",".join, rows)) + "\n").encode()


def cell(value: float) -> str:
    """Return a number for a cell, nothing for NaN."""
    return repr(value) if value == value else ""


def finite_or_null(value: Any) -> Any:
    """Return a value for JSON, which has no infinities and no NaN: None stands for them."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def quoted(text: str) -> str:
    """Return a text for a cell, in quotes where it needs them."""
    if any(mark in text for mark in _MARKS):
        return '"' + text.replace('"', '""') + '"'
    return text


def quoted_all(texts: list[str]) -> list[str]:
    """Return texts for cells; one look finds that none needs quotes."""
    joined = "".join(texts)
    return list(map(quoted, texts)) if any(mark in joined for mark in _MARKS) else texts

"""predictions.csv: whole rows only, whatever happens."""

import os
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from stillpoint.commands.errors import InputError
from stillpoint.core.container import lock, places, sync_folder

_MARKS = ',"\n\r'


class Sink:
    """The file of predictions, written by one process at a time.

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
            self._fd = os.open(path, os.O_WRONLY | (os.O_CREAT if length is None else 0), 0o644)
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


def check(path: Path, length: int) -> None:
    """Refuse a file that is not the one a checkpoint speaks of."""
    size = path.stat().st_size if path.exists() else 0
    if size < length:
        raise InputError(
            f"{path} must be as the checkpoint left it: got {size} bytes of {length}; delete the"
            " checkpoint to begin anew"
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


def quoted(text: str) -> str:
    """Return a text for a cell, in quotes where it needs them."""
    if any(mark in text for mark in _MARKS):
        return '"' + text.replace('"', '""') + '"'
    return text


def quoted_all(texts: list[str]) -> list[str]:
    """Return texts for cells; one look finds that none needs quotes."""
    joined = "".join(texts)
    return list(map(quoted, texts)) if any(mark in joined for mark in _MARKS) else texts

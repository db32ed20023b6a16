"""predictions.csv, row by row: whole rows only, whatever happens."""

import os
from pathlib import Path

from stillpoint.commands.encode import Rows
from stillpoint.commands.options import InputError
from stillpoint.core.container import lock, places, sync_folder
from stillpoint.core.validation import Array


class Sink:
    """The file of predictions. length: bytes to keep of what is there, from a checkpoint; None
    begins a new file.
    """

    header = b"row,time,y,forecast,lo,hi\n"

    def __init__(self, path: Path, length: int | None) -> None:
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
        self._fd = lock(path, taken, os.O_WRONLY | (os.O_CREAT if length is None else 0))
        try:
            os.ftruncate(self._fd, length or 0)
            os.lseek(self._fd, length or 0, os.SEEK_SET)
            self.length = length or 0
            if length is None:
                self._write(self.header)
                self._new = True
        except BaseException:  # nobody else can: there is no sink to close
            self.close()
            raise

    def add(
        self, row: int, rows: Rows, forecasts: Array, lo: Array, hi: Array, banded: bool
    ) -> None:
        """Write rows from number `row` on."""
        T = forecasts.size
        numbers = [str(i) for i in range(row, row + T)]
        times = numbers if rows.time_texts is None else [quoted(text) for text in rows.time_texts]
        targets = (
            [cell(v) for v in rows.y.tolist()]
            if rows.y_texts is None
            else [quoted(text) for text in rows.y_texts]
        )
        middles = map(repr, forecasts.tolist())
        if banded:
            cells = zip(
                numbers,
                times,
                targets,
                middles,
                map(repr, lo.tolist()),
                map(repr, hi.tolist()),
                strict=True,
            )
            text = "\n".join(map(",".join, cells))
        else:
            text = (
                ",,\n".join(map(",".join, zip(numbers, times, targets, middles, strict=True)))
                + ",,"
            )
        self._write((text + "\n").encode())

    def _write(self, data: bytes) -> None:
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
        """Bring all to the disk; returns the length."""
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


def check(path: Path, length: int) -> None:
    """Refuse a file that is not the one a checkpoint speaks of."""
    size = path.stat().st_size if path.exists() else 0
    if size < length:
        raise InputError(
            f"{path} must be as the checkpoint left it: got {size} bytes of {length}; delete the"
            " checkpoint to begin anew"
        )


def cell(value: float) -> str:
    """A number for a cell, nothing for NaN."""
    return repr(value) if value == value else ""


def quoted(text: str) -> str:
    """A text for a cell, in quotes where it needs them."""
    if any(mark in text for mark in ',"\n\r'):
        return '"' + text.replace('"', '""') + '"'
    return text

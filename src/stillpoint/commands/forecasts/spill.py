"""Rows of many keys in any order: kept in memory up to a limit, then on disk, sorted by key.

A file has the rows that came between two flushes: its keys by their hash (CRC-32 of the text), and
the rows of each in the order they came. Any range of hashes can be read without the rest.
"""

import math
import os
import zlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.container import replace
from stillpoint.core.validation import Array

ROOM = 64 << 20  # bytes of rows and keys in memory
HASHES = 1 << 32
_ROW, _KEY = 24, 160  # bytes in memory of a row, and of a key beside its text
_MARK = 0x31776F7273707473  # how a file begins
_HEAD = 5  # whole numbers: the mark, keys, rows, bytes of the keys' texts, whether times are there
_BITS = 22  # of a hash that tell keys apart where they are counted


class Rows(NamedTuple):
    """Rows by key, those of one key in the order they came."""

    keys: list[str]
    counts: NDArray[np.int64]  # rows of each key
    times: Array  # NaN where there are none
    values: Array


class Spill:
    """Rows on disk.

    Parameters
    ----------
    folder
        Where files go; it is made when the first is written.
    timed
        Whether rows have times.
    files
        How many are there, from an earlier run; more than that are not looked at.
    """

    def __init__(self, folder: Path, timed: bool, files: int = 0) -> None:
        self.folder, self.timed, self.files = folder, timed, files
        self._index: dict[str, int] = {}
        self._codes: list[NDArray[np.int64]] = []
        self._times: list[Array] = []
        self._values: list[Array] = []
        self._bytes = 0

    def add(
        self, keys: Sequence[str], codes: NDArray[np.int64], times: Array, values: Array
    ) -> None:
        """Add rows; codes: which of the keys each has."""
        if not values.size:
            return
        index, before = self._index, len(self._index)
        places = np.array([index.setdefault(key, len(index)) for key in keys], np.int64)
        self._codes.append(places[codes])
        self._values.append(values)
        if self.timed:
            self._times.append(times)
        self._bytes += _ROW * values.size + _KEY * (len(index) - before)

    @property
    def full(self) -> bool:
        """Whether it is time to flush."""
        return self._bytes >= ROOM

    def flush(self) -> None:
        """Write what is in memory, if anything is, as one more file."""
        if not self._index:
            return
        texts = [key.encode("utf-8", "surrogatepass") for key in self._index]
        hashes = np.array([zlib.crc32(text) for text in texts], np.uint32)
        order = np.argsort(hashes, kind="stable")
        ranks = np.empty(order.size, np.int64)
        ranks[order] = np.arange(order.size)
        codes = ranks[np.concatenate(self._codes)]
        rows = np.argsort(codes, kind="stable")
        texts = [texts[i] for i in order.tolist()]
        ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
        stops = np.cumsum(np.bincount(codes), dtype=np.int64)
        columns = [np.concatenate(self._values)[rows]]
        if self.timed:
            columns.append(np.concatenate(self._times)[rows])
        head = np.array([_MARK, order.size, rows.size, ends[-1], self.timed], np.int64)
        whole: list[NDArray[Any]] = [head, stops, ends, *columns, hashes[order]]
        self.folder.mkdir(parents=True, exist_ok=True)
        parts = [memoryview(part.tobytes()) for part in whole]
        replace(self._path(self.files), *parts, b"".join(texts))
        self.files += 1
        self._index, self._bytes = {}, 0
        self._codes, self._times, self._values = [], [], []

    def size(self) -> tuple[int, int]:
        """Return how many rows there are on disk, and about how many keys.

        Keys are told apart by 22 bits of their hash; with m = 2²² of which a share s is taken,
        there are about −m·log(1 − s).
        """
        rows, taken = 0, np.zeros(1 << _BITS, bool)
        for number in range(self.files):
            file = _File(self._path(number))
            rows += file.rows
            taken[file.hashes >> (32 - _BITS)] = True
        share = min(float(taken.mean()), 1.0 - 1.0 / taken.size)
        return rows, round(-taken.size * math.log1p(-share))

    def load(self, first: int, end: int) -> Rows:
        """Return the rows of keys whose hash is from `first` on and before `end`."""
        index: dict[str, int] = {}
        codes, times, values = [], [], []
        for number in range(self.files):
            file = _File(self._path(number))
            keys, counts, when, what = file.part(first, end)
            places = np.array([index.setdefault(key, len(index)) for key in keys], np.int64)
            codes.append(np.repeat(places, counts))
            times.append(when)
            values.append(what)
        if not index:
            return Rows([], np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
        names = sorted(index)
        ranks = np.empty(len(names), np.int64)
        ranks[[index[name] for name in names]] = np.arange(len(names))
        which = ranks[np.concatenate(codes)]
        order = np.argsort(which, kind="stable")
        counts = np.bincount(which, minlength=len(names))
        columns = (np.concatenate(column)[order] for column in (times, values))
        return Rows(names, counts.astype(np.int64), *columns)

    def clear(self) -> None:
        """Delete all files, and what a killed process left of one."""
        for path in self.folder.glob("*") if self.folder.is_dir() else ():
            path.unlink()
        self.files = 0

    def _path(self, number: int) -> Path:
        return self.folder / f"rows-{number:05}"


class _File:
    """One file, of which only what is asked for is read."""

    def __init__(self, path: Path) -> None:
        head = np.fromfile(path, np.int64, _HEAD).tolist() if path.exists() else []
        if len(head) < _HEAD or head[0] != _MARK:
            raise OSError(f"{path} must be as a run left it; begin anew, without its checkpoint")
        _, keys, self.rows, texts, timed = head
        self._path, place = path, 8 * _HEAD
        self._places: list[int] = []
        for size in (8 * keys, 8 * keys, 8 * self.rows, 8 * self.rows * timed, 4 * keys, texts):
            self._places.append(place)
            place += size
        if os.path.getsize(path) != place:
            raise OSError(f"{path} must be whole; begin anew, without its checkpoint")
        self._timed = bool(timed)
        self.hashes = np.memmap(path, np.uint32, "r", self._places[4], (keys,))

    def part(self, first: int, end: int) -> tuple[list[str], NDArray[np.int64], Array, Array]:
        """Return keys in a range of hashes, how many rows each has, their times and values."""
        hashes = self.hashes
        low = int(np.searchsorted(hashes, first))
        high = hashes.size if end >= HASHES else int(np.searchsorted(hashes, end))
        stops, ends = (self._from(0, low, high), self._from(1, low, high))
        row, text = int(stops[0]), int(ends[0])
        raw = self._read(5, np.uint8, text, int(ends[-1])).tobytes()
        cuts = (ends - text).tolist()
        keys = [raw[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(cuts)]
        values = self._read(2, np.float64, row, int(stops[-1]))
        blank = np.full(values.size, np.nan)
        times = self._read(3, np.float64, row, int(stops[-1])) if self._timed else blank
        return keys, np.diff(stops), times, values

    def _from(self, section: int, low: int, high: int) -> NDArray[np.int64]:
        """Return where some keys begin and end, from a section that says where each ends."""
        found = self._read(section, np.int64, max(low - 1, 0), high)
        return found if low else np.append(0, found)

    def _read(self, section: int, kind: type, start: int, stop: int) -> NDArray[Any]:
        place = self._places[section] + np.dtype(kind).itemsize * start
        return np.fromfile(self._path, kind, max(stop - start, 0), offset=place)

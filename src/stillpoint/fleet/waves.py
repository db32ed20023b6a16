"""Keys of rows, and the waves that rows are cut into: in each, keys differ."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array, real
from stillpoint.fleet.keys import Slots, hashed

NOT_LATER = "time must increase"
_NOT_A_KEY = "key must be a whole number or text: got {!r}; give every row its key"


class LatestTimes:
    """The latest time of each key, by its place in the fleet; −inf where there is none."""

    def __init__(self, times: Array | None = None) -> None:
        self._times = np.zeros(0) if times is None else times

    def __bool__(self) -> bool:
        return self._times.size > 0

    def of(self, slots: Slots) -> Array:
        """The latest times at these places; −1 is no place."""
        self._reach(slots)
        return np.where(slots >= 0, self._times[slots] if self._times.size else -np.inf, -np.inf)

    def keep(self, slots: Slots, times: Array) -> None:
        """Note the latest times at these places."""
        self._reach(slots)
        known = slots >= 0
        self._times[slots[known]] = times[known]

    def _reach(self, slots: Slots) -> None:
        before, size = self._times.size, int(slots.max(initial=-1)) + 1
        if size > before:
            more = np.full(max(size, 2 * before) - before, -np.inf)
            self._times = np.append(self._times, more)


def later(rows: Slots, codes: Slots, when: Array, last: Array, rejected: dict[int, str]) -> Slots:
    """The rows of a wave whose time is after their key's last, which they move on."""
    which = codes[rows]
    good = np.isfinite(when[rows]) & (when[rows] > last[which])
    for row in rows[~good].tolist():
        got = f"got {when[row]} after {last[codes[row]]}; sort the rows, and drop repeats"
        rejected.setdefault(row, f"{NOT_LATER}: {got}")
    last[which[good]] = when[rows[good]]
    return rows[good]


def waves(codes: Slots) -> Iterator[Slots]:
    """Cut rows into waves in which keys differ: wave k has the k-th row of every key, in order.

    codes are the keys as 0, 1, …, −1 for none.
    """
    rows = np.flatnonzero(codes >= 0)
    given = codes[rows]
    if rows.size == 0:
        return
    sizes = np.bincount(given)
    if sizes.max() == 1:
        yield rows
        return
    order = np.argsort(given, kind="stable")
    rank = np.empty(rows.size, np.int64)
    rank[order] = np.arange(rows.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    by_wave = rows[np.argsort(rank, kind="stable")]
    yield from np.split(by_wave, np.cumsum(np.bincount(rank))[:-1])


def numbered(keys: Any) -> tuple[Any, Slots, dict[int, str]]:
    """The keys there are, which of them each row has (−1: none that can be one), and complaints."""
    if isinstance(keys, np.ndarray) and keys.dtype.kind in "iu":
        names, codes = np.unique(keys, return_inverse=True)
        return names, codes.astype(np.int64), {}
    index: dict[Any, int] = {}
    if set(map(type, keys)) == {str} and "" not in keys:
        given = [index.setdefault(key, len(index)) for key in keys]
        return list(index), np.array(given, np.int64), {}
    codes, bad = np.full(len(keys), -1), {}
    for row, key in enumerate(keys):
        if (isinstance(key, str) and key) or (
            isinstance(key, int | np.integer) and not isinstance(key, bool)
        ):
            codes[row] = index.setdefault(hashed(key), len(index))
        else:
            bad[row] = _NOT_A_KEY.format(key)
    firsts = np.unique(codes, return_index=True)[1]
    return [keys[row] for row in firsts.tolist() if codes[row] >= 0], codes, bad


def by_place(keys: Any) -> Any:
    """Keys as an array of whole numbers, or a list.

    Columns of data frames would be looked into by their labels.
    """
    if not hasattr(keys, "__array__"):
        return keys
    array = np.asarray(keys)
    if array.ndim != 1:
        raise ValueError(f"keys must be a vector: got shape {array.shape}; pass one key a row")
    if array.dtype.kind in "iu":
        return array
    # dates would become whole numbers
    return list(array) if array.dtype.kind in "mM" else array.tolist()


def take(keys: Any, rows: Slots) -> Any:
    """The keys of these rows."""
    return keys[rows] if isinstance(keys, np.ndarray) else [keys[row] for row in rows.tolist()]


def column(name: str, given: ArrayLike, n: int) -> Array:
    """One number for each of n rows."""
    values = real(name, given, "pass one number a row")
    if values.shape != (n,):
        raise ValueError(
            f"{name} must be as many as keys: got shape {values.shape} for {n} keys; pass one"
            " number a row"
        )
    return values

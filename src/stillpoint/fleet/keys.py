"""From keys to places in arrays: whole numbers by a compiled hash table, other keys by a dict."""

import os
from collections.abc import Hashable, Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.fleet import _keys

Slots = NDArray[np.int64]
Keys = NDArray[np.int64] | list[Any]
_REMEDY = "pass an array or a list of whole numbers or strings, one a stream"
_FREE, _NUMBER, _OBJECT = 0, 1, 2  # what is at a place
_INT64 = np.iinfo(np.int64)
# random words of the hash, drawn once a process: who does not know them cannot choose keys that
# collide
_SECRET = np.frombuffer(os.urandom(8 * 8 * 256), np.uint64).reshape(8, 256).copy()


def _is_whole(key: Any) -> bool:
    return isinstance(key, int | np.integer) and not isinstance(key, bool | np.timedelta64)


def _is_number(key: Any) -> bool:
    """Whether a key goes through the table; larger whole numbers are objects like any other."""
    return _is_whole(key) and _INT64.min <= int(key) <= _INT64.max


def hashed(key: Any) -> Hashable:
    """A key as dicts hold it: text for numbers beyond int64.

    Python hashes such numbers without a secret, by a known modulus.
    """
    if isinstance(key, int | np.integer) and not _INT64.min <= key <= _INT64.max:
        return int, f"{int(key):x}"
    return key  # type: ignore[no-any-return]


class KeyIndex:
    """Places of keys. Places of retired keys are given out again; the table is at most half full.

    Places are given out in the order in which keys come: the hash decides how long a search takes,
    and nothing else.
    """

    def __init__(self) -> None:
        self.capacity = 0
        self._names = np.zeros(0, np.int64)
        self._stamps = np.zeros(0, np.int64)
        self._what = np.zeros(0, np.uint8)
        self._secret, self._table = _SECRET, np.full(16, _keys.EMPTY)
        # entries of the table that are not EMPTY; mark of the last search for repeats
        self._used, self._stamp = 0, 0
        self._objects: dict[Hashable, int] = {}
        self._owners: dict[int, Hashable] = {}
        self._free: list[int] = []
        # places below have been given out at some time; before the last keys that entered
        self._top, self._before = 0, 0
        self._last: tuple[Any, Slots] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """All but the secret and the table, which is worth nothing without it."""
        return {
            name: value for name, value in vars(self).items() if name not in ("_secret", "_table")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._secret = _SECRET
        self._rebuild()

    def __len__(self) -> int:
        return self._top - len(self._free)

    @property
    def nbytes(self) -> int:
        """Memory of the arrays; a dict of other keys comes on top."""
        return self._names.nbytes + self._stamps.nbytes + self._what.nbytes + self._table.nbytes

    def slots(self) -> Slots:
        """Places in use, in order."""
        return np.flatnonzero(self._what[: self._top] != _FREE)

    def names(self, slots: Slots) -> Keys:
        """The keys at these places: an array where all are whole numbers, a list otherwise."""
        if (self._what[slots] == _NUMBER).all():
            return self._names[slots]
        return [
            int(self._names[slot]) if self._what[slot] == _NUMBER else self._owners[slot]
            for slot in slots.tolist()
        ]

    def find(self, keys: Any) -> tuple[Keys, Slots]:
        """The keys as an array of whole numbers or a list, and their places, −1 where unknown.

        ValueError for repeats.
        """
        names = _as_keys(keys)
        # most streams come in the same batches again and again
        if self._last is not None and _same(names, self._last[0]):
            return names, self._last[1]
        slots = np.empty(len(names), np.int64)
        if isinstance(names, np.ndarray):
            unknown = _keys.find(names, self._table, self._names, self._secret, slots)
        else:
            # most names are text, and none of that is in the table
            if set(map(type, names)) == {str}:
                slots[:] = [self._objects.get(key, _keys.EMPTY) for key in names]
            else:
                slots[:] = [self._place(key) for key in names]
            unknown = int((slots < 0).sum())
        self._stamp += 1
        again = _keys.repeated(slots, self._stamps, self._stamp)
        if again < 0 and unknown:
            again = _repeated_new(names, slots)
        if again >= 0:
            raise ValueError(
                f"keys must differ within a batch: got {plain(names, again)!r} twice; pass its"
                " rounds one after the other, or to track in one row"
            )
        if not unknown:
            self._last = (names.copy(), slots)
        return names, slots

    def _place(self, key: Any) -> int:
        if _is_number(key):
            slot = np.empty(1, np.int64)
            _keys.find(np.array([key], np.int64), self._table, self._names, self._secret, slot)
            return int(slot[0])
        try:
            return self._objects.get(hashed(key), _keys.EMPTY)
        except TypeError:
            raise ValueError(f"keys must be hashable: got {key!r}; {_REMEDY}") from None

    def missing(self, slots: Slots) -> int:
        """How many new places have to be made before the unknown of these can `enter`."""
        return max(0, int((slots < 0).sum()) - len(self._free) - (self.capacity - self._top))

    def grow(self, capacity: int) -> None:
        """Make room."""
        more = capacity - self.capacity
        own = self._names, self._stamps, self._what
        self._names, self._stamps, self._what = (
            np.append(old, np.zeros(more, old.dtype)) for old in own
        )
        self.capacity = capacity

    def enter(self, names: Keys, slots: Slots) -> Slots:
        """Give the unknown ones (−1 in slots, which is filled in) a place each; returns those."""
        new, self._before = np.flatnonzero(slots < 0), self._top
        reused = [self._free.pop() for _ in range(min(new.size, len(self._free)))]
        fresh = np.append(
            np.array(reused, np.int64), np.arange(self._top, self._top + new.size - len(reused))
        )
        self._top += new.size - len(reused)
        slots[new] = fresh
        if isinstance(names, np.ndarray):
            numbers, values = fresh, names[new]
        else:
            given = [(slot, names[i]) for i, slot in zip(new.tolist(), fresh.tolist(), strict=True)]
            pairs = [pair for pair in given if _is_number(pair[1])]
            numbers, values = (np.array([pair[j] for pair in pairs], np.int64) for j in (0, 1))
            others = {slot: key for slot, key in given if not _is_number(key)}
            self._owners |= others
            self._objects |= {hashed(key): slot for slot, key in others.items()}
            self._what[list(others)] = _OBJECT
        self._names[numbers], self._what[numbers] = values, _NUMBER
        self._used += numbers.size
        if 2 * self._used > self._table.size:
            self._rebuild()
        else:
            _keys.insert(numbers, self._table, self._names, self._secret)
        self._last = (names.copy(), slots)
        return fresh

    def _rebuild(self) -> None:
        numbers = np.flatnonzero(self._what[: self._top] == _NUMBER)
        self._used = numbers.size
        size = 16
        while size < 4 * self._used:
            size *= 2
        self._table = np.full(size, _keys.EMPTY)
        _keys.insert(numbers, self._table, self._names, self._secret)

    def withdraw(self, slots: Slots) -> None:
        """Undo the last `enter`, which gave out these places.

        Later keys get the places they would have got without it.
        """
        if slots.size:
            self.remove(slots)
            del self._free[-slots.size :]
            self._top = self._before
            self._free.extend(reversed(slots[slots < self._top].tolist()))

    def remove(self, slots: Slots) -> None:
        """Forget the keys at these places."""
        numbers = slots[self._what[slots] == _NUMBER]
        _keys.remove(numbers, self._table, self._names, self._secret)
        for slot in slots[self._what[slots] == _OBJECT].tolist():
            del self._objects[hashed(self._owners.pop(slot))]
        self._what[slots] = _FREE
        self._free.extend(slots.tolist())
        self._last = None


def _as_keys(keys: Any) -> Keys:
    """Whole numbers as an int64 array, other keys as a list."""
    if hasattr(keys, "__array__"):  # arrays, and columns of data frames
        keys = np.asarray(keys)
        if keys.ndim != 1 or keys.dtype.kind not in "iuUSO":
            raise ValueError(
                f"keys must be a vector of whole numbers or strings: got {keys.dtype} {keys.shape};"
                f" {_REMEDY}"
            )
        fits = keys.dtype.kind == "i" or (
            keys.dtype.kind == "u" and (keys.size == 0 or keys.max() <= _INT64.max)
        )
        if fits:
            # for arrays that may not be written to, loops are compiled anew
            return np.require(keys, np.int64, ["C", "W"])
        keys = keys.tolist()
    elif isinstance(keys, str | bytes) or not isinstance(keys, Sequence):
        raise ValueError(f"keys must be a sequence: got {keys!r}; {_REMEDY}")
    if set(map(type, keys)) == {str}:
        return list(keys)
    if all(type(key) is int for key in keys) and all(map(_is_number, keys)):
        return np.array(keys, np.int64)
    for key in keys:
        # 1.0, True and Decimal(1) would be the key 1, and NaN or what pandas calls NA no key
        number = isinstance(key, Number | np.bool_) and not _is_whole(key)
        if number or key is None or type(key).__name__ in ("NAType", "NaTType"):
            raise ValueError(
                f"keys must be whole numbers, strings or other names: got {key!r}; {_REMEDY}"
            )
    return list(keys)


def plain(names: Keys, row: int) -> Any:
    """A key as it was given."""
    return names[row].item() if isinstance(names, np.ndarray) else names[row]


def _same(names: Keys, last: Keys) -> bool:
    if isinstance(names, np.ndarray) and isinstance(last, np.ndarray):
        return names.size == last.size and bool((names == last).all())
    return isinstance(names, list) and isinstance(last, list) and names == last


def _repeated_new(names: Keys, slots: Slots) -> int:
    """Index of a new key that is there twice, or −1."""
    new = np.flatnonzero(slots < 0)
    if isinstance(names, np.ndarray):
        ordered = np.sort(names[new])  # np.unique hashes, and is many times slower
        if not (ordered[1:] == ordered[:-1]).any():
            return -1
    seen = set()
    for i in new.tolist():
        key = hashed(names[i])
        if key in seen:
            return i
        seen.add(key)
    return -1

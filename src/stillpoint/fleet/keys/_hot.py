"""A hash table of whole numbers by linear probing: `table` holds places, `names` the key at each place."""

import numpy as np

from stillpoint._jit import njit

EMPTY, GONE = -1, -2  # entries of the table that hold no place; a search goes on past GONE


@njit(cache=True)
def start(key: int, mask: int) -> np.int64:
    """Where the search for a key begins: Fibonacci hashing, whose high bits are the well mixed ones."""
    return np.int64(np.uint64(key) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(20)) & mask


@njit(cache=True)
def find(keys: np.ndarray, table: np.ndarray, names: np.ndarray, slots: np.ndarray) -> int:
    """Fill slots with the place of each key, EMPTY for unknown ones; returns how many are unknown."""
    mask, unknown = table.size - 1, 0
    for i in range(keys.size):
        at = start(keys[i], mask)
        while table[at] != EMPTY and (table[at] == GONE or names[table[at]] != keys[i]):
            at = (at + 1) & mask
        slots[i] = table[at]
        if slots[i] == EMPTY:
            unknown += 1
    return unknown


@njit(cache=True)
def insert(slots: np.ndarray, table: np.ndarray, names: np.ndarray) -> None:
    """Enter places whose names are set and not in the table yet."""
    mask = table.size - 1
    for i in range(slots.size):
        at = start(names[slots[i]], mask)
        while table[at] >= 0:
            at = (at + 1) & mask
        table[at] = slots[i]


@njit(cache=True)
def remove(slots: np.ndarray, table: np.ndarray, names: np.ndarray) -> None:
    """Take places out; searches still go past where they were."""
    mask = table.size - 1
    for i in range(slots.size):
        at = start(names[slots[i]], mask)
        while table[at] != slots[i]:
            at = (at + 1) & mask
        table[at] = GONE


@njit(cache=True)
def repeated(slots: np.ndarray, stamps: np.ndarray, stamp: int) -> int:
    """Index of the first place that came before in `slots`, −1 where all differ; stamps mark those seen."""
    for i in range(slots.size):
        if slots[i] >= 0:
            if stamps[slots[i]] == stamp:
                return i
            stamps[slots[i]] = stamp
    return -1

"""A hash table of whole numbers by linear probing.

`table` holds places, `names` the key at each place.

Simple tabulation hashing (Zobrist 1970; Pătraşcu & Thorup, "The power of simple tabulation
hashing", J. ACM 59(3), 2012): the key's eight bytes choose a random word each, and the words are
combined by XOR. For any set of keys that was chosen without knowing the words, linear probing then
takes a constant number of steps in expectation, as with a truly random hash. Multiplying by a
constant has no such promise, and for one that is known keys that all collide are soon written down.
"""

import numpy as np

from stillpoint.core.jit import njit

EMPTY, GONE = -1, -2  # entries of the table that hold no place; a search goes on past GONE
# keys that are hashed before the first of them is looked up: the processor then waits for many
# entries at once
BLOCK = 128


@njit(cache=True)
def start(key: int, secret: np.ndarray, mask: int) -> np.int64:
    """Where the search for a key begins. secret: (8, 256) random words."""
    rest, mixed = np.uint64(key), np.uint64(0)
    for byte in range(8):
        mixed ^= secret[byte, rest & np.uint64(255)]
        rest >>= np.uint64(8)
    return np.int64(mixed & np.uint64(mask))


@njit(cache=True)
def find(
    keys: np.ndarray, table: np.ndarray, names: np.ndarray, secret: np.ndarray, slots: np.ndarray
) -> int:
    """Fill slots with the place of each key, EMPTY if unknown; returns how many are unknown."""
    mask, unknown, begin = table.size - 1, 0, np.empty(BLOCK, np.int64)
    for first in range(0, keys.size, BLOCK):
        size = min(BLOCK, keys.size - first)
        for i in range(size):
            begin[i] = start(keys[first + i], secret, mask)
        for i in range(size):
            slots[first + i] = table[begin[i]]
        for i in range(size):
            key, slot, at = keys[first + i], slots[first + i], begin[i]
            while slot != EMPTY and (slot == GONE or names[slot] != key):
                at = (at + 1) & mask
                slot = table[at]
            slots[first + i] = slot
            unknown += slot == EMPTY
    return unknown


@njit(cache=True)
def insert(slots: np.ndarray, table: np.ndarray, names: np.ndarray, secret: np.ndarray) -> None:
    """Enter places whose names are set and not in the table yet."""
    mask, begin = table.size - 1, np.empty(BLOCK, np.int64)
    for first in range(0, slots.size, BLOCK):
        size = min(BLOCK, slots.size - first)
        for i in range(size):
            begin[i] = start(names[slots[first + i]], secret, mask)
        for i in range(size):
            at = begin[i]
            while table[at] >= 0:
                at = (at + 1) & mask
            table[at] = slots[first + i]


@njit(cache=True)
def remove(slots: np.ndarray, table: np.ndarray, names: np.ndarray, secret: np.ndarray) -> None:
    """Take places out; searches still go past where they were."""
    mask = table.size - 1
    for i in range(slots.size):
        at = start(names[slots[i]], secret, mask)
        while table[at] != slots[i]:
            at = (at + 1) & mask
        table[at] = GONE


@njit(cache=True)
def repeated(slots: np.ndarray, stamps: np.ndarray, stamp: int) -> int:
    """Index of the first place that came before in `slots`, −1 where all differ.

    stamps mark those seen.
    """
    for i in range(slots.size):
        if slots[i] >= 0:
            if stamps[slots[i]] == stamp:
                return i
            stamps[slots[i]] = stamp
    return -1

"""Rows of many keys, sorted by key."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.validation import Array


class Rows(NamedTuple):
    """Rows by key, those of one key in the order they came."""

    keys: list[str]
    counts: NDArray[np.int64]  # rows of each key
    times: Array  # NaN where there are none
    values: Array


def gathered(keys: list[str], codes: NDArray[np.int64], times: Array, values: Array) -> Rows:
    """Return rows in the order of their keys; codes: which of the keys each row has."""
    names = sorted(keys)
    ranks = np.empty(len(keys), np.int64)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    which = ranks[codes]
    order = np.argsort(which, kind="stable")
    counts = np.bincount(which, minlength=len(keys)).astype(np.int64)
    return Rows(names, counts, times[order], values[order])

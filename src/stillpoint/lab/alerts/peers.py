"""Detectors of changes: ours, and river's drift detectors as shipped."""

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from scipy import stats

from stillpoint.alerts import Changes
from stillpoint.core.array import Array
from stillpoint.lab.alerts.changes import Alarm, Detector

OURS = "stillpoint"
RIVER = "river"


class Ours:
    """`sp.Changes`; sizes are those known 50 rows after an alarm."""

    def __init__(self, every: float) -> None:
        self._detector = Changes(every)

    def track(self, y: Array) -> list[Alarm]:
        """Take in the next rows."""
        return [
            Alarm(each.row, each.start, each.kind, each.before, each.after)
            for each in self._detector.track(y)
        ]


class River:
    """A drift detector of river; it begins anew by itself after each alarm."""

    def __init__(self, model: Any) -> None:
        self._model, self._row = model, 0

    def track(self, y: Array) -> Iterator[Alarm]:
        """Take in the next rows, as far as the iterator is asked."""
        model = self._model
        for value in y.tolist():
            model.update(value)
            self._row += 1
            if model.drift_detected:
                yield Alarm(self._row - 1)


class Kswin:
    """The decisions of river's KSWIN, seed for seed, at a tenth of its time.

    It compares the last 30 rows with 30 drawn from the 70 before, by a two-sided test of Kolmogorov
    and Smirnov in every row. Of its p-value only p ≤ α counts, which is D ≥ a constant.

    Parameters
    ----------
    model
        A fresh `river.drift.KSWIN`, for its constants and its random numbers.
    """

    def __init__(self, model: Any) -> None:
        self._size, self._recent, self._rng = model.window_size, model.stat_size, model._rng
        self._seed, self._restart = model.seed, False
        self._window = deque[float](maxlen=self._size)
        self._least = critical(self._recent, model.alpha)
        self._row = 0

    def track(self, y: Array) -> Iterator[Alarm]:
        """Take in the next rows, as far as the iterator is asked."""
        for value in y.tolist():
            self._row += 1
            if self._update(value):
                yield Alarm(self._row - 1)

    def _update(self, value: float) -> bool:
        if self._restart:  # as river does it: all rows are forgotten in the row after an alarm
            self._window.clear()
            self._rng.seed(self._seed)
            self._restart = False
        self._window.append(value)
        if len(self._window) < self._size:
            return False
        old = self._size - self._recent
        drawn = [self._window[i] for i in self._rng.sample(range(old), self._recent)]
        recent = list(itertools.islice(self._window, old, None))
        self._restart = distance(drawn, recent) >= self._least
        return self._restart


def critical(size: int, alpha: float) -> int:
    """The least D, in rows of samples of this size, with p ≤ α, if it is above a tenth of them."""
    law = stats.ks_2samp
    steps = np.arange(size, dtype=np.float64)
    for rows in range(size // 10 + 1, size):
        if law(steps, steps + rows).pvalue <= alpha:
            return rows
    return size


def distance(first: list[float], second: list[float]) -> int:
    """The largest difference of two samples' counts up to any value, both of one size."""
    values = np.array(first + second)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    walk = np.cumsum(np.where(order < len(first), 1, -1))
    last = np.append(ordered[1:] != ordered[:-1], True)  # of equal values only the last counts
    return int(np.abs(walk[last]).max())


@dataclass(frozen=True)
class Method:
    """A detector of changes.

    Parameters
    ----------
    make
        Builds it from a seed.
    package
        What it needs installed; "" for nothing.
    share
        How many of the streams it plays: slow ones play fewer.
    """

    name: str
    make: Callable[[int], Detector]
    package: str = ""
    share: float = 1.0


def _river(name: str, **settings: Any) -> Any:
    return getattr(import_module("river.drift"), name)(**settings)


def methods(every: float) -> list[Method]:
    """Ours with this many rows from one false alarm to the next, and river's at their defaults."""
    return [
        Method(OURS, lambda seed: Ours(every)),
        Method("ADWIN", lambda seed: River(_river("ADWIN")), RIVER),
        Method("PageHinkley", lambda seed: River(_river("PageHinkley")), RIVER),
        Method("KSWIN", lambda seed: Kswin(_river("KSWIN", seed=seed)), RIVER, share=0.1),
    ]

"""Tables of gains: what structural filters add to their means, by age, shared by all series.

A model's state is (level, slope, deviation, coefficients β of the harmonics B(t)), in units of the
noise's variance:

    y_t = level + deviation + β'B(t) + noise,   noise of variance 1
    level += slope;  slope *= φ;  deviation *= ρ
    then drift of variances q_l, q_b, c_r(1 − ρ²), q_s k^{-3/2}

(Harvey, Forecasting, structural time series models and the Kalman filter, 1989). Drifting
coefficients of fixed cosines are the state space of a periodic kernel (Solin & Särkkä, Explicit
link between periodic covariance functions and state space models, 2014) with its rotation taken
out. In the frame that turns with the harmonics the model does not depend on time, so the covariance
depends on age alone, not on values, units, logarithms or the phase of the start. An exact Kalman
recursion, O(P²) an age, is run as far as the oldest series needs, once per process.
"""

import threading
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillpoint.core._harmonics import fill
from stillpoint.core.array import Array
from stillpoint.series import _gains
from stillpoint.series._structural import BASE
from stillpoint.series.harmonics import Harmonics, harmonics

LAST = 12_000  # later gains are taken to be those of this age
_CHUNK = 64  # ages that a table grows by, at least
_RATIO = 1.02  # between ages that are kept, after the first ones


class Model(NamedTuple):
    """A structural model, variances in units of the noise's."""

    level: float  # q_l
    seasons: float  # q_s
    damping: float = 1.0  # φ
    slope: float = -1.0  # q_b; below 0: no slope
    memory: float = 0.0  # ρ
    deviation: float = 0.0  # c_r


class Table(NamedTuple):
    """Gains of some models up to some age."""

    gains: Array  # (M, rows, P)
    variances: Array  # (M, rows)
    row_of_age: NDArray[np.int64]


class Gains:
    """The tables of some models for some seasons; they grow as series grow older.

    Parameters
    ----------
    periods : tuple of float
        The seasons.
    models : tuple of Model
        The models.
    thin : bool, default True
        Whether only ages up to max(128, min(m + 8, 384)), m the longest season, and from there on
        ages 2% apart are kept, which changes squared errors by 1e-5 of their size.
    """

    def __init__(
        self, periods: tuple[float, ...], models: tuple[Model, ...], *, thin: bool = True
    ) -> None:
        h = harmonics(periods)
        longest = int(periods[-1]) + 8 if periods else 0
        self.ages = _ages(max(128, min(longest, 384)) if thin else LAST + 1)
        self._h, self._models = h, np.array(models).reshape(len(models), 6)
        P = BASE + h.columns
        self._C = np.zeros((len(models), P, P))
        for C, model in zip(self._C, self._models, strict=True):
            _gains.prior(model, h.smooth, C)
        self._done, self._lock = 0, threading.Lock()
        self._table = Table(
            np.zeros((len(models), 0, P)), np.zeros((len(models), 0)), np.zeros(0, np.int64)
        )

    def __deepcopy__(self, memo: object) -> "Gains":
        return self  # what is computed once is shared

    def up_to(self, age: int) -> Table:
        """The tables with all ages up to this one, or the last that tables go to."""
        if min(age, LAST) >= self._done:
            with self._lock:
                self._grow(min(max(age + 1, self._done + _CHUNK), LAST + 1))
        return self._table

    def _grow(self, end: int) -> None:
        first, h = self._done, self._h
        if end <= first:
            return
        keep = self.ages[(self.ages >= first) & (self.ages < end)]
        rows = _rows(h, first, end)
        M, P = self._C.shape[:2]
        gains, variances = np.empty((M, keep.size, P)), np.empty((M, keep.size))
        for i, model in enumerate(self._models):
            _gains.run(
                model,
                h.frequencies,
                h.smooth,
                rows,
                first,
                keep,
                self._C[i],
                gains[i],
                variances[i],
            )
        old = self._table
        self._table = Table(
            np.concatenate([old.gains, gains], axis=1),
            np.concatenate([old.variances, variances], axis=1),
            np.searchsorted(self.ages, np.arange(end), side="right") - 1,
        )
        self._done = end


@lru_cache(maxsize=64)
def shared(periods: tuple[float, ...], models: tuple[Model, ...]) -> Gains:
    """The tables of this process."""
    return Gains(periods, models)


def _ages(dense: int) -> NDArray[np.int64]:
    """Ages whose gains are kept."""
    ages, age = list(range(dense)), float(dense)
    while age < LAST:
        ages.append(int(age))
        age *= _RATIO
    return np.unique(np.array(ages))


def _rows(h: Harmonics, first: int, end: int) -> Array:
    """Rows of harmonics of these times."""
    if h.table.shape[0]:
        return np.ascontiguousarray(h.table[np.arange(first, end) % h.table.shape[0]])
    rows = np.empty((end - first, h.columns))
    for i in range(end - first):
        fill(h.frequencies, first + i, rows[i])
    return rows

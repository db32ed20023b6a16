"""The state of Changes: a few arrays, and named views of them.

Few, since each array takes time to hand over from Python.
"""

from typing import NamedTuple

import numpy as np

from stillpoint.alerts import _ranks
from stillpoint.alerts._bets import BETS, Bets
from stillpoint.alerts._ranks import Window
from stillpoint.alerts._reference import Reference
from stillpoint.core.jit import njit

FIRST, MOST = 30, 5000  # rows that set centre and scale; ranks kept
KEPT = 100  # changes


class Scalar(NamedTuple):
    """Places in `scalars`."""

    every: int = 0
    last: int = 1  # value
    step: int = 2  # the smallest between values so far, 0 before there is one
    evidence: int = 3  # M
    units: int = 4  # the reference's centre and scale
    lags: int = 6  # and the last values in its units, three


class Clock(NamedTuple):
    """Places in `clock`."""

    row: int = 0  # of the coming value
    held: int = 1  # values since the last change among the recent ones
    place: int = 2  # of the coming value among the recent ones
    begun: int = 3  # whether there is a regression
    idle: int = 4  # rows in which all values were the same, after the first 30
    draws: int = 5  # random numbers drawn
    found: int = 6  # changes
    ranked: int = 7  # the clock of the window of errors, two numbers


class Recent(NamedTuple):
    """Columns of `recent`."""

    row: int = 0
    value: int = 1
    harmonics: int = 2  # and as many further ones as there are of them


class Entry(NamedTuple):
    """Columns of `records`."""

    row: int = 0
    start: int = 1
    kind: int = 2
    before: int = 3
    after: int = 4
    evidence: int = 5


class State(NamedTuple):
    """All that a detector of changes keeps."""

    scalars: np.ndarray  # (9,), see Scalar
    clock: np.ndarray  # (9,) ints, see Clock
    recent: np.ndarray  # (30, 2 + harmonics), a ring, see Recent
    regression: np.ndarray  # (7 + harmonics, 4 + harmonics), see reference
    errors: np.ndarray  # a window of the last 5000, see window
    bets: np.ndarray  # (3, 12), see bets
    moments: np.ndarray  # (25, 3), the last row those of all values since the last change
    records: np.ndarray  # (100, 6), a ring, see Entry


AT, BY, OF, IN = Scalar(), Clock(), Recent(), Entry()
SCALARS, CLOCKS, MOMENTS = 9, 9, 2 * BETS + 1


@njit(cache=True)
def reference(s: State) -> Reference:
    """The regression that changes stand out from."""
    a, d = s.scalars, s.regression.shape[1]
    return Reference(
        a[AT.units : AT.lags],
        a[AT.lags :],
        s.regression[d],
        s.regression[:d],
        s.regression[d + 1 :],
    )


@njit(cache=True)
def window(s: State) -> Window:
    """Its errors, comparable."""
    return _ranks.window_in(s.errors, MOST, s.clock[BY.ranked :])


@njit(cache=True)
def bets(s: State) -> Bets:
    """What is won on their ranks."""
    b, m = s.bets, s.moments
    return Bets(b[0], b[1], b[2], m[:BETS], m[BETS : 2 * BETS])

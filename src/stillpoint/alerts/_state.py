"""The state of Changes: a few arrays, and named views of them.

Few, since each array takes time to hand over from Python.
"""

from typing import NamedTuple

import numpy as np

from stillpoint.alerts import _ranks
from stillpoint.alerts._bets import Bets
from stillpoint.alerts._ranks import Window
from stillpoint.alerts._reference import LAGS, Reference
from stillpoint.core.jit import njit

FIRST, MOST = 30, 5000  # values that set centre and scale; ranks and values kept
KEPT = 100  # changes
PERIODS = 4.0  # that the bet on the season goes by


class Scalar(NamedTuple):
    """Places in `scalars`."""

    every: int = 0
    last: int = 1  # value
    step: int = 2  # the smallest between values so far, 0 before there is one
    evidence: int = 3  # M
    memory: int = 4  # values that the bet on the season goes by, four periods; 0 without a season
    units: int = 5  # the reference's centre and scale
    lags: int = 7  # and the last values in its units, three, and what the latest may be instead


class Clock(NamedTuple):
    """Places in `clock`."""

    row: int = 0  # of the coming value
    values: int = 1  # so far, those that are missing apart
    since: int = 2  # values since the last change
    begun: int = 3  # whether there is a regression
    origin: int = 4  # the row in which it has begun
    draws: int = 5  # random numbers drawn
    found: int = 6  # changes
    ranked: int = 7  # the clock of the window of errors, two numbers


class Taken(NamedTuple):
    """Columns of `history`."""

    row: int = 0
    value: int = 1
    seasonal: int = 2


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

    scalars: np.ndarray  # (11,), see Scalar
    clock: np.ndarray  # (9,) ints, see Clock
    history: np.ndarray  # (5000, 3): the last values, a ring, see Taken
    waves: np.ndarray  # (waves, 2): cycles a row, and whether there is a sine beside the cosine
    season: np.ndarray  # (columns of waves,): scores regressed on them
    slow: np.ndarray  # (waves, 3): a longer season, cycles a row and parts of cosine and sine
    regression: np.ndarray  # (columns + 3, columns), see reference
    errors: np.ndarray  # a window of the last 5000, see window
    bets: np.ndarray  # (4, 13), see bets
    records: np.ndarray  # (100, 6), a ring, see Entry


AT, BY, OF, IN = Scalar(), Clock(), Taken(), Entry()
SCALARS, CLOCKS = AT.lags + LAGS + 1, BY.ranked + 2


@njit(cache=True)
def reference(s: State) -> Reference:
    """The regression that changes stand out from."""
    a, d = s.scalars, s.regression.shape[1]
    return Reference(
        a[AT.units : AT.lags],
        a[AT.lags :],
        s.regression[d],
        s.regression[:d],
        s.regression[d + 1],
        s.regression[d + 2],
    )


@njit(cache=True)
def window(s: State) -> Window:
    """Its errors, comparable."""
    return _ranks.window_in(s.errors, MOST, s.clock[BY.ranked :])


@njit(cache=True)
def bets(s: State) -> Bets:
    """What is won on their ranks."""
    return Bets(s.bets[0], s.bets[1], s.bets[2], s.bets[3])

"""Changes: where the level or the spread of a stream has moved, and by how much."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.alerts import _changes, _ranks
from stillpoint.alerts._bets import BETS
from stillpoint.alerts._reference import LAGS
from stillpoint.alerts._state import (
    AT,
    BY,
    CLOCKS,
    FIRST,
    IN,
    KEPT,
    MOMENTS,
    MOST,
    OF,
    SCALARS,
    State,
    window,
)
from stillpoint.core.allocation import zeros
from stillpoint.core.learner import Learner
from stillpoint.core.state import put_back, saved
from stillpoint.core.validation import counted, number, stored
from stillpoint.intervals.base import value, values

KINDS = "level up", "level down", "wider", "narrower"
_NO_HARMONICS = np.empty(0)
_LARGEST = 2.0**53  # of `every`


class Change(NamedTuple):
    """A change of level or spread. Rows count from 0, missing ones among them.

    Attributes
    ----------
    row : int
        The row in which it was declared.
    start : int
        The row from which on the stream is another.
    kind : str
        "level up", "level down", "wider" or "narrower".
    before, after : float
        The mean, or for the last two kinds the standard deviation, of the values since the last
        change, and of those from `start` on. In a stream that wanders they may say the opposite of
        `kind`, which goes by what was expected of each row.
    evidence : float
        M in the row that declared it: a stream without change gets this far once in M rows or less
        often.
    """

    row: int
    start: int
    kind: str
    before: float
    after: float
    evidence: float


class Changes(Learner):
    """Detect changes of level and spread in a stream, with a rate of false alarms.

    `update(y)` gives a `Change` in the row that declares one, else None. Nothing to tune.

    Parameters
    ----------
    every : float, default 10000
        How many rows there are at least, on average, from one false alarm to the next.

    Notes
    -----
    A regression of y_t on the last three values, which does not forget and is begun anew at each
    change, tells what to expect. The rank u_t of its error among those before is uniform where
    nothing changes; twelve bets are placed on ranks that are too often high, low, extreme or
    central. With M_k the sum over all past rows of what bet k has won since (Shiryaev & Roberts)
    and M the mean of the twelve, a change is declared when M ≥ `every`. M_t − t is a martingale
    if the errors are exchangeable, and then

        E[rows until the alarm] ≥ every.

    For independent rows that is so but for the regression's own errors, which fade; measured are
    about 0.5 false alarms in 10 000 rows at the default for normal, heavy-tailed, autoregressive
    and whole-number noise. A stream whose spread comes and goes does change, and is said to.

    The `start` of a change is where the winning bet's cusum began (Page 1954). After an alarm 20 to
    50 rows pass before the next is possible. Detection does not depend on shifts and units of the
    stream. A row costs O(1): ranks are among the last 5000.
    """

    def __init__(self, every: float = 10_000) -> None:
        super().__init__()
        self._every = number("every", every, "give a number of rows, such as 10000")
        if not 1.0 <= self._every <= _LARGEST:
            raise ValueError(
                f"every must be from 1 to 2^53: got {every!r}; give a number of rows, such as 10000"
            )
        self._state = build(self._every)

    @property
    def _not_finite(self) -> frozenset[str]:
        # squares of the largest values add up to infinity
        return frozenset({"moments", "records"})

    def update(self, y: float) -> Change | None:
        """Take in a value; returns the change that it declares, if it does.

        The record's size is what is known in this row; `records` has it more exactly later.
        """
        target = value("y", y, "call skip() for a missing value")
        self._begin()
        found = self._state.clock[BY.found]
        self._end(target)
        return _record(self._state, found) if self._state.clock[BY.found] > found else None

    def track(self, y: ArrayLike) -> list[Change]:
        """Take in a whole stream; returns the changes declared in it.

        Parameters
        ----------
        y : array-like of shape (T,)
            Values; NaN is a missing one.

        Returns
        -------
        list of Change
            Those of `update`, bit for bit, with sizes as `records` has them after the last row.
        """
        targets = values("y", y, missing=True)
        self._begin_bulk("y")
        found: list[Change] = []
        s, i = self._state, 0
        while i < targets.size:
            before = int(s.clock[BY.found])
            i = _changes.track(s, targets, i, _NO_HARMONICS)
            if found:
                found[-1] = _record(s, before - 1)
            if s.clock[BY.found] > before:
                found.append(_record(s, before))
        self._follow()
        return found

    def _open(self, when: float, x: None) -> None:
        """There is nothing to answer."""

    def _close(self, feedback: float | None) -> None:
        y = math.nan if feedback is None else feedback
        _changes.update(y, _NO_HARMONICS, *self._state)

    def _follow(self) -> None:
        self.rounds = int(self._state.clock[BY.row])
        self.time, self._started = float(self.rounds), self.rounds > 0

    @property
    def evidence(self) -> float:
        """M after the last row: without change it gets this far once in M rows or less often.

        In the row after an alarm it begins anew from 0.
        """
        return float(self._state.scalars[AT.evidence])

    @property
    def records(self) -> list[Change]:
        """The last 100 changes, oldest first; the latest's size is measured further for 50 rows."""
        return records(self._state)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this detector anew."""
        return {"every": self._every}

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return arrays(self._state)

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        restore(self._state, state)
        self._follow()
        self._is_open = False


# the state of a detector, by itself or as a part of another's


def build(every: float, harmonics: int = 0, row: int = 0) -> State:
    """Return the state of a new detector, for `_changes.close_round`.

    Parameters
    ----------
    every : float
        Rows from one false alarm to the next, at least, on average.
    harmonics : int, default 0
        How many further regressors each row brings.
    row : int, default 0
        The number of the first row.
    """
    d = 1 + LAGS + harmonics
    state = State(
        scalars=zeros(SCALARS),
        clock=zeros(CLOCKS, np.int64),
        recent=zeros((FIRST, OF.harmonics + harmonics)),
        regression=zeros((d + 3, d)),
        errors=zeros(_ranks.size(MOST)),
        bets=zeros((3, BETS)),
        moments=zeros((MOMENTS, 3)),
        records=zeros((KEPT, len(IN))),
    )
    state.scalars[AT.every], state.clock[BY.row] = every, row
    return state


def records(s: State) -> list[Change]:
    """Return the last changes that a detector has found, oldest first."""
    found = int(s.clock[BY.found])
    return [_record(s, i) for i in range(max(found - KEPT, 0), found)]


def _record(s: State, i: int) -> Change:
    """The change of that number; it must be among the last 100."""
    note = s.records[i % KEPT].tolist()
    return Change(int(note[0]), int(note[1]), KINDS[int(note[2])], *note[3:])


def arrays(s: State) -> dict[str, Any]:
    """Return a detector's state, for saving."""
    errors = s.errors[: s.clock[BY.ranked]]
    return {**saved(_fixed(s)), "errors": errors.copy(), "records": _kept(s).copy()}


def restore(s: State, state: dict[str, Any]) -> None:
    """Inverse of `arrays`; ValueError, and nothing is written, where it cannot be."""
    clock = stored(state, "clock", CLOCKS, dtype=np.int64)
    most = [_LARGEST, FIRST, FIRST - 1, 1, _LARGEST, _LARGEST, _LARGEST, MOST, MOST - 1]
    for each, limit in zip(clock, most, strict=True):
        counted("clock", each, limit)
    errors = stored(state, "errors", int(clock[BY.ranked]))
    if np.isnan(errors).any():
        raise ValueError("state 'errors' must be numbers: got NaN; save the detector again")
    notes = stored(state, "records", min(int(clock[BY.found]), KEPT), len(IN))
    for row in notes[:, : IN.kind].flat:
        counted("records", row, clock[BY.row])
    for kind in notes[:, IN.kind]:
        counted("records", kind, len(KINDS) - 1)
    for begun in stored(state, "bets", 3, BETS)[2]:
        counted("bets", begun, clock[BY.row])
    scale = stored(state, "scalars", SCALARS)[AT.units + 1]
    if clock[BY.begun] and not scale > 0.0:
        raise ValueError(
            f"state 'scalars' must have a scale above 0: got {scale}; save the detector again"
        )
    put_back(_fixed(s), state)
    s.errors[: errors.size] = errors
    _ranks.refill(window(s))
    _kept(s)[:] = notes


def _fixed(s: State) -> dict[str, Any]:
    """The arrays whose sizes do not change."""
    return {name: array for name, array in s._asdict().items() if name not in ("errors", "records")}


def _kept(s: State) -> Any:
    """The records that there are."""
    return s.records[: min(int(s.clock[BY.found]), KEPT)]

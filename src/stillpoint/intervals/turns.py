"""Interval trackers that take turns, for targets that come late."""

import math
from typing import Any

import numpy as np

from stillpoint.core._poly import REGRETS, WEIGHTS
from stillpoint.core.allocation import full, zeros
from stillpoint.core.state import put_back, saved
from stillpoint.core.validation import Array, counted, stored, waiting
from stillpoint.intervals import _experts, _turns
from stillpoint.intervals._experts import AIM, AT, EXPERTS
from stillpoint.intervals._interval import Rule
from stillpoint.intervals._slow import SLOW
from stillpoint.intervals._turns import COUNT, UNIT, State
from stillpoint.intervals.base import promise

_MOST = 100_000  # of a delay: a turn is about 1 kB
NOT_FINITE = frozenset({"ends", "said"})  # the guard may play everything; NaN: nothing said yet


class Turns:
    """c interval trackers; round t is that of tracker t mod c.

    Parameters
    ----------
    turns : int
        c, how many rounds may be open at once.
    aims : array of shape (estimators, 2)
        Levels and first multiples of each tracker's estimators.
    rule : Rule
        What IntervalTracker was built with.
    """

    def __init__(self, turns: int, aims: Array, rule: Rule) -> None:
        size, several = len(aims), rule.order.size
        self.aims, self.rule = aims, rule
        self.state = State(
            experts=zeros((turns, size, len(_experts.ROW), EXPERTS)),
            regrets=zeros((turns, size, len(REGRETS), EXPERTS)),
            scalars=zeros((turns, size, len(AT))),
            ends=zeros((turns, 2, several)),
            missed=zeros((turns, several)),
            forecasts=zeros(turns),
            said=full((turns, size), np.nan),
            units=zeros((turns, size, len(UNIT))),
            slow=zeros((size, len(SLOW))),
            counts=zeros(len(COUNT), dtype=np.int64),
        )
        self._room = zeros((size, len(WEIGHTS), EXPERTS))
        self._flat: tuple[Any, ...] = (*rule, aims, *self.state, self._room)

    @property
    def turns(self) -> int:
        """How many rounds may be open at once."""
        return int(self.state.missed.shape[0])

    @property
    def opened(self) -> int:
        """How many rounds have been opened."""
        return int(self.state.counts[COUNT.opened])

    @property
    def closed(self) -> int:
        """How many rounds are over."""
        return int(self.state.counts[COUNT.closed])

    @property
    def waiting(self) -> Array:
        """The forecasts of the rounds that are open, the oldest first."""
        return self.state.forecasts[np.arange(self.closed, self.opened) % self.turns]

    @property
    def coming(self) -> _experts.State:
        """The estimators of the coming round's turn."""
        turn = self.opened % self.turns
        s = self.state
        return _experts.State(self.aims, s.experts[turn], s.regrets[turn], s.scalars[turn])

    @property
    def seen(self) -> int:
        """Targets that count."""
        return int(self.state.scalars[:, 0, AT.seen].sum())

    @property
    def missed(self) -> Array:
        """Targets outside their interval, for each coverage."""
        misses: Array = self.state.missed.sum(axis=0)
        return misses

    def open(self, forecast: float) -> Array:
        """Open the coming round; returns the ends (2, coverages) of its interval."""
        if self.opened - self.closed == self.turns:
            raise ValueError(
                f"forecast must come after the oldest open round is closed: {self.turns} are open,"
                f" the most with delay={self.turns - 1}; call update or skip first"
            )
        ends: Array = self.state.ends[_turns.one(True, forecast, *self._flat)]
        return ends

    def close(self, y: float) -> None:
        """Close the oldest open round; y is NaN where it is missing."""
        _turns.one(False, y, *self._flat)

    def skip(self) -> None:
        """Close the oldest open round, or pass the coming one, without a target."""
        if self.opened > self.closed:
            self.close(math.nan)
        else:
            self.state.counts[:] += 1

    def look(self, forecast: float) -> Array:
        """What `open` would return, with nothing changed."""
        ends = np.empty(self.state.ends.shape[1:])
        _turns.look(forecast, self.rule, self.aims, self.state, self._room, ends)
        return ends

    def track(self, forecasts: Array, y: Array, delay: int | None, first: int) -> Array:
        """Rounds in bulk: intervals (T − first, 2, coverages); the first rows are those open."""
        own = self.turns - 1
        late, first = waiting(own if delay is None else delay, first, y.size)
        if late != own:
            raise ValueError(f"delay must be that of the tracker, {own}: got {late}; leave it out")
        before = self.waiting
        if first != before.size or not np.array_equal(forecasts[:first], before):
            raise ValueError(
                f"first must count the open rounds, {before.size}, and forecasts begin with theirs:"
                f" got {first} and {forecasts[:first]}; pass the rows that wait for their targets"
                " again"
            )
        out = np.empty((y.size - first, *self.state.ends.shape[1:]))
        _turns.track(forecasts, y, first, self.rule, self.aims, self.state, self._room, out)
        return out

    def promise(self) -> tuple[Array, Array]:
        """Misses of each estimator by the theorem, at least and at most: the turns' own, summed."""
        T = self.state.scalars[:, :, AT.seen]
        least, most = promise(self.aims[:, AIM.level], T)
        return np.maximum(least, 0.0).sum(axis=0), np.minimum(most, T).sum(axis=0)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return saved(self.state)

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        opened, closed = stored(state, "counts", len(COUNT), dtype=np.int64).tolist()
        counted("counts", closed, 2.0**53)
        counted("counts", opened - closed, self.turns)
        put_back(self.state, state)


def rounds_late(delay: Any) -> int:
    """A delay as an int."""
    late, _ = waiting(delay, 0, 0)
    if late > _MOST:
        raise ValueError(
            f"delay must be at most {_MOST}: got {delay}; a tracker is kept for each round"
            " that waits"
        )
    return late

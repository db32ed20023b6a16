"""Changes of a series, beside what its seasons explain."""

import math
from functools import lru_cache
from typing import Any

import numpy as np

from stillpoint.alerts._state import BY, MOST, OF
from stillpoint.alerts.change import KINDS, NO_SLOW, Change
from stillpoint.alerts.detector import Detector
from stillpoint.alerts.sizes import longer_season, seen_twice, taken
from stillpoint.core.allocation import claim
from stillpoint.core.array import Array
from stillpoint.core.validation import stored, under
from stillpoint.series import restored

EVERY = 10_000.0  # rounds from one false alarm to the next, at least, on average
_TINY = 1e-150  # values whose squares are no numbers count as 0
_MANY = 4096  # values that may wait
_PARTS = 64  # arrays in which they wait: many small ones take far more memory


class Watch:
    """The detector of a forecaster, begun anew when its seasons change.

    It takes values in when it is asked, or when many wait: who never asks need not compile it, and
    many short series need no memory for it.
    """

    def __init__(self, row: int = 0) -> None:
        self._earlier: list[Change] = []  # found before it was begun anew
        self._begin((), row)

    def _begin(self, periods: tuple[float, ...], row: int) -> None:
        self.periods, self._start = periods, row
        self._slow = NO_SLOW
        self._blind = len(periods) > 1 and seen_twice(periods[1]) <= MOST
        self._waiting: list[tuple[Array, Array]] = []
        self._count = 0
        claim(sum(value.nbytes for value in _new(periods).values()), 1)  # as it is saved
        self._detector: Detector | None = None  # before anything is taken in

    def renew(self, periods: tuple[float, ...], row: int, y: Array, seasonal: Array) -> None:
        """Begin anew with these seasons, from the values since `row`."""
        if self._start < row:
            self._earlier = [change for change in self.records if change.row < row]
        self._begin(periods, row)
        if self._blind and y.size >= seen_twice(periods[1]):
            self._see(y)
        self.take(y, seasonal)

    def take(self, y: Array, seasonal: Array) -> None:
        """Take in the coming values, and how much of each was seasonal."""
        self._waiting.append((y, seasonal))
        self._count += y.size
        if self._blind and self.rows - self._start >= seen_twice(self.periods[1]):
            self._look_again()
        if self._count >= _MANY:
            self._learn()
        elif len(self._waiting) > _PARTS:
            self._waiting = [self._joined()]

    def _look_again(self) -> None:
        """Begin anew with a longer season that has come twice.

        Weekends, say, look like changes of the level before the week is known.
        """
        if self._detector is not None:
            past, n = taken(self._detector.state, whole=True), self._detector.row - self._start
            kept = np.full((2, n), np.nan)
            kept[:, past[:, OF.row].astype(np.int64) - self._start] = past[:, OF.value :].T
            self._waiting.insert(0, (kept[0], kept[1]))
            self._detector, self._count = None, self._count + n
        self._waiting = [self._joined()]
        self._see(self._waiting[0][0][: math.ceil(seen_twice(self.periods[1]))])

    def _see(self, y: Array) -> None:
        """Learn the longer season from the first values."""
        rows = np.column_stack([self._start + np.arange(y.size), _sizeable(y)])[~np.isnan(y)]
        self._slow, self._blind = longer_season(rows, *self.periods[:2]), False

    def _joined(self) -> tuple[Array, Array]:
        """The values that wait, and how much of each was seasonal."""
        y, seasonal = (np.concatenate(part) for part in zip(*self._waiting, strict=True))
        return y, seasonal

    def _learn(self) -> None:
        """Take in what waits."""
        if self._count:
            y, seasonal = self._joined()
            if self._detector is None:
                self._detector = _detector(self.periods, self._start, self._slow)
            self._detector.take(_sizeable(y), seasonal)
            self._waiting, self._count = [], 0

    @property
    def rows(self) -> int:
        """How many rows there were, those that wait among them."""
        row = self._start if self._detector is None else self._detector.row
        return row + self._count

    @property
    def records(self) -> list[Change]:
        """The changes so far; of those of the present detector the last 100."""
        self._learn()
        return self._earlier + ([] if self._detector is None else self._detector.records)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        notes = [(*c[:2], KINDS.index(c.kind), *c[3:]) for c in self._earlier]
        parts = [np.stack(part, axis=1) for part in self._waiting]
        own = {
            "periods": np.array(self.periods),
            "start": self._start,
            "blind": int(self._blind),
            "earlier": np.array(notes).reshape(-1, 6),
            "waiting": np.concatenate([np.empty((0, 2)), *parts]),
        }
        now = self._new() if self._detector is None else self._detector.arrays()
        return own | {f"now.{name}": value for name, value in now.items()}

    def _new(self) -> dict[str, Any]:
        """What is saved of a detector that has taken nothing in."""
        arrays = {name: value.copy() for name, value in _new(self.periods).items()}
        arrays["clock"][BY.row] = self._start
        arrays["shape"][2] += self._start
        arrays["slow"] = self._slow.copy()
        return arrays

    def restore(self, state: dict[str, Any], active: tuple[float, ...]) -> None:
        """Inverse of `arrays`, of a forecaster with these seasons."""
        periods = tuple(stored(state, "periods", None).tolist())
        if periods not in ((), active):
            raise ValueError(
                f"state 'periods' must be the seasons of this forecaster: got {periods}, has"
                f" {active}; save it again"
            )
        notes = stored(state, "earlier", None, 6).tolist()
        self._earlier = [
            Change(int(note[0]), int(note[1]), KINDS[int(note[2])], *note[3:]) for note in notes
        ]
        self._begin(periods, restored.number(state, "start"))
        waiting = stored(state, "waiting", None, 2)
        if waiting.shape[0] >= _MANY:
            raise ValueError(
                f"state 'waiting' must be fewer than {_MANY} values: got {waiting.shape[0]}; save"
                " the forecaster again"
            )
        self._count = waiting.shape[0]
        self._waiting = [(waiting[:, 0].copy(), waiting[:, 1].copy())] if self._count else []
        own = under(state, "now.")
        self._blind = restored.number(state, "blind") > 0
        self._slow = stored(own, "slow", None, 3)
        if not _same(own, self._new()):
            detector = _detector(self.periods)
            told = detector.period, detector.longer
            detector.restore(own)
            if (detector.period, detector.longer) != told:
                raise ValueError(
                    f"state 'shape' must have the seasons {told}: got {detector.period:g} and"
                    f" {detector.longer:g}; save it again"
                )
            self._detector = detector


def _sizeable(y: Array) -> Array:
    """The values, those whose squares are no numbers as 0."""
    return np.where(np.abs(y) < _TINY, 0.0, y)


def _detector(periods: tuple[float, ...], row: int = 0, slow: Array = NO_SLOW) -> Detector:
    """A new detector of a stream with these seasons."""
    first, longer, *_ = (*periods, 0.0, 0.0)
    return Detector(EVERY, first, row, longer=longer, slow=slow)


@lru_cache(maxsize=16)
def _new(periods: tuple[float, ...]) -> dict[str, Any]:
    """What is saved of a new detector of a stream with these seasons."""
    return _detector(periods).arrays()


def _same(own: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two states are the same, bit for bit."""
    return own.keys() == other.keys() and all(
        isinstance(own[name], np.ndarray)
        and (own[name].dtype, own[name].shape) == (value.dtype, value.shape)
        and own[name].tobytes() == value.tobytes()
        for name, value in other.items()
    )

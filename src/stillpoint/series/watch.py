"""Changes of a series, beside what its seasons explain."""

from functools import lru_cache
from typing import Any

import numpy as np

from stillpoint.alerts._state import BY
from stillpoint.alerts.change import KINDS, Change
from stillpoint.alerts.detector import Detector
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
        self._waiting: list[tuple[Array, Array]] = []
        self._count = 0
        self._period = periods[0] if periods else 0.0
        claim(sum(value.nbytes for value in _new(self._period).values()), 1)  # as it is saved
        self._detector: Detector | None = None  # before anything is taken in

    def renew(self, periods: tuple[float, ...], row: int, y: Array, seasonal: Array) -> None:
        """Begin anew with these seasons, from the values since `row`."""
        if self._start < row:
            self._earlier = [change for change in self.records if change.row < row]
        self._begin(periods, row)
        self.take(y, seasonal)

    def take(self, y: Array, seasonal: Array) -> None:
        """Take in the coming values, and how much of each was seasonal."""
        self._waiting.append((y, seasonal))
        self._count += y.size
        if self._count >= _MANY:
            self._learn()
        elif len(self._waiting) > _PARTS:
            self._waiting = [self._joined()]

    def _joined(self) -> tuple[Array, Array]:
        """The values that wait, and how much of each was seasonal."""
        y, seasonal = (np.concatenate(part) for part in zip(*self._waiting, strict=True))
        return y, seasonal

    def _learn(self) -> None:
        """Take in what waits."""
        if self._count:
            y, seasonal = self._joined()
            sizeable = np.where(np.abs(y) < _TINY, 0.0, y)
            if self._detector is None:
                self._detector = Detector(EVERY, self._period, self._start)
            self._detector.take(sizeable, seasonal)
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
            "earlier": np.array(notes).reshape(-1, 6),
            "waiting": np.concatenate([np.empty((0, 2)), *parts]),
        }
        now = self._new() if self._detector is None else self._detector.arrays()
        return own | {f"now.{name}": value for name, value in now.items()}

    def _new(self) -> dict[str, Any]:
        """What is saved of a detector that has taken nothing in."""
        arrays = {name: value.copy() for name, value in _new(self._period).items()}
        arrays["clock"][BY.row] = self._start
        arrays["shape"][2] += self._start
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
        if not _same(own, self._new()):
            detector = Detector(EVERY, self._period)
            detector.restore(own)
            if detector.period != self._period:
                raise ValueError(
                    f"state 'shape' must have the season: got {detector.period:g}; save it again"
                )
            self._detector = detector


@lru_cache(maxsize=16)
def _new(period: float) -> dict[str, Any]:
    """What is saved of a new detector of a stream with this season."""
    return Detector(EVERY, period).arrays()


def _same(own: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two states are the same, bit for bit."""
    return own.keys() == other.keys() and all(
        isinstance(own[name], np.ndarray)
        and (own[name].dtype, own[name].shape) == (value.dtype, value.shape)
        and own[name].tobytes() == value.tobytes()
        for name, value in other.items()
    )

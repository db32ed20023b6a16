"""Changes of a series: level or spread that moved, beside what its seasons explain."""

from typing import Any

import numpy as np

from stillpoint.alerts import changes
from stillpoint.alerts._state import BY
from stillpoint.alerts.changes import Change
from stillpoint.core.array import Array
from stillpoint.core.validation import stored
from stillpoint.series import restored
from stillpoint.series._watch import watch
from stillpoint.series.harmonics import harmonics

EVERY = 10_000.0  # rounds from one false alarm to the next, at least, on average
_TINY = 1e-150  # values whose squares are no numbers count as 0
_MANY = 4096  # values that may wait
_MOST = 4  # frequencies in the detector's reference, those of the first season


class Watch:
    """The detector of a forecaster, begun anew when its seasons change.

    It takes values in when it is asked, or when many wait: who never asks need not compile it.
    """

    def __init__(self, row: int = 0) -> None:
        self._earlier: list[Change] = []  # found before it was begun anew
        self._begin((), row)

    def _begin(self, periods: tuple[float, ...], row: int) -> None:
        self.periods, self._start = periods, row
        self._waiting: list[tuple[Array, Array]] = []
        self._count = 0
        self._frequencies = np.ascontiguousarray(harmonics(periods).frequencies[:_MOST])
        columns = int(self._frequencies.shape[0] + (self._frequencies[:, 1] > 0.0).sum())
        self._state = changes.build(EVERY, columns, row)

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

    def _learn(self) -> None:
        """Take in what waits."""
        if self._count:
            y, seasonal = (np.concatenate(part) for part in zip(*self._waiting, strict=True))
            sizeable = np.where(np.abs(y) < _TINY, 0.0, y)
            row = int(self._state.clock[BY.row])
            watch(self._state, sizeable, seasonal, self._frequencies, row)
            self._waiting, self._count = [], 0

    @property
    def rows(self) -> int:
        """How many rows there were, those that wait among them."""
        return int(self._state.clock[BY.row]) + self._count

    @property
    def records(self) -> list[Change]:
        """The changes so far; of those of the present detector the last 100."""
        self._learn()
        return self._earlier + changes.records(self._state)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        notes = [(*c[:2], changes.KINDS.index(c.kind), *c[3:]) for c in self._earlier]
        parts = [np.stack(part, axis=1) for part in self._waiting]
        own = {
            "periods": np.array(self.periods),
            "start": self._start,
            "earlier": np.array(notes).reshape(-1, 6),
            "waiting": np.concatenate([np.empty((0, 2)), *parts]),
        }
        return own | {f"now.{name}": value for name, value in changes.arrays(self._state).items()}

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
            Change(int(note[0]), int(note[1]), changes.KINDS[int(note[2])], *note[3:])
            for note in notes
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
        own = {name[4:]: value for name, value in state.items() if name.startswith("now.")}
        changes.restore(self._state, own)

"""Changes of a series: level or spread that moved, beside what its seasons explain."""

from typing import Any

import numpy as np

from stillpoint.alerts import changes
from stillpoint.alerts.changes import Change
from stillpoint.core.array import Array
from stillpoint.core.validation import stored
from stillpoint.series._watch import watch
from stillpoint.series.harmonics import harmonics

EVERY = 10_000.0  # rounds from one false alarm to the next, at least, on average
_TINY = 1e-150  # values whose squares are no numbers count as 0
_MOST = 4  # frequencies in the detector's reference, those of the first season


class Watch:
    """The detector of a forecaster, begun anew when its seasons change."""

    def __init__(self) -> None:
        self._earlier: list[Change] = []  # found before it was begun anew
        self._begin((), 0)

    def _begin(self, periods: tuple[float, ...], row: int) -> None:
        self.periods = periods
        self._frequencies = np.ascontiguousarray(harmonics(periods).frequencies[:_MOST])
        columns = int(self._frequencies.shape[0] + (self._frequencies[:, 1] > 0.0).sum())
        self._state = changes.build(EVERY, columns, row)

    def renew(self, periods: tuple[float, ...], row: int, y: Array, seasonal: Array) -> None:
        """Begin anew with these seasons, from the values since `row`."""
        self._earlier = [change for change in self.records if change.row < row]
        self._begin(periods, row)
        self.take(row, y, seasonal)

    def take(self, row: int, y: Array, seasonal: Array) -> None:
        """Take in values, the first of them that of `row`, and how much of each was seasonal."""
        sizeable = np.where(np.abs(y) < _TINY, 0.0, y)
        watch(self._state, sizeable, seasonal, self._frequencies, row)

    @property
    def records(self) -> list[Change]:
        """The changes so far; of those of the present detector the last 100."""
        return self._earlier + changes.records(self._state)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        notes = [
            (*change[:2], changes.KINDS.index(change.kind), *change[3:]) for change in self._earlier
        ]
        own = {"periods": np.array(self.periods), "earlier": np.array(notes).reshape(-1, 6)}
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
        self._begin(periods, 0)
        own = {name[4:]: value for name, value in state.items() if name.startswith("now.")}
        changes.restore(self._state, own)

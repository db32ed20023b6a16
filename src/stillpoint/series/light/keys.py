"""The series of many keys with a small pool, in rows of numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.allocation import zeros
from stillpoint.series import layout
from stillpoint.series._harmonics import fill
from stillpoint.series._state import State
from stillpoint.series.gains import LAST, shared
from stillpoint.series.light import _packing, start
from stillpoint.series.light._keys import OF, Kit
from stillpoint.series.pool import Pool

Slots = NDArray[np.int64]


class Workshop:
    """What all keys of a fleet share, and room in which one thread works on one of them.

    Parameters
    ----------
    pool : Pool
        The experts.
    periods : tuple of float
        The seasons.
    horizon : int
        How far ahead forecasts go.
    coverage, level
        What intervals are to cover, and the quantile that forecasts are of, if any.
    shifted : bool
        Whether rows count from the first value, as those of float32 do.
    """

    def __init__(
        self,
        pool: Pool,
        periods: tuple[float, ...],
        horizon: int,
        coverage: Any,
        level: float | None,
        shifted: bool,
    ) -> None:
        self.pool, self.periods, self.horizon = pool, periods, horizon
        self._aims = coverage, level
        self.bands = self.new_bands()
        units = layout.Scale(0.0, 1.0, 0.0, 1.0, True)
        built = layout.build(pool, periods, horizon, units, self.bands.state)
        self._ages, self._times = 0, -1
        self.gathered = start.gathered(periods)
        past = int(built.clock[1])  # lags end before the place of the first value
        row = zeros(_size(built, past))
        end = _packing.store_experts(row, past, past, built)
        _packing.store_bands(row, end, built.bands)
        self.row = row
        self.exact = zeros(built.scalars.size + built.bands.total.size + 1)
        self.exact[[1, 3]] = 1.0  # units
        self.kit = Kit(built, start.plain(built), row[:end].copy(), past, shifted)

    def new_bands(self) -> Any:
        """What tracks the intervals of a new series."""
        return start.bands(self.pool, self.horizon, self.periods, *self._aims)

    def loose(self) -> NDArray[np.bool_]:
        """Which numbers of a row may be infinite or NaN: what intervals said, and their ends."""
        row, bands = self.row.copy(), self.new_bands().state
        bands.said[...], bands.offsets[...] = np.nan, np.nan
        _packing.store_bands(row, self.kit.template.size, bands)
        return np.isnan(row)

    def cover(self, age: int) -> None:
        """See that tables of gains, and of harmonics where they never repeat, reach this age."""
        log, plain = self.kit.log, self.kit.plain
        changed: dict[str, Any] = {}
        if min(age, LAST) >= self._ages:
            table = shared(self.periods, layout.models(self.pool)).up_to(age)
            self._ages = table.row_of_age.size
            changed = table._asdict()
        if log.rolls or self._times >= 0:
            log, plain = self._with_rows(age, log), self._with_rows(age, plain)
        if changed:
            log = log._replace(filters=log.filters._replace(**changed))
            plain = plain._replace(filters=plain.filters._replace(**changed))
        self.kit = self.kit._replace(log=log, plain=plain)

    def _with_rows(self, age: int, state: State) -> State:
        """A state whose harmonics are a table of all times up to this age and the horizon."""
        need = age + self.horizon + 1
        if need > self._times:
            self._rows = zeros((2 * need, state.rows.shape[1]))
            for time, row in enumerate(self._rows):
                fill(state.filters.frequencies, time, row)
            self._times = 2 * need
        return state._replace(rows=self._rows, rolls=False)


class Nursery:
    """Values of young keys, each at a place that another has after it."""

    def __init__(self, gathered: int) -> None:
        self.values = zeros((0, gathered))
        self._free: list[int] = []

    def enter(self, count: int) -> Slots:
        """Places for so many new keys."""
        if count > len(self._free):
            old = self.values.shape[0]
            more = max(count - len(self._free), old)
            values = zeros((old + more, self.values.shape[1]))
            values[:old] = self.values
            self.values = values
            self._free.extend(range(old + more - 1, old - 1, -1))
        places = np.array([self._free.pop() for _ in range(count)], dtype=np.int64)
        self.values[places] = 0.0
        return places

    def leave(self, places: Slots) -> None:
        """Places that are free again."""
        self._free.extend(places.tolist())


def _size(state: State, past: int) -> int:
    """How many numbers a row has: as many as are written into one that is long enough."""
    most = 2 * sum(a.size for a in _arrays(state) if a.dtype == np.float64) + past
    row = zeros(most)
    end = _packing.store_experts(row, past, past, state)
    return int(_packing.store_bands(row, end, state.bands))


def _arrays(part: Any) -> list[NDArray[Any]]:
    """All arrays of a named tuple, and of those in it."""
    if isinstance(part, np.ndarray):
        return [part]
    return [array for item in part for array in _arrays(item)] if isinstance(part, tuple) else []


def counts(places: Slots) -> NDArray[np.int64]:
    """Those of new keys at these places of the nursery."""
    new = zeros((places.size, len(OF)), np.int64)
    new[:, OF.now], new[:, OF.nest] = -1, places
    return new

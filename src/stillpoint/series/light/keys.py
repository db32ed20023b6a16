"""The series of many keys with a small pool, in rows of numbers."""

from copy import copy, deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.allocation import zeros
from stillpoint.core.array import Array
from stillpoint.core.lanes import LANES
from stillpoint.series import layout
from stillpoint.series._scale import AT
from stillpoint.series.gains import LAST, shared
from stillpoint.series.light import _storage
from stillpoint.series.light._plan import EXACT, OF, N
from stillpoint.series.light._storage import Keys, Kit
from stillpoint.series.light.bands import LightBands
from stillpoint.series.light.plan import lanes, plan, tables, turning
from stillpoint.series.pool import Pool
from stillpoint.series.restored import MOST

Slots = NDArray[np.int64]
_LEAST, _MOST = 16, 64
_AGAIN = "save it again"


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
    bands : LightBands
        What intervals are asked for.
    shifted : bool, default False
        Whether rows count from the first value, as those of float32 do.
    """

    def __init__(
        self,
        pool: Pool,
        periods: tuple[float, ...],
        horizon: int,
        bands: LightBands,
        shifted: bool = False,
    ) -> None:
        self.pool, self.periods, self.horizon = pool, periods, horizon
        self.bands = bands
        units = layout.Scale(0.0, 1.0, 0.0, 1.0, True)
        self.built = layout.build(pool, periods, horizon, units, self.bands.state)
        self.gathered = gathered(periods)
        made, row = plan(self.built, horizon)
        self.exact, self.row = row[:EXACT].copy(), row[EXACT:].copy()
        self.exact[[AT.unit, AT.log_unit]] = 1.0
        self.kit = Kit(made, lanes(row.size + 2 + horizon), shifted)
        self._ages, self._times = 0, 0

    def cover(self, age: int) -> None:
        """See that tables of gains, and of harmonics where they never repeat, reach this age."""
        changed: dict[str, Any] = {}
        if min(age, LAST) >= self._ages:
            table = shared(self.periods, layout.models(self.pool)).up_to(age)
            self._ages = table.row_of_age.size
            changed |= tables(self.built, table)
        if self.built.rolls and age + self.horizon >= self._times:
            self._times = 2 * (age + self.horizon + 1)
            own = self.built.filters.frequencies, self.built.rows.shape[1]
            changed["harmonics"] = turning(*own, self._times)
        if changed:
            self.kit = self.kit._replace(plan=self.kit.plan._replace(**changed))

    def read(self, k: int, keys: Keys) -> tuple[Array, Array]:
        """The row of a key and its exact part, as a single forecaster has them."""
        if not self.kit.shifted:
            return keys.rows[k].copy(), keys.exact[k].copy()
        _storage.read(np.full(LANES, k), keys, self.kit)
        w = self.kit.row[: EXACT + self.row.size, 0].copy()
        return w[EXACT:], w[:EXACT]

    def write(self, k: int, keys: Keys, row: Array, exact: Array) -> None:
        """The inverse of `read`, when the key has its counts."""
        if self.kit.shifted:
            w = self.kit.row
            w[: EXACT + row.size] = np.concatenate([exact, row])[:, None]
            w[EXACT + row.size] = keys.counts[k, OF.logs]
            _storage.write(np.full(LANES, k), keys, self.kit)
        else:
            keys.rows[k], keys.exact[k] = row, exact

    def __deepcopy__(self, memo: dict[int, Any]) -> "Workshop":
        """One with the same tables and room of its own."""
        new = memo[id(self)] = copy(self)
        p, row = self.kit.plan, lanes(self.kit.row.shape[0])
        own = {"room": lanes(p.room.shape[0]), "paths": lanes(p.paths.shape[0])}
        p = p._replace(c=p.c.copy(), gain=p.gain.copy(), turned=p.turned.copy(), **own)
        new.kit, new.bands = self.kit._replace(plan=p, row=row), deepcopy(self.bands, memo)
        return new


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


def counts(places: Slots) -> NDArray[np.int64]:
    """Those of new keys at these places of the nursery."""
    new = zeros((places.size, len(OF)), np.int64)
    new[:, OF.now], new[:, OF.nest] = -1, places
    return new


def gathered(periods: tuple[float, ...]) -> int:
    """Rounds after which the values so far have told the units for good: two seasons, or fewer."""
    season = round(periods[0]) if periods else 1
    return min(max(_LEAST, 2 * season + 2), _MOST)


def checked(keys: Keys, shop: Workshop) -> None:
    """Make sure that restored keys are such as compiled rounds may meet; ValueError if not."""
    c, e = keys.counts, keys.exact
    rounds, now = c[:, OF.rounds], c[:, OF.now]
    grown = c[:, OF.nest] < 0
    good = (rounds >= 0) & (rounds <= MOST) & (now >= -1) & (now <= rounds) & (c[:, OF.before] >= 0)
    good &= np.isin(c[:, OF.logs], (0, 1)) & np.isin(c[:, OF.open], (0, 1))
    good &= (c[:, OF.bands] >= 0) & (c[:, OF.bands] <= MOST)
    good &= np.isin(c[:, OF.issued] - c[:, OF.bands], (0, 1))
    good &= c[:, OF.nest] < keys.nests.shape[0]
    good &= ~grown | ((now >= 0) & (rounds >= shop.gathered))
    good &= np.isfinite(np.delete(e, [AT.held, AT.expected], axis=1)).all(axis=1)
    good &= (e[:, AT.unit] > 0.0) & (e[:, AT.log_unit] > 0.0) & (e[:, AT.low] <= e[:, AT.high])
    good &= (c[:, OF.logs] == 0) | (now < 0) | (e[:, AT.low] > 0.0)
    end = int(shop.kit.plan.n[N.end]) - EXACT
    good &= np.isfinite(keys.rows[:, :end]).all(axis=1)
    if not good.all():
        at = int(np.argmin(good))
        raise ValueError(
            f"state 'counts' must fit the series: got {c[at].tolist()} with {e[at].tolist()};"
            f" {_AGAIN}"
        )

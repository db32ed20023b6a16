"""States of forecasters with a small pool: rows of numbers, and values of young keys beside."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.validation import stored
from stillpoint.fleet.batch.base import Batch
from stillpoint.fleet.batch.faults import COUNTED
from stillpoint.fleet.keys import Slots
from stillpoint.series import Forecaster
from stillpoint.series._scale import AT
from stillpoint.series.arguments import level
from stillpoint.series.light._plan import OF, SUM
from stillpoint.series.light._storage import Keys
from stillpoint.series.light.bands import LightBands
from stillpoint.series.light.choice import bands
from stillpoint.series.light.keys import Nursery, Workshop, checked, counts
from stillpoint.series.pool import POOLS

_AGAIN = "save the fleet again"
_LARGEST_SINGLE = 1e15  # size of values of float32, whose squares are kept


class SeriesRows(Batch):
    """States of `Forecaster` with a small pool, told seasons and no features."""

    def __init__(self, learner: Forecaster, threads: int, dtype: str) -> None:
        super().__init__(threads)
        self._new, self._dtype = learner, np.dtype(dtype)
        self.horizon = learner.horizon
        self.several, self.coverages = bool(np.ndim(learner.coverage)), np.size(learner.coverage)
        if self._dtype == np.float32:
            self.largest = _LARGEST_SINGLE
        self._periods: tuple[float, ...] = learner._engine.periods or ()
        self._level = level(learner.loss)
        self._shops: list[Workshop] = []  # one a thread
        shop = self._shop(0)
        self._nursery = Nursery(shop.gathered)
        self._lay(
            rows=shop.row.astype(self._dtype),
            exact=shop.exact,
            counts=counts(np.array([-1]))[0],
            time=np.float64(0.0),
        )

    @staticmethod
    def takes(learner: Forecaster) -> bool:
        """Whether forecasters like this one can be in such a batch."""
        told = not isinstance(learner.season, str)
        return POOLS[learner.pool].half and told and not learner.features

    def __getstate__(self) -> dict[str, Any]:
        """All but the workshops, most of which is tables that all fleets share."""
        return {**vars(self), "_shops": []}

    def _shop(self, thread: int) -> Workshop:
        while len(self._shops) <= thread:
            pool, own = POOLS[self._new.pool], (self._periods, self.horizon)
            asked = bands(pool, self.horizon, self._periods, self._new.coverage, self._level)
            assert isinstance(asked, LightBands)
            self._shops.append(Workshop(pool, *own, asked, self._dtype == np.float32))
        return self._shops[thread]

    @property
    def _keys(self) -> Keys:
        rows, exact, own = self._get("rows", "exact", "counts")
        return Keys(rows, exact, own, self._nursery.values)

    # states

    @property
    def _not_finite(self) -> frozenset[str]:
        return frozenset({"rows", "exact", "nests"})  # partly: `put` looks at them

    @property
    def nbytes(self) -> int:
        """All states, room for more included."""
        return super().nbytes + self._nursery.values.nbytes

    def clear(self, slots: Slots) -> None:
        """New keys begin at these places."""
        places = self._nursery.enter(slots.size)
        super().clear(slots)
        self.data["counts"][slots] = counts(places)

    def forget(self, slots: Slots) -> None:
        """The keys at these places are gone."""
        nests = self.data["counts"][slots, OF.nest]
        self._nursery.leave(nests[nests >= 0])
        self.data["counts"][slots, OF.nest] = -1

    def _release(self, slots: Slots) -> None:
        """Free the nests that keys have left."""
        nests = self.data["counts"][slots, OF.nest]
        left = nests < -1
        if left.any():
            self._nursery.leave(-2 - nests[left])
            self.data["counts"][slots[left], OF.nest] = -1

    def take(self, slots: Slots) -> dict[str, NDArray[Any]]:
        """The states at these places, for saving: nests in the order of their keys."""
        state = super().take(slots)
        nests = state["counts"][:, OF.nest]
        young = nests >= 0
        state["nests"] = self._nursery.values[nests[young]]
        nests[young] = np.arange(young.sum())
        return state

    def put(self, slots: Slots, state: dict[str, Any]) -> None:
        """Inverse of `take`; ValueError where arrays do not go together."""
        shop, n = self._shop(0), slots.size
        saved = Keys(
            stored(state, "rows", n, shop.row.size, dtype=self._dtype),
            stored(state, "exact", n, shop.exact.size),
            stored(state, "counts", n, len(OF), dtype=np.int64),
            stored(state, "nests", None, shop.gathered),
        )
        checked(saved, shop)
        own, rounds = saved.counts[:, OF.nest], saved.counts[:, OF.rounds]
        if (saved.counts[:, OF.bands] != np.maximum(rounds - 1, 0)).any():
            raise ValueError(f"state 'counts' must go together: got others; {_AGAIN}")
        young, size = own >= 0, np.abs(saved.nests).max(initial=0.0, where=~np.isnan(saved.nests))
        numbered = np.array_equal(own[young], np.arange(len(saved.nests)))
        if not numbered or (own[~young] != -1).any() or size > self.largest:
            raise ValueError(f"state 'nests' must be values of young keys: got others; {_AGAIN}")
        when = stored(state, "time", n)
        if not (when == np.round(when)).all() or (np.abs(when) > COUNTED).any():
            raise ValueError(f"state 'time' must be whole numbers: got others; {_AGAIN}")
        places = self.data["counts"][slots, OF.nest].copy()
        self._nursery.leave(places[~young])
        self._nursery.values[places[young]] = saved.nests
        own[young] = places[young]
        self.data["rows"][slots], self.data["exact"][slots] = saved.rows, saved.exact
        self.data["counts"][slots], self.data["time"][slots] = saved.counts, when

    def adopt(self, slot: int, state: dict[str, Any]) -> None:
        """Take over what `Forecaster.arrays` returned."""
        if state["timing.timed"] or state["time"] != round(state["time"]):
            raise ValueError(
                f"learner must have had no times to join this fleet: got one at {state['time']};"
                " play its rounds in the fleet, or take a learner out of one"
            )
        names = "row", "exact", "counts", "nest"
        row, exact, c, values = (state[f"engine.{name}"] for name in names)
        if max(np.abs(exact[[AT.low, AT.high, SUM.last]])) > self.largest:
            raise ValueError(
                f"learner must have had values within ±{self.largest:g}: got {exact[SUM.last]};"
                ' build the fleet with dtype="float64"'
            )
        nest = self.data["counts"][slot, OF.nest]
        self.data["counts"][slot], self.data["counts"][slot, OF.nest] = c, nest
        self._nursery.values[nest] = values
        self._shop(0).write(slot, self._keys, row, exact)
        self.data["time"][slot] = state["time"]
        if c[OF.nest] < 0:
            self.forget(np.array([slot]))

    def _started(self, slots: Any) -> Any:
        """Whether there has been a round."""
        return self.data["counts"][slots][..., [OF.rounds, OF.before, OF.open]].any(axis=-1)

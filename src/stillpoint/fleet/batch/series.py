"""Forecasters of many keys with a small pool: rows of numbers, one compiled loop over them."""

import os
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillpoint.core.validation import Array, stored
from stillpoint.fleet.batch.base import Batch, Fault, numbers, pool
from stillpoint.fleet.batch.faults import COUNTED, uncounted
from stillpoint.fleet.keys import Slots
from stillpoint.series import Forecaster
from stillpoint.series.arguments import level
from stillpoint.series.light._keys import Keys, play
from stillpoint.series.light._plan import OF
from stillpoint.series.light.bands import LightBands
from stillpoint.series.light.choice import bands
from stillpoint.series.light.engine import taken_out
from stillpoint.series.light.keys import Nursery, Workshop, checked, counts
from stillpoint.series.pool import POOLS
from stillpoint.series.slots import shortened

_NO_PARTS = np.empty((1, 0))
_LEAST = 256  # rounds a thread; below this starting it costs more than it saves
_BLOCK = 1 << 20  # ends of intervals that are worked out at once
_LARGEST_SINGLE = 1e15  # size of values of float32, whose squares are kept


class SeriesBatch(Batch):
    """States of `Forecaster` with a small pool, told seasons and no features.

    Times are whole numbers, slots 1 apart. Slots left out are rounds without a value, played before
    the round is opened; of very many in a row as many as lead to the same phase.
    """

    timed = True

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
        return Keys(*self._get("rows", "exact", "counts"), self._nursery.values)

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
        own = saved.counts[:, OF.nest]
        young, size = own >= 0, np.abs(saved.nests).max(initial=0.0, where=~np.isnan(saved.nests))
        numbered = np.array_equal(own[young], np.arange(len(saved.nests)))
        if not numbered or (own[~young] != -1).any() or size > self.largest:
            raise ValueError(
                "state 'nests' must be values of young keys, in their order: got others; save the"
                " fleet again"
            )
        when = stored(state, "time", n)
        if not (when == np.round(when)).all() or (np.abs(when) > COUNTED).any():
            raise ValueError("state 'time' must be whole numbers: got others; save the fleet again")
        places = self.data["counts"][slots, OF.nest].copy()
        self._nursery.leave(places[~young])
        self._nursery.values[places[young]] = saved.nests
        own[young] = places[young]
        self.data["rows"][slots], self.data["exact"][slots] = saved.rows, saved.exact
        self.data["counts"][slots], self.data["time"][slots] = saved.counts, when

    def state(self, slot: int) -> dict[str, Any]:
        """What `arrays` returns of a Forecaster that goes on as this key would.

        Its history and its detector of changes begin with the round it is in.
        """
        c, opened, answer = self.data["counts"][slot], False, np.nan
        if c[OF.open]:
            y = np.full((1, 1), np.nan)
            opened, answer = True, float(self._play(np.array([slot]), y, opens=True)[0][0, 0, 0])
        engine = taken_out(self._shop(0), slot, self._keys)
        own = {name: value for name, value in self._new.arrays().items() if "." in name}
        return {
            **own,
            **{f"engine.{name}": value for name, value in engine.items()},
            "rounds": int(c[OF.rounds] + c[OF.before]),
            "time": float(self.data["time"][slot]),
            "started": bool(self._started(slot)),
            "open": opened,
            "answer": answer,
        }

    def adopt(self, slot: int, state: dict[str, Any]) -> None:
        """Take over what `Forecaster.arrays` returned."""
        if state["timing.timed"] or state["time"] != round(state["time"]):
            raise ValueError(
                f"learner must have had no times to join this fleet: got one at {state['time']};"
                " play its rounds in the fleet, or take a learner out of one"
            )
        given, c = (state[f"engine.{name}"] for name in ("nest", "counts"))
        nest = self.data["counts"][slot, OF.nest]
        self.data["counts"][slot], self.data["counts"][slot, OF.nest] = c, nest
        self._nursery.values[nest] = given
        self._shop(0).write(slot, self._keys, state["engine.row"], state["engine.exact"])
        self.data["time"][slot] = state["time"]
        if c[OF.nest] < 0:
            self.forget(np.array([slot]))

    # checks

    def _started(self, slots: Any) -> Any:
        """Whether there has been a round."""
        return self.data["counts"][slots][..., [OF.rounds, OF.before, OF.open]].any(axis=-1)

    def _clocks(self, slots: Slots) -> tuple[NDArray[Any], ...]:
        opened = self.data["counts"][slots, OF.open] > 0
        return np.arange(slots.size), opened, self._started(slots), self.data["time"][slots]

    def _outside(self, slots: Slots, when: Array) -> list[Fault]:
        odd = np.flatnonzero(~((np.round(when) == when) & (np.abs(when) < COUNTED)))

        def what(row: int) -> str:
            return (
                f"time must be a whole number of slots, 1 apart, within ±2⁵³: got {when[row]};"
                " divide times by the gap between rows and round them, or leave them out"
            )

        return [Fault(odd, what)] if odd.size else []

    def feedback(self, slots: Slots, given: ArrayLike) -> tuple[tuple[Array, ...], list[Fault]]:
        """Targets, one a key."""
        y, faults = numbers("y", given, slots, self.largest, feedback=True)
        return (y,), faults

    def series(
        self, slots: Slots, Y: ArrayLike, X: ArrayLike | None
    ) -> tuple[Array, Any, list[Fault]]:
        """As all forecasters; times must leave room for as many rounds."""
        values, rows, faults = super().series(slots, Y, X)
        return values, rows, [*uncounted(self.data["time"][slots], values.shape[1]), *faults]

    # rounds

    def open(self, slots: Slots, when: Array, centres: Array) -> Array:
        """Forecasts, one a key."""
        self._pass(slots, when)
        return self._look(slots, 1)[0][:, 0]

    def close(self, slots: Slots, when: Array, feedback: tuple[Array, ...]) -> None:
        """Learn from targets; NaN is a missing one."""
        self._pass(slots, when)
        self._play(slots, feedback[0][:, None], closes=True)

    def skip(self, slots: Slots, when: Array) -> None:
        """Rounds whose targets are missing."""
        self.close(slots, when, (np.full(slots.size, np.nan),))

    def path(self, slots: Slots, horizon: int) -> Array:
        """Forecasts of the open rounds and those after them, (rows, horizon)."""
        return self._look(slots, horizon)[0]

    def ends(self, slots: Slots, horizon: int) -> tuple[Array, Array]:
        """Ends (lo, hi) of the intervals around them, each (rows, horizon, coverages)."""
        _, lo, hi = self._look(slots, horizon, intervals=True)
        return lo, hi

    def naive(self, slots: Slots) -> Array:
        """The last value, and that a season ago: the shortest season."""
        return self._play(slots, np.full((slots.size, 1), np.nan), opens=True, naive=True)[2][:, 0]

    def track(
        self, slots: Slots, Y: Array, X: Any, horizon: int, intervals: bool
    ) -> tuple[Array, ...]:
        """Key by key."""
        # as `update` without a time would: the round after the last one, or the open one
        self.data["time"][slots] += Y.shape[1]
        if Y.shape[1]:
            self.data["time"][slots] -= self.data["counts"][slots, OF.open]
        return self._said(slots, Y, horizon, intervals, closes=True)

    def _pass(self, slots: Slots, when: Array) -> None:
        """Play the slots before these rounds, and note when they are."""
        _, opened, started, time = self._clocks(slots)
        steps = np.where(started & ~opened, when - time, 1.0).astype(np.int64)
        if (steps > 1).any():
            missing = shortened(steps, self._periods) - 1
            for count in np.unique(missing[missing > 0]).tolist():
                some = slots[missing == count]
                self._play(some, np.full((some.size, count), np.nan), closes=True)
        self.data["time"][slots] = when

    def _look(self, slots: Slots, horizon: int, intervals: bool = False) -> tuple[Array, ...]:
        """Open rounds, where they are not: what `_said` returns of them."""
        y = np.full((slots.size, 1), np.nan)
        return tuple(part[:, 0] for part in self._said(slots, y, horizon, intervals))

    def _said(
        self, slots: Slots, y: Array, horizon: int, intervals: bool, closes: bool = False
    ) -> tuple[Array, ...]:
        """Forecasts of rounds (rows, T, horizon), then, if asked for, their ends lo and hi."""
        asked = self._shop(0).bands
        wanted = intervals or asked.shifts
        out, offsets, _ = self._play(
            slots, y, opens=True, closes=closes, horizon=horizon, ends=wanted
        )
        central, rounds = out.reshape(-1, horizon), slots.size * y.shape[1]
        flat = offsets.reshape(-1, *offsets.shape[2:])
        ends = np.empty((2, rounds if intervals else 0, horizon, self.coverages))
        step = max(1, _BLOCK // (horizon * (self.coverages + 1)))
        for first in range(0, rounds, step):
            part = slice(first, first + step)
            if intervals:
                offset = asked.between(flat[part], horizon)
                ends[:, part] = central[part][..., None] + offset
            central[part] += asked.shift(flat[part], horizon)
        if not intervals:
            return (out,)
        lo, hi = ends.reshape(2, *out.shape, self.coverages)
        return out, lo, hi

    def _play(
        self,
        slots: Slots,
        y: Array,
        *,
        opens: bool = False,
        closes: bool = False,
        horizon: int = 1,
        ends: bool = False,
        naive: bool = False,
    ) -> tuple[Array, Array, Array]:
        """As the compiled `play`, on so many threads: forecasts, offsets and naive forecasts."""
        (n, T), shop = y.shape, self._shop(0)
        out, said = np.empty((n, T, horizon)), np.empty((n, T * naive, 2))
        offsets = np.empty((n, T * ends, *shop.bands.state.offsets.shape))
        if not n * T:
            return out, offsets, said
        now = self.data["counts"][slots, OF.now]
        age = max(int(now.max()), shop.gathered) + T
        parts = max(1, min(self._threads, n, n * T // _LEAST))
        bounds, keys, jobs = np.linspace(0, n, parts + 1).astype(int), self._keys, []
        for thread, (a, b) in enumerate(pairwise(bounds)):
            shop, part = self._shop(thread), slice(a, b)
            shop.cover(age)
            given = slots[part], y[part], keys, shop.kit, opens, closes
            given += out[part], offsets[part], said[part], _NO_PARTS
            if parts == 1:
                play(*given)
            else:
                jobs.append(pool(self._threads, os.getpid()).submit(play, *given))
        for job in jobs:
            job.result()
        if closes:
            self._release(slots)
        return out, offsets, said

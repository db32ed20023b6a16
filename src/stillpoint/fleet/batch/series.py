"""Forecasters of many keys with a small pool: one compiled loop over their rows."""

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillpoint.core.validation import Array
from stillpoint.fleet.batch.base import Fault, finished, pool
from stillpoint.fleet.batch.faults import COUNTED, uncounted
from stillpoint.fleet.batch.series_rows import SeriesRows
from stillpoint.fleet.keys import Slots
from stillpoint.series.light._keys import play
from stillpoint.series.light._plan import OF
from stillpoint.series.light.engine import taken_out
from stillpoint.series.slots import shortened

_NO_PARTS = np.empty((1, 0))
_LEAST = 256  # rounds a thread; below this starting it costs more than it saves
_BLOCK = 1 << 20  # ends of intervals that are worked out at once


class SeriesBatch(SeriesRows):
    """Rounds of `Forecaster` with a small pool, told seasons and no features.

    Times are whole numbers, slots 1 apart. Slots left out are rounds without a value, played before
    the round is opened; of very many in a row as many as lead to the same phase.
    """

    timed = True

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

    # checks

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

    def path(self, slots: Slots, horizon: int) -> Array:
        """Forecasts of the open rounds and those after them, (rows, horizon)."""
        return self._look(slots, horizon)[0]

    def ends(self, slots: Slots, horizon: int) -> tuple[Array, Array]:
        """Ends (lo, hi) of the intervals around them, each (rows, horizon, coverages)."""
        _, lo, hi = self._look(slots, horizon, intervals=True)
        return lo, hi

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
        out, offsets = self._play(slots, y, opens=True, closes=closes, horizon=horizon, ends=wanted)
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
    ) -> tuple[Array, Array]:
        """As the compiled `play`, on so many threads: forecasts and offsets."""
        (n, T), shop = y.shape, self._shop(0)
        out = np.empty((n, T, horizon))
        offsets = np.empty((n, T * ends, *shop.bands.state.offsets.shape))
        if not n * T:
            return out, offsets
        back = None
        clocks = self.data["counts"][slots][:, [OF.open, OF.issued, OF.bands, OF.now]].T
        age = max(int(clocks[-1].max()), shop.gathered) + T
        if (clocks != clocks[:, :1]).any():  # keys at the same round are played together
            order = np.lexsort(clocks)
            slots, y, back = slots[order], y[order], np.argsort(order)
        parts = max(1, min(self._threads, n, n * T // _LEAST))
        bounds, keys = np.linspace(0, n, parts + 1).astype(int), self._keys

        def run(thread: int) -> None:
            rows = slice(bounds[thread], bounds[thread + 1])
            given = out[rows], offsets[rows], _NO_PARTS
            play(slots[rows], y[rows], keys, self._shop(thread).kit, opens, closes, *given)

        for thread in range(parts):
            self._shop(thread).cover(age)
        try:
            if parts == 1:
                run(0)
            else:
                workers = pool(self._threads, os.getpid())
                finished([workers.submit(run, thread) for thread in range(parts)])
        finally:  # an interrupt comes after the rounds, which are played
            if closes:
                self._release(slots)
        if back is not None:
            return out[back], offsets[back]
        return out, offsets

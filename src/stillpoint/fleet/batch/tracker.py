"""Batches of Tracker: experts and filters that join make the arrays wider for every key."""

from typing import Any

import numpy as np

from stillpoint.core.validation import Array, stored
from stillpoint.domains import Everywhere
from stillpoint.fleet.batch import _tracker
from stillpoint.fleet.batch.gradients import NEW_CLOCK, GradientBatch
from stillpoint.fleet.keys import Slots
from stillpoint.learners import Tracker, _bank
from stillpoint.learners import _tracker as single
from stillpoint.learners._tracker import AT, ROW
from stillpoint.learners.tracker import NAMES

# the rounds in which expert i, and level i, join
_DUE = np.array([single.expert_due(i) for i in range(single.LOG_PRIOR.size)])
_LEVEL_DUE = np.array([_bank.level_due(i) for i in range(_bank.LEVELS + 1)])
_FIRST = 3  # experts that there is room for at first: enough for 4095 rounds
_FIRST_LEVELS = 4  # likewise, for 511
_BY_EXPERT = ("rows", "losses", "weights", "squares")  # one row more for each expert


class TrackerBatch(GradientBatch):
    """States of `Tracker`."""

    used, most = "experts", single.LOG_PRIOR.size - 2

    def __init__(self, learner: Tracker, threads: int) -> None:
        super().__init__(threads)
        if learner.config["certify"] is not None:
            raise ValueError(
                f"certify must be None in a fleet: got {learner.config['certify']!r}; certify"
                " single learners"
            )
        self.dim = learner.dim
        domain = Everywhere() if learner._projection is None else learner._projection
        compiled = domain._compiled(self.dim)
        if compiled is None:
            raise ValueError(
                f"domain must have a compiled projection in a fleet: got {domain!r}; use one of"
                " sp.domains"
            )
        self._projected = learner._projection is not None
        self._domain = compiled
        state = learner.arrays()
        self._lay(
            stats=state["stats"],
            rows=np.zeros((ROW.experts + _FIRST, self.dim)),
            losses=np.zeros(1 + _FIRST),
            squares=np.zeros(_FIRST),
            weights=np.append(1.0, np.zeros(_FIRST)),
            bank=state["bank"],
            filters=np.zeros((_bank.rows_of(_FIRST_LEVELS), 2, self.dim)),
            velocities=np.zeros((_bank.trends_of(_FIRST_LEVELS), 2, self.dim)),
            beliefs=np.pad(state["beliefs"], [(0, _bank.rows_of(_FIRST_LEVELS) - 1), (0, 0)]),
            experts=np.int8(0),
            levels=np.int8(1),
            **NEW_CLOCK,
            **({"play": np.zeros(self.dim)} if self._projected else {}),
        )

    def _states(self) -> _tracker.States:
        played = self.data["play"] if self._projected else np.zeros((0, self.dim))
        return _tracker.States(
            self._group(single.State, NAMES),
            self._group(_bank.Bank, NAMES),
            self.data["experts"],
            self.data["levels"],
            played,
        )

    def _room(self, width: int) -> None:
        for name, more in (("rows", ROW.experts), ("losses", 1), ("weights", 1), ("squares", 0)):
            self.widen(name, width + more)

    def _room_for_levels(self, levels: int) -> None:
        for name in ("filters", "beliefs"):
            self.widen(name, _bank.rows_of(levels))
        self.widen("velocities", _bank.trends_of(levels))

    def _join(self, slots: Slots) -> None:
        """`Tracker._join` for the keys that are due; by the same product, whose bits count."""
        due = _tracker.joining(slots, _DUE, *self._get("open", "rounds", "experts"))
        while due.size:
            joins = self.data["experts"][due].astype(np.int64)
            self._room(int(joins.max()) + 1)
            last = self.data["rows"][due, ROW.play]
            self.data["rows"][due, ROW.experts + joins] = last
            self.data["squares"][due, joins] = (
                last[:, 0] ** 2 if self.dim == 1 else [row @ row for row in last]
            )
            self.data["losses"][due, 1 + joins] = -self.data["stats"][due, AT.gain]
            self.data["weights"][due, 1 + joins] = 0.0
            self.data["experts"][due] += 1
            due = due[self.data["rounds"][due] + 1.0 >= _DUE[joins + 1]]
        due = _tracker.joining(slots, _LEVEL_DUE, *self._get("open", "rounds", "levels"))
        while due.size:
            joins = self.data["levels"][due].astype(np.int64)
            for k in np.unique(joins):
                self._join_level(due[joins == k], int(k))
            due = due[self.data["rounds"][due] + 1.0 >= _LEVEL_DUE[joins + 1]]

    def _join_level(self, slots: Slots, k: int) -> None:
        """`grown` of the banks at these places, which have k levels."""
        self._room_for_levels(k + 1)
        filters, beliefs = self.data["filters"], self.data["beliefs"]
        own = _bank.level_row(k)
        filters[slots, own] = filters[slots, _bank.level_row(k - 1)]
        beliefs[slots, own] = 0.0
        if _bank.trends_of(k + 1):
            trend = _bank.trends_of(k)
            filters[slots, _bank.trend_row(trend)] = filters[slots, _bank.level_row(trend)]
            beliefs[slots, _bank.trend_row(trend)] = 0.0
            self.data["velocities"][slots, trend] = 0.0
        self.data["levels"][slots] += 1

    def open(self, slots: Slots, when: Array, centres: Array) -> Array:
        """Plays, (rows, dim)."""
        self._join(slots)
        plays = np.empty((slots.size, self.dim))
        rows = when, plays, self._domain
        self._run(_tracker.open_rounds, slots, *rows, *self._grouped())
        return plays

    def close(self, slots: Slots, when: Array, feedback: tuple[Array, ...]) -> None:
        """Learn from gradients."""
        if not self.data["open"][slots].all():
            self.open(slots, when, np.zeros(0))
        self.saturated += self._run(_tracker.close_rounds, slots, *feedback, *self._grouped())

    def put(self, slots: Slots, state: dict[str, Any]) -> None:
        """Inverse of `take`."""
        width = stored(state, "beliefs", slots.size, None, _bank.SCALES).shape[1]
        most = max((k for k in range(1, _bank.LEVELS + 1) if _bank.rows_of(k) <= width), default=0)
        levels = stored(state, "levels", slots.size, dtype=np.dtype(np.int8))
        if levels.size and not 1 <= levels.min() <= levels.max() <= most:
            raise ValueError(
                f"state 'levels' must be from 1 to {most}: got {levels.min()} to {levels.max()};"
                " save the fleet again"
            )
        self._room_for_levels(most)
        super().put(slots, state)

    def migrated(self, state: dict[str, Any]) -> dict[str, Any]:
        """`Tracker.migrated` of every key."""
        if "bank" in state:
            return state
        count = len(state["stats"])
        names = ("bank", "filters", "velocities", "beliefs", "levels")
        new = {name: np.repeat(self._blank[name][None], count, axis=0) for name in names}
        stats, rows = (
            stored(state, "stats", count, 11),
            stored(state, "rows", count, None, self.dim),
        )
        new |= {"stats": np.zeros((count, len(AT))), "rows": rows}
        for i, rounds in enumerate(stored(state, "rounds", count, dtype=np.dtype(np.int64))):
            new["stats"][i], rows[i] = single.from_first(stats[i], rows[i], int(rounds))
        new["bank"][:, _bank.AT.scale] = _bank.WIDEST * new["stats"][:, AT.radius]
        new["filters"][:, 0, 1] = rows[:, ROW.play]
        return {**state, **new}

    def state(self, slot: int) -> dict[str, Any]:
        """As `Tracker.arrays`."""
        own = {name: array[slot] for name, array in self.data.items()}
        count, levels = int(own["experts"]), int(own["levels"])
        filters = _bank.rows_of(levels)
        play = own["play"] if self._projected else own["rows"][ROW.play]
        return {
            **{name: own[name].item() for name in ("rounds", "time", "started", "warned")},
            **({"play": play.copy()} if own["open"] else {}),
            "stats": own["stats"].copy(),
            "rows": own["rows"][: ROW.experts + count].copy(),
            **{name: own[name][: count + 1].copy() for name in ("losses", "weights")},
            "squares": own["squares"][:count].copy(),
            "bank": own["bank"].copy(),
            **{name: own[name][:filters].copy() for name in ("filters", "beliefs")},
            "velocities": own["velocities"][: _bank.trends_of(levels)].copy(),
        }

    def adopt(self, slot: int, state: dict[str, Any]) -> None:
        """From `Tracker.arrays`."""
        count = len(state["squares"])
        self._room(count)
        levels = len(state["filters"]) - len(state["velocities"])
        self._room_for_levels(levels)
        for name in ("rounds", "time", "started", "warned", "stats", "bank"):
            self.data[name][slot] = state[name]
        for name in (*_BY_EXPERT, "filters", "velocities", "beliefs"):
            self.data[name][slot, : len(state[name])] = state[name]
        self.data["levels"][slot] = levels
        self.data["experts"][slot], self.data["open"][slot] = count, "play" in state
        if self._projected and "play" in state:
            self.data["play"][slot] = state["play"]

"""Batches of Tracker: experts that join make the arrays wider for every key."""

from typing import Any

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.domains import Everywhere
from stillpoint.fleet.batch import _tracker
from stillpoint.fleet.batch.gradients import GradientBatch
from stillpoint.fleet.keys import Slots
from stillpoint.learners import Tracker
from stillpoint.learners import _tracker as single
from stillpoint.learners._tracker import AT, ROW
from stillpoint.learners.tracker import NAMES

# the round in which expert i joins
_DUE = float(single.BASE) ** (2.0 * np.arange(single.LOG_PRIOR.size))
_FIRST = 3  # experts that there is room for at first: enough for 4095 rounds


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
            experts=np.int8(0),
            rounds=np.int64(0),
            time=np.float64(0.0),
            open=np.False_,
            started=np.False_,
            warned=np.False_,
            **({"play": np.zeros(self.dim)} if self._projected else {}),
        )

    def _states(self) -> _tracker.States:
        played = self.data["play"] if self._projected else np.zeros((0, self.dim))
        return _tracker.States(self._group(single.State, NAMES), self.data["experts"], played)

    def _room(self, width: int) -> None:
        for name, more in (("rows", ROW.experts), ("losses", 1), ("weights", 1), ("squares", 0)):
            self.widen(name, width + more)

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

    def state(self, slot: int) -> dict[str, Any]:
        """As `Tracker.arrays`."""
        own = {name: array[slot] for name, array in self.data.items()}
        count = int(own["experts"])
        play = own["play"] if self._projected else own["rows"][ROW.play]
        return {
            **{name: own[name].item() for name in ("rounds", "time", "started", "warned")},
            **({"play": play.copy()} if own["open"] else {}),
            "stats": own["stats"].copy(),
            "rows": own["rows"][: ROW.experts + count].copy(),
            **{name: own[name][: count + 1].copy() for name in ("losses", "weights")},
            "squares": own["squares"][:count].copy(),
        }

    def adopt(self, slot: int, state: dict[str, Any]) -> None:
        """From `Tracker.arrays`."""
        count = len(state["squares"])
        self._room(count)
        for name in ("rounds", "time", "started", "warned", "stats"):
            self.data[name][slot] = state[name]
        for name in ("rows", "losses", "weights", "squares"):
            self.data[name][slot, : len(state[name])] = state[name]
        self.data["experts"][slot], self.data["open"][slot] = count, "play" in state
        if self._projected and "play" in state:
            self.data["play"][slot] = state["play"]

"""Batches of MultiScale: levels that start make the arrays wider for every key."""

from typing import Any

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.fleet.batch import _multiscale
from stillpoint.fleet.batch.base import Fault
from stillpoint.fleet.batch.gradients import NEW_CLOCK, GradientBatch
from stillpoint.fleet.keys import Slots
from stillpoint.learners import MultiScale, _constrained
from stillpoint.learners.constrained import NAMES
from stillpoint.memory import _levels
from stillpoint.memory.levels import EARLY, LevelMemory

_FIRST = 6  # levels that there is room for at first: with base 4 enough for 1023 rounds
_LEVELS = _levels.State._fields
_TRUE = {name: f"account.{name}" for name in _LEVELS}  # levels of the true gradients, in files
_CLOCK = ("rounds", "time", "started", "warned")


class MultiScaleBatch(GradientBatch):
    """States of `MultiScale`, and of its ledger where that keeps a memory of its own."""

    used = "levels"

    def __init__(self, learner: MultiScale, threads: int) -> None:
        super().__init__(threads)
        if not learner._compiled:
            raise ValueError(
                f"domain must have a compiled projection in a fleet: got {learner.domain!r}; use"
                " one of sp.domains"
            )
        self.dim, self._lipschitz = learner.dim, learner.lipschitz
        self._memory = LevelMemory(learner.base, self.dim)
        self._own_ledger, self._free = not learner.ledger.shared, learner._free
        self._rule, self._parameters = learner._rule, learner._parameters
        state = learner.arrays()
        empty = _levels.State(
            np.zeros((_FIRST, self.dim)), np.zeros(_FIRST), np.zeros(_FIRST)
        )._asdict()
        true = {_TRUE[name]: value for name, value in empty.items()}
        true["account.squared_norm"] = np.float64(0.0)
        self._lay(
            stats=state["stats"],
            proposal=state["proposal"],
            inner=state["inner"],
            **empty,
            coefficients=np.zeros(_FIRST),
            levels=np.int32(0),
            origin=np.float64(state["memory.origin"]),
            moved=np.float64(state["memory.time"]),
            squared_norm=np.float64(0.0),
            linear=np.float64(0.0),
            **NEW_CLOCK,
            **({} if self._free else {"play": np.zeros(self.dim)}),
            **(true if self._own_ledger else {}),
        )
        # before the first round; then the number of levels
        self._diagonal = float(state["memory.diagonal"])

    def _above(self, sizes: Array) -> list[Fault]:
        rows = np.flatnonzero(np.isfinite(sizes) & (sizes > self._rule.limit))

        def what(row: int) -> str:
            return (
                f"g must have norm at most lipschitz = {self._lipschitz}: got norm {sizes[row]}; "
                "raise lipschitz, or leave it out to learn the scale"
            )

        return [Fault(rows, what, feedback=True)] if rows.size else []

    def _states(self) -> _multiscale.States:
        true = _levels.State(np.zeros((0, 0, 0)), np.zeros((0, 0)), np.zeros((0, 0)))
        return _multiscale.States(
            self._group(_constrained.State, NAMES),
            self._group(_levels.State),
            self.data["coefficients"],
            self.data["levels"],
            np.zeros((0, self.dim)) if self._free else self.data["play"],
            self.data["squared_norm"],
            self.data["linear"],
            self._group(_levels.State, _TRUE) if self._own_ledger else true,
            self.data["account.squared_norm"] if self._own_ledger else np.zeros(0),
        )

    def _room(self, width: int) -> None:
        for name in (*_LEVELS, "coefficients", *(_TRUE.values() if self._own_ledger else ())):
            self.widen(name, width)

    def put(self, slots: Slots, state: dict[str, Any]) -> None:
        """Inverse of `take`."""
        super().put(slots, state)
        if not np.isfinite(self.data["origin"][slots]).all():
            raise ValueError(
                "state 'origin' must be finite: levels would start without end; save the fleet"
                " again"
            )

    def _start(self, slots: Slots, when: Array) -> None:
        """`LevelMemory.start_due` for many: the first round sets the origin of time."""
        kernel, first = self._memory.kernel, ~np.isfinite(self.data["moved"][slots])
        fresh = slots[first]
        self.data["origin"][fresh] = when[first] - 1.0
        counts, origins = self.data["levels"][slots].astype(np.int64), self.data["origin"][slots]
        starts = np.array(
            [
                self._memory.starts(level) - kernel.origin
                for level in range(int(counts.max(initial=0)) + 1)
            ]
        )
        due = first | ~(when < origins + starts[counts])
        if not due.any():
            return
        rows, elapsed = slots[due], when[due] - origins[due]
        running, start = np.ones(rows.size, np.int64), 1.0
        while start < np.inf and (going := elapsed >= start * EARLY).any():
            running[going] += 1
            start *= kernel.base
        self._room(int(running.max()))
        self.data["levels"][rows] = np.maximum(running, counts[due])

    def _decays(self, gaps: Array) -> _levels.Decays:
        """e^{−a_j·gap} for the gaps there are."""
        if gaps.size == 0 or (gaps == gaps[0]).all():  # most streams tick evenly
            unique, which = gaps[:1], np.zeros(gaps.size, np.int64)
        else:
            unique, which = np.unique(gaps, return_inverse=True)
        base, count = self._memory.kernel.base, self.data["squares"].shape[1]
        rates = np.append(0.0, base ** (1.0 - np.arange(1.0, count)))
        decays = np.ones((unique.size, count))
        known = np.isfinite(unique)
        decays[known] = np.exp(-rates * unique[known, None])
        return _levels.Decays(decays, which.astype(np.int64))

    def open(self, slots: Slots, when: Array, centres: Array) -> Array:
        """Plays, (rows, dim)."""
        idle = ~self.data["open"][slots]
        self._start(slots[idle], when[idle])
        gaps = np.where(idle, when - self.data["moved"][slots], np.inf)
        decays = self._decays(gaps)
        self.data["moved"][slots[idle]] = when[idle]
        plays = np.empty((slots.size, self.dim))
        rows, rule = (when, plays, decays), (self._rule, self._parameters)
        self.saturated += self._run(_multiscale.open_rounds, slots, *rows, *rule, *self._grouped())
        return plays

    def close(self, slots: Slots, when: Array, feedback: tuple[Array, ...]) -> None:
        """Learn from gradients."""
        if not self.data["open"][slots].all():
            self.open(slots, when, np.zeros(0))
        rows = *feedback, np.empty_like(feedback[0]), self._rule
        self._run(_multiscale.close_rounds, slots, *rows, *self._grouped())

    def state(self, slot: int) -> dict[str, Any]:
        """As `MultiScale.arrays`."""
        own = {
            name: array[slot].copy() if array.ndim > 1 else array[slot].item()
            for name, array in self.data.items()
        }
        count = own["levels"]
        diagonal = float(count) if count else self._diagonal
        common = {
            "time": own["moved"],
            "pull": np.zeros(self.dim),
            "diagonal": diagonal,
            "origin": own["origin"],
        }
        memory = (
            common
            | {"squared_norm": own["squared_norm"]}
            | {name: own[name][:count] for name in _LEVELS}
        )
        state = {name: own[name] for name in (*_CLOCK, "stats", "proposal", "inner")}
        state |= {"coefficients": own["coefficients"][:count], "ledger.linear_loss": own["linear"]}
        state |= {f"memory.{name}": value for name, value in memory.items()}
        if self._own_ledger:
            true = common | {"squared_norm": own["account.squared_norm"]}
            true |= {name: own[_TRUE[name]][:count] for name in _LEVELS}
            state |= {f"ledger.memory.{name}": value for name, value in true.items()}
        if own["open"]:
            state["play"] = own["proposal"].copy() if self._free else own["play"]
        return state

    def adopt(self, slot: int, state: dict[str, Any]) -> None:
        """From `MultiScale.arrays`."""
        count = len(state["memory.squares"])
        self._room(count)
        for name in (*_CLOCK, "stats", "proposal", "inner"):
            self.data[name][slot] = state[name]
        for name, key in (
            ("moved", "time"),
            ("origin", "origin"),
            ("squared_norm", "squared_norm"),
        ):
            self.data[name][slot] = state[f"memory.{key}"]
        self.data["levels"][slot], self.data["linear"][slot] = count, state["ledger.linear_loss"]
        self.data["coefficients"][slot, :count] = state["coefficients"]
        for name in _LEVELS:
            self.data[name][slot, :count] = state[f"memory.{name}"]
            if self._own_ledger:
                self.data[_TRUE[name]][slot, :count] = state[f"ledger.memory.{name}"]
        if self._own_ledger:
            self.data["account.squared_norm"][slot] = state["ledger.memory.squared_norm"]
        self.data["open"][slot] = "play" in state
        if "play" in state and not self._free:
            self.data["play"][slot] = state["play"]

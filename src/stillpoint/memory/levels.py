"""Memory of several time scales, the direct sum of RKHSs that MultiScale learns in.

Every level has an OU kernel. Level 0 is static (rate 0), level j ≥ 1 has rate base^{1−j}; it starts
once base^{j−1} of time has elapsed, and counts from there.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stillpoint.core.allocation import zeros
from stillpoint.core.arithmetic import dot
from stillpoint.core.state import saved
from stillpoint.core.validation import Array, number, positive, stored
from stillpoint.kernels import Kernel
from stillpoint.memory import _levels
from stillpoint.memory.base import Memory
from stillpoint.memory.streaming import BLOCK

# part of its time after which a level starts: rounding of times must not put it off by a round
EARLY = 1.0 - 1e-12


@dataclass(frozen=True)
class Levels(Kernel):
    """k(s, t) = Σ_j 1[level j runs at s and at t]·e^{−a_j|s−t|}, time counted from `origin`."""

    base: float = 4.0
    origin: float = 0.0

    def __post_init__(self) -> None:
        if positive("base", self.base) <= 1.0:
            raise ValueError(f"base must be above 1: got {self.base}; between 4 and 8 works well")

    def count(self, time: float) -> int:
        """How many levels run at `time`."""
        levels, start = 1, 1.0
        while time - self.origin >= start * EARLY and start < np.inf:
            levels, start = levels + 1, start * self.base
        return levels

    def _value(self, s: Array, t: Array) -> Array:
        earlier = np.minimum(s, t) - self.origin
        total = np.ones(np.broadcast(s, t).shape)
        start = 1.0
        while start < np.inf and (earlier >= start * EARLY).any():
            total += np.where(earlier >= start * EARLY, np.exp(-np.abs(s - t) / start), 0.0)
            start *= self.base
        return total


class LevelMemory(Memory):
    """θ = (θ_0, θ_1, …), one element a level."""

    kernel: Levels

    def __init__(self, base: float, dim: int) -> None:
        super().__init__(Levels(base), dim)
        self._hold(_levels.State(zeros((0, dim)), zeros(0), zeros(0)))
        self.rates: Array = zeros(0)
        self._gap, self._decays = np.nan, zeros(0)
        self.next_start = -np.inf

    def _hold(self, state: _levels.State) -> None:
        """Keep the arrays of a state as attributes."""
        self.states, self.squares, self.variances = state

    def lay(self, into: _levels.State) -> None:
        """Move the state into other arrays of these shapes, and keep it there from now on."""
        for new, own in zip(into, self.state, strict=True):
            new[...] = own
        self._hold(into)

    @property
    def state(self) -> _levels.State:
        """The state, as compiled loops take it."""
        return _levels.State(self.states, self.squares, self.variances)

    def starts(self, level: int) -> float:
        """The time from which `level` runs."""
        if level == 0:
            return self.kernel.origin + 1.0
        try:
            return self.kernel.origin + self.kernel.base ** (level - 1) * EARLY
        except OverflowError:  # later than any time
            return np.inf

    def start_due(self, time: float) -> None:
        """Start the levels that are due at `time`."""
        if time < self.next_start:
            return
        if not np.isfinite(self.time):
            self.kernel = Levels(self.kernel.base, time - 1.0)
        due = self.kernel.count(time) - self.rates.size
        if due > 0:
            self.states = np.vstack([self.states, np.zeros((due, self.dim))])
            self.squares = np.append(self.squares, np.zeros(due))
            self.variances = np.append(self.variances, np.zeros(due))
            count = self.rates.size + due
            self.rates = np.append(0.0, self.kernel.base ** (1.0 - np.arange(1.0, count)))
            self._gap = np.nan
        self.next_start = self.starts(self.rates.size)

    def decays(self, gap: float) -> Array:
        """e^{−a_j·gap} of each level; all 1 before the first round, where the gap is infinite.

        They are kept, since most streams tick evenly.
        """
        if gap != self._gap:
            self._gap = gap
            self._decays = (
                np.exp(-self.rates * gap) if np.isfinite(gap) else np.ones(self.rates.size)
            )
        return self._decays

    def move(self, time: float) -> Array:
        """Go to `time` and start the levels due; returns the decays still to be applied."""
        self._refuse_past(time)
        gap = time - self.time
        self.start_due(time)
        self.time, self.diagonal = time, float(self.rates.size)
        return self.decays(gap)

    def advance(self, time: float) -> None:
        """Decay every level over the gap and start those that are due."""
        decays = self.move(time)  # first: it may lay the states anew
        _levels.decay(self.states, decays)

    def block(self, times: Array, first: int) -> tuple[int, _levels.Decays]:
        """Where a block of rounds from `first` on must stop for the next level, and its decays."""
        self.start_due(float(times[first]))
        later = int(np.searchsorted(times, self.starts(self.rates.size)))
        stop = min(first + BLOCK, times.size, max(first + 1, later))
        unique, which = np.unique(
            np.diff(times[first:stop], prepend=self.time), return_inverse=True
        )
        factors = np.array([self.decays(float(gap)) for gap in unique])
        return stop, _levels.Decays(factors, which)

    def replay(self, times: Array, gradients: Array, squared_norms: Array) -> None:
        """Compiled, up to the start of each next level."""
        first = 0
        while first < times.size:
            stop, decays = self.block(times, first)
            rows = slice(first, stop)
            _levels.replay(self.state, decays, gradients[rows], squared_norms[rows])
            self.time, self.diagonal = float(times[stop - 1]), float(self.rates.size)
            self.squared_norm = float(squared_norms[stop - 1])
            first = stop

    @property
    def pull(self) -> Array:
        """Σ_j θ_j at the present time, (dim,)."""
        return np.asarray(self.states.sum(axis=0))

    @property
    def norms(self) -> Array:
        """‖θ_j‖ of each level."""
        return np.sqrt(np.maximum(self.squares, 0.0))

    def add(self, g: Array) -> float:
        """Add g to every level."""
        self.squared_norm = float(_levels.add_round(self.states, self.squares, self.variances, g))
        return self.diagonal * float(dot(g, g))

    def _store(self, g: Array) -> None:
        raise NotImplementedError("levels store through add")

    def scale(self, factor: float) -> None:
        """θ_j ← factor·θ_j."""
        self.states *= factor
        self.squares *= factor * factor
        self.squared_norm *= factor * factor

    def arrays(self) -> dict[str, Any]:
        """Common part, levels and origin."""
        return {**self._common(), **saved(self.state), "origin": self.kernel.origin}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        # from −∞ levels would start without end
        self.kernel = Levels(self.kernel.base, number("origin", state["origin"]))
        count = stored(state, "squares", None).size
        self._hold(
            _levels.State(
                states=stored(state, "states", count, self.dim),
                squares=stored(state, "squares", count),
                variances=stored(state, "variances", count),
            )
        )
        self.rates = np.append(0.0, self.kernel.base ** (1.0 - np.arange(1.0, count)))[:count]
        self._restore_common(state)
        self._gap = np.nan
        self.next_start = self.starts(count) if np.isfinite(self.time) else -np.inf

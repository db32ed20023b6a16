"""Memory for Markov kernels: a (dim, P) state moved forward, O(P·dim) a round and flat in t."""

import math
from typing import Any

import numpy as np

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array, stored
from stillpoint.kernels import Kernel
from stillpoint.memory import _streaming
from stillpoint.memory.base import Memory

BLOCK = 4096  # rounds that compiled loops take at once


class StreamingMemory(Memory):
    """θ(t) = Σ_s k(s, t) g_s through the kernel's state space.

    Z ← F Z over a gap, θ(t) = Z h, and Z ← Z + g (P(t)h)' for a gradient at t.
    """

    def __init__(self, kernel: Kernel, dim: int) -> None:
        super().__init__(kernel.markov(), dim)
        space = kernel.state_space()
        if space is None:
            raise ValueError(
                f"memory='streaming' needs a kernel with a state space: got {kernel!r}; use"
                " memory='dense'"
            )
        self.space = space
        self._sums: Array = zeros((dim, space.size))
        self._scratch: Array = np.empty(space.size)
        self._gap, self._transition = np.nan, np.empty((0, 0))
        self._gain = space.gain(0.0) if space.stationary else np.empty(0)
        self._diagonal = float(kernel.diagonal(0.0)) if space.stationary else np.nan

    def transition(self, gap: float) -> Array:
        """F(gap); kept, since most streams tick evenly."""
        if gap != self._gap:
            self.space.check_gap(gap)
            self._gap, self._transition = gap, self.space.transition(gap)
        return self._transition

    def gain(self, time: float) -> Array:
        """P(time) h."""
        return self._gain if self.space.stationary else self.space.gain(time)

    def diagonals(self, times: Array) -> Array:
        """k(t, t) at each time."""
        return (
            np.full(times.shape, self._diagonal)
            if self.space.stationary
            else self.kernel.diagonal(times)
        )

    def advance(self, time: float) -> None:
        """Move the state over the gap."""
        self._refuse_past(time)
        # first: a kernel may refuse the time
        diagonal = self._diagonal if self.space.stationary else float(self.kernel.diagonal(time))
        if math.isfinite(self.time):
            F = self.transition(time - self.time)
            _streaming.advance(self._sums, F, self.space.h, self._scratch, self._pull)
        self.time, self.diagonal = time, diagonal

    @property
    def state(self) -> _streaming.State:
        """The state, as compiled loops take it."""
        return _streaming.State(self._sums, self._pull, self._scratch)

    def tables(self, times: Array) -> _streaming.Tables:
        """What compiled loops need to know of the kernel at `times`."""
        gaps = np.diff(times, prepend=self.time)
        unique, which = np.unique(gaps, return_inverse=True)
        if not math.isfinite(self.time):  # nothing to move before the very first round
            unique, which = unique[:-1], np.append(-1, which[1:])
        transitions = [self.transition(float(gap)) for gap in unique]
        table = np.stack(transitions) if transitions else np.zeros((0, 1, self.space.size))
        which = which.astype(np.int64)
        gains, diagonals = self.space.gains(times), self.diagonals(times)
        return _streaming.Tables(table, which, gains, diagonals, self.space.h)

    def replay(self, times: Array, gradients: Array, squared_norms: Array) -> None:
        """Compiled, in blocks that bound the tables for irregular times."""
        for first in range(0, times.size, BLOCK):
            rows = slice(first, first + BLOCK)
            tables, after = self.tables(times[rows]), squared_norms[rows]
            _streaming.replay(self.state, tables, gradients[rows], self.squared_norm, after)
            self.squared_norm = float(after[-1])
            self.time, self.diagonal = float(times[rows][-1]), float(tables.diagonals[-1])

    def _store(self, g: Array) -> None:
        _streaming.add(self._sums, self.gain(self.time), g)

    def scale(self, factor: float) -> None:
        """Multiply the state."""
        self._sums *= factor
        self._pull *= factor
        self.squared_norm *= factor * factor

    def arrays(self) -> dict[str, Any]:
        """Common part and the state matrix."""
        return {**self._common(), "state": self._sums.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        self._restore_common(state)
        self._sums[:] = stored(state, "state", *self._sums.shape)

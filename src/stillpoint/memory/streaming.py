"""Memory for Markov kernels: a (dim, P) state moved forward, O(P·dim) a round and flat in t."""

import warnings
from typing import Any

import numpy as np

from stillpoint._validate import Array
from stillpoint.kernels import Kernel
from stillpoint.memory import _hot
from stillpoint.memory.base import Memory


class StreamingMemory(Memory):
    """θ(t) = Σ_s k(s, t) g_s through the kernel's state space: Z ← F Z, θ(t) = Z h, Z ← Z + g (P(t)h)'."""

    def __init__(self, kernel: Kernel, dim: int) -> None:
        super().__init__(kernel.markov(), dim)
        space = kernel.state_space()
        if space is None:
            raise ValueError(f"memory='streaming' needs a kernel with a state space: got {kernel!r}; use memory='dense'")
        self.space = space
        self.state: Array = np.zeros((dim, space.size))
        self.scratch: Array = np.empty(space.size)
        self._gap, self._transition = np.nan, np.empty((0, 0))
        self._gain = space.gain(0.0) if space.stationary else np.empty(0)
        self._diagonal = float(kernel.diagonal(0.0)) if space.stationary else np.nan

    def transition(self, gap: float) -> Array:
        """F(gap); kept, since most streams tick evenly."""
        if gap != self._gap:
            if gap < self.space.min_gap * (1.0 - 1e-9):
                warnings.warn(
                    f"time gap {gap:g} is below the kernel's min_gap {self.space.min_gap:g}, where its mixture is less "
                    f"accurate than stated; build the kernel with min_gap={gap:g}",
                    RuntimeWarning,
                    stacklevel=4,
                )
            self._gap, self._transition = gap, self.space.transition(gap)
        return self._transition

    def gain(self, time: float) -> Array:
        """P(time) h."""
        return self._gain if self.space.stationary else self.space.gain(time)

    def diagonals(self, times: Array) -> Array:
        """k(t, t) at each time."""
        return np.full(times.shape, self._diagonal) if self.space.stationary else self.kernel.diagonal(times)

    def advance(self, time: float) -> None:
        """Move the state over the gap."""
        # first: a kernel may refuse the time
        diagonal = self._diagonal if self.space.stationary else float(self.kernel.diagonal(time))
        if np.isfinite(self.time):
            _hot.advance(self.state, self.transition(time - self.time), self.space.h, self.scratch, self.pull)
        self.time, self.diagonal = time, diagonal

    def _store(self, g: Array) -> None:
        _hot.add(self.state, self.gain(self.time), g)

    def scale(self, factor: float) -> None:
        """Multiply the state."""
        self.state *= factor
        self.pull *= factor
        self.squared_norm *= factor * factor

    def arrays(self) -> dict[str, Any]:
        """Common part and the state matrix."""
        return {**self._common(), "state": self.state}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        self._restore_common(state)
        self.state[:] = state["state"]

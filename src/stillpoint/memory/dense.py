"""Memory for any kernel: every past gradient is kept, O(t·dim) a round, in buffers that double."""

from typing import Any

import numpy as np

from stillpoint.core.validation import Array, stored
from stillpoint.kernels import Kernel
from stillpoint.memory import _streaming
from stillpoint.memory.base import Memory

# a factor that new gradients are divided by; below it, or above its inverse, they would leave the
# floats
SMALLEST = 1e-100


class DenseMemory(Memory):
    """θ(t) = Σ_s k(τ_s, t) g_s, summed anew each round."""

    def __init__(self, kernel: Kernel, dim: int) -> None:
        super().__init__(kernel, dim)
        self.size = 0
        self._times: Array = np.empty(16)
        self._roots: Array = np.empty(16)
        self._gradients: Array = np.empty((16, dim))
        self._factor = 1.0
        self._largest = 0.0

    def advance(self, time: float) -> None:
        """Evaluate the kernel against every kept time."""
        self._refuse_past(time)
        diagonal = float(self.kernel.diagonal(time))
        n = self.size
        column = self.kernel(self._times[:n], time)
        self._check_positive(diagonal, column, time)
        self._pull = self._factor * (column @ self._gradients[:n])
        self.time, self.diagonal = time, diagonal

    def _check_positive(self, diagonal: float, column: Array, time: float) -> None:
        """Refuse a kernel with a negative two-by-two minor.

        That is a cheap necessary condition, which catches most functions that are not kernels.
        """
        if not (np.isfinite(diagonal) and diagonal >= 0.0):
            raise ValueError(
                f"kernel is not positive definite: k(t, t) = {diagonal} at t = {time}; check the"
                " kernel"
            )
        limit = self._roots[: self.size] * np.sqrt(diagonal)
        excess = np.abs(column) - limit * (1.0 + 1e-9)
        if not np.isfinite(column).all() or (excess > 1e-12 * (1.0 + diagonal)).any():
            i = int(np.argmax(np.where(np.isfinite(excess), excess, np.inf)))
            raise ValueError(
                f"kernel is not positive definite: |k(s, t)| = {abs(column[i])} exceeds √(k(s,"
                f" s)k(t, t)) = {limit[i]} at s = {self._times[i]}, t = {time}; check the kernel"
            )

    def add(self, g: Array) -> float:
        """As `Memory.add`, refusing a step that would make ‖θ‖² negative (the kernel is then no
        kernel).
        """
        rise, square = _streaming.growth(g, self.pull, self.diagonal)
        after, largest = self.squared_norm + rise, max(self._largest, self.squared_norm + square)
        if after < -1e-8 * largest:  # rounding in S² is relative to the largest it has been
            raise ValueError(
                "kernel is not positive definite: the squared norm of the gradients' sum fell to"
                f" {after} at t = {self.time}; check the kernel {self.kernel!r}"
            )
        self._store(g)
        self.squared_norm, self._largest = after, largest
        return float(square)

    def _store(self, g: Array) -> None:
        n = self.size
        if n == self._times.size:
            self._times = np.concatenate([self._times, np.empty(n)])
            self._roots = np.concatenate([self._roots, np.empty(n)])
            self._gradients = np.concatenate([self._gradients, np.empty((n, self.dim))])
        self._times[n], self._roots[n] = self.time, np.sqrt(self.diagonal)
        if not SMALLEST <= abs(self._factor) <= 1.0 / SMALLEST:
            self._gradients[:n] *= self._factor
            self._factor = 1.0
        self._gradients[n] = g / self._factor
        self.size = n + 1

    def scale(self, factor: float) -> None:
        """O(1): one factor for all of the past."""
        self._factor *= factor
        self._pull = self._pull * factor
        self.squared_norm *= factor * factor

    def arrays(self) -> dict[str, Any]:
        """Common part and the kept rounds."""
        n = self.size
        buffers = {"times": self._times, "roots": self._roots, "gradients": self._gradients}
        kept = {name: value[:n].copy() for name, value in buffers.items()}
        return {**self._common(), **kept, "factor": self._factor, "largest": self._largest}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        self._restore_common(state)
        times = stored(state, "times", None)
        self.size = times.size
        capacity = max(16, 1 << self.size.bit_length())
        self._times, self._roots = np.empty(capacity), np.empty(capacity)
        self._gradients = np.empty((capacity, self.dim))
        self._times[: self.size] = times
        self._roots[: self.size] = stored(state, "roots", times.size)
        self._gradients[: self.size] = stored(state, "gradients", times.size, self.dim)
        self._factor = float(state["factor"])
        self._largest = float(state["largest"])

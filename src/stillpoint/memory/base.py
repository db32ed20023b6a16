"""The interface of memories: the past gradients, summed as an element of the RKHS."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array, stored
from stillpoint.kernels import Kernel
from stillpoint.memory import _streaming


class Memory(ABC):
    """The element θ = Σ_s g_s ⊗ φ(τ_s) of the RKHS, seen from the present time.

    Attributes
    ----------
    kernel : Kernel
        The kernel summed exactly: for streaming memory, the Markov form of the one asked for.
    time : float
        The present time, −inf before the first.
    diagonal : float
        k(time, time).
    squared_norm : float
        ‖θ‖².
    """

    def __init__(self, kernel: Kernel, dim: int) -> None:
        self.kernel, self.dim = kernel, dim
        self.time = -np.inf
        self._pull: Array = zeros(dim)
        self.diagonal = 0.0
        self.squared_norm = 0.0

    @property
    def pull(self) -> Array:
        """θ evaluated at the present time, (dim,)."""
        return self._pull

    @property
    def norm(self) -> float:
        """‖θ‖."""
        return float(np.sqrt(max(self.squared_norm, 0.0)))

    @abstractmethod
    def advance(self, time: float) -> None:
        """Move to a later time; sets `pull` and `diagonal`."""

    @abstractmethod
    def _store(self, g: Array) -> None:
        """Keep g at the present time."""

    @abstractmethod
    def scale(self, factor: float) -> None:
        """θ ← factor·θ."""

    def _refuse_past(self, time: float) -> None:
        if time < self.time:
            raise ValueError(f"time must increase: got {time} after {self.time}; sort the stream")

    def add(self, g: Array) -> float:
        """θ ← θ + g ⊗ φ(time); returns ‖g ⊗ φ(time)‖² = k(t,t)‖g‖².

        ‖θ‖² grows by k(t,t)‖g‖² + 2⟨g, θ(t)⟩ (Lemmas hs-norm and hs-sum-norm of the paper).
        """
        rise, square = _streaming.growth(g, self.pull, self.diagonal)
        self._store(g)
        self.squared_norm += rise
        return float(square)

    def replay(self, times: Array, gradients: Array, squared_norms: Array) -> None:
        """`advance` and `add` for many rounds; squared_norms receives ‖θ‖² after each."""
        for t, g in enumerate(gradients):
            self.advance(float(times[t]))
            self.add(g)
            squared_norms[t] = self.squared_norm

    @abstractmethod
    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""

    @abstractmethod
    def restore(self, state: dict[str, Any]) -> None:
        """Take over a state that `arrays` returned."""

    def _common(self) -> dict[str, Any]:
        return {
            "time": self.time,
            "pull": self._pull.copy(),
            "diagonal": self.diagonal,
            "squared_norm": self.squared_norm,
        }

    def _restore_common(self, state: dict[str, Any]) -> None:
        self.time, self.diagonal = float(state["time"]), float(state["diagonal"])
        self.squared_norm = float(state["squared_norm"])
        self._pull[:] = stored(state, "pull", self.dim)

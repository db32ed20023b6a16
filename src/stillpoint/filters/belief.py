"""A Gaussian belief about a function of time, moved and corrected: exact for Markov kernels at a cost flat in t.

The same object serves every curved learner (MATH section 6): VAW and strongly convex losses observe the value h'x of one state
shared by all outputs; exp-concave, directional and contextual ones observe a direction a⊗h of dim states.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint._validate import Array
from stillpoint.filters import _hot
from stillpoint.kernels import Kernel


class Belief:
    """Mean M (blocks·P, outputs) and covariance C (blocks·P, blocks·P) of the kernel's state at the present time."""

    def __init__(self, kernel: Kernel, blocks: int, outputs: int) -> None:
        space = kernel.state_space()
        if space is None:
            raise ValueError(f"kernel must have a state space: got {kernel!r}; use OU, OUMixture, Spline or Matérn kernels")
        self.kernel, self.space, self.blocks = kernel.markov(), space, blocks
        size = blocks * space.size
        self.M: Array = np.zeros((size, outputs))
        self.C: Array = np.zeros((size, size))
        self.time = -np.inf
        self.nugget = 0.0
        self._scratch, self._none = np.empty((size, size)), np.zeros((size, 0))
        self._gap, self._moves = np.nan, (np.empty((0, 0)), np.empty((0, 0)))
        self._spread: Array | None = None

    def advance(self, time: float) -> None:
        """Move to a later time: predict."""
        if np.isfinite(self.time):
            gap = time - self.time
            if gap != self._gap or not self.space.homogeneous:
                self._gap, self._moves = gap, (self.space.transition(gap), self.space.noise(gap, self.time))
            _hot.propagate(self.C, self.M, *self._moves, self._scratch)
            if self._spread is not None:
                _hot.propagate(self._spread, self._none, *self._moves, self._scratch)
        else:
            self.C[:] = np.kron(np.eye(self.blocks), self.space.covariance(time))
            if self._spread is not None:
                self._spread[:] = self.C
        self.time, self.nugget = time, self.space.nugget(time)

    def tables(self, times: Array) -> tuple[Array, Array, NDArray[np.int64], Array]:
        """What compiled loops need for `times`: transitions, noises, which of them precedes each round, nuggets.

        At the first round of all there is nothing to move: the belief is set to the prior there, and which is −1.
        """
        before = np.append(self.time, times[:-1])
        if not np.isfinite(self.time):
            self.advance(float(times[0]))
        gaps = times - before
        # the noise of some growing kernels depends on where the gap starts: then each round has its own
        keys = gaps if self.space.homogeneous else np.arange(times.size, dtype=np.float64)
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        live = [i for i in first if np.isfinite(before[i])]
        index = np.full(first.size, -1)
        index[[k for k, i in enumerate(first) if np.isfinite(before[i])]] = np.arange(len(live))
        moves = [self.space.transition(float(gaps[i])) for i in live] or [self.space.transition(1.0)]
        noises = [self.space.noise(float(gaps[i]), float(before[i])) for i in live] or [self.space.noise(1.0, float(times[0]))]
        return np.stack(moves), np.stack(noises), index[which], self.space.nuggets(times)

    def direction(self, a: Array) -> Array:
        """a⊗h: the state's coordinates of the functional ⟨a, f(t)⟩."""
        return np.asarray(np.kron(a, self.space.h), dtype=np.float64)

    def gain(self, H: Array) -> tuple[Array, float]:
        """(C H, H'C H): what observing H moves, and the variance of what it shows, the nugget not counted."""
        g = np.empty(H.size)
        return g, float(_hot.gain(self.C, H, g))

    def correct(self, g: Array, S: float, innovation: Array) -> None:
        """Learn from an observation with gain g, total variance S and this innovation."""
        _hot.correct(self.C, self.M, g, S, innovation)

    def track_dimension(self) -> None:
        """Keep what the effective dimension needs (one more covariance); to be called before the first round."""
        self._spread = np.zeros_like(self.C)

    def dimension_step(self, H: Array, g: Array, S: float, nugget: float) -> float:
        """This round's addition to the effective dimension of the observations' Gram matrix (KALMAN section 5)."""
        assert self._spread is not None
        return float(_hot.spread(self._spread, g, S, H, nugget, np.empty(H.size)))

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        spread = {} if self._spread is None else {"spread": self._spread}
        return {"mean": self.M, "covariance": self.C, "time": self.time, "nugget": self.nugget, **spread}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        self.M[:], self.C[:] = state["mean"], state["covariance"]
        self.time, self.nugget = float(state["time"]), float(state["nugget"])
        if self._spread is not None:
            self._spread[:] = state["spread"]

"""The ledger of a run: Σ⟨g, w⟩ and ‖Σ g ⊗ φ‖ of the true gradients, which certify its regret."""

from typing import Any

import numpy as np

from stillpoint.core.arithmetic import dot, running_dot
from stillpoint.core.validation import Array, under
from stillpoint.memory import DenseMemory, Memory


class Ledger:
    """Exact linearised regret against the worst comparator of an RKHS ball.

    For every radius B and round t, sup{Σ_{s≤t}⟨g_s, w_s − u_s⟩ : ‖U‖ ≤ B} = Σ_{s≤t}⟨g_s, w_s⟩ +
    B·‖Σ_{s≤t} g_s ⊗ φ(τ_s)‖, whatever produced the plays. For convex losses the true regret is at
    most this. In floats ‖·‖ is off by up to 1e-8 of the largest it has been, which shows only when
    gradients cancel almost entirely.

    Parameters
    ----------
    memory : Memory
        Holds the true gradients.
    shared : bool
        Whether the memory is the learner's own, which is fed those very gradients: the learner then
        adds to it. Otherwise the ledger does.
    """

    def __init__(self, memory: Memory, shared: bool) -> None:
        self.memory, self.shared = memory, shared
        self.linear_loss = 0.0

    @property
    def may_refuse(self) -> bool:
        """Whether it evaluates a kernel that may fail once the learner has moved."""
        dense = isinstance(self.memory, DenseMemory)
        return dense and not self.shared and self.memory.kernel._may_fail

    def advance(self, time: float) -> None:
        """Move to a round's time."""
        if not self.shared:
            self.memory.advance(time)

    def record(self, g: Array, play: Array) -> None:
        """Enter a round's gradient and play."""
        if not self.shared:
            self.memory.add(g)  # first: it may refuse
        self.linear_loss += float(dot(g, play))

    def replay(
        self, times: Array, gradients: Array, plays: Array, linear: Array, norms: Array
    ) -> None:
        """`advance` and `record` for many rounds.

        linear and norms receive Σ⟨g, w⟩ and ‖θ‖ after each. A shared memory has been through the
        rounds already; its norms are the learner's to write.
        """
        self.linear_loss = float(running_dot(gradients, plays, self.linear_loss, linear))
        if not self.shared:
            self.memory.replay(times, gradients, norms)
            np.sqrt(np.maximum(norms, 0.0), out=norms)

    def certificate(self, radius: float) -> float:
        """The largest linearised regret over comparators with RKHS norm at most `radius`."""
        return self.linear_loss + radius * self.memory.norm

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        own = (
            {}
            if self.shared
            else {f"memory.{key}": value for key, value in self.memory.arrays().items()}
        )
        return {"linear_loss": self.linear_loss, **own}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        self.linear_loss = float(state["linear_loss"])
        if not self.shared:
            self.memory.restore(under(state, "memory."))

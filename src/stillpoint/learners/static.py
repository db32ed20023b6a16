"""Algorithm 1 with any static learner: the protocol, and projected gradient descent as an example of one.

A static learner on the Hilbert space of operators W sees only inner products, which the memory supplies: θ(t) = pull, ‖θ‖,
and Σ‖G‖². It decides what to play from them, and what to put into the memory. A `Potential` is the common case: it plays
−(m(S, V)/S)·pull and stores each gradient as it is. Learners in norms other than the space's own, which grow with the gradients
(Theorem static-full-matrix), need more than these sums: they are `Directional` with the norms of `learners/norms.py`.
"""

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from stillpoint._validate import Array, positive
from stillpoint.memory import Memory


@dataclass(frozen=True)
class Sums:
    """What the memory and the account of the run say at the present round."""

    pull: Array  # θ(t) = Σ_{s<t} k(s, t) (what was stored at s), shape (dim,)
    size: float  # ‖θ‖
    variance: float  # Σ_{s<t}‖G_s‖² of the fed gradients
    hint: float  # H_t ≥ ‖G_t‖
    count: float  # F2's A_t, 0 where the hint is fixed
    diagonal: float  # k(t, t)


@runtime_checkable
class StaticLearner(Protocol):
    """The algorithm 𝒜 of Algorithm 1 (Theorem olo-reduction)."""

    def play(self, sums: Sums) -> Array:
        """W_t φ(t), shape (dim,)."""

    def store(self, g: Array, memory: Memory, sums: Sums) -> None:
        """Take in G_t = g ⊗ φ(t): change the memory as the algorithm demands."""

    def bound(self, norm: float, V: float, h: float, count: float = 0.0) -> float:
        """B_T of Theorem olo-reduction for a comparator of this norm, with V = Σ‖G_s‖² and hint h."""


@dataclass
class GradientDescent:
    """Projected online gradient descent in the RKHS ball ‖W‖ ≤ radius, step √2·radius/√Σ_{s≤t}‖G_s‖².

    R ≤ 2√2·radius·√Σ‖G_s‖² for ‖U‖ ≤ radius (Orabona 2019, Theorem 4.14 with diameter 2·radius).
    """

    radius: float

    def __post_init__(self) -> None:
        positive("radius", self.radius)

    def play(self, sums: Sums) -> Array:
        """The memory holds W_t itself."""
        return sums.pull.copy()

    def store(self, g: Array, memory: Memory, sums: Sums) -> None:
        """W ← Π(W − η_t G_t)."""
        variance = sums.variance + sums.diagonal * float(g @ g)
        if variance > 0.0:
            memory.add(-math.sqrt(2.0) * self.radius / math.sqrt(variance) * g)
            if memory.norm > self.radius:
                memory.scale(self.radius / memory.norm)

    def bound(self, norm: float, V: float, h: float, count: float = 0.0) -> float:
        """2√2·radius·√V; only for comparators within the radius."""
        if norm > self.radius * (1.0 + 1e-12):
            raise ValueError(f"norm must be at most the radius {self.radius}: got {norm}; raise radius")
        return 2.0 * math.sqrt(2.0) * self.radius * math.sqrt(V)

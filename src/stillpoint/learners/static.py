"""Static learners for Algorithm 1: the protocols, and gradient descent, projected or proximal.

A static learner on the Hilbert space of operators W sees only inner products, which the memory
supplies: θ(t) = pull, ‖θ‖, and Σ‖G‖². It decides what to play from them, and what to put into the
memory: from the gradient (`StaticLearner`), or from the loss itself, ℓ̃_t(W) = ℓ_t(Wφ(t))
(`LossLearner`). A `Potential` is the common case: it plays −(m(S, V)/S)·pull and stores each
gradient as it is. Learners in norms other than the space's own, which grow with the gradients
(Theorem static-full-matrix), need more than these sums: they are `Directional` with the norms of
`learners/norms.py`.
"""

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from stillpoint.core.validation import Array, number, positive, vector
from stillpoint.losses.stream import LossLike
from stillpoint.memory import Memory


@dataclass(frozen=True)
class Sums:
    """What the memory and the sums of the run say at the present round."""

    pull: Array  # θ(t) = Σ_{s<t} k(s, t) (what was stored at s), shape (dim,)
    size: float  # ‖θ‖
    variance: float  # Σ_{s<t}‖G_s‖² of the fed gradients
    hint: float  # H_t ≥ ‖G_t‖
    count: float  # A_t = 4 + Σ_{s<t}‖G_s‖²/H_s², 0 where the hint is fixed
    diagonal: float  # k(t, t)
    time: float  # t


@runtime_checkable
class StaticLearner(Protocol):
    """The algorithm 𝒜 of Algorithm 1 (Theorem olo-reduction)."""

    def play(self, sums: Sums) -> Array:
        """W_t φ(t), shape (dim,)."""

    def store(self, g: Array, memory: Memory, sums: Sums) -> None:
        """Take in G_t = g ⊗ φ(t): change the memory as the algorithm demands."""

    def bound(self, norm: float, V: float, h: float, count: float = 0.0) -> float:
        """B_T of Theorem olo-reduction for a comparator of this norm; V = Σ‖G_s‖², h the hint."""


@runtime_checkable
class LossLearner(Protocol):
    """The algorithm 𝒜 of Algorithm 1 as the paper has it, which is sent losses.

    The loss is ℓ̃_t(W) = ℓ_t(Wφ(t)) (Theorem RKHS-SR-solves-DR). Since ℓ̃_t depends on W through w
    = Wφ(t) alone, its value is ℓ_t(w), its gradient ∇ℓ_t(w)⊗φ(t), and its proximal step W − η
    g⊗φ(t) with g a gradient of ℓ_t at w − ηk(t,t)g: problems in R^d.
    """

    def play(self, sums: Sums) -> Array:
        """W_t φ(t), shape (dim,)."""

    def learn(self, loss: LossLike, memory: Memory, sums: Sums) -> float:
        """Take in ℓ̃_t: change the memory as the algorithm demands.

        Returns what the round adds to V of `bound`.
        """

    def bound(self, norm: float, V: float, h: float, count: float = 0.0) -> float:
        """B_T for a comparator of this norm, with V the sum of what `learn` returned and hint h."""


@dataclass(frozen=True)
class GradientDescent:
    """Projected online gradient descent in the RKHS ball ‖W‖ ≤ radius.

    Parameters
    ----------
    radius : float
        Radius of the ball.

    Notes
    -----
    The step is √2·radius/√Σ_{s≤t}‖G_s‖², and R ≤ 2√2·radius·√Σ‖G_s‖² for ‖U‖ ≤ radius (Orabona
    2019, Theorem 4.14 with diameter 2·radius).
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
            raise ValueError(
                f"norm must be at most the radius {self.radius}: got {norm}; raise radius"
            )
        return 2.0 * math.sqrt(2.0) * self.radius * math.sqrt(V)


@dataclass(frozen=True)
class ProximalDescent:
    """Implicit online gradient descent in the RKHS, stable for any step.

    W_{t+1} = argmin ‖W − W_t‖²/2 + step·ℓ_t(Wφ(t)) = W_t − step·g⊗φ(t), g a gradient of ℓ_t at the
    new value w_t − step·k(t,t)·g. Losses of `sp.losses` know it; one of your own must have a method
    `implicit_gradient(w, step)` that returns it. `update(g)` is the step on the linear loss ⟨g, ·⟩.

    Parameters
    ----------
    step : float
        η of the proximal step, in units of play over gradient.

    Notes
    -----
    With δ_t = ℓ_t(w_t) − ℓ_t(w'_t) − ‖W_{t+1} − W_t‖²/(2η), w'_t the new value,
    Σℓ_t(w_t) − ℓ_t(u_t) ≤ ‖U‖²/(2η) + Σδ_t, because ⟨G, W_{t+1} − U⟩ = (‖W_t − U‖² − ‖W_{t+1} − U‖²
    − ‖W_{t+1} − W_t‖²)/(2η) (Kulis & Bartlett 2010; Campolongo & Orabona 2020). `bound` takes V =
    Σ2δ_t/η. 0 ≤ δ_t ≤ (η/2)‖g_t‖²k(t,t) with g_t the gradient at the play, so it is never above
    that of gradient descent with this step, and equal to it for linear losses. With the gradients
    at the new points in place of g_t it would not hold: an absolute loss whose kink is nearer than
    the step is a counterexample.
    """

    step: float

    def __post_init__(self) -> None:
        positive("step", self.step)

    def play(self, sums: Sums) -> Array:
        """The memory holds W_t itself."""
        return sums.pull.copy()

    def learn(self, loss: LossLike, memory: Memory, sums: Sums) -> float:
        """W ← W − η g⊗φ(t); returns 2δ_t/η."""
        implicit = getattr(loss, "implicit_gradient", None)
        if implicit is None:
            raise ValueError(
                f"loss must have implicit_gradient(w, step) for ProximalDescent: got {loss!r}; give"
                " it one, or another learner"
            )
        reach = self.step * sums.diagonal
        if reach == 0.0:
            return 0.0
        w = sums.pull
        g = vector("loss.implicit_gradient", implicit(w.copy(), reach), w.size)
        drop = number(
            "loss.value",
            loss.value(w.copy()) - loss.value(w - reach * g) - 0.5 * reach * float(g @ g),
        )
        memory.add(-self.step * g)
        return 2.0 * max(drop, 0.0) / self.step

    def bound(self, norm: float, V: float, h: float, count: float = 0.0) -> float:
        """‖U‖²/(2η) + ηV/2."""
        return 0.5 * (norm * norm / self.step + self.step * V)

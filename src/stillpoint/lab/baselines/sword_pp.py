"""Sword++: Zhao, Zhang, Zhang & Zhou (2024), "Adaptivity and non-stationarity: problem-dependent
dynamic regret for online convex optimization".

One gradient a round. Base learners are optimistic gradient descent with M_{t+1} = ∇f_t(w_t) and
steps from √(D²/(8G²T)) to 1/(8L), each twice the one before. Optimistic Hedge sees ⟨g_t, x_{t,i}⟩ +
λ‖x_{t,i} − x_{t−1,i}‖² and expects ⟨g_{t−1}, x_{t,i}⟩ + λ‖x_{t,i} − x_{t−1,i}‖², λ = 2L: the moves
of base learners are paid for, which is what lets one gradient do for all.

The rate of Hedge is min{1/(8D²L), 2√(ln N)/√(c² + Σ(range of ⟨g_t − g_{t−1}, x_i⟩)²)}, c = 2GD: the
paper has √(ln N) over √(1 + D²Σ‖g_t − g_{t−1}‖²), in which the 1 has a unit.
"""

import math
from typing import ClassVar

from stillpoint.core.validation import count, positive
from stillpoint.domains import Ball
from stillpoint.lab.baselines.named import Named
from stillpoint.lab.online.bases import OptimisticDescent
from stillpoint.lab.online.metas import ExponentialWeights
from stillpoint.lab.online.schedules import Pool, grid


class SwordPP(Named):
    """O(√((1 + P_T + min{V_T, F_T})(1 + P_T))) for smooth losses, with one gradient a round.

    Parameters
    ----------
    dim
        The dimension of plays.
    horizon
        T. Later rounds are played with the same steps: nothing breaks, and `bound` goes on.
    lipschitz
        G ≥ ‖∇f_t‖ in the ball.
    smoothness
        L, the Lipschitz constant of ∇f_t.
    radius
        Of the ball that holds plays and comparators; the paper's D is its diameter.
    """

    assumes: tuple[str, ...] = ("T", "G", "D", "L")
    _given: ClassVar[tuple[str, ...]] = ("horizon", "lipschitz", "smoothness", "radius")

    def __init__(
        self, dim: int, *, horizon: int, lipschitz: float, smoothness: float, radius: float
    ) -> None:
        self.horizon = count("horizon", horizon)
        self.smoothness = positive("smoothness", smoothness)
        self.radius = positive("radius", radius)
        G = positive("lipschitz", lipschitz, "give the largest gradient norm")
        L, D = self.smoothness, 2.0 * self.radius
        low = D / (G * math.sqrt(8.0 * self.horizon))
        steps = grid(min(low, 0.125 / L), 0.125 / L)
        super().__init__(
            dim,
            schedule=Pool([OptimisticDescent(step) for step in steps]),
            meta=ExponentialWeights(
                1.0 / (8.0 * D * D * L),
                numerator=2.0 * math.sqrt(math.log(max(steps.size, 2))),
                range=2.0 * G * D,
            ),
            domain=Ball(self.radius),
            lipschitz=G,
            hints="last",
            penalty=2.0 * L,
            order=2,
        )

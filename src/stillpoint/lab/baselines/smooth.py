"""What learners for smooth losses share: their arguments, and the rate of the meta learner.

That is min{1/(8D²L), 2√(ln N)/√(c² + Σ(range of ℓ_t − m_t)²)}, c = 2GD: the second part is the best
for ln N/ε + Σε_t range²/8, which is what is lost at most, and no range exceeds c. The first is so
small that the terms of order −‖p_t − p_{t−1}‖₁²/ε in the regret of optimistic Hedge pay for what
gradients change because weights move; what `bound` returns does not need them.
"""

import math
from collections.abc import Sequence
from typing import ClassVar

from stillpoint.core.validation import count, positive
from stillpoint.domains import Ball
from stillpoint.lab.baselines.named import Named
from stillpoint.lab.online.bases import Base
from stillpoint.lab.online.metas import ExponentialWeights
from stillpoint.lab.online.schedules import Pool


class Smooth(Named):
    """A pool for losses whose gradients are Lipschitz.

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
        Of the ball that holds plays and comparators; the papers' D is its diameter.
    """

    assumes: tuple[str, ...] = ("T", "G", "D", "L")
    _given: ClassVar[tuple[str, ...]] = ("horizon", "lipschitz", "smoothness", "radius")
    _gradients: ClassVar[str] = "own"
    _hints: ClassVar[str] = "none"
    _penalty: ClassVar[float] = 0.0  # on squares of moves, in units of L

    def __init__(
        self, dim: int, *, horizon: int, lipschitz: float, smoothness: float, radius: float
    ) -> None:
        self.horizon = count("horizon", horizon)
        self.smoothness = positive("smoothness", smoothness)
        self.radius = positive("radius", radius)
        G = positive("lipschitz", lipschitz, "give the largest gradient norm")
        L, D = self.smoothness, 2.0 * self.radius
        bases = self._bases(self.horizon, G, L, D)
        super().__init__(
            dim,
            schedule=Pool(bases),
            meta=ExponentialWeights(
                1.0 / (8.0 * D * D * L),
                numerator=2.0 * math.sqrt(math.log(max(len(bases), 2))),
                range=2.0 * G * D,
            ),
            domain=Ball(self.radius),
            lipschitz=G,
            gradients=self._gradients,
            hints=self._hints,
            penalty=self._penalty * L,
            order=2,
        )

    @staticmethod
    def _bases(T: int, G: float, L: float, D: float) -> Sequence[Base]:
        raise NotImplementedError

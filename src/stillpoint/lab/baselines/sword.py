"""Sword: Zhao, Zhang, Zhang & Zhou (2020), "Dynamic regret of convex and smooth functions".

Base learners step along gradients at their own plays: extra-gradient descent with steps from
√(D²/(8G²T)) to 1/(4L), gradient descent with steps from √(D/(16LGT)) to 1/(4L), each twice the one
before. Hedge sees ⟨∇f_t(w_t), x_{t,i}⟩, and of the gradient of the coming round it expects M:
∇f_t(x̄_{t+1}) at x̄_{t+1} = Σp_{t,i}x_{t+1,i} (variation), 0 (small loss), or β_t times the first,
β_t ∝ exp(−Σ‖g − M‖²/(8G²)) (best).

The paper's rates of Hedge need V_T or F_T, or restarts; here they are min{1/(8D²L), 2√(ln N)/√(c² +
Σ(range of ⟨g − M, x_i⟩)²)}, c = 2GD, which its section on adaptive rates allows up to constants.
The rate of β is the exp-concavity of ‖g − M‖² for gradients of at most G.
"""

import math
from collections.abc import Sequence
from typing import ClassVar

from stillpoint.core.validation import count, positive
from stillpoint.domains import Ball
from stillpoint.lab.baselines.named import Named
from stillpoint.lab.online.bases import Base, Descent, ExtraDescent
from stillpoint.lab.online.metas import ExponentialWeights
from stillpoint.lab.online.schedules import Pool, grid


class _Sword(Named):
    assumes: tuple[str, ...] = ("T", "G", "D", "L")
    _given: ClassVar[tuple[str, ...]] = ("horizon", "lipschitz", "smoothness", "radius")
    _hinted: ClassVar[str] = "none"

    def __init__(
        self, dim: int, *, horizon: int, lipschitz: float, smoothness: float, radius: float
    ) -> None:
        self.horizon = count("horizon", horizon)
        self.smoothness = positive("smoothness", smoothness)
        self.radius = positive("radius", radius)
        G = positive("lipschitz", lipschitz, "give the largest gradient norm")
        T, L, D = self.horizon, self.smoothness, 2.0 * self.radius
        bases = self._bases(T, G, L, D)
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
            gradients="own",
            hints=self._hinted,
        )

    @staticmethod
    def _bases(T: int, G: float, L: float, D: float) -> Sequence[Base]:
        raise NotImplementedError

    @staticmethod
    def _extra(T: int, G: float, L: float, D: float) -> list[Base]:
        low = D / (G * math.sqrt(8.0 * T))
        return [ExtraDescent(step) for step in grid(min(low, 0.25 / L), 0.25 / L)]

    @staticmethod
    def _plain(T: int, G: float, L: float, D: float) -> list[Base]:
        low = math.sqrt(D / (16.0 * L * G * T))
        return [Descent(step) for step in grid(min(low, 0.25 / L), 0.25 / L)]


class SwordVariation(_Sword):
    """O(√((1 + P_T + V_T)(1 + P_T))), V_T = Σ sup‖∇f_t − ∇f_{t−1}‖², for smooth losses.

    It must be shown the losses; it queries two gradients per base learner and one more.

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

    _hinted: ClassVar[str] = "ahead"

    @staticmethod
    def _bases(T: int, G: float, L: float, D: float) -> Sequence[Base]:
        return _Sword._extra(T, G, L, D)


class SwordSmallLoss(_Sword):
    """O(√((1 + P_T + F_T)(1 + P_T))), F_T = Σf_t(u_t), for smooth losses that are never negative.

    It must be shown the losses. The arguments are those of `SwordVariation`.
    """

    @staticmethod
    def _bases(T: int, G: float, L: float, D: float) -> Sequence[Base]:
        return _Sword._plain(T, G, L, D)


class SwordBest(_Sword):
    """The better of `SwordVariation` and `SwordSmallLoss`, up to constants, with both their bases.

    It must be shown the losses. The arguments are those of `SwordVariation`.
    """

    _hinted: ClassVar[str] = "best"

    @staticmethod
    def _bases(T: int, G: float, L: float, D: float) -> Sequence[Base]:
        return [*_Sword._extra(T, G, L, D), *_Sword._plain(T, G, L, D)]

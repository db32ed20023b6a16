"""CBCE, coin betting for changing environments: Jun, Orabona, Wright & Willett (2017), "Online
learning for changing environments using coin betting".

On every interval [i·2^k, (i + 1)·2^k − 1], i ≥ 1, lives a base learner, here gradient descent with
steps (D/G)/√n in its n-th round. Each bets on its regret r_t = (ℓ_t(w_t) − ℓ_t(x_{t,I}))/(GD) by
the KT rule, and p_{t,I} ∝ π_I·max(bet, 0), π_I ∝ 1/(s²(1 + ⌊log₂ s⌋)) for one that begins at s.
"""

from stillpoint.lab.baselines.adaptive import Adaptive, sizes
from stillpoint.lab.online.bases import FadingDescent
from stillpoint.lab.online.metas import CoinBetting
from stillpoint.lab.online.schedules import DenseCover


class CBCE(Adaptive):
    """O(√(|I|·log T)) on every interval I, in O(log t) a round. Arguments: those of `Adaptive`."""

    def __init__(
        self, dim: int, *, lipschitz: float, radius: float, surrogate: bool = True
    ) -> None:
        G, D = sizes(lipschitz, radius)
        super().__init__(
            dim, DenseCover(FadingDescent(D / G)), CoinBetting(G * D), G, float(radius), surrogate
        )

"""SAOL: Daniely, Gonen & Shalev-Shwartz (2015), "Strongly adaptive online learning".

On every interval [i·2^k, (i + 1)·2^k − 1], i ≥ 1, lives a base learner, here gradient descent with
steps (D/G)/√n in its n-th round. Its weight is η = min{½, 1/√|I|} at birth and grows by 1 + ηr_t,
r_t = (ℓ_t(w_t) − ℓ_t(x_{t,I}))/(GD).
"""

from stillpoint.lab.baselines.adaptive import Adaptive, sizes
from stillpoint.lab.online.bases import FadingDescent
from stillpoint.lab.online.metas import Prod
from stillpoint.lab.online.schedules import DenseCover


class SAOL(Adaptive):
    """O(√|I|·log T) on every interval I, in O(log t) a round. Arguments: those of `Adaptive`."""

    def __init__(
        self, dim: int, *, lipschitz: float, radius: float, surrogate: bool = True
    ) -> None:
        G, D = sizes(lipschitz, radius)
        super().__init__(
            dim, DenseCover(FadingDescent(D / G)), Prod(G * D), G, float(radius), surrogate
        )

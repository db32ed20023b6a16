"""SACS and PSACS: Zhang, Liu & Zhou (2019), "Adaptive regret of convex and smooth functions".

On every interval [i·2^k, (i + 1)·2^k − 1], i odd, lives a base learner, scale-free gradient descent
with steps (D/√2)/√(δ + Σ‖g‖²); AdaNormalHedge for sleeping experts weighs them. PSACS counts the
intervals in markers, of which the next comes when the base learner born at the last one has lost
more than a threshold.

The paper's losses are in [0, 1]; here regrets are divided by GD, what losses in the ball can
differ. Its threshold is a constant of smoothness and size, in a unit that losses here need not
have: it is an argument.
"""

import math
from typing import ClassVar

from stillpoint.core.validation import nonnegative, positive
from stillpoint.lab.baselines.adaptive import Adaptive, sizes
from stillpoint.lab.online.bases import ScaleFree
from stillpoint.lab.online.metas import NormalHedge
from stillpoint.lab.online.schedules import CompactCover, LossCover


class SACS(Adaptive):
    """O(√(F_I·log s·log|I|)) on every interval I that ends at s, F_I the loss of the comparator.

    That is for smooth losses that are never negative. Arguments: those of `Adaptive`, and δ =
    offset > 0 (default: G²).
    """

    _given: ClassVar[tuple[str, ...]] = (*Adaptive._given, "offset")

    def __init__(
        self,
        dim: int,
        *,
        lipschitz: float,
        radius: float,
        surrogate: bool = True,
        offset: float | None = None,
    ) -> None:
        G, D = sizes(lipschitz, radius)
        self.offset = G * G if offset is None else nonnegative("offset", offset)
        base = ScaleFree(D / math.sqrt(2.0), self.offset)
        super().__init__(dim, CompactCover(base), NormalHedge(G * D), G, float(radius), surrogate)


class PSACS(Adaptive):
    """SACS over markers that follow the losses: its logarithms are of losses, not of rounds.

    It must be shown the losses. Markers depend on the run, so there is no `interval_bound`.

    Parameters
    ----------
    dim, lipschitz, radius, offset
        As for `SACS`.
    threshold
        The loss from a marker to the next.
    """

    assumes: tuple[str, ...] = ("G", "D", "threshold")
    _given: ClassVar[tuple[str, ...]] = ("lipschitz", "radius", "threshold", "offset")

    def __init__(
        self,
        dim: int,
        *,
        lipschitz: float,
        radius: float,
        threshold: float = 1.0,
        offset: float | None = None,
    ) -> None:
        G, D = sizes(lipschitz, radius)
        self.offset = G * G if offset is None else nonnegative("offset", offset)
        self.threshold = positive("threshold", threshold)
        base = ScaleFree(D / math.sqrt(2.0), self.offset)
        super().__init__(
            dim, LossCover(base, self.threshold), NormalHedge(G * D), G, float(radius), False
        )

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
from stillpoint.lab.online._bank import AT
from stillpoint.lab.online.bases import ScaleFree
from stillpoint.lab.online.guarantees import rounds_of
from stillpoint.lab.online.metas import NormalHedge
from stillpoint.lab.online.schedules import CompactCover, LossCover


class SACS(Adaptive):
    """O(√(F_I·log s·log|I|)) on every interval I that ends at s, F_I the loss of the comparator.

    That is for smooth losses that are never negative. Arguments: those of `Adaptive`, and δ =
    offset ≥ 0 (default: G²).
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

    It must be shown the losses, which must not be negative.

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

    def interval_bound(self, first: int, last: int, largest: float | None = None) -> float:
        """Bound on the regret in the rounds first..last, from 1, against any fixed u.

        Parameters
        ----------
        first, last
            The rounds.
        largest
            The largest loss in the ball; default GD, as for losses that are 0 somewhere in it.

        Notes
        -----
        It holds wherever markers are. From the first of them on, the interval is a chain of at most
        k = ⌈log₂(q + 1)⌉ lives of base learners, q ≤ n the markers in it; what is lost on each is
        concave in its rounds, so most where they are alike: k times what is lost on n/k. Rounds
        before that marker lie in the life of a base learner that has lost E = threshold + largest
        at most when the marker comes. Regrets r to it, in units of c = GD, have Σ|r| ≤ Σr + 2E/c,
        as no loss is negative, and Σr ≤ √(2hΣ|r|), 2h = 3 ln(N(5 + 3 ln(1 + s))/2): so Σr ≤ h +
        √(h² + 4hE/c), and all that the plays lose there is at most E + cΣr.
        """
        start, end = rounds_of(first, last)
        c, G, D = self.meta.range, self._limit, 2.0 * self.radius
        n, markers = end - start + 1, min(end, int(self._bank.clock[AT.marker]))
        pieces = math.ceil(math.log2(min(n, markers) + 1))
        each = math.ceil(n / pieces)
        total = pieces * (
            self.meta.on(1, 1, each, end) + self.schedule.kinds[0].static(each, G, D, self.dim)
        )
        if start > 1:  # the first round has a marker
            most = self.threshold + (c if largest is None else nonnegative("largest", largest))
            h = 0.5 * (self.meta.on(1, 1, 1, end) / c) ** 2
            total += most + c * (h + math.sqrt(h * h + 4.0 * h * most / c))
        return total

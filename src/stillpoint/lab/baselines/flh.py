"""Follow the leading history: Hazan & Seshadhri (2009), "Efficient learning algorithms for changing
environments".

At every t a base learner is born; that of t = i·2^k, i odd, lives for 2^{k+2} + 1 rounds. Weights
are those of exponential weights with rate α, and the one born at t gets 1/t of them. For curved
losses α is their exp-concavity (FLH); for others one of order 1/√T (AFLH).
"""

import math
from typing import ClassVar

from stillpoint.core.validation import count, positive
from stillpoint.lab.baselines.adaptive import Adaptive, sizes
from stillpoint.lab.online.bases import Base, FadingDescent, NewtonStep, StronglyConvexDescent
from stillpoint.lab.online.metas import FixedShare
from stillpoint.lab.online.schedules import LeadingHistories


class FLH(Adaptive):
    """O(log T·log|I|) on every interval I, for curved losses; the competitor of curved trackers.

    It must be shown the losses: weights follow their values at every base learner.

    Parameters
    ----------
    dim
        The dimension of plays.
    lipschitz
        G ≥ ‖∇f_t‖ in the ball.
    radius
        Of the ball that holds plays and comparators; its diameter is D.
    curvature
        H of H-strongly convex losses (1 for ½(w − y)²), or α of α-exp-concave ones.
    kind : "strong" or "exp-concave", default "strong"
        Base learners are gradient descent with steps 1/(Hn), for squared losses the running mean,
        and α = H/G²; or online Newton steps with γ = ½min{1/(4GD), α}, which begin at 1/(γ²D²)·I.
    """

    assumes: tuple[str, ...] = ("G", "D", "curvature")
    _given: ClassVar[tuple[str, ...]] = ("lipschitz", "radius", "curvature", "kind")

    def __init__(
        self, dim: int, *, lipschitz: float, radius: float, curvature: float, kind: str = "strong"
    ) -> None:
        G, D = sizes(lipschitz, radius)
        self.curvature, self.kind = positive("curvature", curvature), kind
        base: Base
        if kind == "strong":
            rate, base = self.curvature / (G * G), StronglyConvexDescent(self.curvature)
        elif kind == "exp-concave":
            gamma = 0.5 * min(0.25 / (G * D), self.curvature)
            rate, base = self.curvature, NewtonStep(gamma, (gamma * D) ** 2)
        else:
            raise ValueError(
                f"kind must be 'strong' or 'exp-concave': got {kind!r}; say how losses curve"
            )
        super().__init__(dim, LeadingHistories(base), FixedShare(rate), G, float(radius), False)


class AFLH(Adaptive):
    """O(√T·log T) on every interval, for convex losses. AFLH++ is that with `surrogate` (default).

    Base learners are gradient descent with steps (D/G)/√n; weights have the rate 1/(GD√T).

    Parameters
    ----------
    dim, lipschitz, radius, surrogate
        As for `Adaptive`.
    horizon
        T. Later rounds are played with the same rate: nothing breaks.
    """

    assumes: tuple[str, ...] = ("T", "G", "D")
    _given: ClassVar[tuple[str, ...]] = ("horizon", *Adaptive._given)

    def __init__(
        self,
        dim: int,
        *,
        horizon: int,
        lipschitz: float,
        radius: float,
        surrogate: bool = True,
    ) -> None:
        G, D = sizes(lipschitz, radius)
        self.horizon = count("horizon", horizon)
        meta = FixedShare(1.0 / (G * D * math.sqrt(self.horizon)), G * D)
        super().__init__(
            dim, LeadingHistories(FadingDescent(D / G)), meta, G, float(radius), surrogate
        )

"""Bandit gradient descent with one and two points, and parameter-free over a pool of steps.

BGD: Flaxman, Kalai & McMahan (2005), "Online convex optimization in the bandit setting"; with two
points Agarwal, Dekel & Xiao (2010). Gradient descent in the ball (1 − δ/R)X on estimates of
gradients. One point: δ = T^−¼·R√(dC/(3(LR + C))) and η = Rδ/(dC√T); two: δ = R max{ln T, 1}/T and η
= R/(dL√T). δ is at most R/2.

PBGD: Zhao, Wang, Zhang & Zhou (2021), "Bandit convex optimization in non-stationary environments".
Base learners with steps each twice the one before, all on the same estimate; Hedge with rate
√(2/T)/(G̃D), G̃ = dC/δ or dL, and prior ∝ 1/(i(i + 1)). One point: δ = √d·R·T^−¼ and steps from
√7·R²/(√d·C·T^¾); two: δ = dR/√T and steps from √(7/2)·R/(dL√T); the last is √(1 + 2T/7) times the
first. δ is at most R/2.
"""

import math
from typing import Any

import numpy as np

from stillpoint.core.validation import count, nonnegative, positive
from stillpoint.domains import Ball
from stillpoint.lab.baselines.bandit import Bandit
from stillpoint.lab.baselines.ogd import OGD
from stillpoint.lab.online.bases import Descent
from stillpoint.lab.online.ensemble import Ensemble
from stillpoint.lab.online.metas import ExponentialWeights
from stillpoint.lab.online.schedules import Pool, grid
from stillpoint.learners.base import GradientLearner


class _Told(Bandit):
    """A bandit that is told everything beforehand: δ is fixed, and the domain shrunk once."""

    assumes: tuple[str, ...] = ("T", "D", "L", "C")

    def __init__(
        self,
        dim: int,
        *,
        horizon: int,
        radius: float,
        lipschitz: float,
        largest: float | None = None,
        points: int = 1,
        seed: int = 0,
    ) -> None:
        self.horizon = count("horizon", horizon)
        self.radius = positive("radius", radius)
        self.lipschitz = positive("lipschitz", lipschitz, "give the largest slope of losses")
        if points == 1 and largest is None:
            raise ValueError("largest must be given with one point: got None; pass max|f_t|")
        self.largest = None if largest is None else positive("largest", largest)
        count("dim", dim)
        delta = min(self._delta(dim, points), 0.5 * self.radius)
        self.shrink = 1.0 - delta / self.radius
        super().__init__(
            self._inside(dim, points, delta),
            points=points,
            explore=delta,
            baseline=False,
            seed=seed,
        )
        self.inner = None  # the learner's domain has been shrunk
        self._power = 0.0  # δ stays

    def _delta(self, dim: int, points: int) -> float:
        raise NotImplementedError

    def _inside(self, dim: int, points: int, delta: float) -> GradientLearner:
        raise NotImplementedError

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""
        names = ("dim", "horizon", "radius", "lipschitz", "largest", "points", "seed")
        return {name: getattr(self, name) for name in names}

    def bound(self, path_length: float = 0.0) -> float:
        """Bound on the regret so far, in the mean over directions: of regrets and of bounds.

        Against every u_1..u_t in the ball whose Σ‖u_t − u_{t−1}‖ is at most `path_length`: what the
        learner in it has lost at most on its estimates to (1 − δ/R)u, and 3δLt: δL for playing
        beside z, δL for smoothing, and δL for (1 − δ/R)u in place of u.
        """
        path = nonnegative("path_length", path_length)
        inside: Any = self.learner
        return float(inside.bound(self.shrink * path)) + (
            3.0 * self.explore * self.lipschitz * self.observed
        )


class BGD(_Told):
    """O(T^¾) with one point, O(√T) with two, against fixed comparators.

    Parameters
    ----------
    dim
        The dimension of plays.
    horizon
        T. Later rounds are played with the same step and δ: nothing breaks, and `bound` goes on.
    radius
        R, of the ball that holds plays and comparators.
    lipschitz
        L, the largest slope of losses in it.
    largest
        C ≥ |f_t|, with one point.
    points
        1 or 2.
    seed
        Of the directions.
    """

    def _delta(self, dim: int, points: int) -> float:
        R, L, C, T = self.radius, self.lipschitz, self.largest, self.horizon
        if points == 1:
            assert C is not None
            return float(R * math.sqrt(dim * C / (3.0 * (L * R + C))) / T**0.25)
        return R * max(math.log(T), 1.0) / T

    def _inside(self, dim: int, points: int, delta: float) -> GradientLearner:
        size = self.lipschitz * dim if points == 2 else dim * (self.largest or 1.0) / delta
        step = self.radius / (size * math.sqrt(self.horizon))
        return OGD(dim, step=step, domain=Ball(self.shrink * self.radius))


class PBGD(_Told):
    """O(T^¾(1 + P)^½) with one point, O(√(T(1 + P))) with two, against moving comparators.

    The arguments are those of `BGD`.
    """

    def _delta(self, dim: int, points: int) -> float:
        R, T = self.radius, self.horizon
        return float(math.sqrt(dim) * R / T**0.25 if points == 1 else dim * R / math.sqrt(T))

    def _inside(self, dim: int, points: int, delta: float) -> GradientLearner:
        R, L, T = self.radius, self.lipschitz, self.horizon
        C = self.largest or 1.0
        if points == 1:
            size, low = dim * C / delta, math.sqrt(7.0) * R * R / (math.sqrt(dim) * C * T**0.75)
        else:
            size, low = dim * L, math.sqrt(3.5) * R / (dim * L * math.sqrt(T))
        steps = grid(low, low * math.sqrt(1.0 + 2.0 * T / 7.0))
        i = np.arange(1.0, steps.size + 1.0)
        return Ensemble(
            dim,
            schedule=Pool([Descent(step) for step in steps], prior=1.0 / (i * (i + 1.0))),
            meta=ExponentialWeights(math.sqrt(2.0 / T) / (size * 2.0 * R)),
            domain=Ball(self.shrink * R),
        )

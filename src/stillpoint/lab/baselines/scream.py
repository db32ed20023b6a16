"""Scream: Zhao, Wang, Zhang & Zhou (2022), "Non-stationary online learning with memory and
non-stochastic control".

Base learners are gradient descent with steps √(D²/(G(λ + G)T))·2^i up to √(1 + 2T) times the first.
Hedge, with rate √(2/((2λ + G)(λ + G)D²T)) and prior ∝ 1/(i(i + 1)), sees ⟨g_t, x_{t,i}⟩ + λ‖x_{t,i}
− x_{t−1,i}‖.
"""

import math
from typing import ClassVar

import numpy as np

from stillpoint.core.validation import count, nonnegative, positive
from stillpoint.domains import Ball
from stillpoint.lab.baselines.named import Named
from stillpoint.lab.online.bases import Descent
from stillpoint.lab.online.metas import ExponentialWeights
from stillpoint.lab.online.schedules import Pool, grid


class Scream(Named):
    """O(√(T(1 + P_T))) for regret and λ times the switching cost Σ‖w_t − w_{t−1}‖ together.

    `bound(path_length)` bounds their sum.

    Parameters
    ----------
    dim
        The dimension of plays.
    horizon
        T. Later rounds are played with the same steps: nothing breaks, and `bound` goes on.
    lipschitz
        G ≥ ‖g_t‖.
    switching
        λ.
    radius
        Of the ball that holds plays and comparators; the paper's D is its diameter.
    """

    assumes: tuple[str, ...] = ("T", "G", "D", "λ")
    _given: ClassVar[tuple[str, ...]] = ("horizon", "lipschitz", "switching", "radius")

    def __init__(
        self, dim: int, *, horizon: int, lipschitz: float, radius: float, switching: float = 1.0
    ) -> None:
        self.horizon = count("horizon", horizon)
        self.switching = nonnegative("switching", switching)
        self.radius = positive("radius", radius)
        G = positive("lipschitz", lipschitz, "give the largest gradient norm")
        T, D, cost = self.horizon, 2.0 * self.radius, self.switching
        low = D / math.sqrt(G * (cost + G) * T)
        steps = grid(low, low * math.sqrt(1.0 + 2.0 * T))
        i = np.arange(1.0, steps.size + 1.0)
        super().__init__(
            dim,
            schedule=Pool([Descent(step) for step in steps], prior=1.0 / (i * (i + 1.0))),
            meta=ExponentialWeights(math.sqrt(2.0 / ((2.0 * cost + G) * (cost + G) * T)) / D),
            domain=Ball(self.radius),
            lipschitz=G,
            penalty=cost,
        )

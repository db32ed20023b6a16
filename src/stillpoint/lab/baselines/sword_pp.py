"""Sword++: Zhao, Zhang, Zhang & Zhou (2024), "Adaptivity and non-stationarity: problem-dependent
dynamic regret for online convex optimization".

One gradient a round. Base learners are optimistic gradient descent with M_{t+1} = ∇f_t(w_t) and
steps from √(D²/(8G²T)) to 1/(8L), each twice the one before. Optimistic Hedge sees ⟨g_t, x_{t,i}⟩ +
λ‖x_{t,i} − x_{t−1,i}‖² and expects ⟨g_{t−1}, x_{t,i}⟩ + λ‖x_{t,i} − x_{t−1,i}‖², λ = 2L: the moves
of base learners are paid for, which is what lets one gradient do for all. Descent with a step η
wins ‖x_{t,i} − x_{t−1,i}‖²/(4η), which is enough up to η = 1/λ/4 = 1/(8L); the last step may be
above that, and then is one more to choose from.

The rate of Hedge is that of `smooth`: the paper has √(ln N) over √(1 + D²Σ‖g_t − g_{t−1}‖²), in
which the 1 has a unit.
"""

import math
from collections.abc import Sequence
from typing import ClassVar

from stillpoint.lab.baselines.smooth import Smooth
from stillpoint.lab.online.bases import Base, OptimisticDescent
from stillpoint.lab.online.schedules import grid


class SwordPP(Smooth):
    """O(√((1 + P_T + min{V_T, F_T})(1 + P_T))) for smooth losses, with one gradient a round.

    The arguments are those of `Smooth`.
    """

    _gradients: ClassVar[str] = "play"
    _hints: ClassVar[str] = "last"
    _penalty: ClassVar[float] = 2.0

    @staticmethod
    def _bases(T: int, G: float, L: float, D: float) -> Sequence[Base]:
        low = D / (G * math.sqrt(8.0 * T))
        return [OptimisticDescent(step) for step in grid(min(low, 0.125 / L), 0.125 / L)]

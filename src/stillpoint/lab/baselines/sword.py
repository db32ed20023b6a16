"""Sword: Zhao, Zhang, Zhang & Zhou (2020), "Dynamic regret of convex and smooth functions".

Base learners step along gradients at their own plays: extra-gradient descent with steps from
√(D²/(8G²T)) to 1/(4L), gradient descent with steps from √(D/(16LGT)) to 1/(4L), each twice the one
before. Hedge sees ⟨∇f_t(w_t), x_{t,i}⟩, and of the gradient of the coming round it expects M:
∇f_t(x̄_{t+1}) at x̄_{t+1} = Σp_{t,i}x_{t+1,i} (variation), 0 (small loss), or β_t times the first,
β_t ∝ exp(−Σ‖g − M‖²/(8G²)) (best).

The paper's rates of Hedge need V_T or F_T, or restarts; here they follow what was measured, see
`smooth`. Of β it has exp(−2Σ‖g − M‖²), whose 2 has a unit; here it is the exp-concavity of
‖g − M‖², 2-strongly convex with slopes of at most 4G: Σ‖g − β_tM‖² is above the lesser of
Σ‖g − M‖² and Σ‖g‖² by 8G² ln 2 at most.
"""

import math
from collections.abc import Sequence
from typing import ClassVar

from stillpoint.lab.baselines.smooth import Smooth
from stillpoint.lab.online.bases import Base, Descent, ExtraDescent
from stillpoint.lab.online.schedules import grid


def _extra(T: int, G: float, L: float, D: float) -> list[Base]:
    low = D / (G * math.sqrt(8.0 * T))
    return [ExtraDescent(step) for step in grid(min(low, 0.25 / L), 0.25 / L)]


def _plain(T: int, G: float, L: float, D: float) -> list[Base]:
    low = math.sqrt(D / (16.0 * L * G * T))
    return [Descent(step) for step in grid(min(low, 0.25 / L), 0.25 / L)]


class SwordVariation(Smooth):
    """O(√((1 + P_T + V_T)(1 + P_T))), V_T = Σ sup‖∇f_t − ∇f_{t−1}‖², for smooth losses.

    It must be shown the losses; it queries two gradients per base learner and one more. The
    arguments are those of `Smooth`.
    """

    _hints: ClassVar[str] = "ahead"

    @staticmethod
    def _bases(T: int, G: float, L: float, D: float) -> Sequence[Base]:
        return _extra(T, G, L, D)


class SwordSmallLoss(Smooth):
    """O(√((1 + P_T + F_T)(1 + P_T))), F_T = Σf_t(u_t), for smooth losses that are never negative.

    It must be shown the losses. The arguments are those of `Smooth`.
    """

    @staticmethod
    def _bases(T: int, G: float, L: float, D: float) -> Sequence[Base]:
        return _plain(T, G, L, D)


class SwordBest(Smooth):
    """The better of `SwordVariation` and `SwordSmallLoss`, up to constants, with both their bases.

    It must be shown the losses. The arguments are those of `Smooth`.
    """

    _hints: ClassVar[str] = "best"

    @staticmethod
    def _bases(T: int, G: float, L: float, D: float) -> Sequence[Base]:
        return [*_extra(T, G, L, D), *_plain(T, G, L, D)]

"""Radii that step on hits and misses alone.

ACI with a fixed step, a decaying step, scale-free gradient descent, coin betting. g_t = 1 −
coverage at a hit, −coverage at a miss, is a subgradient of the pinball loss at the radius. All
start at radius 0.
"""

from typing import ClassVar

import numpy as np

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array, positive
from stillpoint.lab.baselines.conformal import _steps
from stillpoint.lab.baselines.conformal.base import RadiusTracker


class _Stepping(RadiusTracker):
    _rule = _steps.ACI

    def __init__(self, coverage: float, *, size: float, power: float = 0.0) -> None:
        super().__init__(coverage)
        self._size, self._power, self._state = size, power, zeros(len(_steps.AT))

    def predict(self) -> float:
        """The radius of the coming round; below 0 it is the empty set."""
        return float(self._state[_steps.AT.radius])

    def _rounds(self, scores: Array) -> Array:
        radii = np.empty(scores.size)
        _steps.play_rounds(
            self._rule, self.coverage, self._size, self._power, scores, self._state, radii
        )
        return radii


class ACI(_Stepping):
    """r_{t+1} = r_t − step·g_t: Gibbs & Candès (2021), on the radius.

    "Adaptive conformal inference under distribution shift". This is quantile tracking, the P of
    Angelopoulos, Candès & Tibshirani (2023), "Conformal PID control for time series prediction".
    step: in the unit of the scores.
    """

    assumes: tuple[str, ...] = ("step",)
    _given: ClassVar[tuple[str, ...]] = ("step",)

    def __init__(self, coverage: float = 0.9, *, step: float = 0.1) -> None:
        self.step = positive("step", step)
        super().__init__(coverage, size=self.step)


class DecayingStep(_Stepping):
    """r_{t+1} = r_t − step·t^−power·g_t: Angelopoulos, Barber & Bates (2024).

    "Online conformal prediction with decaying step sizes". power: ½ + ε, theirs with ε = 0.1.
    """

    assumes: tuple[str, ...] = ("step",)
    _given: ClassVar[tuple[str, ...]] = ("step", "power")
    _rule = _steps.DECAYING

    def __init__(self, coverage: float = 0.9, *, step: float = 1.0, power: float = 0.6) -> None:
        self.step, self.power = positive("step", step), positive("power", power)
        super().__init__(coverage, size=self.step, power=self.power)


class SFOGD(_Stepping):
    """r_{t+1} = max(0, r_t − (D/√3)·g_t/√Σ_{s≤t} g_s²): Orabona & Pál (2018).

    As in Bhatnagar et al. (2023), Algorithm 2.

    largest: D, the largest score to come.
    """

    assumes: tuple[str, ...] = ("D",)
    _given: ClassVar[tuple[str, ...]] = ("largest",)
    _rule = _steps.SCALE_FREE

    def __init__(self, coverage: float = 0.9, *, largest: float = 1.0) -> None:
        self.largest = positive("largest", largest)
        super().__init__(coverage, size=self.largest)


class Betting(_Stepping):
    """r_{t+1} = λ_{t+1}W_t: Podkopaev, Xu & Lee (2024), with the KT bettor.

    "Adaptive conformal inference by betting". Coins c_t = −g_t, share λ_{t+1} = Σ_{s≤t} c_s/(t +
    1), wealth W_t = W_{t−1} + c_t r_t from W_0 = wealth, which is in the unit of the scores: the
    radius reaches others exponentially fast, but is 0 in the first round.
    """

    assumes: tuple[str, ...] = ("wealth",)
    _given: ClassVar[tuple[str, ...]] = ("wealth",)
    _rule = _steps.BETTING

    def __init__(self, coverage: float = 0.9, *, wealth: float = 1.0) -> None:
        self.wealth = positive("wealth", wealth)
        super().__init__(coverage, size=self.wealth)
        self._state[_steps.AT.wealth] = self.wealth

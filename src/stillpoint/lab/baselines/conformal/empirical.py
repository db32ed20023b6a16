"""α-ACI: Gibbs & Candès (2021), "Adaptive conformal inference under distribution shift", with an
empirical quantile.
"""

from typing import Any, ClassVar

import numpy as np

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array, count, counted, positive
from stillpoint.lab.baselines.conformal import _steps
from stillpoint.lab.baselines.conformal.base import RadiusTracker


class WindowACI(RadiusTracker):
    """The radius is the ⌈(1 − α_t)(n + 1)⌉-th smallest of the last n scores, n up to `window`.

    α_1 = 1 − coverage; α_{t+1} = α_t + step·(1 − coverage − miss_t).

    step: γ, which has no unit. ∞ while that rank is beyond the window, −∞ (the empty set) where it
    is 0.
    """

    assumes: tuple[str, ...] = ("step", "window")
    _given: ClassVar[tuple[str, ...]] = ("step", "window")
    _fields: ClassVar[tuple[str, ...]] = ("_state", "_window", "_ordered")

    def __init__(self, coverage: float = 0.9, step: float = 0.005, window: int = 500) -> None:
        super().__init__(coverage)
        self.step, self.window = positive("step", step), count("window", window)
        self._state, self._window, self._ordered = zeros(3), zeros(self.window), zeros(self.window)
        self._state[_steps.ALPHA] = 1.0 - self.coverage

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        counted("state", self._state[_steps.FILLED], self.window)
        counted("state", self._state[_steps.OLDEST], self.window - 1)

    def predict(self) -> float:
        """The radius of the coming round."""
        return float(_steps.empirical(self._state, self._ordered))

    def _rounds(self, scores: Array) -> Array:
        radii = np.empty(scores.size)
        _steps.empirical_rounds(
            self.coverage, self.step, scores, self._state, self._window, self._ordered, radii
        )
        return radii

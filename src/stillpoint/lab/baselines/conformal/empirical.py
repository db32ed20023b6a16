"""α-ACI: Gibbs & Candès (2021), "Adaptive conformal inference under distribution shift".

With an empirical quantile of the last scores.
"""

from typing import Any, ClassVar

import numpy as np

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array, count, counted, positive
from stillpoint.lab.baselines.conformal import _empirical
from stillpoint.lab.baselines.conformal._empirical import AT
from stillpoint.lab.baselines.conformal.base import RadiusTracker


class WindowACI(RadiusTracker):
    """The radius is the ⌈(1 − α_t)(n + 1)⌉-th smallest of the last n scores, n up to `window`.

    α_1 = 1 − coverage; α_{t+1} = α_t + step·(1 − coverage − miss_t).

    It is ∞ while that rank is beyond the window, −∞ (the empty set) where it is 0.

    Parameters
    ----------
    coverage
        The share of scores to cover.
    step
        γ, which has no unit.
    window
        How many scores are kept.
    """

    assumes: tuple[str, ...] = ("step", "window")
    _given: ClassVar[tuple[str, ...]] = ("step", "window")
    _fields: ClassVar[tuple[str, ...]] = ("_state", "_window", "_ordered")

    def __init__(self, coverage: float = 0.9, *, step: float = 0.005, window: int = 500) -> None:
        super().__init__(coverage)
        self.step, self.window = positive("step", step), count("window", window)
        self._state = zeros(len(AT))
        self._window = zeros(self.window)
        self._ordered = zeros(self.window)
        self._state[AT.alpha] = 1.0 - self.coverage

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        counted("state", self._state[AT.filled], self.window)
        counted("state", self._state[AT.oldest], self.window - 1)

    def predict(self) -> float:
        """The radius of the coming round."""
        return float(_empirical.radius(self._state, self._ordered))

    def _rounds(self, scores: Array) -> Array:
        radii = np.empty(scores.size)
        state = _empirical.State(self._state, self._window, self._ordered)
        _empirical.play_rounds(state, self.coverage, self.step, scores, radii)
        return radii

"""Hedge over learners: Freund & Schapire (1997), with a prior and a rate that needs no horizon.

p_{t,i} ∝ π_i exp(−η_t Σ_{s<t}ℓ_{s,i}), ℓ_i = ⟨g, x_i⟩, η_t = 2√(ln N)/√(B_t² + Σ_{s<t}(range of
ℓ_s)²).
"""

import math
from typing import ClassVar

import numpy as np

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array
from stillpoint.lab.baselines._hedge import weigh
from stillpoint.lab.baselines.combination import Combination


class Hedge(Combination):
    """Exponential weights: loses O(√(ln N·Σ range²)) to the best of N learners.

    The arguments are those of `Combination`.
    """

    _fields: ClassVar[tuple[str, ...]] = (*Combination._fields, "_cumulative", "_variance")
    _ranges: ClassVar[float] = 1.0  # what is summed up ranges over so many B_t at most

    def _start(self) -> None:
        super()._start()
        self._cumulative = zeros(len(self.learners))
        self._variance = 0.0
        self._numerator = 2.0 * math.sqrt(math.log(max(len(self.learners), 2)))

    @property
    def _not_finite(self) -> frozenset[str]:
        # squares of ranges above 1e154: weights are equal from there on
        return super()._not_finite | {"variance"}

    @property
    def _scale(self) -> float:
        return math.hypot(self._ranges * self._hint, math.sqrt(self._variance))

    @property
    def weights(self) -> Array:
        """The weights of the learners in the coming round, or the open one; they sum to 1."""
        result, scale = np.empty(len(self.learners)), self._scale
        rate = self._numerator / scale if scale > 0.0 else 0.0
        weigh(np.log(self.prior), rate, self._weighed(), result)
        return result

    def _weighed(self) -> Array:
        """What weights are made of."""
        return self._cumulative

    def _weigh(self, losses: Array, mean: float) -> None:
        self._cumulative += losses - mean  # only differences count; sums stay small
        spread = float(losses.max() - losses.min())
        self._variance += spread * spread  # `**` would raise where floats end

    def bound(self, index: int) -> float:
        """Σ⟨g_t, w_t − x_{t,index}⟩ so far is at most this.

        (ln(1/π_i)/a + a/4)·√(B² + Σ range²) + (what shrinking cost ≤ the largest range), a = 2√(ln
        N): √(ln N·(B² + Σ range²)) at first for equal priors. A round costs η_t range²/8
        (Hoeffding), and Ση_t range² ≤ 2a√(Σ range²), as no range is above B_t.
        """
        log = -math.log(self.prior[self._index(index)])
        return (log / self._numerator + 0.25 * self._numerator) * self._scale + self._excess

"""Optimistic Hedge over learners: Rakhlin & Sridharan (2013); Syrgkanis et al. (2015).

p_{t,i} ∝ π_i exp(−η_t(Σ_{s<t}ℓ_{s,i} + m_{t,i})), m_t = ℓ_{t−1}, ℓ_i = ⟨g, x_i⟩, η_t = 2√(ln
N)/√((2B_t)² + Σ_{s<t}(range of ℓ_s − m_s)²).
"""

from typing import ClassVar

import numpy as np

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array
from stillpoint.lab.baselines.hedge import Hedge


class OptimisticHedge(Hedge):
    """Exponential weights that expect the last losses again: loses little where they repeat.

    The arguments are those of `Combination`. `bound` is that of `Hedge` with the ranges of ℓ_t −
    ℓ_{t−1}, which are at most 2B.
    """

    _fields: ClassVar[tuple[str, ...]] = (*Hedge._fields, "_expected")
    _ranges: ClassVar[float] = 2.0

    def _start(self) -> None:
        super()._start()
        self._expected = zeros(len(self.learners))

    def _weighed(self) -> Array:
        return np.asarray(self._cumulative + self._expected)

    def _weigh(self, losses: Array, mean: float) -> None:
        spread = float(np.ptp(losses - self._expected))
        self._variance += spread * spread
        self._cumulative += losses - mean
        self._expected = losses - mean

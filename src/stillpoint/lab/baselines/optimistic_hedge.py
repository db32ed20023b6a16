"""Optimistic Hedge over learners: Rakhlin & Sridharan (2013); Syrgkanis et al. (2015).

p_{t,i} ∝ π_i exp(−η_t(Σ_{s<t}ℓ_{s,i} + m_{t,i})), m_t = ℓ_{t−1}, ℓ_i = ⟨g, x_i⟩, η_t = 2√(ln
N)/√((2B_t)² + Σ_{s<t}(range of ℓ_s − m_s)²).
"""

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array
from stillpoint.lab.baselines._hedge import weigh
from stillpoint.lab.baselines.combination import Combination
from stillpoint.learners.base import GradientLearner


class OptimisticHedge(Combination):
    """Exponential weights that expect the last losses again: loses little where they repeat.

    The arguments are those of `Combination`.
    """

    _fields: ClassVar[tuple[str, ...]] = (
        *Combination._fields,
        "_cumulative",
        "_expected",
        "_variance",
    )

    def __init__(
        self,
        learners: Sequence[GradientLearner],
        *,
        prior: ArrayLike | None = None,
        loss_range: float = 0.0,
    ) -> None:
        super().__init__(learners, prior=prior, loss_range=loss_range)
        self._cumulative = zeros(len(self.learners))
        self._expected = zeros(len(self.learners))
        self._variance = 0.0
        self._numerator = 2.0 * math.sqrt(math.log(max(len(self.learners), 2)))

    @property
    def _not_finite(self) -> frozenset[str]:
        return super()._not_finite | {"variance"}

    @property
    def _scale(self) -> float:
        return math.hypot(2.0 * self._hint, math.sqrt(self._variance))

    @property
    def weights(self) -> Array:
        """The weights of the learners in the coming round, or the open one; they sum to 1."""
        result, scale = np.empty(len(self.learners)), self._scale
        rate = self._numerator / scale if scale > 0.0 else 0.0
        weigh(np.log(self.prior), rate, self._cumulative + self._expected, result)
        return result

    def _weigh(self, losses: Array, mean: float) -> None:
        spread = float(np.ptp(losses - self._expected))
        self._variance += spread * spread
        self._cumulative += losses - mean
        self._expected = losses - mean

    def bound(self, index: int) -> float:
        """Σ⟨g_t, w_t − x_{t,index}⟩ so far is at most this.

        (ln(1/π_i)/a + a/4)√((2B)² + Σ(range of ℓ_t − ℓ_{t−1})²) + (what shrinking cost ≤ the
        largest range), a = 2√(ln N).
        """
        log = -math.log(self.prior[self._index(index)])
        return (log / self._numerator + 0.25 * self._numerator) * self._scale + self._excess

"""AdaNormalHedge over learners: Luo & Schapire (2015), "Achieving all with no parameters".

p_{t,i} ∝ π_i w(R_i/B, C_i/B), w(R, C) = ½(Φ(R + 1, C + 1) − Φ(R − 1, C + 1)), Φ(R, C) = exp(max(R,
0)²/(3C)), where R_i = Σr_i and C_i = Σ|r_i| sum the instantaneous regrets r_i = ⟨g, w − x_i⟩ and B
is the range (1 in the paper): Φ falls as B grows, so a growing hint keeps the proof.
"""

import math
from typing import ClassVar

import numpy as np

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array
from stillpoint.lab.baselines.combination import Combination


class AdaNormalHedge(Combination):
    """No rate at all: loses O(√(C_i·B·ln(1/π_i))) to learner i.

    That is little where learner i and the mixture agree. The arguments are those of `Combination`.
    """

    _fields: ClassVar[tuple[str, ...]] = (*Combination._fields, "_regrets", "_absolutes")

    def _start(self) -> None:
        super()._start()
        self._regrets = zeros(len(self.learners))
        self._absolutes = zeros(len(self.learners))

    @property
    def weights(self) -> Array:
        """The weights of the learners in this round, which sum to 1; the prior without credit."""
        if self._hint == 0.0:
            return self.prior.copy()
        R, C = self._regrets / self._hint, self._absolutes / self._hint
        up, down = (np.maximum(R + shift, 0.0) ** 2 / (3.0 * (C + 1.0)) for shift in (1.0, -1.0))
        some = up > down
        if not some.any():
            return self.prior.copy()
        logs = np.full(R.size, -np.inf)  # in logarithms: exponents reach C/3
        logs[some] = np.log(self.prior[some]) + up[some] + np.log(-np.expm1(down[some] - up[some]))
        result = np.exp(logs - logs.max())
        return np.asarray(result / result.sum())

    def _weigh(self, losses: Array, mean: float) -> None:
        self._regrets += mean - losses
        self._absolutes += np.abs(mean - losses)

    def bound(self, index: int) -> float:
        """Σ⟨g_t, w_t − x_{t,index}⟩ so far is at most this.

        √(3 B C_i ln(Q/π_i)) + (what shrinking cost ≤ the largest range), Q = 1 + (3/2)Σ_j π_j(1 +
        ln(1 + C_j/B_1)): Theorem 1 for one learner, where its ln(1 + ln N) is not needed.
        """
        i = self._index(index)
        if self._hint == 0.0:
            return 0.0
        total = 1.0 + 1.5 * float(self.prior @ (1.0 + np.log1p(self._absolutes / self._least)))
        return (
            math.sqrt(3.0 * self._hint * self._absolutes[i] * math.log(total / self.prior[i]))
            + self._excess
        )

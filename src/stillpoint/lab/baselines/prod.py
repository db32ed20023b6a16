"""Prod and Adapt-ML-Prod over learners.

Prod: Cesa-Bianchi, Mansour & Stoltz (2007), "Improved second-order bounds for prediction with
expert advice": w_i ← w_i(1 + ηr_i), p_i ∝ w_i. The paper has gains −⟨g, x_i⟩/B for r_i; here, as in
Gaillard et al., regrets ⟨g, w − x_i⟩/B: Σp_ir_i = 0, so Σw_i stays 1, and Σr_i² is small where
learner i and the mixture agree, wherever zero is.

Adapt-ML-Prod: Gaillard, Stoltz & van Erven (2014), "A second-order bound with excess losses": a
rate for each learner, η_{t,i} = min{½, √(ln N/(1 + Σ_{s≤t}r_{s,i}²))}, w_{t,i} = (w_{t−1,i}(1 +
η_{t−1,i}r_{t,i}))^{η_{t,i}/η_{t−1,i}}, p_{t,i} ∝ η_{t−1,i}w_{t−1,i}.
"""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.allocation import full, zeros
from stillpoint.core.validation import Array, positive
from stillpoint.lab.baselines.combination import FixedRange
from stillpoint.learners.base import GradientLearner


def _proportional(logs: Array) -> Array:
    result = np.exp(logs - logs.max())
    return np.asarray(result / result.sum())


class Prod(FixedRange):
    """Weights that are products: loses ln(1/π_i)/η + ηΣr_i² to learner i, in units of the range.

    The arguments are those of `FixedRange`, and the rate η, at most ½.
    """

    assumes: tuple[str, ...] = ("the range of losses", "rate")
    _fields: ClassVar[tuple[str, ...]] = (*FixedRange._fields, "_logs", "_squares")

    def __init__(
        self,
        learners: Sequence[GradientLearner],
        *,
        loss_range: float,
        rate: float = 0.1,
        prior: ArrayLike | None = None,
    ) -> None:
        super().__init__(learners, loss_range=loss_range, prior=prior)
        self.rate = positive("rate", rate)
        if self.rate > 0.5:
            raise ValueError(f"rate must be at most 0.5: got {rate!r}; give a smaller one")
        self._logs = np.log(self.prior)
        self._squares = zeros(len(self.learners))

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew, once each of the learners is."""
        return {**super().config, "rate": self.rate}

    @property
    def weights(self) -> Array:
        """The weights of the learners in the coming round, or the open one; they sum to 1."""
        return _proportional(self._logs)

    def _weigh(self, losses: Array, mean: float) -> None:
        regrets = (mean - losses) / self._hint
        self._logs += np.log1p(self.rate * regrets)
        self._squares += regrets**2

    def bound(self, index: int) -> float:
        """Σ⟨g_t, w_t − x_{t,index}⟩ so far is at most this.

        B(ln(1/π_i)/η + ηΣr_i²) + Σ(range_t − B)₊: w_i ≤ 1, and ln(1 + ηr) ≥ ηr − η²r² for ηr ≥ −½.
        """
        i = self._index(index)
        log = -math.log(self.prior[i])
        square = float(self._squares[i])
        return self._hint * (log / self.rate + self.rate * square) + self._excess


class AdaptMLProd(FixedRange):
    """No rate to choose: loses O(√(Σr_i²·ln N)) to learner i, up to ln ln T.

    The arguments are those of `FixedRange`.
    """

    _fields: ClassVar[tuple[str, ...]] = (
        *FixedRange._fields,
        "_logs",
        "_squares",
        "_costs",
        "_drift",
    )

    def _start(self) -> None:
        super()._start()
        self._gamma = math.log(max(len(self.learners), 2))
        self._logs = np.log(self.prior)
        self._squares, self._costs = zeros(len(self.learners)), zeros(len(self.learners))
        self._drift = 0.0  # Σ_tΣ_i(η_{t−1,i}/η_{t,i} − 1)

    @property
    def rates(self) -> Array:
        """η of each learner, in units of one over the range."""
        return np.asarray(np.minimum(0.5, np.sqrt(self._gamma / (1.0 + self._squares))))

    @property
    def weights(self) -> Array:
        """The weights of the learners in the coming round, or the open one; they sum to 1."""
        return _proportional(self._logs + np.log(self.rates))

    def _weigh(self, losses: Array, mean: float) -> None:
        regrets, before = (mean - losses) / self._hint, self.rates
        self._squares += regrets**2
        self._costs += before * regrets**2
        self._drift += float((before / self.rates - 1.0).sum())
        self._logs = (self._logs + np.log1p(before * regrets)) * (self.rates / before)

    def bound(self, index: int) -> float:
        """Σ⟨g_t, w_t − x_{t,index}⟩ so far is at most this.

        Their Theorem 3: B(ln(1/π_i)/η_{0,i} + Ση_{t−1,i}r_{t,i}² + ln(1 + S/e)/η_{T,i}) +
        Σ(range_t − B)₊, S = Σ_tΣ_j(η_{t−1,j}/η_{t,j} − 1).
        """
        i = self._index(index)
        start = -math.log(self.prior[i]) / float(self._first[i])
        growth = math.log1p(self._drift / math.e) / float(self.rates[i])
        return self._hint * (start + float(self._costs[i]) + growth) + self._excess

    @property
    def _first(self) -> Array:
        return full(len(self.learners), min(0.5, math.sqrt(self._gamma)))

"""MsMwC over learners: Chen, Luo & Wei (2021), "Impossible tuning made possible: a new expert
algorithm and its applications", Algorithm 1.

Mirror descent with the weighted entropy ψ(w) = Σw_i ln(w_i)/η_i and a correction: w_t = argmin
⟨w, m_t⟩ + D_ψ(w, w'_t), w'_{t+1} = argmin ⟨w, ℓ_t + a_t⟩ + D_ψ(w, w'_t), a_{t,i} = 32η_i(ℓ_{t,i} −
m_{t,i})², m_t = ℓ_{t−1}. Every learner is entered with several rates, 1/(64B), half of that, …, and
w'_1 ∝ πη²: which of them is right need not be known.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array, count
from stillpoint.lab.baselines._msmwc import settle
from stillpoint.lab.baselines.combination import FixedRange
from stillpoint.learners.base import GradientLearner

_MOST = 64  # rates: 2^−64 of the first is 0 to any weight


class MSMWC(FixedRange):
    """Loses O(√(Σ(ℓ_i − m_i)²·ln(NT)) + B ln N) to learner i, for each i its own.

    The arguments are those of `FixedRange`, and the number of rates.
    """

    _fields: ClassVar[tuple[str, ...]] = (
        *FixedRange._fields,
        "_logs",
        "_expected",
        "_squares",
        "_played",
    )

    def __init__(
        self,
        learners: Sequence[GradientLearner],
        *,
        loss_range: float,
        rates: int = 16,
        prior: ArrayLike | None = None,
    ) -> None:
        super().__init__(learners, loss_range=loss_range, prior=prior)
        self.rates, members = count("rates", rates), len(self.learners)
        if self.rates > _MOST:
            raise ValueError(f"rates must be at most {_MOST}: got {rates!r}; give fewer")
        eta = 2.0 ** -np.arange(self.rates) / (64.0 * self.loss_range)
        self._eta = np.tile(eta, members)  # learner by learner
        first = np.repeat(self.prior, self.rates) * self._eta**2
        self._first = np.log(first / first.sum())
        self._logs = self._first.copy()  # of w'
        self._expected = zeros(members)
        self._squares = zeros(members)  # Σ(ℓ_i − m_i)²
        self._played = 0.0  # ΣΣη_iw_i(ℓ_i − m_i)²
        self._found: tuple[Array, Array, Array] | None = None  # w_t, and what it was made of

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew, once each of the learners is."""
        return {**super().config, "rates": self.rates}

    def _all(self) -> Array:
        """w_t of every learner with every rate."""
        last = self._found  # once a round will do: `_weigh` makes these arrays anew
        if last is not None and last[0] is self._logs and last[1] is self._expected:
            return last[2]
        logs = np.empty(self._eta.size)
        settle(self._logs - self._eta * np.repeat(self._expected, self.rates), self._eta, logs)
        self._found = self._logs, self._expected, np.exp(logs)
        return self._found[2]

    @property
    def weights(self) -> Array:
        """The weights of the learners in the coming round, or the open one; they sum to 1."""
        total = self._all().reshape(-1, self.rates).sum(axis=1)
        return np.asarray(total / total.sum())

    def _weigh(self, losses: Array, mean: float) -> None:
        losses = losses - mean
        squares = (losses - self._expected) ** 2
        spread = np.repeat(squares, self.rates)
        self._played += float((self._eta * self._all() * spread).sum())
        move = np.repeat(losses, self.rates) + 32.0 * self._eta * spread
        logs = np.empty(self._eta.size)
        settle(self._logs - self._eta * move, self._eta, logs)
        self._logs, self._squares = logs, self._squares + squares
        self._expected = losses

    def bound(self, index: int) -> float:
        """Σ⟨g_t, w_t − x_{t,index}⟩ so far is at most this.

        The least over the rates η of D_ψ(e, w'_1) + 32ηΣ(ℓ_i − m_i)² − 30ΣΣη_jw_j(ℓ_j − m_j)²,
        D_ψ(e, w'_1) = (ln(1/w'_1) − 1)/η + Σw'_{1,j}/η_j, and Σ(range_t − B)₊.

        Notes
        -----
        Their Lemma 1, with 30 where it has 16. The two steps of mirror descent give, for z = ℓ − m
        + a, ⟨ℓ, w_t − u⟩ ≤ D_ψ(u, w'_t) − D_ψ(u, w'_{t+1}) + ⟨z, w_t − w'_{t+1}⟩ − D_ψ(w'_{t+1},
        w_t) + ⟨a, u − w_t⟩. The third and fourth term are Σ(w_j/η_j)(e^{−x_j} − 1 + x_j) at most,
        x_j = η_jz_j. With d = η_j(ℓ_j − m_j), |d| ≤ 1/32 as both losses are within B of their
        means, x = d + 32d² and e^{−x} − 1 + x ≤ 2d²: where x > 0 it is at most x²/2, else |x| ≤
        |d|. That is 2Ση_jw_j(ℓ_j − m_j)², and ⟨a, w_t⟩ is 32 of these.
        """
        i = self._index(index)
        own = slice(i * self.rates, (i + 1) * self.rates)
        eta, rest = self._eta[own], float((np.exp(self._first) / self._eta).sum())
        start = (-self._first[own] - 1.0) / eta + rest
        least = float((start + 32.0 * eta * self._squares[i]).min())
        return least - 30.0 * self._played + self._excess

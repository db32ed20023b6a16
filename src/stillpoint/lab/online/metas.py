"""Meta learners: from what base learners have lost to their weights.

Each says what it loses at most to a base learner: `to(bank, rule)` to each of a pool, after the
rounds so far; `on(…)` to one that lives on an interval, for covers.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stillpoint.core.validation import Array, nonnegative, positive
from stillpoint.lab.online import _metas
from stillpoint.lab.online._bank import AT, Bank, Rule


class Meta:
    """A kind of meta learner; one of your own overrides `learn` and `weigh`."""

    code: ClassVar[int | None] = None
    rate: float = 1.0
    numerator: float = 0.0
    range: float = 1.0

    def learn(self, bank: Bank, rule: Rule, losses: Array, mean: float) -> None:
        """Take in the losses of the base learners, and that of the play.

        Those without a `code` have `bank.row("loss")` and `bank.row("spread")`, a number a place
        that is 0 at birth, for themselves; `bank.row("alive")` says which places count.
        """
        _metas.learn(bank, rule, losses, mean)

    def weigh(self, bank: Bank, rule: Rule) -> None:
        """Write the weights of the coming round into `bank.row("weight")`: 0 or more, of sum 1."""
        _metas.weigh(bank, rule)

    def to(self, bank: Bank, rule: Rule) -> Array:
        """Σ⟨p_t, ℓ_t⟩ − ℓ_{t,i} so far is at most this, for each place i of a pool."""
        raise NotImplementedError(f"{type(self).__name__} promises nothing for pools")

    def on(self, first: int, length: int, rounds: int, last: int) -> float:
        """What it loses on rounds to a base learner born at marker `first` for `length` markers.

        `last` is the round that ends them.
        """
        raise NotImplementedError(f"{type(self).__name__} promises nothing on intervals")


@dataclass(frozen=True)
class ExponentialWeights(Meta):
    """p_i ∝ π_i exp(−ε_t(Σ_{s<t}ℓ_{s,i} + m_{t,i})): Hedge, optimistic with hints m.

    Parameters
    ----------
    rate
        ε, or the largest where `numerator` is given.
    numerator
        a > 0 makes the rate min{ε, a/√(c² + Σ_{s<t}(range of ℓ_s − m_s)²)}; 0 leaves it fixed.
    range
        c, the largest range of ℓ_t − m_t, for that.
    """

    rate: float
    numerator: float = 0.0
    range: float = 1.0
    code: ClassVar[int | None] = _metas.HEDGE

    def __post_init__(self) -> None:
        positive("rate", self.rate)
        nonnegative("numerator", self.numerator)
        positive("range", self.range)

    def to(self, bank: Bank, rule: Rule) -> Array:
        """ln(1/π_i)/ε_T + Σε_t(range of ℓ_t − m_t)²/8, ε_T the smallest rate so far."""
        return np.asarray(bank.clock[AT.cost] - bank.row("prior") / bank.clock[AT.rate])


@dataclass(frozen=True)
class FixedShare(Meta):
    """p_i ∝ p_i exp(−εℓ_i), then 1/t of the weight for who is born at t (Hazan & Seshadhri 2009).

    It is the share of FLH, for births, not that of Herbster & Warmuth (1998), who spread a fixed
    part of the weight over all. On a `Pool` nobody is born, and it is exponential weights.

    Parameters
    ----------
    rate
        ε; α for α-exp-concave losses that are told by their values.
    range
        c, the largest range of losses; 0 where the losses are ε-exp-concave.
    """

    rate: float
    range: float = 0.0
    code: ClassVar[int | None] = _metas.SHARE

    def __post_init__(self) -> None:
        positive("rate", self.rate)
        nonnegative("range", self.range)

    def on(self, first: int, length: int, rounds: int, last: int) -> float:
        """ln(last)/ε + εc²n/8, the last part only for losses that are not exp-concave.

        With p̂ before and p after the share, Σ_{t≥r}ln(p̂_{t+1}/p_t) ≤ ln(1/p_r) + Σ_{t>r}ln(t/(t −
        1)) = ln s: half of the paper's (2/ε)(ln r + ln(s − r + 1)).
        """
        return math.log(last) / self.rate + self.rate * self.range**2 * rounds / 8.0


@dataclass(frozen=True)
class Prod(Meta):
    """w_i ← w_i(1 + η_i r_i), p_i ∝ w_i, η_i = min{½, 1/√|I|} (Daniely et al. 2015).

    Parameters
    ----------
    range
        c, by which regrets r_i are divided.
    """

    range: float
    code: ClassVar[int | None] = _metas.PROD

    def __post_init__(self) -> None:
        positive("range", self.range)

    def on(self, first: int, length: int, rounds: int, last: int) -> float:
        """c(ηn + ln(2s)/η): Σw/η counts the intervals begun by s, fewer than 2s, and never grows
        else; ln(1 + ηr) ≥ ηr − η²r².
        """
        eta = min(0.5, 1.0 / math.sqrt(length))
        return self.range * (eta * rounds + math.log(2.0 * last) / eta)


@dataclass(frozen=True)
class NormalHedge(Meta):
    """AdaNormalHedge for sleeping experts (Luo & Schapire 2015), every prior 1.

    Parameters
    ----------
    range
        c, by which regrets are divided.
    """

    range: float
    code: ClassVar[int | None] = _metas.NORMAL

    def __post_init__(self) -> None:
        positive("range", self.range)

    def on(self, first: int, length: int, rounds: int, last: int) -> float:
        """c√(3C ln(N(5 + 3 ln(1 + s))/2)), C = Σ|r| ≤ n, N = 2s intervals begun by s at most."""
        log = math.log(2.0 * last * (2.5 + 1.5 * math.log1p(last)))
        return self.range * math.sqrt(3.0 * rounds * log)


@dataclass(frozen=True)
class CoinBetting(Meta):
    """KT bets of each on its regret, π ∝ 1/(n²(1 + ⌊log₂ n⌋)) (Jun et al. 2017).

    Parameters
    ----------
    range
        c, by which regrets are divided.
    """

    range: float
    code: ClassVar[int | None] = _metas.COIN

    def __post_init__(self) -> None:
        positive("range", self.range)

    def on(self, first: int, length: int, rounds: int, last: int) -> float:
        """c√(2n(ln(1/π) + ½ln n + 1 + ½ln π)), Σ1/n² = π²/6 making π a distribution.

        The wealth of one is at most 1/π, and KT's at Σr = x at least exp(x²/(2n))/(e√(πn)).
        """
        log = math.log(math.pi**2 / 6.0 * first * first * (1.0 + math.floor(math.log2(first))))
        rest = 0.5 * math.log(rounds) + 1.0 + 0.5 * math.log(math.pi)
        return self.range * math.sqrt(2.0 * rounds * (log + rest))

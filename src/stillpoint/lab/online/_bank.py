"""What an ensemble keeps: a bank of places for base learners, and the rule by which they play."""

from typing import NamedTuple

import numpy as np

from stillpoint.core.array import Array

FOREVER = 2.0**53  # the last marker of a base learner that is never retired


class Places(NamedTuple):
    """Where the numbers that all base learners share are in `Bank.clock`."""

    round: int = 0  # t, the coming round
    marker: int = 1  # n, how many times the cover has moved on
    top: int = 2  # places in use: all alive are below
    latest: int = 3  # the place of the base learner born last
    watched: int = 4  # its total loss since then
    rate: int = 5  # ε_t of the meta learner in the coming round
    variance: int = 6  # Σ(range of ℓ_t − m_t)²
    cost: int = 7  # Σε_t(range of ℓ_t − m_t)²/8
    penalties: int = 8  # Σ_tΣ_i p_{t,i}·(penalty of base learner i)
    shift: int = 9  # Σ‖p_t − p_{t−1}‖₁
    varied: int = 10  # Σ‖g_t − ∇f_{t−1}(x̄_t)‖²
    plain: int = 11  # Σ‖g_t‖²


AT = Places()


class Rows(NamedTuple):
    """Rows of `Bank.table`, which has a column for each place."""

    kind: int = 0  # how its base learner steps: a code of `_bases`
    step: int = 1
    alive: int = 2  # 1 or 0
    age: int = 3  # rounds since birth
    born: int = 4  # the marker of birth
    ends: int = 5  # the last marker
    square: int = 6  # Σ‖g − guess‖² since birth
    penalty: int = 7  # of its last move
    penalties: int = 8  # Σ of these
    prior: int = 9  # logarithm of the weight at birth
    loss: int = 10  # Σ of losses, regrets or bets, or the logarithm of a weight: see `_metas`
    spread: int = 11  # Σ of absolute regrets, or what bets have won, or a rate: see `_metas`
    hint: int = 12  # m_i, the loss expected in the coming round
    weight: int = 13  # p_i in the coming round


ROW = Rows()


class Bank(NamedTuple):
    """N places for base learners of dimension d, and what the meta learner thinks of each.

    The numbers of places are rows of one array: a call passes few arrays, and takes less time.
    """

    x: Array  # (N, d), plays
    y: Array  # (N, d), second iterates, of optimistic kinds
    guess: Array  # (N, d), the gradients that these expect next
    matrix: Array  # (N, d, d), inverse metrics of Newton steps; (0, d, d) where none are taken
    table: Array  # see `Rows`
    extra: Array  # (d,), the gradient that hints were made of
    clock: Array  # see `Places`

    def row(self, name: str) -> Array:
        """A row of the table by its name: a view, to be read or written, with one value a place."""
        return np.asarray(self.table[getattr(ROW, name)])


class Rule(NamedTuple):
    """The constants of an ensemble; codes are those of `_bases`, `_metas` and `_covers`."""

    base: int  # of base learners that a cover starts
    step: float
    offset: float  # δ of scale-free steps
    curvature: float  # H of strong convexity, γ of Newton steps
    meta: int
    rate: float  # the rate, or the largest
    numerator: float  # of rates √(·): 0 for a fixed one
    range: float  # the largest range of losses: c
    hints: int
    order: int  # of the penalty on moves, λ‖x_{t,i} − x_{t−1,i}‖^order
    penalty: float  # λ
    cover: int
    every: float  # rounds, or loss, from one marker to the next
    own: int  # 1 where base learners get gradients at their own plays
    values: int  # 1 where the meta learner gets the losses of plays, 0 for linear ones
    start: Array  # (d,), where base learners begin
    kind: int  # the domain
    domain: Array
    limit: float  # the largest gradient

"""COCOB: Orabona & Tommasi (2017), "Training deep networks without learning rates", Algorithms 1–2.

Each coordinate bets on its own coin; below g is one coordinate's gradient, θ = −Σg, A = L + Σ|g|,
Reward = −Σg·w.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.allocation import full, zeros
from stillpoint.core.validation import Array, positive, vector
from stillpoint.lab.baselines import _cocob
from stillpoint.lab.online.base import Baseline
from stillpoint.losses._pointwise import Outputs, Rounds
from stillpoint.potentials import CAP


class COCOB(Baseline):
    """COCOB, Algorithm 1: w = tanh(θ/(A + L))/L · (εL + Reward) in each coordinate.

    Parameters
    ----------
    dim
        The dimension of plays.
    lipschitz
        L ≥ |g_{t,i}| for every coordinate; the bound G on ‖g_t‖ serves.
    scale
        ε; the paper has 1, so a wealth of L to begin with.
    """

    assumes: tuple[str, ...] = ("G",)
    _fields: ClassVar[tuple[str, ...]] = ("_theta", "_total", "_wealth")

    def __init__(self, dim: int, *, lipschitz: float, scale: float = 1.0) -> None:
        super().__init__(
            dim, lipschitz=positive("lipschitz", lipschitz, "give the largest gradient entry")
        )
        assert self.lipschitz is not None
        self.scale = positive("scale", scale)
        self._theta = zeros(self.dim)
        self._total = full(self.dim, self.lipschitz)
        self._wealth = full(self.dim, self.scale * self.lipschitz)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""
        return {"dim": self.dim, "lipschitz": self.lipschitz, "scale": self.scale}

    def _check_gradient(self, g: Array, size: float) -> None:
        top = float(np.abs(g).max())
        if top > self._limit:
            raise ValueError(
                f"g must have entries within lipschitz = {self.lipschitz}: got {top}; raise"
                " lipschitz"
            )

    def _propose(self, time: float) -> Array:
        assert self.lipschitz is not None
        play = np.empty(self.dim)
        _cocob.bet(self._theta, self._total, self._wealth, self.lipschitz, play)
        return play

    def _step(self, g: Array, play: Array) -> None:
        if _cocob.toss(self._theta, self._total, self._wealth, play, g):
            self._warn_saturated(CAP)

    def _can_compile(self) -> bool:
        """Whether no round is open."""
        return not self._is_open

    def _play_rounds(self, rounds: Rounds, results: Outputs) -> int:
        assert self.lipschitz is not None
        state = _cocob.State(self._theta, self._total, self._wealth)
        played, capped = _cocob.play_rounds(state, self.lipschitz, self._limit, rounds, results)
        if capped:
            self._warn_saturated(CAP)
        return int(played)

    def bound(self, u: ArrayLike) -> float:
        """Bound on the regret so far against the fixed u, shape (dim,).

        Σ_i εL + |u_i|√(L(A_i + L) ln(1 + (A_i + L)²u_i²/(εL)²)), from the proof of Theorem 1.
        """
        assert self.lipschitz is not None
        size, L = np.abs(vector("u", u, self.dim)), self.lipschitz
        above = self._total + L
        terms = size * np.sqrt(L * above * np.log1p((above * size / (self.scale * L)) ** 2))
        return float(self.scale * L * self.dim + terms.sum())


class COCOBBackprop(Baseline):
    """COCOB-Backprop, Algorithm 2, which assumes nothing: L is the largest |g| so far.

    w = θ/(L·max(A + L, αL))·(L + max(Reward, 0)), with no L in A. It is a heuristic: there is no
    guarantee.

    Parameters
    ----------
    dim
        The dimension of plays.
    alpha
        α, which holds the first steps back; 100 in the paper.
    """

    assumes: tuple[str, ...] = ()
    _fields: ClassVar[tuple[str, ...]] = ("_theta", "_total", "_reward", "_top")

    def __init__(self, dim: int, *, alpha: float = 100.0) -> None:
        super().__init__(dim)
        self.alpha = positive("alpha", alpha)
        self._theta, self._total, self._reward, self._top = (zeros(self.dim) for _ in range(4))

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""
        return {"dim": self.dim, "alpha": self.alpha}

    def _propose(self, time: float) -> Array:
        seen = np.where(self._top > 0.0, self._top, 1.0)  # θ is 0 where no gradient was
        share = (self._theta / seen) / np.maximum(self._total / seen + 1.0, self.alpha)
        return np.asarray(share * (1.0 + self._reward / seen))

    def _step(self, g: Array, play: Array) -> None:
        self._top = np.maximum(self._top, np.abs(g))
        self._total += np.abs(g)
        self._theta -= g
        self._reward = np.clip(self._reward - g * play, 0.0, CAP)
        if self._reward.max() == CAP:
            self._warn_saturated(CAP)

    def bound(self, u: ArrayLike) -> float:
        """Raise: the paper proves nothing for it."""
        raise ValueError(
            f"COCOBBackprop has no bound, against {u!r} or any other: it is a heuristic; use COCOB"
        )

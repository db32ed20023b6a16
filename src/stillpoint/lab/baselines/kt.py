"""KT coin betting: Orabona & Pál (2016), "Coin betting and parameter-free online learning".

Algorithm 1, for Hilbert spaces. Coins c_t = −g_t/G; w_t = (Σ_{s<t} c_s / t)·(ε + Σ_{s<t}⟨c_s,
w_s⟩): bet a share of the wealth, the Krichevsky–Trofimov one.
"""

import math
from typing import Any, ClassVar

import numpy as np

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array, nonnegative, positive
from stillpoint.lab.baselines import _kt
from stillpoint.lab.online.base import Baseline
from stillpoint.losses._pointwise import Outputs, Rounds
from stillpoint.potentials import CAP


class KT(Baseline):
    """Static regret O(‖u‖G√(T log(1 + T‖u‖/ε))) in R^dim, with no domain and no step.

    Parameters
    ----------
    dim
        The dimension of plays.
    lipschitz
        G ≥ ‖g_t‖.
    scale
        ε, the wealth to begin with, and the size of play before anything is known.
    """

    assumes: tuple[str, ...] = ("G",)
    _fields: ClassVar[tuple[str, ...]] = ("_coins", "_wealth")

    def __init__(self, dim: int, *, lipschitz: float, scale: float = 1.0) -> None:
        super().__init__(
            dim, lipschitz=positive("lipschitz", lipschitz, "give the largest gradient norm")
        )
        self.scale = positive("scale", scale)
        self._coins = zeros(self.dim)
        self._wealth = self.scale

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""
        return {"dim": self.dim, "lipschitz": self.lipschitz, "scale": self.scale}

    def _propose(self, time: float) -> Array:
        play = np.empty(self.dim)
        _kt.bet(self._coins, self._wealth, self.observed, play)
        return play

    def _step(self, g: Array, play: Array) -> None:
        assert self.lipschitz is not None
        self._wealth = _kt.toss(self._coins, self._wealth, self.lipschitz, play, g)
        if self._wealth == CAP:
            self._warn_saturated(CAP)

    def bound(self, norm: float) -> float:
        """Bound on the regret so far against every fixed u with ‖u‖ = norm: Corollary 5.

        G(‖u‖√(t ln(1 + 24t²‖u‖²/ε²)) + ε(1 − 1/(e√(πt)))).
        """
        assert self.lipschitz is not None
        size, t = nonnegative("norm", norm), self.observed
        if t == 0:
            return 0.0
        ratio = t * size / self.scale
        # `**` would raise where floats end
        growth = size * math.sqrt(t * math.log1p(24.0 * ratio * ratio))
        return self.lipschitz * (
            growth + self.scale * (1.0 - 1.0 / (math.e * math.sqrt(math.pi * t)))
        )

    def _can_compile(self) -> bool:
        """Whether no round is open."""
        return not self._is_open

    def _play_rounds(self, rounds: Rounds, results: Outputs) -> int:
        assert self.lipschitz is not None
        played, self._wealth, capped = _kt.play_rounds(
            self._coins, self._wealth, self.lipschitz, self._limit, self.observed, rounds, results
        )
        if capped:
            self._warn_saturated(CAP)
        return int(played)

"""SAOCP: Bhatnagar, Wang, Xiong & Bai (2023), Algorithm 1.

"Improved online conformal prediction via strongly adaptive online learning". In each round an
expert is born, which runs SF-OGD from where the aggregate stands for 8·2^u rounds, 2^u the largest
power of 2 that divides the round; coin betting (Jun et al. 2017) weighs those alive by what they
gained on the aggregate.
"""

from typing import Any, ClassVar

import numpy as np

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array, count, counted, positive
from stillpoint.lab.baselines.conformal import _saocp
from stillpoint.lab.baselines.conformal.base import RadiusTracker

_MOST = 1 << 16  # of `life`: experts and what a round takes are in proportion


class SAOCP(RadiusTracker):
    """Σ p_i r_i over the experts alive, in O(log t) per round.

    Parameters
    ----------
    coverage
        The share of scores to cover.
    largest
        D, the largest score to come.
    life
        The shortest lifetime.
    """

    assumes: tuple[str, ...] = ("D",)
    _given: ClassVar[tuple[str, ...]] = ("largest", "life")
    _fields: ClassVar[tuple[str, ...]] = ("_experts", "_shares", "_clock")

    def __init__(self, coverage: float = 0.9, *, largest: float = 1.0, life: int = 8) -> None:
        super().__init__(coverage)
        self.largest, self.life = positive("largest", largest), count("life", life)
        if self.life > _MOST:
            raise ValueError(
                f"life must be at most {_MOST}: got {life!r}; rounds take as long as experts live,"
                " the paper has 8"
            )
        places = self.life * _saocp.OCTAVES
        self._experts, self._shares = zeros((len(_saocp.ROW), places)), zeros(places)
        self._clock = zeros(len(_saocp.AT))

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        counted("clock", self._clock[_saocp.AT.round], 2.0**53)
        counted("clock", self._clock[_saocp.AT.alive], self._shares.size - 1)

    def predict(self) -> float:
        """The radius of the coming round."""
        copy = _saocp.State(self._experts.copy(), self._clock.copy(), self._shares)
        return float(_saocp.open_round(copy, float(self.life)))

    def _rounds(self, scores: Array) -> Array:
        radii = np.empty(scores.size)
        state = _saocp.State(self._experts, self._clock, self._shares)
        _saocp.play_rounds(state, self.coverage, self.largest, float(self.life), scores, radii)
        return radii

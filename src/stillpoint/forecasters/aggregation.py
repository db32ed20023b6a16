"""Aggregation of experts' forecasts under the loss ½(y − ŷ)²: Vovk's algorithm, exponential weights
and ML-Poly.

No range is asked for. Y is the largest |y| seen; round t is played with the Y of the rounds before
it: forecasts are clipped to [−Y, Y], and what is learnt from is y clipped to [−Y, Y]. On a round
that raises Y by d this loses at most 2Yd + d²/2 against any expert, clipped or not, so all range
changes together cost no more than the last Y². Between them the rates of Vovk's algorithm and of
exponential weights, c/Y², only fall, which is free: (1/η) log mean exp(ηR) does not decrease in η.
R is the loss of the aggregate less that of the expert, and no round raises this potential; hence
the bounds below, for the algorithms as they run.

Experts may join late, at the end of the list: R = 0 then, as for one that had forecast what the
aggregate did. Regret against such an expert is counted from its first round, and the number of
experts in a bound is that of now.
"""

import math
from typing import Any

import numpy as np

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array, counted, nonnegative, number, stored
from stillpoint.forecasters import _aggregation
from stillpoint.forecasters._aggregation import (
    EXPONENTIAL,
    ML_POLY,
    POTENTIAL,
    RANGE,
    RANGE_COST,
    RECORD,
    SCALARS,
    SHARE_COST,
    VOVK,
)

LARGEST = 1e75  # ML-Poly sums fourth powers of the targets


class Aggregator:
    """What the three share: R and V of each expert, and the scalars they live by."""

    rule = VOVK

    def __init__(self, share: float = 0.0) -> None:
        self.share = nonnegative("share", share, "give a probability, such as 1e-3, or 0 for none")
        if self.share >= 1.0:
            raise ValueError(
                f"share must be below 1: got {share!r}; give a probability, such as 1e-3"
            )
        self.experts = 0
        self.R, self.V, self.w, self.s = zeros(0), zeros(0), zeros(0), zeros(SCALARS)

    def reserve(self, experts: int) -> None:
        """Make room for that many experts; none of them joins by it."""
        more = experts - self.R.size
        if more > 0:
            self.R, self.V, self.w = (
                np.append(old, zeros(more)) for old in (self.R, self.V, self.w)
            )

    def combine(self, p: Array) -> float:
        """The aggregate of forecasts p; those beyond the last round's are of experts that
        join now.
        """
        self.reserve(p.size)
        self.experts = p.size
        return float(_aggregation.combine(self.rule, p, self.R, self.V, self.s, self.w))

    def learn(self, p: Array, f: float, y: float) -> None:
        """What the round turned out to be, with what `combine` was given and returned."""
        _aggregation.learn(self.rule, f, y, self.share, p, self.R, self.V, self.s)

    @property
    def weights(self) -> Array:
        """The weights of the experts so far in the coming round."""
        w = np.empty(self.experts)
        _aggregation.weigh(self.rule, self.experts, self.R, self.V, self.s, w)
        return w

    @property
    def range(self) -> float:
        """Y, the largest |y| so far."""
        return float(self.s[RANGE])

    def _index(self, index: int) -> int:
        if (
            isinstance(index, bool)
            or not isinstance(index, int | np.integer)
            or not 0 <= index < self.experts
        ):
            remedy = (
                f"give 0 to {self.experts - 1}"
                if self.experts
                else "play a round first, which the experts join"
            )
            raise ValueError(f"index must be that of an expert: got {index!r}; {remedy}")
        return int(index)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {
            "experts": self.experts,
            "R": self.R.copy(),
            "V": self.V.copy(),
            "scalars": self.s.copy(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        self.R, self.s = stored(state, "R", None), stored(state, "scalars", self.s.size)
        self.V, self.experts = stored(state, "V", self.R.size), int(state["experts"])
        counted("experts", self.experts, self.R.size)
        self.w = np.zeros(self.R.size)


class Vovk(Aggregator):
    """The aggregating algorithm, η = 1/Y², with the substitution ŷ = (G(−Y) − G(Y))/2Y. Of the
    bounds here, the smallest.

    share: after each round every expert hands this part of its weight to all alike (fixed share),
    so that a good expert is found again soon after a jump.
    """

    def bound(self, index: int, switches: int = 0) -> float:
        """Loss of the aggregate less that of expert `index` since it joined: at most cY² ln N + Y²
        (c = 1, or 4 for the mean).

        The last Y² stands for what range changes cost; that is summed as it goes, and the sum is
        what is added here. With share α, c Σ Y_t² ln(1/(1 − α)) is added too; and against a
        sequence of experts that ends in `index` and changes `switches` times, cY² ln(N/α) for each
        change.
        """
        self._index(index)
        changes = nonnegative("switches", switches)
        if changes > 0.0 and self.share == 0.0:
            raise ValueError(
                f"switches must be 0 without fixed share: got {switches!r}; build it with share"
                " above 0"
            )
        steps = math.log(self.experts) + (
            changes * math.log(self.experts / self.share) if changes else 0.0
        )
        return float(
            self.range**2 / _aggregation.rate(self.rule) * steps
            + self.s[SHARE_COST]
            + self.s[RANGE_COST]
        )


class ExponentialWeights(Vovk):
    """The mean under weights exp(−ηL), η = 1/(4Y²): its bound has c = 4 where Vovk's has 1. share:
    as there.
    """

    rule = EXPONENTIAL


class MLPoly(Aggregator):
    """ML-Poly (Gaillard, Stoltz & van Erven 2014): weights ∝ (R_i)₊/(B + V_i), a rate for each
    expert, learnt.

    r_i = (ŷ − y)(ŷ − p_i), R_i = Σr_i, V_i = Σr_i², B the largest r² so far. No range enters the
    weights, so it is quick
    where the noise is well below Y: on drifting signals it measures best of the three.
    """

    rule = ML_POLY

    def __init__(self) -> None:
        super().__init__(0.0)

    def bound(self, index: int) -> float:
        """Loss of the aggregate less that of expert `index` since it joined: at most √((B + V_i) A)
        and the range changes' cost.

        A = Σ_t Σ_j r_jt²/(B_{t−1} + V_{j,t−1}) is summed as it goes: about N ln(1 + V/B) while no
        r² sets a record, but a record adds r²/(B + V) without limit, so no figure can be given
        before the data. Σ_j w_j r_j = 0 is all the proof needs. The same holds against mixtures of
        experts, with the mixture of the bounds.
        """
        i = self._index(index)
        return math.sqrt((self.s[RECORD] + self.V[i]) * self.s[POTENTIAL]) + float(
            self.s[RANGE_COST]
        )


def target_number(y: Any) -> float:
    """Return `y` as a float that can be learnt from."""
    target = number("y", y, "call skip() for a missing observation")
    if abs(target) > LARGEST:
        raise ValueError(f"y must be at most {LARGEST:g} in size: got {y!r}; rescale the stream")
    return target


def aggregator(name: str, share: float) -> Vovk | MLPoly:
    """The aggregator of that name."""
    if name == "auto":
        name = "vovk" if share else "ml-poly"
    if name == "ml-poly" and share:
        raise ValueError(
            f"share must be 0 with ml-poly: got {share!r}; choose 'vovk' or 'exponential', or leave"
            " it out"
        )
    if name == "ml-poly":
        return MLPoly()
    if name in ("vovk", "exponential"):
        return Vovk(share) if name == "vovk" else ExponentialWeights(share)
    raise ValueError(
        f"aggregation must be 'auto', 'vovk', 'exponential' or 'ml-poly': got {name!r}; choose one"
    )

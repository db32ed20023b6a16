"""Aggregation of forecasts under ½(y − ŷ)²: Vovk's algorithm, exponential weights and ML-Poly.

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
from stillpoint.forecasters._aggregation import AT, EXPONENTIAL, ML_POLY, VOVK, State

LARGEST = 1e75  # ML-Poly sums fourth powers of the targets


class Aggregator:
    """What the three share: the state of the experts, and how many have joined.

    Parameters
    ----------
    share : float
        Part of its weight that each expert hands to all alike after a round (fixed share).
    """

    rule = VOVK

    def __init__(self, share: float = 0.0) -> None:
        self.share = nonnegative("share", share, "give a probability, such as 1e-3, or 0 for none")
        if self.share >= 1.0:
            raise ValueError(
                f"share must be below 1: got {share!r}; give a probability, such as 1e-3"
            )
        self.experts = 0
        self.state = State(zeros(0), zeros(0), zeros(len(AT)), zeros(0))

    def reserve(self, experts: int) -> None:
        """Make room for that many experts; none of them joins by it."""
        R, V, s, w = self.state
        more = experts - R.size
        if more > 0:
            R, V, w = (np.append(old, zeros(more)) for old in (R, V, w))
            self.state = State(R, V, s, w)

    def combine(self, p: Array) -> float:
        """The aggregate of forecasts p; those beyond the last round's are of experts that join."""
        self.reserve(p.size)
        self.experts = p.size
        return float(_aggregation.combine(self.rule, p, self.state))

    def learn(self, p: Array, f: float, y: float) -> None:
        """What the round turned out to be, with what `combine` was given and returned."""
        _aggregation.learn(self.rule, self.share, f, y, p, self.state)

    @property
    def weights(self) -> Array:
        """The weights of the experts so far in the coming round."""
        w = np.empty(self.experts)
        _aggregation.weigh(self.rule, self.experts, self.state._replace(weights=w))
        return w

    @property
    def range(self) -> float:
        """Y, the largest |y| so far."""
        return float(self.state.scalars[AT.range])

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
            "R": self.state.regrets.copy(),
            "V": self.state.squares.copy(),
            "scalars": self.state.scalars.copy(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        R, s = stored(state, "R", None), stored(state, "scalars", len(AT))
        V, experts = stored(state, "V", R.size), int(state["experts"])
        counted("experts", experts, R.size)
        self.state, self.experts = State(R, V, s, np.zeros(R.size)), experts


class Vovk(Aggregator):
    """Vovk's aggregating algorithm, whose bound is the smallest here.

    Parameters
    ----------
    share : float, default 0
        After each round every expert hands this part of its weight to all alike (fixed share), so
        that a good expert is found again soon after a jump.

    Notes
    -----
    η = 1/Y² and the substitution ŷ = (G(−Y) − G(Y))/2Y, e^{−ηG(y)} = Σ w_i e^{−η(y − p_i)²/2}.
    """

    def bound(self, index: int, switches: int = 0) -> float:
        """Bound the loss of the aggregate less that of expert `index` since it joined.

        At most cY² ln N + Y², c = 1 (4 for the mean). The last Y² stands for what changes of the
        range cost; that is summed as it goes, and the sum is what is added here. With share α,
        c Σ Y_t² ln(1/(1 − α)) is added too; and against a sequence of experts that ends in `index`
        and changes `switches` times, cY² ln(N/α) for each change.
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
            + self.state.scalars[AT.share_cost]
            + self.state.scalars[AT.range_cost]
        )


class ExponentialWeights(Vovk):
    """The mean under weights exp(−ηL), η = 1/(4Y²): its bound has c = 4 where Vovk's has 1."""

    rule = EXPONENTIAL


class MLPoly(Aggregator):
    """ML-Poly (Gaillard, Stoltz & van Erven 2014): a rate for each expert, learnt.

    Weights ∝ (R_i)₊/(B + V_i), with r_i = (ŷ − y)(ŷ − p_i), R_i = Σr_i, V_i = Σr_i² and B the
    largest r² so far. No range enters the weights, so it is quick where the noise is well below Y:
    on drifting signals it measures best of the three.
    """

    rule = ML_POLY

    def __init__(self) -> None:
        super().__init__(0.0)

    def bound(self, index: int) -> float:
        """Bound the loss of the aggregate less that of expert `index` since it joined.

        At most √((B + V_i) A) and what changes of the range cost. A = Σ_t Σ_j r_jt²/(B_{t−1} +
        V_{j,t−1}) is summed as it goes: about N ln(1 + V/B) while no r² sets a record, but a record
        adds r²/(B + V) without limit, so no figure can be given before the data. Σ_j w_j r_j = 0 is
        all the proof needs. The same holds against mixtures of experts, with the mixture of the
        bounds.
        """
        i = self._index(index)
        return math.sqrt(
            (self.state.scalars[AT.record] + self.state.squares[i])
            * self.state.scalars[AT.potential]
        ) + float(self.state.scalars[AT.range_cost])


def target_number(y: Any, remedy: str = "call skip() for a missing observation") -> float:
    """Return `y` as a float that can be learnt from."""
    target = number("y", y, remedy)
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

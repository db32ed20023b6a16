"""Aggregation of experts' forecasts under the loss ½(y − ŷ)²: Vovk's algorithm, exponential weights and ML-Poly.

No range is asked for. Y is the largest |y| seen; round t is played with the Y of the rounds before it: forecasts are clipped to
[−Y, Y], and what is learnt from is y clipped to [−Y, Y]. On a round that raises Y by d this loses at most 2Yd + d²/2 against any
expert, clipped or not, so all range changes together cost no more than the last Y². Between them the rates of Vovk's algorithm
and of exponential weights, c/Y², only fall, which is free: (1/η) log mean exp(ηR) does not decrease in η. R is the loss of the
aggregate less that of the expert, and no round raises this potential; hence the bounds below, for the algorithms as they run.

Experts may join late, at the end of the list: R = 0 then, as for one that had forecast what the aggregate did. Regret against
such an expert is counted from its first round, and the number of experts in a bound is that of now.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint._jit import njit
from stillpoint._validate import Array, counted, finite, nonnegative, number, stored

VOVK, EXPONENTIAL, ML_POLY = 0, 1, 2
LARGEST = 1e75  # ML-Poly sums fourth powers of the targets
RANGE, RECORD, RANGE_COST, POTENTIAL, SHARE_COST = 0, 1, 2, 3, 4  # places in the vector of scalars s


@njit(cache=True)
def weigh(rule: int, experts: int, R: np.ndarray, V: np.ndarray, s: np.ndarray, w: np.ndarray) -> None:
    """Fill w with weights that sum to 1."""
    total = 0.0
    if rule == ML_POLY:
        if s[RECORD] > 0.0:
            for i in range(experts):
                w[i] = max(R[i], 0.0) / (s[RECORD] + V[i])
                total += w[i]
    elif s[RANGE] > 0.0:
        c = 1.0 if rule == VOVK else 0.25
        top = R[:experts].max()
        for i in range(experts):
            w[i] = math.exp(c * ((R[i] - top) / s[RANGE] / s[RANGE]))
            total += w[i]
    for i in range(experts):
        w[i] = w[i] / total if total > 0.0 else 1.0 / experts


@njit(cache=True)
def combine(rule: int, p: np.ndarray, R: np.ndarray, V: np.ndarray, s: np.ndarray, w: np.ndarray) -> float:
    """The aggregate of forecasts p; fills w."""
    weigh(rule, p.size, R, V, s, w)
    Y = s[RANGE]
    if Y == 0.0:
        return 0.0
    low, high, mean = 0.0, 0.0, 0.0
    for i in range(p.size):
        q = min(max(p[i], -Y), Y)
        if rule == VOVK:
            q /= Y
            bell = w[i] * math.exp(-0.5 * q * q)
            grow = math.exp(q)
            high += bell * grow  # e^{−ηG(Y)} and e^{−ηG(−Y)} of KALMAN section 8, less a common factor
            low += bell / grow
        else:
            mean += w[i] * q
    if rule == VOVK:
        mean = 0.5 * Y * (math.log(high) - math.log(low))
    return float(min(max(mean, -Y), Y))


@njit(cache=True)
def learn(rule: int, f: float, y: float, share: float, p: np.ndarray, R: np.ndarray, V: np.ndarray, s: np.ndarray) -> None:
    """Credit each expert with what it would have saved; f is what `combine` gave for p."""
    Y, experts = s[RANGE], p.size
    if Y > 0.0:
        seen = min(max(y, -Y), Y)
        if rule == ML_POLY:
            record = s[RECORD]
            for i in range(experts):
                r = (f - seen) * (f - min(max(p[i], -Y), Y))
                s[RECORD] = max(s[RECORD], r * r)
                if record > 0.0:
                    s[POTENTIAL] += r * r / (record + V[i])
                elif r * r > 0.0:
                    s[POTENTIAL] += 0.5  # the potential was 0 and this adds r²/(B + V), both at least r² by then
                R[i] += r
                V[i] += r * r
        else:
            for i in range(experts):
                q = min(max(p[i], -Y), Y)
                R[i] += (f - q) * (0.5 * (f + q) - seen)
            if share > 0.0:
                c, top, mean = 1.0 if rule == VOVK else 0.25, R[:experts].max(), 0.0
                for i in range(experts):  # the rate c/Y² itself may be infinite
                    mean += math.exp(c * ((R[i] - top) / Y / Y)) / experts
                for i in range(experts):
                    kept = math.exp(c * ((R[i] - top) / Y / Y))
                    R[i] = top + math.log((1.0 - share) * kept + share * mean) / c * Y * Y
                s[SHARE_COST] -= math.log1p(-share) / c * Y * Y
    if abs(y) > Y:
        d = abs(y) - Y
        s[RANGE_COST] += 2.0 * Y * d + 0.5 * d * d
        s[RANGE] = abs(y)


class Aggregator:
    """What the three share: R and V of each expert, and the scalars they live by."""

    rule = VOVK

    def __init__(self, share: float = 0.0) -> None:
        self.share = nonnegative("share", share, "give a probability, such as 1e-3, or 0 for none")
        if self.share >= 1.0:
            raise ValueError(f"share must be below 1: got {share!r}; give a probability, such as 1e-3")
        self.experts = 0
        self.R, self.V, self.w, self.s = np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(5)

    def reserve(self, experts: int) -> None:
        """Make room for that many experts; none of them joins by it."""
        more = experts - self.R.size
        if more > 0:
            self.R, self.V, self.w = (np.append(old, np.zeros(more)) for old in (self.R, self.V, self.w))

    def _forecasts(self, forecasts: ArrayLike) -> Array:
        p = finite("forecasts", forecasts, "leave out experts without a forecast from the start")
        if p.ndim != 1 or p.size < max(self.experts, 1):
            least = max(self.experts, 1)
            raise ValueError(
                f"forecasts must be a vector of {least} or more: got shape {p.shape}; experts join, they never leave"
            )
        self.reserve(p.size)
        return p

    def combine(self, forecasts: ArrayLike) -> float:
        """The aggregate's forecast; forecasts beyond those of the rounds before are of experts that join now."""
        p = self._forecasts(forecasts)
        return float(combine(self.rule, p, self.R, self.V, self.s, self.w))

    def learn(self, forecasts: ArrayLike, y: float) -> None:
        """What the round turned out to be, with the forecasts given to `combine`."""
        target = target_number(y)
        p = self._forecasts(forecasts)
        f = combine(self.rule, p, self.R, self.V, self.s, self.w)
        learn(self.rule, f, target, self.share, p, self.R, self.V, self.s)
        self.experts = p.size

    @property
    def weights(self) -> Array:
        """The weights of the experts so far in the coming round."""
        w = np.empty(self.experts)
        weigh(self.rule, self.experts, self.R, self.V, self.s, w)
        return w

    @property
    def range(self) -> float:
        """Y, the largest |y| so far."""
        return float(self.s[RANGE])

    def _index(self, index: int) -> int:
        if isinstance(index, bool) or not isinstance(index, int | np.integer) or not 0 <= index < self.experts:
            raise ValueError(f"index must be that of an expert: got {index!r}; give 0 to {self.experts - 1}")
        return int(index)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {"experts": self.experts, "R": self.R.copy(), "V": self.V.copy(), "scalars": self.s.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        self.R, self.s = stored(state, "R", None), stored(state, "scalars", self.s.size)
        self.V, self.experts = stored(state, "V", self.R.size), int(state["experts"])
        counted("experts", self.experts, self.R.size)
        self.w = np.zeros(self.R.size)


class Vovk(Aggregator):
    """The aggregating algorithm, η = 1/Y², with the substitution ŷ = (G(−Y) − G(Y))/2Y. Of the bounds here, the smallest.

    share: after each round every expert hands this part of its weight to all alike (fixed share), so that a good expert is found
    again soon after a jump.
    """

    _factor = 1.0

    def bound(self, index: int, switches: int = 0) -> float:
        """Loss of the aggregate less that of expert `index` since it joined: at most cY² ln N + Y² (c = 1, or 4 for the mean).

        The last Y² stands for what range changes cost; that is summed as it goes, and the sum is what is added here. With share
        α, c Σ Y_t² ln(1/(1 − α)) is added too; and against a sequence of experts that ends in `index` and changes `switches`
        times, cY² ln(N/α) for each change.
        """
        self._index(index)
        changes = nonnegative("switches", switches)
        if changes > 0.0 and self.share == 0.0:
            raise ValueError(f"switches must be 0 without fixed share: got {switches!r}; build it with share above 0")
        steps = math.log(self.experts) + (changes * math.log(self.experts / self.share) if changes else 0.0)
        return float(self._factor * self.range**2 * steps + self.s[SHARE_COST] + self.s[RANGE_COST])


class ExponentialWeights(Vovk):
    """The mean under weights exp(−ηL), η = 1/(4Y²): its bound has c = 4 where Vovk's has 1. share: as there."""

    rule, _factor = EXPONENTIAL, 4.0


class MLPoly(Aggregator):
    """ML-Poly (Gaillard, Stoltz & van Erven 2014): weights ∝ (R_i)₊/(B + V_i), a rate for each expert, learnt.

    r_i = (ŷ − y)(ŷ − p_i), R_i = Σr_i, V_i = Σr_i², B the largest r² so far. No range enters the weights, so it is quick
    where the noise is well below Y: on drifting signals it measures best of the three.
    """

    rule = ML_POLY

    def __init__(self) -> None:
        super().__init__(0.0)

    def bound(self, index: int) -> float:
        """Loss of the aggregate less that of expert `index` since it joined: at most √((B + V_i) A) and the range changes' cost.

        A = Σ_t Σ_j r_jt²/(B_{t−1} + V_{j,t−1}) is summed as it goes: about N ln(1 + V/B) while no r² sets a record, but a
        record adds r²/(B + V) without limit, so no figure can be given before the data. Σ_j w_j r_j = 0 is all the proof needs.
        The same holds against mixtures of experts, with the mixture of the bounds.
        """
        i = self._index(index)
        return math.sqrt((self.s[RECORD] + self.V[i]) * self.s[POTENTIAL]) + float(self.s[RANGE_COST])


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
        raise ValueError(f"share must be 0 with ml-poly: got {share!r}; choose 'vovk' or 'exponential', or leave it out")
    if name == "ml-poly":
        return MLPoly()
    if name in ("vovk", "exponential"):
        return Vovk(share) if name == "vovk" else ExponentialWeights(share)
    raise ValueError(f"aggregation must be 'auto', 'vovk', 'exponential' or 'ml-poly': got {name!r}; choose one")

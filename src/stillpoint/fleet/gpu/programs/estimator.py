"""One quantile estimator per stream on devices: its aggregate of experts, and its guard.

The formulas are those of intervals/_experts.py. What is added up over all rounds is a pair of
floats, so that no digits are lost in float32.
"""

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from stillpoint.core._poly import CAP, FORGET, RATE, WARM
from stillpoint.fleet.gpu.programs.base import Program, State, names, pair, pairs, put
from stillpoint.fleet.gpu.trace import (
    Number,
    Pair,
    dot,
    exp,
    inverse,
    larger,
    rsqrt,
    smaller,
    total,
    where,
)
from stillpoint.intervals._experts import EXPERTS, REACH
from stillpoint.intervals._guard import HEAD, MOST, PUSH, WIDTH
from stillpoint.intervals.base import QuantileEstimators

# scales are kept within this of the largest score: from 0 they could not grow again
DIGITS = 1e-30
EVERY = range(EXPERTS)


def split(x: float) -> tuple[float, float]:
    """A number as a float32 and the rest."""
    high = float(np.float32(x))
    return high, x - high


class EstimatorProgram(Program):
    """What the two share: the aggregate of the experts under the pinball loss, and the guard."""

    def __init__(self, learner: QuantileEstimators, own: tuple[str, ...]) -> None:
        super().__init__()
        aims = learner._estimators.aims
        if len(aims) > 1:
            raise ValueError(
                f"a device tracks one level or coverage a stream: got {len(aims)}; use a Fleet on"
                " the CPU"
            )
        self._q, self._first = aims[0].tolist()
        self._rare = min(self._q, 1.0 - self._q)
        sums = (
            *names("squared", EXPERTS),
            *pairs("debt", "seen", *names("regret", EXPERTS), *names("loss", EXPERTS)),
        )
        self.columns = (
            *own,
            "start",
            "low",
            "high",
            "noise",
            "memory",
            "largest",
            "learned",
            *sums,
        )
        self.begin = {}

    def for_rounds(self, rounds: int) -> "EstimatorProgram":
        """An estimator never grows."""
        return self

    def _pool(self, s: State, values: Sequence[Number], ready: Number) -> Number:
        """The aggregate, 0 until there is one; experts are heard within REACH of ML-Poly's."""
        poly = [
            larger(s[f"regret{i}"], 0.0) * inverse(larger(s["largest"] + s[f"squared{i}"], 1e-30))
            for i in EVERY
        ]
        mass = total(poly)
        known, over = mass > 0.0, inverse(larger(mass, 1e-30))
        poly = [where(known, weight * over, 1.0 / EXPERTS) for weight in poly]
        lead = reduce(smaller, [s[f"loss{i}"] for i in EVERY])
        soft = [exp(-RATE * ((s[f"loss{i}"] - lead) + s[f"loss{i}~"])) for i in EVERY]
        early = WARM * inverse(WARM + s["learned"])
        late, share = 1.0 - early, early * inverse(total(soft))
        reach = where(s["noise"] > 0.0, REACH / self._rare * s["noise"], 1e37)
        middle = dot(poly, values)
        least, most = middle - reach, middle + reach
        heard = [smaller(larger(x, least), most) for x in values]
        s["heard"], s["pooled"] = heard, dot(poly, heard)
        s["forecast"] = where(ready, late * s["pooled"] + share * dot(soft, heard), 0.0)
        return s["forecast"]

    def _debt(self, s: State) -> tuple[Number, Number]:
        """Misses beyond their share over h(t), and how hard the guard pushes outward."""
        x = s["debt"] * (
            rsqrt(s["seen"] + HEAD) * (1.0 / (WIDTH * math.sqrt(self._q * (1.0 - self._q))))
        )
        return x, smaller(larger(PUSH * x * inverse(larger(1.0 - x * x, 1e-6)), -MOST), MOST)

    def _count(self, s: State, missed: Number, counts: Number) -> None:
        put(s, "debt", pair(s, "debt").plus(counts * (where(missed, 1.0, 0.0) - (1.0 - self._q))))
        put(s, "seen", pair(s, "seen").plus(counts))

    def _pinball(self, p: Number, y: Number) -> Number:
        return larger(self._q * (y - p), (1.0 - self._q) * (p - y))

    def _credit(self, s: State, y: Number, ready: Number) -> None:
        """Regrets and losses in units of the running pinball loss."""
        loss = self._pinball(s["forecast"], y)
        memory = (1.0 - FORGET) * s["memory"] + 1.0
        counted = where(
            (memory >= 11.0) & (s["noise"] > 0.0), smaller(loss, CAP * s["noise"]), loss
        )
        noise = s["noise"] + (counted - s["noise"]) * inverse(memory)
        unit = larger(
            larger(noise, (1.0 / CAP) * loss), larger(DIGITS * (s["high"] - s["low"]), 1e-37)
        )
        over = where(ready, inverse(unit), 0.0)
        slope = where(s["pooled"] >= y, 1.0 - self._q, -self._q) * over
        worst = s["largest"]
        for i in EVERY:
            regret = slope * (s["pooled"] - s["heard"][i])
            worst = larger(worst, regret * regret)
            s[f"squared{i}"] = s[f"squared{i}"] + regret * regret
            put(s, f"regret{i}", pair(s, f"regret{i}").plus(regret))
            put(s, f"loss{i}", pair(s, f"loss{i}").plus(self._pinball(s["heard"][i], y) * over))
        s["largest"] = worst
        s["memory"], s["noise"] = where(ready, memory, s["memory"]), where(ready, noise, s["noise"])
        s["learned"] = s["learned"] + where(ready, 1.0, 0.0)

    def _moves(self, s: State, y: Number, scale: float, least: Sequence[float]) -> list[Pair]:
        """How far each expert moves, by its side of the pinball loss.

        Most rounds have the least step, added up for ever: it comes with what is missing from it as
        a float.
        """
        early = (scale / 3.0) * inverse(1.0 + self._rare * s["learned"])
        moves = []
        for i in EVERY:
            above, slow = s["values"][i] >= y, early <= least[i]
            (up, up_rest) = split(-least[i] * (1.0 - self._q))
            (down, down_rest) = split(least[i] * self._q)
            first = where(
                above, where(slow, up, early * (self._q - 1.0)), where(slow, down, early * self._q)
            )
            moves.append(
                Pair(first, where(above, where(slow, up_rest, 0.0), where(slow, down_rest, 0.0)))
            )
        return moves

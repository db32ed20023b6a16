"""Interval and quantile trackers (TRACKING sections 3 and 4) for device fleets: one lane a stream,
nine experts each.
"""

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from stillpoint.fleet.gpu.programs.base import (
    LARGEST,
    Plan,
    State,
    dot,
    names,
    pair,
    pairs,
    put,
    total,
)
from stillpoint.fleet.gpu.trace import (
    Number,
    Pair,
    choose,
    exp,
    inverse,
    larger,
    rsqrt,
    size,
    smaller,
    where,
)
from stillpoint.forecasters._tracking import CAP, FORGET, RATE, WARM
from stillpoint.intervals import IntervalTracker, QuantileTracker
from stillpoint.intervals._experts import (
    EXPERTS,
    FEW,
    HEAD,
    LEAST,
    LEVEL,
    MARGIN,
    MEAN,
    MEMORIES,
    MIDDLE,
    MOST,
    PUSH,
    REACH,
    SCALED,
    SIGNED,
    SPREAD,
    STEPS,
    STRETCH,
    UNSEEN,
    WIDTH,
    WINSOR,
)
from stillpoint.intervals.experts import Lanes

_SPAN = 80.0  # of the logarithm of a sign expert's multiple: e^80 is about 5e34
# scales are kept within this of the largest score: from 0 they could not grow again
_DIGITS = 1e-30
_EVERY = range(EXPERTS)


def _split(x: float) -> tuple[float, float]:
    """A number as a float32 and the rest."""
    high = float(np.float32(x))
    return high, x - high


class LanePlan(Plan):
    """What the two share: the aggregate of the experts' values under the pinball loss, and the
    guard.
    """

    def __init__(self, learner: Lanes, own: tuple[str, ...]) -> None:
        super().__init__()
        if learner._levels.size > 1:
            raise ValueError(
                f"a device tracks one level or coverage a stream: got {learner._levels.size}; use a"
                " Fleet on the CPU"
            )
        self._q, self._first = float(learner._levels[0]), float(learner._firsts[0])
        self._rare = min(self._q, 1.0 - self._q)
        books = (
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
            *books,
        )
        self.begin = {}

    def for_rounds(self, rounds: int) -> "LanePlan":
        """A lane never grows."""
        return self

    def _pool(self, s: State, values: Sequence[Number], ready: Number) -> Number:
        """The aggregate, 0 until a lane is ready; experts are heard within REACH of ML-Poly's."""
        poly = [
            larger(s[f"regret{i}"], 0.0) * inverse(larger(s["largest"] + s[f"squared{i}"], 1e-30))
            for i in _EVERY
        ]
        mass = total(poly)
        known, over = mass > 0.0, inverse(larger(mass, 1e-30))
        poly = [where(known, weight * over, 1.0 / EXPERTS) for weight in poly]
        lead = reduce(smaller, [s[f"loss{i}"] for i in _EVERY])
        soft = [exp(-RATE * ((s[f"loss{i}"] - lead) + s[f"loss{i}~"])) for i in _EVERY]
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
            larger(noise, (1.0 / CAP) * loss), larger(_DIGITS * (s["high"] - s["low"]), 1e-37)
        )
        over = where(ready, inverse(unit), 0.0)
        slope = where(s["pooled"] >= y, 1.0 - self._q, -self._q) * over
        worst = s["largest"]
        for i in _EVERY:
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
        for i in _EVERY:
            above, slow = s["values"][i] >= y, early <= least[i]
            (up, up_rest), (down, down_rest) = (
                _split(-least[i] * (1.0 - self._q)),
                _split(least[i] * self._q),
            )
            first = where(
                above, where(slow, up, early * (self._q - 1.0)), where(slow, down, early * self._q)
            )
            moves.append(
                Pair(first, where(above, where(slow, up_rest, 0.0), where(slow, down_rest, 0.0)))
            )
        return moves


class IntervalPlan(LanePlan):
    """Columns of IntervalTracker. A round is fed the residual y − forecast, and plays the
    radius.
    """

    first = math.inf

    def __init__(self, learner: IntervalTracker) -> None:
        if learner.two_sided:
            raise ValueError(
                "two_sided must be False on a device: got True; use a Fleet on the CPU"
            )
        super().__init__(
            learner,
            (*names("count", SCALED), *pairs(*names("scale", SCALED), *names("multiple", EXPERTS))),
        )
        self._empty, self._z = learner.empty, MEAN * math.exp(self._first)
        self.begin = dict(
            zip(pairs(*names("multiple", EXPERTS)), EXPERTS * _split(self._first), strict=True)
        )

    def propose(self, s: State) -> tuple[Number, ...]:
        """The radius: ∞ for everything, −∞ for the empty set."""
        ready = s["start"] > 0.0
        scales = [s[f"scale{i}"] if i < SCALED else s["start"] for i in _EVERY]
        s["values"] = [
            exp(s[f"multiple{i}"]) * ((1.0 + s[f"multiple{i}~"]) * scales[i]) for i in _EVERY
        ]
        radius = self._pool(s, [smaller(x, 2.0 * s["high"]) for x in s["values"]], ready)
        x, push = self._debt(s)
        known = larger(s["seen"] - 1.0, LEAST)  # a score more than may count: the first does not
        b = (8.0 * known + 3.0) * inverse(8.0 * known + 1.0)
        t = (b * self._z) * (b * self._z) * inverse(known)
        # squared, and times z²
        wider = where(s["seen"] <= FEW + 1.0, known * (exp(t) - 1.0), self._z * self._z)
        radius = radius * (exp(push) * (wider * rsqrt(larger(wider, 1e-30)) * (1.0 / self._z)))
        radius = where((x >= 1.0) | (s["seen"] <= LEAST), float("inf"), radius)
        s["radius"] = where(x <= -1.0, float("-inf") if self._empty else 0.0, radius)
        return (s["radius"],)

    def learn(self, s: State, fed: Sequence[Number]) -> None:
        """Take in a residual."""
        score, second = size(fed[0]), s["seen"] >= 1.0  # from the first nothing is learnt
        self._count(s, score > s["radius"], where(s["good"], 1.0, 0.0))
        ready = s["good"] & (s["start"] > 0.0)
        begins = (score > 0.0) & (s["start"] <= 0.0) & second
        moves = self._moves(s, score, 1.0, STEPS.tolist())
        self._credit(s, score, ready)
        least, most = self._first - MARGIN, MARGIN - math.log(self._rare)
        s["start"] = where(begins, score, s["start"])
        s["high"] = larger(s["high"], where(s["good"] & second, score, 0.0))
        goes = ready | begins
        for i in _EVERY:
            low, high = (least, most) if i < SCALED else (-_SPAN, _SPAN)
            multiple = pair(s, f"multiple{i}")
            put(
                s,
                f"multiple{i}",
                choose(ready, multiple.step(*moves[i]).within(low, high), multiple),
            )
            if i < SCALED:
                scale, count = (
                    pair(s, f"scale{i}"),
                    (1.0 - 1.0 / float(MEMORIES[i])) * s[f"count{i}"] + 1.0,
                )
                counted = smaller(
                    score, where(ready, WINSOR * larger(s["values"][i], scale.high), LARGEST)
                )
                moved = scale.plus((counted - scale.high) * inverse(count))
                put(s, f"scale{i}", choose(goes, moved.within(_DIGITS * s["high"], LARGEST), scale))
                s[f"count{i}"] = where(goes, count, s[f"count{i}"])


class QuantilePlan(LanePlan):
    """Columns of QuantileTracker. A round is fed the value."""

    def __init__(self, learner: QuantileTracker) -> None:
        sums = *names("scale", SCALED), *names("multiple", SCALED), *names("centre", EXPERTS)
        super().__init__(learner, ("origin", *names("count", SCALED), *pairs(*sums)))
        self.begin = dict(
            zip(pairs(*names("multiple", SCALED)), SCALED * _split(self._first), strict=True)
        )

    def propose(self, s: State) -> tuple[Number, ...]:
        """The quantile, ±∞ where the guard takes over."""
        ready = s["start"] >= SPREAD
        reach = s["high"] - s["low"]
        s["values"] = [
            s[f"centre{i}"] + (s[f"multiple{i}"] * s[f"scale{i}"] if i < SCALED else 0.0)
            for i in _EVERY
        ]
        self._pool(
            s, [smaller(larger(x, s["low"] - reach), s["high"] + reach) for x in s["values"]], ready
        )
        x, push = self._debt(s)
        value = s["origin"] + (s["forecast"] + 2.0 * push * s[f"scale{MIDDLE}"])
        s["quantile"] = where(x <= -1.0, float("-inf"), where(x >= 1.0, float("inf"), value))
        return (s["quantile"],)

    def learn(self, s: State, fed: Sequence[Number]) -> None:
        """Take in a value; the first only sets the level, and does not count."""
        good, unseen = s["good"], s["start"] <= UNSEEN
        self._count(s, fed[0] > s["quantile"], where(good, where(unseen, 0.0, 1.0), 0.0))
        s["origin"] = where(good & unseen, fed[0], s["origin"])
        y = where(good, fed[0] - s["origin"], 0.0)
        ready, begins = (
            good & (s["start"] >= SPREAD),
            (s["start"] <= LEVEL) & ((y > 0.0) | (y < 0.0)),
        )
        moves = self._moves(s, y, 2.0, SIGNED.tolist())
        self._credit(s, y, ready)
        s["low"], s["high"] = smaller(s["low"], y), larger(s["high"], y)
        s["start"] = where(begins, SPREAD, where(good & unseen, LEVEL, s["start"]))
        unit, half, most = s[f"scale{MIDDLE}"], 0.5 * y, STRETCH / self._rare
        for i in _EVERY:
            centre = pair(s, f"centre{i}")
            if i >= SCALED:
                start = choose(begins, Pair(half + self._first * size(half), 0.0), centre)
                put(s, f"centre{i}", choose(ready, centre.plus(moves[i].high * unit), start))
                continue
            multiple, scale = pair(s, f"multiple{i}"), pair(s, f"scale{i}")
            count = (1.0 - 1.0 / float(MEMORIES[i])) * s[f"count{i}"] + 1.0
            limit, over = WINSOR * scale.high, inverse(count)
            gap = smaller(larger((y - centre.high) - centre.low, -limit), limit)
            moved = scale.plus((size(gap) - scale.high) * over).within(
                _DIGITS * (s["high"] - s["low"]), LARGEST
            )
            put(
                s,
                f"multiple{i}",
                choose(ready, multiple.step(*moves[i]).within(-most, most), multiple),
            )
            put(
                s,
                f"centre{i}",
                choose(ready, centre.plus(gap * over), choose(begins, Pair(half, 0.0), centre)),
            )
            put(s, f"scale{i}", choose(ready, moved, choose(begins, Pair(size(half), 0.0), scale)))
            s[f"count{i}"] = where(ready, count, where(begins, 2.0, s[f"count{i}"]))

"""Interval and quantile trackers for device fleets."""

import math
from collections.abc import Sequence

from stillpoint.fleet.gpu.programs.base import LARGEST, State, names, pair, pairs, put
from stillpoint.fleet.gpu.programs.estimator import DIGITS, EVERY, EstimatorProgram, split
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
from stillpoint.intervals import IntervalTracker, QuantileTracker
from stillpoint.intervals._experts import (
    EXPERTS,
    FEW,
    LEAST,
    LEVEL,
    MARGIN,
    MEAN,
    MEMORIES,
    MIDDLE,
    SCALED,
    SIGNED,
    SPREAD,
    STEPS,
    STRETCH,
    UNSEEN,
    WINSOR,
)

_SPAN = 80.0  # of the logarithm of a sign expert's multiple: e^80 is about 5e34


class IntervalProgram(EstimatorProgram):
    """Columns of IntervalTracker; a round is fed the residual y − forecast and plays a radius."""

    first = math.inf

    def __init__(self, learner: IntervalTracker) -> None:
        if learner.two_sided:
            raise ValueError(
                "two_sided must be False on a device: got True; use a Fleet on the CPU"
            )
        if learner.delay:
            raise ValueError(
                f"delay must be 0 on a device: got {learner.delay}; use a Fleet on the CPU"
            )
        super().__init__(
            learner,
            (*names("count", SCALED), *pairs(*names("scale", SCALED), *names("multiple", EXPERTS))),
        )
        self._empty, self._z = learner.empty, MEAN * math.exp(self._first)
        self.begin = dict(
            zip(pairs(*names("multiple", EXPERTS)), EXPERTS * split(self._first), strict=True)
        )

    def propose(self, s: State) -> tuple[Number, ...]:
        """The radius: ∞ for everything, −∞ for the empty set."""
        ready = s["start"] > 0.0
        scales = [s[f"scale{i}"] if i < SCALED else s["start"] for i in EVERY]
        s["values"] = [
            exp(s[f"multiple{i}"]) * ((1.0 + s[f"multiple{i}~"]) * scales[i]) for i in EVERY
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
        for i in EVERY:
            low, high = (least, most) if i < SCALED else (-_SPAN, _SPAN)
            multiple = pair(s, f"multiple{i}")
            put(
                s,
                f"multiple{i}",
                choose(ready, multiple.step(*moves[i]).within(low, high), multiple),
            )
            if i < SCALED:
                scale = pair(s, f"scale{i}")
                count = (1.0 - 1.0 / float(MEMORIES[i])) * s[f"count{i}"] + 1.0
                counted = smaller(
                    score, where(ready, WINSOR * larger(s["values"][i], scale.high), LARGEST)
                )
                moved = scale.plus((counted - scale.high) * inverse(count))
                put(s, f"scale{i}", choose(goes, moved.within(DIGITS * s["high"], LARGEST), scale))
                s[f"count{i}"] = where(goes, count, s[f"count{i}"])


class QuantileProgram(EstimatorProgram):
    """Columns of QuantileTracker; a round is fed the value."""

    def __init__(self, learner: QuantileTracker) -> None:
        sums = *names("scale", SCALED), *names("multiple", SCALED), *names("centre", EXPERTS)
        super().__init__(learner, ("origin", *names("count", SCALED), *pairs(*sums)))
        self.begin = dict(
            zip(pairs(*names("multiple", SCALED)), SCALED * split(self._first), strict=True)
        )

    def propose(self, s: State) -> tuple[Number, ...]:
        """The quantile, ±∞ where the guard takes over."""
        ready = s["start"] >= SPREAD
        reach = s["high"] - s["low"]
        s["values"] = [
            s[f"centre{i}"] + (s[f"multiple{i}"] * s[f"scale{i}"] if i < SCALED else 0.0)
            for i in EVERY
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
        ready = good & (s["start"] >= SPREAD)
        begins = (s["start"] <= LEVEL) & ((y > 0.0) | (y < 0.0))
        moves = self._moves(s, y, 2.0, SIGNED.tolist())
        self._credit(s, y, ready)
        s["low"], s["high"] = smaller(s["low"], y), larger(s["high"], y)
        s["start"] = where(begins, SPREAD, where(good & unseen, LEVEL, s["start"]))
        unit, half, most = s[f"scale{MIDDLE}"], 0.5 * y, STRETCH / self._rare
        for i in EVERY:
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
                DIGITS * (s["high"] - s["low"]), LARGEST
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

"""Tracker for device fleets, in units of its own: iterates over D, gradients over Γ.

Nothing then leaves the range of float32 whatever the units of the stream, and doubling D halves
iterates exactly. Hedge's losses are kept as Σ⟨g, x_i − w⟩, 0 for an expert that joins. What adds up
over all rounds is a pair of floats: these sums, the gain X, V, and h, which moves by less than its
own rounding where the noise is fine.
"""

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from stillpoint.domains import Ball, Everywhere
from stillpoint.fleet.gpu.programs.bank import FilterBank, levels_by
from stillpoint.fleet.gpu.programs.base import (
    Program,
    State,
    into_ball,
    length,
    names,
    pair,
    pairs,
    put,
)
from stillpoint.fleet.gpu.trace import (
    Number,
    dot,
    exp,
    inverse,
    larger,
    log,
    rsqrt,
    smaller,
    total,
    where,
)
from stillpoint.learners import Tracker
from stillpoint.learners._tracker import (
    ALARM,
    BASE,
    BET,
    EPS,
    GROW,
    GROW_FIRST,
    GROW_MORE,
    KEEP,
    LOG_PRIOR,
    RATE,
)

_CAP = 1e30  # of the radius, and of the alarm
_NEVER = -1e30  # log weight of an expert that has not joined


class TrackerProgram(Program):
    """Columns of Tracker with so many experts, and so many levels of filters."""

    def __init__(self, learner: Tracker, experts: int = 1, levels: int = 1) -> None:
        super().__init__()
        domain = learner.domain
        centred = isinstance(domain, Ball) and (domain.center is None or not np.any(domain.center))
        if not (centred or isinstance(domain, Everywhere)):
            raise ValueError(
                f"domain must be all space or a ball around 0 on a device: got {domain!r}; use a"
                " Fleet on the CPU"
            )
        if learner.config["certify"] is not None:
            raise ValueError(
                f"certify must be None in a fleet: got {learner.config['certify']!r}; certify"
                " single learners"
            )
        self._learner, self.experts, d = learner, experts, learner.dim
        self.inputs = self.outputs = self.dim = d
        self._limit = min(domain.reach(d), _CAP)
        self._bank = FilterBank(d, levels)
        self._x = [names(f"x{i}.", d) for i in range(experts)]
        sums = ("gain", "epoch", "squares", *names("h", d), "regret", *names("regret", experts))
        self.columns = (
            "radius",
            "top",
            "alarm",
            *pairs(*sums),
            *(name for row in self._x for name in row),
            *self._bank.columns,
        )
        self.gone = (*pairs("total", "log_step"), "trace", *names("m", d))
        self.come = ("alarm", *self._bank.columns)
        self.begin = {"radius": min(EPS, self._limit), **self._bank.begin}

    def for_rounds(self, rounds: int) -> "TrackerProgram":
        """Experts join in rounds 1, 16, 256, …, levels in 8, 32, 128, …"""
        experts = 1 + int(math.log(max(rounds, 1) + 0.5, BASE * BASE))
        levels = levels_by(rounds)
        if (experts, levels) == (self.experts, self._bank.levels):
            return self
        return TrackerProgram(self._learner, experts, levels)

    def _joined(self, s: State, i: int) -> Number:
        return s["rounds"] + 1 >= int(BASE ** (2 * i))

    def propose(self, s: State) -> tuple[Number, ...]:
        """Hedge's mixture w = h + Σ_i p_i (x_i − h)."""
        rate = 0.5 * RATE * rsqrt(s["epoch"] + 1.0)
        own = pair(s, "regret")
        marks = []
        for i in range(self.experts):
            behind = (s[f"regret{i}"] - own.high) + (s[f"regret{i}~"] - own.low)
            mark = float(LOG_PRIOR[1 + i] - LOG_PRIOR[0]) - rate * behind
            marks.append(mark if i == 0 else where(self._joined(s, i), mark, _NEVER))
        best = larger(reduce(larger, marks), 0.0)
        shares = [exp(mark - best) for mark in marks]
        first = exp(-best)
        over = inverse(first + total(shares))
        h = [pair(s, f"h{j}") for j in range(self.dim)]
        s["beyond"] = [  # w − h
            dot(shares, [s[row[j]] - h[j].high for row in self._x]) * over for j in range(self.dim)
        ]
        s["w"] = w = [x.plus(y).high for x, y in zip(h, s["beyond"], strict=True)]
        return tuple(s["radius"] * x for x in w)

    def learn(self, s: State, fed: Sequence[Number]) -> None:
        """Take in a gradient."""
        w, came = s["w"], length(fed)
        live = came > 0.0
        unit = where(s["top"] > 0.0, s["top"], where(live, came, 1.0))
        over, back = inverse(larger(unit, came)), inverse(unit)
        # over Γ, and clipped to what that was before
        g, a = [x * over for x in fed], smaller(came * back, 1.0)
        ratio = where(a < 1.0, 1.0, smaller(unit * over, 1.0))  # of the old Γ to the new
        joined = [self._joined(s, i) for i in range(self.experts)]
        self._credit(s, g, a, joined)
        bet = (1.0 + s["alarm"]) * (1.0 - BET * dot(g, w))
        s["alarm"] = where(live, smaller(bet, _CAP), s["alarm"])
        for i, row in enumerate(self._x):
            x = [s[name] - BASE**-i * y for name, y in zip(row, g, strict=True)]
            inside = into_ball(dot(x, x))
            for j, name in enumerate(row):  # who has not joined yet stays with the play
                s[name] = x[j] * inside if i == 0 else where(joined[i], x[j] * inside, w[j])
        s["size"] = a
        if self.dim > 1:
            straight = inverse(larger(came, 1e-37))
            s["direction"] = [x * straight for x in fed]
        self._bank.learn(s, g, live)
        self._rescale(s, ratio, live)
        s["top"] = larger(s["top"], came)

    def _credit(self, s: State, g: Sequence[Number], a: Number, joined: Sequence[Number]) -> None:
        """Add to the gain, Σ‖g‖² and Hedge's losses."""
        w = s["w"]
        put(s, "gain", pair(s, "gain").plus(-dot(g, w)))
        for name, more in (("epoch", a * a), ("squares", a * a)):
            put(s, name, pair(s, name).plus(more))
        put(s, "regret", pair(s, "regret").plus(-dot(g, s["beyond"])))
        for i, row in enumerate(self._x):
            inner = dot(g, [s[name] - x for name, x in zip(row, w, strict=True)])
            put(
                s,
                f"regret{i}",
                pair(s, f"regret{i}").plus(inner if i == 0 else where(joined[i], inner, 0.0)),
            )

    def _rescale(self, s: State, ratio: Number, live: Number) -> None:
        """Go over to a larger Γ and, when the gain or the alarm says so, to a larger D."""
        square, seen = ratio * ratio, s["seen"]
        gain, squares = s["gain"] * ratio, s["epoch"] * square
        share = smaller(GROW_FIRST + GROW_MORE * (s["squares"] * square), GROW)
        late = log(seen + math.e)
        alarm = s["alarm"] >= ALARM * seen * (late * late)
        met = (gain > 0.0) & (gain * gain >= share * share * (squares + 1.0))
        grows = live & (s["radius"] < self._limit) & (alarm | met)
        kept, kept_square = where(grows, 0.0, ratio), where(grows, 0.0, square)
        doubled = 2.0 * s["radius"]
        shrink = where(doubled <= self._limit, 0.5, s["radius"] * (1.0 / self._limit))
        factor = where(grows, shrink, 1.0)
        s["alarm"] = where(grows & alarm, KEEP * s["alarm"], s["alarm"])
        s["radius"] = where(grows, smaller(doubled, self._limit), s["radius"])
        for name, by in (("squares", square), ("gain", kept), ("epoch", kept_square)):
            put(s, name, pair(s, name).times(by))
        for name in ("regret", *names("regret", self.experts)):
            put(s, name, pair(s, name).times(kept))
        for name in names("h", self.dim):
            put(s, name, pair(s, name).times(factor))
        for row in self._x:
            for name in row:
                s[name] = s[name] * factor
        s["mean"] = s["mean"] * ratio
        self._bank.widen(s, factor)

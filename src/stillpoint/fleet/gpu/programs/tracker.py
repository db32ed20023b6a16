"""Tracker for device fleets, in units of its own: iterates over D, gradients over Γ.

Nothing then leaves the range of float32 whatever the units of the stream, and doubling D halves
iterates exactly. Hedge's losses are kept as Σ⟨g, x_i − w⟩, 0 for an expert that joins. What adds up
over all rounds is a pair of floats: these sums, the gain X, V, log(step), and h, which a rounding
every round would move as much as a small step does.
"""

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from stillpoint.domains import Ball, Everywhere
from stillpoint.fleet.gpu.programs.base import (
    Program,
    State,
    dot,
    into_ball,
    length,
    names,
    pair,
    pairs,
    put,
    total,
)
from stillpoint.fleet.gpu.trace import (
    Number,
    choose,
    exp,
    inverse,
    larger,
    log,
    rsqrt,
    smaller,
    where,
)
from stillpoint.learners import Tracker
from stillpoint.learners._tracker import BASE, DOWN, EPS, FADE, GROW, LOG_PRIOR, RATE, UP

_CAP = 1e30  # of the radius
_NEVER = -1e30  # log weight of an expert that has not joined


class TrackerProgram(Program):
    """Columns of Tracker with so many experts."""

    gone = pairs("total")

    def __init__(self, learner: Tracker, experts: int = 1) -> None:
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
        self._x = [names(f"x{i}.", d) for i in range(experts)]
        sums = (
            "log_step",
            "gain",
            "epoch",
            "squares",
            *names("h", d),
            "regret",
            *names("regret", experts),
        )
        self.columns = (
            "radius",
            "top",
            "trace",
            *names("m", d),
            *pairs(*sums),
            *(name for row in self._x for name in row),
        )
        radius = min(EPS, self._limit)
        self.begin = {"radius": radius, "log_step": math.log(radius)}

    def for_rounds(self, rounds: int) -> "TrackerProgram":
        """Experts join in rounds 1, 16, 256, …"""
        experts = 1 + int(math.log(max(rounds, 1) + 0.5, BASE * BASE))
        return self if experts == self.experts else TrackerProgram(self._learner, experts)

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
        s["share"] = first * over
        s["w"] = w = []
        for j in range(self.dim):
            h = pair(s, f"h{j}")
            w.append(h.plus(dot(shares, [s[row[j]] - h.high for row in self._x]) * over))
        return tuple(s["radius"] * x.high for x in w)

    def learn(self, s: State, fed: Sequence[Number]) -> None:
        """Take in a gradient."""
        w = s["w"]
        a = length(fed)
        live = a > 0.0
        unit = where(s["top"] > 0.0, s["top"], where(live, a, 1.0))
        over, back = inverse(larger(unit, a)), inverse(unit)
        # over Γ, and clipped to what that was before
        g, a = [x * over for x in fed], smaller(a * back, 1.0)
        ratio = where(a < 1.0, 1.0, smaller(unit * over, 1.0))  # of the old Γ to the new
        joined = [self._joined(s, i) for i in range(self.experts)]
        self._credit(s, g, a, joined)
        for i, row in enumerate(self._x):
            x = [s[name] - BASE**-i * y for name, y in zip(row, g, strict=True)]
            inside = into_ball(dot(x, x))
            for j, name in enumerate(row):  # who has not joined yet stays with the play
                s[name] = x[j] * inside if i == 0 else where(joined[i], x[j] * inside, w[j].high)
        step = self._steer(s, g, a, live)
        moved = [x.plus(-(step * y)) for x, y in zip(w, g, strict=True)]
        inside = into_ball(dot([x.high for x in moved], [x.high for x in moved]))
        for j in range(self.dim):
            put(s, f"h{j}", choose(live, moved[j].times(inside), pair(s, f"h{j}")))
        self._rescale(s, ratio)
        s["top"] = larger(s["top"], length(fed))

    def _credit(self, s: State, g: Sequence[Number], a: Number, joined: Sequence[Number]) -> None:
        """Add to the gain, Σ‖g‖² and Hedge's losses."""
        w = s["w"]
        put(s, "gain", pair(s, "gain").plus(-dot(g, [x.high for x in w])))
        for name, more in (("epoch", a * a), ("squares", a * a)):
            put(s, name, pair(s, name).plus(more))
        h = [pair(s, f"h{j}") for j in range(self.dim)]
        ahead = [(x.high - y.high) + (x.low - y.low) for x, y in zip(h, w, strict=True)]
        put(s, "regret", pair(s, "regret").plus(dot(g, ahead)))
        for i, row in enumerate(self._x):
            inner = dot(g, [s[name] - x.high for name, x in zip(row, w, strict=True)])
            put(
                s,
                f"regret{i}",
                pair(s, f"regret{i}").plus(inner if i == 0 else where(joined[i], inner, 0.0)),
            )

    def _steer(self, s: State, g: Sequence[Number], a: Number, live: Number) -> Number:
        """The step of h over D/Γ, once it has followed the correlation of g with those before."""
        m = [s[name] for name in names("m", self.dim)]
        # the trace bounds ‖m‖: 0 before it has any
        rho = dot(g, m) * inverse(larger(s["trace"], 1e-30))
        # UP < DOWN: that of rho's sign
        log_step = pair(s, "log_step").plus(s["share"] * smaller(UP * rho, DOWN * rho))
        most = log(s["radius"])
        log_step = log_step.within(most - log(s["squares"] + 1.0), most)
        put(s, "log_step", choose(live, log_step, pair(s, "log_step")))
        for j in range(self.dim):
            s[f"m{j}"] = where(live, FADE * m[j] + g[j], m[j])
        s["trace"] = where(live, FADE * s["trace"] + a, s["trace"])
        return exp((log_step.high - most) + log_step.low)

    def _rescale(self, s: State, ratio: Number) -> None:
        """Go over to a larger Γ and, when the gain says so, to a larger D."""
        square = ratio * ratio
        gain, squares = s["gain"] * ratio, s["epoch"] * square
        grows = (
            (s["radius"] < self._limit)
            & (gain > 0.0)
            & (gain * gain >= GROW * GROW * (squares + 1.0))
        )
        kept, kept_square = where(grows, 0.0, ratio), where(grows, 0.0, square)
        radius = smaller(2.0 * s["radius"], self._limit)
        factor = where(grows, s["radius"] * inverse(radius) if self._limit < _CAP else 0.5, 1.0)
        s["radius"] = where(grows, radius, s["radius"])
        for name, by in (("squares", square), ("gain", kept), ("epoch", kept_square)):
            put(s, name, pair(s, name).times(by))
        for name in ("regret", *names("regret", self.experts)):
            put(s, name, pair(s, name).times(kept))
        for name in ("trace", *names("m", self.dim)):
            s[name] = s[name] * ratio
        for name in names("h", self.dim):
            put(s, name, pair(s, name).times(factor))
        for row in self._x:
            for name in row:
                s[name] = s[name] * factor

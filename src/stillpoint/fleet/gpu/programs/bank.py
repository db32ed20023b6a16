"""Tracker's bank of filters for device fleets: columns, a round, and how weights pass on.

The formulas are those of learners/_bank.py and learners/_ageing.py, in units of Tracker's program:
σ_0 over D, which is from 1/2 to 2, and the root mean square of gradients over Γ. A filter keeps
b − h instead of b: what it is compared with is near h, so that a float32 has the digits that tell
fine scales apart, and neither slow rates nor velocities need pairs. Weights sum to 1 after every
round, since eight of them may leave the range of float32; "mass" is their sum had they been left
alone since the last move.

What a round does to all streams alike is arithmetic with rates that are 0 where a stream has no
gradient, does not move weights, or has not got the filter yet. A filter that joins is no copy of
another: it has no weight, and is overwritten by the first that it receives.
"""

from collections.abc import Sequence

from stillpoint.fleet.gpu.programs.base import State, into_ball, names, pair, pairs, put
from stillpoint.fleet.gpu.trace import (
    Number,
    choose,
    dot,
    inverse,
    larger,
    rsqrt,
    smaller,
    total,
    where,
)
from stillpoint.learners._ageing import (
    AGE,
    EVERY,
    JUMPS,
    LARGER,
    LIVED,
    MOST,
    NEW_SCALE,
    ROUNDS,
    SMALLER,
)
from stillpoint.learners._bank import (
    BURST,
    LEVELS,
    RATES,
    RATIO,
    SCALES,
    SLOW,
    WIDEST,
    level_due,
    level_row,
    rows_of,
    trend_row,
    trends_of,
)

_LEAST = 1e-37  # added to what divides
_MOST_NEW = 1e30  # the weight of a scale that is added, where all others have next to none
_SCALES = range(SCALES)


def levels_by(rounds: int) -> int:
    """How many levels there are in this round."""
    return 1 + sum(level_due(k) <= rounds for k in range(1, LEVELS))


class FilterBank:
    """Columns of a bank with so many levels, and the trends that join with them."""

    def __init__(self, dim: int, levels: int) -> None:
        self._dim, self.levels, self._trends = dim, levels, trends_of(levels)
        rows = range(rows_of(levels))
        self._a = [names(f"a{f}.", dim) for f in rows]
        self._b = [names(f"b{f}.", dim) for f in rows]
        self._beliefs = [names(f"belief{f}.", SCALES) for f in rows]
        self._va = [names(f"va{k}.", dim) for k in range(self._trends)]
        self._vb = [names(f"vb{k}.", dim) for k in range(self._trends)]
        self._trend_of = {trend_row(k): k for k in range(self._trends)}
        # the level that a filter joins with
        self._joins = {level_row(k): k for k in range(levels)}
        self._joins |= {trend_row(k): k + 2 for k in range(self._trends)}
        groups = (*self._a, *self._b, *self._va, *self._vb, *self._beliefs)
        self.columns = (
            *pairs("seen", "jumps"),  # rounds with a gradient, jumps of the target
            "phase",  # rounds since the last move
            "mean",
            "span",  # σ_0 over D
            "mass",
            *(("align", *names("last", dim)) if dim > 1 else ()),
            *(name for group in groups for name in group),
        )
        self.begin = {"span": WIDEST, "mass": 1.0} | dict.fromkeys(self._beliefs[0], 1.0 / SCALES)

    def learn(self, s: State, fed: Sequence[Number], live: Number) -> None:
        """Weigh filters by a gradient over Γ, move them, and put their mean proposal into h."""
        one = where(live, 1.0, 0.0)
        put(s, "seen", pair(s, "seen").plus(one))
        over_n = inverse(larger(s["seen"], 1.0))
        size = s["size"]
        mean = where(s["seen"] < 1.5, size, larger(s["mean"], BURST**-0.5 * size))
        unit = inverse(larger(mean, _LEAST))
        g, square = [x * unit for x in fed], size * unit * (size * unit)
        strength = self._strength(s, over_n, live) if self._dim > 1 else one
        found = 1.0 + larger(over_n, SLOW) * (square - 1.0)
        s["mean"] = where(live, mean * (found * rsqrt(found)), s["mean"])

        inverses = [inverse(s["span"]) * RATIO**i for i in _SCALES]
        joined = [live, *(live & self._joined(s, k) for k in range(1, self.levels))]
        sums, weighted = [], []
        for f, (row_a, row_b) in enumerate(zip(self._a, self._b, strict=True)):
            a, b = [s[name] for name in row_a], [s[name] for name in row_b]
            away = [x - y for x, y in zip(s["beyond"], b, strict=True)]  # w − b
            mass, spread = self._weigh(s, f, a, away, inverses, g, strength)
            sums.append(mass)
            weighted.append(spread)
            self._pull(s, f, g, away, joined[self._joins[f]])
        sum_ = total(sums)
        over = where(live, inverse(larger(sum_, _LEAST)), 1.0)
        s["mass"] = larger(where(live, s["mass"] * sum_, s["mass"]), _LEAST)

        h = [pair(s, f"h{j}") for j in range(self._dim)]
        share, scaled = over * one, over * one * s["span"]
        moved = []
        for j in range(self._dim):
            b, a = ([s[row[j]] for row in rows] for rows in (self._b, self._a))
            moved.append(h[j].plus(share * dot(sums, b) - scaled * dot(weighted, a)))
        inside = into_ball(dot([x.high for x in moved], [x.high for x in moved]))
        for j in range(self._dim):
            new = choose(live, moved[j].times(inside), h[j])
            step = (new.high - h[j].high) + (new.low - h[j].low)
            put(s, f"h{j}", new)
            steps = [where(has, step, 0.0) for has in joined]
            for f, row in enumerate(self._b):
                s[row[j]] = s[row[j]] - steps[self._joins[f]]
        self._move(s, [x * over for x in sums], over, live)

    def _strength(self, s: State, over_n: Number, live: Number) -> Number:
        """The effective dimension of the gradients' noise; 0 where there is none."""
        last = names("last", self._dim)
        cosine = dot(s["direction"], [s[name] for name in last])
        known = live & (s["seen"] > 1.5)
        align = s["align"] + larger(over_n, 0.01) * (cosine * cosine - s["align"])
        s["align"] = where(known, align, s["align"])
        for name, x in zip(last, s["direction"], strict=True):
            s[name] = where(live, x, s[name])
        most = smaller(larger(inverse(larger(s["align"], 1e-9)), 1.0), float(self._dim))
        return where(known, most, where(live, 1.0, 0.0))

    def _weigh(
        self,
        s: State,
        f: int,
        a: Sequence[Number],
        away: Sequence[Number],
        inverses: Sequence[Number],
        g: Sequence[Number],
        strength: Number,
    ) -> tuple[Number, Number]:
        """Multiply weights by likelihoods; returns their sum, also with each times σ_i/σ_0."""
        masses, spreads = [], []
        if self._dim > 1:
            ga, gd, aa, dd = dot(g, a), dot(g, away), dot(a, a), dot(away, away)
            ad = 2.0 * dot(a, away)
        for i, name in enumerate(self._beliefs[f]):
            if self._dim == 1:  # strength is 1, or 0 without a gradient
                e = smaller(larger(a[0] + away[0] * inverses[i], -strength), strength)
                v = e * (g[0] - 0.5 * e)
            else:
                square = aa + (ad + dd * inverses[i]) * inverses[i]
                cut = rsqrt(larger(square, 1.0))
                v = strength * cut * ((ga + gd * inverses[i]) - 0.5 * cut * square)
            v = 1.0 + 0.125 * smaller(larger(v, -6.0), 4.0)
            v = v * v
            v = v * v
            s[name] = s[name] * (v * v)
            masses.append(s[name])
            spreads.append(s[name] * RATIO**-i)
        return total(masses), total(spreads)

    def _pull(
        self, s: State, f: int, g: Sequence[Number], away: Sequence[Number], live: Number
    ) -> None:
        """Move a filter towards the gradient and the play."""
        rate, trend = where(live, float(RATES[f]), 0.0), self._trend_of.get(f)
        ahead = [x - s[name] for x, name in zip(g, self._a[f], strict=True)]
        for rows, velocities, gaps in ((self._a, self._va, ahead), (self._b, self._vb, away)):
            for j, gap in enumerate(gaps):
                name = rows[f][j]
                s[name] = s[name] + rate * gap
                if trend is not None:
                    velocity = velocities[trend][j]
                    s[velocity] = s[velocity] + 0.5 * float(RATES[f]) * rate * gap
                    s[name] = s[name] + where(live, s[velocity], 0.0)

    def _move(self, s: State, masses: Sequence[Number], over: Number, live: Number) -> None:
        """Normalise weights and, every eighth round with a gradient, let them pass on."""
        moves = live & (s["phase"] > EVERY - 1.5)
        s["phase"] = where(moves, 0.0, where(live, s["phase"] + 1.0, s["phase"]))
        s["mass"] = where(moves, 1.0, s["mass"])
        if self.levels > LIVED:
            rate = AGE * float(RATES[level_row(LIVED)])
            more = where(moves, rate * masses[level_row(LIVED)], 0.0)
            put(s, "jumps", pair(s, "jumps").plus(more))
        chance = (JUMPS + s["jumps"]) * inverse(ROUNDS + s["seen"])
        jump = where(moves, EVERY * smaller(chance, MOST), 0.0)
        law = self._law(s)
        # what passes on from the level, or the trend, of rate k: to the next slower one; both cross
        rests = 1.0 - jump
        level_ages = [self._rate(s, moves, rests, k, k + 1) for k in range(self.levels)]
        trend_ages = [self._rate(s, moves, rests, k, k + 3) for k in range(self._trends)]
        crosses = [self._rate(s, moves, rests, k, k + 2) for k in range(self._trends)]
        old = {name: s[name] for name in self.columns}
        for k in range(self.levels):
            cross = crosses[k] if k < self._trends else 0.0
            comes = [(level_row(k - 1), level_ages[k - 1])] if k else []
            comes += [(trend_row(k), cross)] if k < self._trends else []
            stay = rests - level_ages[k] - cross
            self._mix(s, old, level_row(k), stay, comes, masses, over, jump if k == 0 else 0.0)
            if k < self._trends:
                comes = [(trend_row(k - 1), trend_ages[k - 1])] if k else []
                comes += [(level_row(k), cross)]
                stay = rests - trend_ages[k] - cross
                self._mix(s, old, trend_row(k), stay, comes, masses, over, 0.0)
        for name, x in zip(self._beliefs[0], law, strict=True):
            s[name] = s[name] + jump * x

    def _joined(self, s: State, level: int) -> Number:
        return s["rounds"] + 1 >= int(level_due(level))

    def _rate(self, s: State, moves: Number, rests: Number, k: int, level: int) -> Number:
        """The share that a filter of rate k passes on, once this level has joined."""
        if level >= self.levels:
            return 0.0
        return where(moves & self._joined(s, level), AGE * float(RATES[level_row(k)]), 0.0) * rests

    def _law(self, s: State) -> list[Number]:
        """Weights of scales after a jump: geometric around those in use."""
        law = [total([s[row[i]] for row in self._beliefs]) for i in _SCALES]
        for i in reversed(_SCALES[:-1]):
            law[i] = law[i] + LARGER * law[i + 1]
        for i in _SCALES[1:]:
            law[i] = law[i] + SMALLER * law[i - 1]
        over = inverse(larger(total(law), _LEAST))
        return [x * over for x in law]

    def _mix(
        self,
        s: State,
        old: State,
        f: int,
        stay: Number,
        comes: Sequence[tuple[int, Number]],
        masses: Sequence[Number],
        over: Number,
        start: Number,
    ) -> None:
        """Make a filter the average, by weight, of what stays, comes in and starts anew."""
        parts = [(other, share * masses[other]) for other, share in comes]
        whole = inverse(total([mass for _, mass in parts] + [stay * masses[f] + start, _LEAST]))
        parts = [(other, mass * whole) for other, mass in parts]
        keeps, shares = stay * over, [(other, share * over) for other, share in comes]
        for i, name in enumerate(self._beliefs[f]):
            added = [share * old[self._beliefs[other][i]] for other, share in shares]
            s[name] = total([keeps * old[name], *added])
        for rows in (self._a, self._b):
            for j, name in enumerate(rows[f]):
                added = [share * (old[rows[other][j]] - old[name]) for other, share in parts]
                if f == 0:  # at h, with no gradients seen
                    added.append(-(start * whole) * old[name])
                s[name] = total([old[name], *added])
        if f not in self._trend_of:
            return
        for velocities in (self._va, self._vb):
            for j, name in enumerate(velocities[self._trend_of[f]]):
                s[name] = old[name]
                for other, share in parts:  # from the level at rest
                    k = self._trend_of.get(other)
                    gap = -old[name] if k is None else old[velocities[k][j]] - old[name]
                    s[name] = s[name] + share * gap

    def widen(self, s: State, factor: Number) -> None:
        """Go over to a larger D: factor is the old over the new; the finest scale may go."""
        for row in (*self._b, *self._vb):
            for name in row:
                s[name] = s[name] * factor
        span = s["span"] * factor
        short = span <= WIDEST / RATIO
        s["span"] = where(short, RATIO * span, span)
        for f, row in enumerate(self._beliefs):
            for i in reversed(_SCALES[1:]):
                s[row[i]] = where(short, s[row[i - 1]], s[row[i]])
            new = smaller(NEW_SCALE * inverse(s["mass"]), _MOST_NEW) if f == 0 else 0.0
            s[row[0]] = where(short, new, s[row[0]])

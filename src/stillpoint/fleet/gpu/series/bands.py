"""Intervals of forecasters on device fleets; see `series.light._bands` and `intervals._slow`.

One estimate for the next value, one for the second knot, of |errors| in units.
"""

import math

from stillpoint.fleet.gpu.series.machine import Machine, Whole, rest, times
from stillpoint.fleet.gpu.series.plan import ISSUED, Plan
from stillpoint.fleet.gpu.series.values import root, within
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
from stillpoint.intervals._experts import FEW, LEAST, MARGIN, MEAN, WINSOR
from stillpoint.intervals._guard import HEAD, MOST, PUSH, WIDTH
from stillpoint.intervals._slow import MEMORY, STEP, TURNS

NOTHING = -1.0  # said before there is anything to say


def settle(m: Machine, q: Plan, clock: Whole, u: Number, seen: Number) -> None:
    """Learn from the value of the open round, whose time is `clock` rounds after the first."""
    if q.far:
        origin = clock + (1 - q.far)
        due = (origin >= 0) & (rest(clock + (1 + q.far * (q.stride - 1)), q.stride) < 1)

        def late() -> None:
            _learn(m, q, 1, rest(times(origin, q.stride), q.slots), u, seen, q.slots - 1)

        m.when(due, late)
    _learn(m, q, 0, 0, u, seen, 1)


def issue(m: Machine, q: Plan, forecast: Number) -> None:
    """Issue the interval of the next value, around its forecast."""
    _issue(m, q, 0, 0, forecast)


def issue_far(m: Machine, q: Plan, clock: Whole, forecast: Number) -> None:
    """Issue the interval of the second knot."""
    _issue(m, q, 1, rest(times(clock, q.stride), q.slots), forecast)


def _issue(m: Machine, q: Plan, k: int, slot: Whole, forecast: Number) -> None:
    plain = _say(m, q, k)
    share = q.coverage * (1.0 - q.coverage) * WIDTH * WIDTH
    seen = m.get(f"seen:{k}")
    owed = m.get(f"misses:{k}") - (1.0 - q.coverage) * seen
    x = owed * rsqrt(share * (seen + HEAD))
    inside = within(x, -0.999999, 0.999999)
    push = within(PUSH * inside * inverse(1.0 - inside * inside), -MOST, MOST)
    radius = where(x > -1.0, plain * exp(push), 0.0)
    radius = where((x >= 1.0) | (plain < 0.0), math.inf, radius)
    for i, value in enumerate((plain, radius, forecast)):
        m.put(f"issued:{k}", value, slot * len(ISSUED) + i)
    m.put(f"now:{k}", radius)


def _say(m: Machine, q: Plan, k: int) -> Number:
    """What the estimate says now."""
    learnt, square = m.get(f"learnt:{k}"), m.get(f"square:{k}")
    rho = within(m.get(f"product:{k}") * inverse(larger(square, 1e-30)), 0.0, 1.0)
    squared = rho * rho
    n = larger(learnt * (1.0 - squared) * inverse(1.0 + squared), LEAST)
    n = where(square > 0.0, n, learnt)
    z = MEAN * math.exp(q.first)
    few = larger(n, LEAST)
    b = (8.0 * few + 3.0) * inverse(8.0 * few + 1.0)
    power = (b * z) * (b * z) * inverse(few)
    wider = where(n <= FEW, root(few * (exp(power) - 1.0)) * (1.0 / z), 1.0)
    factor = exp(m.get(f"multiple:{k}")) * (1.0 + m.get(f"multiple~:{k}"))
    return where(learnt < LEAST, NOTHING, factor * m.get(f"scale:{k}") * wider)


def _learn(m: Machine, q: Plan, k: int, slot: Whole, u: Number, seen: Number, turns: int) -> None:
    """Learn the target of what was issued in this slot."""
    said, radius, around = (m.get(f"issued:{k}", slot * len(ISSUED) + i) for i in range(3))
    e = u - around
    score, count = size(e), m.get(f"seen:{k}")
    m.put(f"seen:{k}", count + where(seen, 1.0, 0.0))
    missed = seen & (score > radius)
    m.put(f"misses:{k}", m.get(f"misses:{k}") + where(missed, 1.0, 0.0))
    # the first is that of a forecaster that may have seen nothing
    learns = seen & (count > 0.0)
    n, scale, number = m.get(f"learnt:{k}"), m.get(f"scale:{k}"), m.get(f"number:{k}")
    begins = (n < 1.0) | (scale <= 0.0)
    level, rare = q.coverage, min(q.coverage, 1.0 - q.coverage)
    step = larger(inverse(3.0 * (1.0 + (rare / turns) * n)), STEP) * (1.0 / turns)
    multiple = Pair(m.get(f"multiple:{k}"), m.get(f"multiple~:{k}"))
    moved = multiple.plus(step * where(said >= score, level - 1.0, level))
    moved = moved.within(q.first - MARGIN, MARGIN - math.log(rare))
    moved = choose(said >= 0.0, moved, multiple)
    high = q.first_high
    moved = choose(begins, Pair(high + 0.0 * score, q.first - high + 0.0 * score), moved)
    new = choose(learns, moved, multiple)
    m.put(f"multiple:{k}", new.high)
    m.put(f"multiple~:{k}", new.low)
    longer = (1.0 - 1.0 / max(MEMORY, TURNS * turns)) * number + 1.0
    over, unit = inverse(longer), inverse(larger(scale, 1e-30))
    before = m.get(f"before:{k}")
    now, then = within(e * unit, -WINSOR, WINSOR), within(before * unit, -WINSOR, WINSOR)
    square, product = m.get(f"square:{k}"), m.get(f"product:{k}")
    most = WINSOR * larger(said, scale)
    after = scale + (smaller(score, most) - scale) * over
    for name, old, first, later in (
        ("square", square, 1.0, square + (now * now - square) * over),
        ("product", product, 1.0, product + (now * then - product) * over),
        ("scale", scale, score, after),
        ("number", number, 1.0, longer),
    ):
        m.put(f"{name}:{k}", where(learns, where(begins, first, later), old))
    m.put(f"before:{k}", where(learns, e, before))
    m.put(f"learnt:{k}", n + where(learns, 1.0, 0.0))

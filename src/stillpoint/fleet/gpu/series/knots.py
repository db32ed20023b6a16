"""Aggregation of the experts on device fleets; see `series._knots`.

Weights are functions of regrets, squares and losses, and are computed where they are asked for.
Regrets and squares, which add up over all rounds, are pairs of floats.
"""

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

from stillpoint.fleet.gpu.series.machine import Machine, Whole
from stillpoint.fleet.gpu.series.plan import Plan
from stillpoint.fleet.gpu.series.regressions import Covariance
from stillpoint.fleet.gpu.series.values import root, within
from stillpoint.fleet.gpu.trace import (
    Number,
    Pair,
    dot,
    exp,
    inverse,
    larger,
    size,
    smaller,
    total,
    where,
)
from stillpoint.series._knots import (
    CAP,
    FADE,
    ISSUE,
    MEMORY,
    RATE,
    REACH,
    RECENT,
    SLACK,
    STEEP,
    WANDER,
    WARM,
    Rule,
)

_EARLY = 11.0  # squares in the mean before one is cut
ROUNDING = 3e-7  # of the range of values: errors below it are those of float32
# experts this near to the aggregate agree with it up to rounding: error deviations, and of itself
_AGREE, _SAME = 1e-6, 5e-7


class Weights(NamedTuple):
    """What is relied on at a knot."""

    poly: list[Number]
    blend: list[Number]
    two_poly: list[Number]
    two_blend: list[Number]
    theta: list[Number]
    sd: Number


def _weigh(m: Machine, kind: str, k: int, judged: Number) -> tuple[list[Number], list[Number]]:
    regrets, squares = m.row(f"{kind}regret.{k}"), m.row(f"{kind}squares.{k}")
    losses, record = m.row(f"{kind}loss.{k}"), m.get(f"{kind}record.{k}")
    w = [
        where(r > 0.0, r * inverse(larger(record + v, 1e-37)), 0.0)
        for r, v in zip(regrets, squares, strict=True)
    ]
    mass = total(w)
    over = inverse(larger(mass, 1e-37))
    poly = [where(mass > 0.0, x * over, 1.0 / len(w)) for x in w]
    least = reduce(smaller, losses)
    u = [exp(RATE * (least - x)) for x in losses]
    early = WARM * inverse(judged + WARM)
    share = early * inverse(total(u))
    return poly, [(1.0 - early) * x + share * y for x, y in zip(poly, u, strict=True)]


def weights(m: Machine, k: int) -> Weights:
    """Those of knot k now."""
    judged = m.get(f"judged.{k}")
    poly, blend = _weigh(m, "", k, judged)
    two_poly, two_blend = _weigh(m, "two", k, judged)
    sd = root(m.get(f"variance.{k}"))
    return Weights(poly, blend, two_poly, two_blend, m.row(f"stack.{k}"), sd)


def stacked(first: Number, p: Sequence[Number], theta: Sequence[Number], sd: Number) -> Number:
    """g, from f, the experts and θ."""
    steep, reach = STEEP * sd, REACH * sd
    more = dot(theta[:-1], [within(x - first, -steep, steep) for x in p]) + theta[-1] * sd
    return first + within(more, -reach, reach)


def combine(m: Machine, k: int, p: Sequence[Number]) -> list[Number]:
    """What knot k makes of the experts' forecasts; see `series._knots.Issue`."""
    w = weights(m, k)
    f = dot(w.blend, p)
    g = stacked(f, p, w.theta, w.sd)
    return [dot(w.poly, p), f, g, dot(w.two_poly, [f, g]), dot(w.two_blend, [f, g])]


def keep(m: Machine, k: int, slot: Whole, p: Sequence[Number], issued: Sequence[Number]) -> None:
    """Let them wait in a slot for the value."""
    for i, x in enumerate([*p, *issued]):
        m.put(f"waiting.{k}", x, slot * (len(p) + len(issued)) + i)


def _credit(
    m: Machine,
    kind: str,
    k: int,
    poly: Number,
    p: Sequence[Number],
    y: Number,
    scale: Number,
    sd: Number,
    learns: Number,
    rule: Rule,
) -> None:
    """Add regrets against pm, and losses, in units of the error variance 1/scale."""
    steep = 2.0 * (poly - y) * scale
    far = reduce(larger, [size(steep * (poly - x)) for x in p])
    share = where(far > rule.most, rule.most * inverse(larger(far, 1e-37)), 1.0)
    own, record = (poly - y) * (poly - y) * scale, m.get(f"{kind}record.{k}")
    least = _AGREE * sd + _SAME * size(poly)
    for i, x in enumerate(p):
        d = poly - x
        d = where(size(d) < least, 0.0, d)
        loss = (y - x) * (y - x) * scale
        r = steep * d * share
        less = larger(r - larger((loss - own) * share - rule.slack, 0.0), 0.0)
        r = where(learns, where(r > 0.0, less, r), 0.0)
        for name, more in (("regret", r), ("squares", r * r)):
            name = f"{kind}{name}"
            new = Pair(m.get(f"{name}.{k}", i), m.get(f"{name}~.{k}", i)).plus(more)
            m.put(f"{name}.{k}", new.high, i)
            m.put(f"{name}~.{k}", new.low, i)
        record = larger(record, r * r)
        old = m.get(f"{kind}loss.{k}", i)
        m.put(f"{kind}loss.{k}", where(learns, (1.0 - FADE) * old + loss, old), i)
    m.put(f"{kind}record.{k}", record)


def judge(m: Machine, q: Plan, k: int, slot: Whole, y: Number, seen: Number) -> None:
    """Knot k learns from the value of what stands in this slot."""
    width = q.experts + len(ISSUE)
    read = [m.get(f"waiting.{k}", slot * width + i) for i in range(width)]
    p, (poly, f, g, two_poly, final) = read[: q.experts], read[q.experts :]
    reach = m.get("high") - m.get("low")
    square = (y - final) * (y - final)
    old, variance = m.get(f"memory.{k}"), m.get(f"variance.{k}")
    memory = (1.0 - 1.0 / MEMORY) * old + 1.0
    cut = (memory >= _EARLY) & (variance > 0.0)
    counted = where(cut, smaller(square, CAP * variance), square)
    lately, settling = m.get(f"lately.{k}"), m.get(f"settling.{k}")
    after = variance + (counted - variance) * inverse(memory)
    soon = lately + (counted - lately) * inverse(smaller(memory, RECENT))
    after = where(settling > 0.0, smaller(after, SLACK * soon), after)
    m.put(f"memory.{k}", where(seen, memory, old))
    m.put(f"lately.{k}", where(seen, soon, lately))
    m.put(f"variance.{k}", where(seen, after, variance))
    m.put(f"settling.{k}", where(seen, larger(settling - 1.0, 0.0), settling))
    unit, least = larger(after, square * (1.0 / CAP)), ROUNDING * reach
    learns = seen & (unit > larger(least * least, 1e-36))
    over = inverse(larger(unit, 1e-36))
    _credit(m, "", k, poly, p, y, over, root(unit), learns, q.rule)
    _credit(m, "two", k, two_poly, [f, g], y, over, root(unit), learns, q.rule)
    _regress(m, q, k, y, f, p, root(after), learns)
    m.put(f"judged.{k}", m.get(f"judged.{k}") + where(learns, 1.0, 0.0))


def _regress(
    m: Machine, q: Plan, k: int, y: Number, f: Number, p: list[Number], sd: Number, learns: Number
) -> None:
    """θ learns y − f from p − f, in error deviations."""
    over = inverse(larger(sd, 1e-18))
    z = [within((x - f) * over, -STEEP, STEEP) for x in p]
    z.append(0.0 * f + 1.0)
    target = within((y - f) * over, -STEEP, STEEP)
    theta, C = m.row(f"stack.{k}"), Covariance(m, f"spread.{k}", q.experts + 1)
    g = C.times(z)
    share = where(learns, inverse(larger(dot(g, z), 0.0) + 1.0), 0.0)
    step = (target - dot(theta, z)) * share
    m.fill(f"stack.{k}", [x + y * step for x, y in zip(theta, g, strict=True)])
    C.absorb(g, share, None, where(learns, WANDER, 0.0))

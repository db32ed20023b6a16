"""A round of a small pool on device fleets: the value is taken in, the next round opened."""

from collections.abc import Sequence

from stillpoint.fleet.gpu.programs.base import LARGEST
from stillpoint.fleet.gpu.series import bands, filters, knots, regressions
from stillpoint.fleet.gpu.series.machine import (
    Index,
    Machine,
    Put,
    Whole,
    double,
    pick,
    rest,
    single,
    times,
)
from stillpoint.fleet.gpu.series.plan import CHUNK, Plan
from stillpoint.fleet.gpu.series.values import (
    FARTHEST,
    Limits,
    Ring,
    believed,
    extend,
    limits,
    log_of_one_more,
)
from stillpoint.fleet.gpu.trace import Number, inverse, larger, size, smaller, where
from stillpoint.series._knots import ISSUE, SETTLING


def opened(m: Machine, q: Plan) -> Number:
    """The forecast of the round that is open, in units, less the centre."""
    return m.get("waiting.0", q.experts + ISSUE.forecast)


def play(
    m: Machine, q: Plan, t: Whole, now: Whole, clock: Whole, y: Number, live: bool
) -> tuple[Number, Number]:
    """Close a round with a value, NaN if it is missing, and open the next.

    Parameters
    ----------
    m : Machine
        Where the streams are.
    q : Plan
        What they share.
    t, now, clock : int
        Row of the tables, and time of the round: for experts, and for intervals.
    y : Number
        The value.
    live : bool
        Whether intervals go along.

    Returns
    -------
    tuple of Number
        The forecast there was, and whether the value could be used.
    """
    centre, unit = double(m.get("centre")) + double(m.get("centre~")), m.get("unit")
    said = centre + double(unit * opened(m, q))
    u = single(double(y) - centre) * inverse(unit)
    seen = (size(u) <= FARTHEST) & (size(y) <= LARGEST)  # not so for NaN
    u = where(seen, u, 0.0)
    if live:
        bands.settle(m, q, clock, u, seen)
    ring = close(m, q, t, now, u, seen, y <= 0.0)
    open_(m, q, t, now, ring, clock if live else None)
    return said, seen


def close(m: Machine, q: Plan, t: Whole, now: Whole, u: Number, seen: Number, none: Number) -> Ring:
    """Take in the value of the open round.

    Parameters
    ----------
    m : Machine
        Where the streams are.
    q : Plan
        What they share.
    t, now : int
        Row of the tables, and time of the round.
    u : Number
        The value in units, less the centre; any number where it is missing.
    seen : Number
        Whether it is not.
    none : Number
        Whether it has no logarithm.

    Returns
    -------
    Ring
        Values, counted back from this round.
    """
    forecast, ring = opened(m, q), Ring(m, q, now)
    u = where(seen, u, forecast)
    # not from the first round: experts were started from its value
    m.when(now >= 1, lambda: knots.judge(m, q, 0, 0, u, seen))
    if q.far:
        origin = now + (1 - q.far)
        due = (origin >= 1) & (rest(now + (1 + q.far * (q.stride - 1)), q.stride) < 1)

        def late() -> None:
            knots.judge(m, q, 1, rest(times(origin, q.stride), q.slots), u, seen)

        m.when(due, late)
    take = believed(m, u, seen, forecast)
    ring.put_back(take.confirmed, take.ago, take.before)
    for k, _ in enumerate(q.knots):
        m.put(f"settling.{k}", where(take.jumped, SETTLING, m.get(f"settling.{k}")))
    ratio = m.get("ratio")
    ends = seen & none & (ratio > 0.0)
    ratio = where(ends, 0.0, ratio)
    m.put("ratio", ratio)
    logs = ratio > 0.0
    # a tenth of the lowest value, less the centre, in units
    floor = 0.1 * m.get("low") - 0.9 * inverse(larger(ratio, 1e-30))
    y = where(seen, take.y, forecast)
    value = where(logs, larger(y, floor), y)
    logarithm = where(logs, log_of_one_more(value * ratio), take.y)
    season = [m.get("season", 2 - i) for i in range(3)]
    for a, r in enumerate(q.regressions):

        def learn(a: int = a) -> None:
            regressions.learn(m, q, a, Ring(m, q, now), value, season, seen)

        m.when(now >= r.start, learn)
    filters.close(m, q, t, take.y, logarithm, seen, ends)
    m.put("season", season[1], 0)
    m.put("season", season[0], 1)
    m.put("season", m.get("part0"), 2)
    # the range keeps above the floor of logarithms, a value that was cut need not
    ring[0] = where(size(take.kept - take.y) > 0.0, take.kept, value)
    kept = where(logs, larger(take.kept, floor), take.kept)
    low, high = m.get("low"), m.get("high")
    m.put("low", where(seen, smaller(low, kept), low))
    m.put("high", where(seen, larger(high, kept), high))
    extend(m, q, now)
    return ring


def open_(m: Machine, q: Plan, t: Whole, now: Whole, ring: Ring, clock: Whole | None) -> None:
    """Open the round after the one that was closed: all experts forecast, the knots aggregate.

    Intervals are issued where their clock is given.
    """
    range_, ratio = limits(m), m.get("ratio")
    logs, over = ratio > 0.0, inverse(larger(ratio, 1e-30))
    last, coming = ring[0], now + 1
    p = [last]
    for period in q.lagged:
        p.append(pick(coming >= period, ring[period - 1], last))
    for f, _ in enumerate(q.filters):
        p.append(filters.forecast(m, q, f, 1, m.get(f"part{f}"), logs, over, range_))
    season = [m.get("season", 2 - i) for i in range(3)]
    for a, r in enumerate(q.regressions):
        v = regressions.forecast(m, q, a, lambda lag: ring[lag - 1], season, range_)
        p.append(pick(coming >= r.start, v, last))
    issued = knots.combine(m, 0, p)
    knots.keep(m, 0, 0, p, issued)
    if clock is not None:
        bands.issue(m, q, issued[ISSUE.forecast])
    if q.far:
        origin, around = rest(coming, q.stride) < 1, None
        if clock is not None:
            around = rest(clock + 1, q.stride) < 1

        def far() -> None:
            said = _far(m, q, t, coming, range_, last, logs, over)
            made = knots.combine(m, 1, said)
            slot = rest(times(coming, q.stride), q.slots)
            m.when(origin, lambda: knots.keep(m, 1, slot, said, made))
            if clock is not None:
                m.when(around, lambda: bands.issue_far(m, q, clock + 1, made[ISSUE.forecast]))

        m.when(origin if around is None else origin | around, far)


def _far(
    m: Machine,
    q: Plan,
    t: Whole,
    coming: Whole,
    range_: Limits,
    last: Number,
    logs: Number,
    over: Number,
) -> list[Number]:
    """What all experts forecast for the second knot."""
    h, p = q.far, [last]
    ring = Ring(m, q, coming + (h - 1))
    for period in q.lagged:
        back = (h + period - 1) // period * period
        p.append(pick(coming >= back - h + 1, ring[back], last))
    for f, part in enumerate(filters.ahead(m, q, t + h)):
        p.append(filters.forecast(m, q, f, h, part, logs, over, range_))
    if any(r.seasonal for r in q.regressions):
        m.walk(-(-h // CHUNK), lambda c: _seasons(m, q, t, c))
    for a, r in enumerate(q.regressions):
        regressions.path(m, q, a, coming, range_)
        said = m.get("ring", Ring(m, q, coming + (h - 1)).place(0))
        p.append(pick(coming >= r.start, said, last))
    return p


def _seasons(m: Machine, q: Plan, t: Whole, c: Whole) -> None:
    """Fill in the seasonal parts of some rounds ahead, from the first filter."""

    def fetch(j: Index) -> list[Number]:
        rows = [m.shared("rows", t + (c * CHUNK + (i + 1)), j) for i in range(CHUNK)]
        return [m.get("means0", j), *rows]

    def work(j: Index, read: Sequence[Number]) -> tuple[list[Put], list[Number]]:
        return [], [read[0] * row for row in read[1:]]

    for i, part in enumerate(m.each(q.columns, fetch, work, CHUNK)):
        m.put("season", part, c * CHUNK + (2 + i))

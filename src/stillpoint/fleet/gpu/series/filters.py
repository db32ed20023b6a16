"""Structural filters of device fleets; see `series._structural`.

Gains come turned into the frame of the calendar: with own = S/S'·error and w = x_s q_s/S'·error,
β += own·K(t) + w·k^{-3/2}B(t), one pass over β in which its product with the next row is summed.
"""

from collections.abc import Sequence
from typing import NamedTuple

from stillpoint.fleet.gpu.series.machine import Index, Machine, Put, Whole
from stillpoint.fleet.gpu.series.plan import FilterPlan, Plan
from stillpoint.fleet.gpu.series.values import Limits, exp_less_one
from stillpoint.fleet.gpu.trace import Number, inverse, larger, where
from stillpoint.series._structural import GAP


class Learning(NamedTuple):
    """What a filter learns in a round: how much of its gains, and of the drift in a gap."""

    own: Number
    gap: Number


def close(
    m: Machine, q: Plan, t: Whole, value: Number, logarithm: Number, seen: Number, ends: Number
) -> None:
    """All filters take in a value, or only time passes, and move on.

    Parameters
    ----------
    m : Machine
        Where they are.
    q : Plan
        Which they are.
    t : int
        The row of the tables.
    value, logarithm : Number
        In units, less the centre; of a stream without logarithms both are the value.
    seen : Number
        Whether it is not missing.
    ends : Number
        Whether logarithms end with it: their filters go on with the mean of the last plain one.
    """
    plain = _read(m, q, q.plain)  # before it learns
    learnt = []
    for f, kind in enumerate(q.filters):
        old = _read(m, q, f)
        if kind.log:
            old = Mean(*(where(ends, x, y) for x, y in zip(plain, old, strict=True)))
        learnt.append(_take(m, q, t, f, old, logarithm if kind.log else value, seen))
    parts = _turn(m, q, t, learnt, ends)
    for f, part in enumerate(parts):
        m.put(f"part{f}", part)


class Mean(NamedTuple):
    """What a filter knows, but for the coefficients of its seasons."""

    level: Number
    part: Number  # of the seasons, in this round
    slope: Number
    deviation: Number


def _read(m: Machine, q: Plan, f: int) -> Mean:
    kind, level = q.filters[f], m.get(f"level{f}")
    none = 0.0 * level
    slope = m.get(f"slope{f}") if kind.slope else none
    deviation = m.get(f"deviation{f}") if kind.deviation else none
    return Mean(level, m.get(f"part{f}"), slope, deviation)


def _take(
    m: Machine, q: Plan, t: Whole, f: int, old: Mean, target: Number, seen: Number
) -> Learning:
    kind, level = q.filters[f], old.level
    error = target - level - old.part
    if kind.deviation:
        error = error - old.deviation
    error = where(seen, error, 0.0)
    g_level, g_slope, g_deviation, S, g_first = (m.shared("steady", t, 5 * f + i) for i in range(5))
    x, y = m.get(f"gaps{f}", 0), m.get(f"gaps{f}", 1)
    wide = x + y > GAP
    over = inverse(larger(S + x * kind.level + y * (kind.seasons * q.smoothness), 1e-37))
    share = where(wide, S * over, 1.0)
    drift = where(wide, x * kind.level * over, 0.0)
    seasons = where(wide, y * kind.seasons * over, 0.0)
    narrow = where(wide, (1.0 - share * g_level - drift) * (1.0 - g_level), 1.0)
    m.put(f"gaps{f}", where(seen, x * narrow, x + 1.0), 0)
    if q.columns:
        narrow = where(wide, 1.0 - share * g_first - seasons, 1.0)
        y_after = y * narrow
    else:
        y_after = y
    m.put(f"gaps{f}", where(seen, y_after, y + 1.0), 1)
    own = share * error
    level = level + (g_level * own + drift * error)
    if kind.slope:
        slope = old.slope + g_slope * own
        level = level + slope
        m.put(f"slope{f}", kind.damping * slope)
    if kind.deviation:
        m.put(f"deviation{f}", kind.memory * (old.deviation + g_deviation * own))
    m.put(f"level{f}", level)
    return Learning(own, seasons * error)


def _turn(m: Machine, q: Plan, t: Whole, learnt: list[Learning], ends: Number) -> list[Number]:
    """Seasons learn; returns their parts in the next round."""
    n, last = q.columns, len(q.filters)

    def fetch(j: Index) -> list[Number]:
        return [
            *(m.get(f"means{f}", j) for f in range(last)),
            *(m.shared("gains", t, j + f * n) for f in range(last)),
            m.shared("wider", t, j),
            m.shared("rows", t + 1, j),
        ]

    def work(j: Index, read: Sequence[Number]) -> tuple[list[Put], list[Number]]:
        means, gains, (wider, coming) = read[:last], read[last : 2 * last], read[2 * last :]
        put: list[Put] = []
        terms = []
        for f, kind in enumerate(q.filters):
            mean = where(ends, means[q.plain], means[f]) if kind.log else means[f]
            mean = mean + (learnt[f].own * gains[f] + learnt[f].gap * wider)
            put.append((f"means{f}", j, mean))
            terms.append(mean * coming)
        return put, terms

    return m.each(n, fetch, work, last)


def ahead(m: Machine, q: Plan, row: Whole) -> list[Number]:
    """The seasonal parts of all filters at a row of the tables."""
    count = len(q.filters)

    def fetch(j: Index) -> list[Number]:
        return [*(m.get(f"means{f}", j) for f in range(count)), m.shared("rows", row, j)]

    def work(j: Index, read: Sequence[Number]) -> tuple[list[Put], list[Number]]:
        return [], [mean * read[-1] for mean in read[:-1]]

    return m.each(q.columns, fetch, work, count)


def forecast(
    m: Machine, q: Plan, f: int, h: int, part: Number, logs: Number, over: Number, range_: Limits
) -> Number:
    """What filter f forecasts for the h-th round from now on.

    Parameters
    ----------
    m, q
        As above.
    f, h : int
        Which filter, which horizon.
    part : Number
        Its seasonal part then.
    logs : Number
        Whether the stream has logarithms.
    over : Number
        The centre over the unit.
    range_ : Limits
        What it is kept in.
    """
    kind: FilterPlan = q.filters[f]
    v = m.get(f"level{f}") + part
    if kind.slope and h > 1:
        v = v + sum(kind.damping**i for i in range(h - 1)) * m.get(f"slope{f}")
    if kind.deviation:
        v = v + kind.memory ** (h - 1) * m.get(f"deviation{f}")
    if kind.log:
        v = where(logs, exp_less_one(v) * over, v)
    return range_.keep(v)

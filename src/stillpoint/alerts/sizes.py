"""How large a change is, and of what kind, once more is known; what shape a stream has.

Sizes are of the values before a change, since the one before it, and of those after, up to 50 rows
after the alarm; levels on an evident trend are those in the row of the change. Then a change of
level is one of slope, season or spread if these on its two sides differ by many deviations: a few
rows, which are enough for an alarm, cannot tell these apart. Deviations are those of least squares,
widened for the correlation ρ of neighbours by √((1 + ρ)/(1 − ρ)).
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.alerts import change
from stillpoint.alerts._bets import DOWN, MOVED, NARROWER, SLOPE_DOWN, SLOPE_UP, UP, WIDER
from stillpoint.alerts._reference import LAGS
from stillpoint.alerts._state import BY, FIRST, IN, KEPT, MOST, OF, State
from stillpoint.core.array import Array

REFRESH = 50  # rows after a change in which its size is measured further
EVIDENT, GONE = 5.0, 2.0  # deviations from 0 of a slope that is there, or no longer
SLOPED = 4.0  # deviations between slopes that are others
USUAL = 7.0, 12.0, 24.0, 48.0, 52.0, 60.0, 96.0, 144.0, 168.0, 288.0, 365.0  # periods
LEAST, MANY = 60, 2000  # values to tell a shape, and at most


class Fit(NamedTuple):
    """Level, slope and season of some values."""

    coefficients: Array  # (2 + columns,): level at their middle, slope a row, season
    covariance: Array  # of these
    deviation: float  # of what is left


def taken(s: State, since: int | None = None, whole: bool = False) -> Array:
    """Rows (row, value, seasonal) of the values that are kept, in order; the last so many.

    Less what the longer season adds, unless they are asked for as a whole.
    """
    values, kept = int(s.clock[BY.values]), s.history.shape[0]
    count = min(values, kept, values if since is None else since)
    part: Array = s.history[np.arange(values - count, values) % kept]
    if s.slow.size and not whole:
        waves = np.column_stack([s.slow[:, 0], np.ones(s.slow.shape[0])])
        beside = columns(waves, part[:, OF.row]) @ s.slow[:, 1:].ravel()
        part[:, OF.value] -= beside
        part[:, OF.seasonal] -= beside
    return part


def measure(s: State, finally_: bool) -> None:
    """Write the size of the last change into its record, as far as it is known, and its kind."""
    found = int(s.clock[BY.found])
    note = s.records[(found - 1) % KEPT]
    past = taken(s)
    past = past[past[:, OF.row] <= note[IN.row] + REFRESH]
    if found > 1:
        past = past[past[:, OF.row] >= s.records[(found - 2) % KEPT][IN.start]]
    later, levels = past[:, OF.row] >= note[IN.start], (UP, DOWN, WIDER, NARROWER)
    flat = _less_slope(_slope(s.waves, past[~later]), int(note[IN.start]), past)
    if finally_ and note[IN.kind] in levels:
        note[IN.kind] = _kind(s, int(note[IN.kind]), flat[~later], flat[later])
    if note[IN.kind] in levels:
        past = flat
    before, after = past[~later], past[later]
    season = _fit(s.waves, before).coefficients[2:]
    for place, part in ((IN.before, before), (IN.after, after)):
        note[place] = _size(s, int(note[IN.kind]), part, season)


def _slope(waves: Array, before: Array) -> float:
    """The slope of the values before a change, if it is evident; else 0."""
    unit = _unit(before)
    fit = _fit(waves, _in_units(unit, before))
    evident = abs(fit.coefficients[1]) > EVIDENT * np.sqrt(fit.covariance[1, 1])
    return unit * float(fit.coefficients[1]) if evident else 0.0


def _less_slope(slope: float, start: int, part: Array) -> Array:
    """The rows less a line that is 0 where a change began.

    Their level is the one there: means would be those of the middles of both sides.
    """
    level = part[:, OF.value] - slope * (part[:, OF.row] - start)
    return np.column_stack([part[:, OF.row], level, part[:, OF.seasonal]])


def _kind(s: State, kind: int, before: Array, after: Array) -> int:
    """The kind of a change, as those of its sides differ; as it was where too few can tell."""
    least = 2 * s.season.size + 10
    if min(before.shape[0], after.shape[0]) < least:
        return kind
    unit = max(_unit(before), _unit(after))
    before, after = _in_units(unit, before), _in_units(unit, after)
    one, other = _fit(s.waves, before), _fit(s.waves, after)
    gap, P = other.coefficients - one.coefficients, one.covariance + other.covariance
    if s.season.size and after.shape[0] * s.waves[0, 0] >= 1.0 and _moved(gap[2:], P[2:, 2:]):
        return MOVED
    sloped = kind in (UP, DOWN) and abs(gap[1]) > SLOPED * np.sqrt(P[1, 1])
    if sloped and _throughout(s, one.coefficients[1], after, gap[1]):
        return SLOPE_UP if gap[1] > 0.0 else SLOPE_DOWN
    if kind in (UP, DOWN) and abs(gap[0]) < GONE * np.sqrt(P[0, 0]):
        wider = math.log(max(other.deviation, 1e-300) / max(one.deviation, 1e-300))
        if abs(wider) > EVIDENT * math.sqrt(0.5 / before.shape[0] + 0.5 / after.shape[0]):
            return WIDER if wider > 0.0 else NARROWER
    return kind


def _throughout(s: State, before: float, after: Array, gap: float) -> bool:
    """Whether both halves of some values have the slope: a level that went back has it in one."""
    middle = after.shape[0] // 2
    fits = [_fit(s.waves[:0], half) for half in (after[:middle], after[middle:])]
    return all(
        (each.coefficients[1] - before) * np.sign(gap) > np.sqrt(each.covariance[1, 1])
        for each in fits
    )


def _moved(gap: Array, P: Array) -> bool:
    """Whether coefficients are far from 0 together, for their covariance."""
    return bool(gap @ np.linalg.solve(P, gap) > EVIDENT**2 + 2.0 * gap.size)


def _size(s: State, kind: int, part: Array, season: Array) -> float:
    if not part.shape[0]:
        return 0.0
    if kind == MOVED:
        period = 1.0 / s.waves[0, 0] if s.season.size else 1.0
        pattern = (
            columns(s.waves, np.arange(np.ceil(period))) @ _fit(s.waves, part).coefficients[2:]
        )
        return float(np.ptp(pattern)) / 2.0
    told = part[:, OF.seasonal]
    rows = part[:, OF.row]
    y = part[:, OF.value] - np.where(np.isnan(told), columns(s.waves, rows) @ season, told)
    if kind in (UP, DOWN):
        return float(y.mean())
    if kind in (WIDER, NARROWER):
        return float(y.std(ddof=1)) if y.size > 1 else 0.0
    t = rows - rows.mean()
    return float((t * (y - y.mean())).sum() / max((t * t).sum(), 1.0))


def columns(waves: Array, rows: Array) -> Array:
    """The columns of a season in these rows, as `fill` makes them."""
    turns = rows[:, None] * waves[:, 0]
    angles = 2.0 * np.pi * (turns - np.floor(turns))
    both = np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(rows.size, -1)
    return both[:, np.column_stack([waves[:, 1] >= 0.0, waves[:, 1] > 0.0]).ravel()]


def _unit(part: Array) -> float:
    """The largest size of the values; 1 if they are 0."""
    return float(np.abs(part[:, OF.value]).max(initial=0.0)) or 1.0


def _in_units(unit: float, part: Array) -> Array:
    """The rows with values in this unit: squares of tiny ones would be 0."""
    return np.column_stack([part[:, OF.row], part[:, OF.value] / unit, part[:, OF.value + 1 :]])


def _fit(waves: Array, part: Array) -> Fit:
    """Level, slope and season by least squares; zeros where there are too few values."""
    rows, y = part[:, OF.row], part[:, OF.value]
    size = 2 + int((waves >= 0.0)[:, 0].sum() + (waves > 0.0)[:, 1].sum())
    scale = float(np.abs(y).max()) if y.size else 0.0
    if rows.size <= size or scale == 0.0:
        return Fit(np.zeros(size), np.eye(size), 0.0)
    X = np.column_stack([np.ones(rows.size), rows - rows.mean(), columns(waves, rows)])
    theta, P, e = _least_squares(X, y / scale)
    ρ = min(max(float(e[1:] @ e[:-1]) / max(float(e @ e), 1e-300), 0.0), 0.99)
    variance = float(e @ e) / (rows.size - size)
    P *= variance * (1.0 + ρ) / (1.0 - ρ)
    return Fit(theta * scale, P * scale * scale, math.sqrt(variance) * scale)


def _least_squares(X: Array, y: Array) -> tuple[Array, Array, Array]:
    """Coefficients, their covariance in units of the noise's, and what is left."""
    P: Array = np.asarray(np.linalg.inv(X.T @ X + 1e-9 * np.eye(X.shape[1])), dtype=np.float64)
    theta = P @ (X.T @ y)
    return theta, P, y - X @ theta


def shape(s: State, waves: Array, trend: bool) -> tuple[bool, bool]:
    """Whether the values since the last change have this season, and a trend, beside their memory.

    A regression on the last three values, the season and time tells, by how many deviations its
    coefficients are from 0: a wandering stream has trends and waves for a while, but its last value
    tells them. Where too few values can tell, yes, and as it is now.
    """
    part = taken(s, min(int(s.clock[BY.since]), MANY))
    if part.shape[0] < LEAST or np.ptp(part[:, OF.value]) == 0.0:
        return True, trend
    theta, P, e = _with_memory(part, waves)
    P *= max(float(e @ e), 1e-300) / e.size
    first = 2 + LAGS
    season = theta.size == first or _moved(theta[first:], P[first:, first:])
    return season, bool(abs(theta[0]) > (GONE if trend else EVIDENT) * np.sqrt(P[0, 0]))


def seen_twice(longer: float) -> float:
    """How many values a longer season is learnt from at the least."""
    return 2.0 * longer + 8.0


def longer_season(part: Array, period: float, longer: float) -> Array:
    """A longer season as rows (row, value, …) have it, (waves, 3); none if it is not evident.

    Nor if the two halves of the rows, a cycle or more each, do not have it alike: a level that has
    moved in one of them is a sawtooth beside a straight line, which has waves of any length. Of
    their coefficients c and c' each has to have a quarter of the other along it:
    4⟨c, c'⟩ > max(‖c‖², ‖c'‖²).
    """
    slow = change.slow_waves(period, longer)
    if not slow.size:
        return change.NO_SLOW
    unit, waves = _unit(part), np.concatenate([change.waves(period), slow])
    part, middle = _in_units(unit, part), part.shape[0] // 2
    fit, one, other = (_fit(waves, each) for each in (part, part[:middle], part[middle:]))
    k = fit.coefficients.size - 2 * slow.shape[0]
    c, other_c = one.coefficients[k:], other.coefficients[k:]
    alike = 4.0 * float(c @ other_c) > max(float(c @ c), float(other_c @ other_c))
    if not alike or not _moved(fit.coefficients[k:], fit.covariance[k:, k:]):
        return change.NO_SLOW
    return np.column_stack([slow[:, 0], unit * fit.coefficients[k:].reshape(-1, 2)])


def nearest(s: State, period: float, now: float, count: int | None = None) -> float:
    """The period near a found one that fits best; a usual one, or that in use, if as good.

    As likely beforehand are e^3 others as a usual one. No other than that in use is told from less
    than four returns, among the last `count` values.
    """
    part = taken(s, min(MOST if count is None else count, MANY))
    if period == now or part.shape[0] < max(LEAST, 4.0 * period):
        return now
    if np.ptp(part[:, OF.value]) == 0.0:
        return now
    width = max(2, int(period) // 8)
    near = [float(m) for m in range(int(period) - width, int(period) + width + 1) if m > 2]
    rows, y, left = part[:, OF.row], part[:, OF.value], {}
    v = (y - y.mean()) / np.abs(y).max()
    t = rows - rows.mean()
    for m in {*near, *([now] if now else [])}:
        # without the last values: these tell a pure wave of any period
        X = np.column_stack([np.ones(t.size), t, columns(change.waves(m), rows)])
        e = _least_squares(X, v)[2]
        left[m] = e.size * math.log(max(float(e @ e), 1e-300)) / 2.0
        left[m] -= 3.0 * (m == now or m in USUAL)
    return min(left, key=lambda m: left[m])


def settled(s: State) -> int:
    """How many of the values since the last change are at the level at which they ended.

    All of them, unless a split into two levels is evident: a stretch that went back within a few
    rows of its alarm would be what the stream is compared with ever after.
    """
    part = taken(s, int(s.clock[BY.since]))
    y = part[:, OF.value] / _unit(part)
    n, best, at = y.size, 5.0, 0
    for k in range(5, n - FIRST + 1):
        e = np.append(y[:k] - y[:k].mean(), y[k:] - y[k:].mean())
        squares = float(e @ e)
        ρ = min(max(float(e[1:] @ e[:-1]) / max(squares, 1e-300), 0.0), 0.99)
        spread = squares / (n - 2) * (1.0 / k + 1.0 / (n - k)) * (1.0 + ρ) / (1.0 - ρ)
        gap = abs(float(y[k:].mean() - y[:k].mean())) / max(math.sqrt(spread), 1e-300)
        if gap > best:
            best, at = gap, k
    return n - at


def _with_memory(part: Array, waves: Array) -> tuple[Array, Array, Array]:
    """Regression of values on time, the last three and a season, in some unit."""
    rows, y = part[:, OF.row], part[:, OF.value]
    middle = float(np.median(y))
    v = (y - middle) / float(np.abs(y - middle).max())
    t = (rows - rows.mean()) / np.ptp(rows)
    lags = [v[LAGS - i : v.size - i] for i in range(1, LAGS + 1)]
    ones = np.ones(v.size - LAGS)
    X = np.column_stack([t[LAGS:], ones, *lags, columns(waves, rows[LAGS:])])
    return _least_squares(X, v[LAGS:])

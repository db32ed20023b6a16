"""The plan of a fleet, from a sample of its keys: slots of time, seasons, steps ahead."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.validation import Array
from stillpoint.fleet.series.rows import Rows
from stillpoint.series import seasons, weeks
from stillpoint.series.grid import Grid
from stillpoint.series.history import KEEP
from stillpoint.series.seasons import DAY
from stillpoint.series.slots import Slots
from stillpoint.series.spacing import LONGEST, steps_of, unit
from stillpoint.series.weeks import Week

KEYS = 200  # of the sample: those with most rows
_VALUES = 1 << 15  # of a key in which seasons are looked for
# how far gaps may be from whole multiples of the usual one, and how many must not be
_OFF, _OFTEN = 0.2, 0.9
_VOTES = 30  # gaps of one key that count: a key with many rows is one key
_SOME, _NAMED = 5, 3  # gaps of a key that tell its own; keys that a message names
_MONTHS = 12  # times of each key that tell days of months
_TURNS = 28  # seasons after which weeks and leap years repeat


class Plan(NamedTuple):
    """How the rows of all keys are read.

    Attributes
    ----------
    timed, dated : bool
        Whether rows have times, and whether these are dates.
    gap : float
        Between slots, in seconds or in the unit of the times.
    week : Week or None
        Phases of the week that have rows, if not all have.
    season : tuple of float
        Rounds of each season.
    horizon : int
        How many rounds ahead to forecast.
    source : str
        How the seasons are known.
    """

    timed: bool
    dated: bool
    gap: float
    week: Week | None
    season: tuple[float, ...]
    horizon: int
    source: str

    @property
    def period(self) -> int:
        """Rounds after which the seasonal naive forecast repeats a value; 0 where none is known."""
        first = round(self.season[0]) if self.season else 0
        return first if first <= LONGEST else 0

    @property
    def unit(self) -> float:
        """Between slots, as `clock` counts."""
        return self.gap if self.week is None else 1.0

    def clock(self, times: Array) -> Array:
        """Return times in which slots are one unit apart."""
        return times if self.week is None else self.week.count(times)[0].astype(np.float64)

    @property
    def recent(self) -> int:
        """How many times of a key are needed to tell the next."""
        return _MONTHS if self.dated and self.gap >= 27.0 * DAY else 1

    @property
    def turn(self) -> int:
        """Rounds after which all seasons are where they were, nearly."""
        longest = max(self.season, default=1.0)
        for turns in range(1, _TURNS + 1):
            rounds = round(turns * longest)
            if all(abs(rounds / m - round(rounds / m)) < 0.02 for m in self.season):
                return rounds
        return max(1, round(longest))

    def header(self) -> dict[str, Any]:
        """Return the plan as plain JSON."""
        week = None
        if self.week is not None:
            week = [self.week.origin, self.week.active.astype(int).tolist()]
        return {**self._asdict(), "week": week, "season": list(self.season)}


def restored(header: dict[str, Any]) -> Plan:
    """Return the plan that `header` gave; ValueError or KeyError for what is none."""
    week, told = header["week"], header["season"]
    if week is not None:
        week = weeks.restored({"origin": week[0], "active": np.array(week[1], np.int64)})
    plan = Plan(
        bool(header["timed"]),
        bool(header["dated"]),
        float(header["gap"]),
        week,
        seasons.told(told) if told else (),
        int(header["horizon"]),
        str(header["source"]),
    )
    if not (0.0 < plan.gap < math.inf and plan.horizon >= 1):
        raise ValueError(f"its header holds {header!r} as the plan of a fleet")
    return plan


def sample(rows: Rows) -> Rows:
    """Return the rows of the keys that have most of them; of as many, those first by name."""
    if len(rows.keys) <= KEYS:
        return rows
    chosen = np.sort(np.argsort(-rows.counts, kind="stable")[:KEYS])
    mask = np.zeros(len(rows.keys), bool)
    mask[chosen] = True
    own = np.repeat(mask, rows.counts)
    keys = [rows.keys[i] for i in chosen.tolist()]
    return Rows(keys, rows.counts[chosen], rows.times[own], rows.values[own])


def plan(
    rows: Rows,
    *,
    timed: bool,
    dated: bool,
    season: Sequence[float] | str | None = "auto",
    horizon: int | None = None,
) -> Plan:
    """Return the plan of a fleet of which these rows are the sample.

    timed, dated: as of Plan. season: "auto" to find it from dates or the sample. horizon: None for
    a season of the calendar.
    """
    from stillpoint.fleet.series.grid import clocks, spread

    told = None if season is None or isinstance(season, str) else seasons.told(season)
    gap, week = 1.0, None
    if timed:
        gap = _gap(rows, dated)
        if dated:
            week = weeks.learn(np.unique(rows.times), gap, told)
    horizon = horizon or steps_of(gap if dated else None)
    first = Plan(timed, dated, gap, week, (), horizon, "none were asked for")
    if season is None:
        return first
    if told is not None:
        return first._replace(season=told, source="as told")
    played = spread(rows, first, clocks(len(rows.keys), first.recent))
    counts = np.bincount(played.codes, minlength=len(rows.keys))
    series, start = [], 0
    for length, count in zip(played.lengths.tolist(), counts.tolist(), strict=True):
        own = slice(start, start + count)
        y = np.full(length, np.nan)
        y[played.places[own]] = played.values[own]
        series.append(y[-_VALUES:])
        start += count
    return _with_seasons(first, series)


def _gap(rows: Rows, dated: bool) -> float:
    """Return the usual gap between rows of one key, or of several where no key has two times.

    The median, unless most gaps are no multiples of it and are of the tenth part: keys that have a
    row only now and then. All gaps of a key together count as much as _VOTES at most.
    """
    codes = np.repeat(np.arange(len(rows.keys)), rows.counts)
    order = np.lexsort((rows.times, codes))
    gaps, same = np.diff(rows.times[order]), np.diff(codes[order]) == 0
    own = same & (gaps > 0.0)
    gaps, codes = gaps[own], codes[order][1:][own]
    if not gaps.size:
        gaps = np.diff(np.unique(rows.times))
        codes = np.arange(gaps.size)
    if not gaps.size:
        return DAY if dated else 1.0
    counts = np.bincount(codes)[codes]
    weights = np.minimum(counts, _VOTES) / counts
    order = np.argsort(gaps, kind="stable")
    shares = np.cumsum(weights[order]) / weights.sum()
    middle, low = (float(gaps[order[np.searchsorted(shares, q - 1e-9)]]) for q in (0.5, 0.1))
    for gap in (middle, low):
        parts = gaps / gap
        off = np.abs(parts - np.maximum(np.round(parts), 1.0))
        if float(np.average(off <= _OFF, weights=weights)) >= _OFTEN:
            if gap < middle:
                _refuse_mixed(rows.keys, gaps, codes, gap, dated)
            return gap
    return middle


def _refuse_mixed(
    keys: list[str], gaps: Array, codes: NDArray[np.int64], gap: float, dated: bool
) -> None:
    """Refuse rows of which few keys have this gap, and most a wider one, row after row.

    Keys that have a row only now and then are none of these: their gaps vary.
    """
    wide: list[tuple[str, float]] = []
    fine: list[tuple[str, float]] = []
    for code, own in enumerate(np.split(gaps, np.cumsum(np.bincount(codes))[:-1])):
        usual = float(np.median(own)) if own.size >= _SOME else 0.0
        if usual and float(np.mean(np.abs(own - usual) <= _OFF * usual)) >= _OFTEN:
            (wide if usual > (1.0 + _OFF) * gap else fine).append((keys[code], usual))
    if len(wide) <= len(fine) or not fine:
        return
    names = ", ".join(repr(name) for name, _ in fine[:_NAMED])
    more = f" and {len(fine) - _NAMED} others" if len(fine) > _NAMED else ""
    most = _gap_in_words(float(np.median([usual for _, usual in wide])), dated)
    raise ValueError(
        f"times must be as far apart for all keys: got {most} for most and"
        f" {_gap_in_words(gap, dated)} for {names}{more}; forecast these apart from the others"
    )


def _gap_in_words(gap: float, dated: bool) -> str:
    """Return how far apart times are, in words."""
    name = unit(gap) if dated else None
    return f"a{'n' if name == 'hour' else ''} {name}" if name else f"{gap:g}{' s' * dated}"


def _with_seasons(plan: Plan, series: list[Array]) -> Plan:
    """Return the plan with the seasons that most keys of a sample bear out."""
    grid, longest = Grid(0), max((y.size for y in series), default=0)
    grid.slots = Slots(plan.gap, plan.week)
    usual = grid.suggested(plan.dated)
    given = tuple(m for m in usual if seasons.due(m) <= min(longest, KEEP))
    found = [
        seasons.confirmed(given, seasons.filled(y), plan.week is None)
        for y in series
        if y.size >= seasons.LEAST
    ]
    first = _agreed([one[0] if one else 0.0 for one in found])
    if given and first in (None, given[0]):
        return plan._replace(season=given, source="from the spacing of dates")
    if not first:
        twice = [y for y in series if usual and not given and y.size >= 2.0 * usual[0]]
        clear = [y for y in twice if seasons.early(usual, seasons.filled(y))]
        if 2 * len(clear) > len(twice):
            return plan._replace(season=usual[:1], source="from the spacing of dates")
        return plan._replace(source="no season was found that most keys have")
    second = _agreed([one[1] if len(one) > 1 else 0.0 for one in found if one and one[0] == first])
    own = tuple(m for m in (first, second) if m)
    return plan._replace(season=own, source=f"found in {len(found)} keys")


def _agreed(values: list[float]) -> float | None:
    """Return the value that at least half have; None where there is none."""
    for value, votes in Counter(values).most_common(1):
        return value if 2 * votes >= len(values) else None
    return None

"""What a series is told from: its plan, rows with their slots, and what is told of them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillpoint.commands.arguments import periods
from stillpoint.commands.checkpoint import counted, part
from stillpoint.commands.moments import LONGEST, season_of, steps_of
from stillpoint.commands.options import MOST_AHEAD, TrackOptions
from stillpoint.core.validation import Array
from stillpoint.series.slots import FIRST


class Plan(NamedTuple):
    """What is told from the first rows: steps ahead, rows a season, whether times are dates."""

    horizon: int
    period: int
    dated: bool


def plan(options: TrackOptions, times: Array, dated: bool) -> Plan:
    """Return the plan of a series from the times of its first rows, which are NaN without times."""
    first = times[:FIRST]
    gap = float(np.median(np.diff(first))) if dated and first.size > 1 else None
    told = periods(options.season)
    season = season_of(gap) if isinstance(told, str) else round(told[0]) if told else 0
    return Plan(options.horizon or steps_of(gap), min(season, LONGEST), dated)


def saved_plan(header: dict[str, Any]) -> Plan | None:
    """Return the plan that a checkpoint's header holds, if it does; ValueError for another's."""
    if "series" not in header:
        return None
    values = part(part(header, "series", dict), "plan", list)
    if len(values) != 3 or not isinstance(values[2], bool) or values[0] == 0:
        raise ValueError(f"its header holds {values!r} as the plan of a series")
    counted("plan", values[0], MOST_AHEAD)
    counted("plan", values[1], LONGEST)
    return Plan(*values)


class Table(NamedTuple):
    """Rows: targets, features, times, slots, and whether all targets before were whole."""

    y: Array
    X: Array
    times: Array
    slots: NDArray[np.int64]
    whole: Array

    def part(self, start: int, stop: int | None = None) -> "Table":
        """Return some of the rows."""
        cut = slice(start, stop)
        return Table(self.y[cut], self.X[cut], self.times[cut], self.slots[cut], self.whole[cut])

    def then(self, other: "Table") -> "Table":
        """Return these rows and others after them."""
        pairs = zip(self, other, strict=True)
        return Table(*(np.concatenate(pair) for pair in pairs))


class Told(NamedTuple):
    """Forecasts and the ends of their intervals: (T, H), or (T,)."""

    forecast: Array
    lo: Array
    hi: Array

    def then(self, other: "Told") -> "Told":
        """Return these and others after them."""
        return Told(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))

    def row(self, i: int) -> "Told":
        """Return what is told in one round."""
        return Told(*(part[i] for part in self))

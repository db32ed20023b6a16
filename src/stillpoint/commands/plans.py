"""What a series is told from: its plan, rows with their slots, and what is told of them."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillpoint.commands.arguments import MOST_AHEAD, periods
from stillpoint.commands.checkpoint import part
from stillpoint.commands.encode import Encoder
from stillpoint.commands.errors import show_cell
from stillpoint.commands.moments import season_of
from stillpoint.commands.notes import CATEGORIES
from stillpoint.commands.options import TrackOptions
from stillpoint.core.validation import Array
from stillpoint.series.slots import FIRST
from stillpoint.series.spacing import LONGEST, steps_of
from stillpoint.series.weeks import learn

# features of a series, by itself and if that is asked for: regressions keep their square
_MOST_COLUMNS = 50, 500
# how many times tell whether they are even; how far off one may be, and how many must not be
_FEW, _OFF, _OFTEN = 64, 0.2, 0.9
_WORDS = 8  # room for words, at least
_DOUBLED = 0.05  # of rows, at most, that may have been written twice
_TIMES = 3  # that tell whether several series share them
_FULL = 0.6  # of the rows that as many series would have, where each had one at each time


class Plan(NamedTuple):
    """What is told from the first rows.

    Steps ahead, rows a season, whether times are dates, how far they are apart (0: not known), and
    columns of features: numbers, and room for the words of others.
    """

    horizon: int
    period: int
    dated: bool
    gap: float
    numbers: int = 0
    words: int = 0


def plan(options: TrackOptions, times: Array, dated: bool, numbers: int, words: int) -> Plan:
    """Return the plan of a series from its first rows; their times are NaN without any.

    words: how many the first rows have in other columns; as many again may join.
    """
    first = times[:FIRST]
    gap = float(np.median(np.diff(first))) if first.size > 1 and first[0] == first[0] else 0.0
    told, seconds = periods(options.season), gap if dated else 0.0
    if isinstance(told, str):
        season = season_of(seconds, learn(times, gap, None) if seconds else None)
    else:
        season = round(told[0]) if told else 0
    steps = options.horizon or steps_of(seconds)
    room = min(max(2 * words, _WORDS), CATEGORIES) if words else 0
    return Plan(steps, min(season, LONGEST), dated, gap, numbers, room)


class Shared(NamedTuple):
    """Rows with the time of the row before: how many, of how many, and the first such time."""

    rows: int
    of: int
    first: str


def why_no_series(
    options: TrackOptions, columns: int, times: Array, texts: Sequence[str] | None
) -> tuple[str, Shared | None]:
    """Say why rows with so many columns of features are no series; "" where they are one.

    Also rows that share a time, where but for them they would be one: few, or those of several
    series. texts: times as they are written.
    """
    places = np.flatnonzero(np.diff(times) == 0.0) + 1
    if not options.may_be_series or not places.size:
        return _other_reason(options, columns, times), None
    first = "" if texts is None else show_cell(str(texts[places[0]]))
    which = f", {first} the first" if first else ""
    why = f"rows share a time{which}; drop duplicates, or of several series take one, or"
    own, counts = np.unique(times, return_counts=True)
    few = places.size <= _DOUBLED * times.size
    series = _several(own, counts) or (few and not _other_reason(options, columns, own))
    shared = Shared(int(places.size), times.size, first) if series else None
    return f"{why} stillpoint fleet", shared


def _several(own: Array, counts: NDArray[np.int64]) -> bool:
    """Whether rows look like those of several series, each with a row at most of its times.

    own: the times there are, which come so many times each. Columns do not count: words that name
    the series may be many.
    """
    if own.size < _TIMES or np.median(counts) <= 1.0:
        return False
    often = bool(np.mean(counts > 1) >= _OFTEN)
    return (often or counts.mean() >= _FULL * counts.max()) and _even(own)


def _other_reason(options: TrackOptions, columns: int, times: Array) -> str:
    """Why rows are no series, of whose times none is shared."""
    if not options.may_be_series:
        return "it does not look ahead"
    forced, most = options.learner == "forecaster", _MOST_COLUMNS[options.learner == "forecaster"]
    if columns and options.time is None and not forced:
        return "there are other columns and no time; name --time, or leave them out: --features ''"
    if columns > most:
        return f"{columns} columns are more than {most}; choose some with --features"
    if columns and not forced and not _even(times):
        return "there are other columns, and times at no even distance; add --learner forecaster"
    return ""


def _even(times: Array) -> bool:
    """Whether the first times are about one distance apart, or several of it."""
    steps = np.diff(times[:_FEW])
    parts = steps / np.median(steps) if steps.size else steps
    off = np.abs(parts - np.maximum(np.round(parts), 1.0))
    return bool(np.mean(off <= _OFF) >= _OFTEN) if steps.size else True


def asked(options: TrackOptions) -> dict[str, Any]:
    """Return the options of a series, which must not change between a run and its continuation.

    None stands for what they are by themselves: checkpoints of before there were any go on.
    """
    o = options
    return {
        "--learner": None if o.learner == "auto" else o.learner,
        "--horizon": o.horizon,
        "--season": o.season,
        "--known": list(o.known) or None,
        "--nonnegative": o.nonnegative or None,
        "--date-format": o.date_format,
    }


def marks(encoder: Encoder, plan: Plan, known: Sequence[str]) -> NDArray[np.bool_]:
    """Return which columns of features are known ahead."""
    found, base = np.zeros(plan.numbers + plan.words, dtype=np.bool_), encoder.base
    found[: plan.numbers] = [encoder.features[i] in known for i in encoder.numeric]
    for (i, _), place in encoder.categories.items():
        if place - base < plan.words:
            found[plan.numbers + place - base] = encoder.features[i] in known
    return found


def word_notes(encoder: Encoder, plan: Plan) -> list[str]:
    """A note on words that came too late to have columns of their own."""
    if len(encoder.categories) <= plan.words:
        return []
    what = f"only {plan.words} categories are told apart in a series, twice those of its first rows"
    return [f"{what}; leave such columns out with --features, or add --learner regression"]


def saved_plan(header: dict[str, Any]) -> Plan | None:
    """Return the plan that a checkpoint's header holds, if it does; ValueError for another's."""
    if "series" not in header:
        return None
    values = part(part(header, "series", dict), "plan", list)
    kinds = [int, int, bool, float, int, int]
    if [*map(type, values)] != kinds or values[0] < 1:
        raise ValueError(f"its header holds {values!r} as the plan of a series")
    limits = (MOST_AHEAD, LONGEST, 1, math.inf, _MOST_COLUMNS[1], CATEGORIES)
    if any(not 0 <= value <= most for value, most in zip(values, limits, strict=True)):
        raise ValueError(f"its header holds {values!r} as the plan of a series")
    return Plan(*values)


def saved_shared(header: dict[str, Any]) -> Shared | None:
    """Return what a checkpoint's header says of rows that share a time, if it does."""
    if "shared" not in header:
        return None
    values = part(header, "shared", list)
    if [*map(type, values)] != [int, int, str]:
        raise ValueError(f"its header holds {values!r} of rows that share a time")
    return Shared(*values)


class Table(NamedTuple):
    """Rows: targets, features, times, and whether all targets before were whole."""

    y: Array
    X: Array
    times: Array
    whole: Array

    def part(self, start: int, stop: int | None = None) -> "Table":
        """Return some of the rows."""
        cut = slice(start, stop)
        return Table(self.y[cut], self.X[cut], self.times[cut], self.whole[cut])

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

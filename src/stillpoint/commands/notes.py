"""Notes: what a person should know of how columns were read, and of what covers less."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from stillpoint.commands.cells import is_date, meant_number, read_number
from stillpoint.commands.errors import brief, show_name
from stillpoint.core.validation import Array

CATEGORIES = 100  # that become features, over all columns: a filter's cost grows with their square
# categories that a column must have, of which at most so many are no numbers, to look like one of
# numbers
_MANY, _ODD = 10, 2
_NAMED = 5  # columns in one note
_FEW = 20  # targets
_SOME, _MOST = 100, 0.8  # rows, at least; share of the squared error that is worth a note
_FIRST, _LAST = 19000101, 21001231  # whole numbers that may be dates
_FLEET = "stillpoint fleet --key COLUMN"
_SEVERAL = f"or, for several series in one file, use {_FLEET}"
_SECONDS = 946_684_800.0, 4_102_444_800.0  # of the years 2000 to 2100


def column_notes(
    features: Sequence[str], categories: Mapping[tuple[int, str], int], full: bool, time: str | None
) -> list[str]:
    """Notes on columns that are hardly words, and on too many words. categories: (feature,
    category), as they came.
    """
    words: dict[int, list[str]] = {}
    for i, text in categories:
        words.setdefault(i, []).append(text)
    notes = []
    if full:
        most = sorted(words, key=lambda i: -len(words[i]))[:_NAMED]
        counts = ", ".join(f"{show_name(features[i])} {len(words[i])}" for i in most)
        what = "those that came later are not told apart; leave such columns out with --features"
        notes.append(f"more than {CATEGORIES} categories ({counts}): {what}")
    for i, texts in sorted(words.items()):
        name, spelled = features[i], next(filter(meant_number, texts), None)
        if spelled is not None:
            what = f"column {show_name(name)} was read as words: got {show_name(spelled)}"
            notes.append(f"{what}; write numbers as 1234.5 if they are numbers")
        elif len(texts) >= _MANY and sum(not _finite(text) for text in texts) <= _ODD:
            cause = f"because of its first cell: got {show_name(texts[0])}, and numbers after it"
            notes.append(
                f"column {show_name(name)} was read as words {cause}; leave missing cells empty"
            )
        elif all(map(is_date, texts[:2])):
            notes.append(f"column {show_name(name)} holds dates: {date_remedy(name, time)}")
    return notes


def band_notes(name: str, delay: int, ahead: int, promises: bool) -> list[str]:
    """Notes on what covers less than was asked. name: interval or quantile. ahead: rows after the
    last target. promises: whether they are made for targets as late as these.
    """
    notes = []
    late = delay if promises else 0
    if delay and not promises:
        notes.append(
            f"{name}s cover less than was asked: they are made for the next row, and targets come"
            f" {delay} rows later"
        )
    if ahead > 1 + late:
        made = f"targets {late} rows late" if late else "the row after a target"
        what = f"their {name}s are made for {made}, and cover less the further ahead a row is"
        notes.append(f"the last {ahead} rows lie ahead of the targets: {what}")
    return notes


def target_notes(targets: int, moved: bool) -> list[str]:
    """Notes on a run without targets, and on targets below 0 where forecasts end at 0."""
    notes = []
    if not targets:
        notes.append("no row has a target: nothing was learnt; check --target")
    if moved:
        what = "targets below 0 came, which no interval holds that ends at 0"
        notes.append(f"{what}; leave out --nonnegative")
    return notes


def sign_notes(
    columns: Mapping[str, Array], steps: list[dict[str, Any]], targets: int, kept: bool
) -> list[str]:
    """A note on intervals ahead that reach below 0 where no target was.

    columns: of the history. steps: of the forecast. targets: how many there were; intervals after a
    few reach everywhere. kept: whether they are kept at 0 or above.
    """
    ends = [step["lo"] for step in steps if step["lo"] is not None]
    below = any(math.isfinite(end) and end < 0.0 for end in ends)
    least = columns["y_min"][np.isfinite(columns["y_min"])]
    if kept or targets < _FEW or not below or not least.size or least.min() < 0.0:
        return []
    what = "intervals ahead reach below 0, where no target has been"
    return [f"{what}; add --nonnegative if none can be"]


def outlier_notes(columns: Mapping[str, Array], mean: float | None, loss: str) -> list[str]:
    """A note on a row, or few, that make up most of all squared error.

    columns: of the history. mean: of the losses.
    """
    ours = np.nan_to_num(columns["loss:stillpoint"])
    total = float(ours.sum())
    if loss != "squared error" or not mean or not math.isfinite(total):
        return []
    scored = total / mean
    # no more than one row in a hundred: where tails are heavy, as many are often most of it
    order = np.argsort(-ours, kind="stable")[: min(_NAMED, int(scored / _SOME + 1e-9))]
    evident = np.flatnonzero(np.cumsum(ours[order]) > _MOST * total)
    if not evident.size:
        return []
    at = np.sort(order[: evident[0] + 1])
    most, left = float(ours[at].sum()), scored - float(columns["targets"][at].sum())
    if left < 1.0:
        return []
    spans = [(int(columns["row"][i]), int(columns["rows"][i])) for i in at]
    *names, last = (f"{row} to {row + n - 1}" if n > 1 else f"{row}" for row, n in spans)
    listed = f"{', '.join(names)} and {last}" if names else last
    one = listed.isdigit()
    who = f"row {listed} makes" if one else f"rows {listed} make"
    what = f"{who} up {most / total:.1%} of the squared error (rows count from 1)"
    rest = max(total - most, 0.0) / left
    figures = f"the root mean is {math.sqrt(rest):.4g} and not {math.sqrt(mean):.4g}"
    remedy = "look at it, or leave its target" if one else "look at them, or leave their targets"
    return [f"{what}: without, {figures}; {remedy} empty"]


def ahead_notes(ahead: int, horizon: int) -> list[str]:
    """A note on rows further ahead of the last target than forecasts go. ahead: how many there are
    after it.
    """
    if ahead <= horizon:
        return []
    what = f"only {horizon} steps have intervals of their own, and those further ahead that of the"
    return [f"the last {ahead} rows lie ahead of the targets: {what} last; give --horizon {ahead}"]


def shared_notes(shared: tuple[int, int, str] | None) -> list[str]:
    """A note on rows that are no series because some share a time, few or as several series do.

    shared: how many have the time of the row before, of how many, and the first such time.
    """
    if shared is None:
        return []
    rows, of, first = shared
    have = "has" if rows == 1 else "have"
    who = f"{rows} of the first {of} rows {have} the time of the one before"
    what = "so this was taken for a regression, and nothing is forecast beyond the next row"
    several = f"if these are several series, each is forecast by {_FLEET}"
    remedy = several if 3 * rows >= of else "drop duplicates if it is a series"
    return [f"{who}, {first} the first: {what}; {remedy}"]


def unused_notes(names: Sequence[str]) -> list[str]:
    """A note on columns of a fleet of forecasters that are not used."""
    if not names:
        return []
    who = f"column {show_name(names[0])} is" if len(names) == 1 else f"columns {_listed(names)} are"
    what = "not used: each key is forecast from its own past values"
    remedy = "to forecast from columns, use stillpoint.Fleet(stillpoint.Forecaster, features=…)"
    return [f"{who} {what}; {remedy} in Python"]


def slot_notes(repeated: int, rows: int) -> list[str]:
    """A note on rows of a series that share a slot. repeated: rows that do not count for that."""
    if not repeated:
        return []
    who = f"{repeated:,} of {rows:,} rows share a slot of time with a later row, which counts alone"
    return [f"{who}; add up or average first what belongs together"]


def planned_notes(ahead: int, features: Sequence[str], known: Sequence[str]) -> list[str]:
    """A note on rows ahead of the targets whose columns are not said to be known.

    ahead: rows after the last target.
    """
    if ahead < 2 or known or not features:
        return []
    names = ",".join(features[:_NAMED])
    what = "beyond the next row a forecast uses no other columns unless they are named"
    return [f"the last {ahead} rows have no target: {what}; give --known {names} if they are known"]


def known_notes(known: Sequence[str], lacks: int, horizon: int) -> list[str]:
    """A note on steps ahead without the columns that are known ahead. lacks: how many."""
    if not lacks:
        return []
    what = f"{lacks} of the {horizon} steps ahead are without {_listed(known)}, which --known names"
    follows = "their forecasts and intervals are as if that were not known ahead"
    return [f"{what}: {follows}; add rows at the end that have it, and no target"]


def time_notes(name: str | None, kind: str, last: float) -> list[str]:
    """A note on times that are dates written as numbers: between months they would be 70 days
    apart, and seconds since 1970 go without a calendar. last: the latest.
    """
    if name is None or kind != "number":
        return []
    what = f"column {show_name(name)} was read as numbers: got {last:.0f}, which looks like"
    if _FIRST <= last <= _LAST and is_date(f"{last:.0f}"):
        text = f"{last:.0f}"
        return [f"{what} a date; write dates as {text[:4]}-{text[4:6]}-{text[6:]}"]
    for unit, scale in (("seconds", 1.0), ("milliseconds", 1e3)):
        if _SECONDS[0] <= last / scale <= _SECONDS[1]:
            date = datetime.fromtimestamp(last / scale, UTC).isoformat(timespec="seconds")[:-6]
            return [f"{what} {unit} since 1970; write dates, as {date}, for a calendar"]
    return []


def late_notes(delay: int) -> list[str]:
    """A note on a series whose targets are told late."""
    what = "with --delay a series is followed by its level alone, without seasons"
    step = f"step {delay + 1} of forecast.csv is made for it"
    return [f"{what}; leave it out, and {step}"] if delay else []


def date_remedy(name: str, time: str | None) -> str:
    """What to do about a column of dates. time: the column of times, if there is one."""
    leave = "leave it out with --features"
    return leave if time is not None else f"give --time {brief(name)}, or {leave}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(show_name, names[:_NAMED])) + (", …" if len(names) > _NAMED else "")


def _finite(text: str) -> bool:
    try:
        return math.isfinite(read_number(text))
    except ValueError:
        return False


def tied(features: bool) -> str:
    """What to do about rows of a series that share a time."""
    remedy = "add --learner regression" if features else "drop duplicates"
    return f"the same time as the row before, and a series has one row a time; {remedy}, {_SEVERAL}"


def unsorted(features: bool) -> str:
    """What to do about rows that go back in time."""
    remedy = f"sort the rows, {_SEVERAL}" if features else "sort the rows"
    return f"an earlier time than the row before; {remedy}"

"""Changes of a run in words, and where they are on its charts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from stillpoint.report.ahead import items, place_of
from stillpoint.report.axis import Axis
from stillpoint.report.words import count, figure, number, steps

# kinds in words, and whether what is measured grew; others are told by their names
VERBS: dict[str, tuple[str, bool | None]] = {
    "level up": ("level rose", True),
    "level down": ("level fell", False),
    "wider": ("spread grew", True),
    "narrower": ("spread shrank", False),
    "slope up": ("slope rose", True),
    "slope down": ("slope fell", False),
    "season": ("season changed", None),
}


def changes(given: Any, axis: Axis, unit: str | None) -> list[dict[str, Any]]:
    """All changes in the order of time: words, size, how late it was noticed, place on the axis.

    given: entries of row, start, time, at, kind, before, after, and words if there are any; at is
    the time as a number.
    """
    found: list[dict[str, Any]] = []
    for each in items(given):
        row = number(each.get("row"))
        start = number(each.get("start"))
        start = row if start is None else start
        if start is None:
            continue
        at = place(each, start, axis)
        found.append(
            {
                "row": start,
                "given": each,
                "at": max(at, 0),
                "words": _words(each, axis, at, start),
                "size": _size(each),
                "late": "" if row is None or row <= start else steps(row - start, unit),
            }
        )
    found.sort(key=lambda change: change["row"])
    return [{"number": i + 1, **change} for i, change in enumerate(found)]


def place(change: Mapping[str, Any], start: float, axis: Axis) -> int:
    """The change's index on the axis, by its time where it has one; -1 if it is before all."""
    at = place_of(change, axis.kind) if axis.kind in ("date", "number") else None
    along, where = (axis.row, start) if at is None else (axis.x, at)
    return int(np.searchsorted(along, where, side="right")) - 1


def _words(change: Mapping[str, Any], axis: Axis, at: int, start: float) -> str:
    """The summary's words with a capital, or words from its numbers."""
    given = str(change.get("words") or "").strip().rstrip(".")
    if not given:
        kind = str(change.get("kind") or "change")
        before, after = number(change.get("before")), number(change.get("after"))
        given = verb(kind)[0]
        if before is not None and after is not None and before != after and not _odd(change):
            if kind == "level":
                given = "level rose" if after > before else "level fell"
            given += f" from {figure(before)} to {figure(after)}"
        exact = place_of(change, axis.kind) if axis.kind == "date" else None
        if axis.kind == "date" and (at >= 0 or exact is not None):
            given += f" on {axis.stamp(at) if exact is None else axis.text(exact)}"
        else:
            given += f" in row {count(start)}"
    elif _odd(change):
        given = re.sub(r" from \S+ to \S+", "", given)
    return given[:1].upper() + given[1:]


def _odd(change: Mapping[str, Any]) -> bool:
    """Whether the numbers contradict the kind: means over a long time with a trend may do so."""
    before, after = number(change.get("before")), number(change.get("after"))
    grew = verb(str(change.get("kind")))[1]
    if grew is None or before is None or after is None:
        return False
    return (after > before) != grew


def _size(change: Mapping[str, Any]) -> str:
    """By how much: the difference of levels and slopes, or how many times the spread."""
    before, after = number(change.get("before")), number(change.get("after"))
    kind = str(change.get("kind"))
    told = kind == "level" or verb(kind)[1] is not None
    if before is None or after is None or not told or _odd(change):
        return ""
    if kind in ("wider", "narrower"):
        return f"{figure(after / before, 2)} times as wide" if before > 0.0 else ""
    text = figure(after - before)
    text = f"+{text}" if after > before else text
    share = 100.0 * (after / before - 1.0) if before > 0.0 and after > 0.0 else None
    if share is None or abs(share) < 1.0 or abs(share) > 900.0 or not kind.startswith("level"):
        return text
    return f"{text}, {'+' if share > 0.0 else '−'}{abs(round(share))}%"


def verb(kind: str) -> tuple[str, bool | None]:
    """What a kind of change is called, and whether what is measured grew; None if that depends."""
    return VERBS.get(kind, (kind, None))

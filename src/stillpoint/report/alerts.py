"""Alerts of a run: how many beside their bound, the last of them in words, and their places."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stillpoint.report.ahead import items, place_of
from stillpoint.report.axis import Axis
from stillpoint.report.changes import changes
from stillpoint.report.words import count, figure, near, number

SHOWN = 12  # of a kind, in words
KINDS = ANOMALY, CHANGE = "anomaly", "change"
_MANY = {ANOMALY: "unusual rows", CHANGE: "changes"}


class Alerts:
    """What was told on the way.

    Parameters
    ----------
    given : mapping
        rate, anomalies, bound, exceedances, every and changes as in summary.json; `last`, the last
        alarms as in alerts.jsonl, with their times as numbers in `at` and `start_at`; `strip`,
        entries of a row and how many alarms of each kind were there; `kept`, where all are to be
        found.
    axis : Axis
        The whole run.
    unit : str or None
        The spacing of its rows.
    """

    def __init__(self, given: Mapping[str, Any], axis: Axis, unit: str | None) -> None:
        told = {name: number(given.get(name)) or 0.0 for name in ("anomalies", "changes")}
        self.anomalies, self.changes = int(told["anomalies"]), int(told["changes"])
        self.rate, self.every = number(given.get("rate")), number(given.get("every"))
        self.exceedances = number(given.get("exceedances"))
        bound = number(given.get("bound"))
        self.most = None if bound is None else math.floor(bound)
        self.kept = str(given.get("kept") or "alerts.jsonl")
        last = items(given.get("last"))
        self._last = {kind: [each for each in last if each.get("alert") == kind] for kind in KINDS}
        strip: Any = given.get("strip")
        self._strip: list[Any] = strip if isinstance(strip, list) else []
        begun = [
            {**each, "time": each.get("start_time"), "at": each.get("start_at")}
            for each in self._last[CHANGE]
        ]
        self._moved = changes(begun, axis, unit)
        self.moved = self._moved[: -SHOWN - 1 : -1]  # the latest first
        found = [_unusual(each, axis) for each in self._last[ANOMALY]]
        self.unusual = found[: -SHOWN - 1 : -1]

    @property
    def more(self) -> dict[str, int]:
        """How many there are beyond those in words."""
        shown = {ANOMALY: len(self.unusual), CHANGE: len(self.moved)}
        return {ANOMALY: self.anomalies - shown[ANOMALY], CHANGE: self.changes - shown[CHANGE]}

    def marks(self, axis: Axis, recent: bool) -> list[dict[str, Any]]:
        """Alarms along an axis: "at", an index, "kind", and "text"; those of one place together.

        recent: whether it has the last rows only, one by one, where the last alarms are all.
        """
        words: dict[tuple[int, str], list[str]] = {}
        for kind, each, text in self._worded():
            words.setdefault((_place(each.get("row"), axis), kind), []).append(text)
        counts = {key: len(texts) for key, texts in words.items()} if recent else {}
        for place in () if recent else self._strip:
            if isinstance(place, list) and len(place) == 1 + len(KINDS):
                at = _place(place[0], axis)
                for kind, many in zip(KINDS, place[1:], strict=True):
                    counts[at, kind] = counts.get((at, kind), 0) + int(number(many) or 0)
        found = []
        for (at, kind), many in sorted(counts.items()):
            own = words.get((at, kind), [])
            single = own[0] if own else f"1 {_MANY[kind].removesuffix('s')}"
            text = single if many == 1 else f"{count(many)} {_MANY[kind]}"
            if at >= 0 and many:
                found.append({"at": at, "kind": kind, "text": text})
        return found

    def _worded(self) -> list[tuple[str, Mapping[str, Any], str]]:
        found = [(ANOMALY, each, _short(each)) for each in self._last[ANOMALY]]
        return found + [(CHANGE, each["given"], each["words"]) for each in self._moved]


def _place(row: Any, axis: Axis) -> int:
    """The index of a row on an axis; -1 if it is before all."""
    at = number(row)
    return -1 if at is None else int(np.searchsorted(axis.row, at, side="right")) - 1


def _short(each: Mapping[str, Any]) -> str:
    """A row that does not fit: what came, and what was expected."""
    value, expected = number(each.get("value")), number(each.get("expected"))
    if value is None or expected is None:
        return f"unusual: {figure(value)}"
    off = abs(value - expected) / 10.0 or None
    return f"{near(value, off)} instead of {near(expected, off)}"


def _unusual(each: Mapping[str, Any], axis: Axis) -> dict[str, str]:
    """The same with time, how unusual it is, and beside what."""
    row = f"row {count(each.get('row'))}"
    at = place_of(each, axis.kind) if axis.kind in ("date", "number") else None
    text = str(each.get("time") or "") if at is None else axis.text(at)
    when = (
        f"in {row}"
        if axis.kind == "row" or not text
        else f"{'on' if axis.kind == 'date' else 'at'} {text}"
    )
    p = number(each.get("p"))
    return {
        "words": f"{_short(each)[:1].upper()}{_short(each)[1:]} {when}",
        "row": "" if when == f"in {row}" else row,
        "rare": f"as unusual as 1 row in {figure(1.0 / p, 2)}" if p else "",
        "why": _why(each),
    }


def _why(each: Mapping[str, Any]) -> str:
    """Beside what a row is unusual: its forecast, or the long-run level, which rows have left."""
    own, level = number(each.get("p_forecast")), number(each.get("p_level"))
    if own is None or level is None:
        return ""
    side = "above" if (number(each.get("sign")) or 0.0) > 0.0 else "below"
    if own <= level:
        return f"{side} its forecast"
    return "the rows before it had left their long-run level"

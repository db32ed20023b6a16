"""What a summary says of the steps to come: checked, so that the page may lean on it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from stillpoint.report.words import FEW, figure, near, number, percent, steps

_OWN = ("step", "rows", "error", "coverage", "width")  # of a horizon; other keys are baselines
_BETTER = 0.98  # of a baseline's error: above, it does as well
_SHOWN, _LEAST = 5, 0.02  # what a forecast relies on: how many parts to name, how large at least
_CYCLES = {
    ("minute", 60): ("hour", "hourly"),
    ("hour", 24): ("day", "daily"),
    ("hour", 168): ("week", "weekly"),
    ("day", 7): ("week", "weekly"),
    ("day", 365): ("year", "yearly"),
    ("week", 52): ("year", "yearly"),
    ("month", 12): ("year", "yearly"),
    ("quarter", 4): ("year", "yearly"),
}


@dataclass(frozen=True)
class Step:
    """A forecast: so many steps ahead, at a place on the axis."""

    step: int
    x: float
    forecast: float
    lo: float
    hi: float


def items(value: Any) -> list[Mapping[str, Any]]:
    """The mappings of a list; nothing of what is no list."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def cycle(period: Any, unit: str | None) -> tuple[str, str]:
    """A season as words: how long ago it was ("a day"), and what repeats ("daily pattern")."""
    length = number(period) or 0.0
    known = _CYCLES.get((unit or "", int(length)))
    if known:
        return f"a {known[0]}" if known[0] != "hour" else "an hour", f"{known[1]} pattern"
    text = steps(length, unit) if length == round(length) else f"{length:g} {unit or 'row'}s"
    return text, f"pattern of {text}"


class Ahead:
    """Forecasts, horizons, components and what is relied on, from a summary.

    Parameters
    ----------
    summary : mapping
        As `write_page` lists it; what is missing or no number is left out.
    """

    def __init__(self, summary: Mapping[str, Any]) -> None:
        self.given = summary
        unit = summary.get("unit_of_time")
        self.unit = unit if isinstance(unit, str) and unit.isalpha() else None
        self.zone = number(summary.get("utc_offset")) or 0.0
        seasons = summary.get("seasons")
        found = [number(m) for m in seasons] if isinstance(seasons, list) else []
        self.seasons = [m for m in found if m and m > 1.0]
        self.entries = [
            each
            for each in items(summary.get("forecast"))
            if number(each.get("forecast")) is not None
        ]
        self.horizon = len(self.entries)

    def steps(self, kind: str, known: float, gap: float) -> list[Step]:
        """The forecasts, placed on an axis of this kind after its last known value."""
        given = [place_of(each, kind) for each in self.entries]
        at = [x for x in given if x is not None]
        if kind == "row" or len(at) < len(given) or not (np.diff([known, *at]) > 0.0).all():
            at = [known + gap * (i + 1) for i in range(len(given))]
        return [
            Step(i + 1, x, _float(e.get("forecast")), _float(e.get("lo")), _float(e.get("hi")))
            for i, (x, e) in enumerate(zip(at, self.entries, strict=True))
        ]

    @property
    def total(self) -> dict[str, float]:
        """The sum over the horizon and its interval; empty if there is none."""
        given = self.given.get("total")
        found = (
            {k: number(given.get(k)) for k in ("forecast", "lo", "hi")}
            if isinstance(given, Mapping)
            else {}
        )
        known = {name: value for name, value in found.items() if value is not None}
        return known if "forecast" in known and self.horizon > 1 else {}

    @property
    def horizons(self) -> list[dict[str, Any]]:
        """Error, baselines and the best of them, coverage and width at some steps ahead."""
        found = []
        for each in items(self.given.get("horizons")):
            step, error = number(each.get("step")), number(each.get("error"))
            if step is None or error is None:
                continue
            rivals = {str(k): number(v) for k, v in each.items() if k not in _OWN}
            known = {name: value for name, value in rivals.items() if value is not None}
            row: dict[str, Any] = {"step": step, "error": error, "rivals": known}
            row |= {name: number(each.get(name)) for name in ("coverage", "width", "rows")}
            row["best"] = min(known, key=known.__getitem__) if known else None
            found.append(row)
        return sorted(found, key=lambda row: row["step"])

    def baseline(self, name: str) -> str | None:
        """A baseline that depends on the season, in words."""
        if name != "seasonal naive":
            return None
        ago = cycle(self.seasons[0], self.unit)[0] if self.seasons else "a season"
        return f"repeating the value of {ago} ago"

    @property
    def reach(self) -> str:
        """How far ahead forecasts are good, in a sentence or two."""
        rows = self.horizons
        if len(rows) < 2:
            return ""
        return " ".join([*self._beaten_by_simple(rows), *self._growth(rows)])

    def _beaten_by_simple(self, rows: list[dict[str, Any]]) -> Iterator[str]:
        judged = [
            (row, row["error"] / row["rivals"][row["best"]])
            for row in rows
            if row["best"] and row["rivals"][row["best"]] > 0.0 and (row["rows"] or FEW) >= FEW
        ]
        if not judged:
            return
        better = [share < _BETTER for _, share in judged]
        ends = [f"{round(100 * (1 - share))}%" for share in (judged[0][1], judged[-1][1])]
        far = steps(judged[-1][0]["step"], self.unit)
        if all(better):
            yield (
                f"Better than the best simple forecast at every horizon: {ends[0]} less error for"
                f" the next {self.unit or 'row'}, {ends[1]} less {far} ahead."
            )
        elif not any(better):
            yield "No better than the best simple forecast at any horizon."
        elif better == sorted(better, reverse=True):
            at = better.index(False)
            until = steps(judged[at - 1][0]["step"], self.unit)
            yield (
                f"Better than the best simple forecast up to {until} ahead; from"
                f" {steps(judged[at][0]['step'], self.unit)} on,"
                f" {self.baseline(judged[at][0]['best']) or judged[at][0]['best']} does as well."
            )
        else:
            yield (
                f"Better than the best simple forecast at {sum(better)} of {len(better)} horizons."
            )

    def _growth(self, rows: list[dict[str, Any]]) -> Iterator[str]:
        first, last = rows[0], rows[-1]
        yield (
            f"The typical error is {figure(first['error'])} at {steps(first['step'], self.unit)}"
            f" and {figure(last['error'])} at {steps(last['step'], self.unit)} ahead."
        )
        shares = [row["coverage"] for row in rows if row["coverage"] is not None]
        if shares:
            low, high = percent(min(shares)), percent(max(shares))
            yield f"Intervals held {low if low == high else f'{low} to {high}'} of the values."

    @property
    def components(self) -> list[dict[str, Any]]:
        """Parts of the next forecast in words, where each begins and ends, and the sum."""
        given = self.given.get("components")
        pairs = given.items() if isinstance(given, Mapping) else ()
        parts = [(str(name), number(value)) for name, value in pairs]
        known = [(name, value) for name, value in parts if value is not None]
        if not known or len(known) < len(parts):
            return []
        ends = np.cumsum([value for _, value in known]).tolist()
        starts = [0.0, *ends[:-1]]
        spread = max(ends) - min(ends)
        # what is built on the first part, which is most of it, shows on a scale of its own
        low, high = (min(ends), max(ends)) if len(known) > 1 and spread > 0.0 else (0.0, max(ends))
        span = (high - low) * 1.12 or 1.0
        base = low - 0.06 * span

        def at(value: float) -> float:
            return round(min(max(100.0 * (value - base) / span, 0.0), 100.0), 2)

        rows = []
        for i, ((name, value), start, end) in enumerate(zip(known, starts, ends, strict=True)):
            left, right = (0.0, at(end)) if i == 0 else sorted((at(start), at(end)))
            text = near(value, spread / 4.0) if spread > 0.0 else figure(value)
            rows.append(
                {
                    "name": self._part(name),
                    "left": left,
                    "width": round(max(right - left, 0.4), 2),
                    "text": text if i == 0 or value <= 0.0 or text == "0" else f"+{text}",
                    "style": "base" if i == 0 else "up" if value >= 0.0 else "down",
                }
            )
        total = near(ends[-1], spread / 4.0) if spread > 0.0 else figure(ends[-1])
        rows.append(
            {
                "name": "the next forecast",
                "left": 0.0,
                "width": at(ends[-1]),
                "text": total,
                "style": "sum",
            }
        )
        return rows

    def _part(self, name: str) -> str:
        if name.startswith("season "):
            return cycle(name.removeprefix("season "), self.unit)[1]
        told = {"slope": "trend", "memory": "recent deviations", "features": "other columns"}
        return told.get(name, name)

    @property
    def relies(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """For the next and the last step: the largest parts by name and share, then the rest."""
        given = self.given.get("relies_on")
        lists = given if isinstance(given, Mapping) else {"next": given}
        heads = {
            "next": f"for the next {self.unit or 'row'}",
            "far": f"{steps(max(self.horizon, 2), self.unit)} ahead",
        }
        found = [(heads[key], shares(items(lists.get(key)))) for key in heads if lists.get(key)]
        same = len(found) == 2 and (found[0][1] == found[1][1] or self.horizon < 2)
        return [each for each in (found[:1] if same else found) if each[1]]


def shares(parts: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The largest parts, those of one name together, and how much the rest come to."""
    together: dict[str, float] = {}
    for part in parts:
        share = number(part.get("share"))
        if share is not None and share > 0.0:
            name = str(part.get("name"))
            together[name] = together.get(name, 0.0) + share
    order = sorted(together, key=together.__getitem__, reverse=True)
    shown = [name for name in order[:_SHOWN] if together[name] >= _LEAST]
    rest = sum(together[name] for name in order if name not in shown)
    rows = [{"name": name, "share": min(together[name], 1.0)} for name in shown]
    return rows + ([{"name": "everything else", "share": rest}] if rest >= 0.005 and shown else [])


def place_of(entry: Mapping[str, Any], kind: str) -> float | None:
    """Where on an axis of times an entry of the summary is; None if it does not say so."""
    at = number(entry.get("at"))
    if at is None and kind == "number":
        at = number(entry.get("time"))
    if at is None and kind == "date":
        try:
            found = datetime.fromisoformat(str(entry.get("time")))
        except ValueError:
            return None
        at = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    return at


def _float(value: Any) -> float:
    found = number(value)
    return math.nan if found is None else found

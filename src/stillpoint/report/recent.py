"""The first chart: the last rows as they came, and the forecast ahead with its fan."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.report.ahead import Ahead, Step
from stillpoint.report.axis import Axis, grain, places
from stillpoint.report.history import Columns, History
from stillpoint.report.words import percent

_NAMES = ("row", "time", "y", "forecast", "lo", "hi")
_FEW = 48  # rows before the forecast, at least


def last_rows(history: History, columns: Columns) -> tuple[Columns, float]:
    """The last rows of a run, and 1; where it keeps none, buckets and how many rows these hold."""
    kept: Any = getattr(history, "recent", None)
    given = kept() if callable(kept) else {}
    single = {k: np.array(given[k], dtype=float).ravel() for k in _NAMES if k in given}
    size = 1.0
    if "row" not in single or len({values.size for values in single.values()}) != 1:
        single = {k: columns[k] for k in _NAMES if k in columns}
        size = max(float(np.median(columns["rows"])), 1.0)
        if "y_mean" in columns:
            single["y"] = columns["y_mean"]
    found = {name: np.where(np.isfinite(v), v, np.nan) for name, v in single.items()}
    if "forecast" in found and found["row"].size and found["row"][0] == columns["row"][0]:
        found["forecast"][0] = np.nan  # made of nothing: it is not one to be drawn
    return found, size


def shown(horizon: int, seasons: list[float]) -> float:
    """How many rows to draw before a forecast of so many steps: the fan is to be seen."""
    wanted = min(2.0 * max(seasons, default=0.0), 7.0 * horizon)
    return max(wanted, 3.0 * horizon, _FEW)


class Recent:
    """The last rows and the steps ahead on an axis of their own.

    Attributes
    ----------
    axis : Axis
        Rows, then steps; curves y, forecast, lo, hi of rows and ahead, ahead_lo, ahead_hi of steps.
    steps, waiting : lists of Step
        The forecasts from the last known value on, and those of them that are of rows of the run.
    known : array
        The last values, without missing ones; none where single rows are not kept.
    last : float
        The place of the last row.
    whole : bool
        Whether these are all rows of the run.
    """

    def __init__(self, history: History, columns: Columns, ahead: Ahead) -> None:
        self._rows, size = last_rows(history, columns)
        dated = ahead.given.get("time_kind") == "date"
        kind, x = places(self._rows["row"], self._rows.get("time"), dated)
        gaps = np.diff(x[-200:])
        gap = float(np.median(gaps[gaps > 0.0])) / size if (gaps > 0.0).any() else 1.0
        y = self._rows.get("y", np.full(x.size, np.nan))
        seen = np.flatnonzero(np.isfinite(y))
        last = int(seen[-1]) + 1 if seen.size else 0  # rows after it wait for their targets
        known, after = (float(x[i - 1]) if i else 0.0 for i in (last, x.size))
        self.steps = ahead.steps(kind, known, gap)
        end = int((x < self.steps[0].x).sum()) if self.steps else x.size
        wanted = shown(ahead.horizon + end - last, ahead.seasons) / size
        start = max(0, end - math.ceil(wanted))
        self.known = y[seen] if size == 1.0 else np.zeros(0)
        self.waiting = self._waiting(x, last, end)
        self.last = after
        self.whole = start == 0 and self._rows["row"][0] == columns["row"][0]
        span = float(x[-1] - x[0]) if x.size else 0.0
        self.axis = Axis(
            kind,
            np.append(x[start:end], [s.x for s in self.steps]),
            np.append(
                self._rows["row"][start:end],
                self._rows["row"][end - 1 : end].sum() + np.arange(1.0, len(self.steps) + 1.0),
            ),
            np.ones(end - start + len(self.steps)),
            grain(ahead.unit, span, gap) if kind == "date" else "day",
            ahead.unit,
            ahead.zone,
        )
        self._fill(start, max(last, start), end)
        n = len(self.waiting)
        self.steps = self.waiting + [replace(s, step=s.step + n) for s in self.steps]

    def _waiting(self, x: Array, last: int, end: int) -> list[Step]:
        """The forecasts of rows at the end whose targets are not known."""
        ends = [self._rows.get(k, np.full(x.size, np.nan)) for k in ("forecast", "lo", "hi")]
        found = enumerate(zip(x[last:end], *(v[last:end] for v in ends), strict=True))
        return [Step(i + 1, *map(float, each)) for i, each in found if np.isfinite(each[1])]

    def _fill(self, start: int, last: int, end: int) -> None:
        """Curves of rows up to `last`, whose targets are known; from there on they are ahead."""
        after = len(self.steps)
        c = self.axis.columns
        for name in ("y", "forecast", "lo", "hi"):
            values = self._rows.get(name, np.full(end, np.nan))
            known = np.append(values[start:last], np.full(end - last + after, np.nan))
            c[name] = known
            if name != "y":
                waits = np.append(np.full(last - start, np.nan), values[last:end])
                c["ahead" if name == "forecast" else f"ahead_{name}"] = np.append(
                    waits, [getattr(s, name) for s in self.steps]
                )
        if 0 < last - start < self.axis.x.size:
            self.axis.marks.append({"at": last - start - 1, "text": "now"})

    def chart(self, target: str, aim: float | None) -> tuple[str, list[dict[str, Any]]]:
        """The name of the chart and its series, those that have values; the first is below all."""
        c = self.axis.columns
        series: list[dict[str, Any]] = []

        def add(name: str, style: str, fit: str, **more: Any) -> None:
            keys = [more[k] for k in ("column", "low", "high") if k in more]
            if np.isfinite(sum(c[key] for key in keys)).any():
                series.append({"name": name, "style": style, "fit": fit, **more})

        add("its interval", "past", "soft", low="lo", high="hi")
        add("one step ahead", "thin", "soft", column="forecast")
        inside = f"{percent(aim)} interval" if aim else "interval"
        add(inside, "fan", "room", low="ahead_lo", high="ahead_hi", bridge="y")
        add("forecast", "ours", "core", column="ahead", bridge="y", dots=True)
        add(target, "target", "core", column="y", dots=True)
        return "ahead", series

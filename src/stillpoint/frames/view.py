"""What charts of a run show: its last rows, what is ahead, and where it changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.frames.clock import Clock
from stillpoint.frames.memory import MemoryTrack

LEAST, MOST, TIMES = 60, 400, 5  # rows of the past, and horizons of it


@dataclass
class View:
    """The last rows and the steps ahead, at places x on one axis.

    kind: "date", where x is in seconds and `labels` are texts; else "number" or "row".
    """

    kind: str
    target: str
    x: Array
    y: Array
    forecast: Array
    lo: Array
    hi: Array
    ahead_x: Array
    ahead: Array  # (3, H): forecast, lo, hi
    marks: list[tuple[float, str]]  # changes: where, and in words
    zone: float  # seconds to add for the time of day that the data have
    unusual: Array  # (2, n): where rows were told not to fit, and their values
    changed: Array  # (n,): where changes were told

    def fan(self) -> tuple[Array, Array]:
        """Return the steps ahead, x (H,) and ends (3, H), from the last known value on."""
        known = np.flatnonzero(~np.isnan(self.y))
        if not known.size or not self.ahead_x.size:
            return self.ahead_x, self.ahead
        last = known[-1]
        ends = np.column_stack([np.full(3, self.y[last]), self.ahead])
        return np.append(self.x[last], self.ahead_x), ends

    def ends(self) -> tuple[float, float]:
        """Return the least and the largest value to be seen; wide intervals are cut."""
        own = np.concatenate([self.y, self.forecast[1:], self.ahead[0]])
        own = own[np.isfinite(own)]
        if not own.size:
            return 0.0, 1.0
        low, high = float(own.min()), float(own.max())
        room = (high - low) or abs(high) or 1.0
        edges = np.concatenate([self.lo, self.hi, self.ahead[1], self.ahead[2]])
        edges = edges[(edges > low - 0.6 * room) & (edges < high + 0.6 * room)]
        low, high = (
            min(low, float(edges.min(initial=low))),
            max(high, float(edges.max(initial=high))),
        )
        # at a level of 10^17 numbers are further apart than 1
        pad = max(0.04 * ((high - low) or 1.0), 1e-9 * max(abs(low), abs(high)))
        return low - pad, high + pad


def view(job: MemoryTrack, summary: dict[str, Any]) -> View:
    """Return what charts show of a finished run."""
    steps = summary.get("forecast", [])
    told, clock = job.numbers(), job.clock
    known = np.flatnonzero(~np.isnan(told["y"]))
    # rows without a target at the end are among the steps ahead
    stop = int(known[-1]) + 1 if known.size and steps else told["y"].size
    start = max(0, stop - min(MOST, max(LEAST, TIMES * len(steps))))
    timed = clock.kind != "row"
    x = told["time"] if timed else np.arange(told["y"].size, dtype=np.float64)
    last = clock.moments(job.times[-1:])[0] if job.times and clock.kind == "date" else None
    away = None if last is None else last.utcoffset()
    rows = {name: told[name][start:stop] for name in ("y", "forecast", "lo", "hi")}
    after = [step["time"] for step in steps]
    ahead_x = times(after, clock, stop)
    ends = [[np.nan if s[n] is None else s[n] for s in steps] for n in ("forecast", "lo", "hi")]
    places = [change_place(change, x, clock) for change in summary.get("changes", [])]
    marks = [
        (float(x[place]), change["words"])
        for place, change in zip(places, summary.get("changes", []), strict=True)
        if start <= place < stop
    ]
    shown = range(start, stop)
    unusual, changed = (_alarm_rows(job, kind, shown) for kind in ("anomaly", "change"))
    return View(
        clock.kind,
        job.options.target,
        x[start:stop],
        **rows,
        ahead_x=ahead_x,
        ahead=np.array(ends, dtype=np.float64).reshape(3, -1),
        marks=marks,
        zone=0.0 if away is None else away.total_seconds(),
        unusual=np.stack([x[unusual], told["y"][unusual]]),
        changed=x[changed],
    )


def _alarm_rows(job: MemoryTrack, alert: str, shown: range) -> list[int]:
    """Return rows of the alarms of a kind, counted from 0, of those that are shown."""
    rows = (each["row"] - 1 for each in job.told if each["alert"] == alert)
    return [row for row in rows if row in shown]


def times(texts: Sequence[str | None], clock: Clock, after: int) -> Array:
    """Return times in numbers, of rows from number `after` on where they have none."""
    known = [text for text in texts if text is not None]
    if clock.kind == "row" or len(known) < len(texts):
        return np.arange(after, after + len(texts), dtype=np.float64)
    return clock.numbers(known)


def change_place(change: dict[str, Any], x: Array, clock: Clock) -> int:
    """Return the row, counted from 0, in which a change began."""
    if change["time"] is None or clock.kind == "row":
        return min(int(change["start"]) - 1, x.size - 1)
    at = clock.numbers([change["time"]])[0]
    return min(int(np.searchsorted(x, at - 1e-6)), x.size - 1)

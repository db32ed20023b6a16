"""What runs along a chart: places in time, in rows or in steps ahead, and the curves over them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.report.history import Columns
from stillpoint.report.words import count, day, figure, percent, steps

# the years 1 to 9999, in Unix seconds
_FIRST_DATE, _LAST_DATE = -62_135_596_800.0, 253_402_300_799.0
_CLOCK = ("minute", "hour")
_DAY, _SHIFT = 86400.0, 7200.0  # seconds; a change of clocks is less
_HEADS = {"date": "date", "number": "time", "row": "row", "step": "ahead"}
_ALIKE = 1e-11  # values closer than that share of their size differ by rounding
_SAMPLES = 9  # rows of the table behind a long chart


@dataclass
class Axis:
    """Places along some charts, which zoom together.

    Attributes
    ----------
    kind : {"date", "number", "row", "step"}
        What places are: Unix seconds, times, numbers of rows, or steps ahead.
    x, row, rows : arrays
        The places, the first row at each and how many rows there are.
    grain : {"second", "clock", "day", "month", "year"}
        How finely dates are told.
    unit : str or None
        The spacing of rows ("hour"), where it has a name.
    zone : float
        Seconds to add to dates for the clock that the data have.
    columns : dict
        The curves, by the names that charts know them by.
    marks : list
        Places to point out: "at", an index, and "text".
    alarms : list
        Alarms below charts that have a strip: "at", "kind" and "text".
    """

    kind: str
    x: Array
    row: Array
    rows: Array
    grain: str = "day"
    unit: str | None = None
    zone: float = 0.0
    columns: Columns = field(default_factory=dict)
    marks: list[dict[str, Any]] = field(default_factory=list)
    alarms: list[dict[str, Any]] = field(default_factory=list)

    def stamp(self, place: int) -> str:
        """The place as text."""
        return self.text(float(self.x[place]))

    def text(self, x: float) -> str:
        """A position on the axis as text."""
        if self.kind == "date":
            return day(float(self._local(x)), self.grain)
        if self.kind == "step":
            return steps(x, self.unit)
        return count(x) if self.kind == "row" else figure(x, self._digits)

    @property
    def _digits(self) -> int:
        """Digits that tell places that are numbers apart."""
        gaps, most = np.diff(self.x), float(np.abs(self.x).max(initial=0.0))
        gap = float(np.median(gaps[gaps > 0.0])) if (gaps > 0.0).any() else 0.0
        if not gap or not most:
            return 4
        return min(max(4, 1 + math.floor(math.log10(most)) - math.floor(math.log10(gap))), 15)

    def _local(self, x: Any) -> Any:
        """Dates by the clock of the data; midnights also beyond a change of it."""
        at = x + self.zone
        if not self.zone or self.grain in ("second", "clock") or (self.x[-1] + self.zone) % _DAY:
            return at
        midnight = np.round(at / _DAY) * _DAY
        return np.where(np.abs(at - midnight) <= _SHIFT, midnight, at)

    def when(self, place: int) -> str:
        """A place in the run, in words."""
        row = f"row {count(self.row[place])}"
        if self.kind == "row":
            return row
        return f"{'time ' if self.kind == 'number' else ''}{self.stamp(place)} ({row})"

    def table(self, series: list[dict[str, Any]], form: str | None, turn: bool) -> dict[str, Any]:
        """Return the table behind a chart: its curves at some places.

        turn: one line a curve and one column a place, for charts of many curves.
        """
        lines = [s for s in series if "column" in s]
        picks = np.unique(np.linspace(0, len(self.x) - 1, _SAMPLES).round().astype(int))
        curves = [self.columns[s["column"]] for s in lines]
        digits = [max(3, 1 + _digits_of(curve)) for curve in curves]

        def show(i: int, curve: Array, most: int) -> str:
            return percent(curve[i]) if form == "percent" else figure(curve[i], most)

        rows = [
            [self.stamp(i), *(show(i, *each) for each in zip(curves, digits, strict=True))]
            for i in picks
        ]
        header = [_HEADS[self.kind], *(s["name"] for s in lines)]
        if turn:
            header, *rows = (list(cells) for cells in zip(header, *rows, strict=True))
        return {"header": header, "rows": rows}

    def drawing(self) -> dict[str, Any]:
        """What the script draws, in plain numbers."""
        return {
            "kind": self.kind,
            "grain": self.grain,
            "unit": self.unit,
            "digits": self._digits if self.kind == "number" else 5,
            "x": plain(self._local(self.x) if self.kind == "date" else self.x, 15),
            "row": plain(self.row, 15),
            "rows": plain(self.rows, 15),
            "columns": {
                name: plain(values, max(7, 3 + _digits_of(values)))
                for name, values in self.columns.items()
            },
            "marks": self.marks,
            "alarms": self.alarms,
        }


def places(row: Array, time: Array | None, dated: bool) -> tuple[str, Array]:
    """Kind and places of an axis: time where it is there and increases, else the row."""
    if (
        time is None
        or not time.size
        or (time == row).all()
        or not ((np.diff(time) >= 0.0).all() and time[-1] > time[0])
    ):
        return "row", row
    dates = dated and _FIRST_DATE <= time[0] and time[-1] < _LAST_DATE
    return ("date" if dates else "number"), time


def grain(unit: str | None, span: float, gap: float) -> str:
    """How finely to tell dates of rows so many seconds apart, over so many seconds."""
    if unit == "second" or (unit is None and gap < 60.0):
        return "second"
    if unit in _CLOCK or (unit is None and (span < 4 * 86400.0 or gap < 43200.0)):
        return "clock"
    return "month" if unit in ("month", "quarter") else "year" if unit == "year" else "day"


def _digits_of(values: Array) -> int:
    """Significant digits that nearly all values share, and the one after; 0 where all are alike."""
    finite = values[np.isfinite(values)]
    low, high = np.quantile(finite, [0.01, 0.99]).tolist() if finite.size else (0.0, 0.0)
    most, spread = max(abs(low), abs(high)), high - low
    if spread <= _ALIKE * most or not math.isfinite(spread):
        return 0
    return 1 + math.floor(math.log10(most)) - math.floor(math.log10(spread))


def plain(values: Array, digits: int) -> list[float | int | None]:
    """Numbers with that many significant digits, whole ones without a point; None for gaps."""
    rounded = (float(f"{v:.{digits}g}") if math.isfinite(v) else None for v in values.tolist())
    return [int(v) if v is not None and v.is_integer() and abs(v) < 1e15 else v for v in rounded]

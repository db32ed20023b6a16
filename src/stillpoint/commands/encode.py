"""From cells to numbers for `track`: features, one-hot categories, labels and times.

Nothing changes unless the whole batch is good.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import numpy as np

from stillpoint.commands.cells import (
    has_zone,
    is_date,
    missing,
    mixed_zones,
    read_column,
    read_flag,
    read_numbers,
    refusing,
)
from stillpoint.commands.dates import (
    NO_DAY,
    kind_and_form,
    moment,
    no_such_day,
    recognised,
    what_is_wrong,
)
from stillpoint.commands.dates import read as read_date
from stillpoint.commands.errors import RowError, show_cell, show_name
from stillpoint.commands.formats import Batch, Cells
from stillpoint.commands.labels import read_labels, write_cell
from stillpoint.commands.moments import SET_BACK, set_back
from stillpoint.commands.notes import (
    CATEGORIES,
    column_notes,
    date_remedy,
    tied,
    time_notes,
    unsorted,
)
from stillpoint.commands.options import TrackOptions
from stillpoint.core.validation import Array

_FEATURE_LIMIT, _TARGET_LIMIT = 1e100, 1e75  # of the cores
_NO_DATA = "leave out rows that are no data, such as totals"


@dataclass
class Rows:
    """A batch in numbers.

    X: (T, dim) for the dim of its end. y: NaN where missing; labels are 0 and 1. times: NaN without
    a time. pieces: (start, stop, dim) as features join on the way. texts: how to write times and
    targets to a file.
    """

    X: Array
    y: Array
    times: Array
    pieces: list[tuple[int, int, int]]
    time_texts: Sequence[str] | None
    y_texts: Sequence[str] | None


class Encoder:
    """Kinds of columns, categories and labels as they come; its `state` is plain JSON."""

    def __init__(self, options: TrackOptions, features: Sequence[str]) -> None:
        self.options, self.features = options, list(features)
        times = [] if options.time is None else [options.time]
        self.names = [options.target, *times, *features]
        self.kinds: list[str] | None = None  # of the features: "number" or "category"
        self.categories: dict[tuple[int, str], int] = {}  # (feature, category) to place
        self.labels: dict[str, int] = {}  # to class, by one word for all that mean the same
        self.spelled: dict[str, str] = {}  # … and that word as the input has it
        self.time_kind = "row" if options.time is None else ""
        self.date_form = options.date_format  # of times; None: ISO's
        self.date_open: str | None = None  # a date while others may tell another form
        # whether times are dates with a time zone; not known before the first
        self.zoned: bool | None = None
        self.last_time, self.full = -math.inf, False
        # the core of a bare series has no gap of 0
        self.ties = bool(self.features) or options.task in ("binary", "quantile")

    @property
    def numeric(self) -> list[int]:
        """Features that are numbers."""
        return [i for i, kind in enumerate(self.kinds or ()) if kind == "number"]

    @property
    def base(self) -> int:
        """How many columns of X are not categories: one of zeros where no feature is a number."""
        return max(len(self.numeric), 1)

    @property
    def dim(self) -> int:
        """Columns of X so far."""
        return self.base + len(self.categories)

    @property
    def feature_names(self) -> list[str]:
        """What the columns of X stand for."""
        plain = [self.features[i] for i in self.numeric] or ["(constant)"]
        return plain + [f"{self.features[i]}={text}" for i, text in self.categories]

    @property
    def label_names(self) -> dict[str, str]:
        """Labels as the input has them, by class."""
        return {
            str(label): self.spelled.get(text, text)
            for text, label in sorted(self.labels.items(), key=lambda one: one[1])
        }

    def notes(self) -> list[str]:
        """Return what a person should know of how the columns were read."""
        time = self.options.time
        own = column_notes(self.features, self.categories, self.full, time)
        return [*own, *time_notes(time, self.time_kind, self.last_time)]

    def encode(self, batch: Batch) -> Rows:
        """Return the batch in numbers; RowError names the first row found that cannot be."""
        T, columns = batch.rows, batch.columns
        features = columns[len(columns) - len(self.features) :]
        kinds = [_kind(column[0]) for column in features] if self.kinds is None else self.kinds
        labels, spelled = dict(self.labels), dict(self.spelled)
        if self.options.task == "binary":
            y = read_labels(columns[0], labels, spelled, self.options.target)
            names = [write_cell(cell) for cell in columns[0]]
            y_texts: Sequence[str] | None = [
                "" if math.isnan(v) else n for v, n in zip(y, names, strict=True)
            ]
        else:
            remedy = "leave it empty to forecast only, or add --task binary if it holds two labels"
            y, y_texts = read_numbers(columns[0], self.options.target, _TARGET_LIMIT, remedy), None
        times, texts, clock, zoned = np.full(T, np.nan), None, self.time_kind, self.zoned
        form, first = self.date_form, self.date_open
        if self.options.time is not None:
            if not clock:
                clock, form, first = kind_and_form(columns[1], self.options.time, form)
            elif first is not None:
                form, first = recognised([first, *columns[1]], self.options.time)
            if zoned is None and clock == "date" and form is None:
                zoned = has_zone(columns[1][0])
            times, texts = self._times(columns[1], clock, zoned, form)
        table, places, pieces, full = self._features(features, kinds, T)
        self.kinds, self.labels, self.spelled = kinds, labels, spelled
        self.time_kind, self.zoned, self.date_form, self.date_open = clock, zoned, form, first
        self.categories, self.full = places, full
        if T and texts is not None:
            self.last_time = float(times[-1])
        return Rows(table, y, times, pieces, texts, y_texts)

    def _features(
        self, columns: Sequence[Cells], kinds: list[str], T: int
    ) -> tuple[Array, dict[tuple[int, str], int], list[tuple[int, int, int]], bool]:
        plain = [i for i, kind in enumerate(kinds) if kind == "number"]
        places, base, full = dict(self.categories), max(len(plain), 1), self.full
        values = [self._numeric(columns[i], self.features[i]) for i in plain] or [np.zeros(T)]
        if len(plain) == len(kinds):
            return np.stack(values, axis=1), places, [(0, T, base)], full
        texts = [
            (i, [_category(cell) for cell in columns[i]])
            for i, kind in enumerate(kinds)
            if kind == "category"
        ]
        starts, dims = [0], [base + len(places)]
        for t in range(T):
            for i, column in texts:
                if column[t] and (i, column[t]) not in places:
                    if len(places) >= CATEGORIES:
                        full = True
                        continue
                    places[i, column[t]] = base + len(places)
                    if starts[-1] != t:
                        starts.append(t)
                        dims.append(0)
                    dims[-1] = base + len(places)
        table = np.zeros((T, base + len(places)))
        table[:, :base] = np.stack(values, axis=1)
        for i, column in texts:
            own = [place for (feature, _), place in places.items() if feature == i]
            for t, text in enumerate(column):
                if not text:
                    table[t, own] = np.nan
                elif (i, text) in places:
                    table[t, places[i, text]] = 1.0
        return table, places, list(zip(starts, [*starts[1:], T], dims, strict=True)), full

    def _numeric(self, cells: Cells, name: str) -> Array:
        hint = (
            "repair it, or leave the column out with --features; categories must begin in the"
            " first row"
        )
        dated = f"if it holds dates, {date_remedy(name, self.options.time)}"
        return read_numbers(cells, name, _FEATURE_LIMIT, hint, dated)

    def number(self, text: str) -> float:
        """Return a time that was read as a number: dates in seconds since 1970."""
        return read_date(text, self.date_form) if self.time_kind == "date" else float(text)

    def _times(
        self, cells: Cells, kind: str, zoned: bool | None, form: str | None
    ) -> tuple[Array, list[str]]:
        name = self.options.time or ""
        if kind == "date":
            what, remedy = what_is_wrong(name, form)

            def told(index: int, cell: Any) -> NoReturn:
                if zoned is not None and is_date(cell):
                    raise RowError(index, mixed_zones(name, cell, zoned)) from None
                below = index > 0 or self.last_time > -math.inf
                total = below and not any(map(str.isdigit, str(cell)))
                own = NO_DAY if no_such_day(cell, form) else remedy
                refusing(what, lambda _: _NO_DATA if total else own)(index, cell)

            times = read_column(cells, partial(read_date, form=form, zoned=zoned), told)
        else:
            times = read_numbers(cells, name, _FEATURE_LIMIT, "give every row its time")
        gone = np.isnan(times)
        if gone.any():
            at = int(np.argmax(gone))
            raise RowError(
                at,
                f"column {show_name(name)} must hold a time: got {show_cell(cells[at])}; give every"
                " row its time, or leave the row out",
            )
        steps = np.diff(np.concatenate([[self.last_time], times]))
        good = steps >= 0.0 if self.ties else steps > 0.0
        if not good.all():
            at = int(np.argmin(good))
            said = tied if steps[at] == 0.0 else unsorted
            what = said(bool(self.features))
            if kind == "date" and set_back(moment(cells[at], form)):
                what = f"{what}; {SET_BACK}"
            raise RowError(
                at, f"column {show_name(name)} must increase: got {show_cell(cells[at])}, {what}"
            )
        return times, [write_cell(cell) for cell in cells]

    def state(self) -> dict[str, Any]:
        """Return the state, for saving."""
        categories = [[i, text] for i, text in self.categories]
        last = None if math.isinf(self.last_time) else self.last_time
        return {
            "kinds": self.kinds,
            "categories": categories,
            "labels": self.labels,
            "spelled": self.spelled,
            "time_kind": self.time_kind,
            "zoned": self.zoned,
            "date_form": self.date_form,
            "date_open": self.date_open,
            "last_time": last,
            "full": self.full,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned."""
        self.kinds, self.labels = state["kinds"], dict(state["labels"])
        self.time_kind, self.date_form = state["time_kind"], state.get("date_form")
        # checkpoints of old have none
        self.spelled, self.zoned = dict(state.get("spelled", {})), state.get("zoned")
        self.date_open = state.get("date_open")
        self.last_time = -math.inf if state["last_time"] is None else float(state["last_time"])
        self.categories = {
            (int(i), text): self.base + k for k, (i, text) in enumerate(state["categories"])
        }
        self.full = bool(state["full"])


def _kind(cell: Any) -> str:
    try:
        if not missing(cell):
            read_flag(cell)
    except (TypeError, ValueError, OverflowError):
        return "category" if isinstance(cell, str) else "number"
    return "number"


def _category(cell: Any) -> str:
    return "" if missing(cell) else write_cell(cell).strip()

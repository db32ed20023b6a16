"""Cells to rows of many keys: keys as text, targets and times as numbers, and what is refused."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillpoint.commands import cells
from stillpoint.commands.checkpoint import counted, part
from stillpoint.commands.dates import kind_and_form, read, recognised
from stillpoint.commands.errors import InputError, RowError
from stillpoint.commands.fleet_options import FleetOptions
from stillpoint.commands.formats import Batch
from stillpoint.commands.moments import zone_like, zone_of
from stillpoint.commands.recents import changed
from stillpoint.core.validation import Array
from stillpoint.fleet.waves import numbered
from stillpoint.forecasters.aggregation import LARGEST
from stillpoint.series.seasons import DAY

_NO_TIME = "time must be given: got none; give every row its time"
_LARGE = f"target must be within ±{LARGEST:g}: got {{}}; rescale or repair it"


class Taken(NamedTuple):
    """Rows that can be used: keys, which of them each row has, times and targets."""

    keys: list[str]
    codes: NDArray[np.int64]
    times: Array
    values: Array


class Intake:
    """What is told from the first rows of how times are written, and counts of all rows."""

    def __init__(self, options: FleetOptions) -> None:
        self.options = options
        self.rows, self.reasons = 0, Counter[str]()
        self.first: dict[str, str] = {}  # what was got, and what to do, where a reason was first
        self.numbers = True  # whether all keys so far are whole numbers, not text
        # of times: "number" or "date", and one as it is: the first that has all that any has
        self.kind, self.like = "", ""
        self.form = options.date_format  # of dates; None: ISO's
        self.open: str | None = None  # a date while others may tell another form
        self.zoned: bool | None = None  # whether dates have a time zone
        self.zone: str | None = None  # its name, where the input tells it

    def read(self, batch: Batch) -> Taken:
        """Return the rows of a batch that can be used, in their order; count the others."""
        o, columns, why = self.options, list(batch.columns), cells.Reasons()
        given = cells.read_keys(columns.pop(0))
        values = cells.read_floats(columns.pop(0), o.target, why)
        for row in np.flatnonzero(np.abs(values) > LARGEST).tolist():
            why.setdefault(row, _LARGE.format(values[row]))
        times = np.full(batch.rows, np.nan)
        if o.time is not None:
            times = self._times(columns.pop(0), o.time, why)
        names, codes, bad = numbered(given)
        why.update(bad)
        self.numbers = self.numbers and _whole(names)
        self.rows += batch.rows
        for reason, _, rest in (reason.partition(": got ") for reason in why.values()):
            self.reasons[reason] += 1
            self.first.setdefault(reason, rest)
        keys = names.tolist() if isinstance(names, np.ndarray) else names
        keys = list(map(str, keys))
        if not why:
            return Taken(keys, codes, times, values)
        good = np.ones(batch.rows, bool)
        good[list(why)] = False
        left, again = np.unique(codes[good], return_inverse=True)
        return Taken([keys[i] for i in left.tolist()], again, times[good], values[good])

    def _times(self, given: Sequence[Any], name: str, why: cells.Reasons) -> Array:
        if not self.kind or self.open is not None:
            self._look([cell for cell in given if not cells.missing(cell)], name)
        own = cells.Reasons()
        if self.kind != "date":
            times = cells.read_times(given, name, self.kind, None, own)
        else:
            times = self._dates(given, name, own)
            if self.form is None:
                self._widen(given, times)
        for row in np.flatnonzero(~np.isfinite(times)).tolist():
            own.setdefault(row, _NO_TIME)
        for row, reason in own.items():
            why.setdefault(row, reason)
        return times

    def _look(self, given: Sequence[Any], name: str) -> None:
        """Tell from the first times there are how all are written."""
        if not given:
            return
        different = list({str(cell): cell for cell in given}.values())
        try:
            if self.open is not None:
                self.form, self.open = recognised([self.open, *different], name)
                return
            self.like = str(given[0]).strip()
            self.kind, self.form, self.open = kind_and_form(different, name, self.form)
        except RowError as error:
            raise InputError(error.what) from None
        if self.kind == "date" and self.form is None:
            self.zoned, self.zone = cells.first_zone(given), zone_of(given[0])
            if self.zoned and self.zone is None:
                self.zone = _zone(given)

    def _widen(self, given: Sequence[Any], times: Array) -> None:
        """Take the first time with a fraction of a second, or a clock, for how all are written.

        Python leaves fractions out where they are 0; times written without would lose theirs.
        """
        for unit, marks in ((DAY, "T :"), (1.0, ".,")):
            if {*marks} & {*self.like}:
                continue
            with np.errstate(invalid="ignore"):  # what is no time is infinite, or NaN
                beyond = np.isfinite(times) & (times % unit != 0.0)
            for row in np.flatnonzero(beyond).tolist():
                text = str(given[row]).strip()
                if {*marks} & {*text}:
                    self.like = text
                    break

    def _dates(self, given: Sequence[Any], name: str, why: cells.Reasons) -> Array:
        """Return dates in seconds; each is read once: many keys have the same."""
        if self.zone is not None and any(getattr(cell, "fold", 0) for cell in given):
            return self._read(given, name, why)  # an hour that comes twice is equal to itself
        index: dict[Any, int] = {}
        try:
            places = [index.setdefault(cell, len(index)) for cell in given]
        except TypeError:  # a list in JSON, say
            return self._read(given, name, why)
        own = cells.Reasons()
        found = self._read(list(index), name, own)
        for row, place in enumerate(places) if own else ():
            if place in own:
                why[row] = own[place]
        return found[np.array(places, np.int64)]

    def _read(self, given: Sequence[Any], name: str, why: cells.Reasons) -> Array:
        if self.form is None:
            return cells.read_times(given, name, "date", self.zoned, why)
        what = f"dates as {self.form}"
        return cells.read_floats(given, name, why, partial(read, form=self.form), what)

    def state(self) -> dict[str, Any]:
        """Return the state as plain JSON."""
        names = ("rows", "numbers", "kind", "like", "form", "open", "zoned", "zone")
        return {name: getattr(self, name) for name in names} | {"reasons": dict(self.reasons)}

    @staticmethod
    def check(state: dict[str, Any]) -> None:
        """Refuse what no run has saved."""
        counted("rows", state["rows"])
        for number in part(state, "reasons", dict).values():
            counted("reasons", number)
        for name in ("kind", "like"):
            part(state, name, str)
        part(state, "numbers", bool)
        texts = (state["form"], state.get("open"), state.get("zone"))
        known = all(isinstance(text, str | None) for text in texts)
        if not known or state["zoned"] not in (None, False, True):
            raise ValueError("its header holds dates in no known form")

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned."""
        for name in ("rows", "numbers", "kind", "like", "form", "zoned"):
            setattr(self, name, state[name])
        self.open, self.zone = state.get("open"), state.get("zone")  # runs of old have none
        self.reasons = Counter(state["reasons"])


def _whole(names: Any) -> bool:
    """Whether all keys are whole numbers of 64 bits; rows without a key do not count."""
    if isinstance(names, np.ndarray):
        return True
    return all(type(name) is int and -(1 << 63) <= name < 1 << 63 for name in names)


def _zone(given: Sequence[Any]) -> str | None:
    """Return a time zone whose clock shows these dates, where it was changed among them."""
    texts = {cell for cell in given if isinstance(cell, str) and cells.has_zone(cell)}
    return zone_like(changed(sorted(texts, key=lambda text: (cells.seconds(text), text))))

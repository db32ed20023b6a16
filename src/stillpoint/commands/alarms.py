"""Alerts of `track`: rows that do not fit and changes of the target, each told once, in its row."""

import copy
import json
import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.alerts import Anomalies, Anomaly, Change, Changes, anomaly, changes
from stillpoint.commands.arguments import periods
from stillpoint.commands.checkpoint import part
from stillpoint.commands.options import TrackOptions
from stillpoint.commands.sink import finite_or_null
from stillpoint.core.learner import not_finite_in
from stillpoint.core.validation import Array, counted, stored, under
from stillpoint.series.slots import shortened

RARER = 10.0  # of false alarms of changes so many times more rows are between
KEPT = 100  # alarms of a kind that are kept for the page
_TIMES = 5000  # rows whose times are kept: a change may have begun long before
_PLACES = 2000  # of the strip, at most
_PHASE = 840.0  # long breaks keep their phase in it: a multiple of most seasons
KINDS = ANOMALY, CHANGE = "anomaly", "change"
_LATER = ("kind", "before", "after")  # what is measured further in the rows after a change


class Alerts:
    """Anomalies beside the run's own forecasts, and changes of its targets.

    Rows count from 1, as in predictions.csv. The detectors have a place for each slot of a series,
    empty ones among them, so that seasons keep their phase. What is told does not depend on how
    rows are cut into batches.
    """

    def __init__(self, options: TrackOptions) -> None:
        assert options.alerts is not None
        self._rate, self._delay = options.alerts, options.delay
        season, every = options.season, round(RARER / self._rate)
        self.anomalies = Anomalies(self._rate, period=_period(season, anomaly.LONGEST))
        self.changes = Changes(every, period=_period(season, changes.LONGEST))
        self._first = 0  # the row of the first target; 0 before there is one
        self._texts: list[str] = []  # the last times
        # (place, row) of the first row and of rows after empty slots, as far back as times are kept
        self._after: list[tuple[int, int]] = [(0, 1)]
        told = self.changes.config["period"]
        self._phase = _PHASE if told in (None, 1) else float(told)
        self._last: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
        self._strip = Strip()

    def run(
        self,
        row: int,
        y: Array,
        forecasts: Array,
        texts: Sequence[str] | None,
        steps: NDArray[np.int64] | None = None,
    ) -> list[dict[str, Any]]:
        """Take in rows from number `row` on; return the alarms among them, in order.

        texts: their times, as the input has them. steps: how many slots each is after the row
        before, 1 or more; None: 1.
        """
        numbers, known = np.arange(row, row + y.size), np.flatnonzero(~np.isnan(y))
        if known.size and not self._first:
            self._first = row + int(known[0])
        # before a target was learnt a forecast is made of nothing
        made = (numbers > self._first + self._delay) & (self._first > 0) & np.isfinite(forecasts)
        self._texts += texts or ()
        places = self._places(row, y.size, steps)
        filled = np.full((2, int(places[-1]) + 1 if places.size else 0), np.nan)
        filled[:, places] = y, np.where(made, forecasts, np.nan)
        found: list[Anomaly | Change] = [
            *self.anomalies.track(*filled)[1],
            *self._changed(filled[0]),
        ]
        found.sort(key=lambda one: one.row)
        told = [self._tell(one, row + y.size - 1) for one in found]
        # not before these rows are told of: what is known of a row is as far back as its own
        del self._texts[:-_TIMES]
        del self._after[: self._oldest(row + y.size)]
        return told

    def _places(self, row: int, rows: int, steps: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Return the places of rows from number `row` on, from the next of the detectors."""
        if steps is None:
            return np.arange(rows)
        taken = shortened(steps, (self._phase,))
        places, start = np.cumsum(taken) - 1, self.changes.rounds
        for i in np.flatnonzero(taken > 1).tolist():
            self._after.append((start + int(places[i]), row + i))
        return np.asarray(places)

    def _oldest(self, told: int) -> int:
        """Return the index of the oldest of `_after` that is known in a row."""
        return max(bisect_right(self._after, told - _TIMES, key=itemgetter(1)) - 1, 0)

    def _row(self, place: int, told: int = 0) -> int:
        """Return the number of the row that fills a place of the detectors, or of the next.

        told: the row that tells of it, which knows no older places than are kept; 0: any row.
        """
        oldest = self._oldest(told)
        i = bisect_right(self._after, (place, math.inf), oldest)
        begun, first = self._after[max(i - 1, oldest)]
        row = max(first + place - begun, 1)
        return min(row, self._after[i][1]) if i < len(self._after) else row

    def _changed(self, y: Array) -> list[Change]:
        """Take in values; return the changes as they were known in the row that declared each."""
        twin, before = copy.copy(self.changes), self.changes.rounds
        rows = [change.row + 1 - before for change in twin.track(y)]
        if not rows:
            self.changes = twin
            return []
        # sizes are measured further in the rows after it: these must not be in the same call
        found: list[Change] = []
        for start, stop in zip([0, *rows], [*rows, y.size], strict=True):
            found += self.changes.track(y[start:stop])
        return found

    def _tell(self, one: Anomaly | Change, last: int) -> dict[str, Any]:
        """Return an alarm as it is written, and keep it. last: number of the last row."""
        kind, given = ANOMALY if isinstance(one, Anomaly) else CHANGE, one._asdict()
        row = self._row(one.row)
        told: dict[str, Any] = {"alert": kind, "row": row, "time": self._time(row, row, last)}
        if isinstance(one, Change):
            start = self._row(one.start, row)
            told |= {"start": start, "start_time": self._time(start, row, last)}
        told |= {
            name: finite_or_null(given[name]) for name in given if name not in ("row", "start")
        }
        self._last[kind] = [*self._last[kind], told][-KEPT:]
        self._strip.add(KINDS.index(kind), told["row"])
        return told

    def _time(self, row: int, told: int, last: int) -> str | None:
        """Return the time of a row, as far back as is kept from the row that tells of it."""
        back = last + 1 - row
        return self._texts[-back] if 0 < back <= len(self._texts) and told - row < _TIMES else None

    @staticmethod
    def lines(alarms: Sequence[dict[str, Any]]) -> bytes:
        """Return alarms as lines of JSON."""
        return "".join(json.dumps(alarm, allow_nan=False) + "\n" for alarm in alarms).encode()

    def figures(self) -> dict[str, Any]:
        """Return how many there were so far and beside what bound, for the summary."""
        return {
            "rate": self._rate,
            "anomalies": self.anomalies.alarms,
            "bound": self.anomalies.alarm_bound(),
            "exceedances": self.anomalies.exceedances,
            "p": finite_or_null(self.anomalies.p),
            "every": self.changes.config["every"],
            "changes": self._strip.total(KINDS.index(CHANGE)),
            "evidence": self.changes.evidence,
        }

    def shown(self, number: Callable[[str], float]) -> dict[str, Any]:
        """Return what the page draws beside that: the last alarms, and the places of all.

        number: returns a time as a number, which the page cannot tell from texts of all forms.
        """
        last = self.refined([*self._last[ANOMALY], *self._last[CHANGE]])
        for name, time in ("at", "time"), ("start_at", "start_time"):
            known = (one.get(time) for one in last)
            numbers = [None if text is None else number(text) for text in known]
            last = [one | {name: at} for one, at in zip(last, numbers, strict=True)]
        return {"last": last, "strip": self._strip.places()}

    def refined(self, alarms: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return alarms, the last changes with the kinds and sizes that are known by now."""
        told, records = list(alarms), self.changes.records
        places = [i for i, one in enumerate(told) if one["alert"] == CHANGE]
        for i, change in zip(reversed(places), reversed(records), strict=False):
            told[i] = told[i] | {name: finite_or_null(getattr(change, name)) for name in _LATER}
        return told

    # saving

    @property
    def _parts(self) -> dict[str, Any]:
        return {"anomalies.": self.anomalies, "changes.": self.changes, "strip.": self._strip}

    @property
    def _not_finite(self) -> frozenset[str]:
        """As `Configured._not_finite`."""
        return frozenset().union(*(not_finite_in(key, each) for key, each in self._parts.items()))

    def arrays(self) -> dict[str, Any]:
        """Return the state, for saving: arrays and numbers under names with a prefix."""
        parts = ((key, each.arrays()) for key, each in self._parts.items())
        state = {f"{key}{name}": value for key, all in parts for name, value in all.items()}
        return {**state, "first": self._first}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `arrays` returned."""
        counted("first", state["first"], 2**62)
        for key, each in self._parts.items():
            each.restore(under(state, key))
        self._first = int(state["first"])

    def state(self) -> dict[str, Any]:
        """Return times and alarms, for the header of a checkpoint."""
        return {"times": self._texts, "last": self._last, "after": self._after}

    @staticmethod
    def check(state: dict[str, Any]) -> None:
        """Refuse what no `state` returned; ValueError says what is wrong."""
        times, last = part(state, "times", list), part(state, "last", dict)
        if len(times) > _TIMES or not all(isinstance(text, str) for text in times):
            raise ValueError(f"its header holds {str(times)[:40]!r} as times of alerts")
        after = state.get("after", [])  # checkpoints of old have none
        pairs = type(after) is list and all(type(one) is list for one in after)
        if not pairs or not all(
            len(one) == 2 and all(type(each) is int and 0 <= each < 2**62 for each in one)
            for one in after
        ):
            raise ValueError(f"its header holds {str(after)[:40]!r} as places of alerts")
        for kind in KINDS:
            told = part(last, kind, list)
            good = all(type(each) is dict and type(each.get("row")) is int for each in told)
            if len(told) > KEPT or not good:
                raise ValueError(f"its header holds {str(told)[:40]!r} as alerts")

    def restore_state(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned, which `check` has seen."""
        self._texts = list(state["times"])
        self._last = {kind: list(state["last"][kind]) for kind in KINDS}
        self._after = [(place, row) for place, row in state.get("after", ())] or [(0, 1)]


class Strip:
    """How many alarms of each kind there were along a run of any length, in at most 2000 places.

    A place is one row at first; when there is no room, neighbours merge.
    """

    def __init__(self) -> None:
        self._counts = np.zeros((_PLACES, len(KINDS)), dtype=np.int64)
        self._rows = 1  # of a place

    def add(self, kind: int, row: int) -> None:
        """Note an alarm."""
        while (row - 1) // self._rows >= _PLACES:
            self._counts[: _PLACES // 2] = self._counts[0::2] + self._counts[1::2]
            self._counts[_PLACES // 2 :] = 0
            self._rows *= 2
        self._counts[(row - 1) // self._rows, kind] += 1

    def total(self, kind: int) -> int:
        """Return how many there were of a kind."""
        return int(self._counts[:, kind].sum())

    def places(self) -> list[list[int]]:
        """Return where some were: the first row of a place, and how many of each kind."""
        found = np.flatnonzero(self._counts.any(axis=1))
        return [[int(i) * self._rows + 1, *self._counts[i].tolist()] for i in found]

    def arrays(self) -> dict[str, Any]:
        """Return the state, for saving."""
        return {"counts": self._counts.copy(), "rows": self._rows}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `arrays` returned."""
        counted("rows", state["rows"] - 1, 2**62)
        counts = stored(state, "counts", *self._counts.shape, dtype=np.int64)
        if (counts < 0).any():
            raise ValueError("state 'counts' must be counts: got less than 0; save it again")
        self._counts[:], self._rows = counts, int(state["rows"])


def _period(season: str | None, longest: int) -> int | None:
    """The period of a detector where seasons are told: the first, in whole rows; None: found."""
    told = periods(season)
    if told is None or isinstance(told, str):
        return 1 if told is None else None
    return int(told[0]) if told[0].is_integer() and told[0] <= longest else None

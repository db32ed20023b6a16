"""alerts.jsonl of a fleet of forecasters: rows of all keys that do not fit, with one bound.

Parts are played one by one, in any order and in several threads, and tell which of their rows may
be alarms. When all are played, these are taken in the order of their times, those of one time in
the order of their keys' texts: one is an alarm if alarms before it are no more than
rate·T + 3√(rate(1 − rate)(T + 100)), with T the values of all keys up to that time, those of
earlier runs included. Neither parts nor threads can be told from what comes out, as long as a part
has no more than 4096 different times; beyond, T is too small by at most a 4096th of its values.
"""

import json
import math
from typing import Any, NamedTuple

import numpy as np

from stillpoint.alerts._anomalies import IN
from stillpoint.alerts.anomaly import bound
from stillpoint.commands.fleet_options import FleetOptions
from stillpoint.commands.forecasts.output import ALERTS
from stillpoint.commands.forecasts.times import Times
from stillpoint.commands.sink import check as check_file
from stillpoint.commands.sink import end_of, finite_or_null
from stillpoint.core.container import replace
from stillpoint.core.validation import Array
from stillpoint.fleet.batch._alerts import admit
from stillpoint.fleet.series.grid import Rounds
from stillpoint.fleet.series.parts import Part

_TIMES = 4096  # of a part, at which its values are counted
_TOLD = ("value", "expected", "lo", "hi", "p", "p_forecast", "p_level")  # as in `IN`, from its 1


class Alerted(NamedTuple):
    """What earlier runs have come to."""

    values: int = 0
    alarms: int = 0
    length: int = 0  # bytes of alerts.jsonl
    end: str | None = None  # what tells the last of them; None in checkpoints of old


def candidates(part: Part, rounds: Rounds, times: Times) -> dict[str, Any]:
    """Return what of a part's rows may be alarms, and when its values were, as plain JSON."""
    assert part.watch is not None
    rows, notes = part.watch.found()
    texts = times.texts(rounds.times[rows])
    told = []
    for row, note, text in zip(rows.tolist(), notes.tolist(), texts, strict=True):
        record = dict(zip(_TOLD, map(finite_or_null, note[IN.value : IN.sign]), strict=True))
        key, when = part.keys[rounds.codes[row]], float(rounds.times[row])
        own = {"row": int(note[IN.row]) + 1, "time": text, **record, "sign": int(note[IN.sign])}
        told.append([when, key, own])
    ends, counts = _counted(rounds.times)
    return {"may": told, "ends": ends.tolist(), "counts": counts.tolist()}


def write(
    options: FleetOptions, results: list[dict[str, Any]], before: Alerted, numbers: bool
) -> Alerted:
    """Write the alarms of a run, if asked for, after those of earlier ones; return what all are.

    results: of parts, with their `candidates`. numbers: whether keys are whole numbers.
    """
    path, rate = options.out / ALERTS, options.alerts
    if rate is None:
        return before
    check_file(path, before.length, before.end)
    parts = [result["alerts"] for result in results]
    may = sorted((one for part in parts for one in part["may"]), key=lambda one: (one[0], one[1]))
    when, values = np.array([one[0] for one in may]), np.full(len(may), before.values)
    total = before.values
    for part in parts:
        values += _up_to(when, np.array(part["ends"]), np.array(part["counts"], np.int64))
        total += sum(part["counts"])
    told = np.zeros(len(may), bool)
    alarms = before.alarms + int(admit(rate, values, before.alarms, told))
    lines = []
    for (_, key, own), alarm in zip(may, told.tolist(), strict=True):
        if alarm:
            named = {"alert": "anomaly", "key": int(key) if numbers else key, **own}
            lines.append(json.dumps(named, allow_nan=False) + "\n")
    new = "".join(lines).encode()
    kept = path.read_bytes()[: before.length] if before.length else b""
    replace(path, kept, new)
    length = len(kept) + len(new)
    return Alerted(total, alarms, length, end_of(path, length))


def figures(options: FleetOptions, found: Alerted) -> dict[str, Any]:
    """Return how many there were so far and beside what bound, for the summary."""
    if (rate := options.alerts) is None:
        return {}
    told = {"rate": rate, "anomalies": found.alarms, "bound": bound(rate, found.values)}
    return {"alerts": told}


def in_words(found: dict[str, Any]) -> str:
    """Return what the terminal says of `figures`."""
    rows = found["anomalies"]
    unusual = "1 unusual row" if rows == 1 else f"{rows:,} unusual rows"
    return f"alerts: {unusual} of all keys, at most {math.floor(found['bound']):,} on any data"


def restored(state: Any) -> Alerted:
    """Return what a checkpoint has; ValueError where it is no such thing."""
    whole = isinstance(state, list) and len(state) in (3, 4)
    whole = whole and all(type(one) is int and 0 <= one < 1 << 62 for one in state[:3])
    if not whole or not all(isinstance(one, str | None) for one in state[3:]):
        raise ValueError(f"its header holds {str(state)[:40]!r} as counts of alerts")
    return Alerted(*state)


def _counted(times: Array) -> tuple[Array, Any]:
    """Return some times, all if they are few, and how many values came up to each since the one
    before.
    """
    ends, counts = np.unique(times, return_counts=True)
    if ends.size > _TIMES:
        some = np.linspace(0, ends.size - 1, _TIMES).astype(np.int64)
        ends, counts = ends[some], np.diff(np.cumsum(counts)[some], prepend=0)
    return ends, counts


def _up_to(when: Array, ends: Array, counts: Any) -> Any:
    """Return how many values of a part had come at each of these times, or a few less."""
    sums = np.append(0, np.cumsum(counts))
    return sums[np.searchsorted(ends, when, side="right")]

"""What many streams come to: false alarms with their error, delays, misses, errors, and targets."""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from stillpoint.lab.alerts.anomalies import Hits, Quiet
from stillpoint.lab.alerts.changes import WITHIN, Clean, Found

PER_ROWS = 10_000  # rows in which false alarms are counted
T = TypeVar("T")


@dataclass(frozen=True)
class FalseAlarms:
    """Alarms in 10 000 rows without change, the standard error, and µs a row."""

    law: str
    method: str
    streams: int
    alarms: float
    error: float | None
    us: float


@dataclass(frozen=True)
class Delays:
    """What became of one kind of change; None where nothing was found, or the method tells nothing.

    Attributes
    ----------
    found
        Share of streams with an alarm within 1000 rows.
    median, mean
        Rows from the change to the alarm, of those found.
    late, late_error
        Stated begin less the true one: the median, and the median of its size.
    share, share_error
        Stated size over the true one: the median, and the median of its distance from 1; of those
        called by the right kind.
    right
        Share of those found that are called by the right kind.
    """

    law: str
    method: str
    start: int
    kind: str
    streams: int
    found: float
    median: float | None
    mean: float | None
    late: float | None
    late_error: float | None
    share: float | None
    share_error: float | None
    right: float | None

    @property
    def wait(self) -> float:
        """The mean delay, where a change that was not found counts 1000 rows."""
        return self.found * (self.mean or 0.0) + (1.0 - self.found) * WITHIN


@dataclass(frozen=True)
class Rates:
    """Flagged rows and alarms in 10 000 rows without anomalies, with standard errors; µs a row."""

    law: str
    method: str
    rate: float
    streams: int
    flagged: float
    flagged_error: float | None
    alarms: float
    alarms_error: float | None
    us: float


@dataclass(frozen=True)
class Shares:
    """Of anomalies of one kind: share with a flagged row, and share with an alarm, in its rows."""

    law: str
    method: str
    rate: float
    kind: str
    tried: int
    flagged: float
    alarmed: float


def false_alarms(clean: Sequence[Clean]) -> list[FalseAlarms]:
    """By law and method."""
    found = []
    for (law, method), some in _grouped_by(clean, lambda c: (c.law, c.method)).items():
        mean, error = _rate([c.alarms / c.rounds for c in some])
        us = float(np.median([1e6 * c.seconds / c.rounds for c in some]))
        found.append(FalseAlarms(law, method, len(some), mean, error, us))
    return found


def delays(changes: Sequence[Found]) -> list[Delays]:
    """By law, method, row and kind of the change."""
    found = []
    cells = _grouped_by(changes, lambda f: (f.law, f.method, f.start, f.kind))
    for (law, method, start, kind), some in cells.items():
        rows = [f.delay for f in some if f.delay is not None]
        late = [f.late for f in some if f.late is not None]
        share = [f.share for f in some if f.share is not None and math.isfinite(f.share)]
        right = [f.right for f in some if f.right is not None]
        figures = (
            len(rows) / len(some),
            _median(rows),
            float(np.mean(rows)) if rows else None,
            _median(late),
            _median([abs(each) for each in late]),
            _median(share),
            _median([abs(each - 1.0) for each in share]),
            float(np.mean(right)) if right else None,
        )
        found.append(Delays(law, method, start, kind, len(some), *figures))
    return found


def rates(quiet: Sequence[Quiet]) -> list[Rates]:
    """By law, method and nominal rate."""
    found = []
    for (law, method, rate), some in _grouped_by(
        quiet, lambda q: (q.law, q.method, q.rate)
    ).items():
        flagged = _rate([q.flagged / q.rounds for q in some])
        alarms = _rate([q.alarms / q.rounds for q in some])
        us = float(np.median([1e6 * q.seconds / q.rounds for q in some]))
        found.append(Rates(law, method, rate, len(some), *flagged, *alarms, us))
    return found


def shares(hits: Sequence[Hits]) -> list[Shares]:
    """By law, method, nominal rate and kind."""
    found = []
    cells = _grouped_by(hits, lambda h: (h.law, h.method, h.rate, h.kind))
    for (law, method, rate, kind), some in cells.items():
        tried = sum(h.tried for h in some)
        flagged, alarmed = sum(h.flagged for h in some), sum(h.alarmed for h in some)
        found.append(Shares(law, method, rate, kind, tried, flagged / tried, alarmed / tried))
    return found


def _grouped_by(items: Iterable[T], key: Callable[[T], Hashable]) -> dict[Any, list[T]]:
    found: dict[Any, list[T]] = {}
    for each in items:
        found.setdefault(key(each), []).append(each)
    return found


def _rate(shares: Sequence[float]) -> tuple[float, float | None]:
    """Mean over streams in 10 000 rows, and its standard error; None of a single stream."""
    values = PER_ROWS * np.array(shares)
    error = float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else None
    return float(values.mean()), error


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None

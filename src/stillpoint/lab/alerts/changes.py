"""Kinds of change, what detectors say of them, and how far that is from the truth.

A stream is played to the row before a change once; from there every kind of change is played on a
copy of the detector, over the same noise.
"""

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any, NamedTuple, Protocol

import numpy as np

from stillpoint.core.array import Array
from stillpoint.lab.alerts.laws import Law

NONE, LEVEL, SPREAD, SLOPE, SEASON = "none", "level", "spread", "slope", "season"
WITHIN = 1000  # rows from a change on in which it counts as found
PER = 100  # rows over which a slope's size is said


class Alarm(NamedTuple):
    """What a detector says: the row, and of ours when, what and by how much; rows count from 0."""

    row: int
    start: int | None = None
    kind: str = ""
    before: float = math.nan
    after: float = math.nan


class Detector(Protocol):
    """Takes in a stream piece by piece."""

    def track(self, y: Array) -> Iterable[Alarm]:
        """Take in the next rows; if it is an iterator it may be left before its end."""


@dataclass(frozen=True)
class Kind:
    """A kind of change and its size.

    Parameters
    ----------
    size
        level: what is added, in standard deviations of the noise. spread: what the noise is
        multiplied by. slope: what is added over 100 rows. season: see `phase`.
    says
        What a record should call it.
    phase
        Whether the season moves, by `size` periods; else it is multiplied by `size`.
    """

    name: str
    family: str
    size: float
    says: str = ""
    phase: bool = False

    def values(self, law: Law, noise: Array, start: int) -> Array:
        """Return the rows from `start` on, of a stream that changed there; noise: theirs."""
        when = np.arange(start, start + noise.size, dtype=np.float64)
        moved = when + self.size * law.period if self.phase else when
        height = self.size if self.family == SEASON and not self.phase else 1.0
        spread = self.size if self.family == SPREAD else 1.0
        values = height * law.season(moved) + spread * noise
        if self.family == LEVEL:
            values += self.size
        elif self.family == SLOPE:
            values += self.size / PER * (when - start + 1.0)
        return law.observe(values)

    def share(self, law: Law, alarm: Alarm) -> float | None:
        """Return the size that an alarm states over the true one; None where it states none."""
        if self.family == SEASON or self.says == "" or alarm.kind != self.says:
            return None
        if self.family == SPREAD:
            return alarm.after / alarm.before / self.size if alarm.before > 0.0 else None
        truth = float(law.observe(np.array(self.size))) if self.family == LEVEL else self.size / PER
        return (alarm.after - alarm.before) / truth


def _signed(family: str, sizes: Sequence[float]) -> list[Kind]:
    return [
        Kind(f"{family} {size:+g}", family, size, f"{family} {'up' if size > 0 else 'down'}")
        for size in sizes
    ]


KINDS: tuple[Kind, ...] = (
    Kind(NONE, NONE, 0.0),
    *_signed(LEVEL, (0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 5.0, -5.0)),
    Kind("spread ×2", SPREAD, 2.0, "wider"),
    Kind("spread ×½", SPREAD, 0.5, "narrower"),
    *_signed(SLOPE, (0.2, -0.2, 1.0, -1.0)),
    Kind("season ¼ period later", SEASON, -0.25, SEASON, phase=True),
    Kind("season ½ period later", SEASON, -0.5, SEASON, phase=True),
    Kind("season ×2", SEASON, 2.0, SEASON),
    Kind("season gone", SEASON, 0.0, SEASON),
)


def kinds_of(law: Law) -> list[Kind]:
    """The changes that a stream of this law can have."""
    return [kind for kind in KINDS if kind.family != SEASON or law.period > 1]


@dataclass(frozen=True)
class Found:
    """What a detector said of one change; None where it found nothing, or does not say.

    Attributes
    ----------
    delay
        Rows from the change to the alarm.
    late
        The stated begin less the true one, in rows.
    share
        Stated size over the true one.
    right
        Whether it calls the kind by its name.
    """

    law: str
    method: str
    start: int
    kind: str
    seed: int
    delay: int | None = None
    late: int | None = None
    share: float | None = None
    right: bool | None = None


@dataclass(frozen=True)
class Clean:
    """Alarms in one stream without change, and the seconds it took."""

    law: str
    method: str
    seed: int
    rounds: int
    alarms: int
    seconds: float


def judge(kind: Kind, law: Law, start: int, first: Alarm | None) -> dict[str, Any]:
    """Return the figures of `Found`, by the first alarm from `start` on."""
    if first is None or first.row - start >= WITHIN:
        return {}
    delay = {"delay": first.row - start}
    if first.start is None:
        return delay
    right = None if kind.family == NONE else first.kind == kind.says
    return delay | {"late": first.start - start, "share": kind.share(law, first), "right": right}


def play(
    law: Law,
    method: str,
    make: Callable[[int], Detector],
    seed: int,
    *,
    rounds: int,
    starts: Sequence[int],
    kinds: Sequence[Kind],
) -> tuple[Clean, list[Found]]:
    """Play a stream of `rounds` rows without change, and every kind of change at each start.

    Parameters
    ----------
    make
        Builds a detector; it may draw by the seed.
    starts
        Rows of the changes, below `rounds`.
    """
    noise = law.draw(seed, max([rounds, *(start + WITHIN for start in starts)]))
    y = KINDS[0].values(law, noise, 0)
    detector = make(seed)
    alarms, seconds, at, found = 0, 0.0, 0, list[Found]()
    for stop in [*sorted(starts), rounds]:
        begun = process_time()
        alarms += len(list(detector.track(y[at:stop])))
        seconds, at = seconds + process_time() - begun, stop
        for kind in kinds if stop < rounds else ():
            changed = kind.values(law, noise[stop : stop + WITHIN], stop)
            first = next(iter(copy.deepcopy(detector).track(changed)), None)
            said = judge(kind, law, stop, first)
            found.append(Found(law.name, method, stop, kind.name, seed, **said))
    return Clean(law.name, method, seed, rounds, alarms, seconds), found

"""Anomalies put into streams without change, and which rows scorers flag.

A stream is played once. Before some of its rows every anomaly is tried on the scorer as it is then:
lone rows by asking it, stretches on a copy.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stillpoint.alerts._anomalies import pause
from stillpoint.core.array import Array
from stillpoint.lab.alerts.changes import KINDS as CHANGES
from stillpoint.lab.alerts.laws import Law

RATES = (0.001, 0.01)
Flags = NDArray[np.bool_]


class Scorer(Protocol):
    """Tells rows that do not fit, at several nominal rates at once."""

    def track(self, y: Array) -> Flags:
        """Take in the next rows; returns which are flagged, a line a rate."""

    def ask(self, y: float) -> Flags:
        """Return at which rates the next row would be flagged if it were y; nothing is learnt."""


@dataclass(frozen=True)
class Kind:
    """So many rows moved by `size` standard deviations of the noise, up or down."""

    name: str
    size: float
    rows: int = 1


KINDS: tuple[Kind, ...] = (
    Kind("spike of 4", 4.0),
    Kind("spike of 6", 6.0),
    Kind("spike of 10", 10.0),
    Kind("10 rows by 3", 3.0, 10),
    Kind("50 rows by 3", 3.0, 50),
)


@dataclass(frozen=True)
class Quiet:
    """Flagged rows and alarms in one stream without anomalies; seconds: of all rates together."""

    law: str
    method: str
    rate: float
    seed: int
    rounds: int
    flagged: int
    alarms: int
    seconds: float


@dataclass(frozen=True)
class Hits:
    """How many of the anomalies of one kind in one stream were flagged, or were an alarm."""

    law: str
    method: str
    rate: float
    kind: str
    seed: int
    tried: int
    flagged: int
    alarmed: int


def alarms(flags: Flags, quiet: int) -> Flags:
    """Return the flagged rows that have no other flagged row among so many before them."""
    rows = np.flatnonzero(flags)
    out = np.zeros(flags.size, dtype=np.bool_)
    out[rows[np.diff(rows, prepend=-quiet - 1) > quiet]] = True
    return out


def found(past: Flags, flags: Flags, quiet: int) -> tuple[bool, bool]:
    """Whether a stretch has a flag, and whether an alarm, given the flags of all rows before."""
    told = alarms(np.concatenate([past[past.size - min(quiet, past.size) :], flags]), quiet)[
        -flags.size :
    ]
    return bool(flags.any()), bool(told.any())


def play(
    law: Law,
    method: str,
    make: Callable[[Sequence[float], int], Scorer],
    seed: int,
    *,
    rates: Sequence[float] = RATES,
    rounds: int,
    places: Sequence[int],
) -> tuple[list[Quiet], list[Hits]]:
    """Play a stream of `rounds` rows, and every anomaly at each place; results by rate.

    Parameters
    ----------
    make
        Builds a scorer from nominal rates; it may draw by the seed.
    places
        Rows where anomalies begin, below `rounds`.
    """
    longest = max(kind.rows for kind in KINDS)
    noise = law.draw(seed, rounds + longest)
    y = CHANGES[0].values(law, noise, 0)
    signs = np.random.default_rng([seed, 1]).choice([-1.0, 1.0], len(places))
    scorer, flags = make(rates, seed), np.zeros((len(rates), rounds), dtype=np.bool_)
    hits = np.zeros((len(rates), len(KINDS), 2), dtype=np.int64)
    seconds, at = 0.0, 0
    for stop, sign in zip([*sorted(places), rounds], [*signs, 0.0], strict=True):
        begun = process_time()
        flags[:, at:stop] = scorer.track(y[at:stop])
        seconds, at = seconds + process_time() - begun, stop
        if stop < rounds:
            for k, own in enumerate(_anomalies(law, scorer, y[stop : stop + longest], sign)):
                for i in range(len(rates)):
                    hits[i, k] += found(flags[i, :stop], own[i], pause(rates[i]))
    quiet, told = list[Quiet](), list[Hits]()
    for i, rate in enumerate(rates):
        counts = int(flags[i].sum()), int(alarms(flags[i], pause(rate)).sum())
        quiet.append(Quiet(law.name, method, rate, seed, rounds, *counts, seconds))
        told += [
            Hits(law.name, method, rate, kind.name, seed, len(places), int(flagged), int(alarmed))
            for kind, (flagged, alarmed) in zip(KINDS, hits[i], strict=True)
        ]
    return quiet, told


def _anomalies(law: Law, scorer: Scorer, y: Array, sign: float) -> list[Flags]:
    """The flags of every kind's rows. Stretches of one size are played once, at their longest."""
    played: dict[float, Flags] = {}
    for size in {kind.size for kind in KINDS if kind.rows > 1}:
        rows = max(kind.rows for kind in KINDS if kind.size == size)
        played[size] = copy.deepcopy(scorer).track(law.observe(y[:rows] + sign * size))
    return [
        played[kind.size][:, : kind.rows]
        if kind.rows > 1
        else scorer.ask(float(law.observe(y[:1] + sign * kind.size)[0]))[:, None]
        for kind in KINDS
    ]

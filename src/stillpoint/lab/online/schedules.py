"""Schedules: which base learners there are, and when each of them lives."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array, count, finite, positive
from stillpoint.lab.online import _covers
from stillpoint.lab.online._bank import FOREVER, Bank, Rule
from stillpoint.lab.online._bases import begin
from stillpoint.lab.online.bases import Base


def grid(low: float, high: float) -> Array:
    """Steps low, 2·low, 4·low, … up to the first that is `high` or more."""
    low, high = positive("low", low), positive("high", high)
    return np.asarray(low * 2.0 ** np.arange(max(math.ceil(math.log2(high / low)), 0) + 1.0))


class Schedule:
    """A schedule; one of your own overrides `places` and `advance`.

    Attributes
    ----------
    code : int or None
        What compiled loops know it by; None runs in Python.
    every : float
        From one marker to the next.
    """

    code: ClassVar[int | None] = None
    every: float = 1.0

    @property
    def kinds(self) -> Sequence[Base]:
        """The kinds of base learners that there may be; of a pool, that of each place."""
        raise NotImplementedError

    @property
    def places(self) -> int:
        """How many can live at once."""
        raise NotImplementedError

    def fill(self, bank: Bank, rule: Rule) -> None:
        """Put those into the bank who are there from the first round to the last."""

    def advance(self, bank: Bank, rule: Rule) -> None:
        """Go on to the next round: retire and start base learners (`bear`)."""
        _covers.advance(bank, rule)


@dataclass(frozen=True)
class Pool(Schedule):
    """Base learners that all play all the time, usually one for each of several steps.

    Parameters
    ----------
    bases
        The base learners, such as `[Descent(step) for step in grid(0.01, 1.0)]`.
    prior
        A positive weight for each (default: equal ones); only their ratios count.
    """

    bases: tuple[Base, ...]
    prior: tuple[float, ...] | None = None
    code: ClassVar[int | None] = _covers.POOL

    def __init__(self, bases: Sequence[Base], prior: ArrayLike | None = None) -> None:
        object.__setattr__(self, "bases", tuple(bases))
        if not self.bases or not all(isinstance(each, Base) for each in self.bases):
            raise ValueError(
                f"bases must be base learners, one or more: got {bases!r}; pass a list of them"
            )
        weights = None if prior is None else np.atleast_1d(finite("prior", prior))
        if weights is not None and (weights.shape != (len(self.bases),) or (weights <= 0).any()):
            raise ValueError(
                f"prior must have {len(self.bases)} positive values: got {prior!r}; give one a base"
            )
        object.__setattr__(self, "prior", None if weights is None else tuple(weights.tolist()))

    @property
    def kinds(self) -> Sequence[Base]:
        """The base learners."""
        return self.bases

    @property
    def places(self) -> int:
        """How many there are."""
        return len(self.bases)

    def fill(self, bank: Bank, rule: Rule) -> None:
        """All of them."""
        weights = np.ones(self.places) if self.prior is None else np.array(self.prior)
        bank.row("prior")[:] = np.log(weights / weights.sum())
        bank.row("alive")[:], bank.row("born")[:], bank.row("ends")[:] = 1.0, 1.0, FOREVER
        for i, base in enumerate(self.bases):
            bank.row("kind")[i] = -1 if base.code is None else base.code
            bank.row("step")[i] = base.step
            begin(bank, rule, i)


@dataclass(frozen=True)
class Cover(Schedule):
    """Base learners that live on intervals; one of your own overrides `advance` and `places`.

    Parameters
    ----------
    base
        What is started at the beginning of each interval.
    every
        Rounds from a marker to the next; intervals reach from marker to marker.
    """

    base: Base
    every: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.base, Base):
            raise ValueError(
                f"base must be a base learner: got {self.base!r}; use one of sp.lab.online"
            )
        every = self.every
        whole = isinstance(every, float) and every.is_integer()
        count("every", int(every) if whole else every)

    @property
    def kinds(self) -> Sequence[Base]:
        """Its one kind."""
        return (self.base,)

    @property
    def places(self) -> int:
        """One for each power of 2 that floats count."""
        return _covers.SCALES

    def length(self, marker: int) -> int:
        """Markers that the longest interval which begins there has."""
        return marker & -marker

    def pieces(self, first: int, last: int) -> Iterator[tuple[int, int, int]]:
        """Cut the markers from first to last where intervals begin: begin, length, how much.

        Pieces are whole intervals or, the last of them, the beginning of one. From each begins
        where it can be longest the next.
        """
        at = first
        while at <= last:
            end = min(at + self.length(at) - 1, last)
            follow = end + 1
            if end < last:  # the roundest marker that follows without a gap
                while follow & (follow - 1) > at:
                    follow &= follow - 1
            yield at, self.length(at), follow - at
            at = follow


@dataclass(frozen=True)
class DenseCover(Cover):
    """Geometric cover: all [i·2^k, (i + 1)·2^k − 1] with i ≥ 1 (Daniely et al. 2015)."""

    code: ClassVar[int | None] = _covers.DENSE

    def pieces(self, first: int, last: int) -> Iterator[tuple[int, int, int]]:
        """Whole intervals: at each begin the longest that fits."""
        at = first
        while at <= last:
            length = self.length(at)
            while at + length - 1 > last:
                length //= 2
            yield at, length, length
            at += length


@dataclass(frozen=True)
class CompactCover(Cover):
    """Compact geometric cover: those of the dense one with i odd (Zhang et al. 2019)."""

    code: ClassVar[int | None] = _covers.COMPACT


@dataclass(frozen=True)
class LeadingHistories(Cover):
    """Who is born at i·2^k, i odd, lives for 2^{k+2} + 1 (Hazan & Seshadhri 2009)."""

    code: ClassVar[int | None] = _covers.HISTORY

    @property
    def places(self) -> int:
        """Three a power of 2: so many of one length live at once."""
        return 3 * _covers.SCALES

    def length(self, marker: int) -> int:
        """2^{k+2} + 1."""
        return 4 * (marker & -marker) + 1


@dataclass(frozen=True)
class LossCover(Cover):
    """The compact cover over markers that come when losses do (Zhang et al. 2019).

    Parameters
    ----------
    base
        What is started at the beginning of each interval.
    every
        The next marker comes when the base learner born at the last has lost more than this.
    """

    every: float = 1.0
    code: ClassVar[int | None] = _covers.BY_LOSS

    def __post_init__(self) -> None:
        positive("every", self.every)

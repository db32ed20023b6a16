"""The round machine: what every learner does the same way, written once.

A round is opened by `predict`, which answers, and closed by `update` with what the round turned out
to be, or by `skip` without. Whatever is wrong with an argument is found before anything moves.
"""

import copy
import math
import reprlib
from abc import ABC, abstractmethod
from html import escape
from typing import Any, Protocol, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.state import Restorable, rollback_on_error
from stillpoint.core.validation import Array, increasing, number, under

_OPEN = "call update or skip first"


class _Configured(Protocol):
    @property
    def config(self) -> dict[str, Any]: ...


class Configured:
    """An object that its `config`, the arguments that build it anew, describes whole."""

    @property
    def _not_finite(self) -> frozenset[str]:
        """Names in `arrays()` that may come to be infinite or NaN.

        In files, all others are finite or as in a new learner.
        """
        return frozenset()

    def __copy__(self) -> Self:
        """As `copy.deepcopy`: a copy that shared arrays with its original would play on in it."""
        return copy.deepcopy(self)

    def __repr__(self: _Configured) -> str:
        arguments = (f"{name}={_SHORT.repr(value)}" for name, value in self.config.items())
        return f"{type(self).__name__}({', '.join(arguments)})"

    def _repr_html_(self: _Configured) -> str:
        facts = {name: _SHORT.repr(value) for name, value in self.config.items()}
        if hasattr(self, "rounds"):
            facts = {"rounds so far": f"{self.rounds:,}"} | facts
        rows = (f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in facts.items())
        return f"<table><caption>{type(self).__name__}</caption>{''.join(rows)}</table>"


class Learner(Configured, ABC):
    """Rounds that open and close, at times that increase.

    A subclass says what happens in them, in two methods, and gives `predict` and `update` the
    arguments that its feedback needs:

    - `_open(when, x)` moves to the time `when` with what is known as the round begins (features, a
      forecast to put an interval around, or None), and returns what `predict` answers. It may still
      refuse, and then nothing has moved, or `_may_refuse_late` says that all is to be put back.
    - `_close(feedback)` learns from what the round turned out to be; None where that is missing.

    Attributes
    ----------
    rounds : int
        How many rounds are over.
    time : float
        The time of the open round, or of the last one; rounds without a time are 1 apart, from 1.
    """

    # whether `_open` asks parts, such as those of one's own, that may refuse once others have
    # moved; such a learner has `arrays` and `restore`
    _may_refuse_late = False
    _admits = False  # whether `_coming` has a say about rounds without a time

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._admits = (cls._admit, cls._coming) != (Learner._admit, Learner._coming)

    def __init__(self) -> None:
        self.rounds, self.time = 0, 0.0
        self._started, self._is_open = False, False
        self._answer: Any = None

    @abstractmethod
    def _open(self, when: float, x: Any) -> Any:
        """Open a round at a time that has been checked; returns the answer of `predict`."""

    @abstractmethod
    def _close(self, feedback: Any) -> None:
        """Learn from the feedback of the open round; None where it is missing."""

    def _admit(self, first: float, last: float) -> None:
        """Refuse times, in order from first to last, that the algorithm cannot take."""

    def _check_same(self, x: Any) -> None:
        """Refuse an x that is not that of the open round."""

    def _begin(self, time: float | None = None, x: Any = None) -> Any:
        """Answer the open round, whose time and x must be these, or open the coming one."""
        if self._is_open:
            if time is not None and time != self.time:
                raise ValueError(
                    f"time must be that of the open round: got {time}, open {self._at}; {_OPEN}"
                )
            self._check_same(x)
        else:
            when = self.time + 1.0
            usual = time is None or (type(time) is float and time == when)
            if not usual or self._admits or when <= self.time:  # else there is no doubt
                when = self._coming(time)
            if self._may_refuse_late:
                with rollback_on_error(cast(Restorable, self)):
                    answer = self._open(when, x)
            else:
                answer = self._open(when, x)
            # `_opened`, without what a call costs every round
            self.time, self._started, self._is_open, self._answer = when, True, True, answer
            return answer
        return self._answer

    def _check(self, time: float | None = None, x: Any = None) -> None:
        """Refuse what `_begin` would, and change nothing."""
        if self._is_open:
            Learner._begin(self, time, x)  # of an open round it only looks
        else:
            self._coming(time)

    def _end(self, feedback: Any) -> None:
        """Close the open round."""
        self._close(feedback)
        self._closed()

    def skip(self) -> None:
        """Close the round, or pass the coming one, without feedback; time moves on."""
        self._begin()
        self._end(None)

    def _opened(self, when: float, answer: Any) -> None:
        """Note that the round at `when` is open, and its answer."""
        self.time, self._started, self._is_open, self._answer = when, True, True, answer

    def _closed(self) -> None:
        """Note that the round is over."""
        self._is_open, self._answer = False, None
        self.rounds += 1

    def _coming(self, time: float | None) -> float:
        """The time of the coming round: the one given, or the last one + 1."""
        when = (
            self.time + 1.0 if time is None else number("time", time, "drop rounds without a time")
        )
        if self._started and when <= self.time:
            remedy = "sort the stream"
            if when == self.time:
                remedy += ", or rescale times too large to tell apart"
            raise ValueError(f"time must increase: got {when} after {self.time}; {remedy}")
        self._admit(when, when)
        return when

    def _coming_times(self, rounds: int, times: ArrayLike | None) -> Array:
        """The times of that many coming rounds, for a bulk pass: as one call of `_coming` each."""
        when = untimed(self.time, rounds) if times is None else np.array(increasing("times", times))
        if when.shape != (rounds,):
            raise ValueError(
                f"times must be as many as the rounds: got {when.size} for {rounds}; pass one time"
                " a round"
            )
        if rounds:
            if self._started and when[0] <= self.time:
                raise ValueError(
                    f"time must increase: got {when[0]} after {self.time}; sort the stream, or"
                    " shift the times"
                )
            self._admit(float(when[0]), float(when[-1]))
        return when

    @property
    def _at(self) -> str:
        return "without a time" if math.isnan(self.time) else f"at {self.time}"

    def _begin_bulk(self, name: str) -> None:
        """Refuse a bulk pass while a round is open; `name`: the argument that brings the rounds."""
        if self._is_open:
            raise ValueError(
                f"{name} must begin with a new round: got it while one is open {self._at}; {_OPEN}"
            )


def untimed(time: float, rounds: int) -> Array:
    """The times of so many rounds after `time` that have none of their own: 1 apart."""
    if time.is_integer() and abs(time) + rounds < 2.0**53:
        return time + np.arange(1.0, rounds + 1.0)
    # a sum one by one, as predict() makes it: time + k would round otherwise
    when = np.cumsum(np.append(time, np.ones(rounds)))
    if (when[1:] <= when[:-1]).any():
        raise ValueError(
            f"time must increase: got steps of 1 after {time}, which rounding swallows; start"
            " nearer to 0"
        )
    return when[1:]


def not_finite_in(prefix: str, part: Any) -> frozenset[str]:
    """`_not_finite` of a part whose state is saved under a prefix."""
    return frozenset(f"{prefix}{name}" for name in getattr(part, "_not_finite", ()))


def migrate_parts(parts: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """Bring the states of parts, each saved under its prefix, to what this version would save."""
    for prefix, part in parts.items():
        if hasattr(part, "migrated"):
            own = part.migrated(under(state, prefix))
            newer = {prefix + name: value for name, value in own.items()}
            state = {**state, **newer}
    return state


_SHORT = reprlib.Repr()  # tables of constants are cut
_SHORT.maxother = _SHORT.maxstring = 200

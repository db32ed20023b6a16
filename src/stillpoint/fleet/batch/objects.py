"""Batches of learner objects, one a key: for learners whose states do not stack."""

import copy
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillpoint.core.allocation import claim
from stillpoint.core.codec import check_finite
from stillpoint.core.validation import Array, real
from stillpoint.fleet.batch import packed
from stillpoint.fleet.batch.base import Batch, Fault
from stillpoint.fleet.batch.faults import table
from stillpoint.fleet.keys import Slots

_SOME = 8  # keys that `bytes_per_key` looks at
_NONE = np.zeros(0)


class Objects(Batch):
    """One learner a key: their states."""

    def __init__(self, learner: Any, threads: int) -> None:
        super().__init__(threads)
        self._new = learner
        self._learners: list[Any] = []  # None: as new, and made when its first round comes
        self._new_bytes = _size(learner)

    @property
    def _not_finite(self) -> frozenset[str]:
        odd = (name for name, value in self._new.arrays().items() if not np.isfinite(value).all())
        return frozenset(self._new._not_finite).union(odd)

    @property
    def bytes_per_key(self) -> int:
        """The state of one key, the mean of a few: it grows with what a series needs."""
        made = [learner for learner in self._learners if learner is not None]
        some = made[:: max(1, len(made) // _SOME)] or [self._new]
        return sum(map(_size, some)) // len(some)

    @property
    def nbytes(self) -> int:
        """All states; estimated from a few."""
        made = len(self._learners) - self._learners.count(None)
        return made * self.bytes_per_key + 8 * len(self._learners)

    def grow(self, capacity: int) -> None:
        """Make room for so many keys."""
        claim(capacity)
        self._learners += [None] * (capacity - len(self._learners))

    def clear(self, slots: Slots) -> None:
        """New keys begin at these places."""
        for slot in slots.tolist():
            self._learners[slot] = None

    def forget(self, slots: Slots) -> None:
        """The keys at these places are gone."""
        self.clear(slots)

    def _copy(self) -> Any:
        claim(self._new_bytes, 1)
        return copy.deepcopy(self._new)

    def _look(self, slot: int) -> Any:
        """The learner at a place, to look at."""
        learner = self._learners[slot]
        return self._new if learner is None else learner

    def _at(self, slot: int) -> Any:
        """The learner at a place, to play on."""
        if self._learners[slot] is None:
            self._learners[slot] = self._copy()
        return self._learners[slot]

    def take(self, slots: Slots) -> dict[str, NDArray[Any]]:
        """The states at these places, for saving."""
        return packed.pack([self.state(slot) for slot in slots.tolist()])

    def put(self, slots: Slots, state: dict[str, Any]) -> None:
        """Inverse of `take`; ValueError where arrays do not go together."""
        for slot, own in zip(slots.tolist(), packed.unpack(state, slots.size), strict=True):
            check_finite(self._new, own)
            self.adopt(slot, own)

    def migrated(self, state: dict[str, Any]) -> dict[str, Any]:
        """What an older version's `take` returned, as this one would."""
        shapes = [value for name, value in state.items() if name.endswith(packed.SHAPES)]
        if not hasattr(self._new, "migrated") or not shapes:
            return state
        states = packed.unpack(state, len(shapes[0]))
        return packed.pack([self._new.migrated(own) for own in states])

    def state(self, slot: int) -> dict[str, Any]:
        """What the learner's own `arrays` returns."""
        return self._look(slot).arrays()  # type: ignore[no-any-return]

    def adopt(self, slot: int, state: dict[str, Any]) -> None:
        """Take over what a learner's `arrays` returned."""
        learner = self._copy()
        learner.restore(state)
        self._learners[slot] = learner

    def _faults(self, slots: Slots, admit: Callable[[Any, int], None]) -> list[Fault]:
        """The rows that are not admitted."""
        reasons: dict[int, str] = {}
        for row, slot in enumerate(slots.tolist()):
            try:
                admit(self._look(slot), row)
            except ValueError as error:
                reasons[row] = str(error)
        return [Fault(np.array(list(reasons)), reasons.__getitem__)] if reasons else []


class ObjectBatch(Objects):
    """One forecaster a key, played one after the other: the single one's numbers, at its cost.

    A subclass says how its learner is asked: what it would refuse (`_admit`, `_admit_series`), and
    the rounds themselves.
    """

    timed = True

    # checks

    def moments(self, slots: Slots, time: Any) -> tuple[NDArray[Any], list[Fault]]:
        """When the rounds of these keys are, as they were given; None: left out.

        Whether the learners can take these times is seen together with the features.
        """
        given: Sequence[Any] = [time] * slots.size if np.ndim(time) == 0 else list(time)
        if len(given) != slots.size or np.ndim(time) > 1:
            raise ValueError(
                f"time must be as many as keys: got shape {np.shape(time)} for {slots.size}; pass"
                " one, or one a key"
            )
        when = np.empty(slots.size, object)
        for row, one in enumerate(given):  # one by one: numpy would make other objects of dates
            when[row] = one
        return when, []

    def features(
        self, slots: Slots, when: Any, x: ArrayLike | None, needed: bool = True
    ) -> tuple[Array, list[Fault]]:
        """Features to open rounds with; what the learners would refuse about times, too."""
        rows = self._rows("x", slots, x)

        def admit(learner: Any, row: int) -> None:
            self._admit(learner, when[row], rows[row] if rows.ndim > 1 else None, needed)

        return rows, self._faults(slots, admit)

    def series(
        self, slots: Slots, Y: ArrayLike, X: ArrayLike | None
    ) -> tuple[Array, Array, list[Fault]]:
        """What `track` was given as arrays of its own, and what is wrong with it."""
        values, faults = table(Y, slots, self.largest)
        rows = self._rows("X", slots, X)

        def admit(learner: Any, row: int) -> None:
            self._admit_series(learner, values.shape[1], rows[row] if rows.ndim > 1 else None)

        return values, rows, [*self._faults(slots, admit), *faults]

    @abstractmethod
    def _rows(self, name: str, slots: Slots, x: ArrayLike | None) -> Array:
        """Features, one row a key, or one table a key; empty where none are given."""

    @abstractmethod
    def _admit(self, learner: Any, time: Any, x: Array | None, needed: bool) -> None:
        """Refuse what would not open the round; nothing changes."""

    @abstractmethod
    def _admit_series(self, learner: Any, rounds: int, X: Array | None) -> None:
        """Refuse what would not open so many rounds; nothing changes."""

    # rounds

    def open(self, slots: Slots, when: Any, centres: Array) -> Array:
        """Forecasts, one a key."""
        out = np.empty(slots.size)
        for row, slot in enumerate(slots.tolist()):
            x = centres[row] if centres.ndim > 1 else None
            out[row] = self._open(self._at(slot), when[row], x)
        return out

    def close(self, slots: Slots, when: Any, feedback: tuple[Array, ...]) -> None:
        """Learn from targets."""
        targets = feedback[0].tolist()
        for row, slot in enumerate(slots.tolist()):
            self._close(self._at(slot), when[row], targets[row])

    def skip(self, slots: Slots, when: Any) -> None:
        """Rounds whose targets are missing."""
        for row, slot in enumerate(slots.tolist()):
            self._skip(self._at(slot), when[row])

    def track(
        self, slots: Slots, Y: Array, X: Array, horizon: int, intervals: bool
    ) -> tuple[Array, ...]:
        """Series by series."""
        out = np.empty((*Y.shape, horizon))
        ends = np.empty((2, *Y.shape, horizon, self.coverages) if intervals else (0,))
        for row, slot in enumerate(slots.tolist()):
            x = X[row] if X.ndim > 1 else None
            forecasts, *others = self._track(self._at(slot), Y[row], x, horizon, intervals)
            out[row] = forecasts.reshape(out[row].shape)
            for end, other in zip(ends, others, strict=True):
                end[row] = other.reshape(end[row].shape)
        return out, *ends

    @abstractmethod
    def _open(self, learner: Any, time: Any, x: Array | None) -> float:
        """Open the round, or look at it."""

    @abstractmethod
    def _close(self, learner: Any, time: Any, y: float) -> None:
        """Learn y."""

    @abstractmethod
    def _skip(self, learner: Any, time: Any) -> None:
        """Close the round without a target."""

    @abstractmethod
    def _track(
        self, learner: Any, y: Array, X: Array | None, horizon: int, intervals: bool
    ) -> tuple[Array, ...]:
        """Forecasts of a whole series, then lo and hi if intervals are asked for."""


def given_rows(name: str, x: ArrayLike | None, count: int, features: int, axes: int) -> Array:
    """Features of so many keys as an array whose first axis is theirs; empty where none are given.

    axes: 2 where each has one row, 3 where it has several, 0 where either will do.
    """
    if x is None:
        return _NONE
    shapes = {2: "(keys, features)", 3: "(keys, rows, features)"}
    wanted = shapes.get(axes, " or ".join(shapes.values()))
    rows = np.array(real(name, x, "pass one row of numbers a key"), dtype=np.float64, order="C")
    if rows.ndim not in ((axes,) if axes else (2, 3)) or (rows.shape[0], rows.shape[-1]) != (
        count,
        features,
    ):
        raise ValueError(
            f"{name} must have shape {wanted} for {count} keys and {features} features: got"
            f" {rows.shape}; pass one row a key"
        )
    return rows


def _size(learner: Any) -> int:
    """Bytes of a learner's state."""
    return sum(np.asarray(value).nbytes for value in learner.arrays().values())

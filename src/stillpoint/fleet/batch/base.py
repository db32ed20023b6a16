"""What batches of all learners share: arrays with a leading axis of keys, rounds, and times."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillpoint.core.allocation import claim, zeros
from stillpoint.core.validation import Array, real, stored
from stillpoint.fleet.batch import _base
from stillpoint.fleet.batch.ahead import Ahead
from stillpoint.fleet.batch.faults import REMEDY as REMEDY
from stillpoint.fleet.batch.faults import Fault as Fault
from stillpoint.fleet.batch.faults import numbers as numbers
from stillpoint.fleet.keys import Slots

_LEAST = 4096  # rows a thread; below this starting it costs more than it saves
_CACHE = 1 << 20  # bytes of states that can be met in any order
S = TypeVar("S", bound=NamedTuple)
_AS_DECLARED: Mapping[str, str] = {}


@cache
def pool(threads: int, process: int) -> ThreadPoolExecutor:
    """The threads of all batches of a process; no batch holds them: it is copied and pickled."""
    return ThreadPoolExecutor(threads)


def finished(jobs: Sequence[Future[Any]]) -> list[Any]:
    """Results of jobs; an interrupt is raised when all are over: states must not move on later."""
    interrupt: KeyboardInterrupt | None = None
    while not all(job.done() for job in jobs):
        try:
            wait(jobs)
        except KeyboardInterrupt as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt
    return [job.result() for job in jobs]


class Batch(Ahead, ABC):
    """The states of many learners of one class and configuration.

    `data[name][slot]` is an array, or a number, of the learner at that place, `name` as in files. A
    round is opened and closed as by the learner itself. Checks come first and change nothing; what
    is handed to `open` and `close` has passed them.
    """

    timed = False  # rounds have times
    detects = False  # rows are looked at for alarms, see `alerts.Detectors`
    # the state that counts how much of the width a key uses, where that grows with its rounds
    used: str | None = None
    wide = ""  # the state that is as long as that width
    most = np.iinfo(np.int32).max  # that it can come to

    def __init__(self, threads: int) -> None:
        self.data: dict[str, NDArray[Any]] = {}
        self._blank: dict[str, NDArray[Any]] = {}
        self._threads = threads
        self._views: Any = None  # what `_grouped` returned, until arrays are laid anew
        self.saturated = 0  # keys whose plays have stopped growing at the largest there are
        self._ordered: tuple[Slots | None, Slots] = None, np.zeros(0, np.int64)

    def _lay(self, **blanks: Any) -> None:
        """Name the state arrays; what is given is that of a new key."""
        self._blank = {name: np.asarray(blank) for name, blank in blanks.items()}
        self.data = {
            name: np.zeros((0, *blank.shape), blank.dtype) for name, blank in self._blank.items()
        }

    @property
    def _not_finite(self) -> frozenset[str]:
        """Names of what is infinite in a new key, too; in files, all else is finite."""
        return frozenset(
            name
            for name, blank in self._blank.items()
            if blank.dtype.kind == "f" and not np.isfinite(blank).all()
        )

    @property
    def bytes_per_key(self) -> int:
        """State of one key."""
        return sum(blank.nbytes for blank in self._blank.values())

    @property
    def nbytes(self) -> int:
        """All states, room for more included."""
        return sum(array.nbytes for array in self.data.values())

    def grow(self, capacity: int) -> None:
        """Make room for so many keys.

        What has it, from a growth that memory did not suffice for, is left as it is.
        """
        for name, old in self.data.items():
            if old.shape[0] >= capacity:
                continue
            new = zeros((capacity, *old.shape[1:]), old.dtype)
            new[: old.shape[0]] = old
            self.data[name], self._views = new, None

    def widen(self, name: str, size: int) -> None:
        """Make the first axis of a state that long for every key, as more experts join."""
        more = size - self._blank[name].shape[0]
        if more > 0:
            claim(
                (len(self.data[name]) + 1, size, *self._blank[name].shape[1:]),
                self._blank[name].itemsize,
            )
            rest = [(0, 0)] * (self._blank[name].ndim - 1)
            self._blank[name] = np.pad(self._blank[name], [(0, more), *rest])
            self.data[name] = np.pad(self.data[name], [(0, 0), (0, more), *rest])
            self._views = None

    def _room(self, width: int) -> None:
        """`widen` what goes with `used`."""
        raise NotImplementedError(f"{type(self).__name__} does not grow")

    def clear(self, slots: Slots) -> None:
        """New keys begin at these places."""
        for name, blank in self._blank.items():
            self.data[name][slots] = blank

    def forget(self, slots: Slots) -> None:
        """The keys at these places are gone."""

    def take(self, slots: Slots) -> dict[str, NDArray[Any]]:
        """The states at these places, for saving."""
        return {name: array[slots] for name, array in self.data.items()}

    def put(self, slots: Slots, state: dict[str, Any]) -> None:
        """Inverse of `take`; ValueError where arrays do not go together.

        Compiled loops take that for granted.
        """
        if self.used is not None:
            width = stored(state, self.wide, slots.size, None).shape[1]
            used = stored(state, self.used, slots.size, dtype=self._blank[self.used].dtype)
            if used.size and not 0 <= used.min() <= used.max() <= min(width, self.most):
                raise ValueError(
                    f"state {self.used!r} must be from 0 to {min(width, self.most)}: got"
                    f" {used.min()} to {used.max()}; save the fleet again"
                )
            self._room(width)
        for name, blank in self._blank.items():
            self.data[name][slots] = stored(
                state, name, slots.size, *blank.shape, dtype=blank.dtype
            )

    def _group(self, kind: type[S], names: Mapping[str, str] = _AS_DECLARED) -> S:
        """A learner's named state with a leading axis of keys; names: of fields, in files."""
        return kind._make(self.data[names.get(name, name)] for name in kind._fields)

    def _get(self, *names: str) -> tuple[NDArray[Any], ...]:
        return tuple(self.data[name] for name in names)

    def _run(self, kernel: Callable[..., int | None], slots: Slots, *rest: Any) -> int:
        """Call a compiled loop over a batch, cut in one part a thread: keys of a batch differ."""
        order = self._in_order(slots)
        parts = min(self._threads, order.size // _LEAST)
        if parts < 2:
            return kernel(order, slots, *rest) or 0
        workers = pool(self._threads, os.getpid())
        ends = np.linspace(0, order.size, parts + 1).astype(int)
        jobs = [workers.submit(kernel, order[a:b], slots, *rest) for a, b in pairwise(ends)]
        return sum(number or 0 for number in finished(jobs))

    def _in_order(self, slots: Slots) -> Slots:
        """Rows in the order of their places.

        Fetching states from all over the memory costs far more than sorting.
        """
        if slots is not self._ordered[0]:
            capacity = len(next(iter(self.data.values())))
            if slots.size * self.bytes_per_key < _CACHE or bool((slots[1:] > slots[:-1]).all()):
                order = np.arange(slots.size)
            else:
                order = (
                    _base.by_place(slots, capacity)
                    if slots.size * 16 > capacity
                    else np.argsort(slots)
                )
            self._ordered = slots, order
        return self._ordered[1]

    def moments(self, slots: Slots, time: ArrayLike | None) -> tuple[Array, list[Fault]]:
        """When the rounds of these keys are, and what is wrong with those times."""
        if not self.timed:
            if time is not None:
                raise ValueError(
                    f"time must be left out for this learner: got {time!r}; it counts rounds"
                )
            return np.zeros(0), []
        given = np.zeros(0)
        if time is not None:
            given = np.array(
                real("time", time, "pass one time, or one a key"), dtype=np.float64, order="C"
            )
            if given.ndim and given.shape != slots.shape:
                raise ValueError(
                    f"time must be as many as keys: got shape {given.shape} for {slots.size}; pass"
                    " one, or one a key"
                )
            given = given.reshape(-1)
        when, verdicts = np.empty(slots.size), np.empty(slots.size, np.uint8)
        at, *state = self._clocks(slots)
        if slots.size == 0 or not _base.moments(at, given, when, verdicts, *state):
            return when, self._outside(slots, when)
        last = state[2]

        def what(row: int) -> str:
            got, before = when[row], last[at[row]]
            if verdicts[row] == _base.NOT_FINITE:
                return f"time must be finite: got {got}; drop rounds without a time"
            if verdicts[row] == _base.NOT_OPEN_ROUND:
                return (
                    f"time must be that of the open round: got {got}, open at {before}; call update"
                    " or skip first"
                )
            return (
                f"time must increase: got {got} after {before}; sort the stream, or rescale times"
                " too large to tell apart"
            )

        return when, [
            Fault(np.flatnonzero(verdicts != _base.SOUND), what),
            *self._outside(slots, when),
        ]

    def _clocks(self, slots: Slots) -> tuple[NDArray[Any], ...]:
        """Where to find the rounds of these keys, then whether one is open, was ever, and when."""
        return slots, *self._get("open", "started", "time")

    def _outside(self, slots: Slots, when: Array) -> list[Fault]:
        """Times that are in order, but that the learner cannot take."""
        return []

    def centres(self, slots: Slots, forecasts: ArrayLike | None) -> tuple[Array, list[Fault]]:
        """Forecasts to open rounds with, where the learner needs them."""
        if forecasts is not None:
            raise ValueError(
                f"forecasts must be left out for this learner: got {forecasts!r}; it makes its own"
            )
        return np.zeros(0), []

    def feedback(self, slots: Slots, given: ArrayLike) -> tuple[tuple[Array, ...], list[Fault]]:
        """What update was given as arrays of its own, one row a key, and what is wrong with it.

        A target for each key, unless the learner takes something else.
        """
        y, faults = numbers("y", given, slots, self.largest, feedback=True)
        return (y,), faults

    @abstractmethod
    def open(self, slots: Slots, when: Array, centres: Array) -> Any:
        """Open rounds, or look at those that are open.

        `centres` are the forecasts that intervals are around, or features.
        """

    @abstractmethod
    def close(self, slots: Slots, when: Array, feedback: tuple[Array, ...]) -> None:
        """Close rounds, opened first where they are not."""

    def skip(self, slots: Slots, when: Array) -> None:
        """Close rounds without feedback: by default, with a missing target."""
        self.close(slots, when, (np.full(slots.size, np.nan),))

    @abstractmethod
    def state(self, slot: int) -> dict[str, Any]:
        """What the learner's own `arrays` would return."""

    def migrated(self, state: dict[str, Any]) -> dict[str, Any]:
        """What an older version's `take` returned, as this one would."""
        return state

    @abstractmethod
    def adopt(self, slot: int, state: dict[str, Any]) -> None:
        """Take over what a learner's `arrays` returned."""

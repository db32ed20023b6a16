"""Fleet: one learner a key, number for number as single learners, in compiled batches."""

import warnings
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillpoint.core import allocation
from stillpoint.core.learner import Configured, migrate_parts, not_finite_in
from stillpoint.core.validation import count, under
from stillpoint.fleet.batch import BATCHES, Batch, Fault
from stillpoint.fleet.keys import KeyIndex, Keys, Slots, plain

GivenKeys = Sequence[Hashable] | NDArray[Any]
_NAMES = {kind.__name__: kind for kind in BATCHES}


class Fleet(Configured):
    """One learner a key, of one class and configuration: arrays in, arrays out.

    Parameters
    ----------
    learner : class or str
        Tracker, MultiScale, QuantileTracker, IntervalTracker or KernelForecaster.
    threads : int
        How many threads share a batch; the numbers are the same for any.
    on_bad : {"raise", "skip"}
        What happens to a value that the learner would refuse, such as NaN. "raise": ValueError, and
        no key moves. "skip": the round of that key is closed without feedback, or with a bad time
        or forecast not opened; `rejected` says why.
    **config
        The learner's arguments.

    Attributes
    ----------
    rejected : list of (key, reason)
        What the last predict or update could not use.

    Notes
    -----
    Keys are whole numbers, strings or other hashable names; new ones begin where first seen. Rounds
    and times are each key's own. Keys of a batch must differ. As for single learners, predict may
    be called again before update, and update without predict (but for IntervalTracker).
    """

    _class_names = ("learner",)  # of the configuration, which files have under names of their own

    def __init__(
        self, learner: type[Any] | str, *, threads: int = 1, on_bad: str = "raise", **config: Any
    ) -> None:
        kind = _NAMES.get(learner) if isinstance(learner, str) else learner
        if kind not in BATCHES:
            raise ValueError(
                f"learner must be one of {sorted(_NAMES)}: got {learner!r}; pass one of them, as a"
                " class or by name"
            )
        if on_bad not in ("raise", "skip"):
            raise ValueError(f"on_bad must be 'raise' or 'skip': got {on_bad!r}; choose one")
        self._kind, self.threads, self.on_bad = kind, count("threads", threads), on_bad
        built = kind(**config)
        self._config: dict[str, Any] = dict(built.config)
        self._batch: Batch = BATCHES[kind](built, self.threads)
        self._index = KeyIndex()
        self._warned = False
        self.rejected: list[tuple[Any, str]] = []  # (key, reason) of the last predict or update

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this fleet anew."""
        own = {"learner": self._kind.__name__, "threads": self.threads, "on_bad": self.on_bad}
        return {**own, **self._config}

    @property
    def _not_finite(self) -> frozenset[str]:
        return not_finite_in("state.", self._batch)

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, key: Hashable) -> bool:
        return bool(self._index.find([key])[1][0] >= 0)

    def keys(self) -> Keys:
        """All keys: an array where they are whole numbers, a list otherwise."""
        return self._index.names(self._index.slots())

    @property
    def bytes_per_key(self) -> int:
        """State of one key now; experts and levels that join later add to it."""
        return self._batch.bytes_per_key

    @property
    def nbytes(self) -> int:
        """Memory held: states and keys, room for as many more as there is included."""
        return self._batch.nbytes + self._index.nbytes

    def predict(
        self, keys: GivenKeys, forecasts: ArrayLike | None = None, *, time: ArrayLike | None = None
    ) -> Any:
        """Open the round of each key.

        Parameters
        ----------
        keys : array or list
            The keys, which must differ.
        forecasts : array, optional
            What IntervalTracker's intervals are around, one a key.
        time : float or array, optional
            One for all or one a key, where the learner takes times.

        Returns
        -------
        array, or tuple of two arrays
            Plays (n, dim), quantiles or forecasts (n,), or for IntervalTracker ends (lo, hi). Rows
            of rejected keys are NaN.
        """
        with self._entered(keys) as (names, slots):
            when, faults = self._batch.moments(slots, time)
            centres, more = self._batch.centres(slots, forecasts)
            bad = self._judge(names, [*faults, *more])
        if bad is None:
            plays = self._batch.open(slots, when, centres)
            self._warn()
            return plays
        good = ~(bad[0] | bad[1])
        plays = self._batch.open(
            slots[good],
            when[good] if when.size else when,
            centres[good] if centres.size else centres,
        )
        out = self._batch.blank_plays(slots.size)
        pairs = zip(out, plays, strict=True) if isinstance(out, tuple) else [(out, plays)]
        for target, source in pairs:
            target[good] = source
        self._warn()
        return out

    def update(
        self, keys: GivenKeys, feedback: ArrayLike, *, time: ArrayLike | None = None
    ) -> None:
        """Close the round of each key.

        Parameters
        ----------
        keys : array or list
            The keys, which must differ.
        feedback : array
            Gradients (n, dim), in one dimension (n,) too, or targets (n,).
        time : float or array, optional
            One for all or one a key, where the learner takes times.
        """
        with self._entered(keys) as (names, slots):
            when, faults = self._batch.moments(slots, time)
            values, more = self._batch.feedback(slots, feedback)
            bad = self._judge(names, [*faults, *more])
        if bad is None:
            self._batch.close(slots, when, values)
        else:
            unusable, refused = bad
            good, skipped = ~(unusable | refused), unusable & ~refused
            self._batch.close(
                slots[good], when[good] if when.size else when, tuple(v[good] for v in values)
            )
            self._batch.skip(slots[skipped], when[skipped] if when.size else when)
        self._warn()

    def skip(self, keys: GivenKeys, *, time: ArrayLike | None = None) -> None:
        """Close the round of each key without feedback."""
        with self._entered(keys) as (names, slots):
            when, faults = self._batch.moments(slots, time)
            bad = self._judge(names, faults)
        if bad is not None:
            slots, when = slots[~bad[1]], when[~bad[1]]
        self._batch.skip(slots, when)
        self._warn()

    def retire(self, keys: GivenKeys) -> None:
        """Forget these keys; seen again, they begin anew."""
        self._index.remove(self._known(keys))

    def learner(self, key: Hashable) -> Any:
        """A learner of its own with the state of this key."""
        learner = self._kind(**self._config)
        learner.restore(self._batch.state(int(self._known([key])[0])))
        return learner

    def adopt(self, key: Hashable, learner: Any) -> None:
        """Take over the state of a learner, under a new key: the inverse of `learner`."""
        if type(learner) is not self._kind or learner.config != self._config:
            given = f"{type(learner).__name__} {getattr(learner, 'config', '')}"
            raise ValueError(
                f"learner must be a {self._kind.__name__} with {self._config}: got {given}; build"
                " it alike"
            )
        if key in self:
            raise ValueError(f"key must be new: got {key!r}, which the fleet has; retire it first")
        _, slots, _ = self._enter([key])
        self._batch.adopt(int(slots[0]), learner.arrays())

    def arrays(self) -> dict[str, Any]:
        """The state, for saving: keys, and every state array with a row a key."""
        slots = self._index.slots()
        names = self._index.names(slots)
        for key in names if isinstance(names, list) else ():
            if not isinstance(key, str | int):
                raise ValueError(
                    f"keys must be whole numbers or strings to be saved: got {key!r}; name the"
                    " streams so"
                )
        states = self._batch.take(slots).items()
        return {"keys": names, **{f"state.{name}": value for name, value in states}}

    def migrated(self, state: dict[str, Any]) -> dict[str, Any]:
        """A state saved by an older version, as this one would."""
        return migrate_parts({"state.": self._batch}, state)

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`, in a fleet built from the same `config`."""
        new = Fleet(**self.config)
        _, slots, _ = new._enter(state["keys"])
        new._batch.put(slots, under(state, "state."))
        self._index, self._batch = new._index, new._batch

    def _enter(self, keys: GivenKeys) -> tuple[Keys, Slots, Slots]:
        """Keys and their places, new keys' among them, and which places are new."""
        names, slots = self._index.find(keys)
        if len(slots) == 0 or slots.min() >= 0:
            return names, slots, slots[:0]
        more = self._index.missing(slots)
        if more:
            self._make_room(self._index.capacity + more)
        new = self._index.enter(names, slots)
        self._batch.clear(new)
        return names, slots, new

    @contextmanager
    def _entered(self, keys: GivenKeys) -> Iterator[tuple[Keys, Slots]]:
        """Keys and their places, while a call is checked that may be refused."""
        names, slots, new = self._enter(keys)
        try:
            yield names, slots
        except Exception:  # keys met for the first time in a refused call are not kept
            self._index.withdraw(new)
            raise

    def _make_room(self, least: int) -> None:
        """Room for so many keys, and for as many again where that is to be had."""
        for capacity in (max(least, 2 * self._index.capacity), least):
            # more would be granted, and the process killed later
            if capacity * self._batch.bytes_per_key <= allocation.machine_memory():
                with suppress(MemoryError):
                    self._batch.grow(capacity)
                    self._index.grow(capacity)
                    return
        raise ValueError(
            f"keys must fit in memory: got {least}, at {self._batch.bytes_per_key} bytes each and"
            " twice that while arrays grow; retire some, or share them out to several machines"
        )

    def _known(self, keys: GivenKeys) -> Slots:
        names, slots = self._index.find(keys)
        if len(slots) and slots.min() < 0:
            unknown = plain(names, int(np.argmin(slots)))
            raise ValueError(
                f"keys must be in the fleet: got {unknown!r}, which is not; see keys()"
            )
        return slots

    def _judge(
        self, names: Keys, faults: list[Fault]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
        """Raise for the first fault, or note which rows have bad feedback, and which no round."""
        self.rejected = []
        if not faults:
            return None
        unusable, refused = np.zeros(len(names), bool), np.zeros(len(names), bool)
        for fault in faults:
            for row, reason in fault:
                key = plain(names, row)
                if self.on_bad == "raise":
                    raise ValueError(f"{reason} (key {key!r})")
                if not (unusable[row] or refused[row]):
                    self.rejected.append((key, reason))
                (unusable if fault.feedback else refused)[row] = True
        return unusable, refused

    def _warn(self) -> None:
        """Say, once, that plays have stopped growing."""
        if self._batch.saturated and not self._warned:
            self._warned = True
            warnings.warn(
                f"the plays of {self._batch.saturated} keys saturated: their gradients never turn;"
                " give a bounded domain=, such as sp.domains.Ball(radius), or check the sign of"
                " the gradients",
                RuntimeWarning,
                stacklevel=3,
            )

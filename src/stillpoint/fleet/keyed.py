"""States under keys: who is there, what is kept of each, saving, and what a call may not touch."""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core import allocation
from stillpoint.core.codec import encode_fields
from stillpoint.core.learner import Configured, migrate_parts, not_finite_in
from stillpoint.core.registry import in_files
from stillpoint.core.validation import under
from stillpoint.core.warning import warn
from stillpoint.fleet.batch import Batch, Fault
from stillpoint.fleet.keys import KeyIndex, Keys, Slots, plain

GivenKeys = Sequence[Hashable] | NDArray[Any]


class Keyed(Configured):
    """The learners of a fleet by their keys."""

    on_bad: str
    rejected: list[tuple[Any, str]]
    _kind: type[Any]
    _config: dict[str, Any]
    _batch: Batch
    _index: KeyIndex
    _warned: bool

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this fleet anew."""
        raise NotImplementedError(f"{type(self).__name__} has no configuration")

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

    def retire(self, keys: GivenKeys) -> None:
        """Forget these keys; seen again, they begin anew."""
        slots = self._known(keys)
        self._index.remove(slots)
        self._batch.forget(slots)

    def learner(self, key: Hashable) -> Any:
        """A learner of its own with the state of this key."""
        learner = self._kind(**self._config)
        learner.restore(self._batch.state(int(self._known([key])[0])))
        return learner

    def adopt(self, key: Hashable, learner: Any) -> None:
        """Take over the state of a learner, under a new key: the inverse of `learner`."""
        if type(learner) is not self._kind or not self._alike(learner.config):
            given = f"{type(learner).__name__} {getattr(learner, 'config', '')}"
            raise ValueError(
                f"learner must be a {self._kind.__name__} with {self._config}: got {given}; build"
                " it alike"
            )
        if key in self:
            raise ValueError(f"key must be new: got {key!r}, which the fleet has; retire it first")
        with self._entered([key]) as (_, slots):
            self._batch.adopt(int(slots[0]), learner.arrays())

    def _alike(self, config: dict[str, Any]) -> bool:
        """Whether a configuration is the fleet's, learners in it compared by theirs."""
        try:
            ours, theirs = (encode_fields(in_files(self._kind, c)) for c in (self._config, config))
        except ValueError:  # something of the caller's own, which no file has
            return bool(config == self._config)
        return ours == theirs

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
        new = type(self)(**self.config)
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
        try:
            self._batch.clear(new)
        except MemoryError:
            self._index.withdraw(new)
            raise
        return names, slots, new

    @contextmanager
    def _entered(self, keys: GivenKeys) -> Iterator[tuple[Keys, Slots]]:
        """Keys and their places, while a call is checked that may be refused."""
        names, slots, new = self._enter(keys)
        try:
            yield names, slots
        except Exception:  # keys met for the first time in a refused call are not kept
            self._index.withdraw(new)
            self._batch.forget(new)
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
            warn(
                f"the plays of {self._batch.saturated} keys saturated: their gradients never turn;"
                " give a bounded domain=, such as sp.domains.Ball(radius), or check the sign of"
                " the gradients"
            )

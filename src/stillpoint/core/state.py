"""For calls that find out late that they must refuse: the learner goes back to where it was."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, Protocol


class Restorable(Protocol):
    """What has a state."""

    def arrays(self) -> dict[str, Any]:
        """The state."""

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""


@contextmanager
def rollback_on_error(learner: Restorable) -> Iterator[None]:
    """Put the learner back, bit for bit, if what is done inside raises. It costs a copy of its
    state.
    """
    before = deepcopy(learner.arrays())
    try:
        yield
    except BaseException:
        learner.restore(before)
        raise

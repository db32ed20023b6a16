"""What batches of gradient learners share."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.arithmetic import LARGEST, norm
from stillpoint.core.validation import Array, real
from stillpoint.fleet.batch import _base
from stillpoint.fleet.batch.base import REMEDY, Batch, Fault
from stillpoint.fleet.keys import Slots

# the clock of a key before its first round
NEW_CLOCK: dict[str, Any] = {
    "rounds": np.int64(0),
    "time": np.float64(0.0),
    "open": np.False_,
    "started": np.False_,
    "warned": np.False_,
}


class GradientBatch(Batch):
    """States of gradient learners; feedback is one gradient a key."""

    timed = True
    wide = "squares"
    dim: int

    @abstractmethod
    def _states(self) -> Any:
        """The states of all keys, as compiled loops take them."""

    def _grouped(self) -> tuple[Any, _base.Clock]:
        """The states and the clock of all keys, as compiled loops take them."""
        if self._views is None:
            self._views = self._states(), self._group(_base.Clock)
        views: tuple[Any, _base.Clock] = self._views
        return views

    def feedback(self, slots: Slots, given: ArrayLike) -> tuple[tuple[Array, ...], list[Fault]]:
        """Gradients (rows, dim) and their norms; in one dimension (rows,) will do."""
        g = np.array(real("g", given, "pass one gradient a key"), dtype=np.float64, order="C")
        if g.shape == slots.shape and self.dim == 1:
            g = g.reshape(-1, 1)
        if g.shape != (slots.size, self.dim):
            raise ValueError(
                f"g must have shape ({slots.size}, {self.dim}): got shape {g.shape}; pass one row a"
                " key, one value a coordinate"
            )
        sizes = np.empty(slots.size)
        if not _base.usable_norms(g, sizes):
            return (g, sizes), self._above(sizes)

        def what(row: int) -> str:
            if np.isfinite(g[row]).all():
                return (
                    f"g must have norm at most {LARGEST:g}: got norm {norm(g[row])}; rescale the"
                    " losses"
                )
            return f"g must be finite: got {g[row][~np.isfinite(g[row])][0]}; {REMEDY}"

        return (g, sizes), [
            Fault(np.flatnonzero(~np.isfinite(sizes)), what, feedback=True),
            *self._above(sizes),
        ]

    def _above(self, sizes: Array) -> list[Fault]:
        """Gradients that are floats, but larger than the learner assumes."""
        return []

    def skip(self, slots: Slots, when: Array) -> None:
        """Rounds go by."""
        self.open(slots, when, np.zeros(0))
        self.data["open"][slots] = False
        self.data["rounds"][slots] += 1

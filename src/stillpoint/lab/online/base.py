"""What the baselines share: what each assumes, a bound on gradients, and named state."""

from abc import abstractmethod
from copy import copy
from typing import Any, ClassVar

import numpy as np

from stillpoint.core.validation import Array, positive, stored
from stillpoint.learners.base import GradientLearner, check_lipschitz, most
from stillpoint.losses import LossStream
from stillpoint.losses._pointwise import Outputs, Rounds
from stillpoint.potentials import CAP

BLOCK = 65536  # rounds a compiled call: often enough for a progress bar


class Baseline(GradientLearner):
    """A gradient learner from the literature, which ignores the gaps between times.

    Attributes
    ----------
    assumes : tuple of str
        What must be known beforehand for the guarantee: T (rounds), G (bound on ‖g‖), D (size of
        the domain), …
    observed : int
        Rounds that came with a gradient: the t of the algorithm.
    """

    assumes: tuple[str, ...] = ()
    _fields: ClassVar[tuple[str, ...]] = ()  # attributes, arrays or numbers, that make up the state

    def __init__(self, dim: int, *, lipschitz: float | None = None) -> None:
        super().__init__(dim)
        self.lipschitz = (
            None
            if lipschitz is None
            else positive("lipschitz", lipschitz, "give the largest gradient norm")
        )
        self._limit = CAP if self.lipschitz is None else most(self.lipschitz)
        self.observed = 0

    @property
    def _may_refuse_time(self) -> bool:
        return False

    def _check_gradient(self, g: Array, size: float) -> None:
        check_lipschitz(self.lipschitz, size)
        if size > self._limit:
            raise ValueError(
                f"g must have a norm whose square is a number: got norm {size}; rescale the losses"
            )

    def _learn(self, g: Array, play: Array) -> None:
        self.observed += 1
        self._step(g, play)

    @abstractmethod
    def _step(self, g: Array, play: Array) -> None:
        """Take in the gradient of the open round, the `observed`-th."""

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        own = {name[1:]: copy(getattr(self, name)) for name in self._fields}
        return {**super().arrays(), "observed": self.observed, **own}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        self.observed = int(state["observed"])
        for name in self._fields:
            old = getattr(self, name)
            shape = self._shape(name, old) if isinstance(old, np.ndarray) else ()
            setattr(
                self, name, stored(state, name[1:], *shape) if shape else type(old)(state[name[1:]])
            )

    def _shape(self, name: str, array: Array) -> tuple[int | None, ...]:
        """What shape a saved array must have; None for lengths that change with the rounds."""
        return array.shape

    def _play_block(
        self, losses: LossStream, times: Array, first: int, out: dict[str, Array]
    ) -> int:
        """Play a block of rounds in compiled code; see `GradientLearner._play_block`."""
        played = self._play_rounds(*block(losses, first, out))
        return self._after_block(int(played), times, first, out)

    def _play_rounds(self, rounds: Rounds, results: Outputs) -> int:
        """Play rounds in compiled code, for learners that `_can_compile`; returns how many."""
        raise NotImplementedError(f"{type(self).__name__} has no compiled form")

    def _after_block(self, played: int, times: Array, first: int, out: dict[str, Array]) -> int:
        """Account for `played` compiled rounds; see `GradientLearner._finish_block`."""
        self.observed += played
        return self._finish_block(times, first, played, min(BLOCK, times.size - first), out)


def block(losses: LossStream, first: int, out: dict[str, Array]) -> tuple[Rounds, Outputs]:
    """The block of rounds from `first` on, and where its results go, for compiled loops."""
    rows = slice(first, first + BLOCK)
    results = (out[name][rows] for name in Outputs._fields)
    return losses.compiled.part(rows), Outputs(*results)

"""What the conformal baselines share: a coverage, and radii for scores."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.learner import Configured
from stillpoint.core.validation import Array, finite, nonnegative, number

_REMEDY = "pass |y − forecast|"


class RadiusTracker(Configured, ABC):
    """A radius per round: `predict()`, then `update(score)` with the score s = |y − forecast|.

    A miss is s > radius.

    Parameters
    ----------
    coverage
        The share of scores to cover.

    Attributes
    ----------
    assumes : tuple of str
        What must be known beforehand to do well.
    """

    assumes: tuple[str, ...] = ()
    _given: ClassVar[tuple[str, ...]] = ()  # arguments beside coverage
    _fields: ClassVar[tuple[str, ...]] = ("_state",)  # arrays that are the state

    def __init__(self, coverage: float) -> None:
        self.coverage = number("coverage", coverage, "give a number between 0 and 1, such as 0.9")
        if not 0.0 < self.coverage < 1.0:
            raise ValueError(
                f"coverage must be between 0 and 1: got {coverage!r}; give a share such as 0.9"
            )

    @abstractmethod
    def predict(self) -> float:
        """The radius of the coming round."""

    def update(self, score: float) -> None:
        """What the round turned out to be."""
        self._rounds(np.array([nonnegative("score", score, _REMEDY)]))

    def track(self, scores: ArrayLike) -> Array:
        """Radii (T,) for scores (T,): predict and update in turn, compiled."""
        given = np.ascontiguousarray(finite("scores", scores))
        if np.ndim(scores) != 1:
            raise ValueError(
                f"scores must be one-dimensional: got shape {np.shape(scores)}; pass one score a"
                " round"
            )
        if (given < 0.0).any():
            raise ValueError(f"scores must not be negative: got {given.min()}; {_REMEDY}")
        return self._rounds(given)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this tracker anew."""
        return {name: getattr(self, name) for name in ("coverage", *self._given)}

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {name[1:]: getattr(self, name).copy() for name in self._fields}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        for name in self._fields:
            getattr(self, name)[:] = state[name[1:]]

    @abstractmethod
    def _rounds(self, scores: Array) -> Array:
        """Radii of whole rounds; the state moves on."""

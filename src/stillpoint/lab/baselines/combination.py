"""What meta learners share: the play is a weighted mean of the learners' plays.

Their losses are ⟨g_t, x_{t,i}⟩. The range of these losses need not be known: B_t, the largest so
far, is the hint for the next, and larger losses are shrunk to it (Cutkosky 2019); that costs at
most the largest range, as Σ_t(range_t − B_t)₊ telescopes.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core import learner
from stillpoint.core.arithmetic import dot
from stillpoint.core.learner import not_finite_in
from stillpoint.core.validation import Array, finite, nonnegative, positive
from stillpoint.lab.online.base import Baseline
from stillpoint.learners.base import GradientLearner


class Combination(Baseline):
    """A mixture of gradient learners that all get the gradient at the mixture's play.

    Parameters
    ----------
    learners
        New ones, of one dimension; they belong to the combination from here on.
    prior
        One positive weight per learner (default: equal ones); only their ratios count.
    loss_range
        The range of ⟨g_t, x_i⟩ over the learners, if known; larger ones are learnt.
    """

    _fields: ClassVar[tuple[str, ...]] = ("_hint", "_least")

    def __init__(
        self,
        learners: Sequence[GradientLearner],
        *,
        prior: ArrayLike | None = None,
        loss_range: float = 0.0,
    ) -> None:
        self.learners = tuple(learners)
        if not self.learners or not all(
            isinstance(each, GradientLearner) for each in self.learners
        ):
            raise ValueError(
                f"learners must be gradient learners, one or more: got {learners!r}; pass a list of"
                " them"
            )
        if len({id(each) for each in self.learners}) < len(self.learners):
            raise ValueError(
                f"learners must be different objects: got {learners!r}; build each anew"
            )
        dims = {each.dim for each in self.learners}
        if len(dims) > 1:
            raise ValueError(
                f"learners must have one dimension: got {sorted(dims)}; build them alike"
            )
        used = next((each for each in self.learners if each.rounds or each._is_open), None)
        if used is not None:
            raise ValueError(
                f"learners must be new: got one after {used.rounds} rounds; build it anew"
            )
        super().__init__(dims.pop())
        weights = np.ones(len(self.learners)) if prior is None else finite("prior", prior)
        if weights.shape != (len(self.learners),) or (weights <= 0.0).any():
            raise ValueError(
                f"prior must have {len(self.learners)} positive values: got {prior!r}; give one a"
                " learner"
            )
        self.prior: Array = weights / weights.sum()
        self._given_prior = None if prior is None else tuple(weights.tolist())
        # one may refuse after others have learnt
        self._may_refuse_gradient = any(each._may_refuse_gradient for each in self.learners)
        self.loss_range = nonnegative("loss_range", loss_range)
        self._hint = self.loss_range  # B_t
        self._least = self.loss_range  # the first hint that was not 0
        self._mixed: Array | None = None  # the weights of the open round, where at hand
        self._start()

    def _start(self) -> None:
        """Set up what weights are made of, once the learners and their prior are known."""

    @property
    def _may_refuse_time(self) -> bool:
        return any(each._may_refuse_time for each in self.learners)

    @property
    def _may_refuse_late(self) -> bool:  # type: ignore[override]
        # one may refuse a round that others have opened
        return any(each._may_refuse_time or each._may_refuse_late for each in self.learners)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew, once each of the learners is."""
        return {
            "learners": self.learners,
            "prior": self._given_prior,
            "loss_range": self.loss_range,
        }

    @property
    def _not_finite(self) -> frozenset[str]:
        return frozenset().union(
            *(not_finite_in(f"{i}.", each) for i, each in enumerate(self.learners))
        )

    def arrays(self) -> dict[str, Any]:
        """The state, for saving: the learners' under their number."""
        nested = {
            f"{i}.{key}": value
            for i, each in enumerate(self.learners)
            for key, value in each.arrays().items()
        }
        return {**super().arrays(), **nested}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        self._mixed = None
        for i, each in enumerate(self.learners):
            mark = f"{i}."
            each.restore(
                {key[len(mark) :]: value for key, value in state.items() if key.startswith(mark)}
            )

    def migrated(self, state: dict[str, Any]) -> dict[str, Any]:
        """A state saved by an older version, as this one would."""
        return learner.migrate_parts({f"{i}.": each for i, each in enumerate(self.learners)}, state)

    def skip(self) -> None:
        """Close the round without feedback, for every learner."""
        super().skip()
        for each in self.learners:
            each.skip()

    @property
    @abstractmethod
    def weights(self) -> Array:
        """The weights of the learners in the coming round, or the open one; they sum to 1."""

    @abstractmethod
    def _weigh(self, losses: Array, mean: float) -> None:
        """Learn from the learners' losses, of range at most the hint, and their weighted mean."""

    def _propose(self, time: float) -> Array:
        plays = np.array([each._begin(time) for each in self.learners])
        self._mixed = weights = self.weights
        return np.asarray((weights[:, None] * plays).sum(axis=0))

    def _check_gradient(self, g: Array, size: float) -> None:
        super()._check_gradient(g, size)
        for each in self.learners:
            each._check_gradient(g, size)

    def _step(self, g: Array, play: Array) -> None:
        losses = np.array([dot(g, each._answer) for each in self.learners])
        spread = float(losses.max() - losses.min())
        if self._hint > 0.0:
            fed = losses * min(1.0, self._hint / spread) if spread > 0.0 else losses
            weights = self.weights if self._mixed is None else self._mixed
            self._weigh(fed, float(dot(weights, fed)))
        self._note(spread)
        for each in self.learners:
            each._end(g.copy())  # `update`, less the checks that `_check_gradient` has made

    def _note(self, spread: float) -> None:
        """Learn how far losses range."""
        self._hint = max(self._hint, spread)
        self._least = self._least if self._least > 0.0 else spread

    def _index(self, index: int) -> int:
        if not isinstance(index, int | np.integer) or not 0 <= index < len(self.learners):
            raise ValueError(
                f"index must be that of a learner, 0 to {len(self.learners) - 1}: got {index!r};"
                " count from 0"
            )
        return int(index)

    @property
    def _excess(self) -> float:
        """What shrinking has cost at most: Σ_t(range_t − B_t)₊."""
        return self._hint - self.loss_range


class FixedRange(Combination):
    """A combination that must be told the range of losses; what lies beyond is shrunk to it.

    The arguments are those of `Combination`, with a `loss_range` above 0.
    """

    assumes: tuple[str, ...] = ("the range of losses",)
    _fields: ClassVar[tuple[str, ...]] = (*Combination._fields, "_beyond")

    def __init__(
        self,
        learners: Sequence[GradientLearner],
        *,
        loss_range: float,
        prior: ArrayLike | None = None,
    ) -> None:
        super().__init__(
            learners, prior=prior, loss_range=positive("loss_range", loss_range, "give GD, say")
        )

    def _start(self) -> None:
        super()._start()
        self._beyond = 0.0  # Σ(range_t − B)₊

    def _note(self, spread: float) -> None:
        self._beyond += max(spread - self._hint, 0.0)

    @property
    def _not_finite(self) -> frozenset[str]:
        return super()._not_finite | {"beyond"}

    @property
    def _excess(self) -> float:
        return self._beyond

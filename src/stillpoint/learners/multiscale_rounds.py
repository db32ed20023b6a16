"""Rounds of MultiScale one by one: compiled code gets one array, of which the state is parts."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array
from stillpoint.learners import _multiscale_round as single
from stillpoint.learners._constrained import Rule
from stillpoint.learners.constrained import ConstrainedLearner
from stillpoint.memory.levels import LevelMemory
from stillpoint.potentials import CAP

_FLOAT = np.dtype(np.float64)
_PARTS = frozenset({"_plan", "_held", "_round", "_play", "_given"})


class MultiScaleRounds(ConstrainedLearner):
    """Opens, closes and copies rounds of MultiScale, which says what is known of them.

    Attributes
    ----------
    memory : LevelMemory
        What the levels were fed.
    """

    memory: LevelMemory
    _true: LevelMemory | None  # of the true gradients, where they are not what levels are fed
    _parameters: Array  # of the potential
    _coefficients: Array  # m(S_j, V_j)/S_j of the last round's levels
    _round: single.Round | None = None  # the arrays that a round is about, parts of one

    def _lay(self) -> None:
        """Lay all that a round reads and writes into one array, where that is not so already.

        The state's arrays are parts of it: compiled code gets the one, not each of them.
        """
        memory, true = self.memory, self._true
        if self._round is None or not (
            memory.squares is self._round.levels.squares
            and (true is None or true.squares is self._round.true.squares)
        ):
            count = memory.rates.size
            self._plan, self._held, self._round = laid = lay(
                self.dim,
                count,
                0 if true is None else count,
                self._rule,
                not self._free,
                self._parameters,
            )
            parts = laid[-1]
            for into, own in zip(parts.own, self._state, strict=True):
                into[:] = own
            self._scalars, self._proposal, self._inner = parts.own
            known = parts.coefficients[: self._coefficients.size]
            known[:] = self._coefficients
            self._coefficients = known  # those of levels that just started come with their round
            self._play, self._given = parts.play, parts.given
            memory.lay(parts.levels)
            if true is not None:
                true.lay(parts.true)
            self._gap = np.nan
        if self._is_open:
            self._play[:] = self._answer

    def __getstate__(self) -> dict[str, Any]:
        # pickles and deep copies do not keep that one array is a part of another
        return {name: value for name, value in vars(self).items() if name not in _PARTS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._round = None
        self._lay()

    def _open(self, when: float, x: None) -> Array:
        memory, true = self.memory, self._true
        gap = when - memory.time
        if gap != self._gap or when >= memory.next_start:
            decays = memory.move(when)
            if true is not None:
                true.move(when)
            self._lay()
            assert self._round is not None
            self._round.factors[:], self._gap = decays, gap
            self._coefficients = self._round.coefficients
        memory.time = when
        if true is not None:
            true.time = when
        if single.open_round(self._plan, self._held) and self._rule.unbounded:
            self._warn_saturated(CAP)
        if not self._compiled:
            self._play[:] = self.domain.project(self._inner)
        return self._play

    def update(self, g: ArrayLike, time: float | None = None) -> None:
        """Learn from a subgradient at the play of the open round, as every learner."""
        # what most calls are like: checked and learnt from at once
        if (
            self._is_open
            and time is None
            and type(g) is np.ndarray
            and g.dtype is _FLOAT
            and g.shape == (self.dim,)
            and self._try_learn(g)
        ):
            self._closed()
        else:
            super().update(g, time)

    def _try_learn(self, g: Array) -> bool:
        """Learn from g, or return False if it cannot be taken: then nothing has changed."""
        self._given[:] = g
        taken, linear, total, true = single.close_round(self._plan, self._held)
        if taken:
            self.ledger.linear_loss += linear
            self.memory.squared_norm = total
            if self._true is not None:
                self._true.squared_norm = true
        return taken

    def _close(self, feedback: Array | None) -> None:
        if feedback is not None:
            self._try_learn(feedback)


def lay(
    dim: int, levels: int, true: int, rule: Rule, constrained: bool, potential: Array
) -> tuple[single.Numbers, Array, single.Round]:
    """Make plan and array of rounds with so many levels, and the parts of it; the state is 0."""
    plan = np.array(
        single.Plan(
            dim,
            levels,
            true,
            rule.fixed,
            rule.scale_free,
            rule.ball,
            constrained,
            rule.domain.kind,
            rule.domain.parameters.size,
            potential.size,
        ),
        dtype=np.int64,
    )
    held = zeros(single.length(plan))
    laid = single.parts(plan, held)
    laid.limits[:] = rule.limit, rule.radius_scale
    laid.domain[:], laid.potential[:] = rule.domain.parameters, potential
    return plan, held, laid

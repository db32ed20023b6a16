"""Rounds at equal gaps in O(P): Chandrasekhar's form of the filter for mixtures of exponentials.

At equal gaps of a stationary kernel the covariance falls by a matrix of rank one a round, LL'/S,
and its product with the direction that is observed, g = C h, follows without the covariance itself
(Morf, Sidhu & Kailath, Some new algorithms for recursive estimation, 1974).
"""

from typing import Any

import numpy as np

from stillpoint.beliefs._kalman import SUM, Moves
from stillpoint.beliefs.belief import SharedBelief
from stillpoint.core.validation import Array, stored
from stillpoint.forecasters import _vaw

BLOCK = 65536  # rounds a compiled call
EVEN = 1e-9  # part of a gap that gaps may differ by: forecasts then differ by less
SMALLEST_RIDGE = 1e-6  # of k(t, t): below it the form loses digits


class UniformGrid:
    """The gains of a filter whose rounds are all `gap` apart, without its covariance."""

    def __init__(self, belief: SharedBelief, gap: float, ridge: float) -> None:
        self.belief, self.gap, self.ridge = belief, gap, ridge
        space = belief.space
        space.check_gap(gap)
        self.fall = space.transition(gap)[0]
        g = space.gain(0.0)
        self.gains = np.stack([g, self.fall * g, g, self.fall * g])
        self.scalars = np.full(2, g @ space.h + space.nugget(0.0))
        self.rounds = 0

    @classmethod
    def fits(cls, belief: SharedBelief, ridge: float) -> bool:
        """Whether kernel and ridge are in the form's scope; on two components it gains nothing."""
        space = belief.space
        scale = float(space.gain(0.0) @ space.h) if space.stationary else np.inf
        return (
            space.diagonal
            and space.stationary
            and space.size > 2
            and ridge >= SMALLEST_RIDGE * scale
        )

    def regular(self, times: Array, before: float) -> bool:
        """Whether times go on from `before` at the grid's gap, but for rounding."""
        gaps = np.diff(times, prepend=before) if np.isfinite(before) else np.diff(times)
        return bool((np.abs(gaps - self.gap) <= EVEN * self.gap).all())

    def play(self, Y: Array, totals: Array, forecasts: Array) -> None:
        """Forecast and learn the rows of Y."""
        # before the first round M is 0, so that moving it changes nothing
        _vaw.grid_rounds(
            self.gains,
            self.scalars,
            self.belief.M,
            self.belief.space.h,
            self.fall,
            self.ridge,
            Y,
            totals,
            forecasts,
        )
        self.rounds += len(Y)

    def settle(self) -> None:
        """Bring the belief's covariances to the present, by the recursion without data.

        O(P²) a round of the past, once, when the grid is left; all rounds together never cost more
        than without the grid.
        """
        belief, space = self.belief, self.belief.space
        state = belief.state
        state.covariance[:] = state.spread[:] = space.covariance(0.0)
        without = state._replace(mean=np.empty((space.size, 0)))
        falls, kicks = self.fall[None], np.diag(space.noise(self.gap, 0.0)).copy()[None]
        for first in range(0, self.rounds, BLOCK):
            size = min(BLOCK, self.rounds - first)
            which = np.zeros(size, dtype=np.int64)
            which[0] = 0 if first else -1
            moves = Moves(falls, kicks, which, np.full(size, space.nugget(0.0)))
            none = np.empty((size, 0))
            totals = np.zeros(len(SUM))
            _vaw.diagonal_rounds(without, space.h[None], self.ridge, moves, none, totals, none)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {
            "gap": self.gap,
            "gains": self.gains.copy(),
            "scalars": self.scalars.copy(),
            "rounds": self.rounds,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`; the gap is given at construction."""
        self.gains[:] = stored(state, "gains", *self.gains.shape)
        self.scalars[:] = stored(state, "scalars", self.scalars.size)
        self.rounds = int(state["rounds"])

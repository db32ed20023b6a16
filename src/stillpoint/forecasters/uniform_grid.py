"""Rounds at equal gaps in O(P): Chandrasekhar's form of the filter for mixtures of exponentials
(KALMAN section 7c).
"""

from typing import Any

import numpy as np

from stillpoint.beliefs._kalman import TOTALS
from stillpoint.beliefs.belief import SharedBelief
from stillpoint.core.validation import Array, stored
from stillpoint.forecasters import _vaw

BLOCK = 65536  # rounds a compiled call
EVEN = 1e-9  # part of a gap that gaps may differ by: forecasts then differ by less
SMALLEST_RIDGE = 1e-6  # of k(t, t): below it the form loses digits (KALMAN section 7b)


class UniformGrid:
    """The gains of a filter that has seen `rounds` rounds, all `gap` apart: what the covariance is
    needed for, without it.
    """

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
        """Whether the belief's kernel and ridge are in the form's scope; for one or two components
        it gains nothing.
        """
        space = belief.space
        scale = float(space.gain(0.0) @ space.h) if space.stationary else np.inf
        return (
            space.diagonal
            and space.stationary
            and space.size > 2
            and ridge >= SMALLEST_RIDGE * scale
        )

    def regular(self, times: Array, before: float) -> bool:
        """Whether times go on from `before` at the grid's gap: rounding of the times may show, but
        not in the forecasts.
        """
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
        """Bring the belief's covariances to the present: they do not depend on the data, so the
        recursion is run without any.

        O(P²) a round of the past, once, when the grid is left; all rounds together never cost more
        than without the grid.
        """
        belief, P = self.belief, self.belief.space.size
        assert belief.spread is not None
        belief.C[:] = belief.spread[:] = belief.space.covariance(0.0)
        falls, kicks = self.fall[None], np.diag(belief.space.noise(self.gap, 0.0))[None]
        nugget = belief.space.nugget(0.0)
        for first in range(0, self.rounds, BLOCK):
            size = min(BLOCK, self.rounds - first)
            which = np.zeros(size, dtype=np.int64)
            which[0] = 0 if first else -1
            _vaw.diagonal_rounds(
                belief.C,
                np.empty((P, 0)),
                belief.spread,
                belief.space.h[None],
                self.ridge,
                falls,
                kicks,
                which,
                np.full(size, nugget),
                np.empty((size, 0)),
                np.zeros(TOTALS),
                np.empty((size, 0)),
            )

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
        self.gains[:], self.scalars[:] = (
            stored(state, "gains", *self.gains.shape),
            stored(state, "scalars", self.scalars.size),
        )
        self.rounds = int(state["rounds"])

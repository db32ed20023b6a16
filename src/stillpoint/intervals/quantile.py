"""QuantileTracker: the moving quantile of a signed stream, with its share guaranteed on every
stream (TRACKING section 4).

Experts play centre + multiple·spread, both averaged over a memory, or step on hits and misses
alone; aggregation and guard are those of IntervalTracker. The pinball loss and its steps are
quantile tracking's (Gibbs & Candès 2021).
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array
from stillpoint.intervals import _bands
from stillpoint.intervals._experts import MISSES
from stillpoint.intervals.experts import Lanes, Levels, shares, value, values

_MEAN = 0.798  # E|z| of a standard normal z, as TRACKING section 4 has it


class QuantileTracker(Lanes):
    """q̂_t, to be exceeded by a share 1 − level of the targets: `predict()`, then `update(y)`.
    Nothing to tune; O(1) a round.

    level: the share of targets to lie at or below q̂, or several in increasing order: then q̂ is an
    array, and never decreases along it. From the level nearest ½ outward, a quantile that would
    cross the one before is moved out to it.

    Guarantee, on any stream: with α = 1 − level, D = #{y > q̂} − αT after T targets, not counting
    the first, and h(T) = 3√(level·α·(T + 100)), −h(T) − α ≤ D ≤ h(T) + 1 − α. The guard plays ∞
    while D ≥ h and −∞ while D ≤ −h. With several levels both bounds hold for the level nearest ½,
    for levels above it the upper one, for those below it the lower one: tails are never fuller than
    promised.

    Quantiles follow shifts and units of the stream; q̂ is 0 before the first target, and that
    target until another one differs.
    """

    def __init__(self, level: Levels = 0.9) -> None:
        self._level = shares("level", level)
        levels = np.array(self._level)
        if (np.diff(levels) <= 0.0).any():
            raise ValueError(f"level must increase: got {self._level}; sort the levels")
        super().__init__(levels, ndtri(levels) / _MEAN, np.ndim(level) > 0)
        self._pivot = int(np.argmin(np.abs(levels - 0.5)))
        self._values = zeros(levels.size)

    @property
    def _not_finite(self) -> frozenset[str]:
        return frozenset({"values"})  # the guard may play infinities

    def predict(self) -> Any:
        """The quantile of the coming round, or one a level; called again before `update` it is the
        same.
        """
        if not self._open:
            _bands.open_quantiles(self._pivot, self._levels, *self._state(), self._values)
            self._open = True
        return self._shape(self._values)

    def update(self, y: float) -> None:
        """What the round turned out to be."""
        target = value("y", y, "call skip() for a missing target")
        self.predict()
        state = self._experts, self._books, self._scalars, self._values
        _bands.close_quantiles(target, self._levels, self._firsts, *state)
        self._close()

    def track(self, y: ArrayLike) -> Array:
        """Quantiles for whole rounds, (T,) or (T, levels), those of `predict` and `update` bit for
        bit; NaN is a missing one.
        """
        targets = values("y", y, missing=True)
        if self._open:
            raise ValueError(
                "y must begin with a new round: got a stream while one is open; call update or skip"
                " first"
            )
        out = np.empty((targets.size, self._values.size))
        _bands.quantile_stream(
            targets, out, self._pivot, self._levels, self._firsts, *self._state(), self._values
        )
        self.rounds += targets.size
        return out if self._several else out[:, 0]

    @property
    def level(self) -> Any:
        """The share of targets to lie at or below, or several."""
        return self._level if self._several else self._level[0]

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this tracker anew."""
        return {"level": self.level}

    @property
    def weights(self) -> Array:
        """Weights of the experts in the open round or the coming one: (9,), or (levels, 9).

        Experts with memories 2, 5, 15, 50, 200 and 1000 come first, then sign experts with steps
        0.05, 0.15 and 0.5.
        """
        return self._weigh() if self._several else np.array(self._weigh()[0])

    @property
    def misses(self) -> Any:
        """Targets above their quantile so far, not counting the first."""
        missed = self._scalars[:, MISSES]
        return missed.astype(int) if self._several else int(missed[0])

    @property
    def coverage_so_far(self) -> Any:
        """The share of targets at or below their quantile so far; 1 before the first."""
        return self._shape(1.0 - self._scalars[:, MISSES] / max(self.seen, 1))

    def miss_bound(self) -> tuple[Any, Any]:
        """The theorem as of now: (least, most) targets above q̂ so far, whatever the stream; 0 and
        T promise nothing.
        """
        least, most = self._promise()
        least[self._pivot + 1 :] = 0.0
        most[: self._pivot] = self.seen
        return self._shape(least), self._shape(most)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {**super().arrays(), "values": self._values.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        self._values[:] = state["values"]

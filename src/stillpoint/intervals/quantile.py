"""QuantileTracker: the moving quantile of a signed stream, with its share on every stream."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array, waiting
from stillpoint.intervals import _quantile
from stillpoint.intervals._experts import AT
from stillpoint.intervals.base import Levels, QuantileEstimators, shares, value, values

_MEAN = 0.798  # E|z| of a standard normal z, for which an estimator begins


class QuantileTracker(QuantileEstimators):
    """The moving quantile q̂_t of a stream, exceeded by a share 1 − level of the targets.

    `predict()` gives q̂_t, `update(y)` learns. Nothing to tune; a round costs O(1).

    Parameters
    ----------
    level : float or sequence of floats, default 0.9
        The share of targets to lie at or below q̂. With several, in increasing order, q̂ is an array
        that never decreases: from the level nearest ½ outward, a quantile that would cross the one
        before is moved out to it.

    Notes
    -----
    On any stream, D = #{y > q̂} − αT after T targets, not counting the first, satisfies

        −h(T) − α ≤ D ≤ h(T) + 1 − α,   α = 1 − level,   h(T) = 3√(level·α·(T + 100)).

    A guard plays ∞ while D ≥ h and −∞ while D ≤ −h, and pushes gently before. With several levels
    both bounds hold for the level nearest ½, for levels above it the upper one, for those below it
    the lower one: tails are never fuller than promised.

    Nine experts play centre + multiple·spread, both averaged over a memory, or step on hits and
    misses alone; aggregation and guard are those of IntervalTracker. The pinball loss and its steps
    are quantile tracking's (Gibbs & Candès 2021).

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
        # compiled code for single rounds gets arrays one by one
        self._opening = self._pivot, *self._estimators, self._weights, self._values
        self._closing = *self._estimators, self._values

    @property
    def _not_finite(self) -> frozenset[str]:
        return frozenset({"values"})  # the guard may play infinities

    def predict(self) -> Any:
        """Return the quantile of the coming round, or one per level.

        Called again before `update` it is the same.
        """
        self._begin()
        return self._shape(self._values)

    def _open(self, when: float, x: None) -> None:
        _quantile.predict(*self._opening)

    def update(self, y: float) -> None:
        """Learn the target of the round."""
        target = value("y", y, "call skip() for a missing target")
        self._begin()
        self._end(target)

    def _close(self, feedback: float | None) -> None:
        if feedback is not None:
            _quantile.update(feedback, *self._closing)

    def track(self, y: ArrayLike, *, delay: int = 0, first: int = 0) -> Array:
        """Return the quantiles of whole rounds, bit for bit those of single calls.

        Parameters
        ----------
        y : array-like of shape (T,)
            Targets; NaN is a missing one.
        delay : int, default 0
            How many rows later a target is known. Row t gets its quantile from what rows up to
            t − delay − 1 taught; then row t − delay is learnt. The last `delay` targets are not
            learnt yet.
        first : int, default 0
            Rows in front that have had their quantiles in an earlier call: to go on after a delay,
            pass those whose targets were not learnt yet again.

        Returns
        -------
        Array of shape (T − first,), or (T − first, levels) where several were asked for.
        """
        targets = values("y", y, missing=True)
        delay, first = waiting(delay, first, targets.size)
        if self._is_open:
            raise ValueError(
                "y must begin with a new round: got a stream while one is open; call update or skip"
                " first"
            )
        out = np.empty((targets.size - first, self._values.size))
        state = _quantile.State(self._estimators, self._values)
        _quantile.track(targets, delay, first, self._pivot, state, self._weights, out)
        self._learnt(max(targets.size - delay, 0))
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
    def _misses(self) -> Array:
        misses: Array = self._estimators.scalars[:, AT.misses]
        return misses

    @property
    def misses(self) -> Any:
        """Targets above their quantile so far, not counting the first."""
        return self._misses.astype(int) if self._several else int(self._misses[0])

    @property
    def coverage_so_far(self) -> Any:
        """The share of targets at or below their quantile so far; 1 before the first."""
        return self._shape(1.0 - self._misses / max(self.seen, 1))

    def miss_bound(self) -> tuple[Any, Any]:
        """Return the theorem as of now: (least, most) targets above q̂ so far, on any stream.

        0 and T promise nothing.
        """
        least, most = self._promise()
        least[self._pivot + 1 :] = 0.0
        most[: self._pivot] = self.seen
        return self._shape(least), self._shape(most)

    def _parts(self) -> dict[str, Array]:
        return {**super()._parts(), "values": self._values}

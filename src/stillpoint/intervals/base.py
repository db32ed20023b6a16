"""What interval and quantile trackers share: quantile estimators, their state, and the theorem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core._poly import REGRETS, WEIGHTS, weigh
from stillpoint.core.allocation import zeros
from stillpoint.core.arithmetic import LARGEST
from stillpoint.core.learner import Learner
from stillpoint.core.state import put_back, saved
from stillpoint.core.validation import Array, number, real
from stillpoint.intervals import _experts, _guard
from stillpoint.intervals._experts import AIM, AT, EXPERTS

Levels = float | Sequence[float]
# of a level and of what it leaves: past it the share of misses is below what a stream can show
_LEAST = 1e-6


class QuantileEstimators(Learner):
    """One quantile estimator per level, and the round that is open.

    Parameters
    ----------
    levels : array of shape (estimators,)
        The share that each estimator is to cover.
    firsts : array of shape (estimators,)
        Quantile over mean size to begin with; for scores its logarithm.
    several : bool
        Whether answers are arrays, one entry per share that was asked for, or numbers.
    """

    def __init__(self, levels: Array, firsts: Array, several: bool) -> None:
        super().__init__()
        size = levels.size
        self._estimators = _experts.State(
            aims=np.column_stack([levels, firsts]),
            experts=zeros((size, len(_experts.ROW), EXPERTS)),
            regrets=zeros((size, len(REGRETS), EXPERTS)),
            scalars=zeros((size, len(AT))),
        )
        self._weights = zeros((size, len(WEIGHTS), EXPERTS))  # room, for every round anew
        self._several = several

    @property
    def is_open(self) -> bool:
        """Whether a round has been predicted and awaits its target."""
        return self._is_open

    @property
    def seen(self) -> int:
        """Targets that count, the T of the theorem.

        All of them, or for quantiles all but the first, which sets the level.
        """
        return int(self._estimators.scalars[0, AT.seen])

    def skip(self) -> None:
        """Pass a round whose target is missing: nothing is learnt, and coverage does not change."""
        if not self._is_open:  # with nothing to answer, nothing has to be computed
            self._opened(self._coming(None), None)
        self._end(None)

    def _learnt(self, rounds: int) -> None:
        """Note that compiled code has played so many rounds."""
        self.rounds += rounds
        self.time += rounds
        self._started |= rounds > 0

    def _shape(self, value: Array) -> Any:
        return value.copy() if self._several else value.item(0)

    def _weigh(self) -> Array:
        """Weights (estimators, experts) of the open round or the coming one."""
        s = self._coming_estimators
        for regrets, scalars, weights in zip(s.regrets, s.scalars, self._weights, strict=True):
            weigh(regrets, scalars[AT.record], scalars[AT.learned], weights)
        return np.array(self._weights[:, WEIGHTS.blend])

    @property
    def _coming_estimators(self) -> _experts.State:
        return self._estimators

    def _promise(self) -> tuple[Array, Array]:
        """Misses of each estimator by the theorem, at least and at most."""
        T = float(self.seen)
        least, most = promise(self._estimators.aims[:, AIM.level], T)
        return np.maximum(least, 0.0), np.minimum(most, T)

    def _parts(self) -> dict[str, Array]:
        """The arrays that are saved, by their names in files."""
        s = self._estimators
        # "books" is what files have called the regrets from the first version on
        return {"experts": s.experts, "books": s.regrets, "scalars": s.scalars}

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {"rounds": self.rounds, "open": self._is_open, **saved(self._parts())}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`; ValueError, and nothing is written, where it cannot be."""
        put_back(self._parts(), state)
        self.rounds, self._is_open = int(state["rounds"]), bool(state["open"])
        self.time = float(self.rounds + self._is_open)
        self._started = self.time > 0.0


def promise(levels: ArrayLike, T: ArrayLike) -> tuple[Array, Array]:
    """Least and most misses after T targets, whatever the stream.

    Notes
    -----
    αT − h(T) − α ≤ misses ≤ αT + h(T) + 1 − α, with α = 1 − level and
    h(T) = 3√(level·α·(T + 100)).
    """
    q, seen = np.asarray(levels, dtype=np.float64), np.asarray(T, dtype=np.float64)
    alpha = 1.0 - q
    h = _guard.WIDTH * np.sqrt(q * alpha * (seen + _guard.HEAD))
    return alpha * seen - h - alpha, alpha * seen + h + 1.0 - alpha


def both_ends(rows: Array, several: bool) -> tuple[Array, Array]:
    """Return lo and hi of intervals (rows, 2, coverages), for one coverage without that axis."""
    return (rows[:, 0], rows[:, 1]) if several else (rows[:, 0, 0], rows[:, 1, 0])


def shares(name: str, value: Any) -> tuple[float, ...]:
    """One share, or several, as floats well inside (0, 1)."""
    remedy = "give numbers between 0 and 1, such as 0.9"
    values = np.atleast_1d(real(name, value, remedy))
    if values.ndim != 1 or not values.size:
        raise ValueError(
            f"{name} must be a number or a list of numbers: got shape {values.shape}; {remedy}"
        )
    for share in values:
        if not _LEAST <= share <= 1.0 - _LEAST:
            raise ValueError(
                f"{name} must be between {_LEAST:g} and 1 − {_LEAST:g}: got {share}; {remedy}"
            )
    return tuple(values.tolist())


def value(name: str, given: Any, remedy: str) -> float:
    """Return `given` as a float whose products with an estimator's factors are floats."""
    if isinstance(given, (str, bytes)):
        raise ValueError(f"{name} must be a number: got {given!r}; convert it first")
    result = number(name, given, remedy)
    if abs(result) > LARGEST:
        raise ValueError(f"{name} must be within ±{LARGEST:g}: got {given!r}; rescale the stream")
    return result


def values(name: str, given: ArrayLike, missing: bool) -> Array:
    """Return `given` as a vector, one entry a round; NaN in it where that is allowed."""
    remedy = "pass one number a round" + (", NaN for a missing one" if missing else "")
    result = np.ascontiguousarray(real(name, given, remedy))
    if np.ndim(given) != 1:
        raise ValueError(f"{name} must be one-dimensional: got shape {np.shape(given)}; {remedy}")
    bad = ~(np.abs(result) <= LARGEST)
    if missing:
        bad &= ~np.isnan(result)
    if bad.any():
        i = int(np.argmax(bad))
        what = f"must be within ±{LARGEST:g}" if math.isfinite(result[i]) else "must be finite"
        raise ValueError(f"{name} {what}: got {result[i]} at index {i}; {remedy}")
    return result

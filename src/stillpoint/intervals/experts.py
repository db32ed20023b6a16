"""What interval and quantile trackers share: lanes of experts, an open round, saving, and the
guard's theorem as a function.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.allocation import zeros
from stillpoint.core.arithmetic import LARGEST
from stillpoint.core.learner import Configured
from stillpoint.core.validation import Array, number, real
from stillpoint.forecasters._tracking import BLEND, SEEN, weigh
from stillpoint.intervals import _experts

Levels = float | Sequence[float]
# of a level and of what it leaves: past it the share of misses is below what a stream can show
_LEAST = 1e-6


class Lanes(Configured):
    """One lane a quantile that is tracked, each with nine experts, an aggregate of them and a
    guard.

    levels: what share each lane is to cover. firsts: quantile over mean size to begin with, one a
    lane; for scores its logarithm.
    several: whether answers are arrays, one entry a share that was asked for, or numbers.
    """

    def __init__(self, levels: Array, firsts: Array, several: bool) -> None:
        lanes = levels.size
        self._levels, self._firsts = np.ascontiguousarray(levels), np.ascontiguousarray(firsts)
        self._experts, self._books = (
            zeros((lanes, 6, _experts.EXPERTS)),
            zeros((lanes, 3, _experts.EXPERTS)),
        )
        self._scalars, self._weights = (
            zeros((lanes, _experts.SCALARS)),
            zeros((lanes, 2, _experts.EXPERTS)),
        )
        self.rounds, self._open, self._several = 0, False, several

    @property
    def is_open(self) -> bool:
        """Whether a round has been predicted that awaits its target."""
        return self._open

    @property
    def seen(self) -> int:
        """Targets that count, the T of the theorem: all of them, or for quantiles all but the
        first, which sets the level.
        """
        return int(self._scalars[0, SEEN])

    def skip(self) -> None:
        """A round whose target is missing: nothing is learnt, and it does not count for
        coverage.
        """
        self._close()

    def _close(self) -> None:
        self._open = False
        self.rounds += 1

    def _shape(self, value: Array) -> Any:
        return value.copy() if self._several else value.item(0)

    def _state(self) -> tuple[Array, Array, Array, Array]:
        return self._experts, self._books, self._scalars, self._weights

    def _weigh(self) -> Array:
        """Weights (lanes, experts) of the open round or the coming one."""
        for books, scalars, weights in zip(self._books, self._scalars, self._weights, strict=True):
            weigh(books, scalars, weights)
        return np.array(self._weights[:, BLEND])

    def _promise(self) -> tuple[Array, Array]:
        """Misses of each lane by the theorem, at least and at most."""
        T = float(self.seen)
        least, most = promise(self._levels, T)
        return np.maximum(least, 0.0), np.minimum(most, T)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        own = {"experts": self._experts, "books": self._books, "scalars": self._scalars}
        return {
            "rounds": self.rounds,
            "open": self._open,
            **{name: value.copy() for name, value in own.items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        self._experts[:], self._books[:], self._scalars[:] = (
            state["experts"],
            state["books"],
            state["scalars"],
        )
        self.rounds, self._open = int(state["rounds"]), bool(state["open"])


def promise(levels: ArrayLike, T: ArrayLike) -> tuple[Array, Array]:
    """Misses after T targets, at least and at most: αT − h(T) − α and αT + h(T) + 1 − α with α = 1
    − level, h of the guard.
    """
    q, seen = np.asarray(levels, dtype=np.float64), np.asarray(T, dtype=np.float64)
    alpha = 1.0 - q
    h = _experts.WIDTH * np.sqrt(q * alpha * (seen + _experts.HEAD))
    return alpha * seen - h - alpha, alpha * seen + h + 1.0 - alpha


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
    """Return `given` as a float whose products with a lane's factors are floats."""
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

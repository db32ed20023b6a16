"""What an IntervalTracker tells of itself: coverage, misses, their bounds, and weights."""

from typing import Any

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.intervals import _experts
from stillpoint.intervals._experts import EXPERTS
from stillpoint.intervals.base import QuantileEstimators
from stillpoint.intervals.turns import Turns


class CoverageAccount(QuantileEstimators):
    """Estimators of one tracker, or those of trackers that take turns."""

    two_sided: bool
    empty: bool
    _coverage: tuple[float, ...]
    _missed: Array  # without turns
    _turns: Turns | None

    @property
    def coverage(self) -> Any:
        """The share of targets to cover, or several."""
        return self._coverage if self._several else self._coverage[0]

    @property
    def weights(self) -> Array:
        """Weights of the experts in the open round or the coming one.

        Shape (9,), or (coverages, 9); with two sides (…, 2, 9). Scale experts with memories 2, 5,
        15, 50, 200 and 1000 come first, then sign experts with steps 0.02, 0.06 and 0.2.
        """
        sides = (2,) if self.two_sided else ()
        weights = self._weigh().reshape(len(self._coverage), *sides, EXPERTS)
        return weights if self._several else np.array(weights[0])

    @property
    def _coming_estimators(self) -> _experts.State:
        return self._estimators if self._turns is None else self._turns.coming

    @property
    def misses(self) -> Any:
        """Targets outside their interval so far."""
        return self._misses.astype(int) if self._several else int(self._misses[0])

    @property
    def _misses(self) -> Array:
        return self._missed if self._turns is None else self._turns.missed

    @property
    def seen(self) -> int:
        """Targets that count, the T of the theorem: all of them."""
        return super().seen if self._turns is None else self._turns.seen

    @property
    def coverage_so_far(self) -> Any:
        """The share of targets inside their interval so far; 1 before the first."""
        return self._shape(1.0 - self._misses / max(self.seen, 1))

    def miss_bound(self) -> tuple[Any, Any]:
        """Return the theorem as of now: (least, most) misses there can have been on any stream.

        Least is 0 where none is promised. With a delay they are sums over the turns.
        """
        least, most = self._promise() if self._turns is None else self._turns.promise()
        if self.two_sided:
            most = np.minimum(most.reshape(-1, 2).sum(axis=1), float(self.seen))
        if self.two_sided or self._several or not self.empty:
            least = np.zeros_like(most)
        return self._shape(least), self._shape(most)

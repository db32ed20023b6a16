"""Conformal scores beside |y − forecast|: of two quantile forecasts, and of probabilities.

Both follow a moving quantile q̂ of their scores with `QuantileTracker`, and cover a target where its
score is at most q̂. So its theorem counts the misses: on any stream, D = misses − αT after T targets
satisfies D ≤ 3√(α(1 − α)(T + 100)) + 1, α = 1 − coverage, provided that each target is known before
the next question.
"""

import math
from typing import Any

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.intervals import QuantileTracker

_LEAST = 2  # scores before which everything is covered


class ScoreQuantile:
    """The moving quantile of conformal scores.

    Parameters
    ----------
    coverage : float
        The share of targets to cover.
    """

    def __init__(self, coverage: float) -> None:
        self.tracker = QuantileTracker(coverage)
        if np.ndim(coverage):
            raise ValueError(f"coverage must be one number: got {coverage!r}; choose one")
        self._coming = self.tracker.predict()

    @property
    def quantile(self) -> float:
        """q̂ of the coming round; ∞ until two scores are in."""
        return math.inf if self.tracker.rounds < _LEAST else float(self._coming)

    def learn(self, score: float) -> None:
        """Take in the score of a target."""
        self.tracker.update(score)
        self._coming = self.tracker.predict()

    def learn_many(self, scores: Array) -> Array:
        """Take in many; returns the q̂ that each was held against."""
        if not scores.size:
            return np.empty(0)
        early = max(_LEAST - self.tracker.rounds, 0)
        # the open round is the first of these
        self.tracker.update(float(scores[0]))
        quantiles = np.append(self._coming, self.tracker.track(scores[1:]))
        self._coming = self.tracker.predict()
        quantiles[:early] = math.inf
        return quantiles


def quantile_score(lo: Any, hi: Any, y: Any) -> Any:
    """How far y is outside of two quantile forecasts, below 0 inside: max(lo − y, y − hi).

    The score of conformalized quantile regression (Romano, Patterson & Candès 2019): y lies in
    [lo − q, hi + q] where it is at most q.
    """
    return np.maximum(np.subtract(lo, y), np.subtract(y, hi))


def label_score(probability: Any) -> Any:
    """1 − p of the label that came (Sadinle, Lei & Wasserman 2019).

    Sets of the labels with a score of at most q are the smallest of their coverage on average, if
    the probabilities are right.
    """
    return 1.0 - np.asarray(probability, dtype=np.float64)

"""Simple forecasts beside those of a series, and how good all were at each horizon."""

import copy
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.commands import _rows, _scores
from stillpoint.commands._rows import Rule
from stillpoint.commands.engine import LAST, MEAN
from stillpoint.commands.plans import Plan, Told
from stillpoint.commands.summary import OURS
from stillpoint.core.validation import Array, counted, stored, under

NAIVE = "seasonal naive"


class Beside:
    """Losses of the next row as it is read, and scores of all horizons as rows are learnt.

    Parameters
    ----------
    plan
        Of the series.
    level
        Of the quantile that is forecast; 0 for the mean.
    """

    def __init__(self, plan: Plan, level: float) -> None:
        self._period, self._level = plan.period, level
        self.names = [OURS, LAST, "normal quantile" if level else MEAN]
        self.names += [NAIVE] if plan.period else []
        self.loss_rows, self._simple = 0, np.zeros(5)
        self._factor = NormalDist().inv_cdf(level or 0.5)
        self._near, self._far = (_scores.ring(plan.period, h) for h in (1, plan.horizon))
        self.scores = _scores.scores(plan.horizon)

    def losses(self, forecasts: Array, y: Array, slots: NDArray[np.int64]) -> Array:
        """Return losses (names, T) of new rows; they count once a target is known."""
        T = y.size
        simple, known, naive = np.empty((2, T)), np.empty(T), np.empty(T)
        rule = Rule.QUANTILE if self._level else Rule.NUMBERS
        _rows.simple_rows(y, 0, 0, rule, self._factor, self._simple, simple, known)
        _scores.naive(slots, y, self._period, self._near, naive)
        away = y - np.vstack([forecasts, simple, naive])[: len(self.names)]
        pinball = np.maximum(self._level * away, (self._level - 1.0) * away)
        counts = ~np.isnan(y) & (known > 0.0)
        self.loss_rows += int(counts.sum())
        losses = pinball if self._level else away**2
        return np.ascontiguousarray(np.where(counts, losses, 0.0))

    def score(self, y: Array, slots: NDArray[np.int64], told: Told) -> None:
        """Score what was told, at all horizons, in the first of these rows."""
        n = y.size
        forecasts, lo, hi = (np.ascontiguousarray(part[:n]) for part in told)
        _scores.score(
            slots[:n],
            y,
            forecasts,
            lo,
            hi,
            self._period,
            self._level,
            self._far,
            self.scores,
        )

    def with_more(self, y: Array, slots: NDArray[np.int64], told: Told) -> _scores.Scores:
        """Return the scores as they would be with more rows."""
        other = copy.deepcopy(self)
        other.score(y, slots, told)
        return other.scores

    @property
    def _not_finite(self) -> frozenset[str]:
        return frozenset({"scores.paths", "scores.lasts", "near.last", "far.last"})

    @property
    def _parts(self) -> dict[str, Any]:
        return {"scores": self.scores, "near": self._near, "far": self._far}

    def arrays(self) -> dict[str, Any]:
        """Return the state, for saving."""
        parts = self._parts.items()
        state = {f"{key}.{name}": v.copy() for key, p in parts for name, v in p._asdict().items()}
        return {**state, "simple": self._simple.copy(), "loss_rows": self.loss_rows}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `arrays` returned."""
        for key, part in self._parts.items():
            saved = under(state, f"{key}.")
            for name, array in part._asdict().items():
                array[...] = stored(saved, name, *array.shape, dtype=array.dtype)
        # compiled loops take its steps for places
        if (self.scores.steps != _scores.scores(self.scores.origins.size).steps).any():
            raise ValueError(f"state 'steps' must be those scored: got {self.scores.steps}")
        self._simple[:] = stored(state, "simple", 5)
        counted("loss_rows", state["loss_rows"], 2**62)
        self.loss_rows = int(state["loss_rows"])

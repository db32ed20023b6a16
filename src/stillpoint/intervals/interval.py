"""IntervalTracker: prediction intervals around any forecaster, with coverage on every stream."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array, waiting
from stillpoint.intervals import _interval
from stillpoint.intervals._experts import MEAN
from stillpoint.intervals.base import Levels, both_ends, shares, value, values
from stillpoint.intervals.coverage import CoverageAccount
from stillpoint.intervals.turns import NOT_FINITE, Turns, rounds_late
from stillpoint.intervals.wrap import Wrapped

_MISSING = "call skip() for a missing target"
_NO_FORECAST = "call skip() for a round without a forecast"


class IntervalTracker(CoverageAccount):
    """Prediction intervals around the forecasts of any model.

    `predict(forecast)` gives (lo, hi), `update(y)` learns. No step, scale or horizon is asked for;
    a round costs O(1).

    Parameters
    ----------
    coverage : float or sequence of floats, default 0.9
        The share of targets to cover. With several, lo and hi are arrays in the order given, and
        wider coverages take in the intervals of narrower ones.
    two_sided : bool, default False
        A radius of its own for each side, for skewed or biased residuals.
    empty : bool, default True
        Whether the guard may play the empty set, lo > hi, after too many hits. Without it the
        radius is 0 then (with two sides: the unguarded one), and coverage may run high.
    delay : int, default 0
        How many rounds later a target comes: `predict` may be called up to delay + 1 times before
        the `update` or `skip` of the first of them, and `update` closes the oldest open round.
        Every call of `predict` opens a round then.

    Notes
    -----
    On any stream and whatever the forecaster, D = misses − αT after T targets satisfies

        −h(T) − α ≤ D ≤ h(T) + 1 − α,   α = 1 − coverage,   h(T) = 3√(coverage·α·(T + 100)).

    A guard plays everything, (−∞, ∞), while D ≥ h and the empty set while D ≤ −h, and pushes gently
    before: a radius is multiplied by exp(0.1·x/(1 − x²)), x = D/h. With several coverages, or
    empty=False, the upper bound on misses holds (for every coverage), the lower one does not. With
    two_sided each side has the upper bound at 1 − α/2 and misses are at most their sum.

    With a delay, c = delay + 1 trackers take turns, each with its target before its next round; the
    bounds hold for each, and summed for all: misses ≤ αT + Σ_j (h(T_j) + 1 − α), T_j the targets of
    turn j. Turns track scores over a mean of all scores, and a turn with fewer than 100 is blended
    with an estimate from all of them; that is free, between the limits of a turn's guard. Nothing
    is learnt from the first score of each turn. One tracker whose intervals are looked at ahead of
    its targets (`peek`) has no such bound: its short memories are stale by then.

    Nine experts follow the quantile of the scores |y − forecast|: six multiply an average score by
    a tracked factor, three see only hits and misses. ML-Poly (Gaillard, Stoltz & van Erven 2014)
    blended with exponential weights aggregates them under the pinball loss of quantile tracking
    (Gibbs & Candès 2021, in the form of Angelopoulos, Candès & Tibshirani 2023).

    The first score, that of a forecaster that may have seen nothing, is not learnt from, and until
    two more are in (three with two_sided) the interval is everything, a hit. Up to the twentieth,
    intervals are wider by Student's quantile over the normal one, so that the first finite ones
    cover about their share, too. Radii follow the unit of the scores exactly, and are 0 while all
    scores are.
    """

    def __init__(
        self,
        coverage: Levels = 0.9,
        *,
        two_sided: bool = False,
        empty: bool = True,
        delay: int = 0,
    ) -> None:
        self._coverage = shares("coverage", coverage)
        self.two_sided, self.empty = bool(two_sided), bool(empty)
        inside = np.array(self._coverage)
        upper = ndtri(0.5 + 0.5 * inside) / MEAN
        # the lower side's estimator sees −residual: its misses, y < lo, are then counted as the
        # upper side's are
        levels, firsts = (
            (np.repeat(0.5 + 0.5 * inside, 2), np.repeat(upper, 2))
            if self.two_sided
            else (inside, np.log(upper))
        )
        super().__init__(levels, firsts, np.ndim(coverage) > 0)
        order = np.argsort(inside, kind="stable")
        self._rule = _interval.Rule(self.two_sided, self.empty, order)
        self.delay = rounds_late(delay)
        self._turns: Turns | None = None
        if self.delay:
            self._turns = Turns(self.delay + 1, self._estimators.aims, self._rule)
        self._ends, self._missed, self._forecast = zeros((2, inside.size)), zeros(inside.size), 0.0
        # compiled code for single rounds gets arrays one by one
        self._opening = *self._rule, *self._estimators, self._weights, self._ends
        self._closing = self.two_sided, *self._estimators, self._ends, self._missed

    @property
    def _not_finite(self) -> frozenset[str]:
        return NOT_FINITE if self.delay else frozenset({"ends"})  # the guard may play everything

    def predict(self, forecast: float) -> tuple[Any, Any]:
        """Return the interval (lo, hi) around this forecast of the coming round.

        Without a delay, called again before `update` it is the same, and another forecast is
        refused; with one, every call opens a round.
        """
        centre = value("forecast", forecast, _NO_FORECAST)
        if self._turns is None:
            self._begin(None, centre)
            return self._both(self._ends)
        ends = self._turns.open(centre)
        self._follow()
        return self._both(ends)

    def _open(self, when: float, x: float) -> None:
        _interval.predict(x, *self._opening)
        self._forecast = x

    def _check_same(self, x: float) -> None:
        if x != self._forecast:
            raise ValueError(
                f"forecast must be that of the open round: got {x}, open with {self._forecast};"
                " call update or skip first, or build it with delay= where targets come late"
            )

    def peek(self, forecast: float) -> tuple[Any, Any]:
        """Return the interval around this forecast, with no round opened and nothing changed.

        It is the interval that `predict` would give: for what-if forecasts of the coming round.
        It is not for targets that come late: 90% intervals of one tracker, looked at a season ahead
        of their targets, covered 83%. Build the tracker with delay= for those.
        """
        return self._both(self._look(value("forecast", forecast, _NO_FORECAST)))

    def update(self, y: float) -> None:
        """Learn the target of the open round; with a delay, of the oldest one."""
        target = value("y", y, _MISSING)
        if not self._is_open:
            raise ValueError(
                f"y must belong to an open round: got {target} and none is open; call"
                " predict(forecast) first"
            )
        if self._turns is None:
            self._end(target)
        else:
            self._turns.close(target)
            self._follow()

    def skip(self) -> None:
        """Pass a round whose target is missing, with a delay the oldest open one.

        Nothing is learnt, and coverage does not change.
        """
        if self._turns is None:
            super().skip()
            return
        self._turns.skip()
        self._follow()

    @property
    def open_rounds(self) -> int:
        """How many rounds have been predicted and await their targets."""
        return int(self._is_open) if self._turns is None else self._turns.opened - self.rounds

    def _follow(self) -> None:
        """Take over the counts of the turns."""
        assert self._turns is not None
        self.rounds, self.time = self._turns.closed, float(self._turns.opened)
        self._started, self._is_open = self.time > 0.0, self._turns.opened > self.rounds

    def _both(self, ends: Array) -> tuple[Any, Any]:
        return self._shape(ends[0]), self._shape(ends[1])

    def _close(self, feedback: float | None) -> None:
        if feedback is not None:
            _interval.update(feedback, self._forecast, *self._closing)

    def track(
        self, forecasts: ArrayLike, y: ArrayLike, *, delay: int | None = None, first: int = 0
    ) -> tuple[Array, Array]:
        """Return the intervals (lo, hi) of whole rounds, bit for bit those of single calls.

        Parameters
        ----------
        forecasts, y : array-like of shape (T,)
            Forecasts and targets; NaN in y is a missing target.
        delay : int, optional
            How many rows later a target is known: that of the tracker. Row t gets its interval;
            then row t − delay is learnt. The last `delay` targets are not learnt yet. A tracker
            built without a delay takes one here too, and gives the intervals that `peek` shows,
            which cover less than was asked.
        first : int, default 0
            Rows in front that have had their intervals in an earlier call: to go on after a delay,
            pass those whose targets were not learnt yet again.

        Returns
        -------
        lo, hi : arrays of shape (T − first,), or (T − first, coverages) where several were asked
            for.
        """
        centres = values("forecasts", forecasts, missing=False)
        targets = values("y", y, missing=True)
        if centres.shape != targets.shape:
            raise ValueError(
                f"forecasts must be as many as y: got {centres.size} for {targets.size}; pass one a"
                " round"
            )
        if self._turns is not None:
            out = self._turns.track(centres, targets, delay, first)
            self._follow()
            return both_ends(out, self._several)
        delay, first = waiting(0 if delay is None else delay, first, targets.size)
        if self._is_open:
            raise ValueError(
                f"forecasts must start a new round: one is open with {self._forecast}; call update"
                " or skip first"
            )
        out = np.empty((targets.size - first, *self._ends.shape))
        state = _interval.State(self._estimators, self._ends, self._missed)
        _interval.track(centres, targets, delay, first, self._rule, state, self._weights, out)
        learnt = max(targets.size - delay, 0)
        self._learnt(learnt)
        if learnt:
            self._forecast = float(centres[learnt - 1])
        return both_ends(out, self._several)

    def wrap(self, model: Any) -> Wrapped:
        """Put this tracker around a point forecaster.

        Parameters
        ----------
        model : object
            River's, scikit-learn's, one of this library, or a function of x; see `Wrapped`.
        """
        return Wrapped(self, model)

    def _look(self, centre: float) -> Array:
        if self._turns is not None:
            return self._turns.look(centre)
        ends = np.empty_like(self._ends)
        _interval.look(centre, self._rule, self._estimators, self._weights, ends)
        return ends

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this tracker anew."""
        sides = {"two_sided": self.two_sided, "empty": self.empty}
        return {"coverage": self.coverage, **sides, "delay": self.delay}

    @property
    def radius(self) -> Any:
        """Half the width of the open round's interval, or the coming one's; −∞ if it is empty.

        With a delay it is always that of the coming round, and so are the weights.
        """
        ends = self._look(0.0)
        return self._shape(0.5 * (ends[1] - ends[0]))

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        if self._turns is not None:
            return self._turns.arrays()
        return {**super().arrays(), "forecast": self._forecast}

    def _parts(self) -> dict[str, Array]:
        return {**super()._parts(), "ends": self._ends, "missed": self._missed}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        if self._turns is not None:
            self._turns.restore(state)
            self._follow()
            return
        super().restore(state)
        self._forecast = float(state["forecast"])

"""IntervalTracker: prediction intervals around any forecaster, with coverage on every stream."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array, waiting
from stillpoint.intervals import _interval
from stillpoint.intervals._experts import EXPERTS, MEAN
from stillpoint.intervals.base import Levels, QuantileEstimators, shares, value, values
from stillpoint.intervals.wrap import Wrapped

_MISSING = "call skip() for a missing target"
_NO_FORECAST = "call skip() for a round without a forecast"


class IntervalTracker(QuantileEstimators):
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

    Notes
    -----
    On any stream and whatever the forecaster, D = misses − αT after T targets satisfies

        −h(T) − α ≤ D ≤ h(T) + 1 − α,   α = 1 − coverage,   h(T) = 3√(coverage·α·(T + 100)).

    A guard plays everything, (−∞, ∞), while D ≥ h and the empty set while D ≤ −h, and pushes gently
    before: a radius is multiplied by exp(0.1·x/(1 − x²)), x = D/h. With several coverages, or
    empty=False, the upper bound on misses holds (for every coverage), the lower one does not. With
    two_sided each side has the upper bound at 1 − α/2 and misses are at most their sum. The
    guarantee is about targets that are known before the next round; with targets that come later
    see `peek` and `track`.

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
        self, coverage: Levels = 0.9, *, two_sided: bool = False, empty: bool = True
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
        self._ends, self._missed, self._forecast = zeros((2, inside.size)), zeros(inside.size), 0.0
        # compiled code for single rounds gets arrays one by one
        self._opening = *self._rule, *self._estimators, self._weights, self._ends
        self._closing = self.two_sided, *self._estimators, self._ends, self._missed

    @property
    def _not_finite(self) -> frozenset[str]:
        return frozenset({"ends"})  # the guard may play everything

    def predict(self, forecast: float) -> tuple[Any, Any]:
        """Return the interval (lo, hi) around this forecast of the coming round.

        Called again before `update` it is the same; another forecast is refused.
        """
        self._begin(None, value("forecast", forecast, _NO_FORECAST))
        return self._shape(self._ends[0]), self._shape(self._ends[1])

    def _open(self, when: float, x: float) -> None:
        _interval.predict(x, *self._opening)
        self._forecast = x

    def _check_same(self, x: float) -> None:
        if x != self._forecast:
            raise ValueError(
                f"forecast must be that of the open round: got {x}, open with {self._forecast};"
                " call update or skip first, or peek for rounds whose targets come late"
            )

    def peek(self, forecast: float) -> tuple[Any, Any]:
        """Return the interval around this forecast, with no round opened and nothing changed.

        For targets that come late: peek(forecast) for as many rounds as are out, and
        predict(forecast), update(y) for each once its target is there. The guarantee is of the
        intervals at that time; those that were peeked at may cover less.
        """
        ends = self._look(value("forecast", forecast, _NO_FORECAST))
        return self._shape(ends[0]), self._shape(ends[1])

    def update(self, y: float) -> None:
        """Learn what the open round turned out to be."""
        target = value("y", y, _MISSING)
        if not self._is_open:
            raise ValueError(
                f"y must belong to an open round: got {target} and none is open; call"
                " predict(forecast) first"
            )
        self._end(target)

    def _close(self, feedback: float | None) -> None:
        if feedback is not None:
            _interval.update(feedback, self._forecast, *self._closing)

    def track(
        self, forecasts: ArrayLike, y: ArrayLike, *, delay: int = 0, first: int = 0
    ) -> tuple[Array, Array]:
        """Return the intervals (lo, hi) of whole rounds, bit for bit those of single calls.

        Parameters
        ----------
        forecasts, y : array-like of shape (T,)
            Forecasts and targets; NaN in y is a missing target.
        delay : int, default 0
            How many rows later a target is known. Row t gets its interval from what rows up to
            t − delay − 1 taught (as `peek` shows it); then row t − delay is learnt (as by `predict`
            and `update`). The last `delay` targets are not learnt yet.
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
        delay, first = waiting(delay, first, targets.size)
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
        return (out[:, 0], out[:, 1]) if self._several else (out[:, 0, 0], out[:, 1, 0])

    def wrap(self, model: Any) -> Wrapped:
        """Put this tracker around a point forecaster.

        Parameters
        ----------
        model : object
            River's, scikit-learn's, one of this library, or a function of x; see `Wrapped`.
        """
        return Wrapped(self, model)

    def _look(self, centre: float) -> Array:
        ends = np.empty_like(self._ends)
        _interval.look(centre, self._rule, self._estimators, self._weights, ends)
        return ends

    @property
    def coverage(self) -> Any:
        """The share of targets to cover, or several."""
        return self._coverage if self._several else self._coverage[0]

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this tracker anew."""
        return {"coverage": self.coverage, "two_sided": self.two_sided, "empty": self.empty}

    @property
    def radius(self) -> Any:
        """Half the width of the open round's interval, or the coming one's; −∞ if it is empty."""
        ends = self._look(0.0)
        return self._shape(0.5 * (ends[1] - ends[0]))

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
    def misses(self) -> Any:
        """Targets outside their interval so far."""
        return self._missed.astype(int) if self._several else int(self._missed[0])

    @property
    def coverage_so_far(self) -> Any:
        """The share of targets inside their interval so far; 1 before the first."""
        return self._shape(1.0 - self._missed / max(self.seen, 1))

    def miss_bound(self) -> tuple[Any, Any]:
        """Return the theorem as of now: (least, most) misses there can have been on any stream.

        Least is 0 where none is promised.
        """
        least, most = self._promise()
        if self.two_sided:
            most = np.minimum(most.reshape(-1, 2).sum(axis=1), float(self.seen))
        if self.two_sided or self._several or not self.empty:
            least = np.zeros_like(most)
        return self._shape(least), self._shape(most)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        own = {"ends": self._ends.copy(), "missed": self._missed.copy(), "forecast": self._forecast}
        return {**super().arrays(), **own}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        self._ends[:], self._missed[:] = state["ends"], state["missed"]
        self._forecast = float(state["forecast"])

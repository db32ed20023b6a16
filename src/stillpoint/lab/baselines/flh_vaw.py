"""Follow the leading history over Vovk–Azoury–Warmuth forecasters, for linear regression.

Hazan & Seshadhri (2009), see `flh`; Vovk (2001), "Competitive on-line statistics"; Azoury & Warmuth
(2001), "Relative loss bounds for on-line density estimation with the exponential family of
distributions". A base learner born in round s forecasts x_t'(λI + Σ_{s≤r≤t} x_rx_r')⁻¹Σ_{s≤r<t}
y_rx_r: it sees the features of the round before it answers.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.beliefs._kalman import LIMIT
from stillpoint.beliefs.directions import drowned
from stillpoint.core.allocation import zeros
from stillpoint.core.learner import Learner
from stillpoint.core.state import put_back, saved
from stillpoint.core.validation import (
    Array,
    count,
    finite,
    nonnegative,
    number,
    positive,
    vector,
)
from stillpoint.forecasters.base import limited
from stillpoint.lab.baselines import _flh_vaw
from stillpoint.lab.online import _bases, _covers, _ensemble, _metas
from stillpoint.lab.online._bank import Rule
from stillpoint.lab.online.bases import Descent
from stillpoint.lab.online.building import check_clock, empty_bank
from stillpoint.lab.online.guarantees import rounds_of
from stillpoint.lab.online.metas import FixedShare
from stillpoint.lab.online.schedules import LeadingHistories

_COVER = LeadingHistories(Descent(1.0))  # for when base learners live; they are VAW's, not this


class FLHVAW(Learner):
    """O(dY² log T log|I|) on every interval I, for squared loss ½(y − ŷ)², told Y ≥ |y|.

    The competitor of `VariationForecaster`, with features that are always 1, and of
    `TrackingForecaster`. O(d² log t) a round. Times only tell rounds apart; rounds without a target
    teach nothing.

    Parameters
    ----------
    dim
        Features of a round.
    reach
        Y: targets beyond ±Y are refused, and forecasts stay within.
    ridge
        λ, for every base learner.
    """

    assumes: tuple[str, ...] = ("Y",)

    def __init__(self, dim: int, *, reach: float, ridge: float = 1.0) -> None:
        super().__init__()
        self.dim = count("dim", dim)
        self.reach = positive("reach", reach, "give the largest |y|")
        self.ridge = positive("ridge", ridge)
        for name, value in (("reach", self.reach), ("ridge", self.ridge)):
            if not 1.0 / LIMIT <= value <= LIMIT:
                raise ValueError(
                    f"{name} must be between {1.0 / LIMIT:g} and {LIMIT:g}: got {value}; rescale"
                    " the stream"
                )
        # ½(y − p)² is exp-concave in p with this rate where |y − p| ≤ 2Y
        self._meta = FixedShare(0.25 / self.reach**2)
        self._rule = Rule(
            base=_bases.NEWTON,  # has a matrix, too, which begins at I/λ
            step=1.0 / self.ridge,
            offset=0.0,
            curvature=1.0,
            meta=_metas.SHARE,
            rate=self._meta.rate,
            numerator=0.0,
            range=1.0,
            hints=_ensemble.NONE,
            order=1,
            penalty=0.0,
            cover=_covers.HISTORY,
            every=1.0,
            own=0,
            values=1,
            start=zeros(self.dim),
            kind=0,
            domain=zeros(0),
            limit=math.inf,
        )
        self._bank = empty_bank(_COVER.places, self.dim, True)
        self._forecasts, self._x = zeros(_COVER.places), zeros(self.dim)
        self._seen = zeros(2)  # rounds with a target, and the largest ‖x‖² in them
        _flh_vaw.advance(self._bank, self._rule)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this forecaster anew."""
        return {"dim": self.dim, "reach": self.reach, "ridge": self.ridge}

    @property
    def observed(self) -> int:
        """Rounds that came with a target: the t of the algorithm."""
        return int(self._seen[0])

    @property
    def weights(self) -> Array:
        """The weight of each place in the coming round, or the open one; they sum to 1."""
        return self._bank.row("weight").copy()

    def predict(self, x: ArrayLike, time: float | None = None) -> float:
        """Return the forecast for the coming round; called again before `update` it is the same.

        Parameters
        ----------
        x : array of shape (dim,)
            The features of the round.
        time : float, optional
            When the round is; the last one + 1 if left out.
        """
        return float(self._begin(time, self._row(x)))

    def update(self, x: ArrayLike, y: float) -> None:
        """Learn the target of the round with features x.

        Features too long for double precision are refused; `skip` closes a round that `predict` has
        opened with them.
        """
        target, row = number("y", y, "call skip() for a missing observation"), self._row(x)
        self._within(np.array([target]))
        self._not_drowned("x", row)
        self._begin(None, row)
        self._end(target)

    def track(self, X: ArrayLike, y: ArrayLike, times: ArrayLike | None = None) -> Array:
        """Forecast and learn whole rounds in compiled code; the numbers of predict and update.

        Parameters
        ----------
        X : array of shape (T, dim)
            Features; for a series, ones.
        y : array of shape (T,)
            Targets, nothing missing.
        times : array of shape (T,), optional
            When each round is; 1 apart if left out.
        """
        # copies: for arrays that may not be written to, loops are compiled anew
        targets = np.array(finite("y", y, "call skip() for a missing observation"))
        rows = np.array(finite("X", X), order="C")
        self._begin_bulk("X")
        if targets.ndim != 1 or rows.shape != (targets.size, self.dim):
            raise ValueError(
                f"X must have shape (T, {self.dim}) for y of shape (T,): got {rows.shape} for"
                f" {targets.shape}; pass one row a target"
            )
        self._not_drowned("X", rows)
        self._within(targets)
        when, out = self._coming_times(targets.size, times), np.empty(targets.size)
        if targets.size:
            state = self._bank, self._rule, self.reach
            _flh_vaw.play(*state, rows, targets, self._forecasts, out)
            self._note(rows)
            self.rounds, self.time = self.rounds + targets.size, float(when[-1])
            self._started = True
        return out

    def interval_bound(self, first: int, last: int, norm: float) -> float:
        """Bound on the regret in the rounds first..last against every x'u with ‖u‖ = norm.

        Rounds are counted from 1 where y was seen. The interval is cut where base learners are
        born. On a piece of n rounds that ends in s, 4Y² ln s is lost to the one that is born there
        (`FixedShare`), and by that one to u λ‖u‖²/2 + (Y²/2)Σx_t'A_t⁻¹x_t at most, where the sum is
        at most ln det(A_n/λ) ≤ d ln(1 + nX²/(dλ)), X the largest ‖x‖ so far. Clipping only helps.
        """
        start, end = rounds_of(first, last)
        size = nonnegative("norm", norm)
        d, Y, ridge, X2 = self.dim, self.reach, self.ridge, float(self._seen[1])
        return sum(
            self._meta.on(at, length, n, at + n - 1)
            + 0.5 * ridge * size * size
            + 0.5 * Y * Y * d * math.log1p(n * X2 / (d * ridge))
            for at, length, n in _COVER.pieces(start, end)
        )

    def _row(self, x: ArrayLike) -> Array:
        """The features of one round, checked."""
        return limited("x", vector("x", x, self.dim).copy(), "rescale the features")

    def _not_drowned(self, name: str, rows: Array) -> None:
        """Refuse features so long that the ridge is lost in rounding."""
        limited(name, rows, "rescale the features")
        largest = float(np.max(np.square(rows).sum(axis=-1), initial=0.0))
        if drowned(largest, self.ridge):
            raise ValueError(
                f"{name} must not drown the ridge: got ‖x‖² = {largest:g} for {self.ridge};"
                " rescale the features, or raise ridge"
            )

    def _within(self, y: Array) -> None:
        for target in y[np.abs(y) > self.reach * (1.0 + 1e-9)][:1]:
            raise ValueError(
                f"y must be within ±{self.reach}: got {target}; build it with a larger reach"
            )

    def _note(self, rows: Array) -> None:
        self._seen[0] += len(rows)
        self._seen[1] = max(self._seen[1], float(np.square(rows).sum(axis=1).max()))

    def _check_same(self, x: Array | None) -> None:
        if x is not None and not np.array_equal(x, self._x):
            raise ValueError(
                f"x must be that of the open round: got {x}, open with {self._x}; call update or"
                " skip first"
            )

    def _open(self, when: float, x: Array | None) -> float:
        if x is None:
            return 0.0
        self._x[:] = x
        return self._forecast()

    def _forecast(self) -> float:
        return float(
            _flh_vaw.forecast(self._bank, self.reach, self._x, self._forecasts, np.empty(self.dim))
        )

    def _close(self, feedback: float | None) -> None:
        if feedback is not None:
            given = self._x, feedback, self._forecasts, self._answer, np.empty(self.dim)
            _flh_vaw.learn(self._bank, self._rule, *given)
            self._note(self._x[None])

    def _parts(self) -> dict[str, Array]:
        bank = {name: getattr(self._bank, name) for name in ("matrix", "y", "table", "clock")}
        return {**bank, "forecasts": self._forecasts, "x": self._x, "seen": self._seen}

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        clock = {"rounds": self.rounds, "time": self.time, "started": self._started}
        return {**clock, "open": self._is_open, **saved(self._parts())}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        check_clock(state["clock"], _COVER.places)
        put_back(self._parts(), state)
        self.rounds, self.time = int(state["rounds"]), float(state["time"])
        self._started, self._is_open = bool(state["started"]), bool(state["open"])
        self._answer = self._forecast() if self._is_open else None

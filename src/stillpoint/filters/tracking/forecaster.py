"""TrackingForecaster: time-varying regression with nothing to tune (TRACKING section 1).

Thirteen Kalman filters, one a rate of drift, on features standardised as they come; changes of origin and unit are carried into
the filters exactly. ML-Poly (Gaillard, Stoltz & van Erven 2014) blended with exponential weights aggregates them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint._validate import Array, count, finite, number, vector
from stillpoint.filters.tracking import _hot

# Variance that (slopes, intercept) gain a round, in units of the noise's: none; the intercept alone; both; the intercept faster;
# the slopes alone. The last kind is not in TRACKING's thirteen: without it, slopes that jump over a still level cost 15% more
# (benchmarks/forecasters.py).
RATES: Array = np.array(
    [(0.0, 0.0)]
    + [(0.0, q) for q in (1e-4, 1e-2, 1.0, 1e2)]
    + [(q, q) for q in (1e-6, 1e-4, 1e-2, 1.0)]
    + [(q, 100.0 * q) for q in (1e-6, 1e-4, 1e-2, 1.0)]
    + [(q, 0.0) for q in (1e-2, 1.0)]
)
_PARTS = ("features", "means", "covariances", "books", "scalars", "z", "gains", "own", "x")
_LIMIT = 1e100  # beyond it squares, and products of two of them, leave the range of floats


class TrackingForecaster:
    """Forecast y_t from the features x_t, then see it; linear, with coefficients that may drift or jump. O(15·dim²) a round.

    dim: features of a context; an intercept is added. Forecasts do not depend on the units or origins of features, and follow
    those of the targets. The forecast is 0 until a target has been seen.

    Guarantee: against every filter i, and every mixture of filters, Σ_t (ℓ_t(ML-Poly) − ℓ_t(i))/s²_t ≤ R_i ≤
    √(2K(B + V_i) ln(1 + V_max/B)), K = 15, ℓ the squared loss, s² the running error variance, V_i = Σr², B = max r², plus the
    price of rounds that set a new record B. The blend adds the losses of exponential weights, weighted 300/(300 + t).
    """

    def __init__(self, dim: int) -> None:
        self.dim = count("dim", dim)
        K, N = len(RATES), self.dim + 1
        prior = np.diag([_hot.SLOPE_PRIOR] * self.dim + [_hot.INTERCEPT_PRIOR])
        self._features, self._means, self._covariances = np.zeros((4, self.dim)), np.zeros((K, N)), np.tile(prior, (K, 1, 1))
        self._books, self._scalars = np.zeros((3, K)), np.zeros(10)
        self._z, self._gains, self._own = np.zeros(N), np.zeros((K, N)), np.zeros((3, K))
        self._x, self._weights = np.zeros(self.dim), np.zeros((2, K))
        self.rounds, self._open = 0, False

    def predict(self, x: ArrayLike) -> float:
        """The forecast for the coming round, whose features are x; called again before `update` it is the same."""
        features = self._within("x", vector("x", x, self.dim))
        if not self._open:
            self._x[:] = features
            _hot.propose(self._x, *self._state())
            self._open = True
        elif not np.array_equal(features, self._x):
            raise ValueError(f"x must be that of the open round: got {features}, open with {self._x}; call update or skip first")
        return float(self._scalars[_hot.ORIGIN] + self._scalars[_hot.FORECAST])

    def update(self, x: ArrayLike, y: float) -> None:
        """What the round with features x turned out to be."""
        target = number("y", y, "call skip(x) for a missing target")
        self._within("y", np.array([target]))
        self.predict(x)
        _hot.learn(target, self._means, self._covariances, self._books, self._scalars, self._gains, self._own)
        self._close()

    def skip(self, x: ArrayLike | None = None) -> None:
        """A round whose target is missing: coefficients drift on. The features still count where they are known."""
        if x is not None:
            self.predict(x)
        elif not self._open:
            _hot.drift(self._covariances, RATES)
        self._close()

    def forecast_stream(self, X: ArrayLike, y: ArrayLike) -> Array:
        """Forecasts (T,) of targets y (T,) from features X (T, dim): predict and update in turn, in one compiled loop."""
        if self._open:
            raise ValueError(f"X must start a new round: got a stream while {self._x} is open; call update or skip first")
        rows = self._within("X", finite("X", X))
        targets = self._within("y", finite("y", y, "call skip(x) for a missing target"))
        if targets.ndim != 1:
            raise ValueError(f"y must be one-dimensional: got shape {targets.shape}; pass one target a round")
        if rows.ndim == 1 and self.dim == 1:
            rows = rows[:, None]
        if rows.shape != (targets.size, self.dim):
            raise ValueError(f"X must have shape {(targets.size, self.dim)}: got {rows.shape}; pass one row a target")
        forecasts = np.empty(targets.size)
        run: Callable[..., None] = _hot.stream
        run(np.ascontiguousarray(rows), np.ascontiguousarray(targets), *self._state(), forecasts)
        self.rounds += targets.size
        if targets.size:
            self._x[:] = rows[-1]
        return forecasts

    def _state(self) -> tuple[Array, ...]:
        filters = RATES, self._features, self._means, self._covariances
        return *filters, self._books, self._scalars, self._z, self._gains, self._own, self._weights

    @staticmethod
    def _within(name: str, value: Array) -> Array:
        if np.abs(value).max(initial=0.0) > _LIMIT:
            raise ValueError(f"{name} must be within ±{_LIMIT:g}: got {value[np.abs(value) > _LIMIT][0]}; rescale it")
        return value

    def _close(self) -> None:
        self._open = False
        self.rounds += 1

    @property
    def weights(self) -> Array:
        """Weights (15,) of the filters in the open round's forecast, or in the coming one's; in the order of `RATES`."""
        _hot.weigh(self._books, self._scalars, self._weights)
        return np.array(self._weights[_hot.BLEND])

    @property
    def noise(self) -> float:
        """Running variance of the forecasts' errors, over about 100 rounds."""
        return float(self._scalars[_hot.NOISE])

    @property
    def variance(self) -> float:
        """Variance of the regression's value at the last features asked about; add `noise` for that of the target.

        The filters' posterior variances, mixed by `weights`, in units of `noise`; how far the filters disagree is not counted.
        """
        return float(self.weights @ self._own[_hot.VARIANCE]) * self.noise

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this forecaster anew."""
        return {"dim": self.dim}

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {"rounds": self.rounds, "open": self._open, **{name: getattr(self, f"_{name}") for name in _PARTS}}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        self.rounds, self._open = int(state["rounds"]), bool(state["open"])
        for name in _PARTS:
            getattr(self, f"_{name}")[:] = state[name]

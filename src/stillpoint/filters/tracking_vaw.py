"""TrackingVAW: linear regression whose coefficients move along an RKHS on time, forecast as Vovk, Azoury and Warmuth do.

The filter of KernelVAW with H = x_t⊗h (KALMAN section 6): the Gram matrix is ⟨x_s, x_t⟩k(s, t), the forecast λ m_t/(λ + v_t).
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint._validate import Array, count, number, vector
from stillpoint.filters.base import VAWForecaster
from stillpoint.filters.belief import Belief
from stillpoint.kernels import Kernel

_LIMIT = 1e100  # beyond it squares, and products of two of them, leave the range of floats


class TrackingVAW(VAWForecaster):
    """Squared loss on ⟨w(t), x_t⟩: forecast y_t from x_t, then see it. Exact for Markov kernels, O((dim·P)²) a round.

    dim: features of a context. kernel: which paths of coefficients are cheap; Spline(offset) fits slow drift.
    ridge: λ, how smooth they are taken to be. Comparators of `certificate` and `bound` are paths u(t) of coefficients.
    """

    _state = (*VAWForecaster._state, "_x", "_gain", "_mean", "_variance", "effective_dimension")

    def __init__(self, dim: int, kernel: Kernel | None = None, ridge: float = 1.0) -> None:
        super().__init__(kernel, ridge)
        self.dim = count("dim", dim)
        self._belief = Belief(self.kernel, self.dim, 1)
        self._belief.track_dimension()
        self._x, self._gain, self._mean, self._variance = np.zeros(self.dim), np.zeros(self._belief.M.shape[0]), 0.0, 0.0
        self.effective_dimension = 0.0

    def predict(self, x: ArrayLike, time: float | None = None) -> float:
        """The forecast for the coming round, whose context is x; called again before `update` it is the same."""
        context = self._context(x)
        if self._open:
            if not np.array_equal(context, self._x):
                raise ValueError(
                    f"x must be that of the open round: got {context}, open with {self._x}; call update or skip first"
                )
            self._same_round(time)
        else:
            self._move(time)
            H = self._belief.direction(context)
            self._gain, variance = self._belief.gain(H)
            self._x, self._mean = context, float(self._belief.M[:, 0] @ H)
            # rounding may leave the variance of large contexts just below 0
            self._variance = max(variance, 0.0) + self._belief.nugget * float(context @ context)
            self._open = True
        return self.ridge / (self._variance + self.ridge) * self._mean

    def _context(self, x: ArrayLike) -> Array:
        context = vector("x", x, self.dim).copy()
        if np.abs(context).max() > _LIMIT:
            raise ValueError(f"x must be within ±{_LIMIT:g}: got {context}; rescale the features")
        return context

    def _move(self, time: float | None) -> None:
        when = self._coming(time)
        self._belief.advance(when)
        self.time, self._started = when, True

    def update(self, x: ArrayLike, y: float) -> None:
        """What the round with context x turned out to be; without `predict` the round is one time step after the last."""
        target = number("y", y, "call skip() for a missing observation")
        if abs(target) > _LIMIT:
            raise ValueError(f"y must be within ±{_LIMIT:g}: got {target}; rescale the targets")
        self.predict(x)
        S = self._account(target * target, self._mean * self._mean, self._variance)
        nugget = self._belief.nugget * float(self._x @ self._x)
        self.effective_dimension += self._belief.dimension_step(self._belief.direction(self._x), self._gain, S, nugget)
        self._belief.correct(self._gain, S, np.array([target - self._mean]))
        self._close()

    def skip(self, time: float | None = None) -> None:
        """A round whose observation is missing; its context need not be known."""
        if not self._open:
            self._move(time)
        self._same_round(time)
        self._close()

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this forecaster anew."""
        return {"dim": self.dim, "kernel": self.kernel, "ridge": self.ridge}

    @property
    def coefficients(self) -> Array:
        """Posterior mean of w at the present time, before the VAW shrink."""
        h = self._belief.space.h
        return np.asarray(self._belief.M[:, 0].reshape(self.dim, h.size) @ h)

    @property
    def variance(self) -> float:
        """Posterior variance of ⟨w, x⟩ at the last context asked about, in units of kernel and ridge."""
        return self._variance

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {**super().arrays(), **{f"belief.{key}": value for key, value in self._belief.arrays().items()}}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        self._belief.restore({key[7:]: value for key, value in state.items() if key.startswith("belief.")})

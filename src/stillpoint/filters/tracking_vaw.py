"""TrackingVAW: linear regression whose coefficients move along an RKHS on time, forecast as Vovk, Azoury and Warmuth do.

The filter of KernelVAW with H = x_t⊗h (KALMAN section 6): the Gram matrix is ⟨x_s, x_t⟩k(s, t), the forecast λ m_t/(λ + v_t).
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint._validate import Array, count, nonnegative, number, positive, vector
from stillpoint.filters.belief import Belief
from stillpoint.kernels import Kernel, Spline

_STATE = (
    "rounds",
    "time",
    "_started",
    "_open",
    "_x",
    "_gain",
    "_mean",
    "_variance",
    "log_det",
    "effective_dimension",
    "_excess",
    "_largest",
)
_LIMIT = 1e100  # beyond it squares, and products of two of them, leave the range of floats


class TrackingVAW:
    """Squared loss on ⟨w(t), x_t⟩: forecast y_t from x_t, then see it. Exact for Markov kernels, O((dim·P)²) a round.

    dim: features of a context. kernel: which paths of coefficients are cheap; Spline(offset) fits slow drift.
    ridge: λ, how smooth they are taken to be.
    """

    def __init__(self, dim: int, kernel: Kernel | None = None, ridge: float = 1.0) -> None:
        self.dim = count("dim", dim)
        self.kernel = Spline(offset=1.0) if kernel is None else kernel
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel must be a kernel: got {kernel!r}; use one of sp.kernels")
        self.ridge = positive("ridge", ridge, "give a number above 0, such as 1")
        self._belief = Belief(self.kernel, self.dim, 1)
        self._spread = Belief(self.kernel, self.dim, 0)  # its covariance is that of the filter's error on noise-free targets
        self.rounds, self.time, self._started = 0, 0.0, False
        self._open = False
        self._x, self._gain, self._mean, self._variance = np.zeros(self.dim), np.zeros(self._belief.M.shape[0]), 0.0, 0.0
        self.log_det, self.effective_dimension = 0.0, 0.0
        self._excess, self._largest = 0.0, 0.0

    def predict(self, x: ArrayLike, time: float | None = None) -> float:
        """The forecast for the coming round, whose context is x; called again before `update` it is the same."""
        context = self._context(x)
        if self._open:
            if not np.array_equal(context, self._x):
                raise ValueError(
                    f"x must be that of the open round: got {context}, open with {self._x}; call update or skip first"
                )
            if time is not None and time != self.time:
                raise ValueError(
                    f"time must be that of the open round: got {time}, open at {self.time}; call update or skip first"
                )
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
        when = self.time + 1.0 if time is None else number("time", time, "drop rounds without a time")
        if self._started and when <= self.time:
            raise ValueError(f"time must increase: got {when} after {self.time}; sort the stream")
        self._belief.kernel.diagonal(when)  # a kernel may refuse the time; ask before anything moves
        self._belief.advance(when)
        self._spread.advance(when)
        self.time, self._started = when, True

    def update(self, x: ArrayLike, y: float) -> None:
        """What the round with context x turned out to be; without `predict` the round is one time step after the last."""
        target = number("y", y, "call skip() for a missing observation")
        if abs(target) > _LIMIT:
            raise ValueError(f"y must be within ±{_LIMIT:g}: got {target}; rescale the targets")
        self.predict(x)
        S, H = self._variance + self.ridge, self._belief.direction(self._x)
        kappa = self.ridge / S
        self._excess += self._variance / S * (target * target - kappa * self._mean * self._mean)
        self._largest = max(self._largest, target * target)
        self.log_det += math.log1p(self._variance / self.ridge)
        self.effective_dimension += self._dimension_step(H, S)
        self._belief.correct(self._gain, S, np.array([target - self._mean]))
        self._close()

    def _dimension_step(self, H: Array, S: float) -> float:
        """This round's addition to the effective dimension (KALMAN section 5): D ← (I − KH')D(I − KH')' + nugget·KK', K = g/S."""
        D, K = self._spread.C, self._gain / S
        u = D @ H
        seen = float(H @ u) + self._belief.nugget * float(self._x @ self._x)
        cross = np.outer(K, u)
        D += seen * np.outer(K, K) - cross - cross.T
        return seen / S

    def skip(self, time: float | None = None) -> None:
        """A round whose observation is missing; its context need not be known."""
        if not self._open:
            self._move(time)
        elif time is not None and time != self.time:
            raise ValueError(f"time must be that of the open round: got {time}, open at {self.time}; leave it out")
        self._close()

    def _close(self) -> None:
        self._open = False
        self.rounds += 1

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

    def certificate(self, radius: float) -> float:
        """Regret so far, Σ½(y − ŷ)² − Σ½(y − ⟨u, x⟩)², is at most this against every path u with ‖u‖ ≤ radius.

        λ·radius²/2 + ½Σ(1 − κ_t)(y_t² − κ_t m_t²), κ_t = λ/(λ + v_t): an equality for the ridge optimum (KALMAN section 1).
        """
        return 0.5 * (self.ridge * nonnegative("radius", radius) ** 2 + self._excess)

    def bound(self, norm: float) -> float:
        """(λ/2)‖u‖² + (y_max²/2) log det(I + K/λ), K the Gram matrix ⟨x_s, x_t⟩k(s, t): what the certificate is at most."""
        return 0.5 * (self.ridge * nonnegative("norm", norm) ** 2 + self._largest * self.log_det)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        own = {name: getattr(self, name) for name in _STATE}
        belief, spread = self._belief.arrays(), self._spread.arrays()
        both = {f"belief.{key}": value for key, value in belief.items()} | {
            f"spread.{key}": value for key, value in spread.items()
        }
        return {**own, **both}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        for name in _STATE:
            old = getattr(self, name)
            setattr(self, name, np.array(state[name]) if isinstance(old, np.ndarray) else type(old)(state[name]))
        for prefix, belief in (("belief.", self._belief), ("spread.", self._spread)):
            belief.restore({key[len(prefix) :]: value for key, value in state.items() if key.startswith(prefix)})
